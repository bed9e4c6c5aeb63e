"""Gamma variables from declared draws, by Marsaglia and Tsang's method with a fixed number of tries."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits.engine import lanes

TRIES = 6
"""Tries of rejection sampling for one gamma variable. A try fails with probability at most 0.05, so all fail once in 6e7."""


@lanes.elementwise
def _gamma_try(shape: Array, normal: Array, uniform: Array, otherwise: Array) -> Array:
    """One try of Marsaglia and Tsang's method for a gamma variable of a shape from 1 on; ``otherwise`` if it is rejected."""
    d = shape - np.float32(1 / 3)
    v = 1.0 + normal / jnp.sqrt(9.0 * d)
    cube = v * v * v
    accept = (v > 0.0) & (jnp.log(uniform) < 0.5 * normal * normal + d * (1.0 - cube + jnp.log(jnp.maximum(cube, np.float32(1e-30)))))
    return jnp.where(accept, d * cube, otherwise)


def gamma(shape: Array, normals: Array, uniforms: Array) -> Array:
    """A gamma variable of a shape from 1 on: the first accepted of several tries; the mode, nearly, if there is none.

    Args:
      shape: float32 [n], at least 1.
      normals: [TRIES, n], standard normal.
      uniforms: [TRIES, n], uniform on (0, 1).
    """
    value = shape - np.float32(1 / 3)
    for i in range(normals.shape[0] - 1, -1, -1):
        value = _gamma_try(shape, normals[i], uniforms[i], value)
    return value
