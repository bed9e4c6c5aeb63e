"""However the work is cut up, and wherever it runs, the numbers are the same bits: a property over all the ways to cut it."""

import concurrent.futures
import multiprocessing
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxbandits import Study, links, problems, run, workers
from jaxbandits.engine import tiles
from jaxbandits.policies import cascade, contextual, federated

pytestmark = pytest.mark.xdist_group("same bits")  # in one worker, which makes the fixtures once
SEEDS, LONGEST = 40, 130
LINK = links.linear()


class Kind(NamedTuple):
    problem: Callable
    policy: Callable
    scale: int  # rounds of a checkpoint


KINDS = {
    "rounds": Kind(partial(problems.cascade, means=problems.linear(8), list_len=3), cascade.laplace_ucb, 1),
    "matrices": Kind(
        partial(problems.contextual, contexts=problems.contexts.sphere(dim=3, num_actions=5), link=LINK),
        partial(contextual.ldp_linucb, delta=1e-3, horizon=1000),
        1,
    ),
    "stretches": Kind(
        partial(problems.federated, means=problems.linear(4), num_agents=3), partial(federated.cdp_mab, horizon=10**6), 5_000
    ),
}


def study(kind, rounds, seeds=SEEDS):
    problem, policy, scale = KINDS[kind]
    checkpoints = [scale * t for t in rounds]
    return Study(
        problem=problem,
        policies={"p": policy},
        grid={"epsilon": [0.5, 2.0]},
        seeds=seeds,
        horizon=checkpoints[-1],
        checkpoints=checkpoints,
    )


class Shuffled(concurrent.futures.Executor):
    """Workers that take whatever is there in an order of their own, and lose some of it."""

    def __init__(self, workers, seed):
        self._random, self._there, self._tasks = random.Random(seed), threading.Condition(), []
        self._lost = 2
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, function, *args):
        future = concurrent.futures.Future()
        with self._there:
            self._tasks.append((future, function, args))
            self._there.notify()
        return future

    def _work(self):
        while True:
            with self._there:
                while not self._tasks:
                    self._there.wait()
                future, function, args = self._tasks.pop(self._random.randrange(len(self._tasks)))
                self._lost -= 1
                lost = self._lost == 0
            if lost:
                future.set_exception(ConnectionError())
            else:
                future.set_result(function(*args))


class Cut(NamedTuple):
    """A way to cut the work up."""

    rounds: list[int]  # checkpoints
    tile: int
    cores: int  # that the machine seems to have
    workers: int
    elsewhere: bool  # not in this process
    order: int  # seed of the order in which tiles are taken
    call: int  # lane-rounds of the first call
    patience: float  # seconds until a pause
    begun: int  # seeds that were run before, and stored
    holes: list[tuple[int, int]]  # grid point and seed of lanes that were lost since


CUTS = st.builds(
    Cut,
    # From 33 checkpoints on they are handed over 64 at a time, so the examples share executables.
    rounds=st.lists(st.integers(1, LONGEST), min_size=33, max_size=LONGEST, unique=True).map(sorted),
    tile=st.sampled_from([16, 64]),
    cores=st.integers(1, 5),
    workers=st.integers(1, 4),
    elsewhere=st.booleans(),
    order=st.integers(0, 1000),
    call=st.sampled_from([16, 500, 10**6]),
    patience=st.sampled_from([0.0, 0.01, 1e9]),
    begun=st.sampled_from([0, 1, 17, SEEDS]),
    holes=st.lists(st.tuples(st.integers(0, 1), st.integers(0, SEEDS - 1)), max_size=4),
)


@pytest.fixture(scope="module")
def whole():
    return {kind: run(study(kind, range(1, LONGEST + 1)), progress=False)["regret"] for kind in KINDS}


def played(kind, cut, place):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "cores", lambda: cut.cores)
        patch.setattr(tiles, "_LANE_ROUNDS_AT_FIRST", float(cut.call))
        patch.setattr(tiles, "_SECONDS_PER_CALL", 0.0 if cut.call < 10**6 else 1.0)
        patch.setattr(workers, "_PATIENCE", cut.patience)
        pool = Shuffled(cut.workers, cut.order) if cut.elsewhere else concurrent.futures.ThreadPoolExecutor(cut.workers)
        options = {"store": place, "executor": pool, "max_tile": cut.tile, "progress": False}
        if cut.begun:
            run(study(kind, cut.rounds, cut.begun), **options)
            stored = zarr.open_group(place, mode="r+")["p/regret"]
            for point, seed in cut.holes:
                if seed < cut.begun:
                    stored[point, seed] = np.nan
        return run(study(kind, cut.rounds), **options)["regret"]


def check(kind, cut, whole, folder):
    found = played(kind, cut, folder.mktemp("store"))
    np.testing.assert_array_equal(found.values, whole[kind].sel(round=found["round"]).values)


@pytest.mark.parametrize("kind", KINDS)
def test_cuts(kind, whole, tmp_path_factory):
    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(cut=CUTS)
    def same(cut):
        check(kind, cut, whole, tmp_path_factory)

    same()


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_many_cuts(kind, whole, tmp_path_factory):
    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cut=CUTS)
    def same(cut):
        check(kind, cut, whole, tmp_path_factory)

    same()


def test_the_property_can_fail(whole, tmp_path_factory, monkeypatch):
    """A lane whose numbers were a function of its place in the tile would be found out."""
    original = tiles.advance_tile

    def place_matters(program, lanes, *args):
        return original(program, lanes._replace(replica=lanes.replica[:1] + np.arange(len(lanes.replica), dtype=np.uint32)), *args)

    cut = Cut(list(range(1, LONGEST)), 16, 1, 1, False, 0, 10**6, 1e9, 17, [(0, 3), (1, 5)])
    check("rounds", cut, whole, tmp_path_factory)
    monkeypatch.setattr(tiles, "advance_tile", place_matters)
    with pytest.raises(AssertionError):
        check("rounds", cut, whole, tmp_path_factory)


# ---- the number of devices is settled before JAX starts, so in processes of their own -----------------------------------


def _on_all_devices(kind, rounds):
    found = run(study(kind, rounds), max_tile=16, progress=False)["regret"].values
    return found, jax.local_device_count(), {key[-1] for key in tiles._locks}


@pytest.mark.parametrize("kind", ["rounds", "stretches"])
def test_devices(kind, whole, monkeypatch):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "3")
    rounds = list(range(1, 40))
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        found, count, used = pool.submit(_on_all_devices, kind, rounds).result()
    assert count == 3
    assert used == {0, 1, 2}
    np.testing.assert_array_equal(found[0], whole[kind].isel(policy=0, round=slice(39)).values)
