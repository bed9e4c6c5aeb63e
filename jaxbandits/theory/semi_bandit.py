"""Regret bounds of combinatorial semi-bandits, non-private and private. On the host, in float64.

| function                   | bounds                            | status                                                          |
|----------------------------|-----------------------------------|-----------------------------------------------------------------|
| `cucb`                     | CUCB, from above                  | proved, Chen, Wang, Yuan 2013                                   |
| `gaussian_cucb_printed`    | Algorithm 4, from above           | printed, Theorem 9: its constant is half of that of its proof   |
| `gaussian_cucb_corrected`  | Algorithm 4, from above           | the proof of Theorem 9 with all counts in the union             |
| `ldp_gaussian_cucb`        | its sound version, from above     | the same, of this project                                       |
| `ldp_laplace_cucb`         | the Laplace twin, from above      | proved, of this project                                         |
| `cucb_ldp1`, `cucb_ldp2`   | CUCB-LDP1, CUCB-LDP2, from above  | proved, of this project, as for CUCB; Chen et al. 2020 in order |
| `cucb_dp_order`            | CUCB-DP, from above               | an order only: no constant is known                             |

Each takes the horizon T and the ``Gaps`` of an instance: m base arms, super arms of at most K, f(x) = B x with B the oracle's
``smoothness``, and D_min and D_max, the smallest and the largest alpha opt - r(S) of a super arm for which it is positive. Regret is
T alpha beta opt - E sum r(S_t) for an (alpha, beta)-oracle. Bounds have the form [l log T / (D_min / B)^2 + constant] m D_max: the first
term is how often an arm may be the least observed of a bad super arm, and the constant covers rounds in which a radius fails, and the
first m. They are for policies that start from nothing or, as Algorithm 4 does, from one look at every arm.

The constants are large: a bound says less than T D_max, which always holds, until T is about 1e6 or more. Compare their shapes.

Why Theorem 9 is corrected: at one fixed count the radius 2 sigma sqrt(log t / T) of the Gaussian part fails with probability 2 t^-2, but
the count of a round depends on earlier noise. Over all counts below t that makes 2 / t, and 2 (1 + log T) in place of pi^2 / 3. Arms,
epsilon and delta are as in Cascading Bandit under Differential Privacy, arXiv 2105.11126.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.mechanisms import calibrate
from jaxbandits.theory.armed_local import debias_factor
from jaxbandits.theory.cascade import CONFIDENCE, Curve, log_horizon


class Gaps(NamedTuple):
    """What the bounds need to know of an instance; ``set_gaps`` and ``listed_gaps`` work it out.

    Attributes:
      num_base_arms: m.
      list_len: K, the most arms of a super arm.
      smoothness: B.
      min_gap: D_min, 0 if there is no bad super arm.
      max_gap: D_max.
    """

    num_base_arms: int
    list_len: int
    smoothness: float
    min_gap: float
    max_gap: float


def attracts(values: np.ndarray) -> float:
    """1 - prod(1 - u): the reward of ``oracles.cascade``, for ``set_gaps``."""
    return float(1.0 - np.prod(1.0 - values))


_REWARD = "a function of the means of a set that gives a number"


def set_gaps(*, means: ArrayLike, list_len: int, reward: Callable[[np.ndarray], float] = np.sum) -> Gaps:
    """The gaps of an instance of ``oracles.top_k`` or ``oracles.cascade``, with B = K.

    The best set loses least by giving up one arm for the next best, or several of one mean if it does without one: a reward that grows
    with each mean cannot rise on the way to a bad set.

    Args:
      means: [num_base_arms], in [0, 1], in any order.
      list_len: K, size of a set.
      reward: of the means of a set, not smaller for larger means and whatever their order: ``numpy.sum`` or ``attracts``.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.probabilities("means", means)
    ranked = np.sort(np.asarray(means, np.float64))[::-1]
    list_len = validate.size("list_len", list_len, 1, len(ranked))
    best, rest = ranked[:list_len], ranked[list_len:]
    validate.scalar("reward", opt := validate.called("reward", reward, _REWARD, best), f"{_REWARD}, finite", np.isfinite)
    opt, positive = float(opt), []
    for value in np.unique(best):
        lower, alike = rest[rest < value], best == value
        for copies in range(1, min(len(lower), alike.sum()) + 1):
            gap = opt - float(reward(np.concatenate([best[~alike], best[alike][copies:], lower[:copies]])))
            positive += [gap] if gap > 0 else []
    low, high = (min(positive), opt - float(reward(ranked[-list_len:]))) if positive else (0.0, 0.0)
    return Gaps(len(ranked), list_len, float(list_len), low, high)


def listed_gaps(*, rewards: ArrayLike, num_base_arms: int, list_len: int, smoothness: float, alpha: float = 1.0) -> Gaps:
    """The gaps of an instance of any oracle, from the rewards of all its super arms.

    Args:
      rewards: of every super arm, in any order.
      num_base_arms: m.
      list_len: K.
      smoothness: B, the oracle's.
      alpha: of the oracle.

    Raises:
      ValueError: if an argument is out of range.
    """
    earned = validate.finite("rewards", rewards)
    validate.scalar("alpha", alpha, "above 0 and at most 1", lambda x: 0 < x <= 1)
    gaps = float(alpha) * earned.max() - earned
    bad = gaps[gaps > 0]
    low, high = (float(bad.min()), float(bad.max())) if len(bad) else (0.0, 0.0)
    return _check(Gaps(num_base_arms, list_len, smoothness, low, high))


def _check(gaps: Gaps) -> Gaps:
    if not isinstance(gaps, Gaps):
        raise ValueError(f"gaps must be Gaps, as set_gaps returns them; got {gaps!r}")
    validate.size("gaps.num_base_arms", gaps.num_base_arms)
    validate.size("gaps.list_len", gaps.list_len, 1, gaps.num_base_arms)
    validate.positive("gaps.smoothness", gaps.smoothness)
    validate.scalar("gaps.min_gap", gaps.min_gap, "a finite number, at least 0", lambda x: 0 <= x < math.inf)
    allowed = f"a finite number, at least gaps.min_gap, {gaps.min_gap}"
    validate.scalar("gaps.max_gap", gaps.max_gap, allowed, lambda x: gaps.min_gap <= x < math.inf)
    return gaps


def _curve(horizon: ArrayLike, gaps: Gaps, leading: float, constant: Callable[[Curve], Curve] = lambda log_t: CONFIDENCE + 1.0) -> Curve:
    """[leading log T / (D_min / B)^2 + constant] m D_max; 0 if there is no bad super arm."""
    log_t = log_horizon(horizon)
    if not gaps.min_gap:
        return 0.0 * log_t
    often = leading * (gaps.smoothness / gaps.min_gap) ** 2 * log_t
    return (often + constant(log_t)) * gaps.num_base_arms * gaps.max_gap


def cucb(*, horizon: ArrayLike, gaps: Gaps) -> Curve:
    """Upper bound on the regret of CUCB: [6 log T / (D_min / B)^2 + pi^2 / 3 + 1] m D_max.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _curve(horizon, _check(gaps), 6.0)


def gaussian_cucb_printed(*, horizon: ArrayLike, gaps: Gaps, epsilon: float, delta: float) -> Curve:
    """Theorem 9 as stated: [128 K log(1.25 / delta) log T / (min(epsilon^2, 2) (D_min / B)^2) + pi^2 / 3 + 1] m D_max. Not a bound.

    Its proof ends with 2 pi^2 / 3 for pi^2 / 3, and has the gap that the head of this file names.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    validate.delta(delta)
    strength = _check(gaps).list_len * math.log(1.25 / delta)
    return _curve(horizon, gaps, 128.0 * strength / min(float(epsilon) ** 2, 2.0))


def _any_count(log_t: Curve) -> Curve:
    """Rounds lost to a sampling radius that fails, to a Gaussian radius that fails at any count, and one more."""
    return CONFIDENCE + 2.0 * (1.0 + log_t) + 1.0


def _radius(noise: float) -> float:
    """(2 sqrt(1.5) + 2 noise)^2, for an index whose radius is (sqrt(1.5) + noise) sqrt(log t / T)."""
    return 4.0 * (math.sqrt(1.5) + noise) ** 2


def gaussian_cucb_corrected(*, horizon: ArrayLike, gaps: Gaps, epsilon: float, delta: float) -> Curve:
    """Upper bound on the regret of Algorithm 4: [4 (sqrt(1.5) + 2 sigma)^2 log T / (D_min / B)^2 + pi^2 / 3 + 2 log T + 3] m D_max.

    sigma is the classic one, (1 / epsilon) sqrt(2 K log(1.25 / delta)). The leading term is the radius of the algorithm itself, at most
    that of Theorem 9 if K log(1.25 / delta) >= 3/8.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    sigma = calibrate.classic_sigma(epsilon, delta, _check(gaps).list_len ** 0.5)
    return _curve(horizon, gaps, _radius(2.0 * sigma), _any_count)


def ldp_gaussian_cucb(*, horizon: ArrayLike, gaps: Gaps, epsilon: float, delta: float) -> Curve:
    """Upper bound on the regret of the sound Algorithm 4: as ``gaussian_cucb_corrected`` with the analytic sigma.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive; inf is no noise.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    sigma = calibrate.analytic_sigma(epsilon, delta, _check(gaps).list_len ** 0.5)
    return _curve(horizon, gaps, _radius(2.0 * sigma), _any_count)


def ldp_laplace_cucb(*, horizon: ArrayLike, gaps: Gaps, epsilon: float) -> Curve:
    """Upper bound on the regret of the Laplace twin.

    [4 (sqrt(1.5) + (K / epsilon) sqrt(24))^2 log T / (D_min / B)^2 + 3 log T + 2 pi^2 / 3 + 1] m D_max.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    leading = _radius(_check(gaps).list_len / float(epsilon) * math.sqrt(24.0))
    return _curve(horizon, gaps, leading, lambda log_t: 3.0 * log_t + 2.0 * CONFIDENCE + 1.0)


def cucb_ldp1(*, horizon: ArrayLike, gaps: Gaps, epsilon: float) -> Curve:
    """Upper bound on the regret of CUCB-LDP1: that of CUCB with 6 c^2 for 6, c = (e^a + 1) / (e^a - 1) at a = epsilon / K.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return _curve(horizon, gaps, 6.0 * debias_factor(float(epsilon) / _check(gaps).list_len) ** 2)


def cucb_ldp2(*, horizon: ArrayLike, gaps: Gaps, epsilon: float) -> Curve:
    """Upper bound on the regret of CUCB-LDP2: that of CUCB with 6 c^2 for 6, c = (e^epsilon + 1) / (e^epsilon - 1).

    A bad super arm adds a report to its arm with the fewest, so the count of that one argument replaces the counter of the proof.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance.
      epsilon: positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return _curve(horizon, _check(gaps), 6.0 * debias_factor(epsilon) ** 2)


def cucb_dp_order(*, horizon: ArrayLike, gaps: Gaps, epsilon: float) -> Curve:
    """The order of the regret of CUCB-DP in its leading terms: m B^2 log T / (D_min min(epsilon, 1)).

    Without constant or further logarithms; where epsilon is above 1 sampling is what costs.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      gaps: of the instance, with a bad super arm.
      epsilon: positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    validate.positive("gaps.min_gap", _check(gaps).min_gap)
    return gaps.num_base_arms * gaps.smoothness**2 / (gaps.min_gap * min(float(epsilon), 1.0)) * log_horizon(horizon)
