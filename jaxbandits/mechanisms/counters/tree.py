"""Tree counters: binary, hybrid and merged hybrid.

Chan, Shi, Song: Private and Continual Release of Statistics, 2011. A stream is cut into dyadic blocks, the sum of each gets noise
once, and a prefix is the sum of a few blocks. ``merged_hybrid`` is of this project.

The released noise obeys a recursion: noise(s) = noise(parent(s)) + noise of the block that ends at entry s, where the parent is
the release that the block is added to. So an insertion reads one old noise and writes one new, in a table with a place for each
height of a block and one for the base, the newest release that started a new tree. The place of the parent still holds the
parent: only a later entry of the same height overwrites it, and there is none in between. Textbooks keep sums and noises of all
blocks instead; the releases are the same, draw by draw.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import noise as noises
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.counters.interface import Counter, Law, Release, checked, claim, count_in, entries, within
from jaxbandits.mechanisms.counters.nodes import Nodes, bit_length, height, own_draw
from jaxbandits.mechanisms.noise import Noise

_HEIGHTS = 30
"""Heights of blocks in a stream of at most 2^31 - 1 entries whose trees start at powers of two."""


class TreeState(NamedTuple):
    """Streams, and the noises that later releases build on."""

    counts: Array  # [num_streams], int32
    total: Array  # [num_streams], int32, exact
    released: Array  # [num_streams], float32
    table: Array  # [(1 + heights) * num_streams], float32: released noise at the base and for each height


class _Shape(NamedTuple):
    """What tells tree counters apart, at epsilon = 1.

    Attributes:
      most: the most entries of a stream.
      heights: how many heights of blocks there are.
      inside: number of entries int32 -> which of them belong to the current tree, 0 at its base.
      starts: number of entries -> whether the newest release is the base of a new tree.
      scale: number of entries -> scale of the newest block's noise, float32.
      groups: (number of entries, Nodes) -> groups of Laplace variables for a tail.
      blocks: number of entries, on the host -> scale and height of each block in the newest release; height 0 for a single draw.
    """

    most: int
    heights: int
    inside: Callable[[Array], Array]
    starts: Callable[[Array], Array]
    scale: Callable[[Array], Array]
    groups: Callable[[Array, Nodes], list[tuple[Array, Array]]]
    blocks: Callable[[int], list[tuple[float, int]]]


def _set_bits(m: int) -> list[int]:
    return [h for h in range(m.bit_length()) if m >> h & 1]


def _prefix_groups(scale: Array, m: Array, heights: int, nodes: Nodes) -> list[tuple[Array, Array]]:
    """The noise after m entries of a tree."""
    bounds = [nodes.bound(h) for h in range(heights)]
    if all(bound == (1.0, 1.0) for bound in bounds):
        return [(scale, lax.population_count(m).astype(jnp.float32))]
    return [(scale * np.float32(b), jnp.where(m >> h & 1 == 1, np.float32(n), 0.0)) for h, (b, n) in enumerate(bounds)]


def _binary(horizon: int) -> _Shape:
    heights = horizon.bit_length()
    return _Shape(
        most=horizon,
        heights=heights,
        inside=lambda s: s,
        starts=lambda s: s < 0,
        scale=lambda s: jnp.full_like(s, heights, jnp.float32),
        groups=lambda s, nodes: _prefix_groups(jnp.float32(heights), s, heights, nodes),
        blocks=lambda s: [(float(heights), h) for h in _set_bits(s)],
    )


def _octave(s: Array) -> Array:
    """floor(log2 s), for s from 1 on."""
    return bit_length(s) - 1


def _past_power(s: Array) -> Array:
    """Entries since the newest power of two, itself included."""
    return s - (np.int32(1) << _octave(jnp.maximum(s, 1)))


def _hybrid_groups(s, nodes):
    octave = _octave(jnp.maximum(s, 1))
    increments = jnp.where(s > 0, octave + 1, 0).astype(jnp.float32)
    inside = _prefix_groups(2.0 * octave.astype(jnp.float32), jnp.maximum(_past_power(s), 0), _HEIGHTS, nodes)
    return [(jnp.float32(2.0), increments), *inside]


def _hybrid_blocks(s: int) -> list[tuple[float, int]]:
    octave = s.bit_length() - 1
    return [(2.0, 0)] * (octave + 1) + [(2.0 * octave, h) for h in _set_bits(s - 2**octave)] if s else []


_HYBRID = _Shape(
    most=validate.MOST_ROUNDS,
    heights=_HEIGHTS,
    inside=_past_power,
    starts=lambda s: s & (s - 1) == 0,
    scale=lambda s: jnp.where(s & (s - 1) == 0, 2.0, 2.0 * _octave(s).astype(jnp.float32)),
    groups=_hybrid_groups,
    blocks=_hybrid_blocks,
)


def _merged_inside(s: Array) -> Array:
    """Block k covers the entries from 2^k + 1 to 2^(k+1); the first entry is alone."""
    return jnp.where(s == 1, 0, s - (np.int32(1) << _octave(jnp.maximum(s - 1, 1))))


def _merged_scale(s: Array) -> Array:
    return jnp.where(s == 1, 1.0, 1.0 + _octave(jnp.maximum(s - 1, 1)).astype(jnp.float32))


def _merged_groups(s, nodes):
    roots = _octave(jnp.maximum(s, 1))

    def root(k):
        there, (scale, number) = roots > k, nodes.bound(k)
        return np.float32((k + 1) * scale), there if number == 1.0 else jnp.where(there, np.float32(number), 0.0)

    inside = _prefix_groups(1.0 + roots.astype(jnp.float32), jnp.maximum(_past_power(s), 0), _HEIGHTS, nodes)
    return [(np.float32(1.0), s > 0), *(root(k) for k in range(_HEIGHTS)), *inside]


def _merged_blocks(s: int) -> list[tuple[float, int]]:
    roots = s.bit_length() - 1
    return [(1.0, 0)] + [(k + 1.0, k) for k in range(roots)] + [(roots + 1.0, h) for h in _set_bits(s - 2**roots)] if s else []


_MERGED = _Shape(
    most=validate.MOST_ROUNDS,
    heights=_HEIGHTS,
    inside=_merged_inside,
    starts=lambda s: s & (s - 1) == 0,
    scale=_merged_scale,
    groups=_merged_groups,
    blocks=_merged_blocks,
)


def _counter(shape: _Shape, nodes: Nodes, num_streams: int, epsilon: ArrayLike, noise_scale: ArrayLike, noise: Noise) -> Counter:
    num_streams = checked(num_streams, epsilon, noise_scale)
    if not isinstance(nodes, Nodes):
        raise ValueError(f"nodes must be own_draw, honaker or other Nodes; got {nodes!r}")
    unit, added = noise_scale / epsilon, noises.checked(noise)
    if nodes.needs_older and added is not noises.laplace:
        raise ValueError("noise must be noise.laplace with these nodes, which average draws")

    def place(block):
        """Where the release that ends with a block, given by its height, lies in the table; the base for none."""
        return jnp.maximum(block + 1, 0) * num_streams

    @lanes.elementwise
    def grown(parent, block, count, unit):
        return parent + added.make(unit * shape.scale(count), block)

    @lanes.elementwise
    def per_scale(noise, count, unit):
        return noise / jnp.maximum(unit * shape.scale(count), np.float32(1e-30))

    def init():
        zeros = jnp.zeros(num_streams, jnp.int32)
        table = jnp.zeros((1 + shape.heights) * num_streams, jnp.float32)
        return TreeState(counts=zeros, total=zeros, released=jnp.zeros(num_streams, jnp.float32), table=table)

    def insert(state, streams, values, where, z):
        where = within(where, state.counts, streams, shape.most)
        counts, total = count_in(state.counts, state.total, streams, values, where)
        count = jnp.maximum(lanes.take(counts, streams), 1)
        inside = shape.inside(count)
        finished = height(inside)
        parent = lanes.take(state.table, place(height(inside & (inside - 1))) + streams)
        factor = jnp.asarray(unit, jnp.float32)
        if nodes.needs_older:
            every = jnp.arange(1, 1 + shape.heights, dtype=jnp.int32)[:, None] * num_streams + streams[None, :]
            older = lanes.take(state.table, every.reshape(-1)).reshape(every.shape)
            block = nodes.estimate(finished, z["noise"], per_scale(older, count, factor), per_scale(parent, count, factor))
        else:
            block = z["noise"]
        fresh = grown(parent, block, count, factor)
        own = jnp.where(shape.starts(count), 0, place(finished)) + streams
        return TreeState(
            counts=counts,
            total=total,
            released=lanes.set_at(state.released, streams, lanes.take(total, streams).astype(jnp.float32) + fresh, where),
            table=lanes.set_at(state.table, own, fresh, where),
        )

    @lanes.elementwise
    def tail(count, log_term):
        return tails.laplace_chernoff_groups(shape.groups(count, nodes), log_term)

    def law(count):
        pieces = [(scale * w, n) for scale, h in shape.blocks(entries(count, shape.most)) for w, n in nodes.pieces(h)]
        scales, numbers = np.asarray(pieces, np.float64).reshape(-1, 2).T
        return Law(scales * validate.number("epsilon", unit), numbers.astype(np.int64), added.variance)

    return Counter(
        claim=claim(epsilon, noise_scale),
        draws=lambda insertions: {"noise": nodes.draw(shape.heights, insertions)},
        init=init,
        insert=insert,
        read=lambda state: Release(total=state.released, counts=state.counts, waiting=jnp.zeros_like(state.counts)),
        law=law,
        scale=unit,
        tail=tail,
    )


def binary(
    *,
    num_streams: int,
    horizon: int,
    epsilon: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    nodes: Nodes = own_draw,
    noise: Noise = noises.laplace,
) -> Counter:
    """The binary counter, for streams of at most ``horizon`` entries.

    l = floor(log2 horizon) + 1 heights, noise Lap(l / epsilon) a block. After s entries the noise is a sum of as many draws as s
    has set bits. An entry is in at most l blocks, so epsilon-private. Chan, Shi, Song 2011, the binary mechanism. Entries
    beyond the horizon are left out: the release stays as it is.

    Args:
      num_streams: number of streams.
      horizon: the most entries of a stream, up to 2^31 - 1.
      epsilon: privacy level, positive; inf adds nothing.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      nodes: ``own_draw``, or ``honaker`` for less noise at more cost. For ``honaker`` the tail counts each block as draws
        of its largest weight, as many as have its variance: valid, and looser than the law.
      noise: ``noise.laplace``, or ``noise.discrete_laplace`` for releases that are whole numbers, with ``own_draw`` only.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _counter(_binary(validate.horizon(horizon)), nodes, num_streams, epsilon, noise_scale, noise)


def hybrid(
    *, num_streams: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, nodes: Nodes = own_draw, noise: Noise = noises.laplace
) -> Counter:
    """The hybrid counter, for streams of unknown length.

    Half of epsilon for the sums at powers of two, each Lap(2 / epsilon) on the one before; half for a binary counter on the
    entries between 2^k and 2^(k+1), with k heights and Lap(2 k / epsilon) a block. Variance after s entries
    (8 / epsilon^2) (k + 1 + w k^2), k = floor(log2 s), w the set bits of s - 2^k. An entry is in one increment and at most k
    blocks, so epsilon-private. Chan, Shi, Song 2011, the hybrid mechanism.

    Args:
      num_streams: number of streams, each of up to 2^31 - 1 entries.
      epsilon: privacy level, positive; inf adds nothing.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      nodes: as for ``binary``; the increments keep their own draws.
      noise: as for ``binary``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _counter(_HYBRID, nodes, num_streams, epsilon, noise_scale, noise)


def merged_hybrid(
    *, num_streams: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, nodes: Nodes = own_draw, noise: Noise = noises.laplace
) -> Counter:
    """The hybrid counter with the root of each tree as the increment, so that epsilon is not split. Of this project.

    The first entry has noise Lap(1 / epsilon); the entries from 2^k + 1 to 2^(k+1) have a tree with k + 1 heights and
    Lap((k+1) / epsilon) a block, and its root is added to the sum at 2^k. Variance after s entries
    (2 / epsilon^2) (1 + sum_{j<=k} j^2 + w (k+1)^2), k = floor(log2 s), w the set bits of s - 2^k: about half to two thirds of
    ``hybrid``. An entry is in at most k + 1 blocks of its tree and in no other, so epsilon-private.

    Args:
      num_streams: number of streams, each of up to 2^31 - 1 entries.
      epsilon: privacy level, positive; inf adds nothing.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      nodes: as for ``binary``.
      noise: as for ``binary``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _counter(_MERGED, nodes, num_streams, epsilon, noise_scale, noise)
