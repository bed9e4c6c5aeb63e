"""LDP-LinUCB: an optimistic linear regression on noisy records.

Zheng, Cai, Huang, Li, Wang: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, Algorithm 5, and the code
published with it. A user picks the action of the largest index, which needs the features of the round and what the server tells
everybody, and sends x x' and y x with normal noise. What is protected is that message, not the action.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike

from jaxbandits import links, validate
from jaxbandits.core import Policy
from jaxbandits.links import Link
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.regression import Release, growth, joint_sensitivity, symmetric_gaussian
from jaxbandits.policies.contextual import assemble
from jaxbandits.policies.contextual.assemble import Confidence, Record, Regressed
from jaxbandits.policies.reduction import calibrated

UNBOUNDED = "records are not cut to the bounds that sigma assumes, and sigma is proved for epsilon up to 1 only"
"""Why LDP-LinUCB as printed has no guarantee."""


def noisy_regression(
    dim: int, release: Release, bounded: Callable[[Record], Record], confidence: Callable[[Array], Confidence], *, root: bool = True
) -> Policy:
    """A policy that plays by the index of a regression on what users send."""

    def act(state, round_, z):
        at = confidence(round_.t)
        return assemble.choose(assemble.matrix_of(state.sums), assemble.vector_of(state.sums), round_.context, at, root=root)

    def report(round_, action, reward, z):
        one = bounded(assemble.record(round_, action, reward))
        return release.send(assemble.statistics(one, one.reward), z)

    return Policy(
        claim=release.claim,
        device_draws=release.draws,
        server_draws={},
        init=lambda preview: Regressed(assemble.start(dim)),
        act=act,
        report=report,
        update=lambda state, t, action, message, z: Regressed(assemble.added(state.sums, message.matrix, *message.vectors)),
        settle=assemble.settle_inside,
    )


def flawed(release: Release, flaw: str) -> Release:
    """The release of an algorithm as printed, which names its flaw."""
    claim = dataclasses.replace(release.claim, status="paper", flaw=flaw)
    return release._replace(claim=claim)


def as_printed(
    dim: int, num_vectors: int, epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike, sensitivity: float, flaw: str
) -> Release:
    """A release whose sigma is the printed one."""
    released = symmetric_gaussian(dim=dim, num_vectors=num_vectors, sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta)
    return flawed(released, flaw)


def printed_sigma(factor: float, inside: float, epsilon: ArrayLike, delta: ArrayLike) -> Array:
    """(factor / epsilon) sqrt(log(inside / delta)), float32 ()."""
    validate.epsilon(epsilon)
    validate.delta(delta)
    swept = isinstance(delta, Tracer)  # float32 cannot hold the smallest ones
    log = np.log(inside) - (jnp.log(jnp.asarray(delta, jnp.float32)) if swept else np.log(float(delta)))  # pyright: ignore[reportArgumentType]
    return np.float32(factor) / jnp.asarray(epsilon, jnp.float32) * jnp.sqrt(jnp.asarray(log, jnp.float32))


def _printed_confidence(dim: int, horizon: int, fail_prob: ArrayLike, sigma: Array) -> Callable[[Array], Confidence]:
    grows, log = growth(dim, horizon, fail_prob), np.float32(np.log(horizon))

    def confidence(t):
        root = jnp.sqrt(t.astype(jnp.float32))
        noise = sigma * root * grows
        # sigma sqrt(d t / noise) without the quotient, which is 0 / 0 if sigma is 0.
        drift = jnp.sqrt(3.0 * noise) + jnp.sqrt(sigma * dim * root / grows)
        return Confidence(ridge=2.0 * noise, width=2.0 * sigma * jnp.sqrt(dim * log) + drift * (dim * log))

    return confidence


def ldp_linucb_paper(*, dim: int, link: Link, horizon: int, epsilon: ArrayLike, delta: ArrayLike, fail_prob: ArrayLike = 0.1) -> Policy:
    """LDP-LinUCB as printed. No guarantee, for records are not cut.

    sigma = (6 / epsilon) sqrt(2 log(2.5 / delta)); ridge c_t = 2 gamma_t, gamma_t = sigma sqrt(t) (4 sqrt(d) + 2 log(2 T / alpha)); index
    x' theta + beta_t |x| in the norm of (V + c_t I)^-1, beta_t = 2 sigma sqrt(d log T) + (sqrt(3 gamma_t) + sigma sqrt(d t / gamma_t)) d
    log T. The constants of sigma are those of a later implementation. If V + c_t I is not positive definite, c_t is doubled until it
    is. arXiv 2006.00701, Algorithm 5.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem; rewards are taken as they come.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      fail_prob: alpha, of the bound on the noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim, horizon = assemble.checked(dim, fail_prob), validate.horizon(horizon)
    links.check(link)
    sigma = printed_sigma(6 * 2**0.5, 2.5, epsilon, delta)
    release = as_printed(dim, 1, epsilon, delta, sigma, 6.0, UNBOUNDED)
    return noisy_regression(dim, release, _as_it_is, _printed_confidence(dim, horizon, fail_prob, sigma))


def _as_it_is(one: Record) -> Record:
    return one


def ldp_linucb_author_code(
    *, dim: int, link: Link, horizon: int, epsilon: ArrayLike, delta: ArrayLike, fail_prob: ArrayLike = 0.1
) -> Policy:
    """LDP-LinUCB as its published code has it. No guarantee: the noise is too small.

    As ``ldp_linucb_paper``, but sigma = (4 / epsilon) sqrt(log(1.25 / delta)), the width multiplies the square of the norm, and the ridge
    of the first round is 0.1. The published run has epsilon 8e5, which is no privacy.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem; rewards are taken as they come.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      fail_prob: alpha, of the bound on the noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim, horizon = assemble.checked(dim, fail_prob), validate.horizon(horizon)
    links.check(link)
    sigma = printed_sigma(4.0, 1.25, epsilon, delta)
    flaw = "sigma lacks a factor sqrt(2), and records are not cut to the bounds that it assumes"
    printed = _printed_confidence(dim, horizon, fail_prob, sigma)

    def confidence(t):
        at = printed(t)
        return at._replace(ridge=jnp.where(t == 1, jnp.float32(0.1), at.ridge))

    return noisy_regression(dim, as_printed(dim, 1, epsilon, delta, sigma, 4.0, flaw), _as_it_is, confidence, root=False)


def ldp_linucb(
    *,
    dim: int,
    link: Link,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    fail_prob: ArrayLike = 0.1,
    theta_bound: ArrayLike = 1.0,
    regulariser: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """LDP-LinUCB with one joint release, calibrated noise, and a valid confidence width.

    Features are cut to length 1 and rewards to their range [-Y, Y]. sigma is the smallest for the joint sensitivity of (x x', y x), sqrt(2)
    (1 + Y^2 / 2) for Y^2 <= 2, else 2 Y. With Gamma_t >= |sum of the noise matrices|, the ridge is 2 Gamma_t and beta_t = R sqrt(2 log(T /
    alpha) + d log(1 + t / (d Gamma_t))) + sqrt(3 Gamma_t) |theta| + sigma sqrt(t) (sqrt(d) + sqrt(2 log(T / alpha))) / sqrt(Gamma_t): it
    covers the parameter in all rounds with probability at least 1 - 3 alpha. Sound: (epsilon, delta)-LDP for every epsilon.
    Relation: any two records (features, reward) of one user, one round; the message, not the action that the user sees. After arXiv
    2006.00701, Algorithm 5; the release and the width are our own.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem: the range of rewards and their scatter R.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      fail_prob: alpha.
      theta_bound: what the length of the parameter is at most, positive.
      regulariser: the least ridge, positive; it matters without noise.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    dim = assemble.checked(dim, fail_prob, theta_bound=theta_bound, regulariser=regulariser)
    link, horizon = links.check(link), validate.horizon(horizon)
    sensitivity = joint_sensitivity(links.bound(link))
    sigma = calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, sensitivity)
    release = symmetric_gaussian(dim=dim, num_vectors=1, sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta)
    spread = jnp.asarray(sigma, jnp.float32)
    bound = assemble.noise_bound(dim, horizon, fail_prob, spread, regulariser)
    log = np.float32(np.log(horizon)) - jnp.log(jnp.asarray(fail_prob, jnp.float32))

    def confidence(t):
        most, rounds = bound(t), t.astype(jnp.float32)
        scatter = link.noise * jnp.sqrt(2.0 * log + dim * jnp.log1p(rounds / (dim * most)))
        vector = spread * jnp.sqrt(rounds / most) * (np.float32(dim**0.5) + jnp.sqrt(2.0 * log))
        return Confidence(ridge=2.0 * most, width=scatter + jnp.sqrt(3.0 * most) * theta_bound + vector)

    policy = noisy_regression(dim, release, lambda one: assemble.cut(one, link), confidence)
    return policy._replace(derived={"sigma": sigma})
