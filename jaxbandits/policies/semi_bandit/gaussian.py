"""Algorithm 4 of the cascade paper: CUCB on bits with Gaussian noise, under local privacy.

Cascading Bandit under Differential Privacy, arXiv 2105.11126, Algorithm 4, Theorems 8 and 9. A user sends one noisy number for each arm
of the public super arm, so the number of them tells nothing, and the L2 sensitivity sqrt(K) is right: unlike in the cascade, the
claim of (epsilon, delta)-LDP holds for epsilon at most 1, but for the first user, whose raw bits are observed.
"""

import dataclasses

import jax.numpy as jnp
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import gaussian
from jaxbandits.oracles import Oracle, check
from jaxbandits.policies import index as indices
from jaxbandits.policies.semi_bandit.assemble import ONE_USER, numbers_policy, widened

RAW_START = "the first user's raw bits of all arms are observed, and sigma is proved for epsilon up to 1 only"
"""Why Algorithm 4 as printed has no guarantee."""


def _policy(calibrated_sigma, as_printed, oracle, epsilon, delta, noise_scale, radius_scale, sigma) -> Policy:
    oracle = check(oracle)
    validate.scale("radius_scale", radius_scale)
    sensitivity = oracle.list_len**0.5
    if sigma is None:
        sigma = calibrated_sigma(epsilon, delta, sensitivity)
    elif not as_printed:
        validate.enough("sigma", sigma, lambda: calibrated_sigma(epsilon, delta, sensitivity), epsilon, delta)
    noise = gaussian(shape=(oracle.list_len,), sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta, noise_scale=noise_scale)
    already = oracle.num_base_arms if as_printed else 0

    def index(mean, counts, t):
        log_t = indices.log_round(t + already)
        return widened(mean, counts, jnp.sqrt(1.5 * log_t) + radius_scale * 2.0 * sigma * jnp.sqrt(log_t))

    flawed = {"status": "paper", "flaw": RAW_START} if as_printed else {}
    return numbers_policy(
        oracle=oracle,
        randomiser=noise,
        index=index,
        claim=dataclasses.replace(noise.claim, relation=ONE_USER, **flawed),
        from_preview=as_printed,
        derived={"sigma": sigma},
    )


def gaussian_cucb(
    *,
    oracle: Oracle,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 4 as printed. No guarantee, for the first user's sake.

    Every bit of the super arm is sent with N(0, sigma^2), sigma = (1 / epsilon) sqrt(2 K log(1.25 / delta)). Index mean +
    sqrt(1.5 log t / N) + 2 sigma sqrt(log t / N). It starts from one user's raw bits of all arms, with t = m + 1 in the first round. As
    corrected: the oracle gets all m indices, and the arms of the super arm are updated.

    Args:
      oracle: chooses a super arm of at most K of the m arms; a study passes that of the problem.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      noise_scale: factor on the noise. The paper's figures use 0.01.
      radius_scale: factor on the noise part of the radius.
      sigma: derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy(calibrate.classic_sigma, True, oracle, epsilon, delta, noise_scale, radius_scale, sigma)


def ldp_gaussian_cucb(
    *,
    oracle: Oracle,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 4 with the analytic sigma, and without the raw start.

    Every bit of the super arm is sent with N(0, sigma^2), sigma the smallest for L2 sensitivity sqrt(K). Index as in
    ``gaussian_cucb``; the first rounds cover all arms. Sound: (epsilon, delta)-LDP for every epsilon, if noise_scale is 1. Relation: any
    two vectors of one user's bits, one round; the super arm is public.

    Args:
      oracle: chooses a super arm of at most K arms; a study passes that of the problem.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      radius_scale: factor on the noise part of the radius.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    return _policy(calibrate.analytic_sigma, False, oracle, epsilon, delta, noise_scale, radius_scale, sigma)
