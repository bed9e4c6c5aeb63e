"""Means over seeds, bands and slopes."""

import math
from collections.abc import Callable

import numpy as np
import xarray as xr
from scipy import stats as scipy_stats

from jaxbandits import validate

Band = Callable[[xr.DataArray], xr.Dataset]
"""Values with a seed dimension -> a Dataset of mean, low and high without it."""


def quantity(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """One recorded quantity of a run.

    Args:
      dataset: what ``run`` returned, or a selection of it.
      name: "regret" or the name of a metric.

    Raises:
      ValueError: if nothing of that name was recorded.
    """
    validate.instance("dataset", dataset, xr.Dataset, "what run returned")
    validate.one_of("name of the metric", name, map(str, dataset.data_vars))
    return dataset[name]


def _values(values: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    if not isinstance(values, xr.DataArray) or dim not in values.dims:
        raise ValueError(f"values must have the dimension {dim!r}, as a DataArray; got {validate.short(values)}")
    return values


def check_level(level: float) -> float:
    """A coverage, strictly between 0 and 1."""
    validate.scalar("level", level, "strictly between 0 and 1", lambda p: 0 < p < 1)
    return level


def standard_error(values: xr.DataArray) -> xr.DataArray:
    """The standard error of the mean over seeds; NaN with one seed, or if a value is NaN: a seed left out would make it look better.

    Args:
      values: with the dimension seed.

    Raises:
      ValueError: if there is no such dimension.
    """
    seeds = _values(values).sizes["seed"]
    if seeds == 1:
        return values.isel(seed=0, drop=True) * math.nan
    return values.std("seed", ddof=1, skipna=False) / math.sqrt(seeds)


def normal_band(values: xr.DataArray, level: float = 0.95) -> xr.Dataset:
    """Mean over seeds with its confidence band from Student's t.

    Args:
      values: with the dimension seed.
      level: coverage at each point, strictly between 0 and 1.

    Returns:
      mean, low and high; the band is NaN with one seed, and all are where a seed is.

    Raises:
      ValueError: if there is no seed dimension or the level is out of range.
    """
    mean = _values(values).mean("seed", skipna=False)
    freedom = max(values.sizes["seed"] - 1, 1)
    half = standard_error(values) * scipy_stats.t.ppf(0.5 + check_level(level) / 2, freedom)
    return xr.Dataset({"mean": mean, "low": mean - half, "high": mean + half})


def quantile_band(values: xr.DataArray, level: float = 0.9) -> xr.Dataset:
    """Mean over seeds with the range that holds the middle ``level`` of the seeds: how runs differ, not how sure the mean is.

    Args:
      values: with the dimension seed.
      level: fraction of the seeds, strictly between 0 and 1.

    Raises:
      ValueError: if there is no seed dimension or the level is out of range.
    """
    tail = (1 - check_level(level)) / 2
    return xr.Dataset(
        {
            "mean": _values(values).mean("seed"),
            "low": values.quantile(tail, "seed").drop_vars("quantile"),
            "high": values.quantile(1 - tail, "seed").drop_vars("quantile"),
        }
    )


def final(values: xr.DataArray) -> xr.DataArray:
    """The values at the last checkpoint.

    Args:
      values: with the dimension round.

    Raises:
      ValueError: if there is no such dimension.
    """
    return _values(values, "round").isel(round=-1)


def log_slope(values: xr.DataArray, axis: str, level: float = 0.95) -> xr.Dataset:
    """The slope of the mean over seeds on log-log axes, by least squares, with a confidence interval over seeds.

    The exponent of a power law, such as 3/4 for regret against the horizon. The interval is that of the means being random, by a jackknife
    over seeds, which are the same along the axis; it says nothing of a law that is no power law.

    Args:
      values: with the dimensions seed and ``axis``, whose coordinate and means are positive.
      axis: what the slope is against, with two values or more.
      level: coverage, strictly between 0 and 1.

    Returns:
      mean (the slope), low and high; the interval is NaN with one seed.

    Raises:
      ValueError: if a dimension is missing, the axis has one value, a number is not positive, or the level is out of range.
    """
    check_level(level)
    if not isinstance(axis, str) or axis not in _values(values).dims or values.sizes[axis] < 2:
        raise ValueError(f"axis must be a dimension with two values or more, one of {values.dims}; got {axis!r}")
    x = np.asarray(values[axis].values, np.float64)
    if not (x > 0).all() or not bool((values.mean("seed") > 0).all()):
        raise ValueError(f"values and {axis} must be positive to have a slope on log-log axes")
    centred = xr.DataArray(np.log(x) - np.log(x).mean(), dims=[axis], coords={axis: values[axis]})

    def slope(mean: xr.DataArray) -> xr.DataArray:
        return (xr.DataArray(np.log(mean)) * centred).sum(axis) / (centred**2).sum()

    seeds = values.sizes["seed"]
    found = slope(values.mean("seed"))
    if seeds == 1:
        return xr.Dataset({"mean": found, "low": found * math.nan, "high": found * math.nan})
    without = slope((values.sum("seed") - values) / (seeds - 1))
    error = np.sqrt((seeds - 1) * ((without - without.mean("seed")) ** 2).mean("seed"))
    half = error * scipy_stats.t.ppf(0.5 + level / 2, seeds - 1)
    return xr.Dataset({"mean": found, "low": found - half, "high": found + half})
