"""Results are the same bits however the work is cut up."""

import concurrent.futures
from functools import partial

import jax
import numpy as np
import pytest

from jaxbandits import Study, log_checkpoints, run
from jaxbandits.engine import scan, sums, tiles
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear

pytestmark = pytest.mark.xdist_group("bits")  # in one worker, which makes the fixture once
HORIZON = 150
NAMED = {"laplace": policies.laplace_ucb, "F-KL": policies.first_ldp_kl_ucb}


def study(**changes):
    fields = {
        "problem": partial(cascade, means=linear(12), list_len=3),
        "policies": NAMED,
        "grid": {"epsilon": [0.3, 1.0, 4.0]},
        "seeds": 70,
        "horizon": HORIZON,
    }
    return Study(**{**fields, **changes})


@pytest.fixture(scope="module")
def whole():
    return run(study(), progress=False)["regret"]


def same(a, b):
    np.testing.assert_array_equal(a.transpose(*b.dims).values, b.values)


@pytest.mark.parametrize("max_tile", [16, 48, 112, 512])
def test_tile(whole, max_tile):
    same(run(study(), max_tile=max_tile, progress=False)["regret"], whole)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads(whole, threads):
    with concurrent.futures.ThreadPoolExecutor(threads) as executor:
        same(run(study(), executor=executor, max_tile=64, progress=False)["regret"], whole)


def test_grid_and_policies_left_out(whole):
    part = run(study(grid={"epsilon": [4.0]}, policies={"F-KL": NAMED["F-KL"]}), progress=False)["regret"]
    same(part, whole.sel(policy=["F-KL"], epsilon=[4.0]))


def test_the_users_precision_setting(whole):
    tiles._compile.cache_clear()
    with jax.enable_x64(True):
        same(run(study(seeds=5), progress=False)["regret"], whole.isel(seed=slice(5)))


def test_fewer_seeds(whole):
    same(run(study(seeds=5), progress=False)["regret"], whole.isel(seed=slice(5)))


def test_other_checkpoints_and_horizon(whole):
    rounds = (7, 100)
    part = run(study(checkpoints=rounds, horizon=1000), progress=False)["regret"]
    same(part.sel(round=[100]), run(study(checkpoints=(100,)), progress=False)["regret"])
    common = [t for t in log_checkpoints(HORIZON) if t in rounds]
    assert common
    same(part.sel(round=common), whole.sel(round=common))


def test_another_seed_gives_other_numbers(whole):
    assert (run(study(seed=1), progress=False)["regret"] != whole).isel(round=-1).mean() > 0.9


@pytest.mark.parametrize("chunk", [1, 5, 16, HORIZON])
def test_chunk(chunk):
    made = study()
    plan = made.plans["laplace"]
    program = scan.Program(problem=made.source, policy=plan.factory)
    lanes = scan.Lanes(
        seed=np.uint32(3), replica=np.arange(16, dtype=np.uint32), policy={"epsilon": np.full(16, 0.7, np.float32)}, problem={}
    )
    options = tiles._CPU_OPTIONS if jax.default_backend() == "cpu" else {}
    start = jax.jit(partial(scan.start, program), compiler_options=options)(lanes)
    stops = np.array([1, 2, 50, HORIZON], np.int32)

    def regret(chunk):
        advance = jax.jit(partial(scan.advance, program, chunk=chunk), compiler_options=options)
        return sums.on_host(advance(lanes, start, stops)[1]["regret"])

    np.testing.assert_array_equal(regret(chunk), regret(scan.CHUNK))


def test_calls_between_checkpoints(monkeypatch, whole):
    monkeypatch.setattr(tiles, "_LANE_ROUNDS_AT_FIRST", 500.0)  # many calls a tile instead of one
    monkeypatch.setattr(tiles, "_SECONDS_PER_CALL", 0.0)
    same(run(study(seeds=5), progress=False)["regret"], whole.isel(seed=slice(5)))


@pytest.mark.parametrize("num_lanes", [1, 16, 100, 1000, 5000, 100_000])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("bytes_per_lane", [300, 3000, 10**6])
def test_tiles_share_the_work_evenly(num_lanes, workers, bytes_per_lane):
    size = tiles.tile_size(num_lanes, bytes_per_lane, workers)
    assert size % tiles.WIDTH == 0
    assert size * bytes_per_lane <= 800_000 + tiles.WIDTH * bytes_per_lane or size <= 2 * tiles.WIDTH
    turns = -(-num_lanes // (size * workers))
    if num_lanes >= 64 * workers:  # fewer lanes are not cut up
        assert turns * size <= num_lanes / workers + turns * tiles.WIDTH


@pytest.mark.parametrize(("horizon", "rounds"), [(1, 1), (10, 3), (100_000, 7_000), (2**31 - 1024, 2**28), (500, 10**9)])
def test_calls_stop_at_every_checkpoint_once(horizon, rounds):
    checkpoints = np.array(log_checkpoints(horizon))
    stops, done, seen = tiles.most_stops(checkpoints), 0, []
    while done < horizon:
        ahead = tiles.stops_ahead(checkpoints, done, rounds, stops)
        assert len(ahead) == stops
        assert ahead.dtype == np.int32
        assert ahead[0] > done
        assert done < ahead[-1] <= done + rounds
        seen += sorted(set(ahead.tolist()) & set(checkpoints.tolist()))
        done = int(ahead[-1])
    assert seen == checkpoints.tolist()


def test_policies_and_grid_points_meet_the_same_users():
    """With noise 0 and an epsilon that does not matter, every grid point gives the same run."""
    silent = partial(policies.laplace_ucb, noise_scale=0.0, radius_scale=0.0)
    regret = run(study(policies={"a": silent, "b": policies.cascade_ucb1}, seeds=8), progress=False)["regret"]
    np.testing.assert_array_equal(regret.sel(policy="a", epsilon=0.3), regret.sel(policy="a", epsilon=4.0))
    np.testing.assert_array_equal(regret.sel(policy="a", epsilon=0.3), regret.sel(policy="b", epsilon=0.3))


def test_one_compilation_for_a_whole_grid():
    grid = {"epsilon": [0.11, 0.22], "means": {"a": linear(7), "b": linear(7)[::-1]}, "noise_scale": [0.5, 1.0], "radius_scale": [0.1, 1.0]}
    made = Study(problem=partial(cascade, list_len=2), policies={"p": policies.laplace_ucb}, grid=grid, seeds=2, horizon=20)
    before = tiles._compile.cache_info().misses
    run(made, progress=False)
    assert tiles._compile.cache_info().misses == before + 1
    more = {**grid, "epsilon": [0.5, 3.0]}
    run(Study(problem=partial(cascade, list_len=2), policies={"p": policies.laplace_ucb}, grid=more, seeds=2, horizon=20), progress=False)
    assert tiles._compile.cache_info().misses == before + 1
