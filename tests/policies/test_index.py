"""Index formulas against float64 computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.policies import index


def divergence(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(p > 0, p * np.log(p / q), 0.0)
        second = np.where(p < 1, (1 - p) * (np.log1p(-p) - np.log1p(-q)), 0.0)
    return first + second


def kl_ucb_by_bisection(mean, ratio):
    low, high = mean.copy(), np.ones_like(mean)
    for _ in range(60):
        middle = (low + high) / 2
        inside = divergence(mean, middle) <= ratio
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def grid():
    means = np.concatenate([[0, 1e-6, 1e-4], np.linspace(0.001, 0.999, 41), [1 - 1e-4, 1]]).astype(np.float32)
    ratios = np.geomspace(1e-7, 50, 60).astype(np.float32)
    return (x.ravel() for x in np.meshgrid(means, ratios, indexing="ij"))


def test_kl_ucb():
    mean, ratio = grid()
    exact = kl_ucb_by_bisection(mean.astype(np.float64), ratio.astype(np.float64))
    exact[mean == 1] = 1
    found = np.asarray(jax.jit(index.kl_ucb)(mean, jnp.ones_like(mean), ratio), np.float64)
    assert np.abs(found - exact).max() < 2e-6
    assert (found >= mean).all()
    assert (found <= 1).all()
    wide = (exact - mean > 1e-4) & (exact < 0.999)
    assert np.abs((found - mean)[wide] / (exact - mean)[wide] - 1).max() < 1e-3


def test_kl_ucb_takes_the_level_over_the_count():
    count, level = jnp.array([1.0, 10.0, 1e6]), jnp.float32(12.0)
    mean = jnp.full(3, 0.2)
    np.testing.assert_allclose(index.kl_ucb(mean, 1 / count, level), index.kl_ucb(mean, jnp.ones(3), level / count), atol=1e-7)
    assert np.all(np.diff(index.kl_ucb(mean, 1 / count, level)) < 0)


def test_inverse_root():
    counts = np.unique(np.concatenate([np.arange(1, 5000), np.geomspace(1, 2**31 - 1, 20_000).astype(np.int64)])).astype(np.int32)
    found = np.asarray(jax.jit(index.inverse_root)(counts), np.float64)
    exact = 1 / np.sqrt(counts.astype(np.float32).astype(np.float64))
    assert np.abs(found / exact - 1).max() < 1.2e-7
    assert index.inverse_root(jnp.array([0, 1], jnp.int32)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("t", [1, 2, 3, 10, 10**5, 2**31 - 1])
def test_exploration_is_defined_at_every_round(t):
    expected = np.log(t) + 3 * np.log(max(1.0, np.log(t)))
    np.testing.assert_allclose(index.exploration(jnp.int32(t)), expected, rtol=1e-6)
    assert index.exploration(jnp.int32(t)) >= 0
