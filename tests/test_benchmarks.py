"""The benchmarks: the yardsticks run the engine's workload, and the command prints every row. Nothing here asserts a time."""

import json

import numpy as np
import pytest

from experiments.benchmarks import __main__ as command
from experiments.benchmarks import measure, rows, table, yardsticks
from jaxbandits import oracles
from jaxbandits.core import Policy
from jaxbandits.identity import Bound
from jaxbandits.policies import cascade

HORIZON, LANES = 300, 256

TINY = rows.Sizes(
    repeats=2,
    at_least=0.0,
    lanes=32,
    horizon=40,
    compilations=1,
    thread_tiles=2,
    thread_horizon=40,
    lane_counts=(32, 64),
    lane_horizon=40,
    horizons=(40, 41),  # as many checkpoints, so one executable
    cost_horizon=40,
    policy_horizon=40,
    policies=("cascade_ucb1", "first_ldp_ucb1"),
    semi_bandit=("cucb", "ldp_laplace_cucb"),
    selections=((8, 6),),
    dims=(2, 3),
    linear_horizon=40,
    linear_lanes=32,
    num_agents=3,
    federated_horizon=60_000,
    slot_horizon=20,
    slot_lanes=32,
    whole_lanes=16,
)


def engine(noise_scale):
    policy = Bound(cascade.laplace_ucb, {"epsilon": rows.EPSILON, "noise_scale": noise_scale})
    return rows.job(policy, (HORIZON,)).run(LANES)["regret"][-1]


pytestmark = pytest.mark.xdist_group("benchmarks")  # in one worker, which makes the fixture once


@pytest.fixture(scope="module")
def yardstick_regrets():
    pytest.importorskip("numba")
    arguments = (np.linspace(0.5, 0.025, 20), rows.LIST_LEN, rows.EPSILON, HORIZON, LANES)
    return {make.__name__: make(*arguments)() for make in (yardsticks.idiomatic, yardsticks.scalar)}


def test_the_yardsticks_agree_with_the_engine(yardstick_regrets):
    regret = engine(1.0)
    for other in yardstick_regrets.values():
        assert other.shape == regret.shape
        assert measure.gap(regret, other) < 4
    assert measure.gap(*yardstick_regrets.values()) < 4


def test_they_would_not_agree_if_the_noise_were_doubled(yardstick_regrets):
    regret = engine(2.0)
    for other in yardstick_regrets.values():
        assert measure.gap(regret, other) > 6


def test_gap_sees_a_shift_and_a_spread():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 1000))
    assert measure.gap(x, y) < 4
    assert measure.gap(x, y + 0.4) > 6
    assert measure.gap(x, 1.5 * y) > 6


def test_interleaved_measures_each_variant_by_turns():
    calls = []
    variants = {name: measure.Variant(lambda name=name: calls.append(name), 1.0) for name in "ab"}
    samples = measure.interleaved(variants, repeats=3, at_least=0.0)
    assert {name: len(s) for name, s in samples.items()} == {"a": 3, "b": 3}
    assert calls[-6:] == list("ababab")


def test_every_policy_that_is_measured_can_be_made():
    """The command measures two of each here, because they take long to compile."""
    for policy in (rows.A, *rows.OTHERS.values()):
        assert isinstance(policy(num_items=8, list_len=3), Policy)
    for policy in rows.SEMI_BANDIT.values():
        assert isinstance(policy(oracle=oracles.top_k(num_base_arms=8, list_len=3)), Policy)


def test_the_command_prints_every_row(tmp_path, capsys):
    path = tmp_path / "numbers.json"
    command.main(["--json", str(path)], TINY, measure.in_process)
    printed, written = capsys.readouterr().out, json.loads(path.read_text(encoding="utf-8"))
    assert set(written["measured"]) == set(table.LINES)
    for line in written["lines"]:
        assert line["what"] in printed
    for what in ("engine, per lane-round", "idiomatic JAX", "Numba", "compile", "two threads", "64 lanes", "T = 40", "peak memory"):
        assert what in printed
    for name in (*TINY.policies, *TINY.semi_bandit, "6 of 8"):
        assert f"{name} over A" in printed
    assert written["machine"]["versions"]["jax"] in printed


def test_without_numba_the_row_says_how_to_install_it():
    result = {"nanoseconds": {"engine": [30.0]}, "regret": {"engine": (1.0, 0.1)}, "gap": 0.0, "missing": {"scalar": "no numba"}}
    result["nanoseconds"]["idiomatic"], result["regret"]["idiomatic"] = [330.0], (1.0, 0.1)
    printed = "\n".join(str(line) for line in table.workload(result, TINY))
    assert "pip install 'jaxbandits[bench]'" in printed
    assert "missed" in printed  # 11 times where 12 were wanted
    assert "nan" not in printed


def test_an_unknown_row_is_named():
    with pytest.raises(SystemExit, match="speed"):
        command.main(["--only", "speed"], TINY, measure.in_process)
