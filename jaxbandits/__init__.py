"""Bandit algorithms under differential privacy, simulated by the thousand.

The README says how to start. What is public is what ``__all__`` names, here and in the modules named here, and what a module without one
defines without an underscore. The pages of ``policies`` have the algorithms; ``mechanisms`` and ``problems`` say by example how to add
your own.
"""

import importlib
from typing import TYPE_CHECKING, Any

from jaxbandits import (
    core,
    domains,
    engine,
    links,
    mechanisms,
    metrics,
    networks,
    oracles,
    policies,
    privacy,
    problems,
    stats,
    tables,
    theory,
)
from jaxbandits.core import Claim, Draw, Policy, Problem, Round
from jaxbandits.precision import run_to_precision
from jaxbandits.run import run
from jaxbandits.study import Study, linear_checkpoints, log_checkpoints

if TYPE_CHECKING:
    from jaxbandits import plot

__all__ = [
    "Claim",
    "Draw",
    "Policy",
    "Problem",
    "Round",
    "Study",
    "core",
    "domains",
    "engine",
    "linear_checkpoints",
    "links",
    "log_checkpoints",
    "mechanisms",
    "metrics",
    "networks",
    "oracles",
    "plot",
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
