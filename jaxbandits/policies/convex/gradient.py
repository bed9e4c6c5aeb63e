"""Bandit convex optimisation by gradient steps on one-point estimates. Non-private; ``reduction`` makes them private.

Flaxman, Kalai, McMahan: Online Convex Optimization in the Bandit Setting, 2005. The gradient of a smoothed loss is the loss at a random
point of a small sphere times the direction of that point.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import domains, validate
from jaxbandits.core import NON_PRIVATE, Policy, PyTree
from jaxbandits.domains import Domain
from jaxbandits.domains.interface import centre_of
from jaxbandits.engine import draws, linalg

Optimiser = Callable[..., optax.GradientTransformation]
"""A learning rate, a number or a function of the number of steps taken, -> how gradients become steps, such as ``optax.sgd``."""


class Descent(NamedTuple):
    """A point that takes gradient steps."""

    point: Array  # [dim]
    optimiser: PyTree  # what the optimiser remembers


def check_optimiser(optimiser: Optimiser, rate: ArrayLike | Callable[[Array], Array]) -> optax.GradientTransformation:
    """The optimiser at a learning rate.

    Raises:
      ValueError: if it is no such function.
    """
    made = validate.called("optimiser", optimiser, "a function of a learning rate, such as optax.sgd", rate)
    if not hasattr(made, "init") or not hasattr(made, "update"):
        raise ValueError(f"optimiser must return an optax.GradientTransformation; got {made!r}")
    return made


def first_point(domain: Domain, optimiser: optax.GradientTransformation) -> Descent:
    """At the centre."""
    point = centre_of(domain)
    return Descent(point=point, optimiser=optimiser.init(point))


def descended(state: Descent, gradient: Array, domain: Domain, optimiser: optax.GradientTransformation, shrink: Array | float) -> Descent:
    """After one step, projected onto the domain made smaller."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optimisers rely on them
        change, memory = optimiser.update(gradient, state.optimiser, state.point)
        moved = optax.apply_updates(state.point, change)
    return Descent(point=domains.shrunk(domain, moved, shrink), optimiser=memory)  # pyright: ignore[reportArgumentType]


def log_horizon(horizon: int) -> float:
    """Log T, and 1 for the shortest horizons, where tuned parameters would be 0."""
    return max(math.log(horizon), 1.0)


def _one_point(domain: Domain, radius: Array, scale: ArrayLike, optimiser: optax.GradientTransformation) -> Policy:
    """Steps on scale f(x) u, with x on the sphere of a radius about the point."""
    shrink = radius / np.float32(domain.inner_radius)

    def update(state, t, action, message, z):
        gradient = linalg.scaled(linalg.normalised(z["direction"]), scale * message)
        return descended(state, gradient, domain, optimiser, shrink)

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={"direction": draws.normal((domain.dim,))},
        init=lambda preview: first_point(domain, optimiser),
        act=lambda state, round_, z: linalg.along(state.point, linalg.normalised(z["direction"]), radius),
        report=lambda round_, action, loss, z: loss,
        update=update,
    )


def fkm(*, domain: Domain, horizon: int, loss_bound: ArrayLike, lipschitz: float, optimiser: Optimiser = optax.sgd) -> Policy:
    """FKM: gradient descent without a gradient, for convex losses. Non-private.

    Plays y + rho u with u uniform on the sphere, and steps by nu f(x) u with nu = R / (B sqrt(T)), projected onto the domain made smaller
    by rho / r; rho = T^(-1/4) sqrt(R d B r / (3 (G r + B))), at most r. Regret at most 2 T^(3/4) sqrt(3 R d B (G + B / r)). Flaxman,
    Kalai, McMahan 2005, Theorem 3.3, with the parameters of Theorem 3.2 for a known Lipschitz constant.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      lipschitz: G, positive.
      optimiser: what makes steps of gradients: a function of the learning rate.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = domains.check(domain), validate.horizon(horizon)
    validate.positive("loss_bound", loss_bound)
    validate.positive("lipschitz", lipschitz)
    bound, inner, outer = jnp.asarray(loss_bound, jnp.float32), domain.inner_radius, domain.outer_radius
    radius = horizon**-0.25 * jnp.sqrt(outer * domain.dim * bound * inner / (3.0 * (lipschitz * inner + bound)))
    made = check_optimiser(optimiser, np.float32(outer * horizon**-0.5) / bound)
    return _one_point(domain, jnp.minimum(radius, np.float32(inner)), jnp.float32(1.0), made)


def fkm_strongly_convex(
    *,
    domain: Domain,
    horizon: int,
    loss_bound: ArrayLike,
    lipschitz: float,
    strong_convexity: float,
    optimiser: Optimiser = optax.sgd,
) -> Policy:
    """FKM with steps 1 / (mu t), for strongly convex losses. Non-private.

    As ``fkm``, with the estimate (d / rho) f(x) u and rho = (d^2 B^2 log T / (mu G T))^(1/3), at most r: before T is of the
    order d^2 B^2 log T / (mu G r^3), which is long behind noise, it stays at the centre. Regret of order T^(2/3) up to
    logarithms.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      lipschitz: G, positive.
      strong_convexity: mu, positive.
      optimiser: what makes steps of gradients: a function of the learning rate, here one of the number of steps taken.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = domains.check(domain), validate.horizon(horizon)
    validate.positive("loss_bound", loss_bound)
    validate.positive("lipschitz", lipschitz)
    validate.positive("strong_convexity", strong_convexity)
    bound = jnp.asarray(loss_bound, jnp.float32)
    factor = domain.dim**2 * log_horizon(horizon) / (strong_convexity * lipschitz * horizon)
    radius = jnp.minimum(jnp.cbrt(factor * bound * bound), np.float32(domain.inner_radius))
    return _one_point(domain, radius, domain.dim / radius, check_optimiser(optimiser, one_over(strong_convexity)))


def one_over(strong_convexity: float) -> Callable[[Array], Array]:
    """The learning rate 1 / (mu t), as a function of the number of steps taken before."""
    return lambda steps: np.float32(1 / strong_convexity) / (jnp.asarray(steps, jnp.float32) + 1.0)
