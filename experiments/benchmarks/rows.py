"""What is measured. Each function measures one thing and returns plain numbers, so that it can run in a process of its own."""

import concurrent.futures
import dataclasses
import functools
import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments.benchmarks import measure, yardsticks
from experiments.benchmarks.measure import Variant
from jaxbandits import Study, linear_checkpoints, links, log_checkpoints, oracles, problems, run
from jaxbandits.engine import rehearsal, scan, tiles
from jaxbandits.identity import Bound
from jaxbandits.mechanisms import counters
from jaxbandits.policies import armed, cascade, contextual, federated, semi_bandit

LIST_LEN = 4
EPSILON = 1.0
DELTA = 1e-5


def _means(num_items: int = 20) -> np.ndarray:
    return np.linspace(0.5, 0.025, num_items)


A = Bound(cascade.laplace_ucb, {"epsilon": EPSILON})

OTHERS = {
    "cascade_ucb1": Bound(cascade.cascade_ucb1, {}),
    "cascade_kl_ucb": Bound(cascade.cascade_kl_ucb, {}),
    "laplace_ucb_calibrated": Bound(cascade.laplace_ucb_calibrated, {"epsilon": EPSILON}),
    "gaussian_ucb": Bound(cascade.gaussian_ucb, {"epsilon": EPSILON, "delta": DELTA}),
    "first_ldp_ucb1": Bound(cascade.first_ldp_ucb1, {"epsilon": EPSILON}),
    "first_ldp_kl_ucb": Bound(cascade.first_ldp_kl_ucb, {"epsilon": EPSILON}),
    "first_dp_ucb1": Bound(cascade.first_dp_ucb1, {"epsilon": EPSILON}),
    "first_dp_ucb1, merged": Bound(cascade.first_dp_ucb1, {"epsilon": EPSILON, "counter": counters.merged_hybrid}),
    "first_dp_lazy_ucb1": Bound(cascade.first_dp_lazy_ucb1, {"epsilon": EPSILON}),
    "first_dp_kl_ucb": Bound(cascade.first_dp_kl_ucb, {"epsilon": EPSILON}),
    "all_dp_ucb1": Bound(cascade.all_dp_ucb1, {"epsilon": EPSILON}),
    "hybrid_ucb": Bound(cascade.hybrid_ucb, {"epsilon": EPSILON, "horizon": 100_000}),
}

ARMS = {  # policies of the K-armed bandit and what each is measured against
    "ldp_ucb_bernoulli": (Bound(armed.ldp_ucb_bernoulli, {"epsilon": EPSILON}), yardsticks.idiomatic_bit_arms),
    "ldp_ucb_laplace": (Bound(armed.ldp_ucb_laplace, {"epsilon": EPSILON}), yardsticks.idiomatic_laplace_arms),
}

SEMI_BANDIT = {
    "cucb": Bound(semi_bandit.cucb, {}),
    "gaussian_cucb": Bound(semi_bandit.gaussian_cucb, {"epsilon": EPSILON, "delta": DELTA}),
    "ldp_laplace_cucb": Bound(semi_bandit.ldp_laplace_cucb, {"epsilon": EPSILON}),
    "cucb_ldp2_kl": Bound(semi_bandit.cucb_ldp2_kl, {"epsilon": EPSILON}),
    "cucb_dp_kl": Bound(semi_bandit.cucb_dp_kl, {"epsilon": EPSILON}),
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    repeats: int = 5
    at_least: float = 0.2  # seconds of one measurement
    lanes: int = 512  # in a tile
    horizon: int = 10_000  # of workload A against the yardsticks
    compilations: int = 3
    thread_tiles: int = 8
    thread_horizon: int = 5_000
    lane_counts: tuple[int, ...] = (512, 4_096, 65_536)
    lane_horizon: int = 1_000
    horizons: tuple[int, ...] = (1_000, 10_000, 100_000)
    cost_horizon: int = 2_000  # of the other sizes
    policy_horizon: int = 10_000  # of the other policies
    policies: tuple[str, ...] = tuple(OTHERS)
    semi_bandit: tuple[str, ...] = tuple(SEMI_BANDIT)
    selections: tuple[tuple[int, int], ...] = ((20, 12), (20, 16), (1_000, 10))  # items, length of the list
    many_items_horizon: int = 200
    dims: tuple[int, ...] = (5, 10, 20)  # of the linear bandit
    linear_horizon: int = 500
    linear_lanes: int = 64  # of the yardstick, which is slow
    num_agents: int = 64  # of the federated bandit
    federated_horizon: int = 1_000_000
    slot_horizon: int = 500  # slot by slot
    slot_lanes: int = 64
    whole_lanes: int = 1_000  # of a study that is timed as a whole


QUICK = Sizes()
FULL = Sizes(horizons=(1_000, 10_000, 100_000, 1_000_000))


class Job(NamedTuple):
    """One policy on one problem up to one horizon."""

    program: scan.Program
    checkpoints: np.ndarray

    def lanes(self, size: int, first: int = 0) -> scan.Lanes:
        """A tile of consecutive replicas."""
        replica = np.arange(first, first + size, dtype=np.uint32)
        return scan.Lanes(seed=np.uint32(0), replica=replica, policy={}, problem={})

    def run(self, size: int, first: int = 0) -> dict[str, np.ndarray]:
        """What the tile records."""
        return tiles.run_tile(self.program, self.lanes(size, first), self.checkpoints)

    def variant(self, size: int) -> Variant:
        """One tile, to be timed by the lane-round."""
        return Variant(lambda: self.run(size), float(size) * int(self.checkpoints[-1]))


def job(policy: Bound, checkpoints: Sequence[int], num_items: int = 20, list_len: int = LIST_LEN) -> Job:
    """The policy on the problem of workload A, or on one of another size."""
    problem = Bound(problems.cascade, {"means": _means(num_items), "list_len": list_len})
    sized = Bound(policy.function, {**policy.arguments, "num_items": num_items, "list_len": list_len})
    return Job(scan.Program(problem=problem, policy=sized), np.asarray(checkpoints))


def compile_seconds(sizes: Sizes) -> tuple[float, float]:
    """Seconds of wall and of CPU time for the two executables of a tile, from tracing on; for a process that compiled nothing yet."""
    return _compile(job(A, log_checkpoints(sizes.horizon)), sizes.lanes)


def _compile(it: Job, lanes: int) -> tuple[float, float]:
    tile = it.lanes(lanes)
    stops = tiles.most_stops(it.checkpoints)
    jax.local_devices()  # starting JAX is not compiling
    wall, cpu = time.perf_counter(), time.process_time()
    tiles.compile_tile(it.program, *tiles.signature(tile), stops, 0)
    return time.perf_counter() - wall, time.process_time() - cpu


def workload(sizes: Sizes) -> dict[str, Any]:
    """The engine and the yardsticks on workload A: nanoseconds per lane-round, and the regret each arrives at."""
    work = float(sizes.lanes) * sizes.horizon
    a = job(A, log_checkpoints(sizes.horizon))
    variants, regret, missing = {}, {}, {}

    def add(name, simulate):
        def call():
            regret[name] = simulate()

        variants[name] = Variant(call, work)

    add("engine", lambda: a.run(sizes.lanes)["regret"][-1])
    for make in (yardsticks.idiomatic, yardsticks.scalar):
        try:
            add(make.__name__, make(_means(), LIST_LEN, EPSILON, sizes.horizon, sizes.lanes))
        except ImportError as error:
            missing[make.__name__] = str(error)
    nanoseconds = measure.interleaved(variants, sizes.repeats, sizes.at_least)
    means = {name: (float(np.mean(x)), float(np.std(x) / len(x) ** 0.5)) for name, x in regret.items()}
    gaps = [measure.gap(x, y) for x, y in itertools.combinations(regret.values(), 2)]
    return {"nanoseconds": nanoseconds, "regret": means, "gap": max(gaps), "missing": missing}


def arms(sizes: Sizes) -> dict[str, Any]:
    """K-armed policies and the same in plain JAX, twenty arms: nanoseconds per lane-round, and the regret each arrives at."""
    means, work = problems.twenty_arms(), float(sizes.lanes) * sizes.horizon
    variants, regret = {}, {}

    def add(name, simulate):
        def call():
            regret[name] = simulate()

        variants[name] = Variant(call, work)

    problem = Bound(problems.armed, {"means": means})
    for name, (policy, idiomatic) in ARMS.items():
        sized = Bound(policy.function, {**policy.arguments, "num_arms": len(means)})
        ours = Job(scan.Program(problem=problem, policy=sized), np.asarray(log_checkpoints(sizes.horizon)))
        add(name, lambda ours=ours: ours.run(sizes.lanes)["regret"][-1])
        add(f"{name}, idiomatic", idiomatic(means, EPSILON, sizes.horizon, sizes.lanes))
    nanoseconds = measure.interleaved(variants, sizes.repeats, sizes.at_least)
    gaps = {name: measure.gap(regret[name], regret[f"{name}, idiomatic"]) for name in ARMS}
    return {"nanoseconds": nanoseconds, "gap": gaps}


def linear_job(dim: int, sizes: Sizes) -> Job:
    """LDP-LinUCB with 20 actions, each anew in every round."""
    contexts, link = problems.contexts.sphere(dim=dim, num_actions=20), links.linear()
    problem = Bound(problems.contextual, {"contexts": contexts, "link": link})
    given = {"dim": dim, "link": link, "horizon": sizes.linear_horizon, "epsilon": EPSILON, "delta": DELTA}
    return Job(scan.Program(problem=problem, policy=Bound(contextual.ldp_linucb, given)), np.asarray(log_checkpoints(sizes.linear_horizon)))


def linear(sizes: Sizes) -> dict[str, Any]:
    """LDP-LinUCB and the same in plain JAX with LAPACK: nanoseconds per lane-round, and the regret each arrives at."""
    variants, regret = {}, {}

    def add(name, simulate, lanes):
        def call():
            regret[name] = simulate()

        variants[name] = Variant(call, float(lanes) * sizes.linear_horizon)

    for dim in sizes.dims:
        it = linear_job(dim, sizes)
        lanes = _usual_tile(it, sizes.lanes)
        add(f"{dim}", lambda it=it, lanes=lanes: it.run(lanes)["regret"][-1], lanes)
        plain = yardsticks.idiomatic_linucb(dim, 20, EPSILON, DELTA, sizes.linear_horizon, sizes.linear_lanes)
        add(f"{dim}, idiomatic", plain, sizes.linear_lanes)
    nanoseconds = measure.interleaved(variants, sizes.repeats, sizes.at_least)
    return {"nanoseconds": nanoseconds, "gap": {str(dim): measure.gap(regret[f"{dim}"], regret[f"{dim}, idiomatic"]) for dim in sizes.dims}}


def compile_linear(sizes: Sizes) -> tuple[float, float]:
    """Seconds of wall and of CPU time for the executable of LDP-LinUCB with the most features; for a process that compiled nothing yet."""
    return _compile(linear_job(max(sizes.dims), sizes), 64)


def federated_program(sizes: Sizes, by_stretch: bool = True) -> Job:
    """CDP-MAB with ten arms."""
    problem = {"means": np.linspace(0.9, 0.0, 10), "num_agents": sizes.num_agents, "by_stretch": by_stretch}
    policy = {"num_arms": 10, "num_agents": sizes.num_agents, "epsilon": 0.1, "horizon": sizes.federated_horizon}
    horizon = sizes.federated_horizon if by_stretch else sizes.slot_horizon
    return Job(scan.Program(Bound(problems.federated, problem), Bound(federated.cdp_mab, policy)), np.asarray([horizon]))


def federated_stretches(sizes: Sizes) -> dict[str, Any]:
    """CDP-MAB a stretch at a time, slot by slot, and in NumPy an epoch at a time: nanoseconds per lane-round, and the regret."""
    means, regret = np.linspace(0.9, 0.0, 10), {}
    whole, slots = federated_program(sizes), federated_program(sizes, by_stretch=False)

    def ours():
        regret["engine"] = whole.run(sizes.lanes)["regret"][-1]

    def numpy():
        regret["numpy"] = yardsticks.numpy_epochs(means, sizes.num_agents, 0.1, sizes.federated_horizon, sizes.lanes)

    work = float(sizes.lanes) * sizes.federated_horizon
    variants = {"engine": Variant(ours, work), "numpy": Variant(numpy, work), "slots": slots.variant(sizes.slot_lanes)}
    nanoseconds = measure.interleaved(variants, sizes.repeats, sizes.at_least)
    return {"nanoseconds": nanoseconds, "gap": measure.gap(regret["engine"], regret["numpy"])}


def federated_study(sizes: Sizes) -> float:
    """Seconds of wall time for a study of CDP-MAB, compiling and all; for a process that compiled nothing yet."""
    it = federated_program(sizes)
    study = Study(
        problem=functools.partial(it.program.problem.function, **it.program.problem.arguments),
        policies={"CDP-MAB": functools.partial(federated.cdp_mab, epsilon=0.1)},
        seeds=sizes.whole_lanes,
        horizon=sizes.federated_horizon,
        checkpoints=(sizes.federated_horizon,),
    )
    start = time.perf_counter()
    run(study, progress=False)
    return time.perf_counter() - start


def semi_bandit_costs(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of semi-bandit policies, sets of 4 of 20 arms, beside workload A."""
    oracle = oracles.top_k(num_base_arms=20, list_len=LIST_LEN)
    problem = Bound(problems.semi_bandit, {"means": _means(), "oracle": oracle})
    variants = {"A": job(A, log_checkpoints(sizes.policy_horizon)).variant(sizes.lanes)}
    for name in sizes.semi_bandit:
        policy = Bound(SEMI_BANDIT[name].function, {**SEMI_BANDIT[name].arguments, "oracle": oracle})
        it = Job(scan.Program(problem=problem, policy=policy), np.asarray(log_checkpoints(sizes.policy_horizon)))
        variants[name] = it.variant(_usual_tile(it, sizes.lanes))
    return measure.interleaved(variants, sizes.repeats, sizes.at_least)


def threads(sizes: Sizes) -> dict[str, list[float]]:
    """Wall nanoseconds per lane-round of many tiles, with one worker and with two."""
    a = job(A, log_checkpoints(sizes.thread_horizon))
    work = float(sizes.thread_tiles) * sizes.lanes * sizes.thread_horizon
    firsts = [sizes.lanes * i for i in range(sizes.thread_tiles)]
    with concurrent.futures.ThreadPoolExecutor(1) as one, concurrent.futures.ThreadPoolExecutor(2) as two:

        def variant(pool):
            return Variant(lambda: list(pool.map(functools.partial(a.run, sizes.lanes), firsts)), work)

        return measure.interleaved({"1": variant(one), "2": variant(two)}, sizes.repeats, sizes.at_least, time.perf_counter)


def lanes(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round for growing numbers of lanes, run tile after tile, the results kept as a study keeps them."""
    a = job(A, log_checkpoints(sizes.lane_horizon))

    def variant(count):
        def call():
            return np.concatenate([a.run(sizes.lanes, first)["regret"] for first in range(0, count, sizes.lanes)], axis=1)

        return Variant(call, float(count) * sizes.lane_horizon)

    return measure.interleaved({str(n): variant(n) for n in sizes.lane_counts}, sizes.repeats, sizes.at_least)


def rounds(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round for growing horizons."""
    variants = {str(t): job(A, log_checkpoints(t)).variant(sizes.lanes) for t in sizes.horizons}
    return measure.interleaved(variants, sizes.repeats, sizes.at_least)


def memory(sizes: Sizes, horizon: int) -> float | None:
    """The most memory the process has held, in MB, after a tile of so many rounds; the number of checkpoints is the same for all."""
    job(A, linear_checkpoints(horizon, min(100, *sizes.horizons))).run(sizes.lanes)
    return measure.peak_megabytes()


def _usual_tile(it: Job, most: int) -> int:
    """The lanes of a tile in a study."""
    return tiles.tile_size(most, rehearsal.rehearse(it.program, it.lanes(1)).lane_bytes, workers=1)


def policies(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of other policies beside workload A, in tiles of the size a study would use."""
    variants = {"A": job(A, log_checkpoints(sizes.policy_horizon)).variant(sizes.lanes)}
    for name in sizes.policies:
        it = job(OTHERS[name], log_checkpoints(sizes.policy_horizon))
        variants[name] = it.variant(_usual_tile(it, sizes.lanes))
    return measure.interleaved(variants, sizes.repeats, sizes.at_least)


def selection(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of Algorithm 2 with longer lists and with many items, in tiles of the size a study would use."""
    variants = {"A": job(A, log_checkpoints(sizes.cost_horizon)).variant(sizes.lanes)}
    for num_items, list_len in sizes.selections:
        horizon = sizes.cost_horizon if num_items <= 100 else sizes.many_items_horizon
        it = job(A, log_checkpoints(horizon), num_items, list_len)
        variants[f"{list_len} of {num_items}"] = it.variant(_usual_tile(it, sizes.lanes))
    return measure.interleaved(variants, sizes.repeats, sizes.at_least)
