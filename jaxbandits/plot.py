"""Figures of runs: the only file that draws.

Every line says in the legend what its policy claims: an epsilon only where it is a guarantee, else "no guarantee" or
"non-private". Bands are of the mean over seeds unless another is asked for.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from jaxbandits import plotted, stats, validate
from jaxbandits.privacy import Audit

STYLE = plotted.STYLE
"""Settings for ``plt.rc_context``: those of ``plt.style.use("jaxbandits.style")``, for figures of your own. They need no LaTeX."""


Arguments = ParamSpec("Arguments")


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """The style of this module, for what is drawn inside of it."""
    with plt.rc_context(STYLE):
        yield
        # The first figure of a notebook makes it interactive, which is no part of the style.
        interactive = plt.isinteractive()
    matplotlib.interactive(interactive)


def _styled(draw: Callable[Arguments, Axes]) -> Callable[Arguments, Axes]:
    """The function in this style."""

    @functools.wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Axes:
        with styled():
            return draw(*args, **kwargs)

    return drawn


def _axes(ax: Axes | None, size: tuple[float, float] = (5.2, 3.6)) -> Axes:
    if ax is not None:
        validate.instance("ax", ax, Axes, "Axes of matplotlib")
        return ax
    return plt.subplots(figsize=size, layout="constrained")[1]


def _from_zero(ax: Axes) -> None:
    """Starts a linear axis of regret at 0, still free to grow when more is drawn."""
    if ax.get_yscale() == "linear" and min((float(np.nanmin(line.get_ydata())) for line in ax.lines), default=0.0) >= 0:
        ax.set_ylim(bottom=0, auto=True)


def _draw(ax: Axes, x: np.ndarray, band: xr.Dataset, label: str, style: dict[str, Any]) -> None:
    (line,) = ax.plot(x, band["mean"].values, label=label, **style)
    low, high = band["low"].values, band["high"].values
    if len(x) == 1:  # a band between two points of which there is one would not be seen
        ax.vlines(x, low, high, color=line.get_color(), linewidth=1.0)
    else:
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)


def _draw_against(ax: Axes, axis: xr.DataArray, band: xr.Dataset, label: str, style: dict[str, Any]) -> None:
    beyond = np.isinf(axis.values) if axis.dtype.kind == "f" else np.zeros(axis.size, bool)
    if not beyond.all():
        _draw(ax, axis.values[~beyond], band.isel({str(axis.name): ~beyond}), label, style)
        label, style = "", {**style, "color": ax.lines[-1].get_color()}
    for mean in band["mean"].values[beyond]:
        ax.axhline(mean, color=style.get("color"), linestyle=":", linewidth=1.0, label=label or None)


@_styled
def regret(
    dataset: xr.Dataset,
    *,
    metric: str = "regret",
    policies: Iterable[str] | None = None,
    band: stats.Band = stats.normal_band,
    styles: dict[str, dict[str, Any]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Cumulative regret against the round, a line and a band for each policy.

    Args:
      dataset: what ``run`` returned, with one value chosen on each grid axis: ``dataset.sel(epsilon=1.0)``.
      metric: what to draw instead of the regret.
      policies: which to draw, in this order; all by default.
      band: the band over seeds; by default of the mean, 95 % by Student's t.
      styles: matplotlib line arguments by policy.
      ax: where to draw; a new figure by default.

    Raises:
      ValueError: if a policy or metric is unknown or a grid axis has no value chosen.
    """
    dataset = plotted.selected(dataset, ())
    lines = plotted.lines_of(dataset, stats.quantity(dataset, metric), policies, band, styles)
    ax = _axes(ax)
    for line in lines:
        _draw(ax, dataset["round"].values, *line)
    ax.set_xlabel("round")
    ax.set_ylabel("cumulative regret" if metric == "regret" else metric)
    ax.set_xlim(float(dataset["round"][0]), float(dataset["round"][-1]))
    _from_zero(ax)
    ax.xaxis.set_major_formatter(plotted.counted)
    ax.legend()
    return ax


@_styled
def regret_against(
    dataset: xr.Dataset,
    axis: str,
    *,
    metric: str = "regret",
    policies: Iterable[str] | None = None,
    band: stats.Band = stats.normal_band,
    styles: dict[str, dict[str, Any]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Final regret against a swept parameter, a line and a band for each policy. At an infinite value the mean is a dotted line across.

    Args:
      dataset: what ``run`` returned, with one value chosen on each other grid axis.
      axis: the swept parameter.
      metric: what to draw instead of the regret.
      policies: which to draw, in this order; all by default.
      band: the band over seeds.
      styles: matplotlib line arguments by policy.
      ax: where to draw; a new figure by default.

    Raises:
      ValueError: if the axis, a policy or the metric is unknown, or another grid axis has no value chosen.
    """
    dataset = plotted.checked(dataset)
    grid = [str(d) for d in dataset["regret"].dims if d not in ("policy", "seed", "round")]
    validate.one_of("axis", axis, grid or ["the grid axes, of which there are none"])
    dataset = plotted.selected(dataset, (axis,))
    values = stats.final(stats.quantity(dataset, metric))
    few = {"marker": "o", "markersize": 2.5} if dataset.sizes[axis] <= 12 else {}  # a line between few points looks measured
    lines = plotted.lines_of(dataset, values, policies, band, styles, **few)
    ax = _axes(ax)
    for line in lines:
        _draw_against(ax, dataset[axis], *line)
    ax.set_xlabel(f"nominal {axis}" if axis == "epsilon" and (dataset["claim"] == "no guarantee").any() else axis)
    _from_zero(ax)
    ax.yaxis.set_major_formatter(plotted.counted)
    ax.set_ylabel(f"{'regret' if metric == 'regret' else metric} after {int(dataset['round'][-1]):,} rounds")
    ax.legend()
    return ax


@_styled
def bound(ax: Axes, rounds: np.ndarray, values: np.ndarray, label: str, **style: Any) -> Axes:
    """Adds a theoretical bound, dashed.

    Args:
      ax: where to draw.
      rounds: the rounds.
      values: the bound at each of them.
      label: its name in the legend.
      style: matplotlib line arguments.

    Raises:
      ValueError: if there are not as many values as rounds, or an argument is of another kind.
    """
    validate.instance("ax", ax, Axes, "Axes of matplotlib")
    x, y = validate.finite("rounds", rounds), validate.finite("values", values)
    if len(x) != len(y):
        raise ValueError(f"values must be one for each of the {len(x)} rounds; got {len(y)}")
    validate.instance("label", label, str, "a text")
    ax.plot(x, y, **{"linestyle": "--", "linewidth": 1.0, "color": "#555555", "label": label, **style})
    _from_zero(ax)
    ax.legend()
    return ax


AUDITED = {"guarantee": "#0072B2", "guarantee refuted": "#CC0000", "no guarantee": "#D55E00", "non-private": "#777777"}
"""Colours of audits, by what the policy says."""


@_styled
def audit(audits: Mapping[str, Audit], *, ax: Axes | None = None) -> Axes:
    """The epsilon that each policy claims or names, and the one that an audit found it to have at least.

    Args:
      audits: by policy, from the top.
      ax: where to draw; by default a new figure, as high as there are policies.

    Raises:
      ValueError: if there are no audits.
    """
    if not isinstance(audits, Mapping) or not audits or not all(isinstance(found, Audit) for found in audits.values()):
        raise ValueError(f"audits must be a mapping from names to audits, not empty; got {validate.short(audits)}")
    high = 0.19 * max(len(audits), 6)  # with room for the legend
    ax = _axes(ax, (5.6, 0.9 + high))
    drawn = set()
    for place, found in enumerate(audits.values()):
        kind = found.claim.label() if not found.claim.guaranteed else "guarantee refuted" if found.violated else "guarantee"
        colour, nominal = AUDITED[kind], float(found.claim.epsilon)
        what = {"no guarantee": "nominal epsilon, no guarantee", "non-private": ""}.get(kind, "guaranteed epsilon")
        if np.isfinite(nominal):
            ax.plot([min(nominal, found.epsilon), max(nominal, found.epsilon)], [place, place], color=colour, linewidth=1.0, alpha=0.4)
            ax.plot(nominal, place, "|", color=colour, markersize=9, label=None if what in drawn else what)
        marker = ("X", 6.0) if kind == "guarantee refuted" else ("o", 3.5)
        ax.plot(found.epsilon, place, marker[0], color=colour, markersize=marker[1], label=None if kind in drawn else f"found, {kind}")
        drawn |= {what, kind}
    ax.set_yticks(range(len(audits)), list(audits), fontsize=7)
    ax.set_ylim(len(audits) - 0.4, -0.6)
    ax.set_xlim(left=-0.1)
    ax.set_xlabel(f"epsilon; dots are lower bounds at {100 * next(iter(audits.values())).confidence:g} % confidence")
    ax.grid(axis="y", visible=False)
    most = max(found.most for found in audits.values())
    ax.axvline(most, color="#777777", linewidth=0.8, linestyle=":", label="the most that so many runs can show")
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.5 / high), ncols=2)
    return ax


def save(ax: Axes, path: str | os.PathLike) -> None:
    """Writes the figure that the axes are in; the ending of the path chooses the format.

    Args:
      ax: what a function of this module returned.
      path: the file.

    Raises:
      ValueError: if the format is unknown, the directory is not there, or the axes are in no figure.
    """
    validate.instance("ax", ax, Axes, "Axes of matplotlib")
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError(f"ax must be in a figure; got {ax!r}")
    file = validate.new_file("path", path)
    if file.suffix:  # without one it is matplotlib's own choice
        validate.new_file("path", path, (f".{kind}" for kind in sorted(figure.canvas.get_supported_filetypes())))
    with styled():
        figure.savefig(file)


@_styled
def slopes(values: xr.DataArray, axis: str, *, styles: dict[str, dict[str, Any]] | None = None, ax: Axes | None = None) -> Axes:
    """A power law on log-log axes: means with bands, and the fitted slope of each policy in the legend.

    Args:
      values: with the dimensions policy, seed and ``axis``, such as the final regret of studies of several horizons.
      axis: what they are against, such as "horizon".
      styles: matplotlib line arguments by policy.
      ax: where to draw; a new figure by default.

    Raises:
      ValueError: as ``stats.log_slope``.
    """
    validate.instance("axis", axis, str, "a dimension of values")
    if not isinstance(values, xr.DataArray) or {*values.dims} != {"policy", "seed", axis}:
        raise ValueError(f"values must have the dimensions policy, seed and axis, {axis!r}, as a DataArray; got {validate.short(values)}")
    lines = []
    for i, policy in enumerate(map(str, values["policy"].values)):
        fit = stats.log_slope(mine := values.sel(policy=policy), axis)
        half = (float(fit["high"]) - float(fit["low"])) / 2
        style = plotted.style_of(styles, policy, color=plotted.COLOURS[i % len(plotted.COLOURS)], marker="o", markersize=3)
        lines.append((stats.normal_band(mine), f"{policy}: {float(fit['mean']):.2f} (within {half:.2f})", style))
    ax = _axes(ax)
    for line in lines:
        _draw(ax, values[axis].values, *line)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(axis)
    ax.set_ylabel("final regret")
    ax.legend(title="slope, with 95 % interval")
    return ax
