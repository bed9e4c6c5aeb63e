"""The Euclidean ball."""

import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from jaxbandits import validate
from jaxbandits.domains.interface import BISECTIONS, MOST_DIM, ROUNDING, Barrier, Domain
from jaxbandits.engine import lanes, linalg
from jaxbandits.recipes import remembered

_MOST = np.float32(1e12)
"""A gradient beyond this leads to the side of the ball whatever it is."""


@remembered
def ball(*, dim: int, radius: float = 1.0) -> Domain:
    """The ball of a radius about 0, with the barrier -log(radius^2 - |x|^2).

    Args:
      dim: number of coordinates.
      radius: from 1e-6 to 1e6.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = validate.size("dim", dim, 1, MOST_DIM)
    validate.scalar("radius", radius, "a number from 1e-6 to 1e6", lambda x: 1e-6 <= x <= 1e6)
    radius = float(radius)
    square = np.float32(radius**2)

    @lanes.elementwise
    def applied(u, point, across, along, inner, square_norm):
        return across * u + (along - across) * inner / jnp.maximum(square_norm, np.float32(1e-30)) * point

    def root(point: Array, ridge: Array, u: Array) -> tuple[Array, Array]:
        size, inner = linalg.dot(point, point), linalg.dot(point, u)
        room = jnp.maximum(square - size, np.float32(1e-6) * square)
        bend = 2.0 / room + ridge  # the eigenvalue of R'' + ridge I across the point; along it there is more
        across, along = linalg.inverse_root_each(bend), linalg.inverse_root_each(bend + 4.0 * size / (room * room))
        return applied(u, point, across, along, inner, size), applied(u, point, 1.0 / across, 1.0 / along, inner, size)

    @lanes.elementwise
    def length(g, q):
        """The s in [0, radius) with q s + 2 s / (radius^2 - s^2) = g: bisection from the solution at q = 0, which is not below."""
        low, high = jnp.zeros_like(g), g * square / (1.0 + jnp.sqrt(1.0 + g * g * square))
        for _ in range(BISECTIONS):
            s = 0.5 * (low + high)
            above = q * s + 2.0 * s / jnp.maximum(square - s * s, np.float32(1e-30)) > g
            low, high = jnp.where(above, low, s), jnp.where(above, s, high)
        return jnp.where(q > 0, 0.5 * (low + high), high)

    @lanes.elementwise
    def against(g, size, s):
        return -s / jnp.maximum(size, np.float32(1e-30)) * g

    @lanes.lanes_last
    def of_size_one(g):
        """Before lengths are squared, which float32 cannot do to tiny or huge ones."""
        return g / jnp.maximum(jnp.max(jnp.abs(g), axis=0), np.float32(1e-30))[None]

    def minimise(g: Array, q: Array) -> Array:
        g = jnp.clip(g, -_MOST, _MOST)
        size = jnp.sqrt(linalg.dot(g, g))
        return against(g, size, length(size, jnp.asarray(q, jnp.float32)))

    return Domain(
        dim=dim,
        centre=(0.0,) * dim,
        inner_radius=radius,
        outer_radius=radius,
        norm=radius,
        project=lambda point: optax.projections.projection_l2_ball(point, radius),
        contains=lambda point: linalg.dot(point, point) <= square * np.float32((1 + ROUNDING) ** 2),
        best=lambda g: against(linalg.normalised(of_size_one(g)), jnp.float32(1.0), jnp.float32(radius)),
        barrier=Barrier(parameter=1.0, root=root, minimise=minimise),
    )
