"""K-armed bandits: LDP-UCB-B, LDP-UCB-L and UCB1 of ``jaxbandits.policies.armed`` on ``jaxbandits.problems.armed``, bits as rewards."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import ways
from .ways import Simulation


def idiomatic_bits(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-UCB-B, as ``jaxbandits.policies.armed.ldp_ucb_bernoulli``, in plain JAX.

    Args:
      means: [num_arms], mean rewards.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """

    def respond(key, reward):
        return jax.random.bernoulli(key, jnp.where(reward > 0, 1.0, jnp.exp(-epsilon)) / (1 + jnp.exp(-epsilon))).astype(jnp.float32)

    return _idiomatic(means, horizon, num_lanes, respond, _ucb1)


def idiomatic_laplace(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-UCB-L, as ``jaxbandits.policies.armed.ldp_ucb_laplace``, in plain JAX.

    Args:
      means: [num_arms], mean rewards.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """

    def respond(key, reward):
        return reward + jax.random.laplace(key) / epsilon

    def choose(mean, count, t):
        log_t = jnp.log(t.astype(jnp.float32))
        index = mean + (1 + 4 / epsilon) * jnp.sqrt(2 * log_t / jnp.maximum(count, 1))
        due = (count == 0) | ((t > len(means)) & (count <= 4 * log_t))
        return jnp.where(due.any(), jnp.argmax(due), jnp.argmax(index))

    return _idiomatic(means, horizon, num_lanes, respond, choose)


def idiomatic_ucb1(means: np.ndarray, horizon: int, num_lanes: int) -> Simulation:
    """UCB1, as ``jaxbandits.policies.armed.ucb1``, in plain JAX.

    Args:
      means: [num_arms], mean rewards.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """
    return _idiomatic(means, horizon, num_lanes, lambda key, reward: reward, _ucb1)


def _ucb1(mean, count, t):
    index = mean + jnp.sqrt(2 * jnp.log(t.astype(jnp.float32)) / jnp.maximum(count, 1))
    return jnp.argmax(jnp.where(count == 0, jnp.inf, index))


def _idiomatic(means: np.ndarray, horizon: int, num_lanes: int, respond: Callable, choose: Callable) -> Simulation:
    def lane(key):
        order_key, key = jax.random.split(key)
        mine = jax.random.permutation(order_key, jnp.asarray(means, jnp.float32))
        best = mine.max()

        def step(carry, t):
            key, total, count = carry
            key, reward_key, noise_key = jax.random.split(key, 3)
            arm = choose(total / jnp.maximum(count, 1), count, t)
            response = respond(noise_key, jax.random.bernoulli(reward_key, mine[arm]).astype(jnp.float32))
            return (key, total.at[arm].add(response), count.at[arm].add(1.0)), best - mine[arm]

        nothing = jnp.zeros_like(mine)
        return lax.scan(step, (key, nothing, nothing), jnp.arange(1, horizon + 1))[1]

    return ways.vmapped(lane, num_lanes)


def scalar_bits(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-UCB-B in a compiled loop.

    Args:
      means: [num_arms], mean rewards.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    return _scalar(means, horizon, num_lanes, _loops().bits, 1 / (1 + math.exp(-epsilon)), 1.0, -1.0)


def scalar_laplace(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-UCB-L in a compiled loop.

    Args:
      means: [num_arms], mean rewards.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    return _scalar(means, horizon, num_lanes, _loops().noisy, 1 / epsilon, 1 + 4 / epsilon, 4.0)


def scalar_ucb1(means: np.ndarray, horizon: int, num_lanes: int) -> Simulation:
    """UCB1 in a compiled loop.

    Args:
      means: [num_arms], mean rewards.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    return _scalar(means, horizon, num_lanes, _loops().raw, 0.0, 1.0, -1.0)


def _scalar(means, horizon, num_lanes, respond, privacy, factor, forced) -> Simulation:
    numbers = (np.float32(x) for x in (privacy, factor, forced))
    return ways.looped(_loops().simulate, num_lanes, np.asarray(means, np.float32), horizon, respond, *numbers)


class _Loops(NamedTuple):
    simulate: Callable
    bits: Callable  # (reward, random word, privacy) -> response; with the chance that a bit is sent as it is
    noisy: Callable  # the same with the scale of the noise
    raw: Callable


@functools.cache
def _loops() -> _Loops:
    compiled, start, draw, unit, laplace, _, shuffle = ways.parts()
    zero, one, two = (np.float32(x) for x in (0.0, 1.0, 2.0))

    @compiled
    def bits(reward, word, kept):
        return reward if unit(word) < kept else one - reward

    @compiled
    def noisy(reward, word, scale):
        return reward + scale * laplace(word)

    @compiled
    def raw(reward, word, privacy):
        return reward

    @compiled
    def simulate(means, horizon, respond, privacy, factor, forced, regret):
        num_arms = means.shape[0]
        mean, index = np.empty(num_arms, np.float32), np.empty(num_arms, np.float32)
        count, total = np.empty(num_arms, np.float32), np.empty(num_arms, np.float32)
        for lane in range(regret.shape[0]):
            mean[:] = means
            state = shuffle(start(lane), mean)
            best = mean.max()
            count[:], total[:] = zero, zero
            lost = 0.0
            for t in range(1, horizon + 1):
                log_t, arm = math.log(np.float32(t)), 0
                if t <= num_arms:
                    arm = t - 1
                else:
                    width, due = factor * math.sqrt(two * log_t), forced * log_t
                    for i in range(num_arms):
                        inverse = one / count[i]
                        index[i] = total[i] * inverse + width * math.sqrt(inverse)
                    top = index[0]
                    for i in range(1, num_arms):
                        if index[i] > top:
                            top, arm = index[i], i
                    for i in range(num_arms):
                        if count[i] <= due:
                            arm = i
                            break
                state, word = draw(state)
                reward = one if unit(word) < mean[arm] else zero
                state, word = draw(state)
                total[arm] += respond(reward, word, privacy)
                count[arm] += one
                lost += best - mean[arm]
            regret[lane] = lost

    return _Loops(simulate, bits, noisy, raw)
