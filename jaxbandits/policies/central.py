"""What policies under central privacy share: an index of what a counter released, of which the costly part is kept.

The server sees the raw feedback and puts it into counters; everything it decides is a function of their releases and of public
counts, so the whole run is as private as the counters are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits.engine import lanes
from jaxbandits.mechanisms.counters import Counter, Release
from jaxbandits.policies import index as indices
from jaxbandits.policies.divergence import private_kl_ucb


class Keeping(NamedTuple):
    """The costly part of an index, computed anew only when it must be.

    Attributes:
      costly: (total [m], counts [m], t, *given) -> the part that is kept, float32 [m].
      given: the numbers of the lane that ``costly`` takes.
      stale: t -> bool (), whether that part is out of date for all items after round t, whatever the lane.
    """

    costly: Callable[..., Array]
    given: tuple[Array, ...]
    stale: Callable[[Array], Array]

    def start(self, num_items: int) -> Array:
        """The kept parts before round 1; no item has a release, so they are not looked at."""
        return jnp.zeros(num_items, jnp.float32)

    def renew(self, kept: Array, release: Release, items: Array, t: Array) -> Array:
        """The kept parts for the coming round: new for the items with entries in round t, and for all if they are stale."""

        def everything(old, total, counts, t, *given):
            return self.costly(total, counts, t + 1, *given)

        fresh = self.costly(lanes.take(release.total, items), lanes.take(release.counts, items), t + 1, *self.given)
        kept = lanes.set_at(kept, items, fresh)
        return lanes.when(self.stale(t), everything, kept, release.total, release.counts, t, *self.given)


def kept_tail(counter: Counter) -> Keeping:
    """The tail of a counter's noise at scale 1 and 1 - t^-3, t rounded up to 7 binary digits."""
    return Keeping(costly=lambda total, counts, t: counter.tail(counts, indices.tail_log(t)), given=(), stale=indices.tail_stale)


class Index(NamedTuple):
    """An index of what a counter released.

    Attributes:
      upper: (release, kept parts, t) -> the index, float32 [num_items]. What it gives for an item without a release does not matter.
      keeping: how the kept parts are made; None if there are none.
    """

    upper: Callable[[Release, Any, Array], Array]
    keeping: Keeping | None = None


def single(value: ArrayLike) -> Array:
    """A number of the lane as float32."""
    return jnp.asarray(value, jnp.float32)


@lanes.elementwise
def _mean_and_tail(total, counts, tail, scale, root):
    return (total + scale * tail) * root * root


def ucb1(counter: Counter) -> Index:
    """Mean + sqrt(1.5 log t / count) + tail / count, the tail of the counter's noise at 1 - t^-3, t rounded up to 7 binary digits."""

    def costly(total, counts, t, scale):
        tail = counter.tail(counts, indices.tail_log(t))
        return _mean_and_tail(total, counts, tail, scale, indices.inverse_root(counts))

    return Index(
        upper=lambda release, kept, t: kept + indices.ucb1_width(t) * indices.inverse_root(release.counts),
        keeping=Keeping(costly=costly, given=(single(counter.scale),), stale=indices.tail_stale),
    )


@lanes.elementwise
def clipped_mean(total: Array, counts: Array) -> Array:
    """Total / counts in [0, 1]; counts of 0 are read as 1."""
    root = indices.inverse_root(counts)
    return jnp.clip(total * root * root, 0.0, 1.0)


def raised_mean(release: Release, t: Array, epsilon: ArrayLike, constant: float) -> Array:
    """The mean plus ``constant`` log t / (epsilon n), what a draw of Lap(1 / epsilon) in a sum of n seldom exceeds, in [0, 1]."""
    raised = lanes.elementwise(lambda total, log_t, inverse_epsilon: total + constant * log_t * inverse_epsilon)
    return clipped_mean(raised(release.total, indices.log_round(t), 1.0 / single(epsilon)), release.counts)


def private_kl_index(total: Array, counts: Array, t: Array, epsilon: Array, exploration: Callable[[Array], Array]) -> Array:
    """max{q: count d(mean, q) <= exploration(t)}, d the divergence of ``policies.divergence``."""
    root = indices.inverse_root(counts)
    return private_kl_ucb(clipped_mean(total, counts), root * root, exploration(t), epsilon)


def kl_ucb(epsilon: ArrayLike, exploration: Callable[[Array], Array], refresh_every: int) -> Index:
    """``private_kl_index``; those of all items are computed every so many rounds."""
    keeping = Keeping(
        costly=lambda total, counts, t, epsilon: private_kl_index(total, counts, t, epsilon, exploration),
        given=(single(epsilon),),
        stale=lambda t: t % refresh_every == 0,
    )
    return Index(upper=lambda release, kept, t: kept, keeping=keeping)


ADAP_CONSTANT = 3.1
"""The exploration constant a of AdaP-UCB in its paper's experiments; its bounds need a > 3."""


def newest_batch_ucb(epsilon: ArrayLike) -> Index:
    """Mean + sqrt(a log(2t) / (2h)) + a log t / (epsilon h) for the newest batch, of h entries: the index of AdaP-UCB, a = 3.1."""

    @lanes.elementwise
    def upper(total, size, log_t, inverse_epsilon):
        root = indices.inverse_root(size)
        sampling = jnp.sqrt(0.5 * ADAP_CONSTANT * (log_t + np.float32(np.log(2.0))))
        return (total + ADAP_CONSTANT * inverse_epsilon * log_t) * root * root + sampling * root

    return Index(upper=lambda release, kept, t: upper(release.total, release.counts, indices.log_round(t), 1.0 / single(epsilon)))
