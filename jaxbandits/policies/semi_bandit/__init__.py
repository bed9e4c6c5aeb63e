"""Combinatorial semi-bandits: policies that play a super arm and see the bit of each of its arms."""

from jaxbandits.policies.semi_bandit.central import cucb_dp, cucb_dp_kl
from jaxbandits.policies.semi_bandit.gaussian import gaussian_cucb, ldp_gaussian_cucb
from jaxbandits.policies.semi_bandit.laplace import ldp_laplace_cucb
from jaxbandits.policies.semi_bandit.local import cucb_ldp1, cucb_ldp2, cucb_ldp2_kl, cucb_ldp2_laplace
from jaxbandits.policies.semi_bandit.ucb import cucb

__all__ = [
    "cucb",
    "cucb_dp",
    "cucb_dp_kl",
    "cucb_ldp1",
    "cucb_ldp2",
    "cucb_ldp2_kl",
    "cucb_ldp2_laplace",
    "gaussian_cucb",
    "ldp_gaussian_cucb",
    "ldp_laplace_cucb",
]
