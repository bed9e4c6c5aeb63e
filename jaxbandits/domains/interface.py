"""What a domain is: a convex set with a projection and a barrier."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.engine import lanes
from jaxbandits.recipes import Recipe, reduced


class Barrier(NamedTuple):
    """A self-concordant barrier R of a domain.

    Attributes:
      parameter: nu, such that R is nu-self-concordant.
      root: (point, ridge, u) -> A u and A^-T u for a matrix A with A A' = (R''(point) + ridge I)^-1. Points point + A u with |u| <= 1
        lie in the domain.
      minimise: (g, q) -> the point y of least <g, y> + q |y|^2 / 2 + R(y); q at least 0.
    """

    parameter: float
    root: Callable[[Array, Array, Array], tuple[Array, Array]]
    minimise: Callable[[Array, Array], Array]


class Domain(NamedTuple):
    """A convex set with an inside.

    Attributes:
      dim: number of coordinates.
      centre: where learners start, a tuple of dim numbers.
      inner_radius: r, of the largest ball about the centre in the set.
      outer_radius: R, the largest distance of a point of the set from the centre.
      norm: the largest distance of a point of the set from 0.
      project: point -> the nearest point of the set.
      contains: point -> bool (), up to rounding.
      best: g -> a point of least <g, x>.
      barrier: for the learners that need one.
      recipe: for pickling; leave it out.
    """

    dim: int
    centre: tuple[float, ...]
    inner_radius: float
    outer_radius: float
    norm: float
    project: Callable[[Array], Array]
    contains: Callable[[Array], Array]
    best: Callable[[Array], Array]
    barrier: Barrier
    recipe: Recipe | None = None

    def __reduce__(self):
        """Pickled by its recipe."""
        return reduced(self)


BISECTIONS = 32
"""Of an interval: float32 has no more digits."""

ROUNDING = 1e-5
"""How far, relative to the set, float32 may put a point outside."""


def check(domain: Any) -> Domain:
    """The domain, if it is one.

    Args:
      domain: what a user gave for it.

    Raises:
      ValueError: if not, or if a field has not the right kind or range.
    """
    if not isinstance(domain, Domain):
        raise ValueError(f"domain must be a Domain, such as domains.ball(dim=2); got {domain!r}")
    validate.size("domain.dim", domain.dim, 1, MOST_DIM)
    for field in ("inner_radius", "outer_radius", "norm"):
        validate.positive(f"domain.{field}", getattr(domain, field))
    if len(domain.centre) != domain.dim:
        raise ValueError(f"domain.centre must have domain.dim, {domain.dim}, numbers; got {len(domain.centre)}")
    for field in ("project", "contains", "best"):
        validate.callable_(f"domain.{field}", getattr(domain, field), "a function")
    return domain


MOST_DIM = 1024
"""The most coordinates of a point."""


def centre_of(domain: Domain) -> Array:
    """The centre, float32 [dim]."""
    return jnp.asarray(np.asarray(domain.centre, np.float32))


@lanes.elementwise
def _spread(point, centre, kept):
    return centre + (point - centre) / kept


@lanes.elementwise
def _pulled(point, centre, kept):
    return centre + (point - centre) * kept


def shrunk(domain: Domain, point: Array, shrink: Array | float) -> Array:
    """The nearest point of the domain made smaller by the factor 1 - shrink about its centre. point: [dim]; shrink: () in [0, 1]."""
    kept = jnp.maximum(1.0 - jnp.asarray(shrink, jnp.float32), jnp.float32(1e-6))
    centre = centre_of(domain)
    return _pulled(domain.project(_spread(point, centre, kept)), centre, kept)
