"""What the central policies solve for: tails of sums of Laplace draws, and the private divergence."""

import functools
import math

from .cascade import bernoulli_kl

GOLDEN = (math.sqrt(5) - 1) / 2


# ---- tails -------------------------------------------------------------------------------------------------------------


def rounded_up(t):
    """The next number, from t on, with at most 7 binary digits before its zeros."""
    unit = 1
    while -(-t // unit) > 128:
        unit *= 2
    return -(-t // unit) * unit


def golden_section(function, low, high, width):
    """The least value of a function that falls and then rises."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > width:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


@functools.cache
def tail(law, tail_log):
    """What a sum of Laplace draws exceeds in size with probability at most g, where tail_log = log(2 / g), by Chernoff's bound.

    Args:
      law: ((scale, how many), ...).
      tail_log: log(2 / g).
    """
    if not law:
        return 0.0
    largest = max(scale for scale, _ in law)

    def bound(x):  # theta = x / largest
        theta = x / largest
        return (tail_log - sum(many * math.log1p(-((scale * theta) ** 2)) for scale, many in law)) / theta

    return golden_section(bound, 0.0, 1.0, 1e-9)


def tail_at(laws, count, t, epsilon):
    """The tail at probability 1 - t^-3, t rounded up, of a release over ``count`` items; ``laws`` are for an epsilon of 1."""
    return tail(laws.at(count), math.log(2) + 3 * math.log(rounded_up(t))) / epsilon


# ---- the private divergence --------------------------------------------------------------------------------------------


def divergence(x, q, epsilon):
    """The least of epsilon * (z - x) + kl(z, q) over z from x to q, for x <= q."""
    if q == 1:
        return epsilon * (1 - x) if x < 1 else 0.0
    if q == 0:
        return 0.0
    shrunk = q * math.exp(-epsilon)
    if shrunk / (1 - q + shrunk) <= x:
        return bernoulli_kl(x, q)
    return -epsilon * x - math.log(1 - q + shrunk)


@functools.cache
def private_kl_ucb(mean, count, budget, epsilon):
    """The largest q in [mean, 1] with count * divergence(mean, q) <= budget."""
    if mean == 1 or count * divergence(mean, 1.0, epsilon) <= budget:
        return 1.0
    low, high = mean, 1.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        if count * divergence(mean, middle, epsilon) <= budget:
            low = middle
        else:
            high = middle
    return low


def clip(x):
    return min(1.0, max(0.0, x))
