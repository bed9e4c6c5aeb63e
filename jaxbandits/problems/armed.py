"""The K-armed bandit: pull one arm, see its reward.

An arm pays 1 with probability its mean, else 0, independently over rounds. The action is int32 [1], a list of one arm; the
feedback is the reward, int32 ().
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Problem
from jaxbandits.engine import draws, lanes


class ArmedInstance(NamedTuple):
    """The means one seed meets, in an order drawn for each seed, so that the order given carries no information."""

    labels: Array  # [num_arms], int32: the policy's arm i is arm labels[i] of the problem
    means: Array  # [num_arms], float32, of the policy's arms
    best: Array  # (), float32: the largest


def armed(*, means: ArrayLike) -> Problem:
    """A K-armed bandit with rewards in {0, 1}.

    The action is int32 [1], a list of one arm; the feedback is the reward, int32 ().

    Args:
      means: [num_arms], mean rewards in [0, 1]. Their order does not matter.

    Raises:
      ValueError: if a mean lies outside [0, 1].
    """
    validate.probabilities("means", means)
    num_arms = validate.size("num_arms", np.shape(means)[0], 1, validate.MOST_ITEMS)

    def setup(z):
        given, labels = jnp.asarray(means, jnp.float32), lanes.shuffle(z["order"])
        return ArmedInstance(labels=labels, means=lanes.take(given, labels), best=jnp.max(given))

    def respond(instance, action, z):
        return (z["reward"] < lanes.take(instance.means, action)[0]).astype(jnp.int32)

    return Problem(
        sizes={"num_arms": num_arms},
        setup_draws={"order": draws.bits((2, num_arms)), "preview": draws.uniform((num_arms,))},
        draws={"reward": draws.uniform()},
        setup=setup,
        preview=lambda instance, z: (z["preview"] < instance.means).astype(jnp.int32),
        context=lambda instance, z: (),
        respond=respond,
        regret=lambda instance, action: instance.best - lanes.take(instance.means, action)[0],
        legal=lambda instance, action: (action[0] >= 0) & (action[0] < num_arms),
    )
