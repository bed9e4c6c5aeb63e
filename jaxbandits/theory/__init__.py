"""Upper and lower bounds, as functions of the same parameters as the policies."""

from jaxbandits.theory import (
    armed_central,
    armed_local,
    cascade,
    cascade_central,
    cascade_lower,
    contextual,
    convex,
    federated,
    semi_bandit,
)

__all__ = [
    "armed_central",
    "armed_local",
    "cascade",
    "cascade_central",
    "cascade_lower",
    "contextual",
    "convex",
    "federated",
    "semi_bandit",
]
