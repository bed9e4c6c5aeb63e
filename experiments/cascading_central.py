"""Cascading Bandit under Differential Privacy, arXiv 2105.11126: the figures under central privacy.

The paper's settings: lists of 4, T = 1e5, 10 repeats, all noises multiplied by 0.01. It states neither the attraction probabilities
(here the two-level instance, 0.2 for 4 items and 0.05 for the others), nor the constant c1 of its radius (here 1), nor whether the
radius is scaled with the noise. Here both are, since otherwise the lists are close to random over the whole horizon. Such a run has
100 times the stated epsilon, and Algorithm 1 does not give what it claims besides: these curves have no guarantee.
"""

import dataclasses
from collections.abc import Mapping
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandits import Study, linear_checkpoints, plot
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear, two_level

from .published import Finding, Shown, falls, judged, late_growth, listed, ratio

TITLE = "Cascading Bandit under Differential Privacy (arXiv 2105.11126), central privacy"
FIGURES = {
    "fig1_dp": Shown(
        "Fig. 1 (f), Algorithm 1 at four epsilons, and (g), with 8 to 20 items; below, the same with the noise not scaled", "no guarantee"
    ),
    "honest_dp": Shown(
        "every policy under central privacy with honest noise: against the round, and final regret against epsilon",
        "DP, proved, but for Algorithm 1",
    ),
}

LIST_LEN, HORIZON = 4, 100_000
EPSILONS = (0.2, 0.5, 1.0, 2.0)
NUM_ITEMS = (8, 12, 16, 20)
HONEST_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
SCALES = (0.01, 1.0)
INSTANCES = {"two-level": lambda num_items: two_level(num_items, LIST_LEN), "linear": linear}

CASCADE, ALGORITHM, CALIBRATED = "CascadeUCB1", "Algorithm 1", "Algorithm 1, calibrated"
DP_F, LAZY, DP_KL, DP_ALL = "DP-F", "DP-F-lazy", "DP-F-KLUCB", "DP-all"
REF_UCB, REF_KL = "first-position UCB1", "first-position KL-UCB"

STYLES = {
    ALGORITHM: {"color": "#D55E00"},
    CALIBRATED: {"color": "#D55E00", "linestyle": (0, (5, 1.5))},
    DP_ALL: {"color": "#CC79A7"},
    LAZY: {"color": "#0072B2"},
    DP_F: {"color": "#E69F00"},
    DP_KL: {"color": "#009E73"},
    CASCADE: {"color": "#000000"},
    REF_UCB: {"color": "#555555", "linestyle": "--"},
    REF_KL: {"color": "#555555", "linestyle": ":"},
}
SHADES = ("#fdbb84", "#fc8d59", "#d7301f", "#7f0000")


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 10
    instances: tuple[str, ...] = ("two-level",)


QUICK = Scale()
FULL = Scale(seeds=100, instances=("two-level", "linear"))


def _study(instance: str, num_items: int, scale: Scale, named: Mapping, grid: Mapping) -> Study:
    return Study(
        problem=partial(cascade, means=INSTANCES[instance](num_items), list_len=LIST_LEN),
        policies=named,
        grid=grid,
        seeds=scale.seeds,
        horizon=HORIZON,
        checkpoints=linear_checkpoints(HORIZON, 100),
    )


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of these figures, by name."""
    found, both = {}, {"noise_scale": SCALES, "radius_scale": SCALES}  # of which the pairs of equal scales are drawn
    printed = {ALGORITHM: policies.hybrid_ucb}
    for instance in scale.instances:
        for num_items in NUM_ITEMS:
            named = {CASCADE: policies.cascade_ucb1, **printed} if num_items == max(NUM_ITEMS) else printed
            epsilons = EPSILONS if num_items == max(NUM_ITEMS) else (1.0,)
            found[f"items{num_items}-{instance}"] = _study(instance, num_items, scale, named, {"epsilon": epsilons, **both})
        honest = {
            ALGORITHM: policies.hybrid_ucb,
            CALIBRATED: policies.hybrid_ucb_calibrated,
            DP_ALL: policies.all_dp_ucb1,
            LAZY: policies.first_dp_lazy_ucb1,
            DP_F: policies.first_dp_ucb1,
            DP_KL: policies.first_dp_kl_ucb,
            CASCADE: policies.cascade_ucb1,
            REF_UCB: policies.first_ucb1,
            REF_KL: policies.first_kl_ucb,
        }
        found[f"honest-{instance}"] = _study(instance, max(NUM_ITEMS), scale, honest, {"epsilon": HONEST_EPSILONS})
    return found


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure, by name, from the results of all studies."""
    drawn = {}
    for instance in scale.instances:
        note = f"{instance} instance, {scale.seeds} seeds, mean with 95 % band"
        by_items = {n: results[f"items{n}-{instance}"] for n in NUM_ITEMS}
        drawn[f"fig1_dp_{instance}"] = _printed(by_items, note)
        drawn[f"honest_dp_{instance}"] = _honest(results[f"honest-{instance}"], note)
    return drawn


def _family(ax: Axes, curves: Mapping[str, xr.Dataset]) -> None:
    """One policy at several settings, darker in this order."""
    for (label, dataset), color in zip(curves.items(), SHADES, strict=True):
        plot.regret(dataset, policies=[ALGORITHM], styles={ALGORITHM: {"color": color}}, ax=ax)
        ax.lines[-1].set_label(label)


def _printed(by_items: Mapping[int, xr.Dataset], note: str) -> Figure:
    with plot.styled():
        figure, axes = plt.subplots(2, 2, figsize=(8.5, 6.6), layout="constrained")
        for row, scale, what in zip(axes, SCALES, ("noise and radius times 0.01", "noise and radius not scaled"), strict=True):
            at = {n: d.sel(noise_scale=scale, radius_scale=scale) for n, d in by_items.items()}
            most = at[max(NUM_ITEMS)]
            _family(row[0], {f"epsilon = {e:g}": most.sel(epsilon=e) for e in EPSILONS})
            plot.regret(most.sel(epsilon=1.0), policies=[CASCADE], styles=STYLES, ax=row[0])
            _family(row[1], {f"{n} items": d.sel(epsilon=1.0) for n, d in at.items()})
            row[0].set_title(f"(f) {max(NUM_ITEMS)} items; {what}")
            row[1].set_title(f"(g) epsilon = 1; {what}")
            for ax in row:
                ax.legend(fontsize=8)
        figure.suptitle(f"Algorithm 1 of arXiv 2105.11126 as printed, nominal epsilon, no guarantee\n{note}", fontsize=10)
    return figure


def _honest(dataset: xr.Dataset, note: str) -> Figure:
    with plot.styled():
        figure, axes = plt.subplots(1, 3, figsize=(11.5, 4.4), layout="constrained", sharey=True)
        for ax, epsilon in zip(axes, (0.5, 2.0), strict=False):
            plot.regret(dataset.sel(epsilon=epsilon), policies=list(STYLES), styles=STYLES, ax=ax)
            ax.set_title(f"epsilon = {epsilon:g}")
        plot.regret_against(dataset, "epsilon", policies=list(STYLES), styles=STYLES, ax=axes[2])
        axes[2].set_xscale("log")
        axes[2].set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
        axes[2].minorticks_off()
        axes[2].set_title(f"after {HORIZON:,} rounds")
        for ax in axes:
            ax.set_yscale("log")
            ax.set_ylim(bottom=80)
            ax.get_legend().remove()
        figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        figure.suptitle(f"Central privacy with honest noise: 20 items, lists of 4\n{note}", fontsize=10)
    return figure


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Final regrets; one line each."""
    lines = []
    for instance in scale.instances:
        most = results[f"items{max(NUM_ITEMS)}-{instance}"].isel(round=-1)["regret"].mean("seed")
        lines.append(f"{instance} instance, Algorithm 1, final regret, at scale 0.01 and at full scale:")
        for e in EPSILONS:
            small, full = (float(most.sel(policy=ALGORITHM, epsilon=e, noise_scale=s, radius_scale=s)) for s in SCALES)
            lines.append(f"  {f'nominal epsilon {e:g}':26}{small:9,.0f}{full:9,.0f}")
        for n in NUM_ITEMS:
            each = results[f"items{n}-{instance}"].isel(round=-1)["regret"].mean("seed").sel(policy=ALGORITHM, epsilon=1.0)
            small, full = (float(each.sel(noise_scale=s, radius_scale=s)) for s in SCALES)
            lines.append(f"  {f'{n} items, epsilon 1':26}{small:9,.0f}{full:9,.0f}")
        honest = results[f"honest-{instance}"]["regret"].isel(round=-1).mean("seed")
        lines.append("final regret with honest noise at epsilon 0.5 and 2:")
        for name in honest["policy"].values:
            low, high = (float(np.asarray(honest.sel(policy=name, epsilon=e))) for e in (0.5, 2.0))
            lines.append(f"  {name:26}{low:9,.0f}{high:9,.0f}")
    return lines


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the paper says of its figures under central privacy, beside what was measured on the two-level instance."""
    printed = {"noise_scale": SCALES[0], "radius_scale": SCALES[0]}
    most = results[f"items{max(NUM_ITEMS)}-two-level"].sel(printed)
    over = {f"epsilon {e:g}": ratio(most.sel(epsilon=e), ALGORITHM, CASCADE) for e in EPSILONS}
    by_items = {n: results[f"items{n}-two-level"].sel(printed).sel(epsilon=1.0) for n in NUM_ITEMS}
    final = [float(found["regret"].sel(policy=ALGORITHM).isel(round=-1).mean()) for found in by_items.values()]
    growth = late_growth(results["honest-two-level"]["regret"].sel(policy=ALGORITHM, epsilon=2.0))
    return [
        judged(
            "Fig. 1 (f)",
            "with a larger epsilon the private algorithm is closer to the non-private one",
            f"regret over that of CascadeUCB1: {listed(over)}",
            falls([abs(found.mean - 1) for found in over.values()]),
            "the ratio comes nearer to 1 with each epsilon; noise and radius times 0.01",
        ),
        judged(
            "Fig. 1 (g)",
            "more items lead to more regret",
            "final regret: " + "; ".join(f"{n} items: {value:,.0f}" for n, value in zip(NUM_ITEMS, final, strict=True)),
            falls([-value for value in final]),
            "mean regret grows along 8, 12, 16, 20 items; noise and radius times 0.01",
        ),
        judged(
            "Fig. 1 (f), at the epsilon that is named",
            "regret is of the order of (log T / epsilon)^(1 + xi)",
            f"regret of the last half of the horizon over that of the quarter before, noise not scaled, epsilon 2: {growth}",
            growth.high < 1.5,
            "nearer to 1, as powers of log t have, than to 2, as t has",
            "with the noise that the epsilon needs, regret grows much faster than that at T = 100,000; the figure's is 100 times less",
        ),
    ]
