"""Cascading Bandit under Differential Privacy, arXiv 2105.11126: the figures under local privacy.

The paper's settings: 20 items, lists of 4, T = 1e5, 10 repeats, delta = 1e-3, all noises multiplied by 0.01. It does not state
the attraction probabilities; here they are the two-level instance (0.2 for list_len items, 0.05 for the others) or a linear one
(0.5 down to 0.05). It does not say whether the confidence radius is scaled with the noise; with the noise alone scaled regret
grows linearly over the whole horizon, against the paper's plots, so here both are. Such a run has 100 times the stated epsilon,
and the algorithms leak the position of the click besides, so these curves have no guarantee; the figures say so, and a second
figure sets the same algorithms with honest noise beside the sound ones.
"""

import dataclasses
from collections.abc import Mapping
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxbandits import Study, linear_checkpoints, plot, stats
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear, two_level

from .published import Finding, Shown, difference, falls, judged, late_growth, listed, ratio, unchecked

TITLE = "Cascading Bandit under Differential Privacy (arXiv 2105.11126)"
FIGURES = {
    "fig1_ldp": Shown(
        "Fig. 1 (a)-(d), regret against the round at four epsilons, and (e), final regret against epsilon; noise and radius times 0.01",
        "no guarantee",
    ),
    "fig2_list_len": Shown("appendix, lists of 4, 8, 12, 16 at epsilon 0.2; noise and radius times 0.01", "no guarantee"),
    "honest_ldp": Shown(
        "the panels of Fig. 1 (a)-(e) with the noise not scaled, beside sound policies and non-private ones",
        "LDP, proved, for F and F-KL; no guarantee for the printed algorithms",
    ),
}

NUM_ITEMS, LIST_LEN, DELTA, HORIZON = 20, 4, 1e-3, 100_000
PANEL_EPSILONS = (0.2, 0.5, 1.0, 2.0)
SWEEP = tuple(np.round(np.arange(0.02, 2.001, 0.02), 2))
HONEST_SWEEP = tuple(np.round(np.arange(0.1, 2.001, 0.1), 1))
LIST_LENS = (4, 8, 12, 16)
INSTANCES = {"two-level": two_level, "linear": lambda num_items, list_len: linear(num_items)}

CASCADE, LAPLACE, GAUSSIAN, COMPOSITION = "CascadeUCB1", "Laplace (Alg. 2)", "Gaussian (Alg. 3)", "Laplace (composition)"
FIRST, FIRST_KL, REF_UCB, REF_KL = "F", "F-KL", "first-position UCB1", "first-position KL-UCB"

STYLES = {
    CASCADE: {"color": "#000000"},
    LAPLACE: {"color": "#D55E00"},
    GAUSSIAN: {"color": "#0072B2", "linestyle": (0, (5, 1.5))},
    COMPOSITION: {"color": "#CC79A7"},
    FIRST: {"color": "#E69F00"},
    FIRST_KL: {"color": "#009E73"},
    REF_UCB: {"color": "#555555", "linestyle": "--"},
    REF_KL: {"color": "#555555", "linestyle": ":"},
}


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 10
    instances: tuple[str, ...] = ("two-level",)


QUICK = Scale()
FULL = Scale(seeds=100, instances=("two-level", "linear"))


def _study(instance: str, list_len: int, scale: Scale, named: Mapping, epsilons) -> Study:
    return Study(
        problem=partial(cascade, means=INSTANCES[instance](NUM_ITEMS, list_len), list_len=list_len),
        policies=named,
        grid={"epsilon": epsilons},
        seeds=scale.seeds,
        horizon=HORIZON,
        checkpoints=linear_checkpoints(HORIZON, 100),
    )


def _printed(scale: float) -> dict:
    """The paper's algorithms with noise and radius scaled alike."""
    both = {"noise_scale": scale, "radius_scale": scale}
    return {
        CASCADE: policies.cascade_ucb1,
        GAUSSIAN: partial(policies.gaussian_ucb, delta=DELTA, **both),
        LAPLACE: partial(policies.laplace_ucb, **both),
    }


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of this paper, by name."""
    found = {}
    for instance in scale.instances:
        found[f"scaled-{instance}"] = _study(instance, LIST_LEN, scale, _printed(0.01), SWEEP)
        composition = {COMPOSITION: partial(policies.composition_ucb, delta=DELTA, noise_scale=0.01, radius_scale=0.01)}
        found[f"composition-{instance}"] = _study(instance, LIST_LEN, scale, composition, PANEL_EPSILONS)
        for list_len in LIST_LENS[1:]:
            found[f"list{list_len}-{instance}"] = _study(instance, list_len, scale, _printed(0.01), (0.2,))
        sound = {
            FIRST: policies.first_ldp_ucb1,
            FIRST_KL: policies.first_ldp_kl_ucb,
            REF_UCB: policies.first_ucb1,
            REF_KL: policies.first_kl_ucb,
        }
        found[f"honest-{instance}"] = _study(instance, LIST_LEN, scale, _printed(1.0) | sound, HONEST_SWEEP)
    return found


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure of this paper, by name, from the results of all its studies."""
    drawn = {}
    for instance in scale.instances:
        scaled, honest = results[f"scaled-{instance}"], results[f"honest-{instance}"]
        composition = results[f"composition-{instance}"]
        note = f"{instance} instance, {scale.seeds} seeds, mean with 95 % band"
        paper = f"{TITLE}, Fig. 1 (a)-(e): noise and radius times 0.01, no guarantee\n{note}"
        drawn[f"fig1_ldp_{instance}"] = _panels(scaled, [CASCADE, LAPLACE, GAUSSIAN], paper, composition)
        lists = {4: scaled} | {k: results[f"list{k}-{instance}"] for k in LIST_LENS[1:]}
        drawn[f"fig2_list_len_{instance}"] = _list_lens(lists, note)
        title = f"The same algorithms with their noise not scaled, beside sound ones\n{note}"
        drawn[f"honest_ldp_{instance}"] = _panels(honest, list(STYLES), title, yscale="log")
    return drawn


def _panels(dataset: xr.Dataset, names: list[str], title: str, extra: xr.Dataset | None = None, yscale: str = "linear") -> Figure:
    """Four panels against the round and one against epsilon, with one legend in the sixth place."""
    marked = {name: {**style, "marker": "o", "markersize": 3} for name, style in STYLES.items()}
    names = [n for n in names if n in dataset["policy"].values]
    with plot.styled():
        figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.2), layout="constrained")
        *panels, last, corner = axes.flat
        for ax, epsilon, letter in zip(panels, PANEL_EPSILONS, "abcd", strict=True):
            plot.regret(dataset.sel(epsilon=epsilon), policies=names, styles=STYLES, ax=ax)
            if extra is not None:
                plot.regret(extra.sel(epsilon=epsilon), styles=STYLES, ax=ax)
            if yscale == "log":
                ax.set_yscale("log")
                ax.set_ylim(bottom=80)
            ax.set_title(f"({letter}) nominal epsilon = {epsilon:g}")
        plot.regret_against(dataset, "epsilon", policies=names, styles=STYLES, ax=last)
        if extra is not None:
            plot.regret_against(extra, "epsilon", styles=marked, ax=last)
        last.set_title("(e) final regret")
        last.set_yscale("log")
        last.set_xlim(0, 2.03)
        for ax in [*panels, last]:
            ax.get_legend().remove()
        corner.axis("off")
        corner.legend(*last.get_legend_handles_labels(), loc="center left", fontsize=9)
        figure.suptitle(title, fontsize=10)
    return figure


def _list_lens(by_length: Mapping[int, xr.Dataset], note: str) -> Figure:
    with plot.styled():
        figure, axes = plt.subplots(1, len(by_length), figsize=(12.5, 3.6), layout="constrained")
        for ax, (list_len, dataset) in zip(axes, by_length.items(), strict=True):
            plot.regret(dataset.sel(epsilon=0.2), policies=[CASCADE, LAPLACE, GAUSSIAN], styles=STYLES, ax=ax)
            ax.set_title(f"list_len = {list_len}")
            ax.get_legend().remove()
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.suptitle(f"{TITLE}, appendix: epsilon = 0.2, noise and radius times 0.01, no guarantee\n{note}", fontsize=10)
    return figure


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Final regrets, and the ratio that the paper's claim of a better Gaussian rests on; one line each."""
    lines = []
    for instance in scale.instances:
        scaled = results[f"scaled-{instance}"]
        at = scaled["regret"].sel(epsilon=0.2).isel(round=-1).mean("seed").to_series()
        lines.append(f"{instance} instance, final regret at nominal epsilon 0.2, noise and radius times 0.01:")
        lines += [f"  {name:26}{at[name]:9,.0f}" for name in (CASCADE, GAUSSIAN, LAPLACE)]
        lines.append("Laplace over Gaussian, with 95 % interval:")
        for list_len, data in {4: scaled, **{k: results[f"list{k}-{instance}"] for k in LIST_LENS[1:]}}.items():
            gap = stats.ratio(data.sel(epsilon=0.2).isel(round=-1), LAPLACE, GAUSSIAN)
            low, mean, high = (float(gap[k]) for k in ("low", "mean", "high"))
            lines.append(f"  {f'lists of {list_len}':26}{mean:9.3f}  ({low:.3f} to {high:.3f})")
        honest = results[f"honest-{instance}"]["regret"].sel(epsilon=2.0).isel(round=-1).mean("seed").to_series()
        lines.append("final regret at epsilon 2, noise and radius not scaled:")
        lines += [f"  {name:26}{honest[name]:9,.0f}" for name in honest.index]
    return lines


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the paper says of its figures under local privacy, beside what was measured on the two-level instance."""
    scaled = results["scaled-two-level"]
    pairs = {"Laplace less Gaussian": (LAPLACE, GAUSSIAN), "Gaussian less non-private": (GAUSSIAN, CASCADE)}
    apart = {f"{name}, epsilon {e:g}": difference(scaled.sel(epsilon=e), *pair) for e in PANEL_EPSILONS for name, pair in pairs.items()}
    growth = {name: late_growth(scaled["regret"].sel(policy=name, epsilon=1.0)) for name in (LAPLACE, GAUSSIAN)}
    at = (SWEEP[0], 0.2, 0.5, 1.0, 2.0)
    over = {name: {f"{name}, epsilon {e:g}": ratio(scaled.sel(epsilon=e), name, CASCADE) for e in at} for name in (LAPLACE, GAUSSIAN)}
    last = {name: [*found.values()][-1] for name, found in over.items()}
    lists = {4: scaled} | {k: results[f"list{k}-two-level"] for k in LIST_LENS[1:]}
    gap = {f"K = {k}": ratio(found.sel(epsilon=0.2), LAPLACE, GAUSSIAN) for k, found in lists.items()}
    honest = results["honest-two-level"].sel(epsilon=2.0)
    unscaled = {name: late_growth(honest["regret"].sel(policy=name)) for name in (LAPLACE, GAUSSIAN)}
    return [
        judged(
            "Fig. 1 (a)-(d)",
            "the Laplace algorithm has the most regret, the non-private one the least, at epsilon 0.2, 0.5, 1 and 2",
            listed(apart),
            all(found.low > 0 for found in apart.values()),
            "all differences within seeds have intervals above 0",
            "the two noises have almost the same radius for lists of 4, 19.6 and 18.7 over epsilon: where an interval holds 0, these many "
            "seeds do not tell them apart",
            undecided=all(found.high > 0 for found in apart.values()),
        ),
        judged(
            "Fig. 1 (a)-(d)",
            "the regret of the private algorithms is of the order of log T",
            f"regret of the last half of the horizon over that of the quarter before, epsilon 1: {listed(growth)}",
            all(found.high < 1.5 for found in growth.values()),
            "nearer to 1, as log t has, than to 2, as t has; with noise and radius times 0.01 only",
        ),
        judged(
            "Fig. 1 (a)-(d)",
            "the same, at the epsilon that is named",
            f"the same with the noise not scaled, at epsilon 2: {listed(unscaled)}",
            all(found.high < 1.5 for found in unscaled.values()),
            "nearer to 1 than to 2",
            "with the noise that the epsilon needs, regret grows faster than log t at T = 100,000: the figure's noise times 0.01 "
            "is 100 times the epsilon",
        ),
        judged(
            "Fig. 1 (e)",
            "regret decays quickly as epsilon grows, and soon is comparable with that without privacy",
            "over that of CascadeUCB1: " + "; ".join(listed(found) for found in over.values()),
            all(falls([x.mean for x in found.values()]) and last[name].high < 1.25 for name, found in over.items()),
            "ratios fall along these epsilons, and are below 1.25 at 2",
        ),
        judged(
            "Fig. 1 (e)",
            "especially with the Gaussian mechanism",
            f"Laplace over Gaussian at epsilon 2: {ratio(scaled.sel(epsilon=2.0), LAPLACE, GAUSSIAN)}",
            ratio(scaled.sel(epsilon=2.0), LAPLACE, GAUSSIAN).low > 1,
            "the interval of the ratio lies above 1",
            "for lists of 4 the two radii are almost the same, 19.6 and 18.7 over epsilon; the gap opens with longer lists, as in Fig. 2",
            undecided=ratio(scaled.sel(epsilon=2.0), LAPLACE, GAUSSIAN).high > 1,
        ),
        judged(
            "Fig. 2",
            "the gap between the Laplace and the Gaussian mechanism grows with K",
            f"Laplace over Gaussian at epsilon 0.2: {listed(gap)}",
            falls([-found.mean for found in gap.values()]),
            "the ratio grows along K = 4, 8, 12, 16",
        ),
        unchecked(
            "Fig. 1, 2", "the values on the axes", "the paper states neither the attraction probabilities nor whether the radius is scaled"
        ),
    ]
