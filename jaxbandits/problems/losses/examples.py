"""Losses of a model on the vector of the user who comes."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.domains import Domain, check
from jaxbandits.domains.interface import centre_of
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.problems.losses.interface import Losses, share
from jaxbandits.recipes import remembered


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


@remembered
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
        bound=float(np.logaddexp(0.0, scale * domain.norm)),
        lipschitz=scale,
        smoothness=scale**2 / 4,
        strong_convexity=0.0,
    )


@remembered
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
    return *_examples(domain, num_users, float(scale), share("reach", reach)), float(scale)


def _average(values: Array) -> Array:
    return linalg.total(values) * np.float32(1 / values.shape[0])
