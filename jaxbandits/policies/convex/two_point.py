"""Bandit convex optimisation with two points a round: the user sends how they compare.

Agarwal, Dekel, Xiao: Optimal Algorithms for Online Convex Optimization with Multi-Point Bandit Feedback, 2010; under local privacy Zheng
et al.: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, Algorithm 2. The server chooses the two
points, which are public; one number leaves the device.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import domains, validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.domains import Domain
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import Randomiser, gaussian, inside
from jaxbandits.policies.convex.gradient import (
    Optimiser,
    check_optimiser,
    descended,
    first_point,
    log_horizon,
    one_over,
)
from jaxbandits.policies.reduction import calibrated
from jaxbandits.policies.responses import RAW

ONE_USER = "any two convex losses of one user, one round; the points are public"
"""The neighbouring relation of a local convex policy."""

SMALL_EPSILON = "sigma is proved for epsilon up to 1 only"
"""Why the printed sigma gives no guarantee."""

Rate = Callable[[Domain, int, Array, float], ArrayLike | Callable[[Array], Array]]
"""(domain, horizon, root mean square of the answers, strong convexity) -> learning rate."""


def constant_rate(domain: Domain, horizon: int, size: Array, strong_convexity: float) -> Array:
    """R / (d sqrt(T (G^2 + sigma^2))), for convex losses."""
    return np.float32(domain.outer_radius / (domain.dim * horizon**0.5)) / size


def falling_rate(domain: Domain, horizon: int, size: Array, strong_convexity: float) -> Callable[[Array], Array]:
    """1 / (mu t), for strongly convex losses."""
    validate.positive("strong_convexity", strong_convexity)
    return one_over(strong_convexity)


@lanes.elementwise
def _root(square: Array) -> Array:
    """Behind a fence: a quotient by a root becomes a reciprocal root, whose last bits depend on how many lanes there are."""
    return jnp.sqrt(square)


def _policy(
    domain: Domain,
    horizon: int,
    lipschitz: float,
    strong_convexity: float,
    rate: Rate,
    optimiser: Optimiser,
    randomiser: Randomiser,
    sigma: ArrayLike,
    cut: bool,
) -> Policy:
    validate.amount("strong_convexity", strong_convexity)
    what = "a function (domain, horizon, size of gradients, strong convexity) -> learning rate, such as convex.constant_rate"
    size = _root(np.float32(lipschitz) ** 2 + jnp.asarray(sigma, jnp.float32) ** 2)
    step = validate.called("rate", rate, what, domain, horizon, size, strong_convexity)
    if step is None:
        raise ValueError(f"rate must be {what}; {validate.short(rate)} returned None")
    made = check_optimiser(optimiser, step)
    radius = np.float32(min(log_horizon(horizon) / horizon, domain.inner_radius))
    dim = np.float32(domain.dim)

    def act(state, round_, z):
        u = linalg.normalised(z["direction"])
        return jnp.stack([linalg.along(state.point, u, jnp.float32(radius)), linalg.along(state.point, u, jnp.float32(-radius))])

    def report(round_, action, losses, z):
        slope = (losses[0] - losses[1]) / (2 * radius)
        return randomiser.send(inside(slope, -float(lipschitz), float(lipschitz)) if cut else slope, z)

    def update(state, t, action, message, z):
        gradient = linalg.scaled(linalg.normalised(z["direction"]), dim * message)
        return descended(state, gradient, domain, made, float(radius / domain.inner_radius))

    return Policy(
        claim=randomiser.claim,
        device_draws=randomiser.draws,
        server_draws={"direction": draws.normal((domain.dim,))},
        init=lambda preview: first_point(domain, made),
        act=act,
        report=report,
        update=update,
    )


def _checked(domain: Domain, horizon: int, lipschitz: float) -> tuple[Domain, int]:
    validate.positive("lipschitz", lipschitz)
    return domains.check(domain), validate.horizon(horizon)


def two_point(
    *,
    domain: Domain,
    horizon: int,
    lipschitz: float,
    strong_convexity: float = 0.0,
    rate: Rate = constant_rate,
    optimiser: Optimiser = optax.sgd,
) -> Policy:
    """Gradient descent on the difference of two losses. Non-private.

    Plays y + rho u and y - rho u, u uniform on the sphere, rho = log T / T, and steps by the learning rate times d (f(x_1) - f(x_2)) / (2
    rho) u, projected onto the domain made smaller by rho / r. Regret of order d R G sqrt(T), and of d^2 G^2 log T / mu with
    ``falling_rate``. Agarwal, Dekel, Xiao 2010; Algorithm 4 of arXiv 2006.00701.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      lipschitz: G, positive.
      strong_convexity: mu, for a rate that uses it.
      rate: the learning rate, ``convex.constant_rate`` or ``convex.falling_rate``.
      optimiser: what makes steps of gradients: a function of the learning rate.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = _checked(domain, horizon, lipschitz)
    return _policy(domain, horizon, lipschitz, strong_convexity, rate, optimiser, RAW, 0.0, cut=False)._replace(claim=NON_PRIVATE)


def gaussian_two_point(
    *,
    domain: Domain,
    horizon: int,
    lipschitz: float,
    epsilon: ArrayLike,
    delta: ArrayLike,
    strong_convexity: float = 0.0,
    rate: Rate = constant_rate,
    optimiser: Optimiser = optax.sgd,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 2 as printed. No guarantee for epsilon above 1.

    As ``two_point``, on the difference plus n'(x_1 - x_2), n normal of sigma = (2 G / epsilon) sqrt(2 log(1.25 / delta)) in each
    coordinate. Only the sum leaves the device: one number with noise 2 rho sigma, sent as a multiple of 2 rho. arXiv 2006.00701, Algorithm
    2.

    Args:
      domain: as for ``two_point``.
      horizon: T, the number of rounds; a study passes its own.
      lipschitz: G, positive.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      strong_convexity: mu, for a rate that uses it.
      rate: the learning rate, ``convex.constant_rate`` or ``convex.falling_rate``.
      optimiser: what makes steps of gradients: a function of the learning rate.
      sigma: derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, horizon = _checked(domain, horizon, lipschitz)
    sigma = calibrated(calibrate.classic_sigma, sigma, epsilon, delta, 2 * float(lipschitz))
    noise = gaussian(shape=(), sensitivity=2 * float(lipschitz), sigma=sigma, epsilon=epsilon, delta=delta)
    noise = noise._replace(claim=dataclasses.replace(noise.claim, relation=ONE_USER, status="paper", flaw=SMALL_EPSILON))
    policy = _policy(domain, horizon, lipschitz, strong_convexity, rate, optimiser, noise, sigma, cut=True)
    return policy._replace(derived={"sigma": sigma})


def ldp_gaussian_two_point(
    *,
    domain: Domain,
    horizon: int,
    lipschitz: float,
    epsilon: ArrayLike,
    delta: ArrayLike,
    strong_convexity: float = 0.0,
    rate: Rate = constant_rate,
    optimiser: Optimiser = optax.sgd,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 2 with the analytic sigma.

    As ``gaussian_two_point``, with the smallest sigma for a difference cut to [-2 rho G, 2 rho G]. Sound: (epsilon, delta)-LDP for every
    epsilon. Relation: any two convex losses of one user, one round; the points are public.

    Args:
      domain: as for ``two_point``.
      horizon: T, the number of rounds; a study passes its own.
      lipschitz: G, positive.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      strong_convexity: mu, for a rate that uses it.
      rate: the learning rate, ``convex.constant_rate`` or ``convex.falling_rate``.
      optimiser: what makes steps of gradients: a function of the learning rate.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    domain, horizon = _checked(domain, horizon, lipschitz)
    sigma = calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, 2 * float(lipschitz))
    noise = gaussian(shape=(), sensitivity=2 * float(lipschitz), sigma=sigma, epsilon=epsilon, delta=delta)
    noise = noise._replace(claim=dataclasses.replace(noise.claim, relation=ONE_USER))
    policy = _policy(domain, horizon, lipschitz, strong_convexity, rate, optimiser, noise, sigma, cut=True)
    return policy._replace(derived={"sigma": sigma})
