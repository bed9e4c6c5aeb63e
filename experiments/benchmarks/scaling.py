"""How time and memory grow on workload A: with lanes, rounds, items and threads. The yardsticks are measured where they are quick."""

import concurrent.futures
import functools
import time
from collections.abc import Mapping

import numpy as np

from jaxbandits import linear_checkpoints, log_checkpoints

from . import jobs, measure, versus
from .jobs import Sizes
from .measure import Variant
from .yardsticks import cascade_local

Curves = dict[str, dict[str, list[float]]]
"""Nanoseconds per lane-round of each repeat, by who and by size."""


def _curves(engine: Mapping[str, Variant], yardsticks: Mapping[str, Mapping[str, Variant]], sizes: Sizes) -> Curves:
    everyone = {versus.ENGINE: engine, **yardsticks}
    flat = {(name, size): variant for name, variants in everyone.items() for size, variant in variants.items()}
    samples = measure.interleaved({f"{name} {size}": variant for (name, size), variant in flat.items()}, sizes.repeats, sizes.at_least)
    curves: Curves = {}
    for name, size in flat:
        curves.setdefault(name, {})[size] = samples[f"{name} {size}"]
    return curves


def _yardsticks(points: Mapping[str, tuple[int, int, int]], sizes: Sizes) -> dict[str, dict[str, Variant]]:
    """Those of workload A, by way and by size, for the points (lanes, horizon, items) that are quick enough."""
    found: dict[str, dict[str, Variant]] = {}
    for size, (lanes, horizon, items) in points.items():
        if float(lanes) * horizon <= sizes.yardstick_work:
            contest = versus.Contest()
            for name, make in versus.cascade_yardsticks(cascade_local, items).items():
                contest.enter(name, lanes, horizon, make)
            for name, variant in contest.variants.items():
                found.setdefault(name, {})[size] = variant
    return found


def lanes(sizes: Sizes) -> Curves:
    """Growing numbers of lanes, tile after tile, the results kept as a study keeps them."""
    a = jobs.job(jobs.A, log_checkpoints(sizes.lane_horizon))

    def variant(count):
        def call():
            tiles = [a.run(min(sizes.lanes, count), first)["regret"] for first in range(0, count, sizes.lanes)]
            return np.concatenate(tiles, axis=1)

        return Variant(call, float(count) * sizes.lane_horizon)

    counts = (*sizes.few_lanes, *sizes.lane_counts)
    yardsticks = _yardsticks({str(n): (n, sizes.lane_horizon, 20) for n in counts}, sizes)
    return _curves({str(n): variant(n) for n in counts}, yardsticks, sizes)


def rounds(sizes: Sizes) -> Curves:
    """Growing horizons."""
    engine = {str(t): jobs.job(jobs.A, log_checkpoints(t)).variant(sizes.lanes) for t in sizes.horizons}
    return _curves(engine, _yardsticks({str(t): (sizes.lanes, t, 20) for t in sizes.horizons}, sizes), sizes)


def items(sizes: Sizes) -> Curves:
    """Growing numbers of items, in tiles of the size a study would use."""

    def variant(count):
        it = jobs.job(jobs.A, log_checkpoints(sizes.lane_horizon), count)
        return it.variant(it.usual_tile(sizes.lanes))

    yardsticks = _yardsticks({str(n): (sizes.lanes, sizes.lane_horizon, n) for n in sizes.item_counts}, sizes)
    return _curves({str(n): variant(n) for n in sizes.item_counts}, yardsticks, sizes)


def threads(sizes: Sizes) -> dict[str, list[float]]:
    """Wall nanoseconds per lane-round of many tiles, with one worker, with two, and so on up to the cores there are."""
    a = jobs.job(jobs.A, log_checkpoints(sizes.thread_horizon))
    counts = [1, 2]
    while counts[-1] * 2 <= measure.cores():
        counts.append(counts[-1] * 2)
    num_tiles = max(sizes.thread_tiles, 2 * counts[-1])
    firsts = [sizes.lanes * i for i in range(num_tiles)]

    def variant(pool: concurrent.futures.Executor) -> Variant:
        work = float(num_tiles) * sizes.lanes * sizes.thread_horizon
        return Variant(lambda: list(pool.map(functools.partial(a.run, sizes.lanes), firsts)), work)

    pools = {str(n): concurrent.futures.ThreadPoolExecutor(n) for n in counts}
    try:
        return measure.interleaved({n: variant(pool) for n, pool in pools.items()}, sizes.repeats, sizes.at_least, time.perf_counter)
    finally:
        for pool in pools.values():
            pool.shutdown()


def memory(sizes: Sizes, horizon: int) -> float | None:
    """The most memory the process has held, in MB, after a tile of so many rounds; the number of checkpoints is the same for all."""
    jobs.job(jobs.A, linear_checkpoints(horizon, min(100, *sizes.horizons))).run(sizes.lanes)
    return measure.peak_megabytes()
