"""The scaling curves: time per lane-round against lanes, rounds, items and threads."""

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from jaxbandits import plot, plotted

from .jobs import LIST_LEN, Sizes
from .versus import ENGINE

NEEDED = ("lanes", "rounds", "items", "threads")
"""The rows that are drawn."""

_WHO = {ENGINE: ("jaxbandits", "o"), "idiomatic": ("idiomatic JAX", "s"), "scalar": ("scalar loop, Numba", "^")}
"""Whose curves there are: names and markers."""


def scaling(measured: Mapping[str, Any], sizes: Sizes, path: Path) -> None:
    """Draws medians, with the range of the repeats.

    Args:
      measured: the measurements by row, those of ``NEEDED`` among them.
      sizes: how much was measured.
      path: where to write the picture.
    """
    labels = {
        "lanes": f"lanes, {sizes.lane_horizon:,} rounds",
        "rounds": f"rounds, {sizes.lanes} lanes",
        "items": f"items, lists of {LIST_LEN}",
        "threads": "threads, wall clock",
    }
    with plt.rc_context({**plot.STYLE, "savefig.dpi": 150}):
        layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.06)  # numbers at the end of one axis and at the start of the next
        figure, axes = plt.subplots(2, 2, figsize=(6.6, 4.8), sharey=True, layout=layout)
        for ax, name in zip(axes.flat, NEEDED, strict=True):
            curves = {ENGINE: measured[name]} if name == "threads" else measured[name]
            for who, curve in curves.items():
                _draw(ax, who, curve)
            _log_axis(ax, [int(size) for size in curves[ENGINE]])
            ax.set_xlabel(labels[name])
        _in_proportion(axes.flat[NEEDED.index("threads")], measured["threads"])
        for ax in axes[:, 0]:
            ax.set_ylabel("ns per lane-round")
        shared = axes.flat[0]
        shared.set_yscale("log")
        shared.set_ylim(bottom=10 ** np.floor(np.log10(shared.get_ylim()[0])))
        shared.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        shared.yaxis.set_minor_formatter(NullFormatter())
        named = {name: line for ax in axes.flat for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(list(named.values()), list(named), loc="outside upper center", ncols=len(named))
        figure.savefig(path)
        plt.close(figure)


def _in_proportion(ax: Axes, curve: Mapping[str, list[float]]) -> None:
    counts = [int(count) for count in curve]
    alone = statistics.median(curve["1"])
    style = {"color": "#555555", "linestyle": "--", "linewidth": 1.0}
    ax.plot(counts, [alone / count for count in counts], label="in proportion", **style)


def _draw(ax: Axes, who: str, curve: Mapping[str, list[float]]) -> None:
    (label, marker), colour = _WHO[who], plotted.COLOURS[list(_WHO).index(who)]
    x, repeats = [int(size) for size in curve], list(curve.values())
    ax.plot(x, [statistics.median(values) for values in repeats], label=label, color=colour, marker=marker, markersize=4)
    ax.fill_between(x, [min(v) for v in repeats], [max(v) for v in repeats], color=colour, alpha=0.18, linewidth=0)


def _log_axis(ax: Axes, sizes: list[int]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
