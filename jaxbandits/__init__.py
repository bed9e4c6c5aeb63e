"""Bandit algorithms under differential privacy, simulated by the thousand."""

import importlib
from typing import Any

from jaxbandits import domains, links, mechanisms, metrics, networks, oracles, policies, privacy, problems, stats, tables, theory
from jaxbandits.core import Claim, Draw, Policy, Problem, Round
from jaxbandits.precision import run_to_precision
from jaxbandits.run import run
from jaxbandits.study import Study, linear_checkpoints, log_checkpoints

__all__ = [
    "Claim",
    "Draw",
    "Policy",
    "Problem",
    "Round",
    "Study",
    "domains",
    "linear_checkpoints",
    "links",
    "log_checkpoints",
    "mechanisms",
    "metrics",
    "networks",
    "oracles",
    "policies",
    "privacy",
    "problems",
    "run",
    "run_to_precision",
    "stats",
    "tables",
    "theory",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``jaxbandits.plot``, when it is asked for: it imports matplotlib."""
    if name == "plot":
        return importlib.import_module("jaxbandits.plot")
    raise AttributeError(f"module 'jaxbandits' has no attribute {name!r}")
