"""How much noise a privacy level needs. On the host, in float64; a sweep calls these once for each grid point.

Neighbours throughout: any two values of one record.
"""

import functools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr

from jaxbandits import validate


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The smallest delta for which Gaussian noise is (epsilon, delta)-private.

    Phi(D/(2s) - epsilon s/D) - e^epsilon Phi(-D/(2s) - epsilon s/D), with s the standard deviation and D the L2 sensitivity.
    Balle and Wang: Improving the Gaussian Mechanism for Differential Privacy, 2018, Theorem 8.

    Args:
      epsilon: privacy level, positive.
      sigma: standard deviation of the noise, positive.
      sensitivity: L2 sensitivity, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    validate.positive("sigma", sigma)
    validate.positive("sensitivity", sensitivity)
    if math.isinf(epsilon):
        return 0.0
    return math.exp(_log_gaussian_delta(float(epsilon), float(sigma) / float(sensitivity)))


def _log_gaussian_delta(epsilon: float, s: float) -> float:
    first = log_ndtr(0.5 / s - epsilon * s)
    second = epsilon + log_ndtr(-0.5 / s - epsilon * s)
    difference = second - first
    return float(first + np.log(-np.expm1(difference))) if difference < 0 else -math.inf


@functools.lru_cache(maxsize=4096)
def _unit_analytic_sigma(epsilon: float, delta: float) -> float:
    if math.isinf(epsilon):
        return 0.0
    # delta falls in the standard deviation; the bracket holds every epsilon >= 1e-12 and delta >= 1e-300.
    target = math.log(delta)
    low, high = -15.0, 40.0
    root: float = brentq(lambda log_s: max(_log_gaussian_delta(epsilon, math.exp(log_s)), -1e4) - target, low, high, xtol=1e-13)  # pyright: ignore[reportAssignmentType]
    return math.exp(root) * (1.0 + 1e-7)  # rounded up, so that neither bisection nor float32 leaves too little noise


def analytic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation of Gaussian noise that is (epsilon, delta)-private, for every epsilon > 0.

    Balle and Wang 2018, Algorithm 1, solved by root finding and rounded up by 1e-7. 0 at epsilon = inf.

    Args:
      epsilon: privacy level, positive.
      delta: strictly between 0 and 1.
      sensitivity: L2 sensitivity; the result is proportional to it.

    Raises:
      ValueError: if epsilon or delta is out of range.
    """
    validate.epsilon(epsilon)
    validate.delta(delta)
    validate.positive("sensitivity", sensitivity)
    return float(sensitivity) * _unit_analytic_sigma(float(epsilon), float(delta))


def classic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The classic standard deviation, (sensitivity / epsilon) sqrt(2 log(1.25 / delta)).

    Proved (epsilon, delta)-private for epsilon <= 1 only, and too small from epsilon about 7.5 on at delta = 1e-3. It is here
    for the algorithms that print it; use ``analytic_sigma`` otherwise. Dwork and Roth 2014, Theorem A.1; Cascading Bandit
    under Differential Privacy, arXiv 2105.11126, Lemma 3.

    Args:
      epsilon: privacy level, positive.
      delta: strictly between 0 and 1.
      sensitivity: L2 sensitivity.

    Raises:
      ValueError: if epsilon or delta is out of range.
    """
    validate.epsilon(epsilon)
    validate.delta(delta)
    validate.positive("sensitivity", sensitivity)
    return float(sensitivity) / float(epsilon) * math.sqrt(2 * (math.log(1.25) - math.log(float(delta))))


# ---- composition -------------------------------------------------------------------------------------------------------


MOST_QUERIES = 65_536
"""The most releases that are composed: the sum over them is exact, term by term."""


def composed_delta(num_queries: int, epsilon_each: float, epsilon: float, delta_each: float = 0.0) -> float:
    """The smallest delta of ``num_queries`` adaptive releases, each (epsilon_each, delta_each)-private, at a total epsilon.

    1 - (1 - delta_each)^k (1 - sum_l C(k, l) [p^(k-l) (1-p)^l - e^epsilon p^l (1-p)^(k-l)]_+), p = e^e0 / (1 + e^e0).
    Kairouz, Oh, Viswanath: The Composition Theorem for Differential Privacy, 2015, Theorem 3.3, at any epsilon.

    Args:
      num_queries: k, at least 1.
      epsilon_each: e0, privacy level of each release.
      epsilon: total privacy level.
      delta_each: delta of each release.

    Raises:
      ValueError: if an argument is out of range.
    """
    k = validate.size("num_queries", num_queries, 1, MOST_QUERIES)
    for name, value in (("epsilon_each", epsilon_each), ("epsilon", epsilon)):
        validate.scalar(name, value, "a finite number, at least 0", lambda x: 0 <= x < math.inf)
    validate.scalar("delta_each", delta_each, "at least 0 and below 1", lambda x: 0 <= x < 1)
    epsilon_each, epsilon, delta_each = float(epsilon_each), float(epsilon), float(delta_each)
    missed = np.arange(k + 1)
    log_binomial = gammaln(k + 1) - gammaln(missed + 1) - gammaln(k - missed + 1)
    log_p, log_q = -np.logaddexp(0.0, -epsilon_each), -np.logaddexp(0.0, epsilon_each)
    first = log_binomial + (k - missed) * log_p + missed * log_q
    gain = (k - 2 * missed) * epsilon_each - epsilon  # log of the ratio of the two terms
    with np.errstate(over="ignore", divide="ignore"):  # a delta of 1 has the logarithm of 0 on the way
        terms = np.where(gain > 0, np.exp(first) * -np.expm1(-np.maximum(gain, 0)), 0.0)
        return float(-np.expm1(k * np.log1p(-delta_each) + np.log1p(-min(terms.sum(), 1.0))))


def split_epsilon(num_queries: int, epsilon: float, delta: float) -> float:
    """The largest epsilon each of ``num_queries`` pure releases may have so that together they are (epsilon, delta)-private.

    By exact composition, so never below ``epsilon / num_queries``, which is basic composition.

    Args:
      num_queries: at least 1.
      epsilon: total privacy level, positive.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.size("num_queries", num_queries, 1, MOST_QUERIES)
    validate.epsilon(epsilon)
    validate.delta(delta)
    return _split_epsilon(int(num_queries), float(epsilon), float(delta))


@functools.lru_cache(maxsize=4096)
def _split_epsilon(num_queries: int, epsilon: float, delta: float) -> float:
    if math.isinf(epsilon):
        return math.inf
    low = epsilon / num_queries
    high = float(np.logaddexp(math.log(delta), epsilon) - math.log1p(-delta))  # what a single release may have
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if composed_delta(num_queries, middle, epsilon) <= delta else (low, middle)
    return low


def quoted_split_epsilon(num_queries: int, epsilon: float, delta: float) -> float:
    """The split epsilon / sqrt(4 k log(e + epsilon / delta)) that the cascade paper uses for k releases.

    Kairouz, Oh, Viswanath 2015, Corollary 4.1, as quoted by arXiv 2105.11126, Theorem 7; stated for epsilon <= 0.9. It beats
    epsilon / k only if k > 4 log(e + epsilon / delta).

    Args:
      num_queries: k, at least 1.
      epsilon: total privacy level, positive.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_queries = validate.size("num_queries", num_queries, 1, MOST_QUERIES)
    validate.epsilon(epsilon)
    validate.delta(delta)
    if math.isinf(epsilon):
        return math.inf
    return float(epsilon) / math.sqrt(4 * num_queries * math.log(math.e + float(epsilon) / float(delta)))
