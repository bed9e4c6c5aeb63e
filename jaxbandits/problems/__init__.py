"""Where users come from: one file a problem."""

from jaxbandits.problems.cascade import CascadeInstance, cascade, uniform_cascade
from jaxbandits.problems.instances import linear, two_level

__all__ = ["CascadeInstance", "cascade", "linear", "two_level", "uniform_cascade"]
