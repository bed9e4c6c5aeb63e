"""Contextual (generalised) linear bandits under local and central privacy, and non-private curves."""

from jaxbandits.policies.contextual.glm import ldp_glm, ldp_glm_paper
from jaxbandits.policies.contextual.greedy import ldp_ols, ldp_sgd
from jaxbandits.policies.contextual.joint import joint_dp_linucb
from jaxbandits.policies.contextual.linucb import ldp_linucb, ldp_linucb_author_code, ldp_linucb_paper
from jaxbandits.policies.contextual.raw import gloc, oful

__all__ = [
    "gloc",
    "joint_dp_linucb",
    "ldp_glm",
    "ldp_glm_paper",
    "ldp_linucb",
    "ldp_linucb_author_code",
    "ldp_linucb_paper",
    "ldp_ols",
    "ldp_sgd",
    "oful",
]
