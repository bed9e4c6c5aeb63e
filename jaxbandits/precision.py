"""As many seeds as a wanted precision needs."""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from jaxbandits import stats, validate
from jaxbandits.run import run
from jaxbandits.study import Study

GROWTH = 4
"""The most that a stage may multiply the seeds by: the variance it goes by is itself measured."""


def run_to_precision(
    study: Study,
    *,
    standard_error: float = 0.0,
    relative: float = 0.0,
    most_seeds: int = 10_000,
    metric: str = "regret",
    store: str | os.PathLike | None = None,
    **options: Any,
) -> xr.Dataset:
    """Adds seeds to a study until every mean at the end of the horizon is as precise as wanted.

    It begins with the seeds of the study, and stops at the first stage at which each policy at each point of the grid has a standard
    error of at most ``max(standard_error, relative * |mean|)``, or at ``most_seeds`` with a warning. The next stage has the seeds
    that the curve with the largest variance needs as far as it is known by then, at most four times as many as before. This is the rule of
    Chow and Robbins 1965 in stages: intervals have their coverage in the limit of small errors; a study that begins with few
    seeds, below ten or so, may stop too early. Nor does it know of what none of the first seeds met: where one run in twenty fails
    and costs ten times as much, ten seeds that all went well look precise, and three intervals in five miss the mean. Seeds are the
    same as those of ``run``, and later stages keep the earlier ones.

    Args:
      study: what to run; at least two seeds, with which it begins.
      standard_error: the largest standard error, in units of the metric.
      relative: the same as a share of the mean.
      most_seeds: where to stop at the latest.
      metric: "regret" or the name of a metric that is a number.
      store: a directory for the results, as of ``run``; each stage tops up the one before, and a later call begins with what is there.
      options: the other arguments of ``run``.

    Returns:
      what ``run`` returns for the last number of seeds. ``attrs["precision"]`` has the rule, the seeds of each stage, and whether it was
      reached, as JSON.

    Raises:
      ValueError: if a number is out of range, neither error is positive, the metric is unknown or an array, or as ``run``.
      FloatingPointError: as ``run``.
    """
    validate.instance("study", study, Study, "a Study")
    validate.amount("standard_error", standard_error)
    validate.amount("relative", relative)
    if not standard_error and not relative:
        raise ValueError(f"standard_error or relative must be above 0; got {standard_error!r} and {relative!r}")
    validate.one_of("metric", metric, study.quantities)
    validate.size("seeds of the study", study.seeds, 2)
    most = validate.size("most_seeds", most_seeds, study.seeds, 10_000_000)
    stages: list[int] = []
    with _kept(store) as place:
        needed = study.seeds
        while True:
            dataset = run(dataclasses.replace(study, seeds=needed), store=place, **options)
            stages.append(needed)
            wanted, worst = _needed(dataset, metric, standard_error, relative)
            if wanted <= needed or needed == most:
                break
            needed = int(min(wanted, GROWTH * needed, most))
    reached = wanted <= stages[-1]
    if not reached:
        missed = f"{worst} would need about {wanted:,.0f} seeds" if math.isfinite(wanted) else f"the mean of {worst} is 0"
        warnings.warn(f"most_seeds, {most:,}, was reached before the precision: {missed}", stacklevel=2)
    rule = {"standard_error": float(standard_error), "relative": float(relative), "metric": metric, "stages": stages, "reached": reached}
    return dataset.assign_attrs(precision=json.dumps(rule))


@contextlib.contextmanager
def _kept(store: str | os.PathLike | None) -> Iterator[str | os.PathLike]:
    """The store, or one that is gone afterwards: stages top it up."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder, "store")


def _needed(dataset: xr.Dataset, metric: str, standard_error: float, relative: float) -> tuple[float, str]:
    """How many seeds the worst curve needs, as far as its variance is known; and which curve that is."""
    values = stats.final(stats.quantity(dataset, metric))
    if set(values.dims) - {"seed", *dataset["claim"].dims}:
        raise ValueError(f"metric must be a number, not an array; got {metric!r}")
    variance, mean = values.var("seed", ddof=1, skipna=False), values.mean("seed", skipna=False)
    target = (relative * xr.where(mean < 0, -mean, mean)).clip(min=standard_error)
    seeds = xr.where(variance == 0, 1.0, np.ceil(variance / target.where(target > 0, np.nan) ** 2)).fillna(np.inf)
    place = seeds.argmax(...)
    worst = seeds.isel(place)
    said = ", ".join(f"{axis} {worst[axis].item()}" for axis in seeds.dims if axis != "policy")
    return float(worst), repr(str(worst["policy"].item())) + (f" at {said}" if said else "")
