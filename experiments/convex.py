"""LDP (Contextual) Bandits, arXiv 2006.00701: bandit convex optimisation. The paper has no experiment; these are ours.

Quadratic losses on the unit disc, |x - c_t|^2 with c_t on a circle about a point of each seed: smooth and strongly convex, so that all
learners may play. Learners are tuned to the horizon, so every horizon is a study. epsilon = inf is the learner itself.
"""

import dataclasses
import math
from collections.abc import Mapping
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from jaxbandits import Study, domains, plot, problems, stats
from jaxbandits.policies import convex

from .published import Finding, Interval, Shown, interval, judged, listed

TITLE = "LDP bandit convex optimisation (arXiv 2006.00701)"
FIGURES = {
    "slopes": Shown(
        "final regret against the horizon on log-log axes, with fitted slopes, at epsilon inf, 2 and 1", "LDP, proved, and non-private"
    ),
    "epsilon": Shown("final regret against epsilon at the longest horizon", "LDP, proved"),
}

DELTA, LEVELS = 1e-2, (math.inf, 2.0, 1.0)
SWEEP = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
DISC = domains.ball(dim=2)
LOSSES = problems.losses.quadratic(domain=DISC)
ONE = {
    "FKM": partial(convex.ldp_gaussian_one_point, delta=DELTA, black_box=convex.fkm),
    "Saha, Tewari": partial(convex.ldp_gaussian_one_point, delta=DELTA, black_box=convex.saha_tewari),
    "FKM, strongly convex": partial(convex.ldp_gaussian_one_point, delta=DELTA, black_box=convex.fkm_strongly_convex),
    "Hazan, Levy": partial(convex.ldp_gaussian_one_point, delta=DELTA, black_box=convex.hazan_levy),
}
TWO = {
    "two points": partial(convex.ldp_gaussian_two_point, delta=DELTA),
    "two points, falling step": partial(convex.ldp_gaussian_two_point, delta=DELTA, rate=convex.falling_rate),
}
PROVED = {
    "FKM": "3/4",
    "Saha, Tewari": "2/3",
    "FKM, strongly convex": "2/3",
    "Hazan, Levy": "1/2",
    "two points": "1/2",
    "two points, falling step": "0 (log T)",
}
STYLES = {
    "FKM": {"color": "#D55E00"},
    "Saha, Tewari": {"color": "#0072B2"},
    "FKM, strongly convex": {"color": "#E69F00"},
    "Hazan, Levy": {"color": "#009E73"},
    "two points": {"color": "#56B4E9", "linestyle": "--"},
    "two points, falling step": {"color": "#CC79A7", "linestyle": "--"},
}
KINDS = {"one": (problems.one_point, ONE), "two": (problems.two_point, TWO)}


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 20
    horizons: tuple[int, ...] = (1_000, 10_000, 100_000)


QUICK = Scale()
FULL = Scale(seeds=200, horizons=(1_000, 10_000, 100_000, 1_000_000))


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of these figures, by name."""
    found = {}
    for kind, (problem, policies) in KINDS.items():
        common = {"problem": partial(problem, domain=DISC, losses=LOSSES), "policies": policies, "seeds": scale.seeds}
        for horizon in scale.horizons:
            found[f"{kind}-{horizon}"] = Study(grid={"epsilon": LEVELS}, horizon=horizon, checkpoints=(horizon,), **common)
        longest = scale.horizons[-1]
        found[f"{kind}-epsilon-{longest}"] = Study(grid={"epsilon": SWEEP}, horizon=longest, checkpoints=(longest,), **common)
    return found


def by_horizon(results: Mapping[str, xr.Dataset], kind: str, scale: Scale) -> xr.DataArray:
    """The final regret of all horizons, with the dimension horizon."""
    last = [results[f"{kind}-{horizon}"]["regret"].isel(round=-1, drop=True) for horizon in scale.horizons]
    return xr.concat(last, xr.IndexVariable("horizon", list(scale.horizons)))


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure, by name, from the results of all studies."""
    return {"slopes": _slopes(results, scale), "epsilon": _epsilon(results, scale)}


def _slopes(results: Mapping[str, xr.Dataset], scale: Scale) -> Figure:
    with plot.styled():
        figure, axes = plt.subplots(2, len(LEVELS), figsize=(12, 7.4), layout="constrained", sharex=True, sharey="row")
        for row, kind in zip(axes, KINDS, strict=True):
            values = by_horizon(results, kind, scale)
            for ax, level in zip(row, LEVELS, strict=True):
                plot.slopes(values.sel(epsilon=level), "horizon", styles=STYLES, ax=ax)
                _guides(ax, scale, (0.75, 2 / 3, 0.5) if kind == "one" else (0.5,))
                claims = np.unique(results[f"{kind}-{scale.horizons[0]}"]["claim"].sel(epsilon=level).values.astype(str))
                privacy = " / ".join(claims)
                ax.set_title(f"{'one point' if kind == 'one' else 'two points'}, {privacy}")
                ax.set_ylabel("final regret" if level == LEVELS[0] else "")
                ax.set_xlabel("horizon" if kind == "two" else "")
        proved = "; ".join(f"{name} {slope}" for name, slope in PROVED.items())
        figure.suptitle(
            f"{TITLE}: quadratic losses on the disc, {scale.seeds} seeds, mean with 95 % band\n"
            f"slopes of the bounds, up to logarithms: {proved}; grey: slopes "
            "3/4, 2/3, 1/2",
            fontsize=10,
        )
    return figure


def _guides(ax, scale: Scale, slopes: tuple[float, ...]) -> None:
    """Thin lines of the slopes that are proved, from where the highest curve begins."""
    x = np.asarray(scale.horizons, float)
    top = max(line.get_ydata()[0] for line in ax.lines)
    for slope in slopes:
        ax.plot(x, 1.5 * top * (x / x[0]) ** slope, color="#aaaaaa", linewidth=0.8, linestyle=":", zorder=0)


def _epsilon(results: Mapping[str, xr.Dataset], scale: Scale) -> Figure:
    longest = scale.horizons[-1]
    with plot.styled():
        figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
        for ax, kind in zip(axes, KINDS, strict=True):
            plot.regret_against(results[f"{kind}-epsilon-{longest}"], "epsilon", styles=STYLES, ax=ax)
            limit = results[f"{kind}-{longest}"]["regret"].sel(epsilon=math.inf).isel(round=-1).mean("seed")
            for name in KINDS[kind][1]:
                ax.axhline(float(limit.sel(policy=name)), color=STYLES[name]["color"], linewidth=0.8, linestyle=":")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xticks(SWEEP)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_title("one point" if kind == "one" else "two points")
        figure.suptitle(
            f"{TITLE}: delta = {DELTA:g}, {longest:,} rounds, {scale.seeds} seeds, mean with 95 % band; dotted: without privacy",
            fontsize=10,
        )
    return figure


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Fitted slopes over all horizons beside those of the bounds; one line each."""
    lines = ["slope of the final regret on log-log axes, with 95 % interval, at epsilon inf, 2, 1; of the bound:"]
    for kind, (_, policies) in KINDS.items():
        values = by_horizon(results, kind, scale)
        for name in policies:
            fits = [stats.log_slope(values.sel(policy=name, epsilon=level), "horizon") for level in LEVELS]
            cells = "".join(f"  {float(f['mean']):.2f} ({float(f['low']):.2f} to {float(f['high']):.2f})" for f in fits)
            lines.append(f"  {name:22}{cells}  {PROVED[name]}")
    return lines


ORDERS = {
    "FKM": ("convex losses: T^(3/4), as without privacy", 3 / 4),
    "Saha, Tewari": ("smooth losses: T^(2/3), as without privacy", 2 / 3),
    "FKM, strongly convex": ("strongly convex losses: T^(2/3), as without privacy", 2 / 3),
    "Hazan, Levy": ("smooth, strongly convex losses: T^(1/2), as without privacy", 1 / 2),
    "two points": ("two points, convex losses: T^(1/2), as without privacy", 1 / 2),
    "two points, falling step": ("two points, strongly convex losses: log T, as without privacy", 0.0),
}
"""What the theorems say of each learner, up to logarithms, and the exponent."""


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the paper proves of regret, which are upper bounds, beside fitted slopes; it has no figures."""
    rows = []
    for kind, (_, policies) in KINDS.items():
        values = by_horizon(results, kind, scale)
        for name in policies:
            order, most = ORDERS[name]
            fits = {level: _slope(values.sel(policy=name, epsilon=level)) for level in (1.0, math.inf)}
            shown = listed({"epsilon 1": fits[1.0], "without privacy": fits[math.inf]})
            rows.append(
                judged(
                    "Theorems on bandit convex optimisation",
                    f"{order}; times a factor of 1 / epsilon",
                    f"{name}, slope on log-log axes: {shown}",
                    fits[1.0].mean <= most + 0.05,  # the end of an interval would let few seeds reproduce anything
                    f"an upper bound: the slope at epsilon 1 is not above {most:.2g}, up to 0.05 for the logarithms and the fit",
                    f"over horizons up to {scale.horizons[-1]:,} the slope is above {most:.2g}; logarithms and the first rounds weigh on "
                    "such short horizons, with privacy more than without",
                )
            )
    return rows


def _slope(values: xr.DataArray) -> Interval:
    return interval(stats.log_slope(values, "horizon"))
