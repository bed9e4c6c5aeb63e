"""Lazy-DP-TS and Anytime-Lazy-UCB: the newest of doubling batches, with the arm chosen anew in each round.

Hu, Hegde: Near-Optimal Thompson Sampling-based Algorithms for Differentially Private Stochastic Bandits, 2022. Hu, Huang, Mehta:
Near-Optimal Algorithms for Differentially Private Online Learning in a Stochastic Environment, 2021, arXiv 2102.07929. Batches of
1, 2, 4, .. pulls of an arm; the mean of a full one, of O pulls, is released with Lap(1 / (epsilon O)), and older ones are
forgotten.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.engine import draws, lanes
from jaxbandits.mechanisms import counters
from jaxbandits.mechanisms.gamma import TRIES, gamma
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.armed.assemble import released_policy


@lanes.elementwise
def _log_ratio(x, y):
    return jnp.log(x) - jnp.log(y)


def beta_log_odds(first: Array, second: Array, normals: Array, uniforms: Array) -> Array:
    """log(x / (1 - x)) of Beta(a, b) variables x from declared draws; both parameters at least 1.

    x / (1 - x) is a ratio of gamma variables. The order is that of the variables, and close to 1 they can still be told apart.

    Args:
      first: a, float32 [n].
      second: b, float32 [n].
      normals: [tries, 2, n], standard normal.
      uniforms: [tries, 2, n], uniform on (0, 1).
    """
    x, y = gamma(first, normals[:, 0], uniforms[:, 0]), gamma(second, normals[:, 1], uniforms[:, 1])
    return _log_ratio(x, y)


def _policy(num_arms, epsilon, index, more_draws=None) -> Policy:
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    streams = counters.forgetting(num_streams=num_arms, epsilon=epsilon)
    return released_policy(counter=streams, index=index, more_draws=more_draws)


def lazy_ucb(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """Anytime-Lazy-UCB: index m + sqrt(3 log t / (2 O)) + 3 log t / (epsilon O), m the noisy mean of the newest batch of O pulls.

    Sound: epsilon-DP for a trusted server, since each reward enters one release. Relation: one reward substituted, one round. Hu,
    Huang, Mehta 2021.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)

    @lanes.elementwise
    def upper(total, size, log_t, inverse_epsilon):
        root = indices.inverse_root(size)
        return (total + 3.0 * inverse_epsilon * log_t) * root * root + jnp.sqrt(1.5 * log_t) * root

    def index(release, t, z):
        return upper(release.total, release.counts, indices.log_round(t), 1.0 / central.single(epsilon))

    return _policy(num_arms, epsilon, index)


def lazy_dp_ts(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """Lazy-DP-TS: Thompson sampling from Beta(m O + 1, (1 - m) O + 1).

    m is the noisy mean of the newest batch of O pulls plus 3 log t / (epsilon O), cut to [0, 1]. Regret
    O(sum over arms of log T / min(epsilon, gap)). Sound: epsilon-DP for a trusted server, since each reward enters one release.
    Relation: one reward substituted, one round. Hu, Hegde 2022.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)

    def index(release, t, z):
        mean, size = central.raised_mean(release, t, epsilon, 3.0), release.counts.astype(jnp.float32)
        return beta_log_odds(mean * size + 1.0, (1.0 - mean) * size + 1.0, z["normal"], z["uniform"])

    shape = (TRIES, 2, num_arms)
    return _policy(num_arms, epsilon, index, {"normal": draws.normal(shape), "uniform": draws.uniform(shape)})
