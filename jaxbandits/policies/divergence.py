"""The divergence that governs bandits under central privacy, and the indices made of it.

d(x, q) = inf over z in [x, q] of epsilon |z - x| + kl(z, q), for 0 <= x <= q <= 1: how hard it is to tell a mean x from q when
moving it costs epsilon. Azize, Wu, Honda, Orabona, Ito, Basu 2025, arXiv 2505.05613. In closed form, with e = exp(-epsilon) and
z = q e / (1 - q + q e): kl(x, q) if z <= x, else -epsilon x - log(1 - q + q e).
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits.engine import lanes
from jaxbandits.mechanisms.tails import log1p
from jaxbandits.policies.index import kl_ucb

_ENOUGH = np.float32(80.0)
"""An epsilon that is as good as infinite: exp(-80) is nothing beside 1, and beside every mean above 1e-27, in float32."""

_LEAST = np.float32(1e-30)


def _excess(a: Array, whole: Array) -> Array:
    """What a is above log(1 + a), for a > -1, to a relative 1e-6 also near 0; ``whole`` is 1 + a, which near 0 is known better than a."""
    s = a / (2.0 + a)  # log(1 + a) = 2 artanh(s)
    t = s * s
    near = a * s - 2.0 * s * t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11)))))
    return jnp.where(jnp.abs(a) < 0.5, near, a - jnp.log(whole))


def _kl(x: Array, q: Array) -> Array:
    """kl(x, q) of coins for x <= q < 1."""
    gap, rest = q - x, jnp.maximum(1.0 - x, _LEAST)
    per_x, per_rest = 1.0 / jnp.maximum(x, _LEAST), 1.0 / rest
    # The terms of first order cancel, so they are left out.
    up = x * _excess(gap * per_x, jnp.maximum(q, _LEAST) * per_x)
    return jnp.where(x > 0, up, gap) + rest * _excess(-gap * per_rest, jnp.maximum(1.0 - q, _LEAST) * per_rest)


@lanes.elementwise
def private_kl(x: Array, q: Array, epsilon: Array) -> Array:
    """d(x, q), 0 where q <= x; at epsilon = inf kl(x, q), but at most about 80 where that is infinite.

    Args:
      x: in [0, 1].
      q: in [0, 1].
      epsilon: positive.
    """
    epsilon = jnp.minimum(epsilon, _ENOUGH)
    part = q * jnp.exp(-epsilon)
    kept = (1.0 - q) + part
    # Near 1 the logarithm of what is kept loses digits, near 0 that of what is lost.
    log_kept = jnp.where(kept > 0.5, log1p(q * jnp.expm1(-epsilon)), jnp.log(kept))
    value = jnp.where(part > x * kept, -epsilon * x - log_kept, _kl(x, q))
    return jnp.where(q > x, jnp.maximum(value, 0.0), 0.0)


@lanes.elementwise
def _closed(mean, ratio, epsilon, inner):
    epsilon = jnp.minimum(epsilon, _ENOUGH)
    change = jnp.expm1(-epsilon)
    # Up to q = mean / (mean + (1 - mean) exp(-epsilon)) the divergence is kl; this is its value there.
    turn = epsilon * (1.0 - mean) + log1p((1.0 - mean) * change)
    outer = jnp.expm1(-(ratio + epsilon * mean)) / change
    return jnp.where(ratio >= turn, jnp.minimum(outer, 1.0), inner)


@lanes.elementwise
def _times(level, inverse_count):
    return level * inverse_count


def private_kl_ucb(mean: Array, inverse_count: Array, level: Array, epsilon: Array) -> Array:
    """max{q in [mean, 1]: count d(mean, q) <= level}, exactly; ``index.kl_ucb`` where moving the mean does not pay.

    Args:
      mean: in [0, 1].
      inverse_count: 1 / count, positive.
      level: exploration level, at least 0; () or like the mean.
      epsilon: positive; () or like the mean.
    """
    return _closed(mean, _times(level, inverse_count), epsilon, kl_ucb(mean, inverse_count, level))
