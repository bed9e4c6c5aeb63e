"""CDP-MAB, ``jaxbandits.policies.federated.cdp_mab``, with ten arms."""

import numpy as np


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
