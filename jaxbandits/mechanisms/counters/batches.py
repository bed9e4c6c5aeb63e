"""Batches: each entry of a stream enters exactly one released sum, and a release waits until its batch is full.

When a batch is full depends on public counts only, so the streams may be chosen by what was released: the whole transcript is
epsilon-private by parallel composition.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.mechanisms import noise as noises
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.counters.interface import Counter, Law, Release, checked, claim, count_in, entries
from jaxbandits.mechanisms.noise import Noise


class AccumulatingState(NamedTuple):
    """Streams, and what was released of them."""

    counts: Array  # [num_streams], int32
    total: Array  # [num_streams], int32, exact
    released_counts: Array  # [num_streams], int32
    released: Array  # [num_streams], float32
    noise: Array  # [num_streams], float32: of the newest release


_MOST = 2.0**31 - 128
"""The largest float32 below 2^31."""


def _next_size(released: Array, growth: Array) -> Array:
    """ceil(growth * released) in float32, at least 1 and at most what int32 holds."""
    return jnp.clip(jnp.ceil(growth * released.astype(jnp.float32)), 1.0, _MOST).astype(jnp.int32)


def accumulating(
    *, num_streams: int, epsilon: ArrayLike, ratio: float = 2.0, noise_scale: ArrayLike = 1.0, noise: Noise = noises.laplace
) -> Counter:
    """Batches that add up: the released sum grows by the sum of a batch and Lap(1 / epsilon).

    A batch is full at max(1, ceil((ratio - 1) n)) entries, n the entries released before: 1, 1, 2, 4, .. for ratio 2. At n = 2^m,
    ratio 2, the noise is a sum of m + 1 draws. epsilon-private: an entry enters one batch. The batches of Azize et al. 2025, arXiv
    2505.05613; at ratio 2 also the logarithmic mechanism of Chan, Shi, Song 2011.

    Args:
      num_streams: number of streams, each of up to 2^31 - 1 entries.
      epsilon: privacy level, positive; inf adds nothing.
      ratio: growth of the released count from one release to the next, from 1.001 to 1000; it cannot be swept.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      noise: ``noise.laplace``, or ``noise.discrete_laplace`` for releases that are whole numbers.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_streams = checked(num_streams, epsilon, noise_scale)
    validate.scalar("ratio", ratio, "from 1.001 to 1000", lambda a: 1.001 <= a <= 1000)
    growth = np.float32(validate.number("ratio", ratio) - 1.0)
    unit, added = noise_scale / epsilon, noises.checked(noise)

    @lanes.elementwise
    def grown(noise, z, unit):
        return noise + added.make(unit, z)

    next_size = lanes.elementwise(_next_size)

    def init():
        zeros, none = jnp.zeros(num_streams, jnp.int32), jnp.zeros(num_streams, jnp.float32)
        return AccumulatingState(counts=zeros, total=zeros, released_counts=zeros, released=none, noise=none)

    def insert(state, streams, values, where, z):
        counts, total = count_in(state.counts, state.total, streams, values, where)
        count, before = lanes.take(counts, streams), lanes.take(state.released_counts, streams)
        closed = where & (count - before >= next_size(before, growth))
        noise = grown(lanes.take(state.noise, streams), z["noise"], jnp.asarray(unit, jnp.float32))
        return AccumulatingState(
            counts=counts,
            total=total,
            released_counts=lanes.set_at(state.released_counts, streams, count, closed),
            released=lanes.set_at(state.released, streams, lanes.take(total, streams).astype(jnp.float32) + noise, closed),
            noise=lanes.set_at(state.noise, streams, noise, closed),
        )

    def law(count):
        released, number = 0, 0
        while entries(count) >= (after := released + int(np.clip(np.ceil(growth * np.float32(released)), 1, _MOST))):
            released, number = after, number + 1
        return Law(scales=np.asarray([validate.number("epsilon", unit)]), counts=np.asarray([number]), variance_of=added.variance)

    @lanes.elementwise
    def tail(count, log_term):
        # At least ratio times as many entries at each release: 1 + log(n) / log(ratio) of them, one more for rounding.
        steps = jnp.log(jnp.maximum(count, 1).astype(jnp.float32)) / np.log1p(growth)
        return tails.laplace_chernoff_unit(jnp.where(count > 0, jnp.floor(steps + 1e-4) + 1.0, 0.0), log_term)

    return Counter(
        claim=claim(epsilon, noise_scale),
        draws=lambda insertions: {"noise": draws.laplace((insertions,))},
        init=init,
        insert=insert,
        read=lambda s: Release(total=s.released, counts=s.released_counts, waiting=s.counts - s.released_counts),
        law=law,
        scale=unit,
        tail=tail,
    )


NextSize = Callable[[Array, Array], Array]
"""(size of the newest batch, entries in all batches) -> entries of the next batch, int32."""


def lazy_size(newest: Array, entered: Array) -> Array:
    """Twice the batch before: 1, 2, 4, 8, .."""
    return jnp.maximum(2 * newest, 1)


def adaptive_size(newest: Array, entered: Array) -> Array:
    """As many as all batches before: 1, 1, 2, 4, .., so that the newest batch is half of all entries."""
    return jnp.maximum(entered, 1)


class ForgettingState(NamedTuple):
    """Streams, and the newest batch of each."""

    counts: Array  # [num_streams], int32
    total: Array  # [num_streams], int32, exact
    entered: Array  # [num_streams], int32: entries in batches that are full
    entered_total: Array  # [num_streams], int32: their exact sum
    size: Array  # [num_streams], int32: of the newest batch
    released: Array  # [num_streams], float32: its noisy sum


def _check_sizes(next_size: Any) -> None:
    allowed = "a function (size of the newest batch, entries in all batches) -> entries of the next batch, int32 -> int32 elementwise"
    validate.callable_("next_size", next_size, allowed)
    number = jax.ShapeDtypeStruct((1,), jnp.int32)
    try:
        found = jax.eval_shape(next_size, number, number)
    except Exception as error:  # of code that is not ours
        raise ValueError(f"next_size must be {allowed}; it failed with {type(error).__name__}: {error}") from error
    if getattr(found, "dtype", None) != jnp.int32 or found.shape not in ((), (1,)):
        raise ValueError(f"next_size must be {allowed}; it gives {found}")


def forgetting(
    *,
    num_streams: int,
    epsilon: ArrayLike,
    next_size: NextSize = lazy_size,
    noise_scale: ArrayLike = 1.0,
    noise: Noise = noises.laplace,
) -> Counter:
    """Batches of which only the newest counts: the release is its sum and one draw of Lap(1 / epsilon).

    epsilon-private: an entry enters one batch. With ``lazy_size`` the batches of Hu, Huang, Mehta 2021, with ``adaptive_size``
    those of Azize, Basu 2022.

    Args:
      num_streams: number of streams, each of up to 2^31 - 1 entries.
      epsilon: privacy level, positive; inf adds nothing.
      next_size: how large the next batch is, ``lazy_size`` or ``adaptive_size`` or another function of public counts.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      noise: as for ``accumulating``.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_streams = checked(num_streams, epsilon, noise_scale)
    _check_sizes(next_size)
    unit, added = noise_scale / epsilon, noises.checked(noise)

    @lanes.elementwise
    def noisy(total, z, unit):
        return total.astype(jnp.float32) + added.make(unit, z)

    def init():
        zeros = jnp.zeros(num_streams, jnp.int32)
        none = jnp.zeros(num_streams, jnp.float32)
        return ForgettingState(counts=zeros, total=zeros, entered=zeros, entered_total=zeros, size=zeros, released=none)

    def insert(state, streams, values, where, z):
        counts, total = count_in(state.counts, state.total, streams, values, where)
        count, summed, before = lanes.take(counts, streams), lanes.take(total, streams), lanes.take(state.entered, streams)
        closed = where & (count - before >= next_size(lanes.take(state.size, streams), before))
        newest = summed - lanes.take(state.entered_total, streams)
        return ForgettingState(
            counts=counts,
            total=total,
            entered=lanes.set_at(state.entered, streams, count, closed),
            entered_total=lanes.set_at(state.entered_total, streams, summed, closed),
            size=lanes.set_at(state.size, streams, count - before, closed),
            released=lanes.set_at(state.released, streams, noisy(newest, z["noise"], jnp.asarray(unit, jnp.float32)), closed),
        )

    @lanes.elementwise
    def tail(count, log_term):
        return jnp.where(count > 0, log_term - math.log(2.0), 0.0)  # exact for one draw

    return Counter(
        claim=claim(epsilon, noise_scale),
        draws=lambda insertions: {"noise": draws.laplace((insertions,))},
        init=init,
        insert=insert,
        read=lambda s: Release(total=s.released, counts=s.size, waiting=s.counts - s.entered),
        law=lambda count: Law(np.asarray([validate.number("epsilon", unit)]), np.asarray([min(entries(count), 1)]), added.variance),
        scale=unit,
        tail=tail,
    )
