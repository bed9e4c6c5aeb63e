"""Bandit convex optimisation: upper bounds on the regret, of the learners and of their private reductions.

Zheng, Cai, Huang, Li, Wang: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, with the bounds of the learners
that it is made of. A private learner has the bound of its black box at the loss bound that noise makes of B, plus a constant; with
``told`` for ``loss_bound`` these functions give it. Bounds that are known in order only have the constant 1, and say so.
"""

import math
from typing import Any

import numpy as np

from jaxbandits import validate
from jaxbandits.mechanisms import calibrate


def _check(horizon: int, dim: int, **values: Any) -> int:
    """The horizon, once it and all others are checked."""
    validate.size("dim", dim)
    for name, value in values.items():
        validate.positive(name, value)
    return validate.horizon(horizon)


def told(*, loss_bound: float, horizon: int, epsilon: float, delta: float) -> float:
    """B~: the loss bound of a black box behind normal noise of the analytic sigma, B + sigma sqrt(2 log(2 T^2)).

    Args:
      loss_bound: B.
      horizon: T.
      epsilon: privacy level; inf leaves B.
      delta: of the privacy level.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.positive("loss_bound", loss_bound)
    sigma = calibrate.analytic_sigma(epsilon, delta, 2 * float(loss_bound))
    return float(loss_bound) + sigma * math.sqrt(2 * math.log(2 * validate.horizon(horizon) ** 2))


def fkm_upper(
    *, horizon: int, dim: int, loss_bound: float, lipschitz: float, outer_radius: float = 1.0, inner_radius: float = 1.0
) -> float:
    """2 T^(3/4) sqrt(3 R d B (G + B / r)): FKM, convex losses.

    Args:
      horizon: T.
      dim: d.
      loss_bound: B, or what ``told`` makes of it.
      lipschitz: G.
      outer_radius: R.
      inner_radius: r.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = _check(horizon, dim, loss_bound=loss_bound, lipschitz=lipschitz, outer_radius=outer_radius, inner_radius=inner_radius)
    inside = 3 * outer_radius * dim * loss_bound * (lipschitz + loss_bound / inner_radius)
    return 2 * horizon**0.75 * math.sqrt(inside)


def strongly_convex_order(*, horizon: int, dim: int, loss_bound: float, lipschitz: float, strong_convexity: float) -> float:
    """(d^2 B^2 G^2 / mu)^(1/3) T^(2/3), the order up to logarithms: FKM, strongly convex losses.

    Args:
      horizon: T.
      dim: d.
      loss_bound: B, or what ``told`` makes of it.
      lipschitz: G.
      strong_convexity: mu.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = _check(horizon, dim, loss_bound=loss_bound, lipschitz=lipschitz, strong_convexity=strong_convexity)
    return (dim**2 * loss_bound**2 * lipschitz**2 / strong_convexity) ** (1 / 3) * horizon ** (2 / 3)


def smooth_order(
    *, horizon: int, dim: int, loss_bound: float, smoothness: float, outer_radius: float = 1.0, barrier_parameter: float = 1.0
) -> float:
    """(beta R^2)^(1/3) (d B sqrt(nu log T))^(2/3) T^(2/3), an order: Saha and Tewari, smooth losses.

    Args:
      horizon: T.
      dim: d.
      loss_bound: B, or what ``told`` makes of it.
      smoothness: beta.
      outer_radius: R.
      barrier_parameter: nu.

    Raises:
      ValueError: if an argument is out of range.
    """
    known = {"loss_bound": loss_bound, "smoothness": smoothness, "outer_radius": outer_radius, "barrier_parameter": barrier_parameter}
    log = math.log(horizon := _check(horizon, dim, **known))
    return (
        (smoothness * outer_radius**2) ** (1 / 3) * (dim * loss_bound * math.sqrt(barrier_parameter * log)) ** (2 / 3) * horizon ** (2 / 3)
    )


def smooth_strongly_convex_order(
    *, horizon: int, dim: int, loss_bound: float, smoothness: float, strong_convexity: float, barrier_parameter: float = 1.0
) -> float:
    """Order d B sqrt((nu + 2 beta / mu) T log T): Hazan and Levy, smooth and strongly convex losses.

    Args:
      horizon: T.
      dim: d.
      loss_bound: B, or what ``told`` makes of it.
      smoothness: beta.
      strong_convexity: mu.
      barrier_parameter: nu.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = _check(horizon, dim, loss_bound=loss_bound, smoothness=smoothness, strong_convexity=strong_convexity)
    validate.positive("barrier_parameter", barrier_parameter)
    log = math.log(horizon)
    return dim * loss_bound * math.sqrt((barrier_parameter + 2 * smoothness / strong_convexity) * horizon * log)


def two_point_order(*, horizon: int, dim: int, lipschitz: float, outer_radius: float = 1.0, sigma: float = 0.0) -> float:
    """Order d R sqrt(T (G^2 + sigma^2)): two points, convex losses; the paper's Algorithm 2.

    Args:
      horizon: T.
      dim: d.
      lipschitz: G.
      outer_radius: R.
      sigma: standard deviation of the noise on a slope; 0 without privacy.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = _check(horizon, dim, lipschitz=lipschitz, outer_radius=outer_radius)
    validate.scale("sigma", sigma)
    return dim * outer_radius * math.sqrt(horizon * (lipschitz**2 + sigma**2))


def two_point_strongly_convex_order(*, horizon: int, dim: int, lipschitz: float, strong_convexity: float, sigma: float = 0.0) -> float:
    """d^2 (G^2 + sigma^2) log T / mu, an order: two points, strongly convex losses.

    Args:
      horizon: T.
      dim: d.
      lipschitz: G.
      strong_convexity: mu.
      sigma: standard deviation of the noise on a slope; 0 without privacy.

    Raises:
      ValueError: if an argument is out of range.
    """
    horizon = _check(horizon, dim, lipschitz=lipschitz, strong_convexity=strong_convexity)
    validate.scale("sigma", sigma)
    return dim**2 * (lipschitz**2 + sigma**2) * math.log(horizon) / strong_convexity


def reduction_order(*, horizon: Any, num_arms: int, epsilon: float) -> Any:
    """sqrt(K T) / epsilon, the order up to logarithms of a private K-armed reduction.

    Args:
      horizon: T, a number or an array of rounds.
      num_arms: K.
      epsilon: privacy level.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return np.sqrt(validate.size("num_arms", num_arms) * validate.rounds("horizon", horizon)) / epsilon
