"""DP-KLUCB and DP-IMED: batches that add up, and the divergence that belongs to central privacy.

Azize, Wu, Honda, Orabona, Ito, Basu 2025, arXiv 2505.05613. Once chosen, an arm is pulled until its batch doubles its released
pulls; the batch's sum is then added to the arm's with Lap(1 / epsilon), and nothing is forgotten. The divergence d is that of
``policies.divergence``. Regret about 2 sum over arms of gap log T / d(mean, best mean) + o(log T) for batches that double; no
epsilon-DP policy has less than half of that.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import counters
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.armed.assemble import released_policy
from jaxbandits.policies.divergence import private_kl


def _policy(num_arms, epsilon, index) -> Policy:
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    streams = counters.accumulating(num_streams=num_arms, epsilon=epsilon)
    return released_policy(counter=streams, index=index, episodes=True)


def dp_kl_ucb(*, num_arms: int, epsilon: ArrayLike, exploration: Callable[[Array], Array] = indices.exploration) -> Policy:
    """DP-KLUCB: index max{q: n d(x, q) <= log t + 3 log log t}, x the noisy mean of the n released pulls cut to [0, 1].

    Deviation: the paper explores with log t alone, which at small epsilon and finite t gives indices that are too low more often
    than once in t rounds; ``exploration=index.log_round`` is the paper's. Sound: epsilon-DP for a trusted server, since each
    reward enters one release. Relation: one reward substituted, one round. Azize et al. 2025.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      exploration: function of the round, int32 () -> float32 ().

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    validate.exploration(exploration)

    def index(release, t, z):
        return central.private_kl_index(release.total, release.counts, t, central.single(epsilon), exploration)

    return _policy(num_arms, epsilon, index)


def dp_imed(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """DP-IMED: pulls the arm of the least n d(x, x*) + log n, x the noisy mean of its n released pulls in [0, 1], x* the largest.

    Sound: epsilon-DP for a trusted server, since each reward enters one release. Relation: one reward substituted, one round.
    Azize et al. 2025.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    largest = lanes.lanes_last(lambda mean: jnp.max(mean, axis=0))

    @lanes.elementwise
    def preference(divergence, counts):
        n = jnp.maximum(counts, 1).astype(jnp.float32)
        return -(n * divergence + jnp.log(n))

    def index(release, t, z):
        mean = central.clipped_mean(release.total, release.counts)
        return preference(private_kl(mean, largest(mean), central.single(epsilon)), release.counts)

    return _policy(num_arms, epsilon, index)
