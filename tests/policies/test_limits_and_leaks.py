"""Where private policies meet their non-private counterparts, and what their messages give away."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.core import Round
from jaxbandits.engine import sums
from jaxbandits.mechanisms import counters
from jaxbandits.mechanisms.randomiser import bernoulli_mean, debias_factor, flip_probability
from jaxbandits.policies import cascade as policies
from jaxbandits.policies.cascade import assemble
from jaxbandits.problems import cascade, linear

SILENT = {"noise_scale": 0.0, "radius_scale": 0.0}
PAIRS = {
    "F": (policies.first_ldp_ucb1, policies.first_ucb1),
    "F-KL": (policies.first_ldp_kl_ucb, policies.first_kl_ucb),
    "DP-F": (policies.first_dp_ucb1, policies.first_ucb1),
    "DP-F, merged": (partial(policies.first_dp_ucb1, counter=counters.merged_hybrid), policies.first_ucb1),
    "Algorithm 1": (partial(policies.hybrid_ucb_by_count, **SILENT), policies.cascade_ucb1),
    "Algorithm 2": (partial(policies.laplace_ucb, **SILENT), policies.cascade_ucb1),
    "Algorithm 3": (partial(policies.gaussian_ucb, delta=1e-3, **SILENT), policies.cascade_ucb1),
    "composition": (partial(policies.composition_ucb, delta=1e-3, **SILENT), policies.cascade_ucb1),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_without_noise_it_is_its_counterpart(pair):
    """Round for round on the same users: epsilon infinite, or noise and its radius 0."""
    private, plain = PAIRS[pair]
    study = Study(
        problem=partial(cascade, means=linear(9), list_len=3),
        policies={"private": private, "plain": plain},
        grid={"epsilon": [float("inf")]},
        seeds=20,
        horizon=3000,
    )
    regret = run(study, progress=False)["regret"]
    np.testing.assert_array_equal(regret.sel(policy="private"), regret.sel(policy="plain"))


def message(policy, click, numbers):
    action = jnp.arange(3, dtype=jnp.int32)
    return policy.report(Round(t=jnp.int32(5), context=()), action, jnp.int32(click), numbers)


@pytest.mark.parametrize(
    "factory", [policies.laplace_ucb, partial(policies.gaussian_ucb, delta=1e-3), partial(policies.composition_ucb, delta=1e-3)]
)
def test_the_length_of_a_noisy_prefix_shows_the_click(factory):
    """Click first against no click: the lengths of the messages have total variation 1, whatever the noise."""
    policy = factory(num_items=5, list_len=3, epsilon=0.1)
    for noise in (-50.0, 0.0, 50.0):
        lengths = [int(message(policy, c, {"noise": jnp.full(3, noise)}).observed.sum()) for c in (0, 1, 2, 3)]
        assert lengths == [1, 2, 3, 3]
    assert "shows the position of the click" in policy.claim.flaw


@pytest.mark.parametrize("factory", [policies.first_ldp_ucb1, policies.first_ldp_kl_ucb])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_a_private_bit_has_ratio_e_to_the_epsilon(factory, epsilon):
    """All messages and click pairs: the largest ratio is e^epsilon, and the message is one bit whatever the click."""
    policy = factory(num_items=5, list_len=3, epsilon=epsilon)
    fine = (jnp.arange(2**20, dtype=jnp.float32) + 0.5) / 2**20
    ones = []
    for click in range(4):
        bits = jax.vmap(lambda u, click=click: message(policy, click, {"bit": u}))(fine)
        assert bits.shape == fine.shape
        assert set(np.unique(bits)) <= {0, 1}
        ones.append(float(bits.mean()))
    ratios = [max(p / q, (1 - p) / (1 - q)) for p, q in itertools.permutations(ones, 2)]
    np.testing.assert_allclose(max(ratios), np.exp(epsilon), rtol=1e-4)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, float("inf")])
def test_the_debiased_bit_of_the_front_item_is_unbiased(epsilon):
    """For any list: the bit is about the front item, which is always examined, so its mean is that of w(a_1)."""
    for w in (0.0, 0.2, 0.9, 1.0):
        mean = w * bernoulli_mean(1.0, epsilon) + (1 - w) * bernoulli_mean(0.0, epsilon)
        np.testing.assert_allclose((mean - flip_probability(epsilon)) * debias_factor(epsilon), w, atol=2e-6)


def test_sensitivity_of_a_raw_prefix():
    """A cascade's observation is one-hot or zero: L1 distance at most 2 and L2 at most sqrt(2), not K and sqrt(K)."""
    for k in (1, 2, 5):
        rows = [np.asarray(assemble.prefix(jnp.int32(c), k).value) for c in range(k + 1)]
        pairs = list(itertools.combinations(rows, 2))
        assert max(np.abs(a - b).sum() for a, b in pairs) == min(2, k)
        assert max(np.sqrt(((a - b) ** 2).sum()) for a, b in pairs) == pytest.approx(min(2, k) ** 0.5)


def test_first_position_shows_each_item_first_before_any_twice():
    """Every round gives one more item its first observation, so after num_items rounds all have exactly one."""
    policy = policies.first_ldp_ucb1(num_items=7, list_len=3, epsilon=1.0)
    state, act, update = policy.init(jnp.zeros(7, jnp.int32)), jax.jit(policy.act), jax.jit(policy.update)
    for t in range(1, 8):
        action = act(state, Round(t=jnp.int32(t), context=()), {})
        state = update(state, jnp.int32(t), action, jnp.int32(1), {})
        assert int(state.counts.sum()) == t
        assert int(state.counts.max()) == 1


def test_noisy_sums_grow_beyond_float32():
    """A hundred settlings' worth of values of mean 1/2 on a sum where float32 has steps of 8."""
    policy = policies.laplace_ucb(num_items=1, list_len=1, epsilon=8.0)
    state = policy.init(jnp.zeros(1, jnp.int32))
    large = jnp.full(1, 2.0**26)
    state = state._replace(total=jnp.zeros(1), folded=sums.Sum(high=large, low=jnp.zeros(1)))
    only, sent = jnp.zeros(1, jnp.int32), assemble.Prefix(observed=jnp.ones(1, bool), value=jnp.full(1, 0.5))

    def span(i, state):
        return policy.settle(jax.lax.fori_loop(0, 4096, lambda t, s: policy.update(s, t, only, sent, {}), state))

    after = jax.jit(lambda s: jax.lax.fori_loop(0, 100, span, s))(state)
    grown = float(after.folded.high[0]) - float(after.folded.low[0]) + float(after.total[0]) - 2.0**26
    assert grown == 100 * 4096 * 0.5
    assert float(large[0] + jnp.float32(0.5)) == 2.0**26, "a plain float32 sum would not grow at all"


def test_forced_display_puts_the_least_observed_item_first():
    policy = policies.laplace_ucb_forced(num_items=5, list_len=2, epsilon=1.0)
    state = policy.init(jnp.zeros(5, jnp.int32))
    state = state._replace(counts=jnp.array([90, 80, 12, 70, 60], jnp.int32), total=jnp.array([80.0, 60, -500, 10, 10]))
    late = Round(t=jnp.int32(100), context=())  # 3 log 100 = 13.8
    assert int(policy.act(state, late, {})[0]) == 2
    assert 2 not in policy.act(state._replace(counts=state.counts.at[2].set(14)), late, {}).tolist()


def test_algorithm_1_starts_from_the_raw_observation():
    """With the logarithm of the count the first index is w_0 + sqrt(1.5 log t); with that of the horizon it has the noise radius too."""
    preview, sizes = jnp.array([1, 0, 0, 1, 0], jnp.int32), {"num_items": 5, "list_len": 2, "epsilon": 0.1}
    printed = policies.hybrid_ucb(**sizes, horizon=1000)
    for policy in (policies.hybrid_ucb_by_count(**sizes), policies.hybrid_ucb_calibrated(**sizes), printed):
        state, update = policy.init(preview), jax.jit(policy.update)
        np.testing.assert_array_equal(jax.jit(policy.act)(state, Round(t=jnp.int32(5), context=()), {}), [0, 3])
        # One raw 1 outweighs a raw 0 for good: no release changes an item that is not examined.
        for t in (1, 2, 3):
            state = update(
                state,
                jnp.int32(t),
                jnp.array([0, 3], jnp.int32),
                policy.report(Round(jnp.int32(t), ()), jnp.array([0, 3], jnp.int32), jnp.int32(2), {}),
                {"noise": jnp.zeros(2)},
            )
        assert state.seen.counts.tolist() == [3, 0, 0, 3, 0]
        assert state.first.tolist() == preview.tolist()
    for policy in (policies.hybrid_ucb_by_count(**sizes), printed):
        assert policy.claim.status == "paper"
        assert "how many entries the counters get" in policy.claim.flaw
    assert "raw attraction" in policies.hybrid_ucb_by_count(num_items=5, list_len=1, epsilon=0.1).claim.flaw
