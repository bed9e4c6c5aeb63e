"""Lower bounds on the regret of cascading bandits, on the two-level instance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.theory.cascade import Curve, bernoulli_kl, log_horizon


def _check_two_level(num_items: int, list_len: int, base_prob: float, gap: float) -> None:
    validate.list_sizes(num_items, list_len)
    validate.scalar("base_prob", base_prob, "strictly between 0 and 1", lambda p: 0 < p < 1)
    validate.scalar("gap", gap, f"strictly between 0 and base_prob, {base_prob}", lambda d: 0 < d < base_prob)


def nonprivate_lower(*, horizon: ArrayLike, num_items: int, list_len: int, base_prob: float, gap: float) -> Curve:
    """Lower bound on the regret of every consistent policy, private or not, on the two-level instance. Asymptotic.

    (L-K) D (1-p)^(K-1) / kl(p-D, p) log T: liminf R(T) / log T is at least the factor of log T, so at a finite horizon this is a
    slope, not a bound. Proved: Kveton et al. 2015, Theorem 4.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      num_items: L, number of items.
      list_len: K, length of the list and number of good items, from 1 to num_items.
      base_prob: p, attraction probability of a good item, strictly between 0 and 1.
      gap: D, how much less attractive the others are, strictly between 0 and base_prob.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t = log_horizon(horizon)
    _check_two_level(num_items, list_len, base_prob, gap)
    examined = 1.0 / bernoulli_kl(base_prob - gap, base_prob)
    return (num_items - list_len) * gap * (1.0 - base_prob) ** (list_len - 1) * examined * log_t


def ldp_lower_printed(*, horizon: ArrayLike, num_items: int, list_len: int, base_prob: float, gap: float, epsilon: float) -> Curve:
    """The lower bound printed for every consistent epsilon-LDP policy, on the two-level instance. Its proof has a gap.

    (L-K) p (1-p)^K / (2 min{4, e^(2 epsilon)} (e^epsilon - 1)^2 D) log T. arXiv 2105.11126, Theorem 10. The proof uses kl(p, p-D) <=
    D^2 / (p (1-p)), which is false (p = 0.2, D = 0.19: 0.4287 > 0.2256). At p = 1/K the formula is smaller by a factor of order K
    than the order stated after it, and at large epsilon it falls far below the non-private bound.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      num_items: L, number of items.
      list_len: K, length of the list and number of good items, from 1 to num_items.
      base_prob: p, attraction probability of a good item, strictly between 0 and 1.
      gap: D, how much less attractive the others are, strictly between 0 and base_prob.
      epsilon: privacy level, positive; the bound is 0 at inf.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t = log_horizon(horizon)
    _check_two_level(num_items, list_len, base_prob, gap)
    validate.epsilon(epsilon)
    epsilon = float(epsilon)
    inverse_square = (math.exp(-epsilon) / -math.expm1(-epsilon)) ** 2  # of e^epsilon - 1, which would overflow
    capped = math.exp(min(2.0 * epsilon, math.log(4.0)))
    return (num_items - list_len) * base_prob * (1.0 - base_prob) ** list_len * inverse_square / (2.0 * capped * gap) * log_t


def ldp_lower_corrected(
    *, horizon: ArrayLike, num_items: int, list_len: int, base_prob: float, gap: float, epsilon: float, with_nonprivate: bool = True
) -> Curve:
    """Lower bound on the regret of every consistent epsilon-LDP policy, on the two-level instance. Asymptotic.

    The larger of 4 (L-K) (1-p)^(K-1) / ((e^epsilon - e^-epsilon)^2 D) log T and ``nonprivate_lower``. Corrects arXiv 2105.11126,
    Theorem 10: a message tells a displayed item of mean p-D from one of mean p with a divergence of at most
    D^2 (e^epsilon - e^-epsilon)^2 / 4 times the probability that the item is examined.

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
    epsilon = float(epsilon)
    inverse_square = (math.exp(-epsilon) / -math.expm1(-2.0 * epsilon)) ** 2  # of e^epsilon - e^-epsilon
    examined = 4.0 * inverse_square / gap**2
    private = (num_items - list_len) * gap * (1.0 - base_prob) ** (list_len - 1) * examined * log_horizon(horizon)
    return np.maximum(private, nonprivate) if with_nonprivate else private
