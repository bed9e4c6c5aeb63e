"""Attraction probabilities from a click log, and click logs from attraction probabilities.

The estimate is the maximum likelihood one of the cascade model, Craswell, Zoeter, Taylor, Ramsey: An Experimental Comparison
of Click Position-Bias Models, 2008: a user scans the list from the top, so the items before the click were examined and did
not attract, the clicked one attracted, and nothing is known of those behind it. Without a click all were examined.
"""

import dataclasses
import functools
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from jaxbandits import validate
from jaxbandits.problems import click_rows
from jaxbandits.problems.cascade import cascade


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ClickLog:
    """What a click log says of each item.

    Items are in order of decreasing attraction, ties in order of their ids, those never examined last; so the order of the
    rows does not matter.

    Attributes:
      items: [num_items], the ids: int64 if all of them are integers, otherwise text.
      examined: [num_items], int64: in how many rows a user looked at the item.
      clicked: [num_items], int64: in how many of these the user clicked it.
      attraction: [num_items], float64: clicked / examined; NaN for an item that was displayed but never examined.
      low, high: [num_items], float64: Wilson score interval for the attraction; from 0 to 1 if never examined.
      level: coverage of each interval, in (0, 1).
      rows: number of rows of the log.
    """

    items: np.ndarray
    examined: np.ndarray
    clicked: np.ndarray
    attraction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    rows: int

    def table(self) -> pd.DataFrame:
        """One row an item: item, examined, clicked, attraction, low, high."""
        names = {"item": "items", **{name: name for name in ("examined", "clicked", "attraction", "low", "high")}}
        return pd.DataFrame({column: getattr(self, field) for column, field in names.items()})

    def _kept(self, min_examined: int) -> np.ndarray:
        return self.examined >= validate.size("min_examined", min_examined, 1, int(self.examined.max()))

    def items_kept(self, min_examined: int = 1) -> np.ndarray:
        """The items that ``means`` tells of, in the same order.

        Args:
          min_examined: how often an item must have been examined, from 1 to the most that one was.

        Raises:
          ValueError: if min_examined is out of range.
        """
        return self.items[self._kept(min_examined)]

    def means(self, min_examined: int = 1) -> np.ndarray:
        """Attraction of the items examined often enough, float64 [items kept].

        Args:
          min_examined: how often an item must have been examined, from 1 to the most that one was.

        Raises:
          ValueError: if min_examined is out of range.
        """
        return self.attraction[self._kept(min_examined)]

    def problem(self, list_len: int, min_examined: int = 1) -> functools.partial:
        """The cascading bandit with these means, as ``Study`` takes it.

        Args:
          list_len: length of the displayed list, from 1 to the number of items kept.
          min_examined: how often an item must have been examined, from 1 to the most that one was.

        Raises:
          ValueError: if an argument is out of range.
        """
        means = self.means(min_examined)
        return functools.partial(cascade, means=means, list_len=validate.size("list_len", list_len, 1, len(means)))


def from_clicks(
    log: str | os.PathLike | pd.DataFrame | tuple[ArrayLike | Sequence, ArrayLike | Sequence],
    *,
    shown: str | Sequence[str] = "shown",
    click: str = "click",
    separator: str = "|",
    level: float = 0.95,
) -> ClickLog:
    """Estimates attraction probabilities from a log of displayed lists and clicks, under the cascade model.

    A row of the log is one displayed list, from the top, and the position of the click on it. Ids are integers or text; if all
    of them are integers, also ones written as text, they become int64. Lists may differ in length; what is missing at the end
    of a list is padding.

    Args:
      log: a path to a CSV file (.csv, .csv.gz, with a header) or a Parquet file (.parquet, .pq), a DataFrame, or a pair
        (lists, clicks), where lists is [rows, positions] or a sequence of lists.
      shown: the column that holds the list, as text or, outside CSV files, as a list; or a sequence of columns, one a position.
      click: the column of click positions, counted from 1; empty, NaN, None or 0 without a click.
      separator: what separates the items of a list that is text.
      level: coverage of the confidence intervals, strictly between 0 and 1.

    Raises:
      ValueError: if an argument is out of range, the file is missing, of an unknown type or cannot be read, a column is not
        there, the log has no rows, or a row is bad: the click is not an integer or lies outside the list, an item is repeated,
        an item is missing before one that is there, the list is empty, or something is not an id. The message names the first
        bad row, counted from 1 without the header.
      ImportError: if the log is a Parquet file and pyarrow is missing.
    """
    validate.scalar("level", level, "strictly between 0 and 1", lambda p: 0 < p < 1)
    rows = click_rows.read(log, shown, click, separator)
    num_items = len(rows.items)
    start = np.cumsum(rows.length) - rows.length
    chosen = rows.click > 0
    end = start + np.where(chosen, rows.click, rows.length)  # of what was examined
    examined = np.bincount(rows.shown[np.arange(len(rows.shown)) < np.repeat(end, rows.length)], minlength=num_items)
    clicked = np.bincount(rows.shown[end[chosen] - 1], minlength=num_items)
    attraction = np.divide(clicked, examined, out=np.full(num_items, np.nan), where=examined > 0)
    low, high = _wilson(clicked, examined, float(level))
    order = np.argsort(-attraction, kind="stable")  # NaN last
    per_item = {"items": rows.items, "examined": examined, "clicked": clicked, "attraction": attraction, "low": low, "high": high}
    return ClickLog(**{k: v[order] for k, v in per_item.items()}, level=float(level), rows=len(rows.click))


def _wilson(successes: np.ndarray, trials: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Score interval of a binomial proportion. Wilson: Probable Inference, the Law of Succession, and Statistical Inference, 1927."""
    z = -special.ndtri((1 - level) / 2)
    share = successes / np.maximum(trials, 1)
    centre = (successes + z**2 / 2) / (trials + z**2)
    half = z / (trials + z**2) * np.sqrt(trials * share * (1 - share) + z**2 / 4)
    # At the ends the bound is 0 or 1 and the rounding is not.
    return np.where(successes == 0, 0.0, centre - half), np.where(successes == trials, 1.0, centre + half)


def simulate_clicks(
    means: ArrayLike, list_len: int, rows: int, seed: int, item_names: Sequence[str] | Sequence[int] | None = None
) -> pd.DataFrame:
    """A synthetic click log of the cascade model, with lists drawn uniformly.

    Args:
      means: [num_items], attraction probabilities in [0, 1].
      list_len: length of the displayed lists, from 1 to num_items.
      rows: number of rows, at least 1.
      seed: seed of NumPy's generator, at least 0.
      item_names: [num_items], different ids without "|"; by default the numbers from 0.

    Returns:
      a DataFrame with the columns shown, ids joined by "|" from the top of the list, and click, Int64: the position from 1, or
      missing without a click.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.probabilities("means", means)
    means = np.asarray(means, np.float64)
    num_items = len(means)
    num_items, list_len = validate.list_sizes(num_items, list_len)
    rows = validate.size("rows", rows, 1, 10_000_000)
    seed = validate.size("seed", seed, 0, 2**32 - 1)
    given = range(num_items) if item_names is None else item_names
    names = [str(name).strip() for name in given] if np.ndim(given) == 1 else []
    if len(names) != num_items or len({*names}) < num_items or any(not name or "|" in name for name in names):
        raise ValueError(f"item_names must be {num_items} different ids, not empty and without '|'; got {item_names!r}")
    random = np.random.default_rng(seed)
    lists = _random_lists(random, num_items, list_len, rows)
    attracted = random.random(lists.shape) < means[lists]
    click = pd.array(attracted.argmax(axis=1) + 1, dtype="Int64")
    click[~attracted.any(axis=1)] = pd.NA
    return pd.DataFrame({"shown": ["|".join(row) for row in np.array(names, object)[lists].tolist()], "click": click})


def _random_lists(random: np.random.Generator, num_items: int, list_len: int, rows: int) -> np.ndarray:
    """Lists of different items, int64 [rows, list_len]: the start of Fisher-Yates shuffles."""
    block = min(rows, 2**14)  # an order of all items for each row at once would be large
    order, every = np.tile(np.arange(num_items), (block, 1)), np.arange(block)
    lists = np.empty((rows, list_len), np.int64)
    for first in range(0, rows, block):  # each goes on from the orders of the one before: any order will do to start from
        for k in range(list_len):
            other = random.integers(k, num_items, block)
            order[every, k], order[every, other] = order[every, other], order[every, k]
        lists[first : first + block] = order[: rows - first, :list_len]
    return lists
