"""What is run: workloads A and B, other policies, and how much of each."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits import links, log_checkpoints, problems
from jaxbandits.engine import rehearsal, scan, tiles
from jaxbandits.identity import Bound
from jaxbandits.mechanisms import counters
from jaxbandits.policies import armed, cascade, contextual, federated, semi_bandit

from .measure import Variant

LIST_LEN = 4
EPSILON = 1.0
DELTA = 1e-5
NUM_ACTIONS = 20  # of the linear bandit


def means(num_items: int = 20) -> np.ndarray:
    """Attraction probabilities of the cascade."""
    return np.linspace(0.5, 0.025, num_items)


A = Bound(cascade.laplace_ucb, {"epsilon": EPSILON})


def central(horizon: int, noise_scale: float = 1.0) -> Bound:
    """Workload B."""
    return Bound(cascade.hybrid_ucb, {"epsilon": EPSILON, "horizon": horizon, "noise_scale": noise_scale})


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
    "hybrid_ucb": central(100_000),
}

ARMS = {
    "ldp_ucb_bernoulli": Bound(armed.ldp_ucb_bernoulli, {"epsilon": EPSILON}),
    "ldp_ucb_laplace": Bound(armed.ldp_ucb_laplace, {"epsilon": EPSILON}),
    "ucb1": Bound(armed.ucb1, {}),
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
    horizon: int = 10_000  # against the yardsticks
    compilations: int = 3
    thread_tiles: int = 8
    thread_horizon: int = 5_000
    few_lanes: tuple[int, ...] = (16, 128)  # too few to fill a tile
    lane_counts: tuple[int, ...] = (512, 4_096, 65_536)
    lane_horizon: int = 1_000
    horizons: tuple[int, ...] = (1_000, 10_000, 100_000)
    item_counts: tuple[int, ...] = (5, 10, 20, 50, 100, 200)
    yardstick_work: float = 5.5e6  # lane-rounds beyond which no yardstick is drawn into a curve
    cost_horizon: int = 2_000  # of the other sizes
    policy_horizon: int = 10_000  # of the other policies
    policies: tuple[str, ...] = tuple(OTHERS)
    semi_bandit: tuple[str, ...] = tuple(SEMI_BANDIT)
    selections: tuple[tuple[int, int], ...] = ((20, 12), (20, 16), (1_000, 10))  # items, length of the list
    many_items_horizon: int = 200
    peer_horizon: int = 1_000
    peer_lanes: int = 64  # of the peer, which is slow
    dims: tuple[int, ...] = (5, 10, 20)  # of the linear bandit
    linear_horizon: int = 500
    linear_lanes: int = 64  # of the yardsticks, which are slow
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

    def regret(self, size: int) -> np.ndarray:
        """What each lane of a tile has lost at the horizon, [size]."""
        return self.run(size)["regret"][-1]

    def variant(self, size: int) -> Variant:
        """One tile, to be timed by the lane-round."""
        return Variant(lambda: self.run(size), float(size) * int(self.checkpoints[-1]))

    def usual_tile(self, most: int) -> int:
        """The lanes of a tile in a study."""
        return tiles.tile_size(most, rehearsal.rehearse(self.program, self.lanes(1)).lane_bytes, workers=1)


def job(policy: Bound, checkpoints: Sequence[int], num_items: int = 20, list_len: int = LIST_LEN) -> Job:
    """The policy on the problem of workload A, or on one of another size."""
    problem = Bound(problems.cascade, {"means": means(num_items), "list_len": list_len})
    sized = Bound(policy.function, {**policy.arguments, "num_items": num_items, "list_len": list_len})
    return Job(scan.Program(problem=problem, policy=sized), np.asarray(checkpoints))


def armed_job(policy: Bound, horizon: int) -> Job:
    """A policy of the K-armed bandit with twenty arms."""
    given = problems.twenty_arms()
    sized = Bound(policy.function, {**policy.arguments, "num_arms": len(given)})
    return Job(scan.Program(problem=Bound(problems.armed, {"means": given}), policy=sized), np.asarray(log_checkpoints(horizon)))


def linear_job(dim: int, horizon: int, epsilon: float = EPSILON) -> Job:
    """LDP-LinUCB with 20 actions, each anew in every round."""
    contexts, link = problems.contexts.sphere(dim=dim, num_actions=NUM_ACTIONS), links.linear()
    problem = Bound(problems.contextual, {"contexts": contexts, "link": link})
    given = {"dim": dim, "link": link, "horizon": horizon, "epsilon": epsilon, "delta": DELTA}
    return Job(scan.Program(problem=problem, policy=Bound(contextual.ldp_linucb, given)), np.asarray(log_checkpoints(horizon)))


def federated_job(sizes: Sizes, by_stretch: bool = True) -> Job:
    """CDP-MAB with ten arms."""
    problem = {"means": np.linspace(0.9, 0.0, 10), "num_agents": sizes.num_agents, "by_stretch": by_stretch}
    policy = {"num_arms": 10, "num_agents": sizes.num_agents, "epsilon": 0.1, "horizon": sizes.federated_horizon}
    horizon = sizes.federated_horizon if by_stretch else sizes.slot_horizon
    return Job(scan.Program(Bound(problems.federated, problem), Bound(federated.cdp_mab, policy)), np.asarray([horizon]))
