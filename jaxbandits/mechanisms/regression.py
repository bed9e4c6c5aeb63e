"""Local randomisers of what one user adds to a regression: the matrix x x' and vectors that are multiples of x.

A user has features x and a reward y, and sends x x', y x, and for a generalised linear model r x with a residual r, all with normal noise.
The matrix is packed: its lower triangle, column by column, [dim (dim + 1) / 2], so that what is sent is symmetric.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Draws
from jaxbandits.engine import draws, linalg
from jaxbandits.mechanisms.randomiser import gaussian

ONE_RECORD = "any two records (features, reward) of one user, one round; messages, not the action that the user sees"
"""The neighbouring relation of a local contextual policy."""


class Statistics(NamedTuple):
    """What a user adds to a regression, or sends about it.

    Attributes:
      matrix: [dim (dim + 1) / 2]: x x'.
      vectors: each [dim]: multiples of x.
    """

    matrix: Array
    vectors: tuple[Array, ...]


class Release(NamedTuple):
    """A local mechanism for Statistics.

    Attributes:
      draws: what ``send`` needs, by name.
      send: (statistics, draws) -> message.
      claim: what the mechanism says about privacy.
    """

    draws: Draws
    send: Callable[[Statistics, Mapping[str, Array]], Statistics]
    claim: Claim


NAMES = ("matrix", "vector", "gradient")


def joint_sensitivity(bound: float) -> float:
    """The L2 sensitivity of (upper triangle of x x', v) for |x| <= 1 and v = x c with |c| <= bound.

    sqrt(2) (1 + bound^2 / 2) if bound^2 <= 2, else 2 bound; attained in two dimensions or more. For several vectors c_i x put the
    root of the largest sum of c_i^2. 2.121 at bound 1.

    Args:
      bound: at least 0.

    Raises:
      ValueError: if it is not.
    """
    validate.scale("bound", bound)
    return math.sqrt(2) * (1 + bound**2 / 2) if bound**2 <= 2 else 2 * float(bound)


def symmetric_gaussian(
    *, dim: int, num_vectors: int, sensitivity: float, sigma: ArrayLike, epsilon: ArrayLike, delta: ArrayLike
) -> Release:
    """Adds normal noise to the packed matrix and the vectors, in one joint release.

    (epsilon, delta)-private for records that are at most ``sensitivity`` apart in L2, counting the packed matrix, if sigma is at least
    ``calibrate.analytic_sigma(epsilon, delta, sensitivity)``. The caller, who chooses sigma, answers for that.

    Args:
      dim: number of features.
      num_vectors: how many vectors, up to 2.
      sensitivity: L2 distance of two records.
      sigma: standard deviation.
      epsilon: privacy level, positive.
      delta: strictly between 0 and 1.

    Raises:
      ValueError: if a value is out of range.
    """
    dim = validate.size("dim", dim, 1, linalg.MOST_DIM)
    num_vectors = validate.size("num_vectors", num_vectors, 1, len(NAMES) - 1)
    names = NAMES[: 1 + num_vectors]
    noise = gaussian(shape=(), sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta)
    deviation = jnp.asarray(sigma, jnp.float32)

    def send(statistics, z):
        parts = (statistics.matrix, *statistics.vectors)
        matrix, *vectors = (linalg.along(part, z[name], deviation) for name, part in zip(names, parts, strict=True))
        return Statistics(matrix=matrix, vectors=tuple(vectors))

    shapes = ((linalg.packed_size(dim),), *[(dim,)] * num_vectors)
    return Release(
        draws={name: draws.normal(shape) for name, shape in zip(names, shapes, strict=True)},
        send=send,
        claim=dataclasses.replace(noise.claim, relation=ONE_RECORD),
    )


def growth(dim: int, horizon: int, fail_prob: ArrayLike) -> Array:
    """Times sigma sqrt(t), this bounds the operator norm of a sum of t symmetric Gaussian matrices, for all t up to the horizon.

    4 sqrt(dim) + 2 log(2 horizon / fail_prob); it fails with probability at most fail_prob. From the code published with arXiv
    2006.00701.
    """
    return np.float32(4 * dim**0.5 + 2 * math.log(2 * horizon)) - 2.0 * jnp.log(jnp.asarray(fail_prob, jnp.float32))
