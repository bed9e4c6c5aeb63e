"""K-armed bandits under central privacy: policies that pull one arm and see its reward."""

from jaxbandits.policies.armed.adap import adap_kl_ucb, adap_ucb
from jaxbandits.policies.armed.counting import dp_ucb, dp_ucb_bound, dp_ucb_int, mishra_thakurta_ucb, mishra_thakurta_ucb_split
from jaxbandits.policies.armed.divergence import dp_imed, dp_kl_ucb
from jaxbandits.policies.armed.elimination import dp_se
from jaxbandits.policies.armed.lazy import lazy_dp_ts, lazy_ucb

__all__ = [
    "adap_kl_ucb",
    "adap_ucb",
    "dp_imed",
    "dp_kl_ucb",
    "dp_se",
    "dp_ucb",
    "dp_ucb_bound",
    "dp_ucb_int",
    "lazy_dp_ts",
    "lazy_ucb",
    "mishra_thakurta_ucb",
    "mishra_thakurta_ucb_split",
]
