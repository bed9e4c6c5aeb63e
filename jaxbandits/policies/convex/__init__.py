"""Bandit convex optimisation under local privacy, and the non-private learners that it is made of."""

from jaxbandits.policies.convex.barrier import hazan_levy, saha_tewari
from jaxbandits.policies.convex.gradient import fkm, fkm_strongly_convex
from jaxbandits.policies.convex.one_point import gaussian_one_point, ldp_gaussian_one_point, ldp_laplace_one_point
from jaxbandits.policies.convex.two_point import constant_rate as constant_rate  # what policies take as ``rate``; no policies themselves
from jaxbandits.policies.convex.two_point import falling_rate as falling_rate
from jaxbandits.policies.convex.two_point import gaussian_two_point, ldp_gaussian_two_point, two_point

__all__ = [
    "fkm",
    "fkm_strongly_convex",
    "gaussian_one_point",
    "gaussian_two_point",
    "hazan_levy",
    "ldp_gaussian_one_point",
    "ldp_gaussian_two_point",
    "ldp_laplace_one_point",
    "saha_tewari",
    "two_point",
]
