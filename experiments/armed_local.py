"""Multi-Armed Bandits with Local Differential Privacy, arXiv 2007.03121: its figures.

Twenty arms: one of 0.9, five each of 0.8, 0.7 and 0.6, four of 0.5; 50 trials. The paper states neither the horizon nor the epsilons
of its sweeps; its ratios need T of about 1e7, here the full setting, 1e5 being the quick one. Here regret is expected regret; the
paper's is realised, of the same mean.
"""

import dataclasses
import re
from collections.abc import Mapping
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandits import Study, log_checkpoints, plot, stats
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, rewards, twenty_arms
from jaxbandits.theory import armed_local as theory

from .published import Finding, Interval, Shown, falls, judged, listed, ratio, unchecked

TITLE = "Multi-Armed Bandits with Local Differential Privacy (arXiv 2007.03121)"
FIGURES = {
    "bernoulli": Shown("Fig. 1 (a)-(d), three algorithms at epsilon 2 and 0.2, LDP-UCB-L and LDP-UCB-B at four epsilons", "LDP, proved"),
    "mixed": Shown("Fig. 1 (e) and (f), other laws of reward", "LDP, proved"),
    "gauss": Shown("Fig. 2 (a)-(c), normal rewards behind a sigmoid", "LDP, proved"),
}

MEANS = twenty_arms()
EPSILONS = (0.2, 0.5, 1.0, 2.0)
UCB1, BITS, LAPLACE, KL, CHERNOFF = "UCB1", "LDP-UCB-B", "LDP-UCB-L", "KL-UCB on private bits", "LDP-UCB-L, Chernoff radius"
SIGMOID, BITS_S, LAPLACE_S = "UCB1 on sigmoids", "LDP-UCB-BS", "LDP-UCB-LS"
STYLES = {
    UCB1: {"color": "#000000"},
    SIGMOID: {"color": "#000000"},
    KL: {"color": "#009E73"},
    BITS: {"color": "#0072B2"},
    BITS_S: {"color": "#0072B2"},
    CHERNOFF: {"color": "#E69F00"},
    LAPLACE: {"color": "#D55E00"},
    LAPLACE_S: {"color": "#D55E00"},
}
SHADES = ("#9ecae1", "#6baed6", "#2171b5", "#08306b")

UNIT = {
    UCB1: policies.ucb1,
    KL: policies.ldp_kl_ucb,
    BITS: policies.ldp_ucb_bernoulli,
    CHERNOFF: policies.ldp_ucb_laplace_chernoff,
    LAPLACE: policies.ldp_ucb_laplace,
}
NORMAL = {
    SIGMOID: policies.sigmoid_ucb1,
    BITS_S: policies.ldp_ucb_bernoulli_sigmoid,
    LAPLACE_S: policies.ldp_ucb_laplace_sigmoid,
}
LAWS = {"bernoulli": (rewards.bernoulli, UNIT), "mixed": (rewards.mixed(), UNIT), "gauss": (rewards.gaussian(), NORMAL)}


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 50
    horizon: int = 100_000


QUICK = Scale()
FULL = Scale(horizon=10_000_000)


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of this paper, by name."""
    return {
        f"{law}-{scale.horizon}": Study(
            problem=partial(armed, means=MEANS, rewards=paid),
            policies=named,
            grid={"epsilon": EPSILONS},
            seeds=scale.seeds,
            horizon=scale.horizon,
            checkpoints=log_checkpoints(scale.horizon),
        )
        for law, (paid, named) in LAWS.items()
    }


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure of this paper, by name, from the results of all its studies."""
    of = {law: results[f"{law}-{scale.horizon}"] for law in LAWS}
    note = f"{scale.seeds} seeds, mean with 95 % band"
    drawn = {}
    with plot.styled():
        figure, axes = plt.subplots(2, 2, figsize=(9, 7.6), layout="constrained")
        for ax, epsilon, letter in zip(axes[0], (2.0, 0.2), "ab", strict=True):
            _three(ax, of["bernoulli"], epsilon, UNIT, bound=True)
            ax.set_title(f"(1{letter}) epsilon = {epsilon:g}")
        for ax, name, letter in zip(axes[1], (LAPLACE, BITS), "cd", strict=True):
            _family(ax, of["bernoulli"], name, UCB1)
            ax.set_title(f"(1{letter}) {name}")
        _one_legend(figure, list(axes[0]))
        figure.suptitle(f"{TITLE}, Fig. 1 (a)-(d): rewards in {{0, 1}}\n{note}", fontsize=10)
        drawn["bernoulli"] = figure
        figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
        for ax, epsilon, letter in zip(axes, (2.0, 0.2), "ef", strict=True):
            _three(ax, of["mixed"], epsilon, UNIT)
            ax.set_title(f"(1{letter}) epsilon = {epsilon:g}")
        _one_legend(figure, list(axes))
        figure.suptitle(f"{TITLE}, Fig. 1 (e), (f): bits, Beta, two-point and uniform rewards\n{note}", fontsize=10)
        drawn["mixed"] = figure
        figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
        _three(axes[0], of["gauss"], 0.5, NORMAL)
        axes[0].set_title("(2a) epsilon = 0.5")
        for ax, name, letter in zip(axes[1:], (LAPLACE_S, BITS_S), "bc", strict=True):
            _family(ax, of["gauss"], name, SIGMOID)
            ax.set_title(f"(2{letter}) {name}")
        figure.suptitle(f"{TITLE}, Fig. 2: normal rewards of variance 1 behind a sigmoid\n{note}", fontsize=10)
        drawn["gauss"] = figure
    return drawn


def _one_legend(figure: Figure, panels: list[Axes]) -> None:
    """One legend for panels that differ in epsilon only, below the figure."""
    handles, labels = panels[0].get_legend_handles_labels()
    labels = [re.sub(r"\([\d.]+-LDP\)", "(LDP)", label) for label in labels]
    for ax in panels:
        if (legend := ax.get_legend()) is not None:
            legend.remove()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)


def _log_log(ax: Axes, horizon: int) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(100, horizon)
    ax.set_ylim(bottom=10)
    ax.legend(fontsize=8)


def _three(ax: Axes, dataset: xr.Dataset, epsilon: float, named: Mapping, *, bound: bool = False) -> None:
    plot.regret(dataset.sel(epsilon=epsilon), policies=list(named), styles=STYLES, ax=ax)
    rounds = dataset["round"].values
    if bound:
        for function, label in ((theory.ldp_lower, "corrected"), (theory.ldp_lower_printed, "printed")):
            values = np.asarray(function(horizon=rounds, means=MEANS, epsilon=epsilon))
            plot.bound(ax, rounds, values, f"lower bound, {label}", linestyle="--" if label == "corrected" else ":")
    _log_log(ax, int(rounds[-1]))


def _family(ax: Axes, dataset: xr.Dataset, name: str, reference: str) -> None:
    """One policy at every epsilon, darker for larger ones, beside its non-private twin."""
    for epsilon, color in zip(EPSILONS, SHADES, strict=True):
        at = dataset.sel(epsilon=epsilon)
        plot.regret(at, policies=[name], styles={name: {"color": color}}, ax=ax)
        ax.lines[-1].set_label(str(at["claim"].sel(policy=name).item()))
    plot.regret(dataset.sel(epsilon=EPSILONS[-1]), policies=[reference], styles=STYLES, ax=ax)
    _log_log(ax, int(dataset["round"].values[-1]))


STATED = {  # law, epsilon: the ratio to UCB1 that the paper states, its horizon not stated
    ("bernoulli", 2.0): {BITS: "1.6", LAPLACE: "8.5"},
    ("gauss", 0.5): {BITS_S: "10", LAPLACE_S: "15"},
}


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Ratios of final regret to the non-private policy's, beside those the paper states; one line each."""
    lines = []
    for law, (_, named) in LAWS.items():
        reference = UCB1 if UCB1 in named else SIGMOID
        final = results[f"{law}-{scale.horizon}"].isel(round=-1)
        for epsilon in (0.2, 0.5, 2.0):
            lines.append(f"{law} rewards, epsilon {epsilon:g}, T = {scale.horizon:,}: regret over that of {reference}, with 95 % interval")
            for name in named:
                if name == reference:
                    continue
                found = stats.ratio(final.sel(epsilon=epsilon), name, reference)
                low, mean, high = (float(found[k]) for k in ("low", "mean", "high"))
                stated = STATED.get((law, epsilon), {}).get(name)
                lines.append(f"  {name:28}{mean:8.2f}  ({low:.2f} to {high:.2f}){f'; paper {stated}' if stated else ''}")
    return lines


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the paper says of its figures, beside what was measured."""
    of = {law: results[f"{law}-{scale.horizon}"] for law in LAWS}
    at = f"T = {scale.horizon:,}"
    horizon = "the paper does not state its horizon, and the ratios grow with it; `--full` plays 10 million rounds"

    def over(law: str, epsilon: float) -> dict[str, Interval]:
        reference = UCB1 if law != "gauss" else SIGMOID
        names = (BITS, LAPLACE) if law != "gauss" else (BITS_S, LAPLACE_S)
        return {name: ratio(of[law].sel(epsilon=epsilon), name, reference) for name in names}

    def close(found: dict[str, Interval], stated: Mapping[str, str]) -> bool:
        return all(abs(value.mean / float(stated[name]) - 1) < 0.1 for name, value in found.items())

    high, low, normal = over("bernoulli", 2.0), over("bernoulli", 0.2), over("gauss", 0.5)
    by_level = {law: {e: over(law, e) for e in EPSILONS} for law in LAWS}
    limits = {e: {BITS: ((np.exp(e) + 1) / (np.exp(e) - 1)) ** 2, LAPLACE: (1 + 4 / e) ** 2} for e in EPSILONS}
    final = {e: of["bernoulli"].sel(epsilon=e).isel(round=-1)["regret"].mean("seed") for e in EPSILONS}
    alike = {
        f"{name}, epsilon {e:g}": float(of["mixed"].sel(epsilon=e, policy=name).isel(round=-1)["regret"].mean())
        / float(final[e].sel(policy=name))
        for e in (2.0, 0.2)
        for name in (BITS, LAPLACE)
    }
    rows = [
        judged(
            "Fig. 1 (a)",
            "at epsilon 2 the ratios of regret to UCB1's are 1.6 for LDP-UCB-B and 8.5 for LDP-UCB-L",
            f"{at}: {listed(high)}",
            close(high, STATED["bernoulli", 2.0]),
            "both within 10 %",
            horizon,
        ),
        judged(
            "Fig. 1 (a), (b)",
            "LDP-UCB-B has less regret than LDP-UCB-L",
            "; ".join(f"epsilon {e:g}: {float(f.sel(policy=BITS)):,.0f} and {float(f.sel(policy=LAPLACE)):,.0f}" for e, f in final.items()),
            all(float(f.sel(policy=BITS)) < float(f.sel(policy=LAPLACE)) for f in final.values()),
            "at each epsilon; a tighter radius brings LDP-UCB-L nearer, as the figure shows",
        ),
        judged(
            "Fig. 1 (b)",
            "at epsilon 0.2 the ratios are much larger than at 2, and not above 101 and 441",
            f"{at}: {listed(low)}",
            all(2 * high[name].high < found.low and found.high < limits[0.2][name] for name, found in low.items()),
            "more than twice those at epsilon 2, and below the bounds",
        ),
        judged(
            "Theory beside Fig. 1",
            "ratios are at most ((e^epsilon + 1) / (e^epsilon - 1))^2 and (1 + 4 / epsilon)^2",
            "; ".join(
                f"epsilon {e:g}: {found[BITS].mean:.2f} of {limits[e][BITS]:.1f}, {found[LAPLACE].mean:.2f} of {limits[e][LAPLACE]:.0f}"
                for e, found in by_level["bernoulli"].items()
            ),
            all(found[name].high < limits[e][name] for e, found in by_level["bernoulli"].items() for name in (BITS, LAPLACE)),
            "intervals lie below them, at each epsilon",
        ),
        judged(
            "Fig. 1 (c), (d)",
            "regret grows with 1 / epsilon",
            "; ".join(
                f"{name}: " + ", ".join(f"{float(f.sel(policy=name)):,.0f}" for f in final.values()) + " at epsilon 0.2, 0.5, 1, 2"
                for name in (LAPLACE, BITS)
            ),
            all(falls([float(f.sel(policy=name)) for f in final.values()]) for name in (LAPLACE, BITS)),
            "mean regret falls along these epsilons",
        ),
        judged(
            "Fig. 1 (e), (f)",
            "other laws of reward give similar regret",
            "regret over that with bits: " + "; ".join(f"{name}: {value:.2f}" for name, value in alike.items()),
            all(0.75 < value < 1 / 0.75 for value in alike.values()),
            "within a quarter",
        ),
        judged(
            "Fig. 2 (a)",
            "at epsilon 0.5 the ratios to UCB1 on sigmoids are 10 for LDP-UCB-BS and 15 for LDP-UCB-LS",
            f"{at}: {listed(normal)}",
            close(normal, STATED["gauss", 0.5]),
            "both within 10 %",
            horizon,
        ),
    ]
    return [*rows, unchecked("Fig. 1, 2", "curves over time", "the paper states no horizon and no values on its axes")]
