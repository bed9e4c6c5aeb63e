"""Means, bands and slopes over seeds, and policies compared seed by seed.

Seeds are independent; within a seed all policies meet the same users, so differences between policies are best taken seed by
seed, which is what ``paired_difference``, ``ratio`` and ``paired_tests`` do.
"""

from jaxbandits.stats.bands import Band, final, log_slope, normal_band, quantile_band, quantity, standard_error
from jaxbandits.stats.pairs import (
    Correction,
    PairedTest,
    benjamini_hochberg,
    bonferroni,
    holm,
    paired_difference,
    paired_tests,
    ratio,
    t_test,
)

__all__ = [
    "Band",
    "Correction",
    "PairedTest",
    "benjamini_hochberg",
    "bonferroni",
    "final",
    "holm",
    "log_slope",
    "normal_band",
    "paired_difference",
    "paired_tests",
    "quantile_band",
    "quantity",
    "ratio",
    "standard_error",
    "t_test",
]
