"""What yardsticks written in the same way share: lanes under ``vmap``, and lanes one after the other in a loop that Numba compiles."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

Simulation = Callable[[], np.ndarray]
"""Runs all lanes; returns the regret of each at the horizon."""


def vmapped(lane: Callable, num_lanes: int) -> Simulation:
    """Plain JAX as one writes it from the documentation.

    Args:
      lane: key -> regret of each round; a ``scan`` over rounds.
      num_lanes: number of lanes.
    """
    simulate = jax.jit(jax.vmap(lane, out_axes=1))
    keys = jax.random.split(jax.random.key(0), num_lanes)
    return lambda: np.asarray(simulate(keys)).sum(axis=0, dtype=np.float64)


def looped(simulate: Callable, num_lanes: int, *arguments: Any) -> Simulation:
    """One lane after the other, as one writes it in C; here in Numba, without fast math.

    Args:
      simulate: (arguments, regret float64 [num_lanes]), which it fills in; compiled.
      num_lanes: number of lanes.
      arguments: what the simulation is given.
    """
    regret = np.empty(num_lanes)

    def run():
        simulate(*arguments, regret)
        return regret.copy()

    return run


class Parts(NamedTuple):
    """Compiled functions that loops call. Random words are those of splitmix64, whose state is a counter."""

    compiled: Callable  # the decorator
    start: Callable  # lane -> state
    draw: Callable  # state -> state, word
    unit: Callable  # word -> number in (0, 1), of 24 bits
    laplace: Callable  # word -> Laplace number of scale 1
    normals: Callable  # (state, float32 [even]) -> state; fills the array
    shuffle: Callable  # (state, array) -> state; puts the array in a random order


@functools.cache
def parts() -> Parts:
    """The compiled parts.

    Raises:
      ImportError: if Numba is not installed.
    """
    import numba

    # NumPy's error model: Python's checks every divisor, and the check keeps the index loop from being vectorised.
    compiled = numba.njit(nogil=True, fastmath=False, error_model="numpy")
    half, two, turn = (np.float32(x) for x in (0.5, 2.0, 2 * math.pi))
    ulp = np.float32(2.0**-24)
    golden, first, second = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    s27, s30, s31, s40, bit = (np.uint64(x) for x in (27, 30, 31, 40, 1))

    @compiled
    def mix(z):
        z = (z ^ (z >> s30)) * first
        z = (z ^ (z >> s27)) * second
        return z ^ (z >> s31)

    @compiled
    def start(lane):
        return mix(np.uint64(lane + 1) * golden)

    @compiled
    def draw(state):
        state += golden
        return state, mix(state)

    @compiled
    def unit(word):
        return (np.float32(word >> s40) + half) * ulp

    @compiled
    def laplace(word):
        size = -math.log(unit(word))
        return -size if word & bit else size

    @compiled
    def normals(state, out):
        for i in range(0, out.shape[0], 2):  # Box and Muller
            state, word = draw(state)
            size = math.sqrt(-two * math.log(unit(word)))
            state, word = draw(state)
            angle = turn * unit(word)
            out[i], out[i + 1] = size * math.cos(angle), size * math.sin(angle)
        return state

    @compiled
    def shuffle(state, values):
        for i in range(values.shape[0] - 1, 0, -1):
            state, word = draw(state)
            j = int(word % np.uint64(i + 1))
            values[i], values[j] = values[j], values[i]
        return state

    return Parts(compiled, start, draw, unit, laplace, normals, shuffle)
