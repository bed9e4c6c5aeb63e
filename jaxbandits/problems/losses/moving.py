"""Losses about a point or a slope that moves from round to round."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.domains import Domain, check
from jaxbandits.domains.interface import centre_of
from jaxbandits.engine import draws, linalg
from jaxbandits.problems.losses.interface import Losses, share
from jaxbandits.recipes import Recipe, reduced, remembered


class Path(NamedTuple):
    """A displacement of length at most 1 in each round, 0 on average.

    Attributes:
      draws: dim -> what it needs in each round.
      at: (direction of this seed [dim], t, draws) -> displacement, [dim].
      expected: (direction, t) -> its expectation.
      recipe: for pickling; leave it out.
    """

    draws: Callable[[int], Draws]
    at: Callable[[Array, Array, Mapping[str, Array]], Array]
    expected: Callable[[Array, Array], Array]
    recipe: Recipe | None = None

    def __reduce__(self):
        """Pickled by its recipe."""
        return reduced(self)


@remembered
def _independent() -> Path:
    return Path(
        draws=lambda dim: {"path": draws.normal((dim,))},
        at=lambda direction, t, z: linalg.normalised(z["path"]),
        expected=lambda direction, t: jnp.zeros_like(direction),
    )


independent = _independent()
"""Uniform on the sphere, independent from round to round."""


@remembered
def alternating(*, period: int = 2) -> Path:
    """To one side for half a period, and then to the other: a sequence that is fixed in advance.

    The best point is that of whole periods: in between, and with a period that is not short, another one may be better so far.

    Args:
      period: an even number of rounds.

    Raises:
      ValueError: if it is not.
    """
    half = validate.size("period", period, 2, validate.MOST_ROUNDS) // 2
    if period % 2:
        raise ValueError(f"period must be an even number of rounds; got {period}")

    def at(direction, t, z=None):
        side = 1 - 2 * (((t - 1) // half) % 2)
        return direction * side.astype(jnp.float32)

    return Path(draws=lambda dim: {}, at=at, expected=at)


def _path(path: Any) -> Path:
    if not isinstance(path, Path):
        raise ValueError(f"path must be a Path, such as losses.independent; got {path!r}")
    return path


class Moving(NamedTuple):
    """A point or a slope of one seed, and the direction in which it moves."""

    at: Array  # [dim]
    side: Array  # [dim], of length 1


def _moving_draws(dim: int) -> Draws:
    return {"target": draws.normal((dim,)), "side": draws.normal((dim,))}


@remembered
def quadratic(*, domain: Domain, curvature: float = 1.0, reach: float = 0.5, spread: float = 0.25, path: Path = independent) -> Losses:
    """The losses curvature |x - c_t|^2, with c_t about a point c of each seed: smooth and strongly convex.

    c is ``reach`` inner radii from the centre of the domain, and c_t ``spread`` inner radii from c.

    Args:
      domain: where points are.
      curvature: half of the second derivative, positive.
      reach: at least 0.
      spread: at least 0, with reach at most 1.
      path: how c_t moves, ``losses.independent`` or ``losses.alternating()``.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, path = check(domain), _path(path)
    validate.positive("curvature", curvature)
    reach, spread = share("reach", reach), share("spread", spread)
    if reach + spread > 1:
        raise ValueError(f"reach and spread must have a sum of at most 1; got {reach} and {spread}")
    far, bend = domain.outer_radius + (reach + spread) * domain.inner_radius, np.float32(curvature)
    moved, away = np.float32(spread * domain.inner_radius), np.float32(reach * domain.inner_radius)

    def setup(z):
        return Moving(at=centre_of(domain) + away * linalg.normalised(z["target"]), side=linalg.normalised(z["side"]))

    def loss(target, t, point, z):
        gone = point - target.at - moved * path.at(target.side, t, z)
        return bend * linalg.dot(gone, gone)

    def excess(target, t, point):
        gone = point - target.at
        return bend * (linalg.dot(gone, gone) - 2.0 * moved * linalg.dot(gone, path.expected(target.side, t)))

    return Losses(
        dim=domain.dim,
        setup_draws=_moving_draws(domain.dim),
        draws=path.draws(domain.dim),
        setup=setup,
        loss=loss,
        excess=excess,
        best=lambda target: target.at,
        bound=float(curvature) * far**2,
        lipschitz=2 * float(curvature) * far,
        smoothness=2 * float(curvature),
        strong_convexity=2 * float(curvature),
    )


@remembered
def linear(*, domain: Domain, slope: float = 1.0, spread: float = 0.5, path: Path = independent) -> Losses:
    """<theta_t, x>, with theta_t about a slope theta of each seed.

    Args:
      domain: where points are.
      slope: length of theta, positive.
      spread: distance of theta_t from theta, at least 0.
      path: how theta_t moves.

    Raises:
      ValueError: if an argument is out of range.
    """
    domain, path = check(domain), _path(path)
    validate.positive("slope", slope)
    validate.scale("spread", spread)
    steep, moved = np.float32(slope), np.float32(spread)

    def setup(z):
        return Moving(at=steep * linalg.normalised(z["target"]), side=linalg.normalised(z["side"]))

    def loss(target, t, point, z):
        return linalg.dot(target.at + moved * path.at(target.side, t, z), point)

    def excess(target, t, point):
        return linalg.dot(target.at + moved * path.expected(target.side, t), point - domain.best(target.at))

    return Losses(
        dim=domain.dim,
        setup_draws=_moving_draws(domain.dim),
        draws=path.draws(domain.dim),
        setup=setup,
        loss=loss,
        excess=excess,
        best=lambda target: domain.best(target.at),
        bound=(slope + spread) * domain.norm,
        lipschitz=float(slope + spread),
        smoothness=0.0,
        strong_convexity=0.0,
    )
