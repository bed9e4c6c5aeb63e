"""Sums that stay exact for 1e8 rounds.

Counts are int32. A sum of many small positive numbers, such as regret, is a compensated pair of float32 (Kahan), good to
about 1e-7 relative whatever the number of terms, where a plain float32 sum stops growing at 2**24 times its terms. On the
host the pair becomes one float64.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine.fence import fence


class Sum(NamedTuple):
    """A running sum, ``high - low``."""

    high: Array  # [lanes], float32
    low: Array  # [lanes], float32: what rounding has added to high so far


def zero(shape: tuple[int, ...]) -> Sum:
    """The empty sum."""
    return Sum(high=jnp.zeros(shape, jnp.float32), low=jnp.zeros(shape, jnp.float32))


def add(total: Sum, term: Array) -> Sum:
    """The sum with one more term."""
    corrected = term - total.low
    # Fenced: a compiler that fused and simplified (high + corrected) - high would cancel the compensation.
    high = fence(lambda high, term: high + term)(total.high, corrected)
    low = fence(lambda high, old, term: (high - old) - term)(high, total.high, corrected)
    return Sum(high=high, low=low)


def running(shape: tuple[int, ...]) -> Array:
    """The empty sum in the form for adding in every round: high + low i, complex64, which one kernel reads and writes."""
    return jnp.zeros(shape, jnp.complex64)


def grown(total: Array, term: Array) -> Array:
    """The running sum with one more term."""

    def kernel(total, term):
        high, corrected = lax.real(total), term - lax.imag(total)
        grown = high + corrected
        return lax.complex(grown, (grown - high) - corrected)

    return fence(kernel)(total, term)


def at_rest(total: Array) -> Sum:
    """The running sum as two numbers."""
    return Sum(high=lax.real(total), low=lax.imag(total))


def on_host(total: Sum) -> np.ndarray:
    """The value of the sum as float64."""
    return np.asarray(total.high, np.float64) - np.asarray(total.low, np.float64)
