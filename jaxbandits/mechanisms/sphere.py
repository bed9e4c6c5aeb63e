"""The local randomiser of one vector in a ball: a point of a sphere that leans to its side.

Duchi, Jordan, Wainwright: Minimax Optimal Procedures for Locally Private Estimation, 2018, section 4.2.3.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.mechanisms.randomiser import ANY_TWO, Randomiser, debias_factor


@lanes.elementwise
def _mirrored(point: Array, keep: Array, length: Array) -> Array:
    return jnp.where(keep, point, -point) * length


def ball_to_sphere(*, dim: int, radius: float, epsilon: ArrayLike) -> Randomiser:
    """A point of a sphere for a vector of length at most ``radius``, unbiased.

    The vector is rounded at random to one end of its diameter; then the point is uniform on the half of the sphere about that end with
    probability e^epsilon / (1 + e^epsilon), else on the other. epsilon-private for any two vectors of the ball. The point has length
    radius (e^epsilon + 1) / (e^epsilon - 1) sqrt(pi) Gamma((dim + 1) / 2) / Gamma(dim / 2), about sqrt(dim pi / 2) for a large epsilon,
    which is the noise that is left at inf.

    Args:
      dim: of the vectors.
      radius: their largest length, positive; longer ones are cut.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = validate.size("dim", dim, 1, validate.MOST_ITEMS)
    validate.positive("radius", radius)
    validate.epsilon(epsilon)
    spread = math.sqrt(math.pi) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))
    length = np.float32(radius * spread) * debias_factor(epsilon)
    claim = Claim(status="sound", trust="local", relation=ANY_TWO, sensitivity=f"a ball of radius {radius:.4g}", epsilon=epsilon)
    first = (np.arange(dim) == 0).astype(np.float32)

    def send(vector, z):
        vector = linalg.within(vector, radius)
        size = jnp.sqrt(linalg.dot(vector, vector))
        end = z["sign"] < 0.5 + size / np.float32(2 * radius)
        near = z["half"] < jax.nn.sigmoid(jnp.asarray(epsilon, jnp.float32))
        point = linalg.normalised(z["direction"])
        # A vector of length 0 has every diameter: it is rounded to one of them.
        side = jnp.where(size > 0, linalg.dot(point, vector), linalg.dot(point, jnp.asarray(first)))
        return _mirrored(point, (side >= 0) == (end == near), length)

    numbers = {"sign": draws.uniform(), "half": draws.uniform(), "direction": draws.normal((dim,))}
    return Randomiser(draws=numbers, send=send, claim=claim)
