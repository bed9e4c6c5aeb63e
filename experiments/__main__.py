"""Runs the studies of the papers, draws their figures, and writes a page that sets published findings beside what was measured.

Results go to a store, so an interrupted run goes on where it stopped, and --full tops up the seeds of a quick one.
"""

import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import matplotlib
import tyro

from jaxbandits import run
from jaxbandits.cli import ended_well

from . import gallery
from .papers import PAPERS


@dataclasses.dataclass(frozen=True)
class Options:
    """What to draw, and where."""

    papers: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[PAPER ...]", help_behavior_hint="")] = ()
    """Which papers, of `jaxbandits list figures`; all by default."""
    out: Path = Path("results")
    """Directory for the figures, the page gallery.md, and the store."""
    full: tyro.conf.FlagCreatePairsOff[bool] = False
    """About ten times as many seeds, every instance, and the long horizons; by default the papers' own repeats."""
    at_once: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: 2, or 1 with an accelerator)")] = None
    """How many papers at once, each in a process of its own."""
    progress: bool = True
    """Show a progress bar for each study, where one paper is drawn at a time."""


def main(args: Sequence[str] | None = None, prog: str = "python -m experiments") -> None:
    """Runs and draws what the options ask for.

    Args:
      args: the command line; by default that of the process.
      prog: the name of the command.
    """
    options = tyro.cli(Options, args=args, prog=prog, description=__doc__)
    unknown = [name for name in options.papers if name not in PAPERS]
    if unknown:
        raise ValueError(f"papers must be among {', '.join(PAPERS)}; got {unknown[0]!r}")
    if options.at_once is not None and options.at_once < 1:
        raise ValueError(f"at-once must be an integer, at least 1; got {options.at_once}")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"out must be a directory that can be made; got {str(options.out)!r}: {error.strerror}") from error
    begin, names = time.perf_counter(), options.papers or tuple(PAPERS)
    if len(names) > 1 and (options.at_once or _usual()) > 1:
        _draw_in_processes(names, options)
    else:
        for name in names:
            draw(name, options)
    print(f"{gallery.page(options.out)}, {', '.join(names)}: {time.perf_counter() - begin:.0f} s")


def _usual() -> int:
    """Two processes share cores well, where one waits while it compiles the last of its programs; an accelerator is not shared."""
    import jax

    return 2 if jax.default_backend() == "cpu" else 1


def draw(name: str, options: Options) -> None:
    """Runs the studies of one paper, writes its figures, and prints what was found."""
    matplotlib.use("Agg")
    paper = PAPERS[name]
    scale = paper.FULL if options.full else paper.QUICK
    print(f"{paper.TITLE}: {scale.seeds} seeds", flush=True)
    studies = paper.studies(scale)
    results = {key: run(study, store=options.out / "store" / name / key, progress=options.progress) for key, study in studies.items()}
    horizon = max(study.horizon for study in studies.values())
    about = f"{scale.seeds} seeds, up to {horizon:,} rounds"
    found = paper.published(results, scale)
    for path in gallery.keep(options.out, name, paper.figures(results, scale), found, about):
        print(f"  {path}")
    for line in paper.findings(results, scale):
        print(f"  {line}")
    for finding in found:
        print(f"  {finding.where}: {finding.verdict}. {finding.published}: {finding.measured or finding.why}")


def _draw_in_processes(names: Sequence[str], options: Options) -> None:
    """So many papers at once, each in a process; what it prints comes when it is done."""
    waiting, running, failed = list(reversed(names)), {}, []  # the last ones take longest, and are not to be left alone at the end
    words = [sys.executable, "-m", __spec__.name if __spec__ else "experiments", "--out", str(options.out), "--no-progress"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        while waiting or running:
            while waiting and len(running) < (options.at_once or _usual()):
                name = waiting.pop(0)
                more = [*(["--full"] if options.full else []), "--at-once", "1", name]
                running[name] = subprocess.Popen([*words, *more], stdout=subprocess.PIPE, text=True, env=environment)
                print(f"{name}: begun", flush=True)
            for name, process in list(running.items()):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    said, _ = process.communicate(timeout=0.2)
                    print(said, end="", flush=True)
                    if process.returncode:
                        failed.append(name if process.returncode > 0 else f"{name} (killed by signal {-process.returncode})")
                    del running[name]
    except BaseException:
        for process in running.values():
            process.terminate()  # it pauses, and keeps what it has; what a script put into the background would not hear a SIGINT
        for process in running.values():
            process.wait()
        raise
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed; the same command goes on from here")


if __name__ == "__main__":
    with ended_well("experiments"):
        main()
