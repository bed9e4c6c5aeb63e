"""Where users come from: one file a problem."""

from jaxbandits.problems import rewards
from jaxbandits.problems.armed import ArmedInstance, armed
from jaxbandits.problems.cascade import CascadeInstance, cascade, uniform_cascade
from jaxbandits.problems.clicks import ClickLog, from_clicks, simulate_clicks
from jaxbandits.problems.instances import linear, twenty_arms, two_level

__all__ = [
    "ArmedInstance",
    "CascadeInstance",
    "ClickLog",
    "armed",
    "cascade",
    "from_clicks",
    "linear",
    "rewards",
    "simulate_clicks",
    "twenty_arms",
    "two_level",
    "uniform_cascade",
]
