"""What semi-bandit policies share: an index for each base arm, an oracle that chooses a super arm, and what is learnt of it.

Either every arm of the super arm is learnt of, or, by the discarding rule of Chen et al. 2020, only the one with the fewest
observations, so that a user sends one number whatever the size of a super arm. That one is put in front of the action: order has no
meaning in a super arm, and the user's device sees which one it is. An arm without data has index +inf.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits.core import Claim, Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms.randomiser import Randomiser
from jaxbandits.oracles import Oracle, present, read
from jaxbandits.policies import index as indices
from jaxbandits.policies import responses

ONE_USER = "any two vectors of one user's bits, one round"
"""The neighbouring relation of a local semi-bandit policy."""

NumberIndex = Callable[[Array, Array, Array], Array]
"""(mean float32 [num_base_arms], counts int32 [num_base_arms], t) -> index, float32 [num_base_arms]."""


def choose(oracle: Oracle, index: Array, counts: Array, z: Mapping[str, Array]) -> Array:
    """The super arm for an index; arms with count 0 come before all others."""
    return oracle.solve(jnp.where(counts == 0, jnp.inf, index), z)


def fewest_first(super_arm: Array, counts: Array) -> Array:
    """The super arm with the arm of the smallest count in front, of several the first; the others keep their order."""
    known = jnp.where(present(super_arm, counts.shape[0]), read(counts, super_arm), np.int32(2**31 - 1))
    return lanes.least_first(super_arm, known)


def numbers_policy(
    *,
    oracle: Oracle,
    randomiser: Randomiser,
    index: NumberIndex,
    claim: Claim,
    discard: bool = False,
    from_preview: bool = False,
    derived: Mapping[str, Any] = MappingProxyType({}),
) -> Policy:
    """A policy that gets a number for each arm of the super arm, or for one of them, and averages them.

    Args:
      oracle: chooses a super arm.
      randomiser: of the bits of a super arm, float32 [list_len]; of one bit, float32 (), with ``discard``.
      index: see ``NumberIndex``.
      claim: what the policy says about privacy.
      discard: whether only the arm with the fewest observations is reported.
      from_preview: whether the state starts from one user's raw bits, count 1.
      derived: see ``Policy.derived``.
    """
    m = oracle.num_base_arms

    def act(state, round_, z):
        root = indices.inverse_root(state.counts)
        mean = responses.added_up(state) * root * root
        super_arm = choose(oracle, index(mean, state.counts, round_.t), state.counts, z)
        return fewest_first(super_arm, state.counts) if discard else super_arm

    def report(round_, action, bits, z):
        if discard:
            return jnp.asarray(randomiser.send(bits[0].astype(jnp.float32), z), jnp.float32)[None]
        sent = jnp.asarray(randomiser.send(bits.astype(jnp.float32), z), jnp.float32)
        return jnp.where(present(action, m), sent, 0.0)

    def update(state, t, action, message, z):
        heard = action[: message.shape[0]]
        return responses.learn(state, heard, message, present(heard, m).astype(jnp.int32))

    return Policy(
        claim=claim,
        device_draws=randomiser.draws,
        server_draws=oracle.draws,
        init=lambda preview: responses.start(m, count=1, total=preview) if from_preview else responses.start(m),
        act=act,
        report=report,
        update=update,
        settle=responses.settle,
        derived=derived,
    )


widened = lanes.elementwise(lambda mean, counts, width: mean + width * indices.inverse_root(counts))
"""Mean + width / sqrt(count), for a width of the lane."""
