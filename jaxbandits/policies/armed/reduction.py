"""Private K-armed policies made of others: any black box on noisy rewards.

Zheng et al.: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, section 3: the K-armed case of Algorithm 1,
and best-arm identification. A black box that wants to know the range of rewards is told that with the noise.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import Randomiser, clipped, gaussian, laplace
from jaxbandits.policies import reduction
from jaxbandits.policies.armed.adversarial import tsallis_inf
from jaxbandits.policies.armed.local import ONE_REWARD, Radius, ucb_on
from jaxbandits.policies.index import log_round


def _private(black_box: Callable[..., Policy], num_arms: int, horizon: int, noise: Randomiser, tail: Array) -> Policy:
    inner = reduction.play("black_box", black_box, num_arms=num_arms, horizon=horizon, low=-tail, high=1.0 + tail)
    noise = noise._replace(claim=dataclasses.replace(noise.claim, relation=ONE_REWARD))
    return reduction.behind(inner, noise, 0.0, 1.0)


def _normal(epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike | None) -> tuple[Randomiser, ArrayLike]:
    sigma = reduction.calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, 1.0)
    return gaussian(shape=(), sensitivity=1.0, sigma=sigma, epsilon=epsilon, delta=delta), sigma


def ldp_gaussian_reduction(
    *,
    num_arms: int,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    black_box: Callable[..., Policy] = tsallis_inf,
    sigma: ArrayLike | None = None,
) -> Policy:
    """A K-armed black box on rewards with normal noise.

    Rewards are cut to [0, 1]; sigma is the smallest for sensitivity 1. The range that the black box is told is wider by sigma sqrt(2 log(2
    T^2)) on both sides. Regret of order sqrt(K T) / epsilon up to logarithms for Exp3 and Tsallis-INF. Sound: (epsilon,
    delta)-LDP for every epsilon. Relation: any two rewards of one user, one round. arXiv 2006.00701, Algorithm 1.

    Args:
      num_arms: number of arms K.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      black_box: factory of a non-private policy: ``armed.tsallis_inf``, ``armed.exp3``, ``armed.sequential_halving``.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    num_arms, horizon = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS), validate.horizon(horizon)
    noise, sigma = _normal(epsilon, delta, sigma)
    return _private(black_box, num_arms, horizon, noise, reduction.normal_tail(sigma, horizon))._replace(derived={"sigma": sigma})


def ldp_laplace_reduction(*, num_arms: int, horizon: int, epsilon: ArrayLike, black_box: Callable[..., Policy] = tsallis_inf) -> Policy:
    """A K-armed black box on rewards with Laplace noise, without a delta.

    As ``ldp_gaussian_reduction``, with Lap(1 / epsilon) and a range wider by log(2 T^2) / epsilon. Sound: epsilon-LDP. Relation: any two
    rewards of one user, one round.

    Args:
      num_arms: number of arms K.
      horizon: T, the number of rounds; a study passes its own.
      epsilon: privacy level, positive; inf adds no noise.
      black_box: factory of a non-private policy: ``armed.tsallis_inf``, ``armed.exp3``, ``armed.sequential_halving``.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms, horizon = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS), validate.horizon(horizon)
    noise = laplace(shape=(), sensitivity=1.0, epsilon=epsilon)
    return _private(black_box, num_arms, horizon, noise, reduction.laplace_tail(1.0 / epsilon, horizon))


def ldp_ucb_gaussian(*, num_arms: int, epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike | None = None) -> Policy:
    """UCB on rewards with normal noise: the K-armed reduction with an index.

    Rewards are cut to [0, 1]; sigma is the smallest for sensitivity 1; index mean + (sqrt(1.5) + 2 sigma) sqrt(log t / N), the radius of
    ``semi_bandit.ldp_gaussian_cucb`` for one report. Sound: (epsilon, delta)-LDP for every epsilon. Relation: any two rewards of one
    user, one round.

    Args:
      num_arms: number of arms K.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    noise, sigma = _normal(epsilon, delta, sigma)
    factor = np.float32(1.5**0.5) + 2.0 * jnp.asarray(sigma, jnp.float32)
    radius = Radius(at=lambda root, counts, width: width, numbers=lambda t: (factor * jnp.sqrt(log_round(t)),))
    return ucb_on(num_arms, clipped(noise), radius)._replace(derived={"sigma": sigma})
