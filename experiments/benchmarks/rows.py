"""The rows of the table. Each measures one thing and returns plain numbers, so that it can run in a process of its own."""

from collections.abc import Callable, Mapping
from typing import Any

from . import costs, scaling, versus
from .jobs import Sizes

ROWS: Mapping[str, Callable[[Sizes], Any]] = {
    "workload": versus.workload,
    "central": versus.central,
    "threads": scaling.threads,
    "lanes": scaling.lanes,
    "rounds": scaling.rounds,
    "items": scaling.items,
    "arms": versus.arms,
    "peer": versus.peer,
    "linear": versus.linear_bandit,
    "federated_stretches": versus.federated_stretches,
    "federated_study": costs.federated_study,
    "policies": costs.policies,
    "semi_bandit_costs": costs.semi_bandit_costs,
    "selection": costs.selection,
}
"""What one process measures. ``take`` knows the others, which need several."""

MEASURED = {
    "compile": "seconds to compile a tile",
    "workload": "Algorithm 2 against idiomatic JAX and Numba",
    "central": "Algorithm 1 against the same",
    "threads": "two threads over one",
    "lanes": "time against the number of lanes",
    "rounds": "time against the horizon",
    "items": "time against the number of items",
    "memory": "peak memory against the horizon",
    "arms": "K-armed policies against idiomatic JAX and Numba",
    "peer": "UCB1 against PyMAB",
    "linear": "LDP-LinUCB against idiomatic JAX and Numba",
    "compile_linear": "seconds to compile that",
    "federated_stretches": "a stretch at a time against slots and NumPy",
    "federated_study": "seconds for a whole study",
    "policies": "other policies as multiples of Algorithm 2",
    "semi_bandit_costs": "semi-bandits as multiples of it",
    "selection": "Algorithm 2 with longer lists and more items, as multiples of it",
}
"""What each row of the table measures."""

_COMPILATIONS = {"compile": costs.compile_seconds, "compile_linear": costs.compile_linear}
_ALL_CORES = ("threads", "federated_study")


def take(name: str, sizes: Sizes, where: Callable[..., Any]) -> Any:
    """One measurement.

    Args:
      name: which.
      sizes: how much.
      where: ``measure.in_child`` or ``measure.in_process``.

    Returns:
      its numbers, as JSON types.
    """
    if name in _COMPILATIONS:
        return [where(_COMPILATIONS[name], sizes, pin=False) for _ in range(sizes.compilations)]
    if name == "memory":
        ends = min(sizes.horizons), max(sizes.horizons)
        return {str(horizon): where(scaling.memory, sizes, horizon, pin=True) for horizon in ends}
    return where(ROWS[name], sizes, pin=name not in _ALL_CORES)
