"""What to record of a run beside its regret: functions (state of the policy, instance) -> number, for a study's ``metrics``."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import PyTree


def communications(state: PyTree, instance: PyTree) -> Array:
    """Rounds of communication of a federated policy that are over, int32 (); none of a policy that does not communicate."""
    return getattr(state, "communications", jnp.int32(0))


def communication_cost(per_round: float) -> Callable[[PyTree, PyTree], Array]:
    """What a federated policy has spent on communication.

    Args:
      per_round: cost of a round, such as that of every agent talking to a server, c1 M, of links used in flooding,
        c2 ``networks.flood(network).links_used``, or of sinks and links, c1 Q + c2 ``networks.collect(network).links_used``.

    Raises:
      ValueError: if it is negative, or no number.
    """
    validate.scalar("per_round", per_round, "a finite number, at least 0", lambda c: 0 <= c < np.inf)
    price = np.float32(per_round)
    return lambda state, instance: communications(state, instance).astype(jnp.float32) * price
