"""Learning from the first position only: F, F-KL, and their non-private counterparts.

The list holds the items of the largest indices, but the one with the fewest observations is moved to the front, and only it
is updated, by whether it was clicked. The front item is always examined, so what is observed, and every count, is free of
data. That is what makes the local versions private: one fixed bit a user.

These are proposals of this project; no paper prints them. They rest on the cascade's reward not depending on the order of
the list. An item without data comes first, among those the one displayed least often; other ties go to the lowest number,
which the problem assigns at random for each seed. Of several items with the fewest observations the one of the largest index
moves to the front.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import NON_PRIVATE, Claim, Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import randomiser
from jaxbandits.policies import bits
from jaxbandits.policies import index as indices


class FirstState(NamedTuple):
    """Observations of every item at the front of the list."""

    counts: Array  # [num_items], int32: rounds at the front
    ones: Array  # [num_items], int32: messages that were 1
    displayed: Array  # [num_items], int32: rounds in the list while some item had no data


def front_list(index: Array, count: Array, list_len: int) -> Array:
    """The items of the largest indices, the one of the smallest count in front."""
    ranked = lanes.top_k(index, list_len)
    return lanes.least_first(ranked, lanes.take(count, ranked))


def _start(num_items: int) -> FirstState:
    zeros = jnp.zeros(num_items, jnp.int32)
    return FirstState(counts=zeros, ones=zeros, displayed=zeros)


def count_displays(displayed: Array, action: Array, t: Array) -> Array:
    """Displays of each item while some item has no data.

    Each round gives one more item its first observation, so after num_items rounds no display count is looked at again.
    """
    return lanes.when(t <= displayed.shape[0], lambda shown, action: lanes.count_at(shown, action), displayed, action)


def _learn(state: FirstState, t: Array, action: Array, bit: Array) -> FirstState:
    front = action[:1]
    return FirstState(
        counts=lanes.count_at(state.counts, front),
        ones=lanes.add_at(state.ones, front, bit[None]),
        displayed=count_displays(state.displayed, action, t),
    )


Send = Callable[[Array, dict], Array]


def _ucb1(*, num_items: int, list_len: int, claim: Claim, device_draws, send: Send) -> Policy:
    def act(state, round_, z):
        # The debiased index is debias_factor * (this - flip_probability): the same order, so the same list.
        root = indices.inverse_root(state.counts)
        upper = state.ones.astype(jnp.float32) * root * root + indices.ucb1_width(round_.t) * root
        return front_list(jnp.where(state.counts == 0, indices.unseen(state.displayed), upper), state.counts, list_len)

    return Policy(
        claim=claim,
        device_draws=device_draws,
        server_draws={},
        init=lambda preview: _start(num_items),
        act=act,
        report=lambda round_, action, click, z: send((click == 0).astype(jnp.int32), z),
        update=lambda state, t, action, bit, z: _learn(state, t, action, bit),
    )


class FirstKLState(NamedTuple):
    """Bits about every item at the front, and the indices for the coming round."""

    seen: bits.Bits
    displayed: Array  # [num_items], int32: rounds in the list while some item had no data


def _kl_ucb(*, num_items: int, list_len: int, refresh_every: int, claim: Claim, device_draws, send: Send, cap: ArrayLike) -> Policy:
    """``cap`` is the mean of the bits of an item with mean 1: above it debiased indices all count as 1."""
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)

    def init(preview):
        return FirstKLState(seen=bits.start(num_items), displayed=jnp.zeros(num_items, jnp.int32))

    def act(state, round_, z):
        capped = lanes.elementwise(jnp.minimum)(state.seen.upper, jnp.asarray(cap, jnp.float32))
        upper = jnp.where(state.seen.counts == 0, indices.unseen(state.displayed), capped)
        return front_list(upper, state.seen.counts, list_len)

    def update(state, t, action, bit, z):
        seen = bits.learn(state.seen, t, action[:1], bit, refresh_every)
        return FirstKLState(seen=seen, displayed=count_displays(state.displayed, action, t))

    return Policy(
        claim=claim,
        device_draws=device_draws,
        server_draws={},
        init=init,
        act=act,
        report=lambda round_, action, click, z: send((click == 0).astype(jnp.int32), z),
        update=update,
    )


def _raw(bit, z):
    return bit


def first_ucb1(*, num_items: int, list_len: int) -> Policy:
    """First-position UCB1: index mean + sqrt(1.5 log t / count) of the clicks at the front. Non-private.

    The limit of ``first_ldp_ucb1`` at epsilon = inf, and the reference a private first-position curve belongs beside: it beats
    CascadeUCB1, because the item it explores is always examined.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.

    Raises:
      ValueError: if a size is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    return _ucb1(num_items=num_items, list_len=list_len, claim=NON_PRIVATE, device_draws={}, send=_raw)


def first_kl_ucb(*, num_items: int, list_len: int, refresh_every: int = 8) -> Policy:
    """First-position KL-UCB: index max{q: count kl(mean, q) <= log t + 3 log log t} of the clicks at the front. Non-private.

    The limit of ``first_ldp_kl_ucb`` at epsilon = inf.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      refresh_every: all indices are computed anew every so many rounds, and that of the front item after each; 1 computes
        all in each round.

    Raises:
      ValueError: if a size is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    return _kl_ucb(
        num_items=num_items, list_len=list_len, refresh_every=refresh_every, claim=NON_PRIVATE, device_draws={}, send=_raw, cap=1.0
    )


def first_ldp_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike) -> Policy:
    """F: first-position UCB1 on private bits.

    The user sends one randomised bit, whether the front item was clicked. Index debias_factor (mean of the bits -
    flip_probability + sqrt(1.5 log t / count)). Sound: exactly epsilon-LDP for every epsilon, delta 0, since the length of the
    message and all counts are free of data. Relation: any two attraction vectors of one user, one round. Proved regret bound in
    ``theory.cascade``.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf is ``first_ucb1``.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    bit = randomiser.bernoulli(epsilon=epsilon)
    return _ucb1(num_items=num_items, list_len=list_len, claim=bit.claim, device_draws=bit.draws, send=bit.send)


def first_ldp_kl_ucb(*, num_items: int, list_len: int, epsilon: ArrayLike, refresh_every: int = 8) -> Policy:
    """F-KL: first-position KL-UCB on private bits. The default choice under local privacy.

    As ``first_ldp_ucb1`` with index min{1, debias_factor (q - flip_probability)}, q = max{q: count kl(mean of the bits, q) <=
    log t + 3 log log t}. Sound: exactly epsilon-LDP, one bit a user, for the same reason. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf is ``first_kl_ucb``.
      refresh_every: all indices are computed anew every so many rounds, and that of the front item after each; 1 computes
        all in each round.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    bit = randomiser.bernoulli(epsilon=epsilon)
    return _kl_ucb(
        num_items=num_items,
        list_len=list_len,
        refresh_every=refresh_every,
        claim=bit.claim,
        device_draws=bit.draws,
        send=bit.send,
        cap=1.0 - randomiser.flip_probability(epsilon),
    )
