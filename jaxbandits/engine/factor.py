"""Small symmetric systems, one a lane, solved for all lanes at once with lanes on the last axis.

Regressions of a bandit have few unknowns, and a matrix library that factors one small matrix after the other spends its time on calls.
Here every step of a Cholesky factorisation is one loop over all lanes. Symmetric matrices are packed, see ``linalg``.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine import dense
from jaxbandits.engine.batching import lanes_last
from jaxbandits.engine.fence import fence
from jaxbandits.engine.linalg import TINY, diagonal, inverse_root, places

_WRITTEN_OUT = 24
"""The most unknowns of a factorisation that is written out: the time to compile it grows with their square."""


def _columns(packed: Array, ridge: Array, border: Array) -> list[Array]:
    """The columns of the Cholesky factor of a bordered matrix [V + ridge I; border].

    Column j has dim - j + rows entries: those of the factor from its diagonal on, and then the border's, which are the rows of
    border L^-T: every row solved forward. In each the first entry is the root of the pivot.
    """
    dim = border.shape[1]
    start = np.concatenate([[0], np.cumsum(np.arange(dim, 0, -1))])
    columns: list[Array] = []
    for j in range(dim):

        def reduced(mine, ridge, side, *before, j=j):
            column = jnp.concatenate([mine[:1] + ridge[None], mine[1:], side], axis=0)
            for i, earlier in enumerate(before):
                column = column - earlier[j - i :] * earlier[j - i][None]
            return column

        column = fence(reduced)(packed[start[j] : start[j + 1]], ridge, border[:, j], *columns)
        inverse = inverse_root(column[0])  # once a lane, not for every row
        columns.append(fence(lambda column, inverse: column * inverse[None])(column, inverse))
    return columns


def _margin(packed: Array, ridge: Array, columns: list[Array]) -> Array:
    """How far the smallest pivot is from what rounding makes of 0: not above 0 if the matrix is not positive definite in float32."""
    dim = len(columns)
    where, tolerance = diagonal(dim), np.float32(2.0**-22)

    def kernel(packed, ridge, *roots):
        margin = jnp.full_like(ridge, jnp.inf)
        for j, root in enumerate(roots):
            # A pivot that was not positive left a root that is not either.
            margin = jnp.minimum(margin, root * jnp.abs(root) - tolerance * jnp.abs(packed[where[j]] + ridge))
        return margin

    return fence(kernel)(packed, ridge, *(column[0] for column in columns))


class Forms(NamedTuple):
    """What a regression knows about some directions x, with M = V + ridge I and estimate M^-1 b."""

    mean: Array  # [rows]: x' M^-1 b
    square: Array  # [rows]: x' M^-1 x
    ridge: Array  # (): that was needed


def _attempt(packed: Array, ridge: Array, border: Array) -> tuple[list[Array], Array]:
    """The columns of the border, solved forward, and whether the matrix is not positive definite."""
    if border.shape[1] > _WRITTEN_OUT:
        solved, bad = dense.over_lanes(dense.forward, packed, ridge, border)
        return [solved[:, j] for j in range(border.shape[1])], bad
    columns = _columns(packed, ridge, border)
    return [column[-len(border) :] for column in columns], _margin(packed, ridge, columns) <= 0


def _raised(packed: Array, ridge: Array, dim: int) -> Array:
    where = diagonal(dim)
    return fence(lambda packed, ridge: jnp.maximum(2.0 * ridge, 1e-6 * (1.0 + jnp.max(jnp.abs(packed[where]), axis=0))))(packed, ridge)


def _forms(packed: Array, ridge: Array, rows: Array, vector: Array) -> Forms:
    num_rows, border = rows.shape[0], jnp.concatenate([rows, vector[None]], axis=0)

    def attempt(state):
        _, _, ridge = state
        tails, bad = _attempt(packed, ridge, border)
        mean = fence(lambda *tails: sum(tail[:-1] * tail[-1][None] for tail in tails))(*tails)
        square = fence(lambda *tails: sum(tail[:-1] * tail[:-1] for tail in tails))(*tails)
        # A lane raises its own ridge only, so that what it gets does not depend on the lanes beside it.
        return lax.complex(mean, square), bad, jnp.where(bad, _raised(packed, ridge, len(vector)), ridge)

    nothing = jnp.zeros((num_rows, *packed.shape[1:]), jnp.complex64)
    found, _, ridge = lax.while_loop(lambda state: jnp.any(state[1]), attempt, (nothing, jnp.ones(ridge.shape, bool), ridge))
    return Forms(mean=fence(lax.real)(found), square=fence(lax.imag)(found), ridge=ridge)


_forms_helper = lanes_last(_forms)


def forms(packed: Array, ridge: Array, rows: Array, vector: Array) -> Forms:
    """Estimates and squared widths of some directions.

    If V + ridge I is not positive definite in float32, as a noisy V may be, the ridge is doubled until it is.

    Args:
      packed: [dim (dim + 1) / 2], V.
      ridge: (), at least 0.
      rows: [rows, dim], the directions x.
      vector: [dim], b.
    """
    return _forms_helper(packed, jnp.asarray(ridge, jnp.float32), rows, vector)


def _solve(packed: Array, ridge: Array, vector: Array) -> Array:
    if len(vector) > _WRITTEN_OUT:
        return dense.over_lanes(dense.solve, packed, ridge, vector)
    columns = _columns(packed, ridge, vector[None])
    return _back(columns, [column[-1] for column in columns])


def _back(columns: list[Array], right: list[Array]) -> Array:
    """L^-T right, by back substitution. The columns of L may have a border, which is not looked at."""
    dim = len(columns)
    solved: list[Array] = [right[-1]] * dim
    for j in reversed(range(dim)):

        def kernel(value, column, *later):
            for i, x in enumerate(later, 1):
                value = value - column[i] * x
            return value / column[0]

        solved[j] = fence(kernel)(right[j], columns[j], *solved[j + 1 :])
    return jnp.stack(solved)


_solve_helper = lanes_last(_solve)


def solve(packed: Array, ridge: Array, vector: Array) -> Array:
    """(V + ridge I)^-1 b for a matrix that is positive definite. packed: [dim (dim + 1) / 2]; ridge: (); vector: [dim] -> [dim]."""
    return _solve_helper(packed, jnp.asarray(ridge, jnp.float32), vector)


_NEWTON = 24
"""The most steps of a projection."""


def _project_in_norm(packed: Array, ridge: Array, point: Array, radius: Array) -> Array:
    dim = point.shape[0]
    if dim > _WRITTEN_OUT:
        return dense.over_lanes(dense.project_in_norm, packed, ridge, point, radius)
    row, column = places(dim)

    def pulled(packed, ridge, point):  # (V + ridge I) point
        rows = [jnp.zeros_like(point[0])] * dim
        for k, (i, j) in enumerate(zip(row, column, strict=True)):
            rows[i] = rows[i] + packed[k] * point[j]
            if i != j:
                rows[j] = rows[j] + packed[k] * point[i]
        return jnp.stack(rows) + ridge[None] * point

    right = fence(pulled)(packed, ridge, point)

    def outside(found):
        return jnp.sum(found * found, axis=0) > (radius * np.float32(1 + 1e-5)) ** 2

    def step(state):
        count, more, found = state
        out = outside(found)
        columns = _columns(packed, ridge + more, right[None])
        forward = [c[-1] for c in columns]
        here = _back(columns, forward)
        length = jnp.sqrt(jnp.sum(here * here, axis=0))
        again = _columns(packed, ridge + more, here[None])
        square = sum(c[-1] * c[-1] for c in again)
        # Newton's method for 1 / |found| = 1 / radius in the multiplier, from below: it never goes too far.
        larger = more + length * length / jnp.maximum(square, TINY) * (length - radius) / radius
        return count + 1, jnp.where(out, jnp.maximum(larger, more), more), jnp.where(out[None], here, found)

    start = jnp.zeros((), jnp.int32), jnp.zeros_like(ridge), point
    found = lax.while_loop(lambda state: (state[0] < _NEWTON) & jnp.any(outside(state[2])), step, start)[2]
    return fence(lambda found: jnp.where(outside(found), radius / jnp.sqrt(jnp.sum(found * found, axis=0)), 1.0)[None] * found)(found)


_project_helper = lanes_last(_project_in_norm)


def project_in_norm(packed: Array, ridge: Array, point: Array, radius: Array) -> Array:
    """The point of a ball about 0 that is nearest in the norm of V + ridge I.

    Args:
      packed: [dim (dim + 1) / 2], V.
      ridge: (), at least 0, such that the sum is positive definite.
      point: [dim].
      radius: (), positive.
    """
    return _project_helper(packed, jnp.asarray(ridge, jnp.float32), point, jnp.asarray(radius, jnp.float32))


def _roots(packed: Array, x: Array) -> tuple[Array, Array]:
    dim = x.shape[0]
    if dim > _WRITTEN_OUT:
        return dense.over_lanes(dense.roots, packed, x)
    columns = _columns(packed, jnp.zeros(packed.shape[1:], jnp.float32), jnp.zeros((0, dim, *packed.shape[1:]), jnp.float32))
    row, column = places(dim)
    flat = jnp.concatenate(columns)

    def forward(flat, x):  # L x
        return jnp.stack([sum(flat[k] * x[column[k]] for k in np.flatnonzero(row == i)) for i in range(dim)])

    return fence(forward)(flat, x), _back(columns, list(x))


_roots_helper = lanes_last(_roots)


def roots(packed: Array, x: Array) -> tuple[Array, Array]:
    """L x and L^-T x, with L the Cholesky factor of a positive definite matrix. packed: [dim (dim + 1) / 2]; x: [dim] -> [dim], [dim]."""
    return _roots_helper(packed, x)
