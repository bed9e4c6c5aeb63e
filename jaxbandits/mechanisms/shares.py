"""Noise in shares: each agent adds one, and only the sum of all is seen, as with secure aggregation.

A Laplace variable is infinitely divisible: it is the sum of n independent differences of two gamma variables of shape 1 / n.
(Goryczka, Xiong: A Comprehensive Comparison of Multiparty Secure Additions with Differential Privacy, 2017.)
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.engine import draws, lanes
from jaxbandits.mechanisms.gamma import TRIES, gamma


class Shares(NamedTuple):
    """How a share is made.

    Attributes:
      draws: what one agent needs for one share.
      make: (scale, draws) -> its share, float32 (). A share alone hides little.
    """

    draws: Draws
    make: Callable[[ArrayLike, Mapping[str, Array]], Array]


@lanes.elementwise
def _difference(first, second, log_u, log_v, scale, shares):
    # A gamma variable of shape a below 1 is one of shape a + 1 times u^(1 / a).
    return scale * (first * jnp.exp(shares * log_u) - second * jnp.exp(shares * log_v))


_logs = lanes.elementwise(jnp.log)


def laplace(*, num_shares: int) -> Shares:
    """Shares of Laplace noise: the sum of ``num_shares`` of them is Laplace with this scale.

    With the scale of an aggregate's sensitivity over epsilon the sum over the agents is epsilon-DP, if all add their shares and nothing
    but the sum is seen. If c of them collude or drop out, what is left is the noise of num_shares - c shares, which is not Laplace.

    Args:
      num_shares: how many agents, from 1 to 4096.

    Raises:
      ValueError: if it is out of range.
    """
    num_shares = validate.size("num_shares", num_shares, 1, validate.MOST_AGENTS)

    def make(scale, z):
        shape = jnp.full(2, 1.0 + 1.0 / num_shares, jnp.float32)
        variables, logs = gamma(shape, z["normal"], z["accept"]), _logs(z["power"])
        return _difference(variables[0], variables[1], logs[0], logs[1], jnp.asarray(scale, jnp.float32), jnp.float32(num_shares))

    return Shares(draws={"normal": draws.normal((TRIES, 2)), "accept": draws.uniform((TRIES, 2)), "power": draws.uniform((2,))}, make=make)
