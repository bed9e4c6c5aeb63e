"""Published algorithms and sound alternatives to them, in a folder for each family of problems."""

from jaxbandits.policies import armed, cascade, contextual, convex, federated, semi_bandit

__all__ = ["armed", "cascade", "contextual", "convex", "federated", "semi_bandit"]
