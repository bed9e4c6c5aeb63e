"""Policies compared seed by seed: differences, ratios and tests."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats as scipy_stats

from jaxbandits import validate
from jaxbandits.stats.bands import check_level, final, normal_band, quantity, standard_error

PairedTest = Callable[[np.ndarray], float]
"""Differences of the seeds -> the p-value of their being centred at 0."""
Correction = Callable[[np.ndarray], np.ndarray]
"""p-values of a family of tests -> adjusted ones, in the same order."""


def _pair(dataset: xr.Dataset, first: str, second: str, name: str) -> tuple[xr.DataArray, xr.DataArray]:
    values = quantity(dataset, name)
    for argument, policy in (("first", first), ("second", second)):
        validate.one_of(argument, policy, map(str, np.atleast_1d(values["policy"].values)))
    return values.sel(policy=first, drop=True), values.sel(policy=second, drop=True)


def paired_difference(dataset: xr.Dataset, first: str, second: str, name: str = "regret", level: float = 0.95) -> xr.Dataset:
    """Mean of first minus second over seeds, with its confidence band.

    Taken within each seed, where both met the same users: the more the two runs have in common, the narrower is the band.

    Args:
      dataset: what ``run`` returned.
      first: a policy.
      second: another.
      name: "regret" or the name of a metric.
      level: coverage at each point.

    Raises:
      ValueError: if a policy or the quantity is unknown or the level is out of range.
    """
    a, b = _pair(dataset, first, second, name)
    return normal_band(a - b, level)


def ratio(dataset: xr.Dataset, first: str, second: str, name: str = "regret", level: float = 0.95) -> xr.Dataset:
    """Ratio of the means over seeds, first over second, with a confidence band by the delta method on pairs.

    Args:
      dataset: what ``run`` returned.
      first: a policy.
      second: another.
      name: "regret" or the name of a metric.
      level: coverage at each point.

    Returns:
      mean (the ratio), low and high; NaN where the mean of the second is 0.

    Raises:
      ValueError: if a policy or the quantity is unknown or the level is out of range.
    """
    a, b = _pair(dataset, first, second, name)
    below = b.mean("seed", skipna=False).where(lambda m: m != 0)
    value = a.mean("seed", skipna=False) / below
    freedom = max(a.sizes["seed"] - 1, 1)
    half = standard_error(a - value * b) / np.abs(below) * scipy_stats.t.ppf(0.5 + check_level(level) / 2, freedom)
    return xr.Dataset({"mean": value, "low": value - half, "high": value + half})


def t_test(differences: np.ndarray) -> float:
    """The two-sided p-value of Student's t test that the mean difference is 0.

    Args:
      differences: one for each seed, two or more. If all are the same the p-value is 1 for zeros and 0 for others.

    Raises:
      ValueError: if they are not two finite numbers or more.
    """
    differences = validate.finite("differences", differences)
    if len(differences) < 2:
        raise ValueError(f"differences must be two numbers or more; got {len(differences)}")
    if np.ptp(differences) == 0:
        return float(differences[0] == 0)
    found: Any = scipy_stats.ttest_1samp(differences, 0.0)  # whose fields SciPy does not annotate
    return float(found.pvalue)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values that keep the chance of any false rejection in the family below the level, by Holm's steps.

    Args:
      p_values: of all tests of the family; they may depend on each other.

    Raises:
      ValueError: if they are not probabilities.
    """
    validate.probabilities("p_values", p_values)
    order, count = np.argsort(p_values), len(p_values)
    steps = np.maximum.accumulate(np.sort(p_values) * np.arange(count, 0, -1))
    return np.minimum(steps, 1.0)[np.argsort(order)]


def bonferroni(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values as of ``holm``, never smaller than those.

    Args:
      p_values: of all tests of the family; they may depend on each other.

    Raises:
      ValueError: if they are not probabilities.
    """
    validate.probabilities("p_values", p_values)
    return np.minimum(np.asarray(p_values) * len(p_values), 1.0)


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values that keep the expected share of false rejections among all rejections below the level.

    Args:
      p_values: of all tests of the family, independent or positively dependent.

    Raises:
      ValueError: if they are not probabilities.
    """
    validate.probabilities("p_values", p_values)
    return np.asarray(scipy_stats.false_discovery_control(p_values))


def paired_tests(
    dataset: xr.Dataset,
    reference: str,
    *,
    metric: str = "regret",
    level: float = 0.95,
    test: PairedTest = t_test,
    correction: Correction = holm,
) -> pd.DataFrame:
    """Tests whether each policy differs from a reference at the end of the horizon, at each point of the grid.

    Differences are taken within each seed, where both met the same users. All rows are one family for the correction.

    Args:
      dataset: what ``run`` returned.
      reference: the policy that the others are compared with.
      metric: "regret" or the name of a metric that is a number.
      level: coverage of the interval of each difference, which is not corrected.
      test: the paired test, such as ``lambda d: scipy.stats.wilcoxon(d).pvalue`` for one by ranks.
      correction: ``holm``, ``bonferroni``, ``benjamini_hochberg`` or another such function.

    Returns:
      a table with the columns policy, the axes of the grid, difference (policy minus reference), low, high, p_value and adjusted.

    Raises:
      ValueError: if the reference or the metric is unknown, there is no other policy, there is one seed, the level is out of range,
        or the test or the correction gives no probabilities.
    """
    values = final(quantity(dataset, metric))
    names = [str(name) for name in np.atleast_1d(values["policy"].values)]
    validate.one_of("reference", reference, names)
    others = [name for name in names if name != reference]
    if not others or values.sizes["seed"] < 2:
        raise ValueError(f"dataset must have two policies and two seeds or more; got {len(names)} and {values.sizes['seed']}")
    axes = [str(dim) for dim in values.dims if dim not in ("policy", "seed")]
    if set(axes) - set(map(str, dataset["claim"].dims)):
        raise ValueError(f"metric must be a number, not an array; got {metric!r}")
    differences = (values.sel(policy=others) - values.sel(policy=reference)).transpose("policy", *axes, "seed")
    band = normal_band(differences, level)
    points = itertools.product(others, *(values[axis].values for axis in axes))
    frame = pd.DataFrame(points, columns=["policy", *axes])
    for column, part in (("difference", "mean"), ("low", "low"), ("high", "high")):
        frame[column] = band[part].values.ravel()
    by_row = differences.values.reshape(len(frame), -1)
    frame["p_value"] = [float(_probabilities("test", test, row, 1)[0]) for row in by_row]
    frame["adjusted"] = _probabilities("correction", correction, frame["p_value"].to_numpy(), len(frame))
    return frame


def _probabilities(name: str, function: Any, values: np.ndarray, count: int) -> np.ndarray:
    """So many p-values that the function of a user gives."""
    found = validate.called(name, function, "a function that gives p-values", values)
    p_values = np.ravel(found)
    if p_values.dtype.kind not in "fiu" or len(p_values) != count or not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"{name} must give probabilities; got {validate.short(found)}")
    return p_values
