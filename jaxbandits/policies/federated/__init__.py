"""Federated bandits: one bandit, many agents, means that travel."""

from jaxbandits.policies.federated.alone import federated_elimination, independent_dp_se, independent_ucb1
from jaxbandits.policies.federated.graph import ddp_mab, ddp_mab_calibrated, ddp_mab_paper
from jaxbandits.policies.federated.hybrid import hdp_mab, hdp_mab_calibrated, hdp_mab_paper
from jaxbandits.policies.federated.server import cdp_mab, cdp_mab_calibrated, cdp_mab_paper, cdp_mab_secure_sum

__all__ = [
    "cdp_mab",
    "cdp_mab_calibrated",
    "cdp_mab_paper",
    "cdp_mab_secure_sum",
    "ddp_mab",
    "ddp_mab_calibrated",
    "ddp_mab_paper",
    "federated_elimination",
    "hdp_mab",
    "hdp_mab_calibrated",
    "hdp_mab_paper",
    "independent_dp_se",
    "independent_ucb1",
]
