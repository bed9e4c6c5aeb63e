"""What the central K-armed policies share: one counter stream an arm, fed with the rewards of that arm.

One reward enters one stream, so each arm has the whole epsilon (parallel composition), and which arm is pulled is a function of
releases and public counts. An arm without a release comes first; other ties go to the lowest number, which the problem assigns at
random for each seed.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits.core import Policy, PyTree
from jaxbandits.engine import lanes
from jaxbandits.mechanisms.counters import Counter, Release
from jaxbandits.policies import index as indices

ONE_REWARD = "one reward substituted, one round"
"""The neighbouring relation of a central K-armed policy."""

ReleaseIndex = Callable[[Release, Array, Mapping[str, Array]], Array]
"""(release, t, draws of the server) -> index, float32 [num_arms]."""


class ArmedState(NamedTuple):
    """What the counter holds, and the arm that is being played."""

    seen: PyTree  # of the counter, one stream an arm
    arm: Array  # [1], int32: of the last round


def released_policy(
    *, counter: Counter, index: ReleaseIndex, episodes: bool = False, more_draws: Mapping[str, Any] | None = None
) -> Policy:
    """A policy that pulls the arm of the largest index of what the counter has released.

    Args:
      counter: one stream an arm.
      index: see ``ReleaseIndex``.
      episodes: whether an arm, once chosen, is pulled until its batch is full.
      more_draws: draws of the server for the index.
    """

    def init(preview):
        return ArmedState(seen=counter.init(), arm=jnp.zeros(1, jnp.int32))

    def act(state, round_, z):
        release = counter.read(state.seen)
        upper = jnp.where(release.counts == 0, indices.unseen(state.seen.counts), index(release, round_.t, z))
        best = lanes.top_k(upper, 1)
        return jnp.where(lanes.take(release.waiting, state.arm) > 0, state.arm, best) if episodes else best

    def update(state, t, action, reward, z):
        return ArmedState(seen=counter.insert(state.seen, action, reward[None], jnp.ones(1, bool), z), arm=action)

    return Policy(
        claim=dataclasses.replace(counter.claim, relation=ONE_REWARD),
        device_draws={},
        server_draws={**counter.draws(1), **(more_draws or {})},
        init=init,
        act=act,
        report=lambda round_, action, reward, z: reward,
        update=update,
        released=lambda state: counter.read(state.seen),
    )
