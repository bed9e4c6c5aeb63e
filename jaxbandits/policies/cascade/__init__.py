"""Cascading bandits: policies that show a list and learn from the position of the first click."""

from jaxbandits.policies.cascade.all_central import all_dp_ucb1
from jaxbandits.policies.cascade.all_positions import (
    all_ldp_gaussian_ucb1,
    all_ldp_laplace_ucb1,
    all_ldp_response_ucb1,
    all_ldp_unary_ucb1,
)
from jaxbandits.policies.cascade.composition import composition_ucb, composition_ucb_calibrated
from jaxbandits.policies.cascade.first_central import first_dp_kl_ucb, first_dp_lazy_ucb1, first_dp_ucb1
from jaxbandits.policies.cascade.first_position import first_kl_ucb, first_ldp_kl_ucb, first_ldp_ucb1, first_ucb1
from jaxbandits.policies.cascade.gaussian import gaussian_ucb, gaussian_ucb_calibrated
from jaxbandits.policies.cascade.hybrid import hybrid_ucb, hybrid_ucb_by_count, hybrid_ucb_calibrated
from jaxbandits.policies.cascade.laplace import laplace_ucb, laplace_ucb_calibrated, laplace_ucb_forced
from jaxbandits.policies.cascade.ucb import cascade_kl_ucb, cascade_ucb1

__all__ = [
    "all_dp_ucb1",
    "all_ldp_gaussian_ucb1",
    "all_ldp_laplace_ucb1",
    "all_ldp_response_ucb1",
    "all_ldp_unary_ucb1",
    "cascade_kl_ucb",
    "cascade_ucb1",
    "composition_ucb",
    "composition_ucb_calibrated",
    "first_dp_kl_ucb",
    "first_dp_lazy_ucb1",
    "first_dp_ucb1",
    "first_kl_ucb",
    "first_ldp_kl_ucb",
    "first_ldp_ucb1",
    "first_ucb1",
    "gaussian_ucb",
    "gaussian_ucb_calibrated",
    "hybrid_ucb",
    "hybrid_ucb_by_count",
    "hybrid_ucb_calibrated",
    "laplace_ucb",
    "laplace_ucb_calibrated",
    "laplace_ucb_forced",
]
