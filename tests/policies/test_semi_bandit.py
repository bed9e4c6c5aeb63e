"""What is special about semi-bandit policies: limits without noise, the discarding rule, and places without an arm."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, oracles, run
from jaxbandits.core import NON_PRIVATE, Round
from jaxbandits.engine import sums
from jaxbandits.mechanisms import calibrate
from jaxbandits.policies import index as indices
from jaxbandits.policies import responses
from jaxbandits.policies import semi_bandit as policies
from jaxbandits.policies.semi_bandit import assemble
from jaxbandits.problems import linear, semi_bandit
from tests.helpers import ROUND

SETS = oracles.top_k(num_base_arms=8, list_len=3)
PATHS = oracles.path(edges=[("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"), ("s", "t")], source="s", target="t")
SILENT = {"noise_scale": 0.0, "radius_scale": 0.0}


def printed_without_noise(*, oracle):
    """Algorithm 4 for raw bits."""
    m = oracle.num_base_arms
    return assemble.numbers_policy(
        oracle=oracle,
        randomiser=responses.RAW,
        index=lambda mean, counts, t: assemble.widened(mean, counts, indices.ucb1_width(t + m)),
        claim=NON_PRIVATE,
        from_preview=True,
    )


PAIRS = {
    "Algorithm 4": (partial(policies.gaussian_cucb, delta=1e-3, **SILENT), printed_without_noise),
    "Algorithm 4, sound": (partial(policies.ldp_gaussian_cucb, delta=1e-3, **SILENT), policies.cucb),
    "Laplace twin": (partial(policies.ldp_laplace_cucb, **SILENT), policies.cucb),
    "CUCB-LDP1": (policies.cucb_ldp1, policies.cucb),
    "CUCB-LDP2, Laplace": (policies.cucb_ldp2_laplace, policies.cucb_ldp2),
    "CUCB-DP": (policies.cucb_dp, policies.cucb_ldp2),
}


@pytest.mark.parametrize("oracle", [SETS, PATHS])
@pytest.mark.parametrize("pair", PAIRS)
def test_without_noise_it_is_its_counterpart(pair, oracle):
    """Round for round on the same users: epsilon infinite, or noise and its radius 0."""
    private, plain = PAIRS[pair]
    study = Study(
        problem=partial(semi_bandit, means=linear(oracle.num_base_arms), oracle=oracle),
        policies={"private": private, "plain": plain},
        grid={"epsilon": [float("inf")]},
        seeds=16,
        horizon=2000,
    )
    regret = run(study, progress=False)["regret"]
    np.testing.assert_array_equal(regret.sel(policy="private"), regret.sel(policy="plain"))


def test_the_least_observed_arm_comes_first_and_empty_places_never():
    counts = jnp.asarray([5, 2, 2, 9, 1], jnp.int32)
    assert assemble.fewest_first(jnp.asarray([0, 3, 1], jnp.int32), counts).tolist() == [1, 0, 3]
    assert assemble.fewest_first(jnp.asarray([0, 2, 1], jnp.int32), counts).tolist() == [2, 0, 1]
    assert assemble.fewest_first(jnp.asarray([5, 3, 5], jnp.int32), counts).tolist() == [3, 5, 5]


@pytest.mark.parametrize("factory", [policies.cucb_ldp2, policies.cucb_ldp2_laplace, policies.cucb_ldp2_kl, policies.cucb_dp])
def test_one_report_a_round_covers_all_arms_first(factory):
    """Each of the first m rounds gives one more arm its first report; only the front arm is ever counted."""
    policy = factory(oracle=SETS, epsilon=1.0)
    state, z = policy.init(jnp.zeros(8, jnp.int32)), {name: jnp.zeros(d.shape) + 0.5 for name, d in policy.server_draws.items()}
    device = {name: jnp.full(d.shape, 0.5) for name, d in policy.device_draws.items()}

    @jax.jit
    def play(state, t):
        round_ = Round(t=t, context=())
        action = policy.act(state, round_, z)
        return policy.update(state, t, action, policy.report(round_, action, jnp.ones(3, jnp.int32), device), z)

    for t in range(1, 9):
        state = play(state, jnp.int32(t))
        counts = getattr(state, "seen", state).counts
        assert int(counts.sum()) == t
        assert int(counts.max()) == 1


@pytest.mark.parametrize("factory", [policies.cucb, partial(policies.ldp_gaussian_cucb, epsilon=1.0, delta=0.1)])
def test_the_first_rounds_cover_all_arms(factory):
    """Sets of 3 of 8: three rounds, ceil(m / K)."""
    policy = factory(oracle=SETS)
    state, device = policy.init(jnp.zeros(8, jnp.int32)), {name: jnp.zeros(d.shape) for name, d in policy.device_draws.items()}

    @jax.jit
    def play(state, t):
        round_ = Round(t=t, context=())
        action = policy.act(state, round_, {})
        return policy.update(state, t, action, policy.report(round_, action, jnp.ones(3, jnp.int32), device), {})

    for t in (1, 2, 3):
        assert int((state.counts == 0).sum()) == (8, 5, 2)[t - 1]
        state = play(state, jnp.int32(t))
    assert int(state.counts.min()) == 1


def test_a_place_without_an_arm_sends_and_counts_nothing():
    policy = policies.ldp_laplace_cucb(oracle=PATHS, epsilon=1.0)
    action = jnp.asarray([4, 5], jnp.int32)  # the short path
    message = policy.report(Round(jnp.int32(1), ()), action, jnp.asarray([1, 0], jnp.int32), {"noise": jnp.ones(2)})
    assert message.tolist() == [3.0, 0.0]  # 1 + K / epsilon
    state = policy.update(policy.init(jnp.zeros(5, jnp.int32)), jnp.int32(1), action, message, {})
    assert state.counts.tolist() == [0, 0, 0, 0, 1]
    assert state.total.tolist() == [0.0, 0.0, 0.0, 0.0, 3.0]


def test_algorithm_4_starts_from_the_raw_observation():
    preview = jnp.asarray([1, 0, 0, 1, 0, 0, 1, 0], jnp.int32)
    policy = policies.gaussian_cucb(oracle=SETS, epsilon=1.0, delta=1e-3)
    state = policy.init(preview)
    assert state.counts.tolist() == [1] * 8
    assert sorted(policy.act(state, Round(jnp.int32(1), ()), {}).tolist()) == [0, 3, 6]
    assert policy.claim.status == "paper"
    assert "raw bits" in policy.claim.flaw
    assert policies.ldp_gaussian_cucb(oracle=SETS, epsilon=5.0, delta=1e-3).claim.guarantee() == (5.0, 1e-3)


def test_the_index_of_algorithm_4():
    """Round r counts as t = m + r: mean + sqrt(1.5 log t / T) + (2 / epsilon) sqrt(2 K log(1.25 / delta) log t / T)."""
    oracle = oracles.Oracle(**{**SETS._asdict(), "solve": lambda weights, z: weights})  # shows the index
    policy = policies.gaussian_cucb(oracle=oracle, epsilon=0.5, delta=1e-3)
    state = policy.init(jnp.zeros(8, jnp.int32))
    total, counts = jnp.linspace(-3.0, 40.0, 8), jnp.arange(1, 9, dtype=jnp.int32) ** 2
    state = state._replace(total=total, counts=counts, folded=sums.zero((8,)))
    log_t = np.log(12 + 8)
    found = policy.act(state, Round(jnp.int32(12), ()), {})
    wide = np.sqrt(1.5 * log_t) + 2 / 0.5 * np.sqrt(2 * 3 * np.log(1250) * log_t)
    np.testing.assert_allclose(found, np.asarray(total) / np.asarray(counts) + wide / np.sqrt(counts), rtol=1e-5)


def test_a_sound_policy_refuses_a_sigma_too_small_for_its_claim():
    """The derived sigma is an argument; fixed or swept, a smaller one would be a false guarantee."""
    least = calibrate.analytic_sigma(0.1, 1e-5, 3**0.5)
    with pytest.raises(ValueError, match=r"sigma must be at least .* which the claim needs"):
        policies.ldp_gaussian_cucb(oracle=SETS, epsilon=0.1, delta=1e-5, sigma=0.99 * least)
    assert policies.ldp_gaussian_cucb(oracle=SETS, epsilon=0.1, delta=1e-5, sigma=2 * least).claim.guaranteed
    problem = partial(semi_bandit, means=linear(8), oracle=SETS)
    for fixed, grid in (({"sigma": 0.0}, {"epsilon": [0.1]}), ({}, {"epsilon": [0.1], "sigma": [0.0, 1.0]})):
        with pytest.raises(ValueError, match="which the claim needs"):
            Study(problem=problem, policies={"p": partial(policies.ldp_gaussian_cucb, delta=1e-5, **fixed)}, grid=grid)


def test_epsilon_of_shares_is_refused_by_its_own_value():
    with pytest.raises(ValueError, match=r"epsilon must be a positive number from 3e-10 .*got 2e-10"):
        policies.cucb_ldp1(oracle=SETS, epsilon=2e-10)
    assert policies.cucb_ldp1(oracle=SETS, epsilon=3e-10).claim.guaranteed


def test_a_super_arm_of_another_kind_shows():
    """Between checkpoints nobody looks, but its regret may be negative, and is not cut off."""
    groups = oracles.partition(groups=[0, 0, 1, 1])
    problem = semi_bandit(means=[0.9, 0.8, 0.2, 0.1], oracle=groups)
    instance = problem.setup({"order": jnp.zeros((2, 4), jnp.uint32), "preview": jnp.zeros(4)})
    assert float(problem.regret(instance, ROUND, jnp.asarray([0, 1], jnp.int32))) == pytest.approx(1.1 - 1.7)
    study = Study(
        problem=partial(semi_bandit, means=[0.9, 0.8, 0.2, 0.1], oracle=groups),
        policies={"p": partial(policies.cucb, oracle=oracles.top_k(num_base_arms=4, list_len=2))},
        seeds=2,
        horizon=200,
    )
    with pytest.raises(ValueError, match="must choose legal actions"):
        run(study, progress=False)
