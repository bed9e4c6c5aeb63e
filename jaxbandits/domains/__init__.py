"""Convex sets that points are chosen from: what a problem and a policy know of them."""

from jaxbandits.domains.ball import ball
from jaxbandits.domains.box import box
from jaxbandits.domains.interface import Barrier, Domain, check, shrunk
from jaxbandits.domains.simplex import simplex

__all__ = ["Barrier", "Domain", "ball", "box", "check", "shrunk", "simplex"]
