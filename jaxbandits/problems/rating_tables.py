"""Tables of ratings, from a file or made up."""

import pathlib
from typing import Any

import numpy as np
import pandas as pd

from jaxbandits import validate


def read_ratings(
    source: Any,
    *,
    num_items: int | None = None,
    user: str | int = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    **options: Any,
) -> np.ndarray:
    r"""A table of ratings, [num_users, num_items], of the first items and the users who rated any of them; 0 where there is no rating.

    For the file ``ua.base`` of MovieLens 100K: ``read_ratings("ua.base", user=0, item=1, rating=2, sep="\t", header=None)``.

    Args:
      source: a DataFrame, or a file that ``pandas.read_csv`` reads, a row for each rating.
      num_items: how many items, those of the smallest names; by default 20, or all if there are fewer.
      user: column of the users.
      item: column of the items.
      rating: column of the ratings.
      options: for ``pandas.read_csv``.

    Raises:
      ValueError: if a column is missing, or a rating is not above 0 and at most 5.
    """
    num_items = num_items if num_items is None else validate.size("num_items", num_items, 1, validate.MOST_ITEMS)
    if not isinstance(source, pd.DataFrame):
        if not isinstance(source, str | pathlib.PurePath) or not pathlib.Path(source).is_file():
            raise ValueError(f"source must be a DataFrame or a file; got {str(source)!r}")
        try:
            source = pd.read_csv(source, **options)
        except (ValueError, OSError) as error:
            raise ValueError(f"source must be a file that pandas.read_csv reads; got {str(source)!r}: {error}") from error
    for name, column in (("user", user), ("item", item), ("rating", rating)):
        if not isinstance(column, str | int | np.integer) or column not in source.columns:
            raise ValueError(f"{name} must be a column, one of {', '.join(map(str, source.columns))}; got {column!r}")
    people, things = np.asarray(source[user]), np.asarray(source[item])
    for name, column in (("user", people), ("item", things)):
        if pd.isna(column).any():
            raise ValueError(f"{name} must be a column without missing values; row {int(np.flatnonzero(pd.isna(column))[0])} has none")
        if len({type(value) for value in column.tolist()}) > 1:
            raise ValueError(
                f"{name} must be a column of one type; got {' and '.join(sorted({type(v).__name__ for v in column.tolist()}))}"
            )
    values = np.asarray(pd.to_numeric(source[rating], errors="coerce"), np.float64)
    inside = (values > 0) & (values <= 5)  # false for what is no number
    if not inside.all():
        raise ValueError(f"rating must be a column of numbers above 0, up to 5; got {np.asarray(source[rating])[~inside][0]!r}")
    first = np.unique(things)[: 20 if num_items is None else num_items]
    num_items = len(first) if num_items is None else num_items
    if len(first) < num_items:
        raise ValueError(f"num_items must be at most the {len(first)} items that are rated; got {num_items}")
    kept = np.isin(things, first)
    row, column = np.unique(people[kept], return_inverse=True)[1], np.searchsorted(first, things[kept])
    table = np.zeros((row.max() + 1, num_items))
    table[row, column] = values[kept]  # the last one counts
    return table


def simulate_ratings(*, num_users: int = 200, num_items: int = 20, seed: int = 0) -> pd.DataFrame:
    """Made-up ratings in the format of ``read_ratings``: users and items with three hidden tastes, about half of the pairs rated.

    Args:
      num_users: how many.
      num_items: how many.
      seed: of the random numbers.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_users = validate.size("num_users", num_users, 1, 1_000_000)
    num_items = validate.size("num_items", num_items, 1, validate.MOST_ITEMS)
    rng = np.random.default_rng(validate.size("seed", seed, 0, 2**32 - 1))
    taste = rng.normal(size=(num_users, 3)) @ rng.normal(size=(3, num_items)) / 3**0.5
    stars = np.clip(np.round(3 + taste + 0.5 * rng.normal(size=taste.shape)), 1, 5).astype(int)
    rated = rng.random(taste.shape) < 0.5
    rated[rng.integers(num_users, size=num_items), np.arange(num_items)] = True  # every item by someone
    users, items = np.nonzero(rated)
    return pd.DataFrame({"user": users, "item": items, "rating": stars[users, items]})
