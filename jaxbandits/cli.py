"""The command line: ``jaxbandits list``, ``jaxbandits run``, ``jaxbandits plot``.

The same factories as the library. An error of the library is one line; the exit status is 2.
"""

import dataclasses
import difflib
import functools
import inspect
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
import tyro
import xarray as xr

from jaxbandits import __version__, oracles, policies, problems, validate
from jaxbandits.core import Policy, Problem
from jaxbandits.dataset import claims
from jaxbandits.run import run
from jaxbandits.study import Study

FAMILIES = {"cascade": policies.cascade, "armed": policies.armed, "semi_bandit": policies.semi_bandit}
FAMILY = {name: family for family, module in FAMILIES.items() for name in module.__all__}
"""The family of problems that each policy plays, by the name it has on the command line."""
POLICIES: dict[str, Callable[..., Policy]] = {name: getattr(FAMILIES[family], name) for name, family in FAMILY.items()}

INSTANCES = {"two-level": problems.two_level, "linear": problems.linear}
ORACLES = {"top-k": oracles.top_k, "cascade": oracles.cascade}
PROBLEMS: dict[str, Callable[..., Callable[..., Problem]]] = {
    "cascade": lambda means, list_len, oracle: functools.partial(problems.cascade, means=means, list_len=list_len),
    "armed": lambda means, list_len, oracle: functools.partial(problems.armed, means=means),
    "semi_bandit": lambda means, list_len, oracle: functools.partial(
        problems.semi_bandit, means=means, oracle=oracle(num_base_arms=len(means), list_len=list_len)
    ),
}
"""(means, length of a list, factory of an oracle) -> the problem, of each family."""


@dataclasses.dataclass(frozen=True)
class List:
    """Lists the policies and what they claim at epsilon 1, delta 1e-3; with --json also their arguments."""

    json: bool = False
    """Print JSON."""

    def __call__(self) -> None:
        """Prints the list."""
        rows = [_describe(name, factory) for name, factory in POLICIES.items()]
        if self.json:
            print(json.dumps(rows, indent=1))
            return
        wide = max(len(row["policy"]) for row in rows)
        for row in rows:
            print(f"{row['policy']:{wide}}  {row['family']:11}  {row['claim']:14}  {row['summary']}")


def _describe(name: str, factory: Callable[..., Policy]) -> dict[str, Any]:
    parameters = inspect.signature(factory).parameters
    sizes = {"num_items": 4, "list_len": 2, "num_arms": 4, "horizon": 1000, "oracle": oracles.top_k(num_base_arms=4, list_len=2)}
    values = {k: v for k, v in {**sizes, "epsilon": 1.0, "delta": 1e-3}.items() if k in parameters}
    claim = factory(**values).claim
    summary = (inspect.getdoc(factory) or "").split("\n", 1)[0]
    return {
        "policy": name,
        "family": FAMILY[name],
        "arguments": list(parameters),
        "claim": claim.label(),
        "flaw": claim.flaw,
        "summary": summary,
    }


@dataclasses.dataclass(frozen=True)
class Run:
    """Runs policies of one family, on a cascading, a K-armed or a semi-bandit, and prints the final regret of each.

    Example: jaxbandits run --policies laplace_ucb first_ldp_kl_ucb --epsilon 0.5 1 2 --seeds 50 --plot regret.png
    """

    policies: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]")]
    """Policies, as `jaxbandits list` names them."""
    epsilon: tuple[float, ...] = ()
    """Privacy levels to sweep, for the policies that have one."""
    delta: float = 1e-3
    """Delta, for the policies that have one."""
    noise_scale: float = 1.0
    """Factor on the noise, for the policies that have one. Any other than 1 voids a guarantee."""
    radius_scale: float = 1.0
    """Factor on the noise part of the radius, for the policies that have one."""
    instance: Literal["two-level", "linear"] = "two-level"
    """Means: 0.2 for list_len items (one of K arms) and 0.05 for the others, or 0.5 down to 0.05."""
    means: tuple[float, ...] = ()
    """Means of the items or arms, instead of an instance."""
    clicks: pathlib.Path | None = None
    """A click log in CSV or Parquet, columns `shown` and `click`, to estimate the attraction probabilities from instead."""
    num_items: int = 20
    """Number of items, or arms, of the instance; that of the means if they are given."""
    list_len: int = 4
    """Length of the displayed list, or size of a super arm; not for K-armed bandits."""
    oracle: Literal["top-k", "cascade"] = "top-k"
    """What a super arm of a semi-bandit earns: the sum of its means, or the chance that one of its arms attracts."""
    horizon: int = 100_000
    """Number of rounds."""
    seeds: int = 20
    """Number of seeds."""
    seed: int = 0
    """Seed of the whole study."""
    store: pathlib.Path | None = None
    """Directory for the results; running again finishes what is missing, and more seeds top it up."""
    save: pathlib.Path | None = None
    """Write the Dataset as NetCDF 3 for `jaxbandits plot`, xarray or other tools."""
    plot: pathlib.Path | None = None
    """Draw the figure: regret against epsilon if several are swept, else against the round."""
    json: bool = False
    """Print JSON."""
    progress: bool = True
    """Show a progress bar."""

    def __call__(self) -> None:
        """Runs, prints, draws."""
        study = self.study()
        for name, path in (("plot", self.plot), ("save", self.save)):
            _check_path(name, path)
        dataset = run(study, store=self.store, progress=self.progress)
        _report(dataset, study, as_json=self.json)
        if self.save:
            dataset.to_netcdf(self.save, engine="scipy")
        if self.plot:
            _draw(dataset, self.plot)

    def study(self) -> Study:
        """The study that the options describe."""
        for name in self.policies:
            if name not in POLICIES:
                close = difflib.get_close_matches(name, POLICIES, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise ValueError(f"policies must be those of `jaxbandits list`; got {name!r}. {hint}".strip())
        takers = {name: set(inspect.signature(POLICIES[name]).parameters) for name in self.policies}
        needy = [name for name, parameters in takers.items() if "epsilon" in parameters]
        if needy and not self.epsilon:
            raise ValueError(f"epsilon is needed by {', '.join(needy)}: add, for example, --epsilon 1")
        if self.epsilon and not needy:
            raise ValueError(f"epsilon is an argument of none of these policies; got {' '.join(f'{e:g}' for e in self.epsilon)}")
        fixed = {"delta": self.delta, "noise_scale": self.noise_scale, "radius_scale": self.radius_scale}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        for option, value in fixed.items():
            if value != defaults[option] and not any(option in parameters for parameters in takers.values()):
                raise ValueError(f"{option} is an argument of none of these policies; got {value:g}")
        chosen = {
            name: functools.partial(POLICIES[name], **{k: v for k, v in fixed.items() if k in takers[name]}) for name in self.policies
        }
        return Study(
            problem=self._problem(),
            policies=chosen,
            grid={"epsilon": self.epsilon} if self.epsilon else {},
            seeds=self.seeds,
            horizon=self.horizon,
            seed=self.seed,
        )

    def _problem(self) -> Callable[..., Any]:
        families = {FAMILY[name]: name for name in self.policies}
        if len(families) > 1:
            raise ValueError(f"policies must be of one family of problems; got {' and '.join(f'{n} ({f})' for f, n in families.items())}")
        family = next(iter(families))
        self._refuse_unused(family)
        if self.clicks:
            return problems.from_clicks(self.clicks).problem(self.list_len)
        list_len = 1 if family == "armed" else self.list_len
        validate.list_sizes(len(self.means) or self.num_items, list_len)
        good = {"num_good": list_len} if self.instance == "two-level" else {}
        means = np.asarray(self.means) if self.means else INSTANCES[self.instance](self.num_items, **good)
        return PROBLEMS[family](means, list_len, ORACLES[self.oracle])

    def _refuse_unused(self, family: str) -> None:
        """Refuses options that the problem would not look at."""
        unused = {
            "means": "not together with clicks" if self.clicks else "",
            "instance": "not together with means or clicks" if self.means or self.clicks else "",
            "num_items": "the number of means" if self.means and self.num_items != len(self.means) else "",
            "clicks": "for cascade policies only" if family != "cascade" else "",
            "list_len": "for lists and super arms only" if family == "armed" else "",
            "oracle": "for semi-bandit policies only" if family != "semi_bandit" else "",
        }
        for field in dataclasses.fields(self):
            value, why = getattr(self, field.name), unused.get(field.name)
            if why and value != field.default:
                raise ValueError(f"{field.name} is {why}; got {str(value)!r}")


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draws a figure from a Dataset that `jaxbandits run --save` wrote."""

    dataset: tyro.conf.Positional[pathlib.Path]
    """The NetCDF file."""
    out: tyro.conf.Positional[pathlib.Path]
    """The figure: its ending chooses the format."""

    def __call__(self) -> None:
        """Draws."""
        if not self.dataset.is_file():
            raise ValueError(f"dataset must be a file; got {str(self.dataset)!r}")
        _check_path("plot", self.out)
        try:
            dataset = xr.load_dataset(self.dataset, engine="scipy")
        except Exception as error:  # whatever the readers make of a file that is not theirs
            raise ValueError(f"dataset must be a file that `jaxbandits run --save` wrote; got {str(self.dataset)!r}") from error
        _draw(dataset, self.out)


def _check_path(name: str, path: pathlib.Path | None) -> None:
    """Refuses a file that could not be written, before anything is run."""
    if path is None:
        return
    if not path.parent.is_dir():
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
    swept = [d for d in dataset["regret"].dims if d not in ("policy", "seed", "round")]
    if swept and dataset.sizes[swept[0]] > 1:
        ax = plot.regret_against(dataset, str(swept[0]))
    else:
        ax = plot.regret(dataset.isel(dict.fromkeys(swept, 0)))
    plot.save(ax, path)
    print(f"wrote {path}", file=sys.stderr)


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
    wide = max(len(row["policy"]) for row in rows)
    print(f"after {study.rounds[-1]:,} rounds, {study.seeds} seeds:")
    print(f"{'policy':{wide}}  {'epsilon':>8}  {'regret':>12}  {'s.e.':>9}  claim")
    for row in rows:
        level = f"{row['epsilon']:g}" if "epsilon" in row else "-"
        print(f"{row['policy']:{wide}}  {level:>8}  {row['regret']:12,.1f}  {row['standard_error']:9.1f}  {row['claim']['label']}")


def main() -> None:
    """Entry point of the ``jaxbandits`` command."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    command = tyro.extras.subcommand_cli_from_dict(
        {"list": List, "run": Run, "plot": Plot}, description="Bandit algorithms under differential privacy, simulated by the thousand."
    )
    try:
        command()
    except KeyboardInterrupt:
        print("jaxbandits: interrupted; what was finished is kept if there is a store", file=sys.stderr)
        raise SystemExit(130) from None
    except (ValueError, FloatingPointError, OSError, ImportError) as error:
        print(f"jaxbandits: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
