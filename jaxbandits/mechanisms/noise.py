"""Additive noise: from a standard draw and a scale to the noise that a mechanism adds.

A mechanism declares standard Laplace draws and takes one of these functions. Discrete noise comes from the same draw as continuous noise
and is near it, so that runs with either meet the same luck.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array


class Noise(NamedTuple):
    """A law of noise for every scale.

    Attributes:
      make: (scale, standard Laplace draw) -> noise; elementwise.
      variance: scale -> its variance, on the host in float64.
    """

    make: Callable[[Array, Array], Array]
    variance: Callable[[np.ndarray], np.ndarray]


def _discrete(scale: Array, z: Array) -> Array:
    scale = jnp.asarray(scale, jnp.float32)
    # Where the tails of both laws are equal: P(X >= k) = r^k / (1 + r) for r = exp(-1 / scale) and k >= 1, P(Z > z) = exp(-z) / 2.
    shift = np.float32(np.log(2.0)) - jnp.log1p(jnp.exp(-1.0 / scale))
    return jnp.sign(z) * jnp.floor(scale * (jnp.abs(z) + shift))


def _discrete_variance(scale: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        half = 0.5 / np.asarray(scale, np.float64)
    return 0.5 / np.sinh(np.minimum(half, 350.0)) ** 2


laplace = Noise(make=lambda scale, z: scale * z, variance=lambda scale: 2.0 * np.asarray(scale, np.float64) ** 2)
"""Laplace, density exp(-|x| / scale) / (2 scale)."""

discrete_laplace = Noise(make=_discrete, variance=_discrete_variance)
"""Discrete Laplace: the integer k with probability (1 - r) / (1 + r) r^|k|, r = exp(-1 / scale).

As private for whole numbers as Laplace noise of the same scale, and lighter-tailed, so that every bound for Laplace noise holds. Sums of
whole numbers and this noise are whole numbers: exact in float32 up to 2^24, with no low bits that could leak (Mironov 2012). Its draw is
simulation-grade all the same.
"""


def checked(noise: Any) -> Noise:
    """A law of noise under which the claims of counters are proved.

    Args:
      noise: what a user gave for it.

    Raises:
      ValueError: if it is another one.
    """
    if noise not in (laplace, discrete_laplace):
        raise ValueError(f"noise must be noise.laplace or noise.discrete_laplace, for which claims are proved; got {noise!r}")
    return noise
