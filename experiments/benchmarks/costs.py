"""What else costs: compiling, a study as a whole, other policies and other sizes beside workload A."""

import functools
import time

import jax
import numpy as np

from jaxbandits import Study, log_checkpoints, oracles, problems, run
from jaxbandits.engine import scan, tiles
from jaxbandits.identity import Bound
from jaxbandits.policies import federated

from . import jobs, measure
from .jobs import LIST_LEN, Job, Sizes


def compile_seconds(sizes: Sizes) -> tuple[float, float]:
    """Seconds of wall and of CPU time for the two executables of a tile, from tracing on; for a process that compiled nothing yet."""
    return _compile(jobs.job(jobs.A, log_checkpoints(sizes.horizon)), sizes.lanes)


def _compile(it: Job, lanes: int) -> tuple[float, float]:
    tile = it.lanes(lanes)
    stops = tiles.most_stops(it.checkpoints)
    jax.local_devices()  # starting JAX is not compiling
    wall, cpu = time.perf_counter(), time.process_time()
    tiles.compile_tile(it.program, *tiles.signature(tile), stops, 0)
    return time.perf_counter() - wall, time.process_time() - cpu


def compile_linear(sizes: Sizes) -> tuple[float, float]:
    """Seconds of wall and of CPU time for the executable of LDP-LinUCB with the most features; for a process that compiled nothing yet."""
    return _compile(jobs.linear_job(max(sizes.dims), sizes.linear_horizon), 64)


def federated_study(sizes: Sizes) -> float:
    """Seconds of wall time for a study of CDP-MAB, compiling and all; for a process that compiled nothing yet."""
    it = jobs.federated_job(sizes)
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


def _beside_a(others: dict[str, Job], horizon: int, sizes: Sizes) -> dict[str, list[float]]:
    """In tiles of the size a study would use."""
    variants = {"A": jobs.job(jobs.A, log_checkpoints(horizon)).variant(sizes.lanes)}
    variants |= {name: it.variant(it.usual_tile(sizes.lanes)) for name, it in others.items()}
    return measure.interleaved(variants, sizes.repeats, sizes.at_least)


def policies(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of other policies beside workload A."""
    others = {name: jobs.job(jobs.OTHERS[name], log_checkpoints(sizes.policy_horizon)) for name in sizes.policies}
    return _beside_a(others, sizes.policy_horizon, sizes)


def semi_bandit_costs(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of semi-bandit policies, sets of 4 of 20 arms, beside workload A."""
    oracle = oracles.top_k(num_base_arms=20, list_len=LIST_LEN)
    problem = Bound(problems.semi_bandit, {"means": jobs.means(), "oracle": oracle})

    def semi_bandit(name):
        policy = Bound(jobs.SEMI_BANDIT[name].function, {**jobs.SEMI_BANDIT[name].arguments, "oracle": oracle})
        return Job(scan.Program(problem=problem, policy=policy), np.asarray(log_checkpoints(sizes.policy_horizon)))

    return _beside_a({name: semi_bandit(name) for name in sizes.semi_bandit}, sizes.policy_horizon, sizes)


def selection(sizes: Sizes) -> dict[str, list[float]]:
    """Nanoseconds per lane-round of Algorithm 2 with longer lists and with many items."""

    def longer(num_items, list_len):
        horizon = sizes.cost_horizon if num_items <= 100 else sizes.many_items_horizon
        return jobs.job(jobs.A, log_checkpoints(horizon), num_items, list_len)

    others = {f"{list_len} of {num_items}": longer(num_items, list_len) for num_items, list_len in sizes.selections}
    return _beside_a(others, sizes.cost_horizon, sizes)
