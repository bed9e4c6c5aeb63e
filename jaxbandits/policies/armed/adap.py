"""AdaP-UCB and AdaP-KLUCB: episodes that double, of which the newest counts.

Azize, Basu: When Privacy Meets Partial Information: A Refined Analysis of Differentially Private Bandits, 2022. Once chosen, an arm
is pulled until its pulls have doubled; the mean of these h pulls is released with Lap(1 / (epsilon h)), and older ones are
forgotten.
"""

from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import counters
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.armed.assemble import released_policy


def _policy(num_arms, epsilon, index) -> Policy:
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    streams = counters.forgetting(num_streams=num_arms, epsilon=epsilon, next_size=counters.adaptive_size)
    return released_policy(counter=streams, index=index, episodes=True)


def adap_ucb(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """AdaP-UCB: index m + sqrt(a log(2t) / (2h)) + a log t / (epsilon h), a = 3.1, m the noisy mean of the newest h pulls.

    Regret at most sum over arms of 16 a log T / min(gap, epsilon) + a / (a - 3). Sound: epsilon-DP for a trusted server, since
    each reward enters one release. Relation: one reward substituted, one round. Azize, Basu 2022.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    upper = central.newest_batch_ucb(epsilon).upper
    return _policy(num_arms, epsilon, lambda release, t, z: upper(release, None, t))


def adap_kl_ucb(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """AdaP-KLUCB: index max{q: h kl(m, q) <= a log t}, m the noisy mean of the newest h pulls plus a log t / (epsilon h), in [0, 1].

    a = 3.1. Sound: epsilon-DP for a trusted server, since each reward enters one release. Relation: one reward substituted, one
    round. Azize, Basu 2022.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)

    def index(release, t, z):
        root, mean = indices.inverse_root(release.counts), central.raised_mean(release, t, epsilon, central.ADAP_CONSTANT)
        return indices.kl_ucb(mean, root * root, central.ADAP_CONSTANT * indices.log_round(t))

    return _policy(num_arms, epsilon, index)
