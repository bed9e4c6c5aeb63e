"""KL-UCB on bits that users sent about arms, private or not, before debiasing."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits.engine import lanes
from jaxbandits.policies import index as indices


class Bits(NamedTuple):
    """Bits about every arm or item, and the indices for the coming round."""

    counts: Array  # [num_arms], int32
    ones: Array  # [num_arms], int32
    upper: Array  # [num_arms], float32: KL-UCB index of the mean of the bits


def start(num_arms: int) -> Bits:
    """Nothing; the indices are not looked at before there are bits."""
    zeros = jnp.zeros(num_arms, jnp.int32)
    return Bits(counts=zeros, ones=zeros, upper=jnp.zeros(num_arms, jnp.float32))


def kl_index(ones: Array, counts: Array, t: Array) -> Array:
    """KL-UCB index of the mean of bits in round t."""
    root = indices.inverse_root(counts)
    mean = jnp.minimum(ones.astype(jnp.float32) * root * root, 1.0)  # a rounding above 1 has no divergence
    return indices.kl_ucb(mean, root * root, indices.exploration(t))


def learn(state: Bits, t: Array, arm: Array, bit: Array, refresh_every: int) -> Bits:
    """With one more bit about an arm. All indices are new every so many rounds, and that of the arm after each. arm: [1]; bit: ()."""
    counts = lanes.count_at(state.counts, arm)
    ones = lanes.add_at(state.ones, arm, bit[None])
    kept = lanes.set_at(state.upper, arm, kl_index(lanes.take(ones, arm), lanes.take(counts, arm), t + 1))
    fresh = lanes.when(t % refresh_every == 0, lambda old, ones, counts, t: kl_index(ones, counts, t + 1), kept, ones, counts, t)
    return Bits(counts=counts, ones=ones, upper=fresh)
