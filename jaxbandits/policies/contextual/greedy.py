"""Greedy contextual policies under local privacy, which stochastic features make explore by themselves.

Han, Liang, Wang, Zhang: Generalized Linear Bandits with Local Differential Privacy, 2021: LDP-OLS and LDP-SGD. Their regret is of order
sqrt(T) if the features of a round are drawn anew and are rich enough; without that they may never find the best action.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import links, validate
from jaxbandits.core import Policy
from jaxbandits.engine import lanes, linalg
from jaxbandits.links import Link
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.regression import ONE_RECORD, joint_sensitivity, symmetric_gaussian
from jaxbandits.mechanisms.sphere import ball_to_sphere
from jaxbandits.policies.contextual import assemble
from jaxbandits.policies.contextual.assemble import Confidence
from jaxbandits.policies.contextual.linucb import noisy_regression
from jaxbandits.policies.reduction import calibrated


def ldp_ols(
    *,
    dim: int,
    link: Link,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    fail_prob: ArrayLike = 0.1,
    regulariser: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """LDP-OLS: the action that a noisy linear regression thinks best.

    Messages and ridge are those of ``ldp_linucb``; there is no width. Rewards that are not linear are taken as if they were, without an
    intercept: with one, as of bits, the estimate leans to what was played before. Sound: (epsilon, delta)-LDP for every epsilon. Relation:
    any two records (features, reward) of one user, one round; the message, not the action that the user sees. Han et al. 2021, Algorithm
    1, with a joint release.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem: the range of rewards.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      fail_prob: alpha, of the bound on the noise.
      regulariser: the least ridge, positive; it matters without noise.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    dim = assemble.checked(dim, fail_prob, regulariser=regulariser)
    link, horizon = links.check(link), validate.horizon(horizon)
    sensitivity = joint_sensitivity(links.bound(link))
    sigma = calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, sensitivity)
    release = symmetric_gaussian(dim=dim, num_vectors=1, sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta)
    bound = assemble.noise_bound(dim, horizon, fail_prob, jnp.asarray(sigma, jnp.float32), regulariser)
    policy = noisy_regression(
        dim, release, lambda one: assemble.cut(one, link), lambda t: Confidence(ridge=2.0 * bound(t), width=jnp.float32(0.0))
    )
    return policy._replace(derived={"sigma": sigma})


class Descent(NamedTuple):
    """A parameter learnt by gradient steps."""

    estimate: Array  # [dim], of length at most 1


def ldp_sgd(*, dim: int, link: Link, epsilon: ArrayLike, step: ArrayLike = 1.0) -> Policy:
    """LDP-SGD: the action that a gradient descent on private gradients thinks best.

    The server tells everybody its estimate; a user sends the gradient (g(x' estimate) - y) x through ``mechanisms.ball_to_sphere``, and
    the server steps by step / t and projects onto the unit ball. Sound: epsilon-LDP, without a delta. Relation: any two records
    (features, reward) of one user, one round; the message, not the action that the user sees. Han et al. 2021, Algorithm 2.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem.
      epsilon: privacy level, positive; the mechanism stays random at inf.
      step: factor of the step, positive; one over the curvature is what theory asks for.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = assemble.checked(dim, 0.5, step=step)
    link = links.check(link)
    mechanism = ball_to_sphere(dim=dim, radius=links.residual(link), epsilon=epsilon)

    def report(round_, action, reward, z):
        one = assemble.cut(assemble.record(round_, action, reward), link)
        residual = link.mean(linalg.dot(one.features, round_.broadcast)) - one.reward
        return mechanism.send(linalg.scaled(one.features, residual), z)

    def update(state, t, action, message, z):
        return Descent(linalg.within(linalg.along(state.estimate, message, -(step / t.astype(jnp.float32)))))

    return Policy(
        claim=dataclasses.replace(mechanism.claim, relation=ONE_RECORD),
        device_draws=mechanism.draws,
        server_draws={},
        init=lambda preview: Descent(jnp.zeros(dim, jnp.float32)),
        act=lambda state, round_, z: lanes.top_k(linalg.times(round_.context, state.estimate), 1),
        report=report,
        update=update,
        broadcast=lambda state: state.estimate,
    )
