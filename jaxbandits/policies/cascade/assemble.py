"""What the printed cascade policies share: one noisy value for each examined position."""

import dataclasses
from collections.abc import Callable
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits.core import Claim, Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms.randomiser import Randomiser
from jaxbandits.policies import index as indices
from jaxbandits.policies import responses


class Prefix(NamedTuple):
    """A message about every examined position. Its support is the examined prefix of the list, so it shows the click."""

    observed: Array  # [list_len], bool: positions up to the click
    value: Array  # [list_len], the value sent for each of them, 0 elsewhere


def prefix(click: Array, list_len: int) -> Prefix:
    """The raw prefix: int32 values, 1 at the click."""
    position = jnp.arange(list_len, dtype=jnp.int32)
    return Prefix(observed=position <= click, value=(position == click).astype(jnp.int32))


def noisy_prefix_policy(
    *,
    num_items: int,
    list_len: int,
    randomiser: Randomiser,
    index: Callable[[Array, Array, Array], Array],
    claim: Claim,
    derived: dict | None = None,
) -> Policy:
    """A policy that gets one noisy value for each examined position, as the algorithms of the cascade paper do.

    The state starts from one user's raw attraction to every item, count 1, as printed.

    Args:
      num_items: number of items.
      list_len: length of the list.
      randomiser: adds noise to a vector [list_len].
      index: (t, mean, count) -> index, all [num_items] but t.
      claim: what the policy says about privacy.
      derived: see ``Policy.derived``.
    """

    def act(state, round_, z):
        root = indices.inverse_root(state.counts)
        mean = responses.added_up(state) * root * root
        return lanes.top_k(index(round_.t, mean, state.counts), list_len)

    def report(round_, action, click, z):
        raw = prefix(click, list_len)
        noisy = randomiser.send(raw.value.astype(jnp.float32), z)
        return Prefix(observed=raw.observed, value=jnp.where(raw.observed, noisy, 0.0))

    return Policy(
        claim=claim,
        device_draws=randomiser.draws,
        server_draws={},
        init=lambda preview: responses.start(num_items, count=1, total=preview),
        act=act,
        report=report,
        update=lambda state, t, action, message, z: responses.learn(state, action, message.value, message.observed),
        settle=responses.settle,
        derived=derived or {},
    )


LEAK = "the number of values a user sends shows the position of the click"
"""Why a noisy prefix has no guarantee for lists of two or more: the noise hides values, not how many there are."""

RAW_START = "the first user's raw attraction to every item is observed"
"""Why a policy that starts from a preview has no guarantee even for lists of one."""


def flawed_claim(nominal: Claim, status: Literal["paper", "calibrated"], list_len: int) -> Claim:
    """The claim of a noisy prefix: what the paper claims, and why it does not hold."""
    return dataclasses.replace(nominal, status=status, flaw=LEAK if list_len > 1 else RAW_START)
