"""Where users come from: one file a problem."""

from jaxbandits.problems import rewards
from jaxbandits.problems.armed import ArmedInstance, armed
from jaxbandits.problems.cascade import CascadeInstance, cascade, uniform_cascade
from jaxbandits.problems.clicks import ClickLog, from_clicks, simulate_clicks
from jaxbandits.problems.instances import linear, twenty_arms, two_level
from jaxbandits.problems.semi_bandit import SemiBanditInstance, semi_bandit

__all__ = [
    "ArmedInstance",
    "CascadeInstance",
    "ClickLog",
    "SemiBanditInstance",
    "armed",
    "cascade",
    "from_clicks",
    "linear",
    "rewards",
    "semi_bandit",
    "simulate_clicks",
    "twenty_arms",
    "two_level",
    "uniform_cascade",
]
