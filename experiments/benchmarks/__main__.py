"""``python -m experiments.benchmarks``: how fast the engine is, as ratios measured in one run.

Prints a table: medians of interleaved repeats, the smallest and the largest, and what the project set out to reach. Give it an
idle machine and about three minutes.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.benchmarks import measure, rows, table
from experiments.benchmarks.rows import FULL, QUICK, Sizes


@dataclasses.dataclass(frozen=True)
class Options:
    """What to measure."""

    full: bool = False
    """Up to a million rounds."""
    repeats: int = 5
    """How often to measure each."""
    json: Path | None = None
    """Where to write the numbers, each repeat of them."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="|".join(table.LINES))] = tuple(table.LINES)
    """Which rows."""


def take(name: str, sizes: Sizes, where: Callable[..., Any]) -> Any:
    """One measurement.

    Args:
      name: which.
      sizes: how much.
      where: ``measure.in_child`` or ``measure.in_process``.

    Returns:
      its numbers, as JSON types.
    """
    if name in ("compile", "compile_linear"):
        once = rows.compile_seconds if name == "compile" else rows.compile_linear
        return [where(once, sizes, pin=False) for _ in range(sizes.compilations)]
    if name == "memory":
        ends = min(sizes.horizons), max(sizes.horizons)
        return {str(horizon): where(rows.memory, sizes, horizon, pin=True) for horizon in ends}
    return where(getattr(rows, name), sizes, pin=name not in ("threads", "federated_study"))


def main(args: Sequence[str] | None = None, sizes: Sizes | None = None, where: Callable[..., Any] = measure.in_child) -> None:
    """Measures, prints, and writes what the options ask for.

    Args:
      args: the command line; by default that of the process.
      sizes: how much to measure, by default what the options say.
      where: where to measure, by default each in a process of its own.
    """
    options = tyro.cli(Options, args=args, prog="python -m experiments.benchmarks", description=__doc__)
    unknown = [name for name in options.only if name not in table.LINES]
    if unknown or options.repeats < 1:
        raise SystemExit(f"--only must be among {', '.join(table.LINES)}, and --repeats at least 1; got {unknown or options.repeats}")
    sizes = sizes or dataclasses.replace(FULL if options.full else QUICK, repeats=options.repeats)
    machine = measure.machine()
    print("\n".join(_about(machine)), table.HEADER, sep="\n\n", flush=True)
    measured, lines = {}, []
    for name in options.only:
        measured[name] = take(name, sizes, where)
        for line in table.LINES[name](measured[name], sizes):
            lines.append({**line._asdict(), "what": line.what.strip()})
            print(line, flush=True)
    if options.json:
        everything = {"machine": machine, "sizes": dataclasses.asdict(sizes), "measured": measured, "lines": lines}
        options.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


def _about(machine: dict[str, Any]) -> list[str]:
    pinned = "pinned to one core" if machine["pinned"] else "not pinned: this platform cannot"
    return [
        f"cpu       {machine['cpu']}, {machine['cores']} cores, load {machine['load']}",
        f"platform  {machine['platform']}",
        "versions  " + ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        f"date      {machine['date']}",
        "",
        "workload A: cascade, 4 of 20 items, Algorithm 2, epsilon 1, Laplace noise at full scale, log checkpoints",
        f"CPU time per lane-round where not said otherwise, one thread, {pinned}",
    ]


if __name__ == "__main__":
    main()
