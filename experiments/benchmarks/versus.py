"""The engine against the yardsticks: nanoseconds per lane-round, and the regret that each arrives at."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandits import log_checkpoints, problems

from . import jobs, measure
from .jobs import DELTA, EPSILON, LIST_LEN, NUM_ACTIONS, Sizes
from .measure import Variant
from .yardsticks import armed, cascade_central, cascade_local, federated, linear, peers
from .yardsticks.ways import Simulation

ENGINE = "engine"


class Contest:
    """Simulations of one law, by name, and those that cannot run here."""

    def __init__(self):
        self.variants: dict[str, Variant] = {}
        self.regret: dict[str, np.ndarray] = {}
        self.missing: dict[str, str] = {}

    def enter(self, name: str, lanes: int, horizon: int, make: Callable[..., Simulation]) -> None:
        """Adds ``make(horizon=, num_lanes=)``, unless the library it needs is not installed."""
        try:
            simulate = make(horizon=horizon, num_lanes=lanes)
        except ImportError as error:
            self.missing[name] = str(error)
            return

        def call():
            self.regret[name] = simulate()

        self.variants[name] = Variant(call, float(lanes) * horizon)

    def result(self, sizes: Sizes) -> dict[str, Any]:
        """All of them by turns; as JSON types."""
        nanoseconds = measure.interleaved(self.variants, sizes.repeats, sizes.at_least)
        means = {name: (float(np.mean(x)), float(np.std(x) / len(x) ** 0.5)) for name, x in self.regret.items()}
        gaps = [measure.gap(x, y) for x, y in itertools.combinations(self.regret.values(), 2)]
        return {"nanoseconds": nanoseconds, "regret": means, "gap": max(gaps), "missing": self.missing}


def _ours(it: jobs.Job) -> Callable[..., Simulation]:
    return lambda horizon, num_lanes: functools.partial(it.regret, num_lanes)


def _contest(
    it: jobs.Job, lanes: int, horizon: int, yardsticks: dict[str, Callable[..., Simulation]], theirs: int | None = None
) -> Contest:
    """The engine and the yardsticks, which have fewer lanes if ``theirs`` says so."""
    contest = Contest()
    contest.enter(ENGINE, lanes, horizon, _ours(it))
    for name, make in yardsticks.items():
        contest.enter(name, theirs or lanes, horizon, make)
    return contest


def cascade_yardsticks(module: Any, num_items: int = 20) -> dict[str, Callable[..., Simulation]]:
    """Those of a workload, which still want ``horizon`` and ``num_lanes``."""
    ways = {"idiomatic": module.idiomatic, "scalar": module.scalar}
    return {name: functools.partial(make, jobs.means(num_items), LIST_LEN, EPSILON) for name, make in ways.items()}


def workload(sizes: Sizes) -> dict[str, Any]:
    """Workload A."""
    a = jobs.job(jobs.A, log_checkpoints(sizes.horizon))
    return _contest(a, sizes.lanes, sizes.horizon, cascade_yardsticks(cascade_local)).result(sizes)


def central(sizes: Sizes) -> dict[str, Any]:
    """Workload B."""
    b = jobs.job(jobs.central(sizes.horizon), log_checkpoints(sizes.horizon))
    return _contest(b, b.usual_tile(sizes.lanes), sizes.horizon, cascade_yardsticks(cascade_central)).result(sizes)


def arms(sizes: Sizes) -> dict[str, Any]:
    """K-armed policies under local privacy, twenty arms."""
    ways = {
        "ldp_ucb_bernoulli": {"idiomatic": armed.idiomatic_bits, "scalar": armed.scalar_bits},
        "ldp_ucb_laplace": {"idiomatic": armed.idiomatic_laplace, "scalar": armed.scalar_laplace},
    }

    def one(name):
        yardsticks = {way: functools.partial(make, problems.twenty_arms(), EPSILON) for way, make in ways[name].items()}
        return _contest(jobs.armed_job(jobs.ARMS[name], sizes.horizon), sizes.lanes, sizes.horizon, yardsticks).result(sizes)

    return {name: one(name) for name in ways}


def peer(sizes: Sizes) -> dict[str, Any]:
    """UCB1 with twenty arms, which another library has too; it is measured on fewer lanes."""
    horizon, means = sizes.peer_horizon, problems.twenty_arms()
    ways = {"idiomatic": armed.idiomatic_ucb1, "scalar": armed.scalar_ucb1}
    yardsticks = {name: functools.partial(make, means) for name, make in ways.items()}
    contest = _contest(jobs.armed_job(jobs.ARMS["ucb1"], horizon), sizes.lanes, horizon, yardsticks)
    contest.enter("pymab", sizes.peer_lanes, horizon, functools.partial(peers.pymab, means))
    return contest.result(sizes)


def linear_bandit(sizes: Sizes) -> dict[str, Any]:
    """LDP-LinUCB for each number of features."""
    ways = {"idiomatic": linear.idiomatic, "scalar": linear.scalar}

    def one(dim):
        it = jobs.linear_job(dim, sizes.linear_horizon)
        yardsticks = {name: functools.partial(make, dim, NUM_ACTIONS, EPSILON, DELTA) for name, make in ways.items()}
        return _contest(it, it.usual_tile(sizes.lanes), sizes.linear_horizon, yardsticks, sizes.linear_lanes).result(sizes)

    return {str(dim): one(dim) for dim in sizes.dims}


def federated_stretches(sizes: Sizes) -> dict[str, Any]:
    """CDP-MAB a stretch at a time, in NumPy an epoch at a time, and slot by slot, which is timed only."""
    means = np.linspace(0.9, 0.0, 10)
    contest = Contest()
    contest.enter(ENGINE, sizes.lanes, sizes.federated_horizon, _ours(jobs.federated_job(sizes)))
    contest.enter(
        "numpy",
        sizes.lanes,
        sizes.federated_horizon,
        lambda horizon, num_lanes: functools.partial(federated.numpy_epochs, means, sizes.num_agents, 0.1, horizon, num_lanes),
    )
    contest.variants["slots"] = jobs.federated_job(sizes, by_stretch=False).variant(sizes.slot_lanes)
    return contest.result(sizes)
