"""Multi-Armed Bandits with Local Differential Privacy, arXiv 2007.03121: its figures.

Twenty arms: one of 0.9, five each of 0.8, 0.7 and 0.6, four of 0.5; 50 trials. The paper states neither the horizon nor the epsilons
of its sweeps; its ratios need T of about 1e7, here the full setting, 1e5 being the quick one. Here regret is expected regret; the
paper's is realised, of the same mean.

Figures:
  bernoulli   Fig. 1 (a), (b): three algorithms at epsilon 2 and 0.2; (c), (d): LDP-UCB-L and LDP-UCB-B at four epsilons
  mixed       Fig. 1 (e), (f): the three algorithms on other laws of reward, at epsilon 2 and 0.2
  gauss       Fig. 2 (a)-(c): normal rewards behind a sigmoid
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

TITLE = "Multi-Armed Bandits with Local Differential Privacy (arXiv 2007.03121)"

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
    with plt.rc_context(plot.STYLE):
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
