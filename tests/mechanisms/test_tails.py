"""Tails of Laplace sums, against published values, each other, and simulated sums."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.mechanisms import tails

# ---- the noise of the hybrid counter of Chan, Shi, Song 2011 -------------------------------------------------------------


def hybrid_law(count, epsilon):
    """Scales and numbers of the Laplace draws in the hybrid counter's noise at a count: half the budget each way."""
    k = count.bit_length() - 1
    return [2 / epsilon, 2 * k / epsilon], [k + 1, (count - 2**k).bit_count()]


@pytest.mark.parametrize(("count", "chernoff", "closed"), [(1000, 17.454, 35.87), (20_000, 1.3023, 2.790), (100_000, 0.3100, 0.638)])
def test_radii_of_the_hybrid_counter(count, chernoff, closed):
    # 20 items that share a budget of 1; tail probability t^-3 at t = 1e5; radius of the mean.
    scales, counts = hybrid_law(count, 1 / 20)
    assert tails.laplace_chernoff(scales, counts, 1e-15) / count == pytest.approx(chernoff, rel=5e-3)
    assert tails.laplace_closed(scales, counts, 1e-15) / count == pytest.approx(closed, rel=5e-3)


# ---- the two bounds ----------------------------------------------------------------------------------------------------

LAWS = {
    "one draw": ([1.0], [1]),
    "few": ([1.0], [7]),
    "many": ([0.2], [4000]),
    "two scales": ([1.0, 5.0], [20, 3]),
    "one wide among many": ([1.0, 100.0], [1000, 1]),
    "hybrid at 1000": hybrid_law(1000, 1.0),
    "hybrid at 1024": hybrid_law(1024, 1.0),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_chernoff_is_below_the_closed_form(law):
    for tail_prob in (0.9, 0.5, 0.05, 1e-3, 1e-15, 1e-24, 1e-200):
        assert 0 < tails.laplace_chernoff(*law, tail_prob) <= tails.laplace_closed(*law, tail_prob)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_chernoff_is_the_least_over_theta(law):
    scale, count = np.asarray(law[0]), np.asarray(law[1])
    for tail_prob in (0.5, 1e-3, 1e-15):
        theta = np.linspace(0, 1, 200_001)[1:-1] / scale[count > 0].max()
        exponents = -sum(n * np.log1p(-((b * theta) ** 2)) for b, n in zip(scale, count, strict=True) if n)
        least = np.min((math.log(2 / tail_prob) + exponents) / theta)
        assert tails.laplace_chernoff(*law, tail_prob) == pytest.approx(least, rel=1e-6)


def test_bounds_are_proportional_to_the_scales_and_ignore_empty_groups():
    for bound in (tails.laplace_closed, tails.laplace_chernoff):
        value = bound([1.0, 5.0], [20, 3], 1e-3)
        assert bound([3.0, 15.0], [20, 3], 1e-3) == pytest.approx(3 * value)
        assert bound([5.0, 9.0, 1.0, 0.0], [3, 0, 20, 8], 1e-3) == pytest.approx(value)
        assert bound([1.0, 1.0], [9, 11], 1e-3) == pytest.approx(bound([1.0], [20], 1e-3))
        assert bound([], [], 1e-3) == bound([0.0], [5], 1e-3) == bound([2.0], [0], 1e-3) == 0


TRIALS = 100_000


@pytest.fixture(scope="module")
def sums():
    """|Y| of TRIALS simulated sums for each law; a sum of n draws as the difference of two Gamma(n) variables."""
    rng = np.random.default_rng(20110511)

    def simulate(scales, counts):
        return np.abs(sum(b * (rng.gamma(n, size=TRIALS) - rng.gamma(n, size=TRIALS)) for b, n in zip(scales, counts, strict=True) if n))

    return {name: simulate(*law) for name, law in LAWS.items()}


@pytest.mark.parametrize("tail_prob", [0.05, 0.01])
@pytest.mark.parametrize("name", LAWS)
def test_both_bounds_cover_and_not_by_far(name, tail_prob, sums):
    error = math.sqrt(tail_prob * (1 - tail_prob) / TRIALS)
    for bound in (tails.laplace_chernoff, tails.laplace_closed):
        covered = np.mean(sums[name] <= bound(*LAWS[name], tail_prob))
        assert covered >= 1 - tail_prob - 4 * error
    # A bound for noise of half the scale must not pass.
    halved = np.mean(sums[name] <= tails.laplace_chernoff(*LAWS[name], tail_prob) / 2)
    assert halved < 1 - tail_prob - 4 * error


def test_simulated_sums_have_the_variance_of_their_law(sums):
    for name, (scales, counts) in LAWS.items():
        squares = sums[name] ** 2
        expected = sum(2 * n * b**2 for b, n in zip(scales, counts, strict=True))
        assert abs(squares.mean() - expected) < 4.5 * squares.std() / math.sqrt(TRIALS)


# ---- the form for the round loop ---------------------------------------------------------------------------------------

COUNTS = np.unique(np.concatenate([np.arange(1, 40), np.logspace(0, 8, 400).round()])).astype(np.float32)
LOG_TERMS = [math.log(2) + 3 * math.log(t) for t in (1, 2, 3, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e8)] + [0.7, 100.0, 600.0]


@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit], ids=["as it is", "compiled"])
@pytest.mark.parametrize("log_term", LOG_TERMS)
def test_the_loop_form_is_the_chernoff_bound(log_term, compile_):
    bound = np.asarray(compile_(tails.laplace_chernoff_unit)(jnp.asarray(COUNTS), jnp.float32(log_term)), np.float64)
    best = np.array([tails.laplace_chernoff([1.0], [n], 2 * math.exp(-log_term)) for n in COUNTS])
    assert np.all(bound <= best * (1 + 1e-4))
    assert np.all(bound >= best * (1 - 1e-5))


def test_the_loop_form_is_zero_without_noise_and_takes_lanes():
    counts = jnp.asarray([[0.0, 1.0, 7.0], [3.0, 0.0, 0.0]])
    bound = jax.vmap(tails.laplace_chernoff_unit)(counts, jnp.asarray([1.0, 2.0]))
    assert bound.dtype == jnp.float32
    assert np.array_equal(np.asarray(bound) == 0, np.asarray(counts) == 0)
    assert float(bound[1, 0]) == pytest.approx(tails.laplace_chernoff([1.0], [3.0], 2 * math.exp(-2.0)), rel=1e-5)


@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit], ids=["as it is", "compiled"])
def test_log1p_is_accurate_to_float32(compile_):
    size = np.logspace(-38, 38, 400_001)
    x = np.concatenate([size, -size[size < 1], [0.0, np.nextafter(np.float32(-1), np.float32(0))]]).astype(np.float32)
    x = x[x > -1]
    value, exact = np.asarray(compile_(tails.log1p)(jnp.asarray(x)), np.float64), np.log1p(x.astype(np.float64))
    assert np.all(np.abs(value - exact) <= 4e-7 * np.abs(exact))
    # What it is for: log(1 + x) in float32 has no correct digit near 0.
    plain = np.asarray(jnp.log(1 + jnp.asarray(x)), np.float64)
    assert np.any(np.abs(plain - exact) > 0.5 * np.abs(exact))


def test_tail_bounds_fall_with_the_tail_probability():
    for law, bound in itertools.product(LAWS.values(), (tails.laplace_closed, tails.laplace_chernoff)):
        assert np.all(np.diff([bound(*law, g) for g in (1e-15, 1e-3, 0.05, 0.5)]) < 0)
