"""The box."""

import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from jaxbandits import validate
from jaxbandits.domains.interface import BISECTIONS, MOST_DIM, ROUNDING, Barrier, Domain
from jaxbandits.engine import lanes
from jaxbandits.recipes import remembered


@remembered
def box(*, dim: int, low: float = -1.0, high: float = 1.0) -> Domain:
    """The box [low, high]^dim, with the barrier -sum log(x - low) - sum log(high - x).

    Args:
      dim: number of coordinates.
      low: its lower side, of size at most 1e6.
      high: its upper side, the same, and above low by a thousandth of its size.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = validate.size("dim", dim, 1, MOST_DIM)
    validate.scalar("low", low, "a number from -1e6 to 1e6", lambda x: abs(x) <= 1e6)
    least_high = float(low) + 1e-3 * max(abs(float(low)), 1e-3)  # float32 must tell points of the box apart
    validate.scalar("high", high, f"a number from {least_high:g}, well above low, to 1e6", lambda x: least_high <= x <= 1e6)
    low, high = float(low), float(high)
    least, most, half = np.float32(low), np.float32(high), (high - low) / 2
    slack = np.float32(ROUNDING * (high - low))
    closest = np.float32(1e-6 * (high - low))  # so that rounding does not put a point on a side

    @lanes.elementwise
    def deviation(point, ridge):
        below, above = jnp.maximum(point - least, closest), jnp.maximum(most - point, closest)
        return jnp.sqrt(1.0 / (1.0 / (below * below) + 1.0 / (above * above) + ridge))

    def root(point: Array, ridge: Array, u: Array) -> tuple[Array, Array]:
        scale = deviation(point, ridge)
        return scale * u, u / scale

    @lanes.elementwise
    def minimum(g, q):
        under, over = jnp.full_like(g, least), jnp.full_like(g, most)
        for _ in range(BISECTIONS):
            y = 0.5 * (under + over)
            rising = g + q * y - 1.0 / jnp.maximum(y - least, closest) + 1.0 / jnp.maximum(most - y, closest) > 0
            under, over = jnp.where(rising, under, y), jnp.where(rising, y, over)
        return 0.5 * (under + over)

    return Domain(
        dim=dim,
        centre=((low + high) / 2,) * dim,
        inner_radius=half,
        outer_radius=half * dim**0.5,
        norm=max(abs(low), abs(high)) * dim**0.5,
        project=lambda point: optax.projections.projection_box(point, least, most),
        contains=lambda point: jnp.all((point >= least - slack) & (point <= most + slack)),
        best=lambda g: jnp.where(g > 0, least, most),
        barrier=Barrier(parameter=2.0 * dim, root=root, minimise=lambda g, q: minimum(g, jnp.asarray(q, jnp.float32))),
    )
