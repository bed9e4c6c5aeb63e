"""What to record of a run beside its regret: functions (state of the policy, instance) -> number, for a study's ``metrics``."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import PyTree


def communications(state: PyTree, instance: PyTree) -> Array:
    """Rounds of communication of a federated policy that are over, int32 (); none of a policy that does not communicate."""
    return getattr(state, "communications", jnp.int32(0))


@dataclasses.dataclass(frozen=True)
class _Cost:
    per_round: float

    def __call__(self, state: PyTree, instance: PyTree) -> Array:
        return communications(state, instance).astype(jnp.float32) * np.float32(self.per_round)


def communication_cost(per_round: float) -> Callable[[PyTree, PyTree], Array]:
    """What a federated policy has spent on communication, at one price for all policies of a study.

    Of policies with different networks record ``communications``, and multiply.

    Args:
      per_round: cost of a round, such as that of every agent talking to a server, c1 M, of links used in flooding,
        c2 ``networks.flood(network).links_used``, or of sinks and links, c1 Q + c2 ``networks.collect(network).links_used``.

    Raises:
      ValueError: if it is no number from 0 to 1e10.
    """
    validate.scale("per_round", per_round)
    return _Cost(float(per_round))
