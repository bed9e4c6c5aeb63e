"""K-armed bandits under central privacy: the comparison of AdaP (Azize, Basu 2022), and two instances of Azize et al. 2025.

AdaP's comparison has five arms with means 0.75, 0.625, 0.5, 0.375, 0.25, epsilon 1, T = 1e7 and 20 runs; the other instance has
one arm of 0.75 and four of 0.7, epsilons 0.01 to 1, T = 1e6 and 100 runs. The quick setting has T = 1e5 and 20 runs for all.
"""

import dataclasses
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxbandits import Study, log_checkpoints, plot
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed
from jaxbandits.theory import armed_central as theory

from .published import Finding, Shown

TITLE = "K-armed bandits under central privacy (Azize, Basu 2022; Azize et al. 2025)"
FIGURES = {
    "armed_central": Shown(
        "regret against the round at epsilon 1, and against epsilon on two instances, with the lower bound", "DP, proved"
    ),
}

SPREAD, CLOSE = "0.75, 0.625, 0.5, 0.375, 0.25", "0.75, 0.7 four times"
MEANS = {SPREAD: np.array([0.75, 0.625, 0.5, 0.375, 0.25]), CLOSE: np.array([0.75, 0.7, 0.7, 0.7, 0.7])}
EPSILONS = (0.01, 0.1, 0.5, 1.0)

STYLES = {
    "DP-UCB (Mishra, Thakurta)": {"color": "#999999"},
    "DP-UCB-Bound": {"color": "#D55E00"},
    "DP-SE": {"color": "#CC79A7"},
    "AdaP-UCB": {"color": "#56B4E9"},
    "Lazy-DP-TS": {"color": "#E69F00"},
    "AdaP-KLUCB": {"color": "#0072B2"},
    "DP-KLUCB": {"color": "#009E73"},
    "DP-IMED": {"color": "#000000"},
}
POLICIES = {
    "DP-UCB (Mishra, Thakurta)": policies.mishra_thakurta_ucb,
    "DP-UCB-Bound": policies.dp_ucb_bound,
    "DP-SE": policies.dp_se,
    "AdaP-UCB": policies.adap_ucb,
    "Lazy-DP-TS": policies.lazy_dp_ts,
    "AdaP-KLUCB": policies.adap_kl_ucb,
    "DP-KLUCB": policies.dp_kl_ucb,
    "DP-IMED": policies.dp_imed,
}


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 20
    long: int = 100_000  # rounds of AdaP's comparison
    sweep_seeds: int = 20
    sweep: int = 100_000  # rounds of the sweep over epsilon


QUICK = Scale()
FULL = Scale(long=10_000_000, sweep_seeds=100, sweep=1_000_000)


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of these figures, by name."""
    grids = {scale.long: {"means": {SPREAD: MEANS[SPREAD]}, "epsilon": (1.0,)}, scale.sweep: {"means": MEANS, "epsilon": EPSILONS}}
    seeds = {scale.long: scale.seeds, scale.sweep: scale.sweep_seeds}
    return {
        f"rounds-{horizon}": Study(
            problem=armed, policies=POLICIES, grid=grid, seeds=seeds[horizon], horizon=horizon, checkpoints=log_checkpoints(horizon)
        )
        for horizon, grid in grids.items()  # one study, if both are of the same length
    }


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """The figure, from the results of all studies."""
    by_round, sweep = results[f"rounds-{scale.long}"], results[f"rounds-{scale.sweep}"]
    with plot.styled():
        figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
        rounds = by_round["round"].values
        plot.regret(by_round.sel(means=SPREAD, epsilon=1.0), styles=STYLES, ax=axes[0])
        plot.bound(
            axes[0], rounds, np.asarray(theory.dp_lower(horizon=rounds, means=MEANS[SPREAD], epsilon=1.0)), "lower bound, asymptotic"
        )
        axes[0].set_xlim(100, scale.long)
        axes[0].set_title(f"means {SPREAD}; epsilon = 1")
        for ax, (name, means) in zip(axes[1:], MEANS.items(), strict=True):
            plot.regret_against(sweep.sel(means=name), "epsilon", styles=STYLES, ax=ax)
            lower = [theory.dp_lower(horizon=scale.sweep, means=means, epsilon=e) for e in EPSILONS]
            plot.bound(ax, np.asarray(EPSILONS), np.asarray(lower), "lower bound, asymptotic")
            ax.set_title(f"means {name}")
        for ax in axes:
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_ylim(bottom=10)
            ax.get_legend().remove()
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
        seeds = f"{scale.seeds} and {scale.sweep_seeds} seeds" if scale.seeds != scale.sweep_seeds else f"{scale.seeds} seeds"
        figure.suptitle(f"{TITLE}\nfive arms, {seeds}, mean with 95 % band", fontsize=10)
    return {"armed_central": figure}


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Final regrets; one line each."""
    final = results[f"rounds-{scale.long}"]["regret"].sel(means=SPREAD, epsilon=1.0).isel(round=-1)
    mean, error = final.mean("seed"), final.std("seed", ddof=1) / np.sqrt(scale.seeds)
    lines = [f"means {SPREAD}, epsilon 1, after {scale.long:,} rounds, with standard error:"]
    order = sorted(mean["policy"].values, key=lambda name: float(mean.sel(policy=name)))
    return lines + [f"  {name:28}{float(mean.sel(policy=name)):9,.0f} ({float(error.sel(policy=name)):,.0f})" for name in order]


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """Nothing: a comparison of this project, whose algorithms are of several papers."""
    return []
