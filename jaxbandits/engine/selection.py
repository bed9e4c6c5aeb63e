"""Selection: the largest indices of a lane, the least observed item, exactly and with ties to the lowest item."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine.batching import lanes_last
from jaxbandits.engine.fence import fence


def _larger(a: Array, b: Array) -> Array:
    return lax.select(a > b, a, b)  # one instruction; jnp.maximum adds the handling of NaN


def _smaller(a: Array, b: Array) -> Array:
    return lax.select(a < b, a, b)


def _exchange(rows: list[Array], i: int, j: int) -> None:
    rows[i], rows[j] = _larger(rows[i], rows[j]), _smaller(rows[i], rows[j])


def _sort_descending(rows: list[Array]) -> None:
    """Bitonic network; the number of rows is a power of two."""
    size, block = len(rows), 2
    while block <= size:
        stride = block // 2
        while stride:
            for i in range(size):
                j = i ^ stride
                if j > i:
                    _exchange(rows, i, j) if i & block == 0 else _exchange(rows, j, i)
            stride //= 2
        block *= 2


def _merge_top(a: list[Array], b: list[Array]) -> list[Array]:
    """The len(a) largest of two descending lists, descending."""
    size = len(a)
    merged = [_larger(a[i], b[size - 1 - i]) for i in range(size)]
    stride = size // 2
    while stride:
        for i in range(size):
            if i & stride == 0:
                _exchange(merged, i, i | stride)
        stride //= 2
    return merged


def _top_values(rows: list[Array], k: int) -> list[Array]:
    """The k largest rows elementwise, descending."""
    size = 1 << (k - 1).bit_length()
    groups = []
    for i in range(0, len(rows), size):
        group = rows[i : i + size]
        group = group + [jnp.full_like(rows[0], -jnp.inf)] * (size - len(group))
        _sort_descending(group)
        groups.append(group)
    while len(groups) > 1:
        pairs = zip(groups[::2], [*groups[1::2], None], strict=False)
        groups = [a if b is None else _merge_top(a, b) for a, b in pairs]
    return groups[0][:k]


def _positions(rows: list[Array], values: list[Array]) -> list[Array]:
    """For each of the descending values the lowest row that equals it and is not taken yet, uint32."""
    words = -(-len(rows) // 32)
    zero = jnp.zeros(rows[0].shape, jnp.uint32)
    taken, found = [zero] * words, []
    for value in values:
        masks = []
        for w in range(words):
            mask = zero
            for i in range(32 * w, min(len(rows), 32 * w + 32)):
                mask = lax.select(rows[i] == value, mask | np.uint32(1 << (31 - i % 32)), mask)
            masks.append(mask & ~taken[w])
        position = lax.clz(masks[-1]) + np.uint32(32 * (words - 1))
        for w in range(words - 2, -1, -1):
            position = lax.select(masks[w] != 0, lax.clz(masks[w]) + np.uint32(32 * w), position)
        bit = np.uint32(1 << 31) >> (position & np.uint32(31))
        taken = [t | lax.select((position >> np.uint32(5)) == w, bit, zero) for w, t in enumerate(taken)]
        found.append(position)
    return found


def _network_top_k(index: Array, k: int) -> Array:
    """Selection without a loop: values by a min-max network, items by equality masks, packed into one output a kernel."""
    num_items = index.shape[0]
    width = max(1, (num_items - 1).bit_length())
    per_word = 32 // width

    def pack(positions):
        packed = jnp.zeros(index.shape[1:], jnp.uint32)
        for i, position in enumerate(positions):
            packed = packed | (position << np.uint32(width * i))
        return packed

    def kernel(index, first):
        rows = list(index)
        positions = _positions(rows, _top_values(rows, k))
        low, high = positions[first : first + per_word], positions[first + per_word : first + 2 * per_word]
        if not high:
            return pack(low)
        return lax.complex(*(lax.bitcast_convert_type(pack(p), jnp.float32) for p in (low, high)))

    def unpack(*packed):
        words = [w for p in packed for w in ((lax.real(p), lax.imag(p)) if jnp.iscomplexobj(p) else (p,))]
        rows = []
        for i, word in enumerate(words):
            held = min(per_word, k - i * per_word)
            word = lax.bitcast_convert_type(word, jnp.uint32)[None]
            shift = lax.broadcasted_iota(jnp.uint32, (held,) + (1,) * (word.ndim - 1), 0) * np.uint32(width)
            rows.append((word >> shift) & np.uint32((1 << width) - 1))
        return jnp.concatenate(rows).astype(jnp.int32)

    packed = [fence(functools.partial(kernel, first=first))(index) for first in range(0, k, 2 * per_word)]
    return fence(unpack)(*packed)


def _first_largest(index: Array, k: int) -> Array:
    """Selection of one item: a tournament in which the left of two wins ties."""

    def kernel(index):
        left = [(value, jnp.full(value.shape, i, jnp.int32)) for i, value in enumerate(index)]
        while len(left) > 1:
            pairs = [(a, b, b[0] > a[0]) for a, b in zip(left[::2], left[1::2], strict=False)]
            winners = [tuple(lax.select(later, y, x) for x, y in zip(a, b, strict=True)) for a, b, later in pairs]
            left = winners + left[2 * len(pairs) :]
        return left[0][1][None]

    return fence(kernel)(index)


def _loop_top_k(index: Array, k: int) -> Array:
    """Selection one item at a time, for lists too long to unroll."""
    item = lax.broadcasted_iota(jnp.int32, index.shape, 0)

    def pick(i, carry):
        index, taken, chosen = carry
        best = jnp.max(jnp.where(taken, -jnp.inf, index), axis=0, keepdims=True)
        # A remaining -inf equals the best value only if nothing larger is left, so taken items must be masked out here too.
        position = jnp.min(jnp.where((index == best) & ~taken, item, index.shape[0]), axis=0, keepdims=True)
        return index, taken | (item == position), lax.dynamic_update_slice_in_dim(chosen, position, i, axis=0)

    start = (index, jnp.zeros(index.shape, bool), jnp.zeros((k, *index.shape[1:]), jnp.int32))
    return lax.fori_loop(0, k, pick, start)[2]


UNROLL_LIMIT = 512
"""The largest list_len * num_items for which selection is unrolled: beyond it compiling costs more than it saves."""


def top_k(index: Array, k: int) -> Array:
    """The items of the k largest indices, in decreasing order, ties to the lowest item. Exact.

    Args:
      index: float32 [num_items]; may hold infinities but no NaN.
      k: from 1 to num_items.

    Returns:
      int32 [k].

    Raises:
      ValueError: if k is out of range.
    """
    num_items = index.shape[0]
    if not 1 <= k <= num_items:
        raise ValueError(f"k must be from 1 to the number of items, {num_items}; got {k}")
    unrolled = num_items <= 128 and k * num_items <= UNROLL_LIMIT
    select = _loop_top_k if not unrolled else _network_top_k if k > 1 else _first_largest
    return lanes_last(functools.partial(select, k=k))(index)


def _long_least_first(items: Array, count: Array) -> Array:
    """For lists too long to unroll."""
    row = lax.broadcasted_iota(jnp.int32, items.shape, 0)
    least = jnp.min(count, axis=0, keepdims=True)
    place = jnp.min(jnp.where(count == least, row, items.shape[0]), axis=0, keepdims=True)
    star = jnp.sum(jnp.where(row == place, items, 0), axis=0, keepdims=True)
    return jnp.where(row == 0, star, jnp.where(row <= place, jnp.roll(items, 1, axis=0), items))


def _least_first(items: Array, count: Array) -> Array:
    if items.shape[0] > 20:
        return fence(_long_least_first)(items, count)

    def kernel(items, count):
        k = items.shape[0]
        least, star = count[0], items[0]
        for i in range(1, k):
            better = count[i] < least
            least, star = lax.select(better, count[i], least), lax.select(better, items[i], star)
        shifted, before = [star], jnp.ones(star.shape, bool)
        for i in range(1, k):
            before = before & (items[i - 1] != star)
            shifted.append(lax.select(before, items[i - 1], items[i]))
        return jnp.stack(shifted)

    return fence(kernel)(items, count)


_least_first_helper = lanes_last(_least_first)


def least_first(items: Array, count: Array) -> Array:
    """Moves the item with the smallest count to the front, of several the first; the others keep their order.

    Args:
      items: int32 [k], distinct.
      count: int32 [k], the count of each of them.
    """
    return _least_first_helper(items, count)


def _argmin(values: Array) -> Array:
    def kernel(values):
        item = lax.broadcasted_iota(jnp.int32, values.shape, 0)
        return jnp.min(jnp.where(values == jnp.min(values, axis=0, keepdims=True), item, values.shape[0]), axis=0)

    return fence(kernel)(values)


_argmin_helper = lanes_last(_argmin)


def argmin(values: Array) -> Array:
    """The item of the smallest value, ties to the lowest item. values: [num_items], no NaN; returns int32 ()."""
    return _argmin_helper(values)


def _shuffle(words: Array) -> Array:
    """The rank of each item among all, by first word, second word, number."""
    if words.shape[1] > 128:
        return jnp.argsort(jnp.lexsort((words[1], words[0]), axis=0), axis=0).astype(jnp.int32)

    def kernel(words):
        (high, low), number = words, lax.broadcasted_iota(jnp.int32, words.shape[1:], 0)
        before = jnp.zeros(words.shape[1:], jnp.int32)
        for j in range(words.shape[1]):
            first = high[j][None] < high
            second = (high[j][None] == high) & ((low[j][None] < low) | ((low[j][None] == low) & (number > j)))
            before = before + (first | second).astype(jnp.int32)
        return before

    return fence(kernel)(words)


_shuffle_helper = lanes_last(_shuffle)


def shuffle(words: Array) -> Array:
    """A uniformly random permutation of 0, ..., n - 1. words: uint32 [2, n], independent and uniform; returns int32 [n]."""
    return _shuffle_helper(words)


def _pick(weights: Array, at: Array) -> Array:
    def kernel(weights, at):
        whole = jnp.zeros_like(at)
        for weight in weights:  # in the order of the running sum, so that its end is the whole, and an item of weight 0 is never reached
            whole = whole + weight
        level = at * whole
        below, reached = jnp.zeros_like(level), jnp.zeros(level.shape, jnp.int32)
        for weight in weights[:-1]:  # what is not below the others is the last
            below = below + weight
            reached = reached + (below <= level).astype(jnp.int32)
        return reached

    def long(weights, at):
        running = jnp.cumsum(weights, axis=0)
        reached = running <= (at * running[-1])[None]
        last = weights.shape[0] - 1 - jnp.argmax(weights[::-1] > 0, axis=0).astype(jnp.int32)
        return jnp.minimum(jnp.sum(reached, axis=0, dtype=jnp.int32), last)

    return fence(kernel if weights.shape[0] <= _UNROLLED else long)(weights, at)


_UNROLLED = 64
_pick_helper = lanes_last(_pick)


def pick(weights: Array, at: Array) -> Array:
    """An item with probability proportional to its weight: the first at which the running sum exceeds ``at`` times the whole.

    weights: [num_items], at least 0 and not all 0; at: (), uniform in (0, 1); returns int32 ().
    """
    return _pick_helper(weights, at)
