"""The divergence of central privacy: its closed form, and the index made of it, against the definition in float64."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.policies import divergence
from jaxbandits.policies import index as indices
from jaxbandits.theory.armed_central import private_divergence
from jaxbandits.theory.cascade import bernoulli_kl

EPSILONS = [1e-3, 0.1, 0.7, 2.0, 10.0]
X = np.linspace(0, 0.999, 41)


def infimum(x, q, epsilon, points=400_001):
    """The definition, on a grid of z in [x, q]."""
    z = np.linspace(x, q, points)
    with np.errstate(divide="ignore"):
        return np.min(epsilon * (z - x) + bernoulli_kl(z, q))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_closed_form_is_the_infimum(epsilon):
    for x, q in [(0.0, 0.3), (0.1, 0.15), (0.1, 0.9), (0.5, 0.55), (0.5, 0.999), (0.7, 0.95), (0.2, 0.2)]:
        assert private_divergence(x, q, epsilon) == pytest.approx(infimum(x, q, epsilon), abs=1e-6)
    far = (0.1, 0.9)
    if epsilon < 5:
        assert private_divergence(*far, epsilon) < bernoulli_kl(*far) - 1e-3, "kl alone would be wrong"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_increases_and_ends_at_epsilon_times_the_rest(epsilon):
    q = np.linspace(0.3, 1, 2001)
    with np.errstate(divide="ignore"):
        assert (np.diff(private_divergence(0.3, q, epsilon)) > 0).all()
        np.testing.assert_allclose([private_divergence(x, 1.0, epsilon) for x in X], epsilon * (1 - X), rtol=1e-9)


def test_at_the_ends_it_is_finite_where_it_should_be():
    for epsilon in (700.0, 1000.0, 1e10):
        assert private_divergence(0.5, 1.0, epsilon) == pytest.approx(0.5 * epsilon)
        assert private_divergence(1.0, 1.0, epsilon) == 0.0
        assert private_divergence(0.0, 1.0, epsilon) == epsilon
    for bad in ((0.5, 0.4), (-0.1, 0.5), (0.5, 1.1), (math.nan, 0.5), ("a", 0.5)):
        with pytest.raises(ValueError, match="x and q must be numbers with 0 <= x <= q <= 1"):
            private_divergence(*bad, 1.0)
    below = np.float32(1 - 2**-24)
    assert float(divergence.private_kl(jnp.asarray([below]), jnp.ones(1), jnp.float32(0.1))[0]) >= 0.0


def test_it_tends_to_kl():
    q = np.linspace(0.3, 0.99, 200)
    for epsilon in (30.0, math.inf):
        np.testing.assert_allclose(private_divergence(0.3, q, epsilon), bernoulli_kl(0.3, q), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-10, 1e-6, *EPSILONS, 50.0, 1e3, math.inf])
def test_in_the_loop_it_is_the_same(epsilon):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.random(2000), [0.0, 0.0, 1.0, 1e-6, 1 - 2**-20]]).astype(np.float32)
    q = np.minimum(1, x + 10 ** rng.uniform(-4, 0, len(x))).astype(np.float32)
    # Where kl(x, 1) is infinite the loop has a number that is as good.
    q = np.where(epsilon > 20, np.minimum(q, np.float32(1 - 2**-20)), q).astype(np.float32)
    with np.errstate(divide="ignore"):
        exact = np.where(q > x, private_divergence(x, np.maximum(q, x), epsilon), 0.0)
    found = divergence.private_kl(jnp.asarray(x), jnp.asarray(q), jnp.float32(epsilon))
    np.testing.assert_allclose(found, exact, rtol=3e-5, atol=3e-7)


@pytest.mark.parametrize("epsilon", [1e-10, 1e-6, *EPSILONS, 50.0, 1e3, math.inf])
def test_the_index_is_the_largest_mean_within_the_level(epsilon):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.random(1000), [0.0, 0.0, 1.0, 1e-6, 1 - 2**-20]]).astype(np.float32)
    level = (10 ** rng.uniform(-2, 1.5, len(x))).astype(np.float32)
    inverse = (10 ** -rng.uniform(0, 6, len(x))).astype(np.float32)
    ratio = np.float64(level) * np.float64(inverse)
    low, high = x.astype(np.float64), np.ones(len(x))
    with np.errstate(divide="ignore", invalid="ignore"):
        everything = private_divergence(x, high, epsilon) <= ratio
        for _ in range(60):
            middle = (low + high) / 2
            within = private_divergence(x, middle, epsilon) <= ratio
            low, high = np.where(within, middle, low), np.where(within, high, middle)
    found = divergence.private_kl_ucb(jnp.asarray(x), jnp.asarray(inverse), jnp.asarray(level), jnp.float32(epsilon))
    np.testing.assert_allclose(found, np.where(everything, 1.0, low), atol=3e-6)


# ---- the rounded-up round ----------------------------------------------------------------------------------------------


def test_a_round_is_rounded_up_to_seven_binary_digits():
    rounds = np.concatenate([np.arange(1, 5000), 2 ** np.arange(13, 31), 2 ** np.arange(13, 31) + 1, [2**31 - 1]])
    found = np.array([float(indices.rounded_up(jnp.int32(t))) for t in rounds[::37]])
    for t, up in zip(rounds[::37].tolist(), found, strict=True):
        size = 2 ** max(0, t.bit_length() - 7)
        assert up == -(-t // size) * size
        assert t <= up <= 1.016 * t
    stale = [t for t in range(1, 600) if bool(indices.tail_stale(jnp.int32(t)))]
    assert stale == [
        t for t in range(1, 600) if t <= 127 or (t < 256 and t % 2 == 0) or (256 <= t < 512 and t % 4 == 0) or (t >= 512 and t % 8 == 0)
    ]


def test_an_unseen_item_comes_first_and_the_one_displayed_less_before():
    shown = jnp.array([0, 1, 2, 2**20, 2**24, 2**24 + 1, 2**29 - 1, 2**31 - 1], jnp.int32)
    found = np.asarray(indices.unseen(shown))
    assert (np.diff(found) < 0).all()
    assert found.min() > 1e18
    assert np.isfinite(found).all()
