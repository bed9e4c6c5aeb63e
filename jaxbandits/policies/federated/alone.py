"""What federated algorithms are compared with: no noise, and no federation."""

import numpy as np
from jax.typing import ArrayLike

from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.policies.federated.assemble import SOUND, assemble


def federated_elimination(*, num_arms: int, num_agents: int, horizon: int, course: ArrayLike | None = None) -> Policy:
    """CDP-MAB without noise: every agent sends its means as they are. Non-private.

    Regret O(sum over arms of log T / gap) in sum over the agents. Non-private.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      horizon: T, number of rounds; a study fills it in.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(num_arms=num_arms, num_agents=num_agents, epsilon=np.inf, horizon=horizon, mode=SOUND, course=course, claim=NON_PRIVATE)
