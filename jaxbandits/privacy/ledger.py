"""What privacy adds up to: composition over rounds, over releases, and for a user who comes more than once.

A claim is about one round of one user. Here is what follows from it for more. On the host, in float64.
"""

import json
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq, minimize_scalar

from jaxbandits import validate
from jaxbandits.core import Claim
from jaxbandits.mechanisms import calibrate


class Budget(NamedTuple):
    """A privacy level: (epsilon, delta)."""

    epsilon: float
    delta: float = 0.0


_MOST = 2**53
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
      *budgets: of the releases.

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
      *budgets: of the releases.

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
    own = -math.expm1(times * math.log1p(-each.delta)) if each.delta < 1 else 1.0
    if delta < own * (1 - 1e-12):
        raise ValueError(f"delta must be at least {own:g}, what the deltas of {times} releases add up to; got {delta:g}")
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
    each, m = _check("budget", budget), validate.size("records", records, 1, _MOST)
    total = m * each.epsilon
    if each.delta == 0 or m == 1:
        return Budget(total, each.delta)
    if each.epsilon == 0:
        return Budget(0.0, min(1.0, m * each.delta))
    log_factor = (m - 1) * each.epsilon + math.log(math.expm1(-total) / math.expm1(-each.epsilon))
    return Budget(total, math.exp(min(0.0, math.log(each.delta) + log_factor)))


# ---- concentrated privacy ----------------------------------------------------------------------------------------------


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


# ---- of claims ---------------------------------------------------------------------------------------------------------


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
    return _spent(each, claim.trust, rounds, delta)


def _spent(each: Budget, trust: str, rounds: int, delta: float | None) -> Budget:
    rounds = validate.size("rounds", rounds, 1, _MOST)
    if trust != "local":  # one noisy release covers all rounds of a run
        if delta is not None:
            raise ValueError(f"delta must be left out under central privacy, where it follows from the rounds; got {delta!r}")
        return grouped(each, rounds)
    if delta is None or (delta == 0 and each.delta == 0):
        return Budget(rounds * each.epsilon, min(1.0, rounds * each.delta))
    return composed(each, rounds, delta) if rounds <= calibrate.MOST_QUERIES else _many(each, rounds, delta)


def _many(each: Budget, rounds: int, delta: float) -> Budget:
    """By concentrated privacy, where there are too many rounds for the exact sum; epsilons only."""
    if each.delta:
        raise ValueError(f"rounds must be at most {calibrate.MOST_QUERIES} for a claim with a delta; got {rounds}")
    by_rho = of_concentrated(rounds * concentrated_pure(each.epsilon), delta)
    return Budget(min(by_rho.epsilon, rounds * each.epsilon), delta)


LEVELS = ("claim", "guaranteed_epsilon", "guaranteed_delta", "user_epsilon", "user_delta")
SAID = ("status", "trust", "relation", "sensitivity", "flaw")
"""What a claim says beside its privacy level."""


def _said(claims: dict[str, list[dict[str, Any]]], point: xr.DataArray) -> dict[str, Any]:
    """The claim of a policy at a grid point."""
    for claim in claims.get(str(point["policy"].item()), []):
        if all(_same(point.coords[axis].item(), value) for axis, value in claim["at"].items() if axis in point.coords):
            return claim
    raise ValueError(f"dataset must keep the names of its policies and grid; {point['policy'].item()!r} has no claim")


def _same(label: Any, value: Any) -> bool:
    return str(label) == str(value) or (isinstance(value, float | int) and isinstance(label, float | int) and label == value)


def _spent_at(each: Budget, trust: str, rounds: int, delta: float | None) -> Budget:
    """``_spent``; infinite at a delta below what the rounds' own add up to."""
    local = delta if trust == "local" else None
    if local is not None and local < -math.expm1(rounds * math.log1p(-each.delta)) * (1 - 1e-12):
        return Budget(math.inf, local)
    return _spent(each, trust, rounds, local)


def table(dataset: xr.Dataset, *, rounds: int = 1, delta: float | None = None) -> pd.DataFrame:
    """The privacy table of a study: a row for each policy and grid point.

    Its columns: the policy and the grid axes; ``claim``, as the legends have it; ``guaranteed_epsilon`` and ``guaranteed_delta``, of one
    round of one user, NaN where there is no guarantee; ``user_epsilon`` and ``user_delta``, what is ``spent`` on a user who takes part in
    ``rounds`` rounds, infinite where the claim alone says nothing at this delta; ``status``, sound, calibrated, paper or non-private;
    ``trust``, local, agent, central, joint or none; ``relation``, who are neighbours; ``sensitivity``, what the noise is scaled to;
    ``flaw``, why there is no guarantee. For a federated policy a user is the one whose reward an agent gets in a round.
    A grid axis named like one of these columns is marked as one.

    Args:
      dataset: what ``run`` returned, or a part of it.
      rounds: in which the user takes part, at least 1.
      delta: of all rounds together, for the policies under local privacy; by default epsilons and deltas add up.

    Raises:
      ValueError: if an argument is out of range, or the dataset is not one of a study.
    """
    if not isinstance(dataset, xr.Dataset) or "claims" not in dataset.attrs or not {"guaranteed_epsilon", "policy"} <= set(dataset.coords):
        raise ValueError(f"dataset must be what run returned, with its attributes and coordinates; got {validate.short(dataset)}")
    rounds = validate.size("rounds", rounds, 1, _MOST)
    if delta is not None:
        validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)
    claims, labels, rows = json.loads(dataset.attrs["claims"]), dataset["claim"], []
    axes = [str(d) for d in labels.dims if d != "policy"]
    for place in np.ndindex(labels.shape):
        point = labels[place]
        said = _said(claims, point)
        each = Budget(float(point["guaranteed_epsilon"]), float(point["guaranteed_delta"]))
        user = each if math.isnan(each.epsilon) else _spent_at(each, said["trust"], rounds, delta)
        rows.append(
            {
                "policy": str(point["policy"].item()),
                **{f"{axis} (grid)" if axis in (*SAID, *LEVELS) else axis: point[axis].item() for axis in axes},
                "claim": str(point.item()),
                "guaranteed_epsilon": each.epsilon,
                "guaranteed_delta": each.delta,
                "user_epsilon": user.epsilon,
                "user_delta": user.delta,
                **{name: said[name] for name in SAID},
            }
        )
    return pd.DataFrame(rows)
