"""Regret bounds of K-armed bandits under local privacy. On the host, in float64.

| function            | bounds                                          | status                                        |
|---------------------|-------------------------------------------------|-----------------------------------------------|
| `ucb1`              | UCB1, from above                                | proved, Auer, Cesa-Bianchi, Fischer 2002      |
| `ldp_ucb_laplace`   | LDP-UCB-L, from above                           | proved, constant of this project              |
| `ldp_ucb_bernoulli` | LDP-UCB-B, from above                           | proved, constant of this project              |
| `ldp_kl_ucb`        | KL-UCB on private bits, from above, leading term | proved up to o(log T), Gajane et al. 2018    |
| `ldp_lower_printed` | every consistent epsilon-LDP policy, from below | printed, asymptotic                           |
| `ldp_lower`         | the same                                        | the printed proof, with a factor of 4 left in |

K arms with means mu(a) in [0, 1] and gaps D(a) to the largest; arms without a gap contribute nothing. The paper is Multi-Armed Bandits
with Local Differential Privacy, arXiv 2007.03121; c = (e^epsilon + 1) / (e^epsilon - 1).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.theory.cascade import Curve, bernoulli_kl, log_horizon

SIGMOID_SLOPE = 0.0760
"""c_s: behind a sigmoid a gap D between means in [0, 1] under standard normal noise is at least c_s D."""


def gaps_of(means: ArrayLike) -> np.ndarray:
    """Gaps of the arms that are not best.

    Args:
      means: [num_arms], in any order.

    Raises:
      ValueError: if one lies outside [0, 1].
    """
    validate.probabilities("means", means)
    array = np.asarray(means, np.float64)
    gaps = array.max() - array
    return gaps[gaps > 0]


def _ucb(horizon: ArrayLike, means: ArrayLike, factor: float, events: float, slope: float) -> Curve:
    """Sum over arms of 8 factor^2 log T / (slope^2 D) + (1 + events pi^2 / 3) D."""
    log_t, gaps = log_horizon(horizon), gaps_of(means)
    validate.scalar("slope", slope, "above 0 and at most 1", lambda c: 0 < c <= 1)
    return 8.0 * (factor / slope) ** 2 * float(np.sum(1.0 / gaps)) * log_t + (1.0 + events * math.pi**2 / 3.0) * float(np.sum(gaps))


def debias_factor(epsilon: float) -> float:
    """(e^epsilon + 1) / (e^epsilon - 1).

    Args:
      epsilon: privacy level, positive.

    Raises:
      ValueError: if it is out of range.
    """
    validate.epsilon(epsilon)
    return 1.0 / math.tanh(float(epsilon) / 2.0)


def ucb1(*, horizon: ArrayLike, means: ArrayLike) -> Curve:
    """Upper bound on the regret of UCB1: sum over arms of 8 log T / D + (1 + pi^2 / 3) D.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _ucb(horizon, means, 1.0, 1.0, 1.0)


def ldp_ucb_laplace(*, horizon: ArrayLike, means: ArrayLike, epsilon: float, slope: float = 1.0) -> Curve:
    """Upper bound on the regret of LDP-UCB-L: sum over arms of 8 (1 + 4 / epsilon)^2 log T / D + (1 + 2 pi^2 / 3) D.

    arXiv 2007.03121; the first term is the paper's.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; inf is no noise.
      slope: ``SIGMOID_SLOPE`` for LDP-UCB-LS under standard normal noise: its first term, with slope^2 D for D.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return _ucb(horizon, means, 1.0 + 4.0 / float(epsilon), 2.0, slope)


def ldp_ucb_bernoulli(*, horizon: ArrayLike, means: ArrayLike, epsilon: float, slope: float = 1.0) -> Curve:
    """Upper bound on the regret of LDP-UCB-B: sum over arms of 8 c^2 log T / D + (1 + pi^2 / 3) D.

    arXiv 2007.03121; the first term is the paper's.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; inf is no noise.
      slope: ``SIGMOID_SLOPE`` for LDP-UCB-BS under standard normal noise: its first term, with slope^2 D for D.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _ucb(horizon, means, debias_factor(epsilon), 1.0, slope)


def ldp_kl_ucb(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """Leading term of the regret of KL-UCB on private bits: sum over arms of D log T / kl(m(a), largest m). Not a bound by itself.

    m(a) = 1/2 + (mu(a) - 1/2) / c is the mean of the arm's bits. Gajane, Urvoy, Kaufmann 2018.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, gaps = log_horizon(horizon), gaps_of(means)
    best = float(np.max(np.asarray(means, np.float64)))
    factor = debias_factor(epsilon)
    bits, best_bits = 0.5 + (best - gaps - 0.5) / factor, 0.5 + (best - 0.5) / factor
    return float(np.sum(gaps / bernoulli_kl(bits, best_bits))) * log_t


def _lower(horizon: ArrayLike, means: ArrayLike, epsilon: float, factor: float) -> Curve:
    log_t, gaps = log_horizon(horizon), gaps_of(means)
    validate.epsilon(epsilon)
    epsilon = float(epsilon)
    inverse_square = (math.exp(-epsilon) / -math.expm1(-2.0 * epsilon)) ** 2  # of e^epsilon - e^-epsilon, which would overflow
    return factor * inverse_square * float(np.sum(1.0 / gaps)) * log_t


def ldp_lower_printed(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """The lower bound printed for every consistent epsilon-LDP policy: sum of log T / ((e^epsilon - e^-epsilon)^2 D). Asymptotic.

    At a finite horizon it is a slope, not a bound. arXiv 2007.03121, Theorem 1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; the bound is 0 at inf.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _lower(horizon, means, epsilon, 1.0)


def ldp_lower(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """Lower bound on the regret of every consistent epsilon-LDP policy: four times the printed one. Asymptotic.

    The proof of arXiv 2007.03121, Theorem 1, bounds a likelihood by 1/2 from below where it is at least 1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; the bound is 0 at inf.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _lower(horizon, means, epsilon, 4.0)
