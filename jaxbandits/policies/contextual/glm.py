"""LDP-GLM: an optimistic generalised linear regression on noisy records, with an online learner for the link.

Zheng, Cai, Huang, Li, Wang: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, Algorithm 3, after GLOC of Jun,
Bhargava, Nowak, Willett 2017. The server tells everybody an online estimate; a user turns the reward into a linear one with it, z = x'
estimate, and sends x x', z x and the gradient (g(z) - y) x with normal noise. The estimate is projected onto the unit ball in every
round: without that z and the gradient would have no bound, and the message no privacy.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import links, validate
from jaxbandits.core import Policy
from jaxbandits.engine import linalg
from jaxbandits.links import Link
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.regression import Release, growth, joint_sensitivity, symmetric_gaussian
from jaxbandits.policies.contextual import assemble
from jaxbandits.policies.contextual.assemble import Confidence, Record
from jaxbandits.policies.contextual.linucb import UNBOUNDED, as_printed, printed_sigma
from jaxbandits.policies.reduction import calibrated


class Online(NamedTuple):
    """A regression on z, and the online estimate that z is made with."""

    sums: assemble.Sums
    estimate: Array  # [dim], of length at most 1


def _policy(
    dim: int, horizon: int, link: Link, release: Release, bounded: Callable[[Record], Record], confidence: Callable[[Array], Confidence]
) -> Policy:
    step = jnp.float32(horizon**-0.5)

    def act(state, round_, z):
        return assemble.choose(assemble.matrix_of(state.sums), assemble.vector_of(state.sums), round_.context, confidence(round_.t))

    def report(round_, action, reward, z):
        one = bounded(assemble.record(round_, action, reward))
        value = linalg.dot(one.features, round_.broadcast)
        return release.send(assemble.statistics(one, value, link.mean(value) - one.reward), z)

    def update(state, t, action, message, z):
        vector, gradient = message.vectors
        estimate = linalg.within(linalg.along(state.estimate, gradient, -step))
        return Online(sums=assemble.added(state.sums, message.matrix, vector), estimate=estimate)

    return Policy(
        claim=release.claim,
        device_draws=release.draws,
        server_draws={},
        init=lambda preview: Online(sums=assemble.start(dim), estimate=jnp.zeros(dim, jnp.float32)),
        act=act,
        report=report,
        update=update,
        settle=assemble.settle_inside,
        broadcast=lambda state: state.estimate,
    )


def _width(dim: int, link: Link, sigma: Array, multiplier: ArrayLike) -> Callable[[Array], Array]:
    slope = np.float32(link.slope(1.0))
    factor = jnp.asarray(multiplier, jnp.float32)
    return lambda t: factor * jnp.sqrt(sigma / slope * jnp.sqrt(dim * t.astype(jnp.float32)))


def ldp_glm_paper(
    *,
    dim: int,
    link: Link,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    fail_prob: ArrayLike = 0.1,
    multiplier: ArrayLike = 1.0,
) -> Policy:
    """LDP-GLM as printed. No guarantee, for records are not cut.

    sigma = (6 / epsilon) sqrt(2 log(3.75 / delta)), that of three releases of sensitivity 2; ridge c_t as in ``ldp_linucb_paper``; width
    multiplier sqrt((sigma / mu) sqrt(d t)), mu the least slope of the link on [-1, 1]; step 1 / sqrt(T). The paper gives the order of
    the width only. arXiv 2006.00701, Algorithm 3, with the projection that its privacy needs.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      fail_prob: alpha, of the bound on the noise.
      multiplier: of the width, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim, horizon = assemble.checked(dim, fail_prob, multiplier=multiplier), validate.horizon(horizon)
    link = links.check(link)
    sigma = printed_sigma(6 * 2**0.5, 3.75, epsilon, delta)
    grows, width = growth(dim, horizon, fail_prob), _width(dim, link, sigma, multiplier)

    def confidence(t):
        return Confidence(ridge=2.0 * sigma * jnp.sqrt(t.astype(jnp.float32)) * grows, width=width(t))

    release = as_printed(dim, 2, epsilon, delta, sigma, 6.0, UNBOUNDED)
    return _policy(dim, horizon, link, release, lambda one: one, confidence)


def ldp_glm(
    *,
    dim: int,
    link: Link,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    fail_prob: ArrayLike = 0.1,
    multiplier: ArrayLike = 1.0,
    regulariser: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """LDP-GLM with one joint release and calibrated noise.

    Features are cut to length 1, rewards to their range, and the estimate is projected onto the unit ball, so that with Y^2 = 1 + max |g -
    y|^2 the joint sensitivity of (x x', z x, (g(z) - y) x) is at most sqrt(2) (1 + Y^2 / 2) for Y^2 <= 2, else 2 Y; sigma is the smallest
    for it. Ridge as in ``ldp_linucb``, width as in ``ldp_glm_paper``. Sound: (epsilon, delta)-LDP for every epsilon. Relation: any two
    records (features, reward) of one user, one round; the message, not the action that the user sees. After arXiv 2006.00701,
    Algorithm 3; the release is our own.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: privacy level, positive; inf adds no noise, and leaves no width.
      delta: strictly between 0 and 1.
      fail_prob: alpha, of the bound on the noise.
      multiplier: of the width, positive; its constant is not known.
      regulariser: the least ridge, positive; it matters without noise.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    dim = assemble.checked(dim, fail_prob, multiplier=multiplier, regulariser=regulariser)
    link, horizon = links.check(link), validate.horizon(horizon)
    sensitivity = joint_sensitivity((1 + links.residual(link) ** 2) ** 0.5)
    sigma = calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, sensitivity)
    spread = jnp.asarray(sigma, jnp.float32)
    bound, width = assemble.noise_bound(dim, horizon, fail_prob, spread, regulariser), _width(dim, link, spread, multiplier)
    release = symmetric_gaussian(dim=dim, num_vectors=2, sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta)
    policy = _policy(
        dim,
        horizon,
        link,
        release,
        lambda one: assemble.cut(one, link),
        lambda t: Confidence(ridge=2.0 * bound(t), width=width(t)),
    )
    return policy._replace(derived={"sigma": sigma})
