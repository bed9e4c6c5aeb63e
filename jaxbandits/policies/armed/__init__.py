"""K-armed bandits under local and central privacy: policies that pull one arm and see its reward."""

from jaxbandits.policies.armed.adap import adap_kl_ucb, adap_ucb
from jaxbandits.policies.armed.adversarial import exp3, tsallis_inf
from jaxbandits.policies.armed.counting import dp_ucb, dp_ucb_bound, dp_ucb_int, mishra_thakurta_ucb, mishra_thakurta_ucb_split
from jaxbandits.policies.armed.divergence import dp_imed, dp_kl_ucb
from jaxbandits.policies.armed.elimination import dp_se
from jaxbandits.policies.armed.halving import sequential_halving
from jaxbandits.policies.armed.lazy import lazy_dp_ts, lazy_ucb
from jaxbandits.policies.armed.local import (
    ldp_kl_ucb,
    ldp_ucb_bernoulli,
    ldp_ucb_bernoulli_sigmoid,
    ldp_ucb_laplace,
    ldp_ucb_laplace_chernoff,
    ldp_ucb_laplace_sigmoid,
    sigmoid_ucb1,
    ucb1,
)
from jaxbandits.policies.armed.reduction import ldp_gaussian_reduction, ldp_laplace_reduction, ldp_ucb_gaussian

__all__ = [
    "adap_kl_ucb",
    "adap_ucb",
    "dp_imed",
    "dp_kl_ucb",
    "dp_se",
    "dp_ucb",
    "dp_ucb_bound",
    "dp_ucb_int",
    "exp3",
    "lazy_dp_ts",
    "lazy_ucb",
    "ldp_gaussian_reduction",
    "ldp_kl_ucb",
    "ldp_laplace_reduction",
    "ldp_ucb_bernoulli",
    "ldp_ucb_bernoulli_sigmoid",
    "ldp_ucb_gaussian",
    "ldp_ucb_laplace",
    "ldp_ucb_laplace_chernoff",
    "ldp_ucb_laplace_sigmoid",
    "mishra_thakurta_ucb",
    "mishra_thakurta_ucb_split",
    "sequential_halving",
    "sigmoid_ucb1",
    "tsallis_inf",
    "ucb1",
]
