"""LDP-LinUCB, ``jaxbandits.policies.contextual.ldp_linucb``, on linear rewards of features uniform on the sphere, anew in each round."""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.mechanisms import calibrate

from . import ways
from .ways import Simulation

_DEVIATION, _THETA_BOUND, _FAIL_PROB = 0.1, 1.0, 0.1


def _constants(dim: int, epsilon: float, delta: float, horizon: int) -> tuple[float, float, float]:
    """The noise; how fast its norm grows; a logarithm of the confidence set."""
    sigma = calibrate.analytic_sigma(epsilon, delta, 1.5 * 2**0.5)
    growth = sigma * (4 * dim**0.5 + 2 * math.log(2 * horizon / _FAIL_PROB))
    return sigma, growth, math.log(horizon / _FAIL_PROB)


def idiomatic(dim: int, num_actions: int, epsilon: float, delta: float, horizon: int, num_lanes: int) -> Simulation:
    """Plain JAX, with one batched LAPACK factorisation a round.

    Args:
      dim: number of features.
      num_actions: actions of a round, uniform on the sphere.
      epsilon: privacy level.
      delta: of the privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """
    deviation, theta_bound = _DEVIATION, _THETA_BOUND
    sigma, growth, log = _constants(dim, epsilon, delta, horizon)

    def lane(key):
        theta_key, key = jax.random.split(key)
        theta = jax.random.normal(theta_key, (dim,))
        theta = theta / jnp.linalg.norm(theta)

        def step(carry, t):
            key, matrix, vector = carry
            key, feature_key, reward_key, matrix_key, vector_key = jax.random.split(key, 5)
            features = jax.random.normal(feature_key, (num_actions, dim))
            features = features / jnp.linalg.norm(features, axis=1, keepdims=True)
            rounds = t.astype(jnp.float32)
            bound = jnp.maximum(growth * jnp.sqrt(rounds), 0.5)
            width = deviation * jnp.sqrt(2 * log + dim * jnp.log1p(rounds / (dim * bound))) + theta_bound * jnp.sqrt(3 * bound)
            width = width + sigma * jnp.sqrt(rounds / bound) * (dim**0.5 + (2 * log) ** 0.5)
            factor = jnp.linalg.cholesky(matrix + 2 * bound * jnp.eye(dim))
            half = jax.scipy.linalg.solve_triangular(factor, jnp.column_stack([features.T, vector]), lower=True)
            index = half[:, :-1].T @ half[:, -1] + width * jnp.sqrt(jnp.sum(half[:, :-1] ** 2, axis=0))
            x = features[jnp.argmax(index)]
            mean = features @ theta
            reward = jnp.clip(x @ theta + deviation * jax.random.normal(reward_key), -1, 1)
            noise = jnp.tril(jax.random.normal(matrix_key, (dim, dim)))
            matrix = matrix + jnp.outer(x, x) + sigma * (noise + jnp.tril(noise, -1).T)
            vector = vector + reward * x + sigma * jax.random.normal(vector_key, (dim,))
            return (key, matrix, vector), mean.max() - mean[jnp.argmax(index)]

        start = key, jnp.zeros((dim, dim)), jnp.zeros(dim)
        return lax.scan(step, start, jnp.arange(1, horizon + 1))[1]

    return ways.vmapped(lane, num_lanes)


def scalar(dim: int, num_actions: int, epsilon: float, delta: float, horizon: int, num_lanes: int) -> Simulation:
    """A compiled loop, which factorises with loops of its own.

    Args:
      dim: number of features.
      num_actions: actions of a round.
      epsilon: privacy level.
      delta: of the privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    constants = (np.float32(x) for x in (*_constants(dim, epsilon, delta, horizon), _DEVIATION, _THETA_BOUND))
    return ways.looped(_loop(), num_lanes, dim, num_actions, horizon, *constants)


@functools.cache
def _loop() -> Callable:
    compiled, start, _, _, _, normals, _ = ways.parts()
    zero, half, one, two, three, low = (np.float32(x) for x in (0.0, 0.5, 1.0, 2.0, 3.0, -np.inf))

    @compiled
    def unit_length(x):
        square = zero
        for value in x:
            square += value * value
        x *= one / math.sqrt(square)

    @compiled
    def dot(x, y, n):
        total = zero
        for i in range(n):
            total += x[i] * y[i]
        return total

    @compiled
    def solve(factor, x, out):
        for i in range(x.shape[0]):
            out[i] = (x[i] - dot(factor[i], out, i)) * factor[i, i]  # the diagonal is kept as its inverse

    @compiled
    def factorise(matrix, added, factor):
        dim = matrix.shape[0]
        for i in range(dim):
            for j in range(i):
                factor[i, j] = (matrix[i, j] - dot(factor[i], factor[j], j)) * factor[j, j]
            factor[i, i] = one / math.sqrt(matrix[i, i] + added - dot(factor[i], factor[i], i))

    @compiled
    def simulate(dim, num_actions, horizon, sigma, growth, log, deviation, theta_bound, regret):
        words = num_actions * dim + dim * (dim + 1) // 2 + dim + 1
        drawn = np.empty(words + words % 2, np.float32)
        features = drawn[: num_actions * dim].reshape(num_actions, dim)
        matrix, factor = np.empty((dim, dim), np.float32), np.empty((dim, dim), np.float32)
        vector, solved, middle = np.empty(dim, np.float32), np.empty(dim, np.float32), np.empty(dim, np.float32)
        begun, size = np.empty(dim + dim % 2, np.float32), np.float32(dim)
        theta = begun[:dim]
        for lane in range(regret.shape[0]):
            state = normals(start(lane), begun)
            unit_length(theta)
            matrix[:], vector[:] = zero, zero
            lost = 0.0
            for t in range(1, horizon + 1):
                state = normals(state, drawn)
                rounds = np.float32(t)
                bound = max(growth * math.sqrt(rounds), half)
                width = deviation * math.sqrt(two * log + size * math.log1p(rounds / (size * bound)))
                width += theta_bound * math.sqrt(three * bound)
                width += sigma * math.sqrt(rounds / bound) * (math.sqrt(size) + math.sqrt(two * log))
                factorise(matrix, two * bound, factor)
                solve(factor, vector, middle)
                top, chosen, best, mean = low, 0, low, zero
                for a in range(num_actions):
                    unit_length(features[a])
                    solve(factor, features[a], solved)
                    index = dot(solved, middle, dim) + width * math.sqrt(dot(solved, solved, dim))
                    paid = dot(features[a], theta, dim)
                    best = max(best, paid)
                    if index > top:
                        top, chosen, mean = index, a, paid
                lost += best - mean
                x, at = features[chosen], num_actions * dim
                reward = min(max(mean + deviation * drawn[at], -one), one)
                for i in range(dim):
                    at += 1
                    vector[i] += reward * x[i] + sigma * drawn[at]
                    for j in range(i + 1):  # the factorisation reads this half
                        at += 1
                        matrix[i, j] += x[i] * x[j] + sigma * drawn[at]
            regret[lane] = lost

    return simulate
