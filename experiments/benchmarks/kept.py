"""Regressions: the ratios of one run kept as a small file, and a later run compared with them.

Ratios carry over between machines and are always compared; times and memory only if the processor is the same model. A line has
changed if its range over repeats, at least 5 % to either side of its median, has nothing in common with the kept one, widened in the
same way. The 5 % are what a median moves between processes though all repeats in one agree.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from . import table
from .jobs import Sizes
from .table import Line

RULE = "changed: the ranges over repeats, each at least 5 % to either side of its median, have nothing in common"
_LEAST = 0.05
_ABSOLUTE = ("ns", "s", "MB")


def summary(machine: Mapping[str, Any], sizes: Sizes, rows: Mapping[str, list[Line]]) -> dict[str, Any]:
    """What is kept: unit, median, smallest and largest of each line, and where they were measured."""

    def numbers(line):
        return [line.unit, *(_rounded(x) for x in (line.value, *(line.spread or (line.value, line.value))))]

    def row(lines):
        return {name: numbers(line) for name, line in table.keyed(lines).items() if line.value is not None and line.unit != "s.e."}

    return {"machine": dict(machine), "sizes": _plain(sizes), "lines": {name: row(lines) for name, lines in rows.items()}}


def _rounded(value: float) -> float:
    """Three digits, as few characters as they take."""
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded.is_integer() else rounded


def _plain(sizes: Sizes) -> dict[str, Any]:
    """As they come back from a file."""
    return json.loads(json.dumps(dataclasses.asdict(sizes)))


def text(kept: Mapping[str, Any]) -> str:
    """As JSON with one line of the table on each line, so that a later file can be compared by eye."""
    rows = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(what)}: {json.dumps(numbers)}" for what, numbers in row.items())
        + "\n  }"
        for name, row in kept["lines"].items()
    ]
    parts = [f' "{part}": {json.dumps(kept[part])}' for part in ("machine", "sizes")]
    return "{\n" + ",\n".join([*parts, ' "lines": {\n' + ",\n".join(rows) + "\n }"]) + "\n}\n"


def _widened(value: float, low: float, high: float) -> tuple[float, float]:
    return min(low, (1 - _LEAST) * value), max(high, (1 + _LEAST) * value)


def verdict(line: Line, kept: tuple[float, float, float]) -> str:
    """``better`` or ``worse`` if the line has changed, else nothing.

    Args:
      line: as measured now.
      kept: median, smallest and largest of the kept run.
    """
    assert line.value is not None
    low, high = _widened(line.value, *(line.spread or (line.value, line.value)))
    least, most = _widened(*kept)
    if low <= most and least <= high:
        return ""
    return "better" if (low > most) == (line.wanted == "more") else "worse"


def against(machine: Mapping[str, Any], sizes: Sizes, rows: Mapping[str, list[Line]], kept: Mapping[str, Any]) -> Iterator[str]:
    """The comparison, as lines to print.

    Args:
      machine: where this run was measured.
      sizes: how much was measured.
      rows: the lines of this run, by row.
      kept: what ``summary`` made of an earlier run.
    """
    here, there = machine["cpu"], kept["machine"]["cpu"]
    yield f"kept      {kept['machine']['date']}, {there}"
    yield "versions  " + ", ".join(f"{name} {version}" for name, version in kept["machine"]["versions"].items())
    if here != there:
        yield f"another processor, so times and memory are not compared: here {here}"
    now = _plain(sizes)
    other = [f"{name} {now.get(name)}, kept {value}" for name, value in kept["sizes"].items() if now.get(name) != value]
    if other:
        yield "other sizes: " + "; ".join(other)
    yield "\n" + _columns("", "now", "kept", "now/kept")
    units = ("x", *_ABSOLUTE) if here == there else ("x",)
    for name, lines in rows.items():
        before, measured = kept["lines"].get(name, {}), table.keyed(lines)
        for what, line in measured.items():
            if line.value is not None and line.unit in units:
                yield _compared(what, line, before.get(what))
        for what, (unit, *_) in before.items():
            if unit in units and (what not in measured or measured[what].value is None):
                yield _columns(what, "not measured")
    yield "\n" + RULE


def _compared(what: str, line: Line, before: list[Any] | None) -> str:
    assert line.value is not None
    now = f"{table.number(line.value)} {line.unit}"
    if before is None or before[0] != line.unit:
        return _columns(what, now, "not kept")
    value, low, high = before[1:]
    return _columns(what, now, f"{table.number(value)} {line.unit}", f"{line.value / value:.2f}", verdict(line, (value, low, high)))


def _columns(what: str, now: str, kept: str = "", ratio: str = "", changed: str = "") -> str:
    return f"{what:<92}{now:<14}{kept:<14}{ratio:<10}{changed}".rstrip()
