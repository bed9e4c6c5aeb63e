"""Workload A, ``jaxbandits.policies.cascade.laplace_ucb`` on ``jaxbandits.problems.cascade``.

Counts start at 1 with one user's raw attractions; a user sends noisy values for the examined positions.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import ways
from .ways import Simulation


def idiomatic(means: np.ndarray, list_len: int, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """Plain JAX as one writes it from the documentation: a step for one lane, ``scan`` over rounds, ``vmap`` over lanes.

    Args:
      means: [num_items], attraction probabilities.
      list_len: length of the list.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """
    scale = list_len / epsilon
    position = jnp.arange(list_len)

    def lane(key):
        order_key, user_key, key = jax.random.split(key, 3)
        attraction = jax.random.permutation(order_key, jnp.asarray(means, jnp.float32))
        best = 1 - jnp.prod(1 - lax.top_k(attraction, list_len)[0])

        def step(carry, t):
            key, total, count = carry
            key, click_key, noise_key = jax.random.split(key, 3)
            log_t = jnp.log(t.astype(jnp.float32))
            index = total / count + (jnp.sqrt(1.5 * log_t) + scale * jnp.sqrt(24 * log_t)) * jnp.sqrt(1 / count)
            action = lax.top_k(index, list_len)[1]
            attracted = jax.random.bernoulli(click_key, attraction[action])
            click = jnp.where(attracted.any(), jnp.argmax(attracted), list_len)
            value = (position == click).astype(jnp.float32) + scale * jax.random.laplace(noise_key, (list_len,))
            observed = position <= click
            total = total.at[action].add(jnp.where(observed, value, 0.0))
            count = count.at[action].add(observed.astype(jnp.float32))
            return (key, total, count), best - (1 - jnp.prod(1 - attraction[action]))

        total = jax.random.bernoulli(user_key, attraction).astype(jnp.float32)
        return lax.scan(step, (key, total, jnp.ones_like(attraction)), jnp.arange(1, horizon + 1))[1]

    return ways.vmapped(lane, num_lanes)


def scalar(means: np.ndarray, list_len: int, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """A compiled loop.

    Args:
      means: [num_items], attraction probabilities.
      list_len: length of the list.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    skip = (1.0 - np.asarray(means)).astype(np.float32)
    return ways.looped(_loop(), num_lanes, skip, list_len, np.float32(list_len / epsilon), horizon)


@functools.cache
def _loop() -> Callable:
    compiled, start, draw, unit, laplace, _, shuffle = ways.parts()
    zero, one, low, exploration, privacy = (np.float32(x) for x in (0.0, 1.0, -np.inf, 1.5, 24.0))

    @compiled
    def simulate(means_skip, list_len, scale, horizon, regret):
        num_items = means_skip.shape[0]
        count, total = np.empty(num_items, np.float32), np.empty(num_items, np.float32)
        index, action = np.empty(num_items, np.float32), np.empty(list_len, np.int64)
        best = one
        for value in np.sort(means_skip)[:list_len]:
            best *= value
        for lane in range(regret.shape[0]):
            skip = means_skip.copy()
            state = shuffle(start(lane), skip)
            for i in range(num_items):
                state, word = draw(state)
                count[i], total[i] = one, one if unit(word) >= skip[i] else zero
            lost = 0.0
            for t in range(1, horizon + 1):
                log_t = math.log(np.float32(t))
                width = math.sqrt(exploration * log_t) + scale * math.sqrt(privacy * log_t)
                for i in range(num_items):
                    inverse = one / count[i]
                    index[i] = total[i] * inverse + width * math.sqrt(inverse)
                passed = one
                for k in range(list_len):
                    top, item = index[0], 0
                    for i in range(1, num_items):
                        if index[i] > top:
                            top, item = index[i], i
                    action[k], index[item] = item, low
                    passed *= skip[item]
                lost += passed - best
                state, word = draw(state)
                click, passed = unit(word), one
                for k in range(list_len):
                    item = action[k]
                    passed *= skip[item]
                    state, word = draw(state)
                    clicked = click >= passed
                    total[item] += (one if clicked else zero) + scale * laplace(word)
                    count[item] += one
                    if clicked:
                        break
            regret[lane] = lost

    return simulate
