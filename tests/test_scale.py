"""Many lanes: the numbers of each are those of a run of a few, and the size of a tile follows from the memory."""

from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, jobs, run
from jaxbandits.engine import tiles
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear


def study(seeds, epsilons=(0.25, 1.0, 4.0, 16.0), horizon=40, checkpoints=(10, 40)):
    return Study(
        problem=partial(cascade, means=linear(6), list_len=2),
        policies={"F": policies.first_ldp_ucb1},
        grid={"epsilon": epsilons},
        seeds=seeds,
        horizon=horizon,
        checkpoints=checkpoints,
    )


def test_a_quarter_of_a_million_lanes():
    made = study(65_536)
    many = run(made, progress=False)["regret"].values[0]
    assert many.shape == (4, 65_536, 2)
    assert np.isfinite(many).all()
    np.testing.assert_array_equal(many[:, :40], run(study(40), progress=False)["regret"].values[0])
    last = jobs.Job("F", np.repeat(np.arange(4), 8), np.tile(np.arange(65_528, 65_536), 4), 32)
    alone = tiles.run_tile(jobs.program(made, made.plans["F"]), jobs.lanes(made, last), np.asarray(made.rounds))["regret"]
    np.testing.assert_array_equal(many[:, -8:].reshape(32, 2), alone.T)
    # Seeds are independent: neighbours, and seeds a power of two apart, are not correlated beyond 5 standard errors.
    final = many[1, :, 1] - many[1, :, 1].mean()
    for apart in (1, 16, 128, 1024, 32_768):
        correlation = (final[apart:] * final[:-apart]).mean() / final.var()
        assert abs(correlation) < 5 / np.sqrt(len(final) - apart)


def test_results_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(tiles, "compile_tile", lambda *a: pytest.fail("compiled"))
    wanted = r"study must have results that fit into memory.*got 40,000,000 lanes with 1,000 checkpoints, .* GB: record fewer rounds"
    with pytest.raises(ValueError, match=wanted):
        run(study(10_000_000, horizon=1000, checkpoints=range(1, 1001)), progress=False)


@pytest.mark.parametrize("lane_bytes", [300, 3000, 10**5, 10**7])
@pytest.mark.parametrize("memory", [4 << 30, 140 << 30])
def test_tiles_of_an_accelerator_fit_into_its_memory(lane_bytes, memory):
    size = tiles.tile_size(10**6, lane_bytes, 1, memory)
    assert size % tiles.WIDTH == 0
    room = min(1 << 16, memory // 8 // lane_bytes)
    assert size <= room + tiles.WIDTH
    assert size >= room / 2  # the same for each turn


def test_the_estimate_of_a_lane_is_what_it_takes():
    """The compiler's own account of a lane: arguments, results and temporaries are at most a few times the estimate."""
    made = study(64, epsilons=(1.0,))
    rehearsed = jobs.rehearse(made)["F"]
    program = jobs.program(made, made.plans["F"], rehearsed.digest)
    lanes = jobs.lanes(made, jobs.Job("F", np.zeros(64, np.int64), np.arange(64), 64))
    found = tiles.compile_tile(program, *tiles.signature(lanes), 64, 0).advance.memory_analysis()
    assert found is not None
    taken = (found.argument_size_in_bytes + found.temp_size_in_bytes) / 64
    assert rehearsed.lane_bytes <= 2 * taken
    assert taken <= 8 * rehearsed.lane_bytes  # what tile_size leaves room for
