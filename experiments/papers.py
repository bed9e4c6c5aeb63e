"""The papers, by the names that the command line has for them."""

from typing import Any

from . import armed_central, armed_local, cascading_central, cascading_dp, contextual, convex, federated, privacy, semi_bandit

PAPERS: dict[str, Any] = {
    "cascading_dp": cascading_dp,
    "cascading_central": cascading_central,
    "semi_bandit": semi_bandit,
    "armed_local": armed_local,
    "convex": convex,
    "contextual": contextual,
    "federated": federated,
    "armed_central": armed_central,
    "privacy": privacy,
}
"""Modules with TITLE, FIGURES, QUICK and FULL scales, and the functions studies, figures, findings and published."""
