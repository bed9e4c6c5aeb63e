"""``python -m experiments``: runs every study of the papers and draws their figures.

Results go to a store, so an interrupted run goes on where it stopped, and ``--full`` tops up the seeds of a quick one.
"""

import dataclasses
import pathlib
import time
from typing import Annotated

import matplotlib
import tyro

from experiments import armed_central, armed_local, cascading_central, cascading_dp, contextual, convex, federated, privacy, semi_bandit
from jaxbandits import plot, run

PAPERS = {
    "cascading_dp": cascading_dp,
    "cascading_central": cascading_central,
    "semi_bandit": semi_bandit,
    "armed_central": armed_central,
    "armed_local": armed_local,
    "convex": convex,
    "contextual": contextual,
    "federated": federated,
    "privacy": privacy,
}


@dataclasses.dataclass(frozen=True)
class Options:
    """Reproduce the figures of the papers."""

    out: pathlib.Path = pathlib.Path("results")
    """Directory for figures and stores."""
    full: bool = False
    """Ten times the seeds, and every instance; by default the papers' own repeats."""
    papers: Annotated[tuple[str, ...], tyro.conf.arg(metavar="|".join(PAPERS))] = tuple(PAPERS)
    """Which papers."""
    progress: bool = True
    """Show progress bars."""


def main(options: Options) -> None:
    """Runs and draws what the options ask for."""
    matplotlib.use("Agg")
    unknown = [name for name in options.papers if name not in PAPERS]
    if unknown:
        raise SystemExit(f"papers must be among {', '.join(PAPERS)}; got {unknown[0]!r}")
    begin = time.perf_counter()
    for name in options.papers:
        paper = PAPERS[name]
        scale = paper.FULL if options.full else paper.QUICK
        print(f"{paper.TITLE}: {scale.seeds} seeds")
        results = {}
        for key, study in paper.studies(scale).items():
            results[key] = run(study, store=options.out / "store" / name / key, progress=options.progress)
        for key, figure in paper.figures(results, scale).items():
            path = options.out / f"{name}_{key}.png"
            plot.save(figure.axes[0], path)
            print(f"  {path}")
        for line in paper.findings(results, scale):
            print(f"  {line}")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
