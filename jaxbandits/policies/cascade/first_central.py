"""Learning from the first position under central privacy: DP-F, DP-F-lazy and DP-F-KLUCB.

As in ``first_position``, the list holds the items of the largest indices, the one with the fewest entries moves to the front, and
only whether it was clicked is kept. That bit goes into a counter of the front item. Given what was released, the front item is
the same for two neighbouring runs, so one entry of one stream changes, and every item has the whole epsilon: neither the number
of items nor the length of the list enters.

These are proposals of this project; no paper prints them. An item without a release comes first, among those the one displayed
least often in the first num_items rounds; other ties go to the lowest number, which the problem assigns at random for each seed.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy, PyTree
from jaxbandits.mechanisms import counters
from jaxbandits.mechanisms.counters import Counter
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.first_position import count_displays, front_list

ONE_USER = "one user's attractions substituted, one round"
"""The neighbouring relation of a central cascade policy."""


class FirstCentralState(NamedTuple):
    """What the counters hold, and what is kept of the indices."""

    seen: PyTree  # of the counter, one stream an item
    displayed: Array  # [num_items], int32: rounds in the list while some item had no data
    kept: Array | None  # [num_items], float32: the costly part of the index, if it has one


def _policy(*, num_items: int, list_len: int, counter: Counter, index: central.Index) -> Policy:
    keeping = index.keeping

    def init(preview):
        displayed = jnp.zeros(num_items, jnp.int32)
        return FirstCentralState(seen=counter.init(), displayed=displayed, kept=keeping.start(num_items) if keeping else None)

    def act(state, round_, z):
        release = counter.read(state.seen)
        upper = index.upper(release, state.kept, round_.t)
        upper = jnp.where(release.counts == 0, indices.unseen(state.displayed), upper)
        return front_list(upper, state.seen.counts, list_len)

    def update(state, t, action, bit, z):
        front = action[:1]
        seen = counter.insert(state.seen, front, bit[None], jnp.ones(1, bool), z)
        kept = keeping.renew(state.kept, counter.read(seen), front, t) if keeping else None
        return FirstCentralState(seen=seen, displayed=count_displays(state.displayed, action, t), kept=kept)

    return Policy(
        claim=dataclasses.replace(counter.claim, relation=ONE_USER),
        device_draws={},
        server_draws=counter.draws(1),
        init=init,
        act=act,
        report=lambda round_, action, click, z: (click == 0).astype(jnp.int32),
        update=update,
        released=lambda state: counter.read(state.seen),
    )


def first_dp_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike, counter: Callable[..., Counter] = counters.hybrid) -> Policy:
    """DP-F: first-position UCB1 on the clicks that a continual counter releases.

    Index S / n + sqrt(1.5 log t / n) + q / n: S the counter's release after n entries, q the Chernoff bound at 1 - t^-3 of the
    very noise in it, with t rounded up to 7 binary digits. Sound: epsilon-DP, the counter's guarantee, for a trusted server.
    Relation: the attractions of one user substituted, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf is ``first_ucb1``.
      counter: factory of the counter, given num_streams and epsilon: ``counters.hybrid``, ``counters.merged_hybrid``, which
        has about half the variance, or another.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.epsilon(epsilon)
    streams = counters.made_by(counter, num_streams=num_items, epsilon=epsilon)
    return _policy(num_items=num_items, list_len=list_len, counter=streams, index=central.ucb1(streams))


def first_dp_lazy_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike) -> Policy:
    """DP-F-lazy: first-position UCB1 on the newest of doubling batches.

    Batches of 1, 2, 4, .. clicks of an item at the front; a full one is released with Lap(1 / epsilon), and older ones are
    forgotten. Index, for a batch of h clicks with noisy mean m: m + sqrt(3.1 log(2t) / (2h)) + 3.1 log t / (epsilon h), the
    constants of AdaP-UCB (Azize, Basu 2022). Sound: epsilon-DP for a trusted server, since each click enters one batch of one
    item. Relation: the attractions of one user substituted, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.epsilon(epsilon)
    streams = counters.forgetting(num_streams=num_items, epsilon=epsilon)
    return _policy(num_items=num_items, list_len=list_len, counter=streams, index=central.newest_batch_ucb(epsilon))


def first_dp_kl_ucb(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    exploration: Callable[[Array], Array] = indices.exploration,
    refresh_every: int = 8,
) -> Policy:
    """DP-F-KLUCB: first-position KL-UCB on doubling batches that add up. The default choice for a trusted server.

    A batch is released when it doubles the item's released clicks, with Lap(1 / epsilon) on top of the noise before. Index
    max{q: n d(x, q) <= log t + 3 log log t}, x the noisy mean of the n released clicks cut to [0, 1], d the divergence of
    ``policies.divergence``. Sound: epsilon-DP for a trusted server, since each click enters one batch of one item. Relation: the
    attractions of one user substituted, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf adds no noise.
      exploration: function of the round; ``index.log_round`` is log t alone, which has less regret, but an index that is too low
        at small epsilon more often than once in t rounds.
      refresh_every: all indices are computed anew every so many rounds, and that of the front item after each; 1 computes
        all in each round.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)
    validate.epsilon(epsilon)
    validate.exploration(exploration)
    streams = counters.accumulating(num_streams=num_items, epsilon=epsilon)
    return _policy(num_items=num_items, list_len=list_len, counter=streams, index=central.kl_ucb(epsilon, exploration, refresh_every))
