"""Results as tables: for pandas, Parquet, Markdown and LaTeX.

Every table has the claim of each policy beside its numbers: an epsilon only where it is a guarantee.
"""

import importlib.util
import itertools
import os

import numpy as np
import pandas as pd
import xarray as xr
from tabulate import tabulate

from jaxbandits import stats, validate
from jaxbandits.core import without_epsilon

CLAIMS = ("claim", "guaranteed_epsilon", "guaranteed_delta")
"""What each policy guarantees at each point of the grid, as columns."""


def tidy(dataset: xr.Dataset) -> pd.DataFrame:
    """All results, a row for each policy, point of the grid, seed and recorded round.

    Args:
      dataset: what ``run`` returned, or a selection of it.

    Returns:
      a table with the columns policy, the axes of the grid, seed, round, what was recorded, such as regret, and claim,
      guaranteed_epsilon and guaranteed_delta, which are NaN without a guarantee. A metric that is an array has a column for each of its
      numbers, ``counts_0`` and on.

    Raises:
      ValueError: if the dataset is not what ``run`` returned.
    """
    regret = stats.quantity(dataset, "regret")
    flat = xr.Dataset(coords=dataset.coords)
    for name, values in dataset.data_vars.items():
        extra = [dim for dim in values.dims if dim not in regret.dims]
        for place in itertools.product(*(range(values.sizes[dim]) for dim in extra)):
            flat["_".join([str(name), *map(str, place)])] = values.isel(dict(zip(extra, place, strict=True)), drop=True)
    axes = [str(dim) for dim in regret.dims if dim not in ("policy", "seed", "round")]
    chosen = [str(name) for name in dataset.coords if name not in (*regret.dims, *CLAIMS) and not dataset[name].dims]
    order = [name for name in ("policy", *axes, "seed", "round") if name in regret.dims]
    frame = (
        flat.to_dataframe(dim_order=order).reset_index()
        if order
        else pd.DataFrame([{str(k): v.values.item() for k, v in flat.variables.items()}])
    )
    claims = [name for name in CLAIMS if name in dataset.variables]
    return frame.reindex(columns=[*order, *chosen, *map(str, flat.data_vars), *claims])


def summary(dataset: xr.Dataset, *, metric: str = "regret", level: float = 0.95) -> pd.DataFrame:
    """A metric at the end of the horizon, a row for each policy and point of the grid.

    Args:
      dataset: what ``run`` returned, or a selection of it.
      metric: "regret" or the name of a metric that is a number.
      level: coverage of the interval of each mean, by Student's t.

    Returns:
      a table with the columns policy, the axes of the grid, mean, standard_error, low, high, seeds and claim; with one seed there is
      neither error nor interval. A policy that an axis does not concern has the same row at each of its values.

    Raises:
      ValueError: if the metric is unknown or an array, or the level is out of range.
    """
    values = stats.final(stats.quantity(dataset, metric))
    axes = [str(dim) for dim in values.dims if dim != "seed"]
    if set(axes) - set(map(str, stats.quantity(dataset, "regret").dims)):
        raise ValueError(f"metric must be a number, not an array; got {metric!r}")
    error = stats.standard_error(values).transpose(*axes)
    values = values.transpose(*axes, "seed")
    band = stats.normal_band(values, level)
    frame = pd.DataFrame(itertools.product(*(values[axis].values for axis in axes)), columns=axes)
    for column, part in (
        ("mean", band["mean"]),
        ("standard_error", error),
        ("low", band["low"]),
        ("high", band["high"]),
    ):
        frame[column] = part.values.ravel()
    frame["seeds"] = values.sizes["seed"]
    frame["claim"] = dataset["claim"].broadcast_like(band["mean"]).transpose(*axes).values.ravel().astype(str)
    if "policy" not in frame:
        frame.insert(0, "policy", str(dataset["policy"].values))
    return frame


def across(dataset: xr.Dataset, axis: str, *, metric: str = "regret", digits: int = 3) -> pd.DataFrame:
    """A metric at the end of the horizon against a swept parameter, as texts: a row for each policy, a column for each value.

    Args:
      dataset: what ``run`` returned, with one value chosen on each other grid axis.
      axis: the swept parameter.
      metric: "regret" or the name of a metric that is a number.
      digits: significant digits of the mean, from 1 to 15; the standard error, in brackets, has as many decimals.

    Raises:
      ValueError: if the axis or the metric is unknown, another grid axis has no value chosen, or digits is out of range.
    """
    digits = validate.size("digits", digits, 1, 15)
    frame = summary(dataset, metric=metric)
    swept = [name for name in frame.columns[: frame.columns.get_loc("mean")] if name != "policy"]
    validate.one_of("axis", axis, swept or ["the grid axes, of which there are none"])
    if len(swept) > 1:
        other = next(name for name in swept if name != axis)
        first = np.asarray(frame[other])[0].item() if frame[other].dtype.kind in "iuf" else frame[other].iloc[0]
        raise ValueError(f"dataset must have one value of {other!r} chosen, as by dataset.sel({other}={first!r})")
    frame["cell"] = [_cell(mean, error, digits) for mean, error in zip(frame["mean"], frame["standard_error"], strict=True)]
    claims = frame.groupby("policy", sort=False)["claim"].agg(lambda found: found.iloc[0] if found.nunique() == 1 else _kind(found))
    wide = frame.pivot(index="policy", columns=axis, values="cell").loc[list(claims.index), list(dict.fromkeys(frame[axis]))]
    wide.insert(0, "privacy", claims)
    wide.columns = ["privacy", *(f"{axis} {_text(value)}" for value in wide.columns[1:])]
    return wide.reset_index()


def _kind(claims: pd.Series) -> str:
    """What claims at several epsilons, which are in the columns, have in common."""
    return " / ".join(sorted({without_epsilon(claim) for claim in claims}))


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | int | np.number) else str(value)


def _cell(mean: float, error: float, digits: int) -> str:
    """The mean with its standard error, to the same decimals."""
    if not np.isfinite(mean):
        return f"{mean}"
    decimals = max(digits - 1 - int(np.floor(np.log10(abs(mean)))), 0) if mean else digits - 1
    return f"{mean:,.{decimals}f}" + ("" if np.isnan(error) else f" ({error:,.{decimals}f})")


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown.

    Args:
      frame: such as ``summary`` or ``across`` give.

    Raises:
      ValueError: if it is not a DataFrame.
    """
    return _written(frame, "github")


def latex(frame: pd.DataFrame) -> str:
    """A table in LaTeX, for the package booktabs, special characters escaped.

    Args:
      frame: such as ``summary`` or ``across`` give.

    Raises:
      ValueError: if it is not a DataFrame.
    """
    return _written(frame, "latex_booktabs")


def _written(frame: pd.DataFrame, style: str) -> str:
    validate.instance("frame", frame, pd.DataFrame, "a table of pandas")
    shown = {str(name): [_shown(value) for value in column] for name, column in frame.items()}
    right = ["right" if pd.api.types.is_numeric_dtype(column) else "left" for _, column in frame.items()]
    return tabulate(shown, headers="keys", tablefmt=style, colalign=right if len(frame) else None, disable_numparse=True)


def _shown(value: object) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)


def parquet(dataset: xr.Dataset, path: str | os.PathLike) -> None:
    """Writes all results to a Parquet file, as ``tidy`` has them. It needs the extra ``parquet``.

    Args:
      dataset: what ``run`` returned, or a selection of it.
      path: the file.

    Raises:
      ValueError: if the dataset is not what ``run`` returned, or the directory is not there.
      ImportError: without pyarrow.
    """
    file = validate.new_file("path", path)
    check_parquet()
    tidy(dataset).to_parquet(file, index=False)


def check_parquet() -> None:
    """Asks for pyarrow.

    Raises:
      ImportError: if it is not there; the message says how to get it.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError("a Parquet file needs pyarrow: pip install 'jaxbandits[parquet]'")
