"""The semi-bandit: the law of its replies, its regret, and which policies may play it."""

import itertools
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, oracles, run
from jaxbandits.policies import armed, cascade, semi_bandit
from jaxbandits.problems import cascade as cascade_problem
from jaxbandits.problems import linear
from jaxbandits.problems import semi_bandit as problem
from tests.helpers import ROUND

MEANS = [0.75, 0.5, 0.5, 0.25, 0.125]
SETS = oracles.top_k(num_base_arms=5, list_len=2)
PATHS = oracles.path(edges=[("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"), ("s", "t")], source="s", target="t")


def made(oracle, means=MEANS):
    """The problem and the instance of one seed."""
    it = problem(means=means, oracle=oracle)
    order = jnp.asarray(np.random.default_rng(0).integers(0, 2**32, (2, len(means)), np.uint64), jnp.uint32)
    return it, it.setup({"order": order, "preview": jnp.full(len(means), 0.3)})


def test_replies_are_bits_of_the_means():
    """A reply is 1 for the draws below the mean of its arm, and never for a place without an arm."""
    it, instance = made(PATHS)
    u = jnp.asarray([0.1, 0.45])
    assert it.respond(instance, ROUND, jnp.asarray([2, 3], jnp.int32), {"reply": u}).tolist() == [1, 0]
    assert it.respond(instance, ROUND, jnp.asarray([4, 5], jnp.int32), {"reply": jnp.zeros(2)}).tolist() == [1, 0]
    assert it.preview(instance, {"preview": jnp.full(5, 0.3)}).tolist() == [1, 1, 1, 0, 0]


def test_arms_are_relabelled_only_where_any_renaming_is_allowed():
    _, instance = made(SETS)
    assert sorted(instance.labels.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(instance.means, np.float32(MEANS)[np.asarray(instance.labels)])
    assert made(PATHS)[1].labels.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("oracle", [SETS, oracles.cascade(num_base_arms=5, list_len=3), oracles.partition(groups=[0, 1, 0, 1, 0]), PATHS])
def test_regret_is_the_gap_to_the_best_super_arm(oracle):
    """For all super arms in all orders: exactly 0 for the best, else the difference of rewards."""
    it, instance = made(oracle, [0.7, 0.6, 0.6, 0.3, 0.1])
    actions = [a for a in itertools.product(range(6), repeat=oracle.list_len) if bool(it.legal(instance, jnp.asarray(a, jnp.int32)))]
    means = np.append(np.asarray(instance.means, np.float64), np.nan)
    rewards = np.array([float(oracle.reward(jnp.asarray(means[list(a)], jnp.float32), jnp.asarray(a, jnp.int32))) for a in actions])
    regret = np.array([float(it.regret(instance, ROUND, jnp.asarray(a, jnp.int32))) for a in actions])
    gap = rewards.max() - rewards
    np.testing.assert_allclose(regret, gap, atol=1e-6)
    assert (regret[gap < 1e-6] == 0).all()
    assert (regret[gap > 1e-6] > 0).all()


def test_regret_of_an_approximation_is_measured_against_alpha_beta_opt():
    """R(T) = T alpha beta opt - E sum r: the same actions cost 1 - alpha beta times the optimum less a round."""
    size = {"num_base_arms": 6, "list_len": 2}
    exact = oracles.top_k(**size)
    rough = oracles.approximate(oracle=exact, alpha=0.9, beta=0.8)
    results = {
        name: run(
            Study(
                problem=partial(problem, means=linear(6), oracle=measured),
                policies={"cucb": partial(semi_bandit.cucb, oracle=rough)},
                seeds=4,
                horizon=2000,
                checkpoints=[2000],
            ),
            progress=False,
        )["regret"].values
        for name, measured in (("exact", exact), ("rough", rough))
    }
    opt = float(np.sort(linear(6))[-2:].sum())
    np.testing.assert_allclose(results["exact"] - results["rough"], 2000 * (1 - 0.9 * 0.8) * opt, rtol=1e-5)
    assert (results["rough"] < 0).all()


@pytest.mark.parametrize("kind", ["partition", "matching"])
def test_the_order_of_the_arms_carries_no_information(kind):
    """Arms that cannot be renamed, the good ones first or last, at an epsilon at which most indices are tied at 1."""
    first = np.repeat([0.9, 0.7, 0.5, 0.3, 0.1], 3)
    if kind == "partition":
        size, means = oracles.partition(groups=[0, 1, 2] * 5), {"first": first, "last": first[::-1]}
    else:
        edges = [(left, right) for right in range(5) for left in range(3)]
        means = {"first": np.where(np.arange(15) % 4 == 0, 0.9, 0.1), "last": np.where(np.arange(15) % 4 == 0, 0.9, 0.1)[::-1]}
        size = oracles.matching(edges=edges)
    study = Study(
        problem=partial(problem, oracle=size),
        policies={"kl": partial(semi_bandit.cucb_ldp2_kl, epsilon=0.1), "dp": partial(semi_bandit.cucb_dp_kl, epsilon=0.3)},
        grid={"means": means},
        seeds=300,
        horizon=300,
        checkpoints=[300],
    )
    regret = run(study, progress=False)["regret"].isel(round=0)
    difference = regret.sel(means="first") - regret.sel(means="last")
    assert (abs(difference.mean("seed")) <= 4 * difference.std("seed") / np.sqrt(300)).all()
    assert (regret.mean("seed") > 20).all()


def test_a_super_arm_out_of_range_or_with_an_arm_twice_is_illegal_whatever_the_oracle_says():
    """Such as one that has -1 for a place without an arm."""
    it, instance = made(SETS._replace(legal=lambda super_arm: jnp.bool_(True)))
    for bad in ([0, -1], [0, 0], [0, 6], [5, 5]):
        assert not bool(it.legal(instance, jnp.asarray(bad, jnp.int32)))
    assert bool(it.legal(instance, jnp.asarray([5, 0], jnp.int32)))


def test_the_oracle_of_the_problem_goes_to_its_policies():
    study = Study(problem=partial(problem, means=MEANS, oracle=SETS), policies={"p": semi_bandit.cucb}, seeds=1, horizon=10)
    assert study.plans["p"].factory.arguments["oracle"] is SETS


BAD = {
    "means must be a vector": lambda: problem(means=[0.1, 1.2, 0.3, 0.1, 0.1], oracle=SETS),
    "means must be a vector of numbers in .0, 1. of length 5": lambda: problem(means=[0.1, 0.2], oracle=SETS),
    "oracle must be an Oracle": lambda: problem(means=MEANS, oracle=None),
    "oracle must be an Oracle, such": lambda: semi_bandit.cucb(oracle=3),
    "fixes num_base_arms to 4 with oracle; it must be that of the problem, 5": lambda: Study(
        problem=partial(problem, means=MEANS, oracle=SETS),
        policies={"p": partial(semi_bandit.cucb, oracle=oracles.top_k(num_base_arms=4, list_len=2))},
    ),
    "plays problems that have num_items": lambda: Study(
        problem=partial(problem, means=MEANS, oracle=SETS), policies={"p": cascade.cascade_ucb1}
    ),
    "plays problems that have num_arms": lambda: Study(problem=partial(problem, means=MEANS, oracle=SETS), policies={"p": armed.ucb1}),
    "plays problems that have oracle; this one has num_items, list_len": lambda: Study(
        problem=partial(cascade_problem, means=MEANS, list_len=2), policies={"p": semi_bandit.cucb}
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments_are_named(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()
