"""What privacy adds up to: composition over rounds, over releases, and for a user who comes more than once.

A claim is about one round of one user. Here is what follows from it for more. On the host, in float64.
"""

import math
from typing import NamedTuple

from scipy.optimize import brentq, minimize_scalar

from jaxbandits import validate
from jaxbandits.core import Claim
from jaxbandits.mechanisms import calibrate

__all__ = ["Budget", "basic", "composed", "concentrated_gaussian", "concentrated_pure", "grouped", "of_concentrated", "parallel", "spent"]


class Budget(NamedTuple):
    """A privacy level: (epsilon, delta).

    Attributes:
      epsilon: at least 0.
      delta: from 0 to 1.
    """

    epsilon: float
    delta: float = 0.0


MOST = 2**53
"""The largest number of records or rounds."""


def _check(name: str, budget: Budget) -> Budget:
    if not isinstance(budget, tuple) or len(budget) not in (1, 2):
        raise ValueError(f"{name} must be Budget(epsilon, delta), and several be given one by one; got {validate.short(budget)}")
    budget = Budget(*budget)
    validate.scalar(f"{name}.epsilon", budget.epsilon, "a number, at least 0", lambda e: e >= 0)
    validate.scalar(f"{name}.delta", budget.delta, "from 0 to 1", lambda d: 0 <= d <= 1)
    return Budget(float(budget.epsilon), float(budget.delta))


def basic(*budgets: Budget) -> Budget:
    """Basic composition: epsilons and deltas of adaptive releases about the same record add up. Delta is at most 1.

    Args:
      budgets: of the releases.

    Raises:
      ValueError: if an epsilon is negative or a delta not in [0, 1].
    """
    checked = [_check("budgets", b) for b in budgets]
    try:
        epsilon = math.fsum(b.epsilon for b in checked)
    except OverflowError:
        epsilon = math.inf
    return Budget(epsilon, min(1.0, math.fsum(b.delta for b in checked)))


def parallel(*budgets: Budget) -> Budget:
    """Parallel composition: releases about disjoint records cost one user the largest epsilon and the largest delta.

    Args:
      budgets: of the releases.

    Raises:
      ValueError: if an epsilon is negative or a delta not in [0, 1].
    """
    checked = [_check("budgets", b) for b in budgets]
    return Budget(max((b.epsilon for b in checked), default=0.0), max((b.delta for b in checked), default=0.0))


def composed(budget: Budget, times: int, delta: float) -> Budget:
    """Exact composition: the smallest epsilon at ``delta`` of adaptive releases about the same record, each with this budget.

    Never more than basic composition. Kairouz, Oh, Viswanath: The Composition Theorem for Differential Privacy, 2015, Theorem 3.3, solved
    for epsilon, rounded up by 1e-9.

    Args:
      budget: of each release.
      times: releases, at least 1.
      delta: of all together, from 0 to below 1; what it exceeds that of basic composition by buys a smaller epsilon.

    Raises:
      ValueError: if an argument is out of range, or delta smaller than what the releases' own deltas add up to.
    """
    each, times = _check("budget", budget), validate.size("times", times, 1, calibrate.MOST_QUERIES)
    validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)
    _check_covered(each, times, delta)
    most = times * each.epsilon
    if most < 1e-290 or math.isinf(most):
        return Budget(most, float(delta))

    def excess(epsilon):
        return calibrate.composed_delta(times, each.epsilon, epsilon, each.delta) - delta

    if excess(0.0) <= 0:
        return Budget(0.0, float(delta))
    if excess(most * (1 - 1e-12)) > 0:
        return Budget(most, float(delta))
    root: float = brentq(excess, 0.0, most, xtol=1e-12 * most)  # pyright: ignore[reportAssignmentType]
    return Budget(min(most, root * (1 + 1e-9) + 2e-12 * most), float(delta))


def _own(each: Budget, times: int) -> float:
    """What the deltas of so many releases add up to."""
    return -math.expm1(times * math.log1p(-each.delta)) if each.delta < 1 else 1.0


def covered(each: Budget, times: int, delta: float) -> bool:
    """Whether a delta is at least that, up to rounding."""
    return delta >= _own(each, times) * (1 - 1e-12)


def _check_covered(each: Budget, times: int, delta: float) -> None:
    if not covered(each, times, delta):
        own = _own(each, times)
        raise ValueError(f"delta must be at least {own:g}, what the deltas of {times} releases add up to; got {delta:g}")


def grouped(budget: Budget, records: int) -> Budget:
    """Group privacy: what a budget for one record gives a user with several.

    (m epsilon, delta (e^(m epsilon) - 1) / (e^epsilon - 1)), delta at most 1. Vadhan: The Complexity of Differential Privacy, 2017,
    Lemma 2.2.

    Args:
      budget: for one record.
      records: m, at least 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    each, m = _check("budget", budget), validate.size("records", records, 1, MOST)
    total = m * each.epsilon
    if each.delta == 0 or m == 1:
        return Budget(total, each.delta)
    if each.epsilon == 0:
        return Budget(0.0, min(1.0, m * each.delta))
    log_factor = (m - 1) * each.epsilon + math.log(math.expm1(-total) / math.expm1(-each.epsilon))
    return Budget(total, math.exp(min(0.0, math.log(each.delta) + log_factor)))


def concentrated_pure(epsilon: float) -> float:
    """Rho of an epsilon-private release: epsilon^2 / 2. Bun, Steinke: Concentrated Differential Privacy, 2016, Proposition 1.4.

    Args:
      epsilon: privacy level, at least 0.

    Raises:
      ValueError: if epsilon is negative.
    """
    validate.scalar("epsilon", epsilon, "a number, at least 0", lambda e: e >= 0)
    return 0.5 * float(epsilon) * float(epsilon)


def concentrated_gaussian(sigma: float, sensitivity: float = 1.0) -> float:
    """Rho of Gaussian noise: (sensitivity / sigma)^2 / 2. Bun, Steinke 2016, Proposition 1.6.

    Args:
      sigma: standard deviation of the noise, positive.
      sensitivity: L2 sensitivity, positive.

    Raises:
      ValueError: if an argument is not positive.
    """
    validate.positive("sigma", sigma)
    validate.positive("sensitivity", sensitivity)
    ratio = float(sensitivity) / float(sigma)
    return 0.5 * ratio * ratio


def of_concentrated(rho: float, delta: float) -> Budget:
    """The smallest epsilon at ``delta`` that follows from rho-zCDP; rhos of releases about one record add up.

    min over a > 1 of a rho + (log(1 / delta) + (a - 1) log(1 - 1 / a) - log a) / (a - 1). Canonne, Kamath, Steinke: The Discrete Gaussian
    for Differential Privacy, 2020, Proposition 12, for Renyi privacy a rho at every order a.

    Args:
      rho: at least 0.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scalar("rho", rho, "a number, at least 0", lambda r: r >= 0)
    validate.delta(delta)
    rho, delta = float(rho), float(delta)
    if rho == 0 or math.isinf(rho):
        return Budget(rho, delta)

    def epsilon(log_order):
        order = 1 + math.exp(log_order)
        return order * rho + log_order - math.log(order) - (math.log(delta) + math.log(order)) / math.exp(log_order)

    guess = 0.5 * math.log(max(-math.log(delta), 1e-12) / rho)
    found = minimize_scalar(epsilon, bounds=(guess - 15, guess + 15), method="bounded", options={"xatol": 1e-10})
    return Budget(max(0.0, float(found.fun)), float(delta))


def spent(claim: Claim, rounds: int = 1, delta: float | None = None) -> Budget:
    """What a claim means for a user who takes part in several rounds.

    Under local privacy each round is another release, chosen in the light of the ones before: composition that is exact for what the claim
    says. Gaussian noise composes much better than its claim, see ``of_concentrated`` and ``concentrated_gaussian``. Under central privacy
    one run lets out everything: group privacy.

    Args:
      claim: of a policy, a guarantee.
      rounds: in which the user takes part.
      delta: of all together under local privacy; by default what the rounds' own deltas add up to, so that epsilons add.

    Raises:
      ValueError: if the claim is no guarantee, an argument is out of range, or delta is given under central privacy, where it follows.
    """
    if not isinstance(claim, Claim):
        raise ValueError(f"claim must be a Claim, such as that of a policy; got {claim!r}")
    try:
        each = Budget(*claim.guarantee())
    except ValueError as error:
        raise ValueError(f"claim must be a guarantee; got {validate.short(claim)}: {error}") from error
    return spent_on(each, claim.trust, rounds, delta)


def spent_on(each: Budget, trust: str, rounds: int, delta: float | None) -> Budget:
    """``spent`` for a guarantee, and who is trusted."""
    rounds = validate.size("rounds", rounds, 1, MOST)
    if trust != "local":  # one noisy release covers all rounds of a run
        if delta is not None:
            raise ValueError(f"delta must be left out under central privacy, where it follows from the rounds; got {delta!r}")
        return grouped(each, rounds)
    if delta is None or (delta == 0 and each.delta == 0):
        return Budget(rounds * each.epsilon, min(1.0, rounds * each.delta))
    return composed(each, rounds, delta) if rounds <= calibrate.MOST_QUERIES else _many(each, rounds, delta)


def _many(each: Budget, rounds: int, delta: float) -> Budget:
    """By concentrated privacy, where there are too many rounds for the exact sum.

    A release is no worse than one that gives everything away with probability delta and is epsilon-private otherwise (Kairouz, Oh,
    Viswanath 2015): of the delta of all, the epsilons have what theirs do not use up.
    """
    validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)
    _check_covered(each, rounds, delta)
    left = -math.expm1(math.log1p(-delta) - rounds * math.log1p(-each.delta))
    by_rho = of_concentrated(rounds * concentrated_pure(each.epsilon), left).epsilon if left > 0 else math.inf
    return Budget(min(by_rho, rounds * each.epsilon), float(delta))
