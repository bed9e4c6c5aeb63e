"""The benchmarks: the yardsticks run the engine's workloads, and the command prints every row. Nothing here asserts a time."""

import functools
import json
import sys

import numpy as np
import pytest

from experiments.benchmarks import __main__ as command
from experiments.benchmarks import jobs, measure, rows, table, versus
from experiments.benchmarks.yardsticks import armed as armed_yardsticks
from experiments.benchmarks.yardsticks import cascade_central, cascade_local, linear, peers
from jaxbandits import oracles, problems
from jaxbandits.core import Policy
from jaxbandits.identity import Bound
from jaxbandits.policies import armed, cascade

HORIZON, ARM_HORIZON, LINEAR_HORIZON = 300, 1000, 100
LANES, FEW = 256, 64
DIM = 3

TINY = jobs.Sizes(
    repeats=2,
    at_least=0.0,
    lanes=32,
    horizon=40,
    compilations=1,
    thread_tiles=2,
    thread_horizon=40,
    few_lanes=(16,),
    lane_counts=(32, 64),
    lane_horizon=40,
    horizons=(40, 41),  # as many checkpoints, so one executable
    item_counts=(8,),
    yardstick_work=16 * 40,
    cost_horizon=40,
    policy_horizon=40,
    policies=("cascade_ucb1", "first_ldp_ucb1"),
    semi_bandit=("cucb", "ldp_laplace_cucb"),
    selections=((8, 6),),
    peer_horizon=40,
    peer_lanes=16,
    dims=(2,),
    linear_horizon=40,
    linear_lanes=32,
    num_agents=3,
    federated_horizon=60_000,
    slot_horizon=20,
    slot_lanes=32,
    whole_lanes=16,
)


def on_cascade(policy):
    return jobs.job(policy, (HORIZON,)).regret(LANES)


def on_arms(policy, **arguments):
    return jobs.armed_job(Bound(policy, arguments), ARM_HORIZON).regret(LANES)


LAPLACE = functools.partial(Bound, cascade.laplace_ucb)
ENGINE = {  # the law of the yardsticks, and one near it
    "A": (lambda: on_cascade(jobs.A), lambda: on_cascade(LAPLACE({"epsilon": jobs.EPSILON, "noise_scale": 2.0}))),
    "B": (lambda: on_cascade(jobs.central(HORIZON)), lambda: on_cascade(jobs.central(HORIZON, noise_scale=2.0))),
    "bits": (lambda: on_arms(armed.ldp_ucb_bernoulli, epsilon=1.0), lambda: on_arms(armed.ldp_ucb_bernoulli, epsilon=1.5)),
    "laplace": (lambda: on_arms(armed.ldp_ucb_laplace, epsilon=1.0), lambda: on_arms(armed.ldp_ucb_laplace, epsilon=2.0)),
    "ucb1": (lambda: on_arms(armed.ucb1), lambda: on_arms(armed.ldp_ucb_bernoulli, epsilon=3.0)),
    "linear": (
        lambda: jobs.linear_job(DIM, LINEAR_HORIZON).regret(LANES),
        lambda: jobs.linear_job(DIM, LINEAR_HORIZON, epsilon=4.0).regret(LANES),
    ),
}

LISTS = (jobs.means(), jobs.LIST_LEN, jobs.EPSILON, HORIZON, LANES)
PULLS = (problems.twenty_arms(), jobs.EPSILON, ARM_HORIZON, LANES)
BARE_PULLS = (problems.twenty_arms(), ARM_HORIZON, LANES)
REGRESSION = (DIM, jobs.NUM_ACTIONS, jobs.EPSILON, jobs.DELTA, LINEAR_HORIZON, LANES)
YARDSTICKS = {
    "A, idiomatic": lambda: cascade_local.idiomatic(*LISTS),
    "A, scalar": lambda: cascade_local.scalar(*LISTS),
    "B, idiomatic": lambda: cascade_central.idiomatic(*LISTS),
    "B, scalar": lambda: cascade_central.scalar(*LISTS),
    "bits, idiomatic": lambda: armed_yardsticks.idiomatic_bits(*PULLS),
    "bits, scalar": lambda: armed_yardsticks.scalar_bits(*PULLS),
    "laplace, idiomatic": lambda: armed_yardsticks.idiomatic_laplace(*PULLS),
    "laplace, scalar": lambda: armed_yardsticks.scalar_laplace(*PULLS),
    "ucb1, idiomatic": lambda: armed_yardsticks.idiomatic_ucb1(*BARE_PULLS),
    "ucb1, scalar": lambda: armed_yardsticks.scalar_ucb1(*BARE_PULLS),
    "ucb1, pymab": lambda: peers.pymab(problems.twenty_arms(), ARM_HORIZON, FEW),
    "linear, idiomatic": lambda: linear.idiomatic(*REGRESSION),
    "linear, scalar": lambda: linear.scalar(*REGRESSION),
}


@functools.cache
def engine(law, wrong=False):
    return ENGINE[law][wrong]()


@functools.cache
def yardstick(name):
    return YARDSTICKS[name]()()


def needs(name):
    for library, who in (("numba", "scalar"), ("pymab", "pymab")):
        if name.endswith(who):
            pytest.importorskip(library)


pytestmark = pytest.mark.xdist_group("benchmarks")  # in one worker, which simulates each once


@pytest.mark.parametrize("name", YARDSTICKS)
def test_a_yardstick_agrees_with_the_engine(name):
    needs(name)
    regret = engine(name.partition(",")[0])
    assert yardstick(name).shape == (FEW if name.endswith("pymab") else LANES,)
    assert measure.gap(regret, yardstick(name)) < 4


@pytest.mark.parametrize("name", YARDSTICKS)
def test_it_would_not_agree_with_a_law_near_it(name):
    needs(name)
    assert measure.gap(engine(name.partition(",")[0], wrong=True), yardstick(name)) > 6


def test_the_peer_would_not_agree_with_another_exploration():
    pytest.importorskip("pymab")
    assert measure.gap(engine("ucb1"), peers.pymab(problems.twenty_arms(), ARM_HORIZON, FEW, exploration=3.0)()) > 6


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
    for policy in (jobs.A, *jobs.OTHERS.values()):
        assert isinstance(policy(num_items=8, list_len=3), Policy)
    for policy in jobs.SEMI_BANDIT.values():
        assert isinstance(policy(oracle=oracles.top_k(num_base_arms=8, list_len=3)), Policy)


def test_the_command_prints_every_row(tmp_path, capsys):
    path = tmp_path / "numbers.json"
    command.main(["--json", str(path)], sizes=TINY, where=measure.in_process)
    printed, written = capsys.readouterr().out, json.loads(path.read_text(encoding="utf-8"))
    assert set(written["measured"]) == set(table.LINES)
    for line in written["lines"]:
        assert line["what"] in printed
    for what in (
        "A: engine",
        "B: engine",
        "idiomatic JAX",
        "Numba",
        "PyMAB",
        "compile",
        "two threads",
        "64 lanes",
        "8 items",
        "peak memory",
    ):
        assert what in printed
    for name in (*TINY.policies, *TINY.semi_bandit, "6 of 8"):
        assert f"{name} over A" in printed
    assert written["machine"]["versions"]["jax"] in printed


def test_what_is_not_installed_is_named_with_how_to_install_it():
    result = {"nanoseconds": {"engine": [30.0]}, "regret": {"engine": (1.0, 0.1)}, "gap": 0.0, "missing": {"scalar": "no numba"}}
    result["nanoseconds"]["idiomatic"], result["regret"]["idiomatic"] = [330.0], (1.0, 0.1)
    printed = "\n".join(str(line) for line in table.workload(result, TINY))
    assert "not run: no numba; pip install 'jaxbandits[bench]'" in printed
    assert "missed" in printed  # 11 times where 12 were wanted
    assert "nan" not in printed


def test_a_yardstick_that_is_not_installed_does_not_stop_the_others(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymab", None)
    result = versus.peer(TINY)
    assert set(result["nanoseconds"]) == {"engine", "idiomatic", "scalar"} - set(result["missing"])
    assert "pymab" in result["missing"]
    assert "PyMAB" in "\n".join(map(str, table.peer(result, TINY)))


def test_an_unknown_row_is_named():
    with pytest.raises(SystemExit, match="speed"):
        command.main(["--only", "speed"], sizes=TINY, where=measure.in_process)


def test_every_row_says_what_it_measures():
    assert list(rows.MEASURED) == list(table.LINES)
