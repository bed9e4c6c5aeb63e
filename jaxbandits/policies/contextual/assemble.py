"""What contextual policies share: the sums of a regression, the record of a user, and the choice by an optimistic index."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Round
from jaxbandits.engine import factor, lanes, linalg, sums
from jaxbandits.links import Link
from jaxbandits.mechanisms.randomiser import inside
from jaxbandits.mechanisms.regression import Statistics, growth


class Sums(NamedTuple):
    """Sums of what users sent, exact to 1e8 rounds: those since the last settling, and those before, compensated."""

    matrix: Array  # [dim (dim + 1) / 2], float32: of x x', packed
    vector: Array  # [dim], float32: of multiples of x
    folded_matrix: sums.Sum
    folded_vector: sums.Sum


class Regressed(NamedTuple):
    """A state that is a regression and nothing else."""

    sums: Sums


def start(dim: int) -> Sums:
    """No record."""
    shapes = ((linalg.packed_size(dim),), (dim,))
    matrix, vector = (jnp.zeros(shape, jnp.float32) for shape in shapes)
    return Sums(matrix, vector, *(sums.zero(shape) for shape in shapes))


def added(state: Sums, matrix: Array, vector: Array) -> Sums:
    """The sums with one more record."""
    return state._replace(matrix=linalg.plus(state.matrix, matrix), vector=linalg.plus(state.vector, vector))


def matrix_of(state: Sums) -> Array:
    """The sum of all x x', packed."""
    return linalg.plus(state.folded_matrix.high, state.matrix)


def vector_of(state: Sums) -> Array:
    """The sum of all vectors, [dim]."""
    return linalg.plus(state.folded_vector.high, state.vector)


def settle(state: Sums) -> Sums:
    """For ``Policy.settle``: moves the plain sums into the compensated ones before they lose small terms."""
    return Sums(
        matrix=jnp.zeros_like(state.matrix),
        vector=jnp.zeros_like(state.vector),
        folded_matrix=sums.add(state.folded_matrix, state.matrix),
        folded_vector=sums.add(state.folded_vector, state.vector),
    )


def settle_inside(state: Any) -> Any:
    """``settle`` for a state with a field ``sums``."""
    return state._replace(sums=settle(state.sums))


# ---- the user ----------------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """What a user knows after the round."""

    features: Array  # [dim], of the action
    reward: Array  # ()


def record(round_: Round, action: Array, reward: Array) -> Record:
    """The raw record of the user of a round."""
    return Record(features=linalg.row(round_.context, action[0]), reward=jnp.asarray(reward, jnp.float32))


def cut(raw: Record, link: Link) -> Record:
    """The record within the bounds that a claim assumes: features of length at most 1, and the reward in its range."""
    return Record(features=linalg.within(raw.features), reward=inside(raw.reward, link.low, link.high))


def statistics(one: Record, *factors: Array) -> Statistics:
    """What a record adds to a regression: x x', and x times each factor."""
    return Statistics(matrix=linalg.outer(one.features), vectors=tuple(linalg.scaled(one.features, factor) for factor in factors))


# ---- the server --------------------------------------------------------------------------------------------------------


class Confidence(NamedTuple):
    """What an index in round t is made of: the ridge, and the factor of the width; both float32 ()."""

    ridge: Array
    width: Array


@lanes.elementwise
def _optimistic(mean: Array, square: Array, width: Array) -> Array:
    return mean + width * jnp.sqrt(jnp.maximum(square, 0.0))


@lanes.elementwise
def _optimistic_without_root(mean: Array, square: Array, width: Array) -> Array:
    return mean + width * square


def choose(matrix: Array, vector: Array, features: Array, at: Confidence, *, root: bool = True) -> Array:
    """The action of the largest index: x' theta + width |x| in the norm of the inverse of the regularised matrix; int32 [1].

    Without ``root`` the width is that of the square of the norm. Ties go to the lowest number.
    """
    known = factor.forms(matrix, at.ridge, features, vector)
    return lanes.top_k((_optimistic if root else _optimistic_without_root)(known.mean, known.square, at.width), 1)


def noise_bound(dim: int, horizon: int, fail_prob: ArrayLike, sigma: Array, regulariser: ArrayLike) -> Callable[[Array], Array]:
    """For each round t a bound on the operator norm of the noise that fails with probability at most fail_prob over all rounds.

    At least half of the regulariser: a larger bound holds too, and keeps the ridge positive without noise.
    """
    factor = sigma * growth(dim, horizon, fail_prob)
    least = 0.5 * jnp.asarray(regulariser, jnp.float32)
    return lambda t: jnp.maximum(factor * jnp.sqrt(t.astype(jnp.float32)), least)


def checked(dim: int, fail_prob: ArrayLike, **positive: ArrayLike) -> int:
    """The number of features, with a failure probability and positive numbers checked.

    Raises:
      ValueError: if one is out of range.
    """
    validate.scalar("fail_prob", fail_prob, "from 1e-12 to below 1", lambda x: 1e-12 <= x < 1)
    for name, value in positive.items():
        validate.scalar(name, value, "a number from 1e-9 to 1e9", lambda x: 1e-9 <= x <= 1e9)
    return validate.size("dim", dim, 1, linalg.MOST_DIM)
