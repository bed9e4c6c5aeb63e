"""Calibration of noise, against the published values and against second computations of the same quantities."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from jaxbandits.mechanisms import calibrate

# ---- Gaussian noise ----------------------------------------------------------------------------------------------------


def privacy_loss_delta(epsilon, sigma):
    """E (1 - e^(epsilon - L))_+ for the privacy loss L of one unit, which is normal: nothing here cancels."""
    ratio = 1 / sigma

    def integrand(z):  # L = epsilon + ratio z
        return -np.expm1(-ratio * z) * np.exp(-0.5 * (epsilon / ratio + z - ratio / 2) ** 2)

    start = max(0.0, ratio / 2 - epsilon / ratio)
    parts = [quad(integrand, low, high, epsabs=0, epsrel=1e-11, limit=500)[0] for low, high in ((0, start), (start, start + 40))]
    return sum(parts) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(
    ("epsilon", "classic", "analytic"), [(0.2, 18.882, 9.898), (0.5, 7.553, 4.610), (1, 3.776, 2.575), (2, 1.888, 1.445)]
)
def test_standard_deviations_at_delta_one_in_a_thousand(epsilon, classic, analytic):
    assert calibrate.classic_sigma(epsilon, 1e-3) == pytest.approx(classic, abs=1e-3)
    assert calibrate.analytic_sigma(epsilon, 1e-3) == pytest.approx(analytic, abs=1e-3)


@pytest.mark.parametrize("sigma", [calibrate.classic_sigma, calibrate.analytic_sigma])
def test_standard_deviations_are_proportional_to_the_sensitivity(sigma):
    for sensitivity in (1e-3, 0.5, math.sqrt(2), 2.0, 1e4):
        assert sigma(0.7, 1e-5, sensitivity) == pytest.approx(sensitivity * sigma(0.7, 1e-5), rel=1e-12)
    assert calibrate.gaussian_delta(0.7, 2.0 * 3.0, 3.0) == pytest.approx(calibrate.gaussian_delta(0.7, 2.0), rel=1e-12)


LEVELS = list(itertools.product([1e-6, 1e-3, 0.2, 1.0, 5.0, 50.0], [1e-9, 1e-5, 1e-3, 0.1, 0.5]))


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_the_analytic_deviation_spends_the_whole_delta_and_no_more(epsilon, delta):
    sigma = calibrate.analytic_sigma(epsilon, delta)
    spent = privacy_loss_delta(epsilon, sigma)
    assert delta * (1 - 2e-5) < spent < delta
    assert privacy_loss_delta(epsilon, sigma * (1 - 1e-5)) > delta


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_gaussian_delta_is_the_mean_excess_of_the_privacy_loss(epsilon, delta):
    for sigma in (calibrate.classic_sigma(epsilon, delta), calibrate.analytic_sigma(epsilon, delta)):
        expected = privacy_loss_delta(epsilon, sigma)
        assert calibrate.gaussian_delta(epsilon, sigma) == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_gaussian_noise_at_the_ends():
    assert calibrate.analytic_sigma(math.inf, 1e-3) == 0
    assert calibrate.classic_sigma(math.inf, 1e-3) == 0
    assert calibrate.gaussian_delta(1.0, 1e6) == 0
    assert calibrate.gaussian_delta(1.0, 1e-3) == pytest.approx(1.0)


@pytest.mark.parametrize(("delta", "threshold"), [(1e-3, 7.47), (0.1, 5.74), (1e-5, 8.42)])
def test_the_classic_deviation_is_too_small_from_a_threshold_on(delta, threshold):
    def excess(epsilon):
        return calibrate.gaussian_delta(epsilon, calibrate.classic_sigma(epsilon, delta)) - delta

    first = brentq(excess, 3.0, 12.0)
    assert first == pytest.approx(threshold, abs=0.02)
    assert all(excess(epsilon) < 0 for epsilon in np.linspace(0.01, first - 0.01, 200))
    assert all(excess(epsilon) > 0 for epsilon in np.linspace(first + 0.01, 20, 200))


# ---- composition -------------------------------------------------------------------------------------------------------


def published_delta(k, i, epsilon_each, delta_each):
    """The delta of Kairouz, Oh, Viswanath 2015, Theorem 3.3, at total epsilon (k - 2i) epsilon_each."""
    total = sum(
        math.comb(k, m) * (math.exp((k - m) * epsilon_each) - math.exp((k - 2 * i + m) * epsilon_each)) / (1 + math.exp(epsilon_each)) ** k
        for m in range(i)
    )
    return 1 - (1 - delta_each) ** k * (1 - total)


def enumerated_delta(k, epsilon_each, epsilon):
    """sum (P - e^epsilon Q)_+ over all 2^k outcomes of k bits, each right with probability p under P and 1 - p under Q."""
    p = math.exp(epsilon_each) / (1 + math.exp(epsilon_each))
    total = 0.0
    for bits in itertools.product((0, 1), repeat=k):
        wrong = sum(bits)
        total += max(0.0, p ** (k - wrong) * (1 - p) ** wrong - math.exp(epsilon) * p**wrong * (1 - p) ** (k - wrong))
    return total


@pytest.mark.parametrize("delta_each", [0.0, 1e-6, 0.01])
@pytest.mark.parametrize("epsilon_each", [0.01, 0.3, 1.0, 4.0])
def test_one_release_composes_to_itself(epsilon_each, delta_each):
    assert calibrate.composed_delta(1, epsilon_each, epsilon_each, delta_each) == pytest.approx(delta_each, abs=1e-12)
    # at a smaller epsilon a release of a bit has delta (e^e0 - e^epsilon) / (1 + e^e0)
    half = (math.exp(epsilon_each) - math.exp(epsilon_each / 2)) / (1 + math.exp(epsilon_each))
    assert calibrate.composed_delta(1, epsilon_each, epsilon_each / 2) == pytest.approx(half, abs=1e-12)


@pytest.mark.parametrize("delta_each", [0.0, 1e-4])
@pytest.mark.parametrize("epsilon_each", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("k", [1, 2, 5, 16, 64])
def test_composition_is_the_published_formula_at_its_points(k, epsilon_each, delta_each):
    for i in range(k // 2 + 1):
        exact = calibrate.composed_delta(k, epsilon_each, (k - 2 * i) * epsilon_each, delta_each)
        assert exact == pytest.approx(published_delta(k, i, epsilon_each, delta_each), abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 2.9])
def test_composition_is_the_enumeration_of_all_outcomes_at_any_epsilon(epsilon):
    for k, epsilon_each in itertools.product((1, 3, 8), (0.2, 0.7, 1.5)):
        exact = calibrate.composed_delta(k, epsilon_each, epsilon)
        assert exact == pytest.approx(enumerated_delta(k, epsilon_each, epsilon), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "threshold"), [(0.2, 21.25), (0.5, 24.9), (1.0, 27.6), (2.0, 30.4)])
def test_the_quoted_split_beats_an_even_one_only_for_long_lists(epsilon, threshold):
    # The quoted split falls as 1 / sqrt(k), so it meets epsilon / k at k = (epsilon / split of one)^2.
    crossing = (epsilon / calibrate.quoted_split_epsilon(1, epsilon, 1e-3)) ** 2
    assert crossing == pytest.approx(threshold, abs=0.05)
    below, above = math.floor(crossing), math.ceil(crossing)
    assert calibrate.quoted_split_epsilon(below, epsilon, 1e-3) < epsilon / below
    assert calibrate.quoted_split_epsilon(above, epsilon, 1e-3) > epsilon / above


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product([1e-3, 0.2, 1.0, 5.0, 50.0], [1e-9, 1e-3, 0.5])))
def test_the_exact_split_is_the_largest_allowed(epsilon, delta):
    for k in (1, 2, 4, 16, 100, 1000):
        each = calibrate.split_epsilon(k, epsilon, delta)
        assert each >= epsilon / k
        assert calibrate.composed_delta(k, each, epsilon) <= delta
        assert calibrate.composed_delta(k, each * (1 + 1e-6), epsilon) > delta


def test_the_exact_split_beats_the_quoted_one_where_that_is_proved():
    for k, epsilon in itertools.product((1, 4, 16, 100, 1000), (0.1, 0.5, 0.9)):
        assert calibrate.split_epsilon(k, epsilon, 1e-3) > calibrate.quoted_split_epsilon(k, epsilon, 1e-3)


def test_splits_at_the_ends():
    assert calibrate.split_epsilon(4, math.inf, 1e-3) == math.inf
    assert calibrate.quoted_split_epsilon(4, math.inf, 1e-3) == math.inf
    # a single release may have log((e^epsilon + delta) / (1 - delta))
    assert calibrate.split_epsilon(1, 1.0, 0.1) == pytest.approx(math.log((math.e + 0.1) / 0.9), rel=1e-12)


# ---- bad arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [calibrate.analytic_sigma, calibrate.classic_sigma])
def test_deviations_refuse_bad_levels(function):
    for epsilon in (0, -1, math.nan, "much"):
        with pytest.raises(ValueError, match=r"epsilon must be .*got"):
            function(epsilon, 1e-3)
    for delta in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match=r"delta must be .*got"):
            function(1.0, delta)


@pytest.mark.parametrize("function", [calibrate.split_epsilon, calibrate.quoted_split_epsilon])
def test_splits_refuse_bad_arguments(function):
    for k in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=r"num_queries must be .*got"):
            function(k, 1.0, 1e-3)
    for epsilon in (0, -1, math.nan):
        with pytest.raises(ValueError, match=r"epsilon must be .*got"):
            function(4, epsilon, 1e-3)
    for delta in (0, 1, math.nan):
        with pytest.raises(ValueError, match=r"delta must be .*got"):
            function(4, 1.0, delta)
