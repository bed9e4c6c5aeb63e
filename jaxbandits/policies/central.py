"""What policies under central privacy share: an index of what a counter released, of which the costly part is kept.

The server sees the raw feedback and puts it into counters; everything it decides is a function of their releases and of public
counts, so the whole run is as private as the counters are.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits.engine import lanes
from jaxbandits.mechanisms.counters import Counter, Release
from jaxbandits.policies import index as indices
from jaxbandits.policies.divergence import private_kl_ucb


class KeptIndex(NamedTuple):
    """An index in two parts: one that is computed anew only when it must be, and one of each round.

    Attributes:
      costly: (total [m], counts [m], t, *given) -> the part that is kept, float32 [m].
      given: the numbers of the lane that ``costly`` takes.
      stale: t -> bool (), whether that part is out of date for all items after round t, whatever the lane.
      index: (kept part, number of entries, t) -> the index, float32 [num_items].
    """

    costly: Callable[..., Array]
    given: tuple[Array, ...]
    stale: Callable[[Array], Array]
    index: Callable[[Array, Array, Array], Array]


def keep(index: KeptIndex, kept: Array, release: Release, items: Array, t: Array) -> Array:
    """The kept parts for the coming round: of the items that got entries in round t, and of all if they are stale."""

    def renew(old, total, counts, t, *given):
        return index.costly(total, counts, t + 1, *given)

    fresh = index.costly(lanes.take(release.total, items), lanes.take(release.counts, items), t + 1, *index.given)
    return lanes.when(index.stale(t), renew, lanes.set_at(kept, items, fresh), release.total, release.counts, t, *index.given)


def single(value: ArrayLike) -> Array:
    """A number of the lane as float32."""
    return jnp.asarray(value, jnp.float32)


@lanes.elementwise
def _mean_and_tail(total, counts, tail, scale, root):
    return (total + scale * tail) * root * root


def ucb1(counter: Counter, width: Callable[[Array], Array] = indices.ucb1_width) -> KeptIndex:
    """Mean + width / sqrt(count) + tail / count, the tail of the counter's noise at 1 - t^-3, t rounded up to 7 binary digits."""

    def costly(total, counts, t, scale):
        tail = counter.tail(counts, indices.tail_log(t))
        return _mean_and_tail(total, counts, tail, scale, indices.inverse_root(counts))

    def index(kept, counts, t):
        return kept + width(t) * indices.inverse_root(counts)

    return KeptIndex(
        costly=costly,
        given=(single(counter.scale),),
        stale=indices.tail_stale,
        index=index,
    )


@lanes.elementwise
def clipped_mean(total: Array, counts: Array) -> Array:
    """Total / counts in [0, 1]; counts of 0 are read as 1."""
    root = indices.inverse_root(counts)
    return jnp.clip(total * root * root, 0.0, 1.0)


def kl_ucb(epsilon: ArrayLike, exploration: Callable[[Array], Array], refresh_every: int) -> KeptIndex:
    """max{q: count d(mean, q) <= exploration(t)}, d the divergence of ``divergence``; all are computed every so many rounds."""

    def costly(total, counts, t, epsilon):
        root = indices.inverse_root(counts)
        return private_kl_ucb(clipped_mean(total, counts), root * root, exploration(t), epsilon)

    return KeptIndex(costly=costly, given=(single(epsilon),), stale=lambda t: t % refresh_every == 0, index=lambda kept, counts, t: kept)


def newest_batch_ucb(epsilon: ArrayLike, constant: float = 3.1) -> Callable[[Release, Array], Array]:
    """Mean + sqrt(a log(2t) / (2h)) + a log t / (epsilon h) for the newest batch, of h entries: the index of AdaP-UCB, a = 3.1."""

    @lanes.elementwise
    def index(total, size, log_t, inverse_epsilon):
        root = indices.inverse_root(size)
        sampling = jnp.sqrt(0.5 * constant * (log_t + np.float32(np.log(2.0))))
        return (total + constant * inverse_epsilon * log_t) * root * root + sampling * root

    return lambda release, t: index(release.total, release.counts, indices.log_round(t), 1.0 / single(epsilon))
