"""Where users come from: one file a problem."""

from jaxbandits.problems import contexts, losses, rewards
from jaxbandits.problems.armed import ArmedInstance, armed
from jaxbandits.problems.cascade import CascadeInstance, cascade, uniform_cascade
from jaxbandits.problems.clicks import ClickLog, from_clicks, simulate_clicks
from jaxbandits.problems.contextual import ContextualInstance, contextual, ratings
from jaxbandits.problems.convex import ConvexInstance, one_point, two_point
from jaxbandits.problems.federated import federated
from jaxbandits.problems.instances import linear, twenty_arms, two_level
from jaxbandits.problems.rating_tables import read_ratings, simulate_ratings
from jaxbandits.problems.semi_bandit import SemiBanditInstance, semi_bandit

__all__ = [
    "ArmedInstance",
    "CascadeInstance",
    "ClickLog",
    "ContextualInstance",
    "ConvexInstance",
    "SemiBanditInstance",
    "armed",
    "cascade",
    "contexts",
    "contextual",
    "federated",
    "from_clicks",
    "linear",
    "losses",
    "one_point",
    "ratings",
    "read_ratings",
    "rewards",
    "semi_bandit",
    "simulate_clicks",
    "simulate_ratings",
    "twenty_arms",
    "two_level",
    "two_point",
    "uniform_cascade",
]
