"""Regret bounds of cascading bandits under central privacy. On the host, in float64.

| function             | bounds                                           | status                                                  |
|----------------------|--------------------------------------------------|---------------------------------------------------------|
| `hybrid_ucb_printed` | Algorithm 1, from above, without its constant    | printed, Theorem 2; its constant depends on the problem |
| `hybrid_ucb_order`   | Algorithm 1 by count, from above, up to a factor | order that the corrected proof gives                    |
| `dp_lower_printed`   | every consistent epsilon-DP policy, from below   | printed, Theorem 11                                     |

Nothing is proved for DP-F, DP-F-lazy, DP-F-KLUCB and DP-all. The paper is Cascading Bandit under Differential Privacy, arXiv
2105.11126; its regret bounds say nothing of privacy, which Algorithm 1 does not give for lists of two or more.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.theory.cascade import CONFIDENCE, Curve, inverse_gaps, log_horizon, ranked_means, rivals
from jaxbandits.theory.cascade_lower import nonprivate_lower


def hybrid_ucb_printed(
    *, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float, xi: float, order_constant: float = 1.0
) -> Curve:
    """The upper bound printed for Algorithm 1 of the cascade paper, without the constant c2. Not a bound by itself.

    sum_{e>K} 192 / D(e) ((c1 L / epsilon) log T)^(1 + xi) + (2 pi^2 / 3) L. arXiv 2105.11126, Theorem 2, which adds a constant c2
    that is said not to depend on the problem. It does: for small xi the step behind it needs counts beyond any real horizon. The
    algorithm's box, with the logarithm of the horizon in its radius, is not covered either.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.
      xi: positive.
      order_constant: c1, at least 0.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    validate.epsilon(epsilon)
    validate.scalar("xi", xi, "a positive finite number", lambda x: 0 < x < np.inf)
    validate.scale("order_constant", order_constant)
    growth = (order_constant * len(ranked) / float(epsilon) * log_t) ** (1.0 + xi)
    return 192.0 * inverse_gaps(ranked, list_len) * growth + 2 * CONFIDENCE * len(ranked)


def hybrid_ucb_order(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float) -> Curve:
    """The order of the regret of Algorithm 1 with the logarithm of the count, ``hybrid_ucb_by_count``: a bound up to a factor.

    sum_{e>K} (log T / D(e) + (L log T / epsilon) log(x)^1.5), x = L log T / (epsilon D(e)), its logarithm read as at least 1.
    Corrects the proof of arXiv 2105.11126, Theorem 2.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = np.asarray(log_horizon(horizon)), ranked_means(means, list_len)
    validate.epsilon(epsilon)
    other, rival = rivals(ranked, list_len)
    gap = rival - other
    scale = len(ranked) / float(epsilon)
    x = np.maximum(scale * log_t[..., None] / gap, math.e)
    return np.sum(log_t[..., None] / gap + scale * log_t[..., None] * np.log(x) ** 1.5, axis=-1)


def dp_lower_printed(
    *,
    horizon: ArrayLike,
    num_items: int,
    list_len: int,
    base_prob: float,
    gap: float,
    epsilon: float,
    with_nonprivate: bool = True,
) -> Curve:
    """The lower bound printed for every consistent epsilon-DP policy, on the two-level instance. Asymptotic.

    The larger of (L-K) (1-p)^(K-1) log T / (200 epsilon), the private part in arXiv 2105.11126, Theorem 11, and ``nonprivate_lower``.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      num_items: L, number of items.
      list_len: K, length of the list and number of good items, from 1 to num_items.
      base_prob: p, attraction probability of a good item, strictly between 0 and 1.
      gap: D, how much less attractive the others are, strictly between 0 and base_prob.
      epsilon: privacy level, positive; inf leaves the non-private bound.
      with_nonprivate: False gives the first of the two alone.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.flag("with_nonprivate", with_nonprivate)
    nonprivate = nonprivate_lower(horizon=horizon, num_items=num_items, list_len=list_len, base_prob=base_prob, gap=gap)
    validate.epsilon(epsilon)
    factor = (num_items - list_len) * (1.0 - base_prob) ** (list_len - 1) / (200.0 * float(epsilon))
    private = factor * log_horizon(horizon)
    return np.maximum(private, nonprivate) if with_nonprivate else private
