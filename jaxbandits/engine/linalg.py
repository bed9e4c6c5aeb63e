"""Small vectors and matrices, one a lane, for all lanes at once with lanes on the last axis.

A symmetric matrix is packed: its lower triangle, column by column, float32 [dim (dim + 1) / 2].
"""

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine.batching import elementwise, lanes_last
from jaxbandits.engine.fence import fence


@functools.lru_cache(maxsize=64)
def places(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each number of a packed matrix, int [dim (dim + 1) / 2]."""
    column, row = np.triu_indices(dim)
    return row, column


def packed_size(dim: int) -> int:
    """The numbers of a packed matrix."""
    return dim * (dim + 1) // 2


def diagonal(dim: int) -> np.ndarray:
    """Where the diagonal is in a packed matrix."""
    row, column = places(dim)
    return np.flatnonzero(row == column)


def _outer(x: Array) -> Array:
    row, column = places(x.shape[0])
    return fence(lambda x: x[row] * x[column])(x)


_outer_helper = lanes_last(_outer)


def outer(x: Array) -> Array:
    """The packed matrix x x'. x: [dim]."""
    return _outer_helper(x)


def unpacked(packed: Array, dim: int) -> Array:
    """The whole matrix, [dim, dim]; for metrics and tests."""
    row, column = places(dim)
    where = np.zeros((dim, dim), np.int32)
    where[row, column] = where[column, row] = np.arange(len(row))
    return packed[where]


MOST_DIM = 128
"""The most features of an action: every round factors a matrix of that size."""

TINY = np.float32(1e-30)
"""What stands for 0 where something is divided by it."""

_TERMS = 64
"""The most terms of a sum that is written out. A reduction over an axis before that of the lanes is not vectorised over the lanes."""


def _added(terms: list[Array]) -> Array:
    """The sum, by halves: short chains, and little rounding."""
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) & ~1 :]
    return terms[0]


def _total(x: Array) -> Array:
    while len(x) > _TERMS:  # by halves, each a loop over all lanes
        half = len(x) // 2
        x = fence(lambda x, half=half: jnp.concatenate([x[:half] + x[half : 2 * half], x[2 * half :]]))(x)
    return fence(lambda x: _added(list(x)))(x)


_total_helper = lanes_last(_total)


def total(x: Array) -> Array:
    """The sum, in an order that does not depend on how many lanes there are. x: [dim] or [dim, ...]."""
    return _total_helper(x)


def _dot(a: Array, b: Array) -> Array:
    if len(a) > _TERMS:
        return _total(fence(lambda a, b: a * b)(a, b))
    return fence(lambda a, b: _added([x * y for x, y in zip(a, b, strict=True)]))(a, b)


_dot_helper = lanes_last(_dot)


def dot(a: Array, b: Array) -> Array:
    """The inner product. a, b: [dim] -> ()."""
    return _dot_helper(a, b)


def _times(table: Array, x: Array) -> Array:
    if len(x) > _TERMS:
        return _total(jnp.swapaxes(fence(lambda table, x: table * x[None])(table, x), 0, 1))
    return fence(lambda table, x: _added([table[:, i] * x[i][None] for i in range(len(x))]))(table, x)


_times_helper = lanes_last(_times)


def times(table: Array, x: Array) -> Array:
    """The product of a table of rows with a vector. table: [rows, dim]; x: [dim] -> [rows]."""
    return _times_helper(table, x)


def _row(table: Array, item: Array) -> Array:
    def kernel(table, item):
        dim = table.shape[1]
        if table.ndim == 2 and item.ndim == 0:
            return lax.dynamic_index_in_dim(table, item, keepdims=False)
        if table.ndim == 2:  # shared by all lanes
            return table.at[item].get(mode="promise_in_bounds").T
        lane = lax.broadcasted_iota(jnp.int32, (dim, table.shape[-1]), 1)
        place = (item[None] * dim + lax.broadcasted_iota(jnp.int32, lane.shape, 0)) * table.shape[-1] + lane
        return table.reshape(-1).at[place].get(mode="promise_in_bounds")

    return fence(kernel)(table, item)


_row_helper = lanes_last(_row, shared=(0,))


def row(table: Array, item: Array) -> Array:
    """``table[item]``. table: [rows, dim]; item: int32 (), in bounds -> [dim]."""
    return _row_helper(table, item)


def inverse_root(square: Array) -> Array:
    """1 / sqrt(square) of numbers of any shape, of tiny ones some large number.

    In two kernels: within one the compiler makes the two a reciprocal square root, whose last bits depend on how many lanes there are.
    """
    root = fence(lambda square: jnp.sqrt(jnp.maximum(square, TINY)))(square)
    return fence(lambda root: 1.0 / root)(root)


def _rows_normalised(table: Array) -> Array:
    def square(table):
        columns = [table[:, i] for i in range(table.shape[1])]
        return _added([x * x for x in columns])

    long = table.shape[1] > _TERMS
    squares = _total(fence(lambda table: jnp.swapaxes(table * table, 0, 1))(table)) if long else fence(square)(table)
    return fence(lambda table, inverse: table * inverse[:, None])(table, inverse_root(squares))


_rows_helper = lanes_last(_rows_normalised)


def rows_normalised(table: Array) -> Array:
    """The table with every row at length 1. table: [rows, dim]."""
    return _rows_helper(table)


inverse_root_each = lanes_last(inverse_root)
"""``inverse_root`` in the code of one lane."""


@elementwise
def plus(a: Array, b: Array) -> Array:
    """The sum of two arrays of a lane."""
    return a + b


@elementwise
def scaled(x: Array, factor: Array) -> Array:
    """A vector times a number. x: [dim]; factor: ()."""
    return x * factor


@elementwise
def along(point: Array, direction: Array, distance: Array) -> Array:
    """The point moved by so many times the direction. point, direction: [dim]; distance: ()."""
    return point + distance * direction


def normalised(x: Array) -> Array:
    """The vector at length 1; 0 stays 0. x: [dim]."""
    return scaled(x, inverse_root_each(dot(x, x)))


@elementwise
def _bounded(x):
    return jnp.where(jnp.abs(x) < _FAR, x, 0.0)  # what is no number is not near either


_FAR = np.float32(1e15)


@elementwise
def _cut(x, square, inverse, radius):
    return jnp.where(square > radius * radius, x * (radius * inverse), x)


def within(x: Array, radius: float | Array = 1.0) -> Array:
    """The nearest vector of a ball about 0. x: [dim]; radius: (). Coordinates that are no numbers, or above 1e15, count as 0."""
    x = _bounded(x)
    square = dot(x, x)
    return _cut(x, square, inverse_root_each(square), jnp.asarray(radius, jnp.float32))
