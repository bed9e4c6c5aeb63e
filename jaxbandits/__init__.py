"""Bandit algorithms under differential privacy, simulated by the thousand."""

from jaxbandits import mechanisms, policies, problems
from jaxbandits.core import Claim, Draw, Policy, Problem, Round
from jaxbandits.run import run
from jaxbandits.study import Study, linear_checkpoints, log_checkpoints

__all__ = [
    "Claim",
    "Draw",
    "Policy",
    "Problem",
    "Round",
    "Study",
    "linear_checkpoints",
    "log_checkpoints",
    "mechanisms",
    "policies",
    "problems",
    "run",
]
__version__ = "0.1.0"
