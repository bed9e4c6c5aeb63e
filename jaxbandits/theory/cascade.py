"""Regret bounds of cascading bandits, non-private and under local privacy. On the host, in float64.

Each function gives a bound on the expected regret at one horizon or at an array of them. Those of the cascade paper (Cascading
Bandit under Differential Privacy, arXiv 2105.11126) come as printed and as corrected; only a corrected or a proved one is a
bound. They say nothing of privacy, which the paper claims wrongly for Algorithms 2, 3 and the composition variant.

| function                    | bounds                                          | status                                       |
|-----------------------------|-------------------------------------------------|----------------------------------------------|
| `cascade_ucb1`              | CascadeUCB1, from above                         | proved, Kveton et al. 2015, Theorem 2        |
| `cascade_kl_ucb`            | CascadeKL-UCB, from above, leading term         | proved up to a constant, ibid., Theorem 3    |
| `laplace_ucb_printed`       | Algorithm 2, from above                         | printed, Theorem 4: half of what is proved   |
| `laplace_ucb_corrected`     | Algorithm 2 with forced display, from above     | proof of Theorem 4, with the missing term    |
| `gaussian_ucb_printed`      | Algorithm 3, from above                         | printed, Theorem 6: lacks the constant term  |
| `gaussian_ucb_corrected`    | Algorithm 3, from above                         | proof of Theorem 6                           |
| `composition_ucb_corrected` | composition variant with forced display         | as Algorithm 2; Theorem 7 prints an order    |
| `first_ldp_ucb1`            | F, first-position UCB1 on private bits          | proved, of this project; no paper prints it  |
| `nonprivate_lower`          | every consistent policy, from below             | proved, Kveton et al. 2015, Theorem 4        |
| `ldp_lower_printed`         | every consistent LDP policy, from below         | printed, Theorem 10: its proof has a gap     |
| `ldp_lower_corrected`       | every consistent LDP policy, from below         | proof of Theorem 10, corrected               |

Nothing is proved for F-KL, the calibrated versions of Algorithm 2 and of the composition variant, or these two as printed.

Notation: L items, K shown, T the horizon, w(1) >= .. >= w(L) the means in order, D(e) the gap of item e > K. D(e) is w(K) - w(e),
or if that is 0 the smallest positive w(k) - w(e) with k <= K: an item tied with the K-th still costs regret where it displaces
a better one, and the proofs count only pairs of different means. An item tied with all of the K best contributes nothing. Lower
bounds are for the two-level instance ``problems.instances.two_level`` with num_good = K.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from jaxbandits import validate

Curve = NDArray[np.float64] | float
"""float64, of the shape of the horizon."""

_CONFIDENCE = math.pi**2 / 3
"""The regret of an item in rounds in which its radius of UCB1 fails: the sum over t of t cases of probability 2 t^-3."""


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> Curve:
    """The divergence p log(p / q) + (1-p) log((1-p) / (1-q)) of a coin of bias p from one of bias q, with 0 log 0 = 0."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


def _log_horizon(horizon: ArrayLike) -> Curve:
    try:
        numbers = np.asarray(horizon)
    except (TypeError, ValueError):  # ragged or otherwise not an array
        numbers = np.asarray(None)
    if numbers.dtype.kind not in "iuf" or not np.all((numbers >= 1) & (numbers < np.inf)):
        raise ValueError(f"horizon must be a finite number, or an array of them, at least 1; got {horizon!r}")
    return np.log(numbers.astype(np.float64))


def _ranked(means: ArrayLike, list_len: int) -> np.ndarray:
    """The means in decreasing order."""
    validate.probabilities("means", means)
    validate.list_sizes(np.shape(means)[0], list_len)
    return np.sort(np.asarray(means, np.float64))[::-1]


def _rivals(ranked: np.ndarray, list_len: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each item off the best list, and that of the worst item on it that is better; items tied with all left out."""
    best, other = ranked[:list_len], ranked[list_len:]
    rival = np.where(best > other[:, None], best, np.inf).min(axis=1)
    counted = np.isfinite(rival)
    return other[counted], rival[counted]


def _inverse_gaps(ranked: np.ndarray, list_len: int) -> float:
    """sum_{e>K} 1 / D(e)."""
    other, rival = _rivals(ranked, list_len)
    return float(np.sum(1.0 / (rival - other)))


def cascade_ucb1(*, horizon: ArrayLike, means: ArrayLike, list_len: int) -> Curve:
    """Upper bound on the regret of CascadeUCB1.

    sum_{e>K} 12 log T / D(e) + (pi^2 / 3) L. Proved: Kveton et al.: Cascading Bandits, 2015, Theorem 2.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    return 12.0 * _inverse_gaps(ranked, list_len) * log_t + _CONFIDENCE * len(ranked)


def cascade_kl_ucb(*, horizon: ArrayLike, means: ArrayLike, list_len: int, slack: float) -> Curve:
    """Leading term of an upper bound on the regret of CascadeKL-UCB. Not a bound by itself.

    sum_{e>K} (1+x) D(e) (1 + log(1 / D(e))) / kl(w(e), w(e) + D(e)) (log T + 3 log max(1, log T)), for any x > 0. A further additive
    term is left out: its constants are not given in closed form, and they grow without limit as x falls to 0. Kveton et al. 2015,
    Theorem 3, which has log log T, undefined at T = 1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      slack: x, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.scalar("slack", slack, "a positive finite number", lambda x: 0 < x < np.inf)
    other, rival = _rivals(ranked, list_len)
    gap = rival - other
    # By Pinsker's inequality the maximum changes nothing but the rounding of tiny gaps, which could leave 0.
    divergence = np.maximum(bernoulli_kl(other, rival), 2.0 * gap**2)
    slope = (1.0 + float(slack)) * float(np.sum(gap * (1.0 - np.log(gap)) / divergence))
    return slope * (log_t + 3.0 * np.log(np.maximum(1.0, log_t)))


def _laplace_radius(scale: float) -> float:
    """The index radius of Algorithm 2 over sqrt(log t / count), for Laplace noise of a scale."""
    return math.sqrt(1.5) + scale * math.sqrt(24.0)


def laplace_ucb_printed(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float) -> Curve:
    """The upper bound printed for Algorithm 2 of the cascade paper. Not proved: the proof gives ``laplace_ucb_corrected``.

    sum_{e>K} 4 (sqrt(1.5) + (K / epsilon) sqrt(24))^2 log T / D(e) + (2 pi^2 / 3) L. arXiv 2105.11126, Theorem 4.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.epsilon(epsilon)
    radius = _laplace_radius(list_len / float(epsilon))
    return 4.0 * radius**2 * _inverse_gaps(ranked, list_len) * log_t + 2 * _CONFIDENCE * len(ranked)


def _forced_laplace(log_t: Curve, ranked: np.ndarray, list_len: int, scale: float) -> Curve:
    leading = 8.0 * _laplace_radius(scale) ** 2 * _inverse_gaps(ranked, list_len) * log_t
    return leading + 2 * _CONFIDENCE * len(ranked) + 3.0 * len(ranked) * log_t


def laplace_ucb_corrected(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float) -> Curve:
    """Upper bound on the regret of Algorithm 2 of the cascade paper with forced display, ``laplace_ucb_forced``.

    sum_{e>K} 8 (sqrt(1.5) + (K / epsilon) sqrt(24))^2 log T / D(e) + (2 pi^2 / 3) L + 3 L log T. arXiv 2105.11126, Theorem 4, with
    two corrections: 8 from its proof, where the statement has 4; and since the radius is valid only at counts above 3 log t, each
    item is forced to the front up to 3 log T times, at a regret of at most 1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.epsilon(epsilon)
    return _forced_laplace(log_t, ranked, list_len, list_len / float(epsilon))


def gaussian_ucb_printed(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float, delta: float) -> Curve:
    """The upper bound printed for Algorithm 3 of the cascade paper. Not proved: the proof gives ``gaussian_ucb_corrected``.

    sum_{e>K} 2 (2 sqrt(1.5) + (8 / epsilon) sqrt(K log(1.25 / delta)))^2 log T / D(e). arXiv 2105.11126, Theorem 6.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.
      delta: nominal, strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.epsilon(epsilon)
    validate.delta(delta)
    # The step log 2t^3 <= 4 log t of the proof needs t >= 2; the regret of round 1 lies within the term (2 pi^2 / 3) L.
    width = 2.0 * math.sqrt(1.5) + 8.0 / float(epsilon) * math.sqrt(list_len * math.log(1.25 / float(delta)))
    return 2.0 * width**2 * _inverse_gaps(ranked, list_len) * log_t


def gaussian_ucb_corrected(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float, delta: float) -> Curve:
    """Upper bound on the regret of Algorithm 3 of the cascade paper, ``gaussian_ucb``.

    ``gaussian_ucb_printed`` + (2 pi^2 / 3) L. arXiv 2105.11126, proof of Theorem 6, whose statement leaves out the last term.
    It covers ``gaussian_ucb_calibrated`` too wherever the analytic sigma is the smaller one, as for epsilon up to 5 at delta up to 0.1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.
      delta: nominal, strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    printed = gaussian_ucb_printed(horizon=horizon, means=means, list_len=list_len, epsilon=epsilon, delta=delta)
    return printed + 2 * _CONFIDENCE * np.shape(means)[0]


def composition_ucb_corrected(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float, delta: float) -> Curve:
    """Upper bound on the regret of the composition variant of the cascade paper, if it had forced display.

    sum_{e>K} 8 (sqrt(1.5) + (4 / epsilon) sqrt(6 K log(e + epsilon / delta)))^2 log T / D(e) + (2 pi^2 / 3) L + 3 L log T. That is
    ``laplace_ucb_corrected`` with noise of scale sqrt(4 K log(e + epsilon / delta)) / epsilon. arXiv 2105.11126, Theorem 7, prints
    only the order K log(1 / delta) log T / epsilon^2, so there is no printed version.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive; inf is no noise.
      delta: nominal, strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.epsilon(epsilon)
    validate.delta(delta)
    epsilon = float(epsilon)
    scale = 0.0 if math.isinf(epsilon) else math.sqrt(4 * list_len * math.log(math.e + epsilon / float(delta))) / epsilon
    return _forced_laplace(log_t, ranked, list_len, scale)


def first_ldp_ucb1(*, horizon: ArrayLike, means: ArrayLike, list_len: int, epsilon: float) -> Curve:
    """Upper bound on the regret of F, ``first_ldp_ucb1``, which is epsilon-LDP; at epsilon = inf on that of ``first_ucb1``.

    L min{r (tau + 1), 12 min(K, L-K) c^2 log T / D + r} + (pi^2 / 3) L, tau = 6 c^2 log T / D^2, c = (e^epsilon + 1) / (e^epsilon - 1),
    D the smallest gap, r the largest regret of a list. Proved, of this project; no paper prints it. In a round of positive regret some
    item of the list has a count of at most tau, hence so has the front item, whose count then rises; and if that count is s, each
    item that displaces a better one has a gap of at most 2 c sqrt(1.5 log T / s).

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_items], attraction probabilities in any order.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf is no privacy.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, ranked = _log_horizon(horizon), _ranked(means, list_len)
    validate.epsilon(epsilon)
    num_items, (other, rival) = len(ranked), _rivals(ranked, list_len)
    if not len(other):
        return 0.0 * log_t + _CONFIDENCE * num_items
    gap, factor = float(np.min(rival - other)), math.tanh(float(epsilon) / 2) ** -2
    largest = float(np.prod(1.0 - ranked[num_items - list_len :]) - np.prod(1.0 - ranked[:list_len]))
    by_rounds = largest * (6.0 * factor * log_t / gap**2 + 1.0)
    by_gaps = 12.0 * min(list_len, num_items - list_len) * factor * log_t / gap + largest
    return num_items * np.minimum(by_rounds, by_gaps) + _CONFIDENCE * num_items


# ---- lower bounds ------------------------------------------------------------------------------------------------------


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
    log_t = _log_horizon(horizon)
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
    log_t = _log_horizon(horizon)
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
    nonprivate = nonprivate_lower(horizon=horizon, num_items=num_items, list_len=list_len, base_prob=base_prob, gap=gap)
    validate.epsilon(epsilon)
    epsilon = float(epsilon)
    inverse_square = (math.exp(-epsilon) / -math.expm1(-2.0 * epsilon)) ** 2  # of e^epsilon - e^-epsilon
    examined = 4.0 * inverse_square / gap**2
    private = (num_items - list_len) * gap * (1.0 - base_prob) ** (list_len - 1) * examined * _log_horizon(horizon)
    return np.maximum(private, nonprivate) if with_nonprivate else private
