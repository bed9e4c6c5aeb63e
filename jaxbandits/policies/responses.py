"""What a server knows of numbers that users sent about arms: how many, and their sum, exact to 1e8 rounds."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits.core import NON_PRIVATE
from jaxbandits.engine import lanes, sums
from jaxbandits.mechanisms.randomiser import Randomiser

RAW = Randomiser(draws={}, send=lambda value, z: jnp.asarray(value, jnp.float32), claim=NON_PRIVATE)
"""The response as it is, of a policy that is not private."""


class Responses(NamedTuple):
    """Responses about every arm or item."""

    counts: Array  # [num_arms], int32
    total: Array  # [num_arms], int32: sum of the responses if they are bits; else float32: of those since the last settling
    folded: sums.Sum | None  # [num_arms]: sum of those before, compensated; None for bits


def start(num_arms: int, count: int = 0, total: Array | None = None) -> Responses:
    """Nothing, or ``count`` responses an arm of which the sum is given."""
    counts, nothing = jnp.full(num_arms, count, jnp.int32), jnp.zeros(num_arms, jnp.float32)
    return Responses(counts=counts, total=nothing if total is None else total.astype(jnp.float32), folded=sums.zero((num_arms,)))


def start_bits(num_arms: int, count: int = 0) -> Responses:
    """Nothing, or ``count`` bits of 0 an arm, where every response is a bit: its sum is a whole number and needs no settling."""
    return Responses(counts=jnp.full(num_arms, count, jnp.int32), total=jnp.zeros(num_arms, jnp.int32), folded=None)


def added_up(state: Responses) -> Array:
    """The sum of the responses of each arm, float32 [num_arms]."""
    total = state.total.astype(jnp.float32)
    return total if state.folded is None else state.folded.high + total


def learn(state: Responses, arms: Array, value: Array, number: Array | None = None) -> Responses:
    """With one more response for each of some arms. arms, value: [k]; number: which of them there are, all if None."""
    return Responses(
        counts=lanes.count_at(state.counts, arms) if number is None else lanes.add_at(state.counts, arms, number),
        total=lanes.add_at(state.total, arms, value),
        folded=state.folded,
    )


def settle(state: Responses) -> Responses:
    """``Policy.settle``: moves the plain sum into the compensated one before it loses small terms."""
    if state.folded is None:
        return state
    return Responses(counts=state.counts, total=jnp.zeros_like(state.total), folded=sums.add(state.folded, state.total))
