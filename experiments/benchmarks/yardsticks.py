"""What the engine is measured against: workload A written the two usual ways, K-armed and linear bandits in plain JAX.

Those of workload A simulate what ``jaxbandits.policies.cascade.laplace_ucb`` does on ``jaxbandits.problems.cascade``: items in a
random order for each lane, counts that start at 1 with one user's raw attractions, noisy values for the examined positions. Each
draws its own random numbers, so they agree with the engine in law only.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.mechanisms import calibrate

Simulation = Callable[[], np.ndarray]
"""Runs all lanes; returns the regret of each at the horizon."""


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

    simulate = jax.jit(jax.vmap(lane, out_axes=1))
    keys = jax.random.split(jax.random.key(0), num_lanes)
    return lambda: np.asarray(simulate(keys)).sum(axis=0, dtype=np.float64)


def idiomatic_laplace_arms(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
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

    return _idiomatic_arms(means, horizon, num_lanes, respond, choose)


def idiomatic_bit_arms(means: np.ndarray, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-UCB-B, as ``jaxbandits.policies.armed.ldp_ucb_bernoulli``, in plain JAX.

    Args:
      means: [num_arms], mean rewards.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """

    def respond(key, reward):
        return jax.random.bernoulli(key, jnp.where(reward > 0, 1.0, jnp.exp(-epsilon)) / (1 + jnp.exp(-epsilon))).astype(jnp.float32)

    def choose(mean, count, t):
        index = mean + jnp.sqrt(2 * jnp.log(t.astype(jnp.float32)) / jnp.maximum(count, 1))
        return jnp.argmax(jnp.where(count == 0, jnp.inf, index))

    return _idiomatic_arms(means, horizon, num_lanes, respond, choose)


def _idiomatic_arms(means: np.ndarray, horizon: int, num_lanes: int, respond: Callable, choose: Callable) -> Simulation:
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

    simulate = jax.jit(jax.vmap(lane, out_axes=1))
    keys = jax.random.split(jax.random.key(0), num_lanes)
    return lambda: np.asarray(simulate(keys)).sum(axis=0, dtype=np.float64)


def idiomatic_linucb(dim: int, num_actions: int, epsilon: float, delta: float, horizon: int, num_lanes: int) -> Simulation:
    """LDP-LinUCB, as ``jaxbandits.policies.contextual.ldp_linucb``, in plain JAX: one batched LAPACK factorisation a round.

    Args:
      dim: number of features.
      num_actions: actions of a round, uniform on the sphere.
      epsilon: privacy level.
      delta: of the privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.
    """
    fail_prob, deviation, theta_bound = 0.1, 0.1, 1.0
    sigma = calibrate.analytic_sigma(epsilon, delta, 1.5 * 2**0.5)
    log = math.log(horizon / fail_prob)
    growth = sigma * (4 * dim**0.5 + 2 * math.log(2 * horizon / fail_prob))

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

    simulate = jax.jit(jax.vmap(lane, out_axes=1))
    keys = jax.random.split(jax.random.key(0), num_lanes)
    return lambda: np.asarray(simulate(keys)).sum(axis=0, dtype=np.float64)


def scalar(means: np.ndarray, list_len: int, epsilon: float, horizon: int, num_lanes: int) -> Simulation:
    """A compiled loop, one lane after the other, as one writes it in C; here in Numba, without fast math.

    Args:
      means: [num_items], attraction probabilities.
      list_len: length of the list.
      epsilon: privacy level.
      horizon: number of rounds.
      num_lanes: number of lanes.

    Raises:
      ImportError: if Numba is not installed.
    """
    simulate = _compiled_loop()
    skip = (1.0 - np.asarray(means)).astype(np.float32)
    regret = np.empty(num_lanes)

    def run():
        simulate(skip, list_len, np.float32(list_len / epsilon), horizon, regret)
        return regret.copy()

    return run


def _compiled_loop() -> Callable:
    import numba

    # NumPy's error model: Python's checks every divisor, and the check keeps the index loop from being vectorised.
    compiled = numba.njit(nogil=True, fastmath=False, error_model="numpy")
    zero, half, one, low, exploration, privacy = (np.float32(x) for x in (0.0, 0.5, 1.0, -np.inf, 1.5, 24.0))
    ulp = np.float32(2.0**-24)
    golden, first, second = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    s27, s30, s31, s40, bit = (np.uint64(x) for x in (27, 30, 31, 40, 1))

    @compiled
    def mix(z):  # of splitmix64, whose state is a counter
        z = (z ^ (z >> s30)) * first
        z = (z ^ (z >> s27)) * second
        return z ^ (z >> s31)

    @compiled
    def unit(word):
        return (np.float32(word >> s40) + half) * ulp

    @compiled
    def simulate(means_skip, list_len, scale, horizon, regret):
        num_items = means_skip.shape[0]
        count, total = np.empty(num_items, np.float32), np.empty(num_items, np.float32)
        index, action = np.empty(num_items, np.float32), np.empty(list_len, np.int64)
        best = one
        for value in np.sort(means_skip)[:list_len]:
            best *= value
        for lane in range(regret.shape[0]):
            state = mix(np.uint64(lane + 1) * golden)
            skip = means_skip.copy()
            for i in range(num_items - 1, 0, -1):
                state += golden
                j = int(mix(state) % np.uint64(i + 1))
                skip[i], skip[j] = skip[j], skip[i]
            for i in range(num_items):
                state += golden
                count[i], total[i] = one, one if unit(mix(state)) >= skip[i] else zero
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
                state += golden
                click, passed = unit(mix(state)), one
                for k in range(list_len):
                    item = action[k]
                    passed *= skip[item]
                    state += golden
                    word = mix(state)
                    noise = -math.log(unit(word))
                    clicked = click >= passed
                    total[item] += (one if clicked else zero) + scale * (-noise if word & bit else noise)
                    count[item] += one
                    if clicked:
                        break
            regret[lane] = lost

    return simulate


def numpy_epochs(means: np.ndarray, num_agents: int, epsilon: float, horizon: int, lanes: int, seed: int = 0) -> np.ndarray:
    """CDP-MAB with noise for one agent, an epoch at a time, its sums by NumPy's binomial numbers; final regret [lanes]."""
    rng, num_arms = np.random.default_rng(seed), len(means)
    gaps, left = means.max() - means, np.ones((lanes, num_arms), bool)
    ones, noise = np.zeros((lanes, num_agents, num_arms)), np.zeros((lanes, num_agents, num_arms))
    regret, slots, reached, r = np.zeros(lanes), np.zeros(lanes), 0.0, 0
    while True:
        r += 1
        log_term = np.log(2 * num_arms * horizon * r * (r + 1))
        spread = np.sqrt(8 * log_term) * max(np.sqrt(r * num_agents), np.sqrt(log_term)) / epsilon
        wanted = np.ceil(max(8 * log_term * 4.0**r / num_agents, 4 * spread * 2.0**r / num_agents))
        length, total = max(wanted - reached, 1.0), max(wanted, reached + 1.0)
        radius = np.sqrt(log_term / (2 * num_agents * total)) + spread / (num_agents * total)
        count = left.sum(axis=1)
        playing = count > 1
        if not playing.any():
            return regret
        over = playing & (slots + length * count > horizon)
        # An epoch that the horizon cuts off: all its arms are pulled about equally often.
        regret[over] += num_agents * (horizon - slots[over]) * (left[over] * gaps).sum(axis=1) / count[over]
        left[over], slots[over] = np.arange(num_arms) == 0, horizon
        on = playing & ~over
        ones[on] += rng.binomial(int(length), means, size=(int(on.sum()), num_agents, num_arms))
        noise[on] += rng.laplace(scale=1 / epsilon, size=(int(on.sum()), num_agents, num_arms))
        slots[on] += length * count[on]
        regret[on] += num_agents * length * (left[on] * gaps).sum(axis=1)
        mean = np.where(left[on], ((ones[on] + noise[on]) / total).mean(axis=1), -np.inf)
        left[on] &= mean.max(axis=1, keepdims=True) - mean <= 2 * radius
        reached = total
