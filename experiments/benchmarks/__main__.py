"""How fast the engine is, as ratios measured in one run: ``jaxbandits bench``, or ``python -m experiments.benchmarks`` in a checkout.

Prints a table: medians of interleaved repeats, the smallest and the largest, and what the project set out to reach. Give it an
idle machine and about ten minutes. What was measured once can be printed, drawn, kept and compared later: --json writes it, --load
reads it.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from . import kept, measure, rows, table
from .jobs import FULL, QUICK, Sizes

ROWS = "Which rows; all by default. " + "; ".join(f"{name}: {what}" for name, what in rows.MEASURED.items()) + "."
"""Help for the choice of rows."""
FileOption = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]


@dataclasses.dataclass(frozen=True)
class Options:
    """What to measure, and what to do with it."""

    full: tyro.conf.FlagCreatePairsOff[bool] = False
    """Up to a million rounds."""
    repeats: int = 5
    """How often to measure each."""
    json: FileOption = None
    """Where to write the numbers, each repeat of them."""
    load: FileOption = None
    """What --json wrote, instead of measuring."""
    figure: FileOption = None
    """Where to draw the scaling curves."""
    keep: FileOption = None
    """Where to keep the ratios, to compare later runs with."""
    against: FileOption = None
    """What --keep wrote, to compare with."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ROW [ROW ...]", help=ROWS, help_behavior_hint="")] = tuple(table.LINES)


def _checked(options: Options) -> None:
    unknown = [name for name in options.only if name not in table.LINES]
    if unknown or options.repeats < 1:
        raise SystemExit(f"--only must be among {', '.join(table.LINES)}, and --repeats at least 1; got {unknown or options.repeats}")
    _drawable(options, options.only)


def _drawable(options: Options, names: Sequence[str]) -> None:
    if not options.figure:
        return
    from . import figure  # only here: every process that measures would load Matplotlib too

    lacking = [name for name in figure.NEEDED if name not in names]
    if lacking:
        raise SystemExit(f"--figure draws the rows {', '.join(figure.NEEDED)}; not there: {', '.join(lacking)}")


def _read(path: Path, option: str, part: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or part not in found:
        raise SystemExit(f"{path} must be what {option} wrote")
    return found


def _sizes(written: dict[str, Any]) -> Sizes:
    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    known: dict[str, Any] = {field.name: tuples(written[field.name]) for field in dataclasses.fields(Sizes) if field.name in written}
    return Sizes(**known)


def main(
    args: Sequence[str] | None = None,
    prog: str = "python -m experiments.benchmarks",
    *,
    sizes: Sizes | None = None,
    where: Callable[..., Any] = measure.in_child,
) -> None:
    """Measures, prints, and writes what the options ask for.

    Args:
      args: the command line; by default that of the process.
      prog: the name of the command.
      sizes: how much to measure, by default what the options say.
      where: where to measure, by default each in a process of its own.
    """
    options = tyro.cli(Options, args=args, prog=prog, description=__doc__)
    _checked(options)
    earlier = _read(options.against, "--keep", "lines") if options.against else None
    loaded = _read(options.load, "--json", "measured") if options.load else None
    if loaded:
        machine, sizes = loaded["machine"], _sizes(loaded["sizes"])
        names = [name for name in options.only if name in loaded["measured"]]
        _drawable(options, names)
    else:
        machine, names = measure.machine(), options.only
        sizes = sizes or dataclasses.replace(FULL if options.full else QUICK, repeats=options.repeats)
    print("\n".join(_about(machine)), table.HEADER, sep="\n\n", flush=True)
    measured, lines = {}, {}
    for name in names:
        measured[name] = loaded["measured"][name] if loaded else rows.take(name, sizes, where)
        lines[name] = list(table.LINES[name](measured[name], sizes))
        print(*lines[name], sep="\n", flush=True)
    if options.json:
        written = [{"row": name, **line._asdict(), "what": line.what.strip()} for name in lines for line in lines[name]]
        everything = {"machine": machine, "sizes": dataclasses.asdict(sizes), "measured": measured, "lines": written}
        options.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    if options.keep:
        options.keep.write_text(kept.text(kept.summary(machine, sizes, lines)), encoding="utf-8")
    if options.figure:
        from . import figure

        figure.scaling(measured, sizes, options.figure)
    if earlier:
        print("", *kept.against(machine, sizes, lines, earlier), sep="\n")


def _about(machine: dict[str, Any]) -> list[str]:
    pinned = "pinned to one core" if machine["pinned"] else "not pinned: this platform cannot"
    return [
        f"cpu       {machine['cpu']}, {machine['cores']} cores, load {machine['load']}",
        f"platform  {machine['platform']}",
        "versions  " + ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        f"date      {machine['date']}",
        "",
        "workload A: cascade, 4 of 20 items, Algorithm 2, epsilon 1, Laplace noise at full scale, log checkpoints",
        "workload B: the same under central privacy, Algorithm 1, a hybrid counter for each item",
        "idiomatic JAX: vmap over a scanned step, jax.random, lax.top_k, .at[].add; LDP-LinUCB with batched LAPACK",
        f"CPU time per lane-round where not said otherwise, one thread, {pinned}",
    ]


if __name__ == "__main__":
    main()
