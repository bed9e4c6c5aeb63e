"""Published algorithms and sound alternatives to them, in a folder for each family of problems."""

from jaxbandits.policies import armed, cascade, semi_bandit

__all__ = ["armed", "cascade", "semi_bandit"]
