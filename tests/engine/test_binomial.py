"""Binomial numbers: their law, from a single trial to two thousand million, and that nothing else decides them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.engine.binomial import binomial, grid

CASES = [
    (1, 0.3),
    (2, 0.9),
    (24, 0.5),
    (99, 0.1),  # just below where the method changes
    (101, 0.1),
    (1000, 0.985),
    (10**6, 2e-5),
    (10**6, 0.7),
    (6 * 10**7, 0.5),
    (2 * 10**9, 0.9),
    (2 * 10**9, 1e-6),
]


@jax.jit
def drawn(words, trials, probability):
    return jax.vmap(binomial, in_axes=-1, out_axes=-1)(words, trials, probability)


def words(count, seed=5):
    return np.random.default_rng(seed).integers(0, 2**32, (2, count), dtype=np.uint32)


def sample(trials, probability, count, seed=5):
    filled = np.full(count, trials, np.int32), np.full(count, probability, np.float32)
    return np.asarray(drawn(words(count, seed), *filled)).astype(np.int64)


def chance(probability):
    """Of a bit: uniform draws lie on a grid."""
    return int(grid(jnp.float32(probability))) / 2**24


def chi_square(found, law):
    """The p-value of a table of up to 100 cells of equal probability."""
    edges = np.unique(law.ppf(np.linspace(0, 1, 101)[1:-1]))
    expected = np.diff(np.concatenate([[0], law.cdf(edges), [1]])) * len(found)
    seen = np.diff(np.concatenate([[0], np.searchsorted(np.sort(found), edges, side="right"), [len(found)]]))
    used = expected > 5
    return stats.chi2.sf(np.sum((seen - expected)[used] ** 2 / expected[used]), max(int(used.sum()) - 1, 1))


@pytest.mark.parametrize(("trials", "probability"), CASES)
def test_law(trials, probability):
    """Mean and variance within 4.5 standard errors, all cells by chi-square, and every parity as often as it should be."""
    count, law = 200_000, stats.binom(trials, chance(probability))
    found = sample(trials, probability, count)
    assert ((found >= 0) & (found <= trials)).all()
    assert abs(found.mean() - law.mean()) < 4.5 * law.std() / np.sqrt(count)
    kurtosis = float(law.stats(moments="k")) + 2
    assert abs(found.var() / law.var() - 1) < 4.5 * np.sqrt(kurtosis / count)
    assert chi_square(found, law) > 1e-5
    odd = (1 - (1 - 2 * chance(probability)) ** trials) / 2
    assert abs((found % 2).mean() - odd) < 4.5 * np.sqrt(0.25 / count)


def test_the_law_is_told_from_its_neighbours():
    found = sample(101, 0.1, 200_000)
    assert chi_square(found, stats.binom(101, 0.1 * 1.02)) < 1e-5
    assert chi_square(found, stats.binom(103, 0.1)) < 1e-5
    rounded = np.round(np.random.default_rng(0).normal(10.1, np.sqrt(101 * 0.09), 200_000)).astype(int)
    assert chi_square(rounded, stats.binom(101, 0.1)) < 1e-5
    large = sample(10**6, 0.7, 200_000)
    assert chi_square(large + 10, stats.binom(10**6, 0.7)) < 1e-5  # two hundredths of a standard deviation


def test_ends():
    for trials in (0, 1, 50, 2**31 - 1):
        assert (sample(trials, 0.0, 64) == 0).all()
        assert (sample(trials, 1.0, 64) == trials).all()
    assert (sample(0, 0.4, 64) == 0).all()


def test_chance_of_a_bit_is_that_of_a_uniform_draw():
    values = np.maximum(np.arange(2**24, dtype=np.float32), 0.5) * np.float32(2.0**-24)
    for probability in (0.0, 2.0**-26, 2.0**-25, 3e-8, 2.0**-24, 1e-7, 0.3, 0.5, 0.9, 1 - 2.0**-24, 1.0):
        assert int(grid(jnp.float32(probability))) == int((values < np.float32(probability)).sum()), probability


def test_a_number_depends_on_its_own_arguments_only():
    rng = np.random.default_rng(8)
    trials = rng.choice([0, 1, 7, 30, 1000, 10**7], 256).astype(np.int32)
    probability = rng.choice([0.001, 0.2, 0.5, 0.93], 256).astype(np.float32)
    together = np.asarray(drawn(words(256), trials, probability))
    for some in (slice(0, 16), slice(48, 64)):
        np.testing.assert_array_equal(drawn(words(256)[:, some], trials[some], probability[some]), together[some])
    alone = jax.jit(binomial)
    for i in (0, 3, 77):
        assert int(alone(words(256)[:, i], trials[i], probability[i])) == together[i]
