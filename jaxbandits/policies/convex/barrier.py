"""Bandit convex optimisation by regularised leaders in the norm of a barrier. Non-private; ``reduction`` makes them private.

Points are drawn from an ellipsoid that the barrier fits into the domain, so that no domain has to be made smaller: Saha, Tewari: Improved
Regret Guarantees for Online Smooth Convex Optimization with Bandit Feedback, 2011; Hazan, Levy: Bandit Convex Optimization: Towards Tight
Bounds, 2014.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import domains, validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.domains import Domain
from jaxbandits.engine import draws, lanes, linalg, sums
from jaxbandits.policies.convex.gradient import log_horizon


class Leader(NamedTuple):
    """The point of least regularised loss so far, and the linear term that it minimises."""

    point: Array  # [dim]
    total: Array  # [dim], float32: of the linear term, since the last settling
    folded: sums.Sum  # before that


@lanes.elementwise
def _grown(total: Array, estimate: Array, factor: Array, point: Array, pull: Array) -> Array:
    return total + factor * estimate - pull * point


@lanes.elementwise
def _linear_term(folded: Array, total: Array, rate: Array) -> Array:
    return rate * (folded + total)


def _leader(
    domain: Domain, rate: Array, radius: Array, pull: float, ridge: Callable[[Array], Array], quadratic: Callable[[Array], Array]
) -> Policy:
    """Minimises rate (sum of estimates - pull sum of points) + quadratic |y|^2 / 2 + barrier, and plays about that point."""
    barrier, dim = domain.barrier, np.float32(domain.dim)

    def turned(state, t, z):
        return barrier.root(state.point, ridge(t), linalg.normalised(z["direction"]))

    def act(state, round_, z):
        return linalg.along(state.point, turned(state, round_.t, z)[0], radius)

    def update(state, t, action, message, z):
        total = _grown(state.total, turned(state, t, z)[1], dim / radius * message, state.point, jnp.float32(pull))
        point = barrier.minimise(_linear_term(state.folded.high, total, rate), quadratic(t))
        return state._replace(point=point, total=total)

    def init(preview):
        nothing = jnp.zeros(domain.dim, jnp.float32)
        return Leader(point=barrier.minimise(nothing, jnp.float32(0.0)), total=nothing, folded=sums.zero((domain.dim,)))

    def settle(state):
        return state._replace(total=jnp.zeros_like(state.total), folded=sums.add(state.folded, state.total))

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={"direction": draws.normal((domain.dim,))},
        init=init,
        act=act,
        report=lambda round_, action, loss, z: loss,
        update=update,
        settle=settle,
    )


def saha_tewari(*, domain: Domain, horizon: int, loss_bound: ArrayLike, smoothness: float) -> Policy:
    """Saha and Tewari's regularised leader, for smooth losses. Non-private.

    Plays y + rho A u, A A' = R''(y)^-1, and takes d / rho f(x) A^-T u for the gradient; y minimises eta times the sum of these plus the
    barrier. rho = min(1, (d B sqrt(nu log T / T) / (beta R^2))^(1/3)); eta = rho sqrt(nu log T / T) / (d B), at most rho / (2 d B). Regret
    of order T^(2/3) up to logarithms.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      smoothness: beta, at least 0 and finite.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = domains.check(domain), validate.horizon(horizon)
    validate.positive("loss_bound", loss_bound)
    validate.scalar("smoothness", smoothness, "finite and at least 0: the losses must be smooth", lambda x: 0 <= x < math.inf)
    size = domain.dim * jnp.asarray(loss_bound, jnp.float32)
    slow = math.sqrt(domain.barrier.parameter * log_horizon(horizon) / horizon)
    curved = smoothness * domain.outer_radius**2
    radius = jnp.minimum(jnp.cbrt(size * np.float32(slow / curved)), 1.0) if curved else jnp.ones_like(size)
    rate = radius * np.float32(min(slow, 0.5)) / size
    nothing = jnp.float32(0.0)
    return _leader(domain, rate, radius, 0.0, lambda t: nothing, lambda t: nothing)


def hazan_levy(*, domain: Domain, horizon: int, loss_bound: ArrayLike, smoothness: float, strong_convexity: float) -> Policy:
    """Hazan and Levy's regularised leader, for smooth and strongly convex losses. Non-private.

    Plays y + A u, A A' = (R''(y) + eta mu t I)^-1, and takes d f(x) A^-T u for the gradient; y minimises the sum of these and of
    mu / 2 |y - y_s|^2, plus the barrier over eta. eta = sqrt((nu + 2 beta / mu) log T / (2 d^2 B^2 T)), at most 1 / (2 d B). Regret of
    order d sqrt(nu T log T).

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      smoothness: beta, finite.
      strong_convexity: mu, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = domains.check(domain), validate.horizon(horizon)
    validate.positive("loss_bound", loss_bound)
    validate.scalar("smoothness", smoothness, "finite and at least 0: the losses must be smooth", lambda x: 0 <= x < math.inf)
    validate.positive("strong_convexity", strong_convexity)
    size = domain.dim * jnp.asarray(loss_bound, jnp.float32)
    tuned = math.sqrt((domain.barrier.parameter + 2 * smoothness / strong_convexity) * log_horizon(horizon) / (2 * horizon))
    rate = np.float32(min(tuned, 0.5)) / size

    def bend(t):
        return rate * np.float32(strong_convexity) * t.astype(jnp.float32)

    return _leader(domain, rate, jnp.ones_like(rate), strong_convexity, bend, bend)
