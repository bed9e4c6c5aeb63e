"""Running policies, and drawing what they did."""

import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import tyro
import xarray as xr

from jaxbandits import tables, validate
from jaxbandits.cli.chosen import NO_HINT, Chosen, Option, changed
from jaxbandits.cli.file import study_in
from jaxbandits.dataset import claims
from jaxbandits.precision import run_to_precision
from jaxbandits.run import run
from jaxbandits.study import Study

NO_PATH = tyro.conf.arg(metavar="FILE", help_behavior_hint="")
DIRECTORY = tyro.conf.arg(metavar="DIR", help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Work:
    """Where it is run, and where results are kept."""

    store: Annotated[pathlib.Path | None, DIRECTORY] = None
    """Directory for the results: the same command run again finishes what is missing, and more seeds top it up."""
    repair: tyro.conf.FlagCreatePairsOff[bool] = False
    """Remove what is damaged in the store, and run it again."""
    cluster: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Address of a Dask scheduler, such as tcp://127.0.0.1:8786, whose workers are to run it; they need the same versions."""
    compiled: Annotated[pathlib.Path | None, DIRECTORY] = None
    """Directory where compiled programs are kept for the next run, and for the workers of a cluster if they see it."""
    progress: bool = True
    """Show a progress bar."""


@dataclasses.dataclass(frozen=True)
class Output:
    """Files to write beside what is printed."""

    plot: Annotated[pathlib.Path | None, NO_PATH] = None
    """The figure: regret against what is swept, else against the round. The ending chooses the format."""
    table: Annotated[pathlib.Path | None, NO_PATH] = None
    """A table: .md and .tex for regret at the end, .csv and .parquet for every seed and round that was recorded."""
    save: Annotated[pathlib.Path | None, NO_PATH] = None
    """The Dataset as NetCDF 3, for `jaxbandits plot` and `jaxbandits privacy`, xarray or other tools."""


@dataclasses.dataclass(frozen=True)
class Run(Chosen):
    """Runs policies, and prints the final regret of each with what it claims.

    The policies are those of one family, on a problem that the options describe, or all of a study written in a Python file.

    Examples:
    jaxbandits run --policies laplace_ucb first_ldp_kl_ucb --epsilon 0.5 1 2 --seeds 50 --plot regret.png
    jaxbandits run studies.py:first --store results/first --cluster tcp://127.0.0.1:8786
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[STUDY]", help_behavior_hint="")] = ""
    """A Python file with a jaxbandits.Study, or FILE:NAME if it has several, in place of the options that describe one."""
    policies: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]", help_behavior_hint="")] = ()
    """Policies, as `jaxbandits list` names them."""
    epsilon: Annotated[tuple[float, ...], NO_HINT] = ()
    """Privacy levels to sweep, for the policies that have one."""
    horizon: int = 100_000
    """Number of rounds."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: 20, or as the file says)")] = None
    """Number of seeds."""
    precision: Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="")] = None
    """Add seeds until every final regret has a standard error of this share of it, such as 0.01."""
    most_seeds: int = 10_000
    """Where precision stops at the latest."""
    work: Option[Work] = Work()
    output: Option[Output] = Output()

    def __call__(self) -> None:
        """Runs, prints, writes."""
        study = self.written() if self.file else self.described()
        for name, path, endings in (
            ("plot", self.output.plot, _formats()),
            ("save", self.output.save, ()),
            ("table", self.output.table, TABLES),
        ):
            if path is not None:
                validate.new_file(name, path, endings)
        if self.output.table is not None and self.output.table.suffix == ".parquet":
            tables.check_parquet()
        with _executor(self.work.cluster) as executor:
            where = {field: getattr(self.work, field) for field in ("store", "progress", "repair", "compiled")}
            dataset = self.played(study, executor=executor, **where)
        _report(dataset, study, as_json=self.json)
        if self.output.save:
            dataset.to_netcdf(self.output.save, engine="scipy")
        if self.output.table:
            TABLES[self.output.table.suffix](dataset, self.output.table)
        if self.output.plot:
            _draw(dataset, self.output.plot)

    def played(self, study: Study, **options: Any) -> xr.Dataset:
        """The results, of as many seeds as the precision needs if one is asked for."""
        if self.precision is None:
            if self.most_seeds != 10_000:
                raise ValueError(f"most_seeds must come with a precision; got {self.most_seeds}")
            return run(study, **options)
        validate.positive("precision", self.precision)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            dataset = run_to_precision(study, relative=self.precision, most_seeds=self.most_seeds, **options)
        for warning in said:
            print(f"jaxbandits: {warning.message}", file=sys.stderr)
        return dataset

    def written(self) -> Study:
        """The study of the file."""
        elsewhere = {"json", "file", "seeds", "precision", "most_seeds", *changed(self.work), *changed(self.output)}
        for name, value in changed(self).items():
            if name not in elsewhere:
                raise ValueError(f"{name} must be set in the study of the file, not beside it; got {value!r}")
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
    against: Annotated[str | None, tyro.conf.arg(metavar="AXIS", help_behavior_hint="")] = None
    """What the final regret is drawn against: a swept parameter, or `round` for regret over time; the first swept one by default."""

    def __call__(self) -> None:
        """Draws."""
        dataset = saved(self.dataset)
        validate.new_file("plot", self.out, _formats())
        _draw(dataset, self.out, self.against)


def _at_the_end(write: Callable[[Any], str]) -> Callable[[xr.Dataset, pathlib.Path], None]:
    return lambda dataset, path: _write(path, write(tables.summary(dataset)) + "\n")


def _write(path: pathlib.Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


TABLES: dict[str, Callable[[xr.Dataset, pathlib.Path], Any]] = {
    ".md": _at_the_end(tables.markdown),
    ".tex": _at_the_end(tables.latex),
    ".csv": lambda dataset, path: tables.tidy(dataset).to_csv(path, index=False),
    ".parquet": tables.parquet,
}
"""Writers of tables, by the ending of the file."""


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


def _formats() -> list[str]:
    """The endings of files that matplotlib writes."""
    from matplotlib.backend_bases import FigureCanvasBase

    return [f".{ending}" for ending in FigureCanvasBase.get_supported_filetypes()]


def _draw(dataset: xr.Dataset, path: pathlib.Path, against: str | None = None) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from jaxbandits import plot

    if not {"regret", "claim"} <= set(dataset.variables):
        raise ValueError("dataset must be one that `jaxbandits run --save` wrote")
    axes = [str(d) for d in dataset["regret"].dims if d not in ("policy", "seed", "round")]
    if against is None:
        against = next((a for a in axes if dataset.sizes[a] > 1), "round")
    validate.one_of("against", against, ["round", *axes])
    others = [axis for axis in axes if axis != against]
    dataset = dataset.isel(dict.fromkeys(others, 0))
    plot.save(plot.regret(dataset) if against == "round" else plot.regret_against(dataset, against), path)
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
        print(json.dumps(_plain(rows), indent=1, allow_nan=False))
        return
    axes = list(study.axes) or ["epsilon"]
    lines = [{"policy": "policy", **{axis: axis for axis in axes}}]
    for row in rows:
        at = {axis: row.get(axis, "-") for axis in axes}
        lines.append({"policy": row["policy"], **{k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in at.items()}})
    wide = {name: max(len(line[name]) for line in lines) for name in lines[0]}
    numbers = [f"{'regret':>12}  {'s.e.':>9}  claim"]
    numbers += [f"{row['regret']:12,.1f}  {row['standard_error']:9.1f}  {row['claim']['label']}" for row in rows]
    print(f"after {study.rounds[-1]:,} rounds, {dataset.sizes['seed']} seeds:")
    for line, right in zip(lines, numbers, strict=True):
        left = [f"{text:{wide[name]}}" if name == "policy" else f"{text:>{max(wide[name], 8)}}" for name, text in line.items()]
        print("  ".join([*left, right]))


def _plain(value: Any) -> Any:
    """A value as JSON has it, where there is neither NaN nor infinity."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else repr(float(value))
    return value
