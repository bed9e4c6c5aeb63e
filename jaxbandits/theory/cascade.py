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
bounds are in ``theory.cascade_lower``, for the two-level instance ``problems.two_level`` with num_good = K.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from jaxbandits import validate

Curve = NDArray[np.float64] | float
"""float64, of the shape of the horizon."""

CONFIDENCE = math.pi**2 / 3
"""The regret of an item in rounds in which its radius of UCB1 fails: the sum over t of t cases of probability 2 t^-3."""


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> Curve:
    """The divergence p log(p / q) + (1-p) log((1-p) / (1-q)) of a coin of bias p from one of bias q, with 0 log 0 = 0."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


def log_horizon(horizon: ArrayLike) -> Curve:
    """The logarithm of a checked horizon, of its shape.

    Args:
      horizon: number of rounds, at least 1; a number or an array.

    Raises:
      ValueError: if it is out of range.
    """
    return np.log(validate.rounds("horizon", horizon))


def ranked_means(means: ArrayLike, list_len: int) -> np.ndarray:
    """The means in decreasing order.

    Args:
      means: [num_items], in any order.
      list_len: length of the list, from 1 to num_items.

    Raises:
      ValueError: if a mean or the length is out of range.
    """
    validate.probabilities("means", means)
    validate.list_sizes(np.shape(means)[0], list_len)
    return np.sort(np.asarray(means, np.float64))[::-1]


def rivals(ranked: np.ndarray, list_len: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each item off the best list, and that of the worst item on it that is better; items tied with all left out."""
    best, other = ranked[:list_len], ranked[list_len:]
    rival = np.where(best > other[:, None], best, np.inf).min(axis=1)
    counted = np.isfinite(rival)
    return other[counted], rival[counted]


def inverse_gaps(ranked: np.ndarray, list_len: int) -> float:
    """sum_{e>K} 1 / D(e)."""
    other, rival = rivals(ranked, list_len)
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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    return 12.0 * inverse_gaps(ranked, list_len) * log_t + CONFIDENCE * len(ranked)


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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    validate.scalar("slack", slack, "a positive finite number", lambda x: 0 < x < np.inf)
    other, rival = rivals(ranked, list_len)
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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    validate.epsilon(epsilon)
    radius = _laplace_radius(list_len / float(epsilon))
    return 4.0 * radius**2 * inverse_gaps(ranked, list_len) * log_t + 2 * CONFIDENCE * len(ranked)


def _forced_laplace(log_t: Curve, ranked: np.ndarray, list_len: int, scale: float) -> Curve:
    leading = 8.0 * _laplace_radius(scale) ** 2 * inverse_gaps(ranked, list_len) * log_t
    return leading + 2 * CONFIDENCE * len(ranked) + 3.0 * len(ranked) * log_t


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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    validate.epsilon(epsilon)
    validate.delta(delta)
    # The step log 2t^3 <= 4 log t of the proof needs t >= 2; the regret of round 1 lies within the term (2 pi^2 / 3) L.
    width = 2.0 * math.sqrt(1.5) + 8.0 / float(epsilon) * math.sqrt(list_len * math.log(1.25 / float(delta)))
    return 2.0 * width**2 * inverse_gaps(ranked, list_len) * log_t


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
    return printed + 2 * CONFIDENCE * np.shape(means)[0]


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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
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
    log_t, ranked = log_horizon(horizon), ranked_means(means, list_len)
    validate.epsilon(epsilon)
    num_items, (other, rival) = len(ranked), rivals(ranked, list_len)
    if not len(other):
        return 0.0 * log_t + CONFIDENCE * num_items
    gap, factor = float(np.min(rival - other)), math.tanh(float(epsilon) / 2) ** -2
    largest = float(np.prod(1.0 - ranked[num_items - list_len :]) - np.prod(1.0 - ranked[:list_len]))
    by_rounds = largest * (6.0 * factor * log_t / gap**2 + 1.0)
    by_gaps = 12.0 * min(list_len, num_items - list_len) * factor * log_t / gap + largest
    return num_items * np.minimum(by_rounds, by_gaps) + CONFIDENCE * num_items
