"""Click logs as they come, read into checked arrays: a row is one displayed list and the position of its click."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jaxbandits.problems import click_sources

_NO_CLICK = ("", "nan", "none", "null", "na", "<na>")
_POSITION = re.compile(r"([+-]?[0-9]{1,18})(?:\.0*)?", re.ASCII)
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))(?:\.0*)?", re.ASCII)  # 18 digits fit into int64; "007" is a name, not 7


class Rows(NamedTuple):
    """The rows of a log, all of them good, with their lists one after the other."""

    items: np.ndarray  # [num_items], the ids in ascending order, int64 or text
    shown: np.ndarray  # [sum of length], int64: indices into items
    length: np.ndarray  # [rows], int64, at least 1
    click: np.ndarray  # [rows], int64: a position from 1 to length, or 0 without a click


class _Cells(NamedTuple):
    """What the lists of a log hold, one list after the other."""

    values: list  # the values that occur, as they stand in the log; some may name the same item
    code: np.ndarray  # [sum of length], int64: indices into values, -1 for a missing one
    length: np.ndarray  # [rows], int64
    no_list: np.ndarray  # [rows], bool: the row holds something else, and counts as an empty list


def read(log: Any, shown: Any, click: Any, separator: Any) -> Rows:
    """The checked rows of a log; the arguments are those of ``from_clicks``.

    Raises:
      ValueError: if an argument or a row is bad; the message names the first bad row, counted from 1.
      ImportError: if the log is a Parquet file and pyarrow is missing.
    """
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be text of at least one character; got {separator!r}")
    raw = click_sources.load(log, shown, click)
    if not len(raw.click):
        raise ValueError(f"{raw.source} must have at least one row; got none")
    cells = _wide(raw.shown) if isinstance(raw.shown, list) else _long(raw.shown, separator)
    names = [_name(value) for value in cells.values]
    code, row, length = _without_padding(cells, np.array([name == "" for name in names] + [True]))
    items, index = _items(names)
    item = index[code]
    unnamed = np.array([name is None for name in names] + [False])[code]
    key = np.sort(row * (len(items) + 1) + item + 1)
    clicked, values = _factorize(raw.click)
    positions = [_position(value) for value in values]
    no_position = np.array([p is None for p in positions] + [False])[clicked]
    position = np.array([p or 0 for p in positions] + [0], np.int64)[clicked]
    _check(
        raw.source,
        (cells.no_list, lambda r: f"shown must be a list, or text with items separated by {separator!r}; got {raw.listed(r)!r}"),
        (length == 0, lambda r: f"the list must have at least one item; got {raw.listed(r)!r}"),
        (row[code < 0], lambda r: f"no item may be missing before the last of the list; got {raw.listed(r)!r}"),
        (
            row[unnamed],
            lambda r: (
                "an item must be an integer, or text without an unmatched bracket; "
                f"got {click_sources.plain(cells.values[code[np.argmax(unnamed & (row == r))]])!r}"
            ),
        ),
        (key[1:][key[1:] == key[:-1]] // (len(items) + 1), lambda r: f"the items of a list must differ; got {raw.listed(r)!r}"),
        (no_position, lambda r: f"click must be an integer position, or empty without a click; got {raw.clicked(r)!r}"),
        (
            (position < 0) | (position > length),
            lambda r: (
                f"click must be from 1 to {length[r]}, the length of the list, or empty without a click; "
                f"got {raw.clicked(r)!r} on {raw.listed(r)!r}"
            ),
        ),
    )
    return Rows(items, item, length, position)


def _check(source: str, *checks: tuple[np.ndarray, Callable[[int], str]]) -> None:
    """Each check is a mask or a list of bad rows and what to say of one; of a row's faults the first in order is told."""
    bad = [np.flatnonzero(rows) if rows.dtype == bool else rows for rows, _ in checks]
    count = len(np.unique(np.concatenate(bad)))
    if count:
        row, which = min((int(rows.min()), i) for i, rows in enumerate(bad) if len(rows))
        raise ValueError(f"{source}, row {row + 1}: {checks[which][1](row)}" + (f"; {count} rows are bad" if count > 1 else ""))


# ---- cells -------------------------------------------------------------------------------------------------------------


def _factorize(values: Any) -> tuple[np.ndarray, list]:
    """Codes and the different values; -1 is a missing one. Only the different values need a look one by one."""
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:  # something unhashable, such as a list within a list; its type will do for the message
        flat = np.fromiter((v if pd.api.types.is_scalar(v) else type(v) for v in values), object)
        codes, uniques = pd.factorize(flat)
    return codes.astype(np.int64), uniques.tolist()


def _wide(columns: Sequence[pd.Series]) -> _Cells:
    rows, values = len(columns[0]), []
    codes = np.empty((rows, len(columns)), np.int64)
    for k, column in enumerate(columns):  # one at a time, since NaN turns integers into floats in some columns only
        code, uniques = _factorize(column)
        codes[:, k] = np.where(code < 0, -1, code + len(values))
        values += uniques
    return _Cells(values, codes.ravel(), np.full(rows, len(columns)), np.zeros(rows, bool))


_OTHER_SEPARATORS = ("|", ",", ";", "\t")


def _refuse_wrong_separator(cells: list[str], separator: str) -> None:
    """A log read with the wrong separator is one of lists of one item, whose attraction is 0 or 1: plausible, and wrong."""
    if any(separator in cell for cell in cells):
        return
    for other in _OTHER_SEPARATORS:
        if sum(other in cell.strip() for cell in cells) > len(cells) / 2:
            raise ValueError(f"separator must be that of the lists; got {separator!r}, which no list has, while most have {other!r}")


def _long(column: pd.Series, separator: str) -> _Cells:
    cells, missing = column.tolist(), column.isna().to_numpy()
    if missing.any():
        cells = ["" if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    if set(map(type, cells)) == {str}:
        _refuse_wrong_separator(cells, separator)
        length = np.fromiter(map(str.count, cells, itertools.repeat(separator)), np.int64, len(cells)) + 1
        code, values = _factorize(np.array(separator.join(cells).split(separator), object))
        return _Cells(values, code, length, np.zeros(len(cells), bool))
    lists = [_as_list(cell, separator) for cell in cells]
    no_list = np.array([cell is None for cell in lists])
    lists = [cell or () for cell in lists]
    length = np.fromiter(map(len, lists), np.int64, len(lists))
    code, values = _factorize(np.fromiter(itertools.chain.from_iterable(lists), object, int(length.sum())))
    return _Cells(values, code, length, no_list)


def _as_list(cell: Any, separator: str) -> Sequence | None:
    if isinstance(cell, str):
        return cell.split(separator)
    if hasattr(cell, "tolist") and getattr(cell, "ndim", 0) == 1:
        return cell.tolist()
    return cell if isinstance(cell, list | tuple) else None


def _without_padding(cells: _Cells, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes and rows of the items, and the lengths of the lists, without what is missing at the end of a list.

    ``missing`` says it of each value, and last of code -1.
    """
    length, rows = cells.length, len(cells.length)
    row = np.repeat(np.arange(rows), length)
    code = np.where(missing[cells.code], -1, cells.code)
    if (code >= 0).all():
        return code, row, length
    place = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    shorter = np.zeros(rows, np.int64)
    shorter[row[code >= 0]] = place[code >= 0] + 1  # of several assigned to one row, the last stays
    kept = place < shorter[row]
    return code[kept], row[kept], shorter


def _name(value: Any) -> str | int | None:
    """The item a value names, "" if there is none, None if it cannot name one."""
    if isinstance(value, str):
        text = value.strip()
        return None if ("[" in text) != ("]" in text) else text  # a list as Python prints it, cut at the separators
    merged = isinstance(value, float | np.floating) and abs(value) >= 2**53  # different integers may have become this float
    return None if merged else _number(value)


def _number(value: Any) -> int | None:
    """The integer that a number is, None if it is not one."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else None


def _items(names: Sequence[str | int | None]) -> tuple[np.ndarray, np.ndarray]:
    """The items named, in ascending order, and the index of each name, with -1 for the nameless and, last, for code -1."""
    named = [i for i, name in enumerate(names) if name is not None and name != ""]
    whole = [_whole(names[i]) for i in named]
    keys = np.array([str(names[i]) for i in named]) if None in whole else np.array(whole, np.int64)
    index = np.full(len(names) + 1, -1)
    items, index[named] = np.unique(keys, return_inverse=True)
    return items, index


def _whole(name: str | int | None) -> int | None:
    if isinstance(name, int):
        return name if -(2**63) <= name < 2**63 else None
    match = _WHOLE.fullmatch(name or "")
    return int(match[1]) if match else None


def _position(value: Any) -> int | None:
    """The position a value says, 0 if it says that there is no click, None if it says neither."""
    if isinstance(value, str):
        match = _POSITION.fullmatch(value.strip())
        number = int(match[1]) if match else 0 if value.strip().lower() in _NO_CLICK else None
    else:
        number = _number(value)
    return None if number is None else min(max(number, -1), 2**62)  # fits into int64, and is as far outside every list
