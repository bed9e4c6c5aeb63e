"""Running policies, and drawing what they did."""

import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import tyro
import xarray as xr

from jaxbandits.cli.chosen import Chosen
from jaxbandits.cli.file import study_in
from jaxbandits.dataset import claims
from jaxbandits.run import run
from jaxbandits.study import Study


@dataclasses.dataclass(frozen=True)
class Run(Chosen):
    """Runs policies of one family, on a problem that they play, or the study of a Python file, and prints the final regret of each.

    Examples: jaxbandits run --policies laplace_ucb first_ldp_kl_ucb --epsilon 0.5 1 2 --seeds 50 --plot regret.png;
    jaxbandits run studies.py:first --store results/first --cluster tcp://127.0.0.1:8786
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")] = ""
    """A Python file with a jaxbandits.Study, or FILE:NAME if it has several, in place of the options that describe one."""
    policies: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]")] = ()
    """Policies, as `jaxbandits list` names them."""
    epsilon: tuple[float, ...] = ()
    """Privacy levels to sweep, for the policies that have one."""
    horizon: int = 100_000
    """Number of rounds."""
    seeds: int | None = None
    """Number of seeds, 20 unless the file says another."""
    store: pathlib.Path | None = None
    """Directory for the results; running again finishes what is missing, and more seeds top it up."""
    repair: bool = False
    """Remove what is damaged in the store, and run it again."""
    cluster: str | None = None
    """Address of a Dask scheduler, such as tcp://127.0.0.1:8786, whose workers are to run it; they need the same versions."""
    compiled: pathlib.Path | None = None
    """Directory where compiled programs are kept for the next run, and for the workers of a cluster if they see it."""
    save: pathlib.Path | None = None
    """Write the Dataset as NetCDF 3 for `jaxbandits plot`, xarray or other tools."""
    plot: pathlib.Path | None = None
    """Draw the figure: regret against epsilon if several are swept, else against the round."""
    progress: bool = True
    """Show a progress bar."""

    def __call__(self) -> None:
        """Runs, prints, draws."""
        study = self.written() if self.file else self.described()
        for name, path in (("plot", self.plot), ("save", self.save)):
            _check_path(name, path)
        with _executor(self.cluster) as executor:
            dataset = run(study, store=self.store, executor=executor, progress=self.progress, repair=self.repair, compiled=self.compiled)
        _report(dataset, study, as_json=self.json)
        if self.save:
            dataset.to_netcdf(self.save, engine="scipy")
        if self.plot:
            _draw(dataset, self.plot)

    def written(self) -> Study:
        """The study of the file."""
        said = {field.name for field in dataclasses.fields(Chosen)} - {"json"} | {"epsilon", "horizon"}
        for field in dataclasses.fields(self):
            if field.name in said and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name} must be set in the study of the file, not beside it; got {getattr(self, field.name)!r}")
        study = study_in(self.file)
        return study if self.seeds is None else dataclasses.replace(study, seeds=self.seeds)

    def described(self) -> Study:
        """The study that the options describe."""
        return Study(
            problem=self.problem(),
            policies=self.factories(self.epsilon),
            grid={"epsilon": self.epsilon} if self.epsilon else {},
            seeds=20 if self.seeds is None else self.seeds,
            horizon=self.horizon,
            seed=self.seed,
        )


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draws a figure from a Dataset that `jaxbandits run --save` wrote."""

    dataset: tyro.conf.Positional[pathlib.Path]
    """The NetCDF file."""
    out: tyro.conf.Positional[pathlib.Path]
    """The figure: its ending chooses the format."""

    def __call__(self) -> None:
        """Draws."""
        dataset = saved(self.dataset)
        _check_path("plot", self.out)
        _draw(dataset, self.out)


@contextlib.contextmanager
def _executor(cluster: str | None) -> Iterator[concurrent.futures.Executor | None]:
    """The workers of a cluster; None if it is none."""
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError as error:
        raise ImportError(f"cluster needs Dask: pip install 'jaxbandits[cluster]'; {error}") from error
    try:
        get_address_host_port(cluster)  # a client that was never begun complains when it is thrown away
        client = Client(cluster, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"cluster must be the address of a Dask scheduler that runs; got {cluster!r}: {error}") from error
    with client:
        yield client.get_executor()


def saved(path: pathlib.Path) -> xr.Dataset:
    """The dataset that `jaxbandits run --save` wrote."""
    if not path.is_file():
        raise ValueError(f"dataset must be a file; got {str(path)!r}")
    try:
        return xr.load_dataset(path, engine="scipy")
    except Exception as error:  # whatever the readers make of a file that is not theirs
        raise ValueError(f"dataset must be a file that `jaxbandits run --save` wrote; got {str(path)!r}") from error


def _check_path(name: str, path: pathlib.Path | None) -> None:
    """Refuses a file that could not be written, before anything is run."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{name} must be a file in a directory that exists; got {str(path)!r}")
    if name == "plot":
        from matplotlib.backend_bases import FigureCanvasBase

        endings = FigureCanvasBase.get_supported_filetypes()
        if path.suffix.removeprefix(".") not in endings:
            raise ValueError(f"{name} must end in one of .{', .'.join(endings)}; got {str(path)!r}")


def _draw(dataset: xr.Dataset, path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from jaxbandits import plot

    if not {"regret", "claim"} <= set(dataset.variables):
        raise ValueError("dataset must be one that `jaxbandits run --save` wrote")
    axes = [str(d) for d in dataset["regret"].dims if d not in ("policy", "seed", "round")]
    against = next((a for a in axes if dataset.sizes[a] > 1 and dataset[a].dtype.kind in "iuf"), None)
    others = [axis for axis in axes if axis != against]
    dataset = dataset.isel(dict.fromkeys(others, 0))
    plot.save(plot.regret_against(dataset, against) if against else plot.regret(dataset), path)
    first = "".join(f", at {axis} {dataset[axis].item()}" for axis in others)
    print(f"wrote {path}{first}", file=sys.stderr)


def _report(dataset: xr.Dataset, study: Study, *, as_json: bool) -> None:
    """The final regret of each policy at each of its grid points, with its standard error."""
    final = dataset["regret"].isel(round=-1)
    rows = []
    for name, plan in study.plans.items():
        for flat, claim in enumerate(claims(study)[name]):
            where = np.unravel_index(flat, plan.shape) if plan.shape else ()
            point = {axis: list(study.axes[axis])[int(i)] for axis, i in zip(plan.axes, where, strict=True)}
            values = final.sel(policy=name, **point).isel({a: 0 for a in study.axes if a not in plan.axes}).values
            error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
            rows.append({"policy": name, **point, "regret": float(values.mean()), "standard_error": error, "claim": claim})
    if as_json:
        print(json.dumps([{k: None if v != v else v for k, v in row.items()} for row in rows], indent=1))
        return
    axes = list(study.axes) or ["epsilon"]
    lines = [{"policy": "policy", **{axis: axis for axis in axes}}]
    for row in rows:
        at = {axis: row.get(axis, "-") for axis in axes}
        lines.append({"policy": row["policy"], **{k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in at.items()}})
    wide = {name: max(len(line[name]) for line in lines) for name in lines[0]}
    numbers = [f"{'regret':>12}  {'s.e.':>9}  claim"]
    numbers += [f"{row['regret']:12,.1f}  {row['standard_error']:9.1f}  {row['claim']['label']}" for row in rows]
    print(f"after {study.rounds[-1]:,} rounds, {study.seeds} seeds:")
    for line, right in zip(lines, numbers, strict=True):
        left = [f"{text:{wide[name]}}" if name == "policy" else f"{text:>{max(wide[name], 8)}}" for name, text in line.items()]
        print("  ".join([*left, right]))
