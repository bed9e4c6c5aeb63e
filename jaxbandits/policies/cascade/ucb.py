"""CascadeUCB1 and CascadeKL-UCB: the non-private cascade algorithms.

Kveton, Szepesvari, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, 2015, Algorithm 1. The list holds
the items of the largest indices in decreasing order, and every examined item is updated. Deviation: the state starts from one
user's attraction to every item, as the private algorithms of arXiv 2105.11126 do; the effect on regret is a few users.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits import validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.engine import lanes
from jaxbandits.policies import bits
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.assemble import prefix


class CascadeState(NamedTuple):
    """Observations of every item."""

    counts: Array  # [num_items], int32
    clicks: Array  # [num_items], int32


def _start(num_items: int, preview: Array) -> CascadeState:
    return CascadeState(counts=jnp.ones(num_items, jnp.int32), clicks=preview)


def _index(seen: CascadeState, t: Array) -> Array:
    return bits.kl_index(seen.clicks, seen.counts, t)


def _learn(state: CascadeState, action: Array, message) -> CascadeState:
    return CascadeState(
        counts=lanes.add_at(state.counts, action, message.observed),
        clicks=lanes.add_at(state.clicks, action, message.value),
    )


def cascade_ucb1(*, num_items: int, list_len: int) -> Policy:
    """CascadeUCB1: index mean + sqrt(1.5 log t / count).

    Regret at most sum over bad items of (12 / gap) log T + (pi^2 / 3) num_items; see ``theory.cascade``. Non-private.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.

    Raises:
      ValueError: if a size is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)

    def act(state, round_, z):
        root = indices.inverse_root(state.counts)
        return lanes.top_k(state.clicks.astype(jnp.float32) * root * root + indices.ucb1_width(round_.t) * root, list_len)

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={},
        init=lambda preview: _start(num_items, preview),
        act=act,
        report=lambda round_, action, click, z: prefix(click, list_len),
        update=lambda state, t, action, message, z: _learn(state, action, message),
    )


class CascadeKLState(NamedTuple):
    """Observations of every item and the indices for the coming round."""

    seen: CascadeState
    upper: Array  # [num_items], float32


def cascade_kl_ucb(*, num_items: int, list_len: int, refresh_every: int = 16) -> Policy:
    """CascadeKL-UCB: index max{q: count kl(mean, q) <= log t + 3 log log t}.

    Regret as in ``theory.cascade``. Non-private.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      refresh_every: an index is computed anew when its item was in the list, and all are every so many rounds; 1 is the
        algorithm as published. The exploration function grows slowly, so 16 makes no visible difference.

    Raises:
      ValueError: if a size is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)

    def init(preview):
        seen = _start(num_items, preview)
        return CascadeKLState(seen=seen, upper=_index(seen, jnp.int32(1)))

    def update(state, t, action, message, z):
        seen = _learn(state.seen, action, message)
        listed = CascadeState(counts=lanes.take(seen.counts, action), clicks=lanes.take(seen.clicks, action))
        kept = lanes.set_at(state.upper, action, _index(listed, t + 1))
        fresh = lanes.when(t % refresh_every == 0, lambda old, seen, t: _index(seen, t + 1), kept, seen, t)
        return CascadeKLState(seen=seen, upper=fresh)

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={},
        init=init,
        act=lambda state, round_, z: lanes.top_k(state.upper, list_len),
        report=lambda round_, action, click, z: prefix(click, list_len),
        update=update,
    )
