"""Larger symmetric systems by LAPACK, one lane after the other: what ``factor`` writes out would take long to compile.

Functions of one lane; matrices are packed, as in ``linalg``.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits.engine.linalg import TINY, unpacked


def over_lanes(function: Callable[..., Any], packed: Array, *args: Array) -> Any:
    """The function of one lane, on all lanes if there are several, on the last axis."""
    return (function if packed.ndim == 1 else jax.vmap(function, in_axes=-1, out_axes=-1))(packed, *args)


def _lower(packed: Array, ridge: Array, dim: int) -> Array:
    return jnp.linalg.cholesky(unpacked(packed, dim) + ridge * jnp.eye(dim, dtype=jnp.float32))


def forward(packed: Array, ridge: Array, border: Array) -> tuple[Array, Array]:
    """Border rows solved forward, [rows, dim], and whether the matrix is not positive definite."""
    lower = _lower(packed, ridge, border.shape[1])
    solved = jax.scipy.linalg.solve_triangular(lower, border.T, lower=True).T
    bad = jnp.isnan(lower[-1, -1])
    return jnp.where(bad, 0.0, solved), bad & ~jnp.any(jnp.isnan(packed))


def solve(packed: Array, ridge: Array, vector: Array) -> Array:
    """(V + ridge I)^-1 b."""
    return jax.scipy.linalg.cho_solve((_lower(packed, ridge, len(vector)), True), vector)


def roots(packed: Array, x: Array) -> tuple[Array, Array]:
    """L x and L^-T x."""
    lower = _lower(packed, jnp.float32(0.0), len(x))
    return lower @ x, jax.scipy.linalg.solve_triangular(lower, x, lower=True, trans="T")


_STEPS = 40


def project_in_norm(packed: Array, ridge: Array, point: Array, radius: Array) -> Array:
    """The nearest point of a ball in the norm of V + ridge I: eigenvalues, and bisection in the logarithm of the multiplier."""
    dim = len(point)
    values, vectors = jnp.linalg.eigh(unpacked(packed, dim) + ridge * jnp.eye(dim, dtype=jnp.float32))
    values, turned = jnp.maximum(values, TINY), vectors.T @ point

    def length(log_multiplier):
        return jnp.sqrt(jnp.sum((turned * values / (values + jnp.exp(log_multiplier))) ** 2))

    def halved(i, ends):
        middle = 0.5 * (ends[0] + ends[1])
        out = length(middle) > radius
        return jnp.where(out, middle, ends[0]), jnp.where(out, ends[1], middle)

    size = jnp.sqrt(jnp.sum(turned * turned))
    ends = jnp.float32(-60.0), jnp.log(values[-1] * size / radius + np.float32(1e-30)) + 1.0
    multiplier = jnp.exp(jax.lax.fori_loop(0, _STEPS, halved, ends)[1])
    return jnp.where(size > radius, vectors @ (turned * values / (values + multiplier)), point)
