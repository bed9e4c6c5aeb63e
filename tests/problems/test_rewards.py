"""Laws of rewards, and regret realised instead of expected."""

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits import Study, run
from jaxbandits.engine import draws
from jaxbandits.identity import fingerprint
from jaxbandits.mechanisms import bernoulli, laplace, squashed
from jaxbandits.policies import armed as policies
from jaxbandits.policies.responses import RAW
from jaxbandits.problems import armed, rewards, twenty_arms

U = (np.arange(20_000, dtype=np.float64) + 0.5) / 20_000


def sampled(law, arm, mean, u=U):
    return np.asarray(law.sample(jnp.int32(arm), jnp.float32(mean), {"reward": jnp.asarray(u, jnp.float32)}), np.float64)


def test_the_mixed_laws_are_those_of_the_paper():
    """By their distribution functions at the same uniforms, arm by arm."""
    law, means = rewards.mixed(), twenty_arms()
    assert means.tolist() == [0.9] + [0.8] * 5 + [0.7] * 5 + [0.6] * 5 + [0.5] * 4
    np.testing.assert_allclose(sampled(law, 3, 0.8), stats.beta(4, 1).ppf(U), atol=1e-6)
    np.testing.assert_allclose(sampled(law, 19, 0.5), U, atol=1e-6)
    for arm, mean in ((0, 0.9), (12, 0.6)):
        assert set(sampled(law, arm, mean)) == {0.0, 1.0}
    assert sorted(set(sampled(law, 6, 0.7))) == pytest.approx([0.4, 1.0])
    for arm, mean in enumerate(means):
        assert sampled(law, arm, mean).mean() == pytest.approx(mean, abs=1e-4)


def test_normal_rewards():
    law = rewards.gaussian(2.0)
    assert law.draws["reward"] == draws.normal()
    assert sampled(law, 0, 0.5, np.array([-1.0, 0.0, 1.5])).tolist() == [-1.5, 0.5, 3.5]
    with pytest.raises(ValueError, match="deviation must be"):
        rewards.gaussian(-1.0)


@pytest.mark.parametrize(
    ("means", "law", "message"),
    [
        ([0.5, 1.5], rewards.bernoulli, "means must be a vector of numbers in"),
        ([0.5, math.inf], rewards.gaussian(), "means must be finite"),
        ([0.5, 0.8], rewards.by_arm([rewards.bit_quantile]), "quantiles must be one for each of the 2 means; got 1"),
        ([0.5, 0.7], rewards.by_arm([rewards.bit_quantile, rewards.power_quantile(4)]), "arm 1 has 0.8 by its quantile and 0.7 in means"),
        ([0.5], None, "rewards must be Rewards"),
        ([[0.5]], rewards.bernoulli, "means must be a vector of numbers"),
    ],
)
def test_means_that_are_not_those_of_the_law_are_refused(means, law, message):
    with pytest.raises(ValueError, match=message):
        armed(means=np.asarray(means), rewards=law)
    with pytest.raises(ValueError, match="quantiles must be functions"):
        rewards.by_arm([0.5])


def test_laws_with_other_numbers_are_other_studies():
    """A function of the package that closes over a number is told apart by it."""
    assert fingerprint(rewards.power_quantile(4.0)) == fingerprint(rewards.power_quantile(4.0))
    assert fingerprint(rewards.power_quantile(4.0)) != fingerprint(rewards.power_quantile(2.0))
    assert fingerprint(rewards.gaussian(1.0)) != fingerprint(rewards.gaussian(2.0))
    assert fingerprint(rewards.mixed()) == fingerprint(rewards.mixed())


def test_real_rewards_do_not_go_into_counters():
    with pytest.raises(ValueError, match="values must be int32: a counter sums bits; got float32"):
        run(
            Study(
                problem=partial(armed, means=np.array([0.5, 0.1]), rewards=rewards.gaussian()),
                policies={"p": partial(policies.dp_kl_ucb, epsilon=1.0)},
                horizon=10,
            ),
            progress=False,
        )


def test_realised_regret_has_the_mean_of_the_expected_one_and_more_noise():
    """Both are recorded, of the same rounds, under names that tell them apart."""
    study = Study(
        problem=partial(armed, means=twenty_arms(), rewards=rewards.mixed(), realised_regret=True),
        policies={"p": policies.ucb1},
        seeds=400,
        horizon=500,
        checkpoints=[500],
    )
    results = run(study, progress=False)
    expected, realised = (results[name].values.ravel() for name in ("regret", "realised_regret"))
    difference = realised - expected
    assert abs(difference.mean()) < 4 * difference.std() / 20
    # Of two independent rewards a round: the difference has the sum of their variances.
    assert 0.1 < difference.var() / 500 < 0.5
    assert realised.std() > 2 * expected.std()
    assert abs(difference.mean() - 0.02 * 500) > 4 * difference.std() / 20, "a bias of 0.02 a round would show"


def test_realised_regret_is_stored_and_resumed(tmp_path):
    def study(seeds):
        problem = partial(armed, means=[0.9, 0.5], realised_regret=True)
        return Study(problem=problem, policies={"p": policies.ucb1}, seeds=seeds, horizon=100, checkpoints=[50, 100])

    run(study(3), store=tmp_path / "store", progress=False)
    topped = run(study(5), store=tmp_path / "store", progress=False)
    fresh = run(study(5), progress=False)
    for name in ("regret", "realised_regret"):
        np.testing.assert_array_equal(topped[name], fresh[name])


def test_no_realised_regret_unless_asked_for():
    problem = partial(armed, means=[0.9, 0.5])
    results = run(Study(problem=problem, policies={"p": policies.ucb1}, seeds=2, horizon=10), progress=False)
    assert "realised_regret" not in results
    with pytest.raises(ValueError, match="realised_regret must be True or False; got 'no'"):
        armed(means=[0.9, 0.5], realised_regret="no")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"metrics must be named.*realised_regret"):
        Study(problem=problem, policies={"p": policies.ucb1}, metrics={"realised_regret": lambda state, instance: 0.0})


def test_rewards_outside_the_unit_interval_are_cut_before_they_get_noise():
    """A label of epsilon-LDP holds on unbounded rewards too: none moves the message further than 0 or 1 does."""
    for factory in (policies.ldp_ucb_laplace, policies.ldp_ucb_bernoulli, policies.ldp_ucb_laplace_chernoff, policies.ldp_kl_ucb):
        policy = factory(num_arms=3, epsilon=0.5)
        for u in np.linspace(0.01, 0.99, 25):
            z = {name: jnp.asarray(u, jnp.float32) for name in policy.device_draws}
            sent = [float(policy.report(None, None, jnp.float32(r), z)) for r in (math.nan, -7.0, 0.0, 1.0, 30.0)]
            assert sent[0] == sent[1] == sent[2]
            assert sent[3] == sent[4]


def test_a_sigmoid_makes_any_reward_private():
    """What a squashed randomiser sends for r is what it sends for 1 / (1 + e^-r); bits have mean within the private range."""
    for randomiser in (bernoulli(epsilon=0.5), laplace(shape=(), sensitivity=1, epsilon=0.5)):
        behind = squashed(randomiser)
        assert behind.claim == randomiser.claim
        z = {name: jnp.asarray(0.4, jnp.float32) for name in randomiser.draws}
        for r in (-50.0, -1.0, 0.0, 0.3, 40.0):
            inside = jnp.asarray(1 / (1 + math.exp(-r)), jnp.float32)
            np.testing.assert_allclose(behind.send(jnp.float32(r), z), randomiser.send(inside, z), rtol=1e-6)
        assert behind.send(jnp.float32(math.nan), z) == randomiser.send(jnp.float32(0.0), z)
    assert math.isnan(squashed(RAW).send(jnp.float32(math.nan), {})), "what is not private is to end with an error"
