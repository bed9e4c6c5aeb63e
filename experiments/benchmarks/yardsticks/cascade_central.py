"""Workload B, ``jaxbandits.policies.cascade.hybrid_ucb`` on ``jaxbandits.problems.cascade``.

As workload A, but a trusted server puts the raw clicks of the examined items into a hybrid counter for each item. The noise of a
release is a sum over the blocks that make up its count; kept with the height of the block that it ends with, it is one look-up
and one new draw: the release before that block is still there. Slot 0 holds the release at the newest power of two.
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


def _radius(num_items: int, epsilon: float, horizon: int) -> float:
    """The noise radius over log t, times the count, with c1 = 1."""
    return 3 * num_items * math.log(horizon) ** 1.5 / epsilon


def idiomatic(means: np.ndarray, list_len: int, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """Plain JAX.

    Args:
      means: [num_items], attraction probabilities.
      list_len: length of the list.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """
    num_items = len(means)
    scale, radius = num_items / epsilon, _radius(num_items, epsilon, horizon)
    position = jnp.arange(list_len)

    def slot(m):  # of the release that ends with entry m of a tree: one more than its trailing zero bits; 0 for none
        return 32 - lax.clz(m & -m)

    def lane(key):
        order_key, user_key, key = jax.random.split(key, 3)
        attraction = jax.random.permutation(order_key, jnp.asarray(means, jnp.float32))
        best = 1 - jnp.prod(1 - lax.top_k(attraction, list_len)[0])

        def step(carry, t):
            key, total, released, count, noise = carry
            key, click_key, noise_key = jax.random.split(key, 3)
            log_t = jnp.log(t.astype(jnp.float32))
            seen = count.astype(jnp.float32)
            index = (released + radius * log_t) / seen + jnp.sqrt(1.5 * log_t / seen)
            action = lax.top_k(index, list_len)[1]
            attracted = jax.random.bernoulli(click_key, attraction[action])
            click = jnp.where(attracted.any(), jnp.argmax(attracted), list_len)
            observed = position <= click
            total = total.at[action].add((position == click).astype(jnp.float32))
            entries = count[action]  # with this one, for the first observation is in none
            octave = 31 - lax.clz(entries)
            inside = entries - (1 << octave)
            fresh = scale * jnp.where(inside == 0, 2, 2 * octave).astype(jnp.float32) * jax.random.laplace(noise_key, (list_len,))
            fresh = fresh + noise[slot(inside & (inside - 1)), action]
            noise = noise.at[slot(inside), action].set(jnp.where(observed, fresh, noise[slot(inside), action]))
            released = released.at[action].set(jnp.where(observed, total[action] + fresh, released[action]))
            count = count.at[action].add(observed.astype(jnp.int32))
            return (key, total, released, count, noise), best - (1 - jnp.prod(1 - attraction[action]))

        total = jax.random.bernoulli(user_key, attraction).astype(jnp.float32)
        noise = jnp.zeros((1 + int(horizon).bit_length(), num_items))
        start = (key, total, total, jnp.ones(num_items, jnp.int32), noise)
        return lax.scan(step, start, jnp.arange(1, horizon + 1))[1]

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
    scale, radius = np.float32(len(means) / epsilon), np.float32(_radius(len(means), epsilon, horizon))
    return ways.looped(_loop(), num_lanes, skip, list_len, scale, radius, horizon)


@functools.cache
def _loop() -> Callable:
    compiled, start, draw, unit, laplace, _, shuffle = ways.parts()
    zero, one, two, low, exploration = (np.float32(x) for x in (0.0, 1.0, 2.0, -np.inf, 1.5))

    @compiled
    def slot(m):
        place = 0
        while m:
            place += 1
            if m & 1:
                break
            m >>= 1
        return place

    @compiled
    def simulate(means_skip, list_len, scale, radius, horizon, regret):
        num_items, heights = means_skip.shape[0], 1
        while horizon >> heights:
            heights += 1
        count, entries = np.empty(num_items, np.float32), np.empty(num_items, np.int64)
        total, released = np.empty(num_items, np.float32), np.empty(num_items, np.float32)
        index, action = np.empty(num_items, np.float32), np.empty(list_len, np.int64)
        noise = np.empty((num_items, 1 + heights), np.float32)
        best = one
        for value in np.sort(means_skip)[:list_len]:
            best *= value
        for lane in range(regret.shape[0]):
            skip = means_skip.copy()
            state = shuffle(start(lane), skip)
            for i in range(num_items):
                state, word = draw(state)
                total[i] = released[i] = one if unit(word) >= skip[i] else zero
                count[i], entries[i] = one, 0
            noise[:] = zero
            lost = 0.0
            for t in range(1, horizon + 1):
                log_t = math.log(np.float32(t))
                width, wide = math.sqrt(exploration * log_t), radius * log_t
                for i in range(num_items):
                    inverse = one / count[i]
                    index[i] = (released[i] + wide) * inverse + width * math.sqrt(inverse)
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
                    clicked = click >= passed
                    entries[item] += 1
                    count[item] += one
                    octave = 0
                    while entries[item] >> (octave + 1):
                        octave += 1
                    inside = entries[item] - (1 << octave)
                    state, word = draw(state)
                    fresh = two * scale * (np.float32(octave) if inside else one) * laplace(word)
                    fresh += noise[item, slot(inside & (inside - 1))]
                    noise[item, slot(inside)] = fresh
                    total[item] += one if clicked else zero
                    released[item] = total[item] + fresh
                    if clicked:
                        break
            regret[lane] = lost

    return simulate
