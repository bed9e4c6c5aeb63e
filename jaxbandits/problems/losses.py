"""Losses of bandit convex optimisation: what a point costs the user of a round.

Losses are fixed in advance: they depend on the round and on random numbers, not on what was played. The users of all rounds have one best
point in common, and regret is measured against it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws, PyTree
from jaxbandits.domains import Domain, check
from jaxbandits.domains.interface import centre_of
from jaxbandits.engine import draws, lanes, linalg


class Losses(NamedTuple):
    """A law of convex losses on a domain. Your own is a Losses with these fields.

    Attributes:
      dim: number of coordinates of a point.
      setup_draws: what setup needs, drawn once for each seed.
      draws: what a loss needs in each round.
      setup: setup draws -> target: what the losses of this seed have in common.
      loss: (target, t, point float32 [dim], draws) -> loss of the user of round t, float32 ().
      excess: (target, t, point) -> its expectation, less that at the best point, float32 ().
      best: target -> the best point, [dim].
      bound: B: losses are of size at most B; a private policy cuts them to that.
      lipschitz: G: they change by at most G times the distance.
      smoothness: largest curvature; inf if they have corners.
      strong_convexity: smallest curvature; 0 if there is none.
    """

    dim: int
    setup_draws: Draws
    draws: Draws
    setup: Callable[[Mapping[str, Array]], PyTree]
    loss: Callable[[PyTree, Array, Array, Mapping[str, Array]], Array]
    excess: Callable[[PyTree, Array, Array], Array]
    best: Callable[[PyTree], Array]
    bound: float
    lipschitz: float
    smoothness: float
    strong_convexity: float


def check_losses(losses: Any) -> Losses:
    """The losses, if they are Losses.

    Raises:
      ValueError: if not, or if a field has not the right kind or range.
    """
    if not isinstance(losses, Losses):
        raise ValueError(f"losses must be Losses, such as losses.quadratic(domain=domains.ball(dim=2)); got {losses!r}")
    for field in ("setup", "loss", "excess", "best"):
        validate.callable_(f"losses.{field}", getattr(losses, field), "a function")
    for field in ("bound", "lipschitz"):
        validate.positive(f"losses.{field}", getattr(losses, field))
    for field in ("smoothness", "strong_convexity"):
        validate.scalar(f"losses.{field}", getattr(losses, field), "a number, at least 0", lambda x: x >= 0)
    return losses


# ---- what moves from round to round ------------------------------------------------------------------------------------


class Path(NamedTuple):
    """A displacement of length at most 1 in each round, 0 on average.

    Attributes:
      draws: dim -> what it needs in each round.
      at: (direction of this seed [dim], t, draws) -> displacement, [dim].
      expected: (direction, t) -> its expectation.
    """

    draws: Callable[[int], Draws]
    at: Callable[[Array, Array, Mapping[str, Array]], Array]
    expected: Callable[[Array, Array], Array]


independent = Path(
    draws=lambda dim: {"path": draws.normal((dim,))},
    at=lambda direction, t, z: linalg.normalised(z["path"]),
    expected=lambda direction, t: jnp.zeros_like(direction),
)
"""Uniform on the sphere, independent from round to round."""


def alternating(*, period: int = 2) -> Path:
    """To one side for half a period, and then to the other: a sequence that is fixed in advance.

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


# ---- the usual losses --------------------------------------------------------------------------------------------------


def _share(name: str, value: Any) -> float:
    validate.scalar(name, value, "a number in [0, 1]", lambda x: 0 <= x <= 1)
    return float(value)


class Moving(NamedTuple):
    """A point or a slope of one seed, and the direction in which it moves."""

    at: Array  # [dim]
    side: Array  # [dim], of length 1


def _moving_draws(dim: int) -> Draws:
    return {"target": draws.normal((dim,)), "side": draws.normal((dim,))}


def quadratic(*, domain: Domain, curvature: float = 1.0, reach: float = 0.5, spread: float = 0.25, path: Path = independent) -> Losses:
    """Curvature |x - c_t|^2, with c_t about a point c of each seed: smooth and strongly convex.

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
    reach, spread = _share("reach", reach), _share("spread", spread)
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


class Examples(NamedTuple):
    """The users of one seed, as vectors, and the point that explains them best."""

    users: Array  # [num_users, dim], of length ``scale``
    at: Array  # [dim]


def _examples(domain: Domain, num_users: int, scale: float, reach: float) -> tuple[Draws, Callable[[Mapping[str, Array]], Examples]]:
    away, size = np.float32(reach * domain.inner_radius), np.float32(scale)

    def setup(z):
        users = jax.vmap(linalg.normalised)(z["users"]) * size
        return Examples(users=users, at=centre_of(domain) + away * linalg.normalised(z["target"]))

    return {"users": draws.normal((num_users, domain.dim)), "target": draws.normal((domain.dim,))}, setup


def _met(target: Examples, z: Mapping[str, Array]) -> Array:
    """The vector of the user of the round, one of all with equal chances."""
    count = target.users.shape[0]
    return linalg.row(target.users, jnp.minimum((z["user"] * count).astype(jnp.int32), count - 1))


def logistic(*, domain: Domain, num_users: int = 32, scale: float = 1.0, reach: float = 0.5) -> Losses:
    """log(1 + exp(-y <v, x>)), y = 1 or -1 as a logistic model with parameter w says: smooth.

    v is one of ``num_users`` vectors of each seed, and w, the best point, ``reach`` inner radii from the centre.

    Args:
      domain: where points are.
      num_users: how many vectors.
      scale: their length, positive.
      reach: in [0, 1].

    Raises:
      ValueError: if an argument is out of range.
    """
    setup_draws, setup, scale = _checked_examples(domain, num_users, scale, reach)

    def loss(target, t, point, z):
        v = _met(target, z)
        value = linalg.dot(v, point)
        return jax.nn.softplus(jnp.where(z["label"] < jax.nn.sigmoid(linalg.dot(v, target.at)), -value, value))

    @lanes.elementwise
    def expected(value, truth):
        one = jax.nn.sigmoid(truth)
        here, there = (one * jax.nn.softplus(-x) + (1.0 - one) * jax.nn.softplus(x) for x in (value, truth))
        return here - there

    def excess(target, t, point):
        return _average(expected(linalg.times(target.users, point), linalg.times(target.users, target.at)))

    return Losses(
        dim=domain.dim,
        setup_draws=setup_draws,
        draws={"user": draws.uniform(), "label": draws.uniform()},
        setup=setup,
        loss=loss,
        excess=excess,
        best=lambda target: target.at,
        bound=math.log1p(math.exp(scale * domain.norm)),
        lipschitz=scale,
        smoothness=scale**2 / 4,
        strong_convexity=0.0,
    )


def absolute(*, domain: Domain, num_users: int = 32, scale: float = 1.0, reach: float = 0.5, spread: float = 0.25) -> Losses:
    """|<v, x> - y|, with y about <v, w>: neither smooth nor strongly convex.

    v and w are as for ``logistic``, and y - <v, w> is uniform on [-spread, spread].

    Args:
      domain: where points are.
      num_users: how many vectors.
      scale: their length, positive.
      reach: in [0, 1].
      spread: positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    setup_draws, setup, scale = _checked_examples(domain, num_users, scale, reach)
    validate.positive("spread", spread)
    wide = np.float32(spread)

    def loss(target, t, point, z):
        return jnp.abs(linalg.dot(_met(target, z), point - target.at) - wide * (2.0 * z["label"] - 1.0))

    @lanes.elementwise
    def expected(gone):
        far = jnp.abs(gone)
        return jnp.where(far < wide, gone * gone / (2.0 * wide), far - 0.5 * wide)

    return Losses(
        dim=domain.dim,
        setup_draws=setup_draws,
        draws={"user": draws.uniform(), "label": draws.uniform()},
        setup=setup,
        loss=loss,
        excess=lambda target, t, point: _average(expected(linalg.times(target.users, point - target.at))),
        best=lambda target: target.at,
        bound=scale * (domain.outer_radius + float(reach) * domain.inner_radius) + float(spread),
        lipschitz=scale,
        smoothness=math.inf,
        strong_convexity=0.0,
    )


def _checked_examples(domain: Any, num_users: Any, scale: Any, reach: Any):
    domain = check(domain)
    num_users = validate.size("num_users", num_users, 1, 4096)
    validate.positive("scale", scale)
    return *_examples(domain, num_users, float(scale), _share("reach", reach)), float(scale)


@lanes.lanes_last
def _average(values: Array) -> Array:
    return jnp.mean(values, axis=0)


def noisy(losses: Losses, *, deviation: float) -> Losses:
    """Stochastic losses: every answer with normal noise added, before any for privacy.

    Args:
      losses: the losses without it.
      deviation: standard deviation, at least 0; the bound grows by four of them.

    Raises:
      ValueError: if an argument is out of range.
    """
    losses = check_losses(losses)
    validate.scale("deviation", deviation)
    size = np.float32(deviation)

    def loss(target, t, point, z):
        return losses.loss(target, t, point, z) + size * z["answer"]

    return losses._replace(draws={**losses.draws, "answer": draws.normal()}, loss=loss, bound=losses.bound + 4 * float(deviation))
