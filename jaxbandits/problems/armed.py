"""The K-armed bandit: pull one arm, see its reward.

Rewards are independent over rounds, of one law an arm. The action is int32 [1], a list of one arm; the feedback is the reward, int32 ()
for bits and float32 () otherwise.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Problem
from jaxbandits.engine import draws, lanes
from jaxbandits.problems.rewards import Rewards, bernoulli

_TWIN = "best arm's "


class ArmedInstance(NamedTuple):
    """The means one seed meets, in an order drawn for each seed, so that the order given carries no information.

    Attributes:
      labels: [num_arms], int32: the policy's arm i is arm labels[i] of the problem.
      means: [num_arms], float32, of the policy's arms.
      best: (), float32: the largest.
      best_label: (), int32: the arm of the problem that has it.
    """

    labels: Array
    means: Array
    best: Array
    best_label: Array


def armed(*, means: ArrayLike, rewards: Rewards = bernoulli, realised_regret: bool = False) -> Problem:
    """A K-armed bandit.

    The action is int32 [1], a list of one arm; the feedback is the reward, int32 () for bits and float32 () otherwise.

    Args:
      means: [num_arms], mean rewards. Their order does not matter.
      rewards: what an arm pays, ``rewards.bernoulli``, ``rewards.gaussian()``, ``rewards.by_arm(...)`` or another law.
      realised_regret: record ``realised_regret`` too: the reward of a pull of the best arm, made in each round for this alone, less the
        reward obtained, as the code of arXiv 2007.03121 does. It has the same mean as the expected regret, and more noise.

    Raises:
      ValueError: if the means are not numbers or not those of the law: of bits they lie in [0, 1].
    """
    if not isinstance(rewards, Rewards):
        raise ValueError(f"rewards must be Rewards, such as rewards.bernoulli; got {rewards!r}")
    validate.flag("realised_regret", realised_regret)
    known = validate.vector("means", means)
    if known is not None:
        rewards.check(known)
    num_arms = validate.size("num_arms", np.shape(means)[0], 1, validate.MOST_ITEMS)

    def setup(z):
        given, labels = jnp.asarray(means, jnp.float32), lanes.shuffle(z["order"])
        best = jnp.argmax(given).astype(jnp.int32)
        return ArmedInstance(labels=labels, means=lanes.take(given, labels), best=jnp.max(given), best_label=best)

    def respond(instance, round_, action, z):
        return rewards.sample(lanes.take(instance.labels, action)[0], lanes.take(instance.means, action)[0], z)

    def realised(instance, round_, action, z):
        twin = rewards.sample(instance.best_label, instance.best, {name: z[_TWIN + name] for name in rewards.draws})
        return twin.astype(jnp.float32) - respond(instance, round_, action, z).astype(jnp.float32)

    twins = {_TWIN + name: draw for name, draw in rewards.draws.items()} if realised_regret else {}
    return Problem(
        sizes={"num_arms": num_arms},
        setup_draws={"order": draws.bits((2, num_arms)), "preview": draws.uniform((num_arms,))},
        draws={**rewards.draws, **twins},
        setup=setup,
        preview=lambda instance, z: (z["preview"] < instance.means).astype(jnp.int32),
        context=lambda instance, t, z: (),
        respond=respond,
        regret=lambda instance, round_, action: instance.best - lanes.take(instance.means, action)[0],
        legal=lambda instance, action: (action[0] >= 0) & (action[0] < num_arms),
        realised=realised if realised_regret else None,
    )
