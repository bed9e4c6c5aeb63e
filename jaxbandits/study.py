"""A study: what to run, written down. Frozen, picklable, and comparable by content."""

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jaxbandits import factories, validate
from jaxbandits.core import LOSSES, Claim, Policy, Problem, PyTree
from jaxbandits.identity import Bound, fingerprint, frozen

Metric = Callable[[PyTree, PyTree], Any]
"""(state of the policy, instance of the problem) -> a number or an array of one lane."""


LONGEST = 2**31 - 2**10
"""The longest horizon: rounds are int32, and a chunk of them may run past the end."""


def log_checkpoints(horizon: int, per_decade: int = 30) -> tuple[int, ...]:
    """Rounds from 1 to the horizon, equally spaced on a logarithmic axis.

    Args:
      horizon: the last round, at least 1.
      per_decade: how many in each factor of ten.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = validate.size("horizon", horizon, 1, LONGEST)
    per_decade = validate.size("per_decade", per_decade, 1, 10_000)
    count = int(np.ceil(np.log10(horizon) * per_decade)) + 1
    return tuple(int(t) for t in np.unique(np.round(np.geomspace(1, horizon, count))))


def linear_checkpoints(horizon: int, count: int = 100) -> tuple[int, ...]:
    """At most ``count`` equally spaced rounds, the last of them the horizon.

    Args:
      horizon: the last round, at least 1.
      count: how many.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = validate.size("horizon", horizon, 1, LONGEST)
    count = validate.size("count", count, 1, 1_000_000)
    return tuple(int(t) for t in np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64)))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A problem, some policies, a grid of parameters, a number of seeds, a horizon.

    Policies and the problem are factories, with arguments fixed by ``functools.partial``. An axis of the grid goes to every
    factory that has an argument of its name and has not fixed it; the others stay constant along the axis and are run once.
    The sizes of the problem, such as num_items, are passed to the policies, an oracle and the horizon to those that take them.

    Attributes:
      problem: factory of the problem.
      policies: factories of the policies, by the name they have in results and legends.
      grid: values of each swept argument, by name: a sequence of numbers, or a mapping from labels to values for arrays. The
        arguments must be ones that may be traced, not static sizes.
      seeds: how many seeds to run at each grid point. All policies and grid points meet the same users in the same seed.
      horizon: number of rounds.
      checkpoints: rounds at which to record, increasing; by default 30 a decade.
      metrics: what to record beside the regret, by name: functions (state of the policy, instance) -> number or array. The
        instance's ``labels`` say which item of the problem each item of the policy is.
      seed: the seed of the whole study, from 0 to 2**32 - 1.

    Raises:
      ValueError: for anything that cannot be run, before anything is compiled.
    """

    problem: Callable[..., Problem]
    policies: Mapping[str, Callable[..., Policy]]
    grid: Mapping[str, Sequence[Any] | Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    seeds: int = 10
    horizon: int = 100_000
    checkpoints: Sequence[int] | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    seed: int = 0

    # Worked out from the fields above.
    source: Bound = dataclasses.field(init=False, repr=False)  # the problem's factory
    axes: Mapping[str, Mapping[Any, Any]] = dataclasses.field(init=False, repr=False)  # coordinate -> value, for each axis
    rounds: tuple[int, ...] = dataclasses.field(init=False, repr=False)  # the checkpoints
    plans: Mapping[str, "Plan"] = dataclasses.field(init=False, repr=False)
    quantities: tuple[str, ...] = dataclasses.field(init=False, repr=False)  # what is recorded: losses, metrics

    def __post_init__(self):
        """Checks everything and builds each policy once at each of its grid points."""
        for name, low, high in (("seeds", 1, 10_000_000), ("horizon", 1, LONGEST), ("seed", 0, 2**32 - 1)):
            object.__setattr__(self, name, validate.size(name, getattr(self, name), low, high))
        _check_metrics(self.metrics, self.grid)
        if not isinstance(self.policies, Mapping) or not self.policies:
            raise ValueError(f"policies must be a non-empty mapping from names to factories; got {self.policies!r}")
        for name in self.policies:
            fits = isinstance(name, str) and len(name.encode(errors="replace")) <= 200  # the name of a directory
            if not fits or not re.fullmatch(r"[^\W_][^/\\$\x00-\x1f]{0,99}", name) or name == "zarr.json":
                raise ValueError(
                    "policies must have names of up to 100 characters, 200 bytes, that start with a letter or digit, without / \\ $; "
                    f"got {name!r}"
                )
        for name, value in (
            ("rounds", _rounds(self.checkpoints, self.horizon)),
            ("axes", _axes(self.grid)),
            ("source", factories.bound("problem", self.problem)),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "plans", MappingProxyType({name: self._plan(name, factory) for name, factory in self.policies.items()}))
        realised = factories.build("problem", self.source, self._points(factories.taken(self.source, self.axes))[0], Problem).realised
        object.__setattr__(self, "quantities", (*LOSSES[: 1 if realised is None else 2], *self.metrics))
        for axis in self.axes:
            if not any(axis in plan.axes for plan in self.plans.values()):
                raise ValueError(f"grid axis {axis!r} is an argument of no policy and not of the problem, or fixed in all of them")

    def _points(self, axes: Sequence[str]) -> list[dict[str, Any]]:
        return [dict(zip(axes, values, strict=True)) for values in itertools.product(*(self.axes[a].values() for a in axes))]

    def _plan(self, name: str, factory: Callable[..., Policy]) -> "Plan":
        problem_axes = factories.taken(self.source, self.axes)
        factories.require("problem", self.source, self.axes)
        problems = [factories.build("problem", self.source, point, Problem) for point in self._points(problem_axes)]
        bound = factories.for_problem(f"policy {name!r}", factories.bound(f"policies[{name!r}]", factory), problems[0])
        bound = bound if "horizon" in self.axes else factories.with_horizon(bound, self.horizon)
        policy_axes = factories.taken(bound, self.axes)
        factories.require(f"policy {name!r}", bound, self.axes)
        axes = tuple(a for a in self.axes if a in policy_axes or a in problem_axes)
        arguments, claims = [], []
        for point in self._points(axes):
            own = {a: point[a] for a in policy_axes}
            policy = factories.build(f"policy {name!r}", bound, own, Policy)
            derived = {k: v for k, v in policy.derived.items() if k not in bound.arguments}
            arguments.append({**derived, **own} if own else {})
            claims.append(policy.claim)
        swept = {k: np.stack([np.asarray(a[k], np.float32) for a in arguments]) for k in arguments[0]}
        outer = {a: np.stack([np.asarray(p[a], np.float32) for p in self._points(axes)]) for a in problem_axes}
        return Plan(bound, axes, tuple(len(self.axes[a]) for a in axes), swept, outer, tuple(claims))

    def describe(self) -> dict[str, Any]:
        """The study as JSON types. Two studies are equal if their descriptions are."""
        return {
            "problem": fingerprint(self.source),
            "policies": {name: fingerprint(plan.factory) for name, plan in self.plans.items()},
            "grid": [[axis, [[k, fingerprint(v)] for k, v in values.items()]] for axis, values in self.axes.items()],
            "seeds": self.seeds,
            "horizon": self.horizon,
            "checkpoints": list(self.rounds),
            "metrics": fingerprint(self.metrics),
            "seed": self.seed,
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(json.dumps(self.describe(), sort_keys=True))

    def __reduce__(self):
        """Pickles the fields; what is worked out from them is worked out again."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        return functools.partial(Study, **fields), ()


@dataclasses.dataclass(frozen=True)
class Plan:
    """What one policy of a study runs: its axes and its arguments at each grid point, in row-major order."""

    factory: Bound
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    arguments: Mapping[str, np.ndarray]  # each [points, ...], float32
    problem_arguments: Mapping[str, np.ndarray]  # each [points, ...], float32
    claims: tuple[Claim, ...]  # [points]


# ---- reading and checking the fields -----------------------------------------------------------------------------------


def _rounds(checkpoints: Any, horizon: int) -> tuple[int, ...]:
    if checkpoints is None:
        return log_checkpoints(horizon)
    allowed = f"increasing integers from 1 to the horizon, {horizon}"
    try:
        rounds = () if isinstance(checkpoints, bytes) else tuple(validate.size("checkpoints", t, 1, horizon) for t in checkpoints)
    except (TypeError, ValueError) as error:
        raise ValueError(f"checkpoints must be {allowed}; got {checkpoints!r}") from error
    if not rounds or any(b <= a for a, b in itertools.pairwise(rounds)):
        raise ValueError(f"checkpoints must be {allowed}; got {checkpoints!r}")
    return rounds


def _check_metrics(metrics: Any, grid: Any) -> None:
    if not isinstance(metrics, Mapping):
        raise ValueError(f"metrics must be a mapping from names to functions (state, instance) -> value; got {metrics!r}")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not name.isidentifier() or name in (*_RESERVED, *grid):
            raise ValueError(f"metrics must be named by identifiers other than {', '.join(_RESERVED)} and the grid's axes; got {name!r}")
        if not callable(metric):
            raise ValueError(f"metrics[{name!r}] must be a function (state, instance) -> value; got {metric!r}")


_RESERVED = ("policy", "seed", "round", "claim", "guaranteed_epsilon", "guaranteed_delta", *LOSSES)


def _axes(grid: Any) -> Mapping[str, Mapping[Any, Any]]:
    """Each axis as a mapping from its coordinates to its values."""
    if not isinstance(grid, Mapping):
        raise ValueError(f"grid must be a mapping from argument names to values; got {grid!r}")
    axes = {}
    for axis, values in grid.items():
        if not isinstance(axis, str) or not axis.isidentifier() or axis in _RESERVED:
            raise ValueError(f"grid must have argument names other than {', '.join(_RESERVED)} as axes; got {axis!r}")
        axes[axis] = _labelled(axis, values) if isinstance(values, Mapping) else _numbered(axis, values)
        if not axes[axis]:
            raise ValueError(f"grid[{axis!r}] must have at least one value; got {values!r}")
        if len({np.shape(v) for v in axes[axis].values()}) > 1:
            raise ValueError(f"grid[{axis!r}] must have values of one shape; got {[np.shape(v) for v in axes[axis].values()]}")
    return MappingProxyType({axis: MappingProxyType(values) for axis, values in axes.items()})


def _labelled(axis: str, values: Mapping[Any, Any]) -> dict[str, Any]:
    for label in values:
        if not isinstance(label, str):
            raise ValueError(f"grid[{axis!r}] must have strings as labels; got {label!r}")
    for label, value in values.items():
        if callable(value) or not _is_array(value):
            raise ValueError(f"grid[{axis!r}] must have numbers or arrays of numbers as values; got {value!r} for {label!r}")
    return {label: frozen(value) for label, value in values.items()}


def _is_array(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iufb"
    except (TypeError, ValueError):  # ragged
        return False


def _numbered(axis: str, values: Any) -> dict[float, float]:
    allowed = "a sequence of numbers that differ in float32, or a mapping from labels to values"
    try:
        found = [] if isinstance(values, str | bytes | set | frozenset) else [np.asarray(v) for v in values]
    except (TypeError, ValueError) as error:
        raise ValueError(f"grid[{axis!r}] must be {allowed}; got {values!r}") from error
    real = all(v.ndim == 0 and v.dtype.kind in "iuf" for v in found) and not isinstance(values, str | bytes | set | frozenset)
    numbers = [float(v) for v in found] if real else [np.nan]
    with np.errstate(over="ignore"):
        single = np.asarray(numbers, np.float32)
    if np.isnan(single).any() or len(np.unique(single)) < len(single):
        raise ValueError(f"grid[{axis!r}] must be {allowed}; got {values!r}")
    return dict(zip(numbers, numbers, strict=True))
