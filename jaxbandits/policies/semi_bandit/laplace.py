"""The Laplace twin of Algorithm 4, of this project: CUCB on bits with Laplace noise, under local privacy.

After Cascading Bandit under Differential Privacy, arXiv 2105.11126, Algorithms 2 and 4. A user sends a number for each of at most K arms
of a public super arm, so the L1 sensitivity is K.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.randomiser import laplace
from jaxbandits.oracles import Oracle, check
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.semi_bandit.assemble import ONE_USER, numbers_policy


@lanes.elementwise
def _upper(mean, counts, log_t, scale):
    root = indices.inverse_root(counts)
    tail = tails.laplace_chernoff_unit(counts.astype(jnp.float32), np.float32(np.log(2.0)) + 3.0 * log_t) * root
    noise = jnp.where(counts.astype(jnp.float32) >= 3.0 * log_t, jnp.sqrt(24.0 * log_t), tail)
    return mean + (jnp.sqrt(1.5 * log_t) + scale * noise) * root


def ldp_laplace_cucb(*, oracle: Oracle, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, radius_scale: ArrayLike = 1.0) -> Policy:
    """CUCB on bits with Laplace noise.

    Every bit of the super arm is sent with Lap(K / epsilon). Index mean + sqrt(1.5 log t / N) + (K / epsilon) sqrt(24 log t / N) once
    N >= 3 log t, and with the Chernoff bound of N draws at 1 - t^-3, over N, before. The first rounds cover all arms. Regret in
    ``theory.semi_bandit``. Sound: epsilon-LDP, if noise_scale is 1. Relation: any two vectors of one user's bits, one
    round; the super arm is public. It is also CUCB-LDP1 of Chen et al. 2020 with Laplace noise.

    Args:
      oracle: chooses a super arm of at most K arms; a study passes that of the problem.
      epsilon: privacy level, positive; inf adds no noise.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle = check(oracle)
    validate.scale("radius_scale", radius_scale)
    size = oracle.list_len
    noise = laplace(shape=(size,), sensitivity=size, epsilon=epsilon, noise_scale=noise_scale)
    scale = radius_scale * (size / epsilon)
    return numbers_policy(
        oracle=oracle,
        randomiser=noise,
        index=lambda mean, counts, t: _upper(mean, counts, indices.log_round(t), central.single(scale)),
        claim=dataclasses.replace(noise.claim, relation=ONE_USER),
    )
