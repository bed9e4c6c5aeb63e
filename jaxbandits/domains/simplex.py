"""The solid simplex."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from jaxbandits import validate
from jaxbandits.domains.interface import MOST_DIM, ROUNDING, Barrier, Domain
from jaxbandits.engine import factor, lanes, linalg
from jaxbandits.engine.fence import fence
from jaxbandits.recipes import remembered

_STEPS = 48
_TINY = np.float32(1e-30)
_MOST = np.float32(1e9)


def _project(point: Array) -> Array:
    inside = jnp.maximum(point, 0.0)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # the library relies on them
        face = optax.projections.projection_simplex(point)
    return jnp.where(linalg.total(inside) <= 1.0, inside, face)


def _minimise(g: Array, q: Array) -> Array:
    """Bisection in the multiplier: y_i solves q y^2 + (g_i + m) y = 1, and 1 / m is what the coordinates leave of 1.

    Shifted by the least g, so that what is close to it is not lost in the rounding of a large one.
    """
    least = fence(lambda g: jnp.min(g, axis=0))(g)
    rest = fence(lambda g, least: g - least[None])(g, least)

    @fence
    def point(rest, m, q):
        a = rest + m[None]
        root = jnp.sqrt(a * a + 4.0 * q[None])
        # Two forms of one number, each without a difference where it is used.
        return jnp.where(a > 0, 2.0 / jnp.maximum(a + root, _TINY), (root - a) / jnp.maximum(2.0 * q, _TINY)[None])

    def halved(i, ends):
        low, high = ends
        m = 0.5 * (low + high)
        much = linalg.total(point(rest, m, q)) + 1.0 / jnp.maximum(m - least, _TINY) > 1.0
        return jnp.where(much, m, low), jnp.where(much, high, m)

    low = jnp.where(q > 0, 1.0 + least, jnp.maximum(1.0 + least, 0.0))
    high = np.float32(g.shape[0] + 1) + jnp.maximum(least, 0.0)
    low, high = lax.fori_loop(0, _STEPS, halved, (low, high))  # a loop: written out it takes half a minute to compile
    return point(rest, 0.5 * (low + high), q)


_minimise_helper = lanes.lanes_last(_minimise)


@remembered
def simplex(*, dim: int) -> Domain:
    """The solid simplex, x >= 0 with sum at most 1: probabilities of dim + 1 outcomes without the last one.

    Its centre is that of the largest ball inside, and its barrier -sum log x_i - log(1 - sum x).

    Args:
      dim: number of coordinates.

    Raises:
      ValueError: if it is out of range.
    """
    dim = validate.size("dim", dim, 1, MOST_DIM)
    inner = 1 / (dim + dim**0.5)
    to_corner = ((1 - inner) ** 2 + (dim - 1) * inner**2) ** 0.5
    row, column = linalg.places(dim)
    diagonal = (row == column).astype(np.float32)
    closest = np.float32(1e-7)

    @lanes.elementwise
    def hessian(mine, left, ridge, on_diagonal):
        mine, left = jnp.maximum(mine, closest), jnp.maximum(left, closest)
        return on_diagonal * (1.0 / (mine * mine) + ridge) + 1.0 / (left * left)

    def root(point: Array, ridge: Array, u: Array) -> tuple[Array, Array]:
        packed = hessian(point[row], 1.0 - linalg.total(point), ridge, jnp.asarray(diagonal))
        forward, back = factor.roots(packed, u)
        return back, forward

    def best(g: Array) -> Array:
        corner = jnp.arange(dim, dtype=jnp.int32) == jnp.argmin(g)
        return jnp.where(corner & (g < 0), 1.0, 0.0).astype(jnp.float32)

    return Domain(
        dim=dim,
        centre=(inner,) * dim,
        inner_radius=inner,
        outer_radius=max(to_corner, inner * dim**0.5),
        norm=1.0,
        project=_project,
        contains=lambda point: jnp.all(point >= -np.float32(ROUNDING)) & (jnp.sum(point) <= np.float32(1 + ROUNDING)),
        best=best,
        barrier=Barrier(
            parameter=dim + 1.0,
            root=root,
            minimise=lambda g, q: _minimise_helper(jnp.clip(g, -_MOST, _MOST), jnp.asarray(q, jnp.float32)),
        ),
    )
