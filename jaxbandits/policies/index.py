"""Optimistic indices: from what is known of an item to an upper bound on its mean.

The parts that policies are assembled from. All take and return float32 [num_items] unless said otherwise; t is the round.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine import lanes
from jaxbandits.mechanisms.tails import log1p


def unseen(displayed: Array) -> Array:
    """The index of an item without data: above every other index, and larger for one that was displayed less.

    Consecutive integers, read as the bits of a float, are consecutive floats; these begin at 2^125 and end above 2^60.
    """
    return lax.bitcast_convert_type(np.int32(0x7E000000) - jnp.minimum(displayed, np.int32(0x20000000)), jnp.float32)


def log_round(t: Array) -> Array:
    """Log t, float32 ()."""
    return jnp.log(t.astype(jnp.float32))


def exploration(t: Array) -> Array:
    """Log t + 3 log max(1, log t): the exploration function of KL-UCB, defined and not negative from t = 1 on."""
    log_t = log_round(t)
    return log_t + 3.0 * jnp.log(jnp.maximum(log_t, 1.0))


def ucb1_width(t: Array) -> Array:
    """sqrt(1.5 log t): times 1 / sqrt(count), the radius of UCB1, exceeded with probability at most 2 t^-3; float32 ()."""
    return jnp.sqrt(1.5 * log_round(t))


DIGITS = 7
"""Binary digits of a rounded-up round: it is at most 1.6 % more than the round."""


def rounded_up(t: Array) -> Array:
    """The least number of at most ``DIGITS`` binary digits, followed by zeros, that is not below t; float32 ().

    A radius that grows with the round stays valid if the round is rounded up, and changes seldom: 64 times while t doubles.
    """
    wide = t.astype(jnp.uint32)
    shift = jnp.maximum(np.uint32(32 - DIGITS) - jnp.minimum(lax.clz(wide), np.uint32(32 - DIGITS)), np.uint32(0))
    return (((wide + (np.uint32(1) << shift) - np.uint32(1)) >> shift) << shift).astype(jnp.float32)


def tail_log(t: Array) -> Array:
    """log(2 / g) for a radius that fails with probability at most g = T^-3 in round t, T the round rounded up; float32 ()."""
    return np.float32(np.log(2.0)) + 3.0 * jnp.log(rounded_up(t))


def tail_stale(t: Array) -> Array:
    """Whether ``tail_log`` of the next round differs from that of round t."""
    return rounded_up(t + 1) != rounded_up(t)


def inverse_root(count: Array) -> Array:
    """1 / sqrt(count), 1 where the count is 0. Exact at 1, elsewhere to a relative 1.1e-7; its square is 1 / count.

    Newton's method from the bits of the float: division and square root are slow on some processors, and the approximate
    instructions for them give other bits on each.
    """
    return inverse_root_of(jnp.maximum(count, 1).astype(jnp.float32))


def inverse_root_of(n: Array) -> Array:
    """``inverse_root`` of float32 numbers; some finite number where one is 0, for a caller that does not look at it there."""
    root = lax.bitcast_convert_type(np.int32(0x5F3759DF) - (lax.bitcast_convert_type(n, jnp.int32) >> 1), jnp.float32)
    rest = 1.0 - n * root * root  # below 0.07; one step of the third order, then one of the second
    root = root + root * (rest * (0.5 + 0.375 * rest))
    return root + 0.5 * root * (1.0 - n * root * root)


_TINY = np.float32(1e-12)
_NEWTON_STEPS = 3


@lanes.elementwise
def kl_ucb(mean: Array, inverse_count: Array, level: Array) -> Array:
    """max{q in [mean, 1]: count kl(mean, q) <= level}, the Bernoulli KL-UCB index.

    Newton's method in -log(1 - q), in which kl(mean, q) is convex and nearly linear, from an upper bound on the answer: q
    falls to it without crossing. Three steps leave an error below 2e-6 for every mean and level, where bisection takes 20.

    Args:
      mean: in [0, 1].
      inverse_count: 1 / count, positive.
      level: exploration level, at least 0; () or like the mean.
    """
    ratio = level * inverse_count
    rest = 1.0 - mean
    per_mean, per_rest = 1.0 / jnp.maximum(mean, np.float32(1e-30)), 1.0 / jnp.maximum(rest, np.float32(1e-30))
    # kl(x, q) >= (q - x)^2 / (2 v) with v the largest variance z (1 - z) on [x, q]; v <= q for small x gives the first form.
    low_mean = jnp.minimum(ratio + jnp.sqrt(ratio * (ratio + 2.0 * mean)), jnp.sqrt(0.5 * ratio))
    excess = jnp.where(mean >= 0.5, jnp.sqrt(2.0 * ratio * mean * rest), low_mean)
    largest = rest * np.float32(1 - 1e-6)
    excess = jnp.clip(excess, _TINY, jnp.maximum(largest, _TINY))
    for _ in range(_NEWTON_STEPS):
        divergence = -mean * log1p(excess * per_mean) - rest * log1p(-excess * per_rest)
        step = (divergence - ratio) * (mean + excess) / excess
        excess = excess - (rest - excess) * (jnp.exp(step) - 1.0)
        excess = jnp.clip(excess, _TINY, jnp.maximum(largest, _TINY))
    return jnp.where(rest > 0.0, mean + excess, 1.0)
