"""Contextual (generalised) linear bandits under local and central privacy, and non-private curves."""

from jaxbandits.policies.contextual.linucb import ldp_linucb, ldp_linucb_author_code, ldp_linucb_paper

__all__ = [
    "ldp_linucb",
    "ldp_linucb_author_code",
    "ldp_linucb_paper",
]
