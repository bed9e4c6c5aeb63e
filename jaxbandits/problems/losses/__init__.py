"""Losses of bandit convex optimisation: what a point costs the user of a round.

Losses are fixed in advance: they depend on the round and on random numbers, not on what was played. The users of all rounds have one best
point in common, and regret is measured against it.
"""

from jaxbandits.problems.losses.examples import absolute, logistic
from jaxbandits.problems.losses.interface import Losses, check_losses, noisy
from jaxbandits.problems.losses.moving import Path, alternating, independent, linear, quadratic

__all__ = ["Losses", "Path", "absolute", "alternating", "check_losses", "independent", "linear", "logistic", "noisy", "quadratic"]
