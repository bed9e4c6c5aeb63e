"""Regret bounds of K-armed bandits under central privacy. On the host, in float64.

| function                | bounds                                         | status                                   |
|-------------------------|------------------------------------------------|------------------------------------------|
| `adap_ucb`              | AdaP-UCB, from above                           | proved, Azize, Basu 2022                 |
| `dp_kl_ucb`             | DP-KLUCB and DP-IMED, from above, leading term | proved up to o(log T), Azize et al. 2025 |
| `dp_se_order`           | DP-SE, from above, up to a factor              | order, Sajed, Sheffet 2019               |
| `mishra_thakurta_order` | DP-UCB of Mishra, Thakurta, up to a factor     | order, Mishra, Thakurta 2015             |
| `dp_lower`              | every consistent epsilon-DP policy, from below | proved, asymptotic, Azize et al. 2025    |
| `dp_lower_2022`         | the same, weaker                               | proved, asymptotic, Azize, Basu 2022     |
| `dp_minimax_lower`      | the worst instance, from below                 | proved, Azize, Basu 2022                 |

K arms with means mu(a), gaps D(a) to the largest; arms without a gap contribute nothing. d is the divergence of
``policies.divergence``: ``private_divergence``.
"""

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.theory.cascade import Curve, bernoulli_kl, log_horizon


def private_divergence(x: ArrayLike, q: ArrayLike, epsilon: float) -> Curve:
    """Inf over z in [x, q] of epsilon (z - x) + kl(z, q) for 0 <= x <= q <= 1, float64; kl(x, q) at epsilon = inf.

    With e = exp(-epsilon) and z = q e / (1 - q + q e): kl(x, q) if z <= x, else -epsilon x - log(1 - q + q e).

    Raises:
      ValueError: if epsilon is not positive, or not 0 <= x <= q <= 1.
    """
    validate.epsilon(epsilon)
    x, q = np.asarray(x), np.asarray(q)
    if any(v.dtype.kind not in "iuf" for v in (x, q)) or not np.all((x >= 0) & (x <= q) & (q <= 1)):
        raise ValueError(f"x and q must be numbers with 0 <= x <= q <= 1; got {x!r} and {q!r}")
    x, q = x.astype(np.float64), q.astype(np.float64)
    if np.isinf(epsilon):
        return bernoulli_kl(x, q)
    with np.errstate(divide="ignore"):
        log_part = np.log(q) - epsilon
        log_kept = np.logaddexp(np.log1p(-q), log_part)
        moved = log_part - log_kept > np.log(x)
        log_kept = np.where(log_kept > np.log(0.5), np.log1p(q * np.expm1(-epsilon)), log_kept)
    return np.where(moved, -epsilon * x - log_kept, bernoulli_kl(x, q))


def _checked(means: ArrayLike, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The means of the arms with a gap, and their gaps."""
    validate.probabilities("means", means)
    validate.epsilon(epsilon)
    array = np.asarray(means, np.float64)
    gaps = array.max() - array
    return array[gaps > 0], gaps[gaps > 0]


def adap_ucb(*, horizon: ArrayLike, means: ArrayLike, epsilon: float, constant: float = 3.1) -> Curve:
    """Upper bound on the regret of AdaP-UCB: sum over arms of 16 a log T / min(D, epsilon) + a / (a - 3).

    Azize, Basu 2022; the constant term is counted for every arm.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive.
      constant: a, above 3.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, (_, gaps) = log_horizon(horizon), _checked(means, epsilon)
    validate.scalar("constant", constant, "a finite number above 3", lambda a: 3 < a < np.inf)
    leading = 16.0 * constant * float(np.sum(1.0 / np.minimum(gaps, epsilon)))
    return leading * log_t + len(gaps) * constant / (constant - 3.0)


def dp_lower(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """Lower bound on the regret of every consistent epsilon-DP policy: sum over arms of D log T / d(mu, largest mu). Asymptotic.

    At a finite horizon it is a slope, not a bound. Azize et al. 2025, arXiv 2505.05613.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive; inf is the non-private bound.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, (below, gaps) = log_horizon(horizon), _checked(means, epsilon)
    return float(np.sum(gaps / private_divergence(below, below + gaps, epsilon))) * log_t


def dp_kl_ucb(*, horizon: ArrayLike, means: ArrayLike, epsilon: float, ratio: float = 2.0) -> Curve:
    """Leading term of the regret of DP-KLUCB and DP-IMED: ``ratio`` times ``dp_lower``. Not a bound by itself.

    Azize et al. 2025, arXiv 2505.05613, for batches that grow by the ratio.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive.
      ratio: above 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scalar("ratio", ratio, "a finite number above 1", lambda a: 1 < a < np.inf)
    return ratio * dp_lower(horizon=horizon, means=means, epsilon=epsilon)


def dp_lower_2022(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """Lower bound on the regret of every consistent epsilon-DP policy: sum over arms of D log T / min(kl, 6 epsilon D). Asymptotic.

    Weaker than ``dp_lower``. Azize, Basu 2022.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, (below, gaps) = log_horizon(horizon), _checked(means, epsilon)
    return float(np.sum(gaps / np.minimum(bernoulli_kl(below, below + gaps), 6.0 * epsilon * gaps))) * log_t


def dp_minimax_lower(*, horizon: ArrayLike, num_arms: int, epsilon: float) -> Curve:
    """Regret that every epsilon-DP policy has on some instance: max(sqrt(T (K-1)) / 27, (K-1) / (131 epsilon)).

    Azize, Basu 2022.

    Args:
      horizon: T, number of rounds, at least 1; a number or an array.
      num_arms: K, at least 2.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    rounds = np.exp(log_horizon(horizon))
    others = validate.size("num_arms", num_arms, 2) - 1
    validate.epsilon(epsilon)
    return np.maximum(np.sqrt(rounds * others) / 27.0, others / (131.0 * float(epsilon)))


def dp_se_order(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """The order of the regret of DP-SE: sum over arms of log T / D + K log T / epsilon. A bound up to a factor.

    Sajed, Sheffet 2019.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, (_, gaps) = log_horizon(horizon), _checked(means, epsilon)
    return (float(np.sum(1.0 / gaps)) + np.shape(means)[0] / float(epsilon)) * log_t


def mishra_thakurta_order(*, horizon: ArrayLike, means: ArrayLike, epsilon: float) -> Curve:
    """The order of the regret of Mishra and Thakurta's DP-UCB: K (log T)^3 / (epsilon D), D the smallest gap. A bound up to a factor.

    Mishra, Thakurta 2015.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    log_t, (_, gaps) = log_horizon(horizon), _checked(means, epsilon)
    return np.shape(means)[0] / (float(epsilon) * gaps.min()) * log_t**3 if len(gaps) else 0.0 * log_t
