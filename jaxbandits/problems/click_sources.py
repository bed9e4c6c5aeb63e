"""Where click logs come from: CSV and Parquet files, DataFrames, pairs of arrays."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jaxbandits import validate

_CSV, _PARQUET = (".csv", ".csv.gz"), (".parquet", ".pq")


class Raw(NamedTuple):
    """A log before anyone has looked at its rows."""

    source: str  # what messages call it: "log" or "log 'path'"
    shown: pd.Series | list[pd.Series]  # one column of lists, or one column a position
    click: pd.Series

    def listed(self, row: int) -> Any:
        """The list of a row as it stands in the log, for a message."""
        return plain([c.iloc[row] for c in self.shown] if isinstance(self.shown, list) else self.shown.iloc[row])

    def clicked(self, row: int) -> Any:
        """The click of a row as it stands in the log, for a message."""
        return plain(self.click.iloc[row])


def plain(value: Any) -> Any:
    """The value without NumPy's types, which make a message hard to read."""
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray | np.generic) else value


def load(log: Any, shown: Any, click: Any) -> Raw:
    """The columns of a log; the arguments are those of ``from_clicks``.

    Raises:
      ValueError: if an argument is bad or the file cannot be read.
      ImportError: if the log is a Parquet file and pyarrow is missing.
    """
    if isinstance(log, tuple | list):
        return _pair(log)
    wide = isinstance(shown, Iterable) and not isinstance(shown, str)
    names = [*shown] if wide else [shown]
    used = [*names, click]
    if not names or any(used.count(name) > 1 for name in used):
        raise ValueError(f"shown must name one or more columns, all different and none of them click, {click!r}; got {shown!r}")
    if isinstance(log, pd.DataFrame):
        source, frame = "log", log
        _require(source, frame.columns, names, click)
    elif isinstance(log, str | os.PathLike):
        source = f"log {os.fspath(log)!r}"
        frame = _file(source, Path(log), names, click)
    else:
        allowed = f"a path to a {', '.join(_CSV + _PARQUET)} file, a pandas DataFrame, or a pair (lists, clicks)"
        raise ValueError(f"log must be {allowed}; got {validate.short(log)}")
    columns: list[Any] = [frame[name] for name in used]
    return Raw(source, columns[:-1] if wide else columns[0], columns[-1])


def _require(source: str, columns: Iterable, names: Sequence, click: Any) -> None:
    columns = list(columns)
    for argument, name in [*(("shown", name) for name in names), ("click", click)]:
        if columns.count(name) != 1:
            raise ValueError(f"{argument} must name one column of {source}, which has {columns}; got {name!r}")


def _pair(log: Sequence) -> Raw:
    if len(log) != 2:
        raise ValueError(f"log must be a pair (lists, clicks) if it is a tuple or a list; got {len(log)} of them")
    lists, clicks = _array("lists", log[0]), _array("clicks", log[1])
    if lists.ndim not in (1, 2) or clicks.ndim != 1 or len(lists) != len(clicks):
        shapes = f"shapes {lists.shape} and {clicks.shape}"
        raise ValueError(f"log must be a pair (lists, clicks) with one list and one click a row; got {shapes}")
    wide = lists.ndim == 2 and lists.shape[1]
    shown = [pd.Series(column) for column in lists.T] if wide else pd.Series([[]] * len(lists) if lists.ndim == 2 else lists)
    return Raw("log", shown, pd.Series(clicks))


def _array(name: str, side: Any) -> np.ndarray:
    """An array as it is; of another sequence, such as a list of lists, its elements."""
    if hasattr(side, "__array__"):
        return np.asarray(side)
    if not isinstance(side, Iterable) or isinstance(side, str):
        raise ValueError(f"log must be a pair (lists, clicks) of arrays or sequences; got {side!r} as {name}")
    return np.fromiter(side, object)


def _file(source: str, path: Path, names: Sequence, click: Any) -> pd.DataFrame:
    if not path.name.lower().endswith(_CSV + _PARQUET):
        raise ValueError(f"log must be a path that ends in {', '.join(_CSV + _PARQUET)}; got {source.removeprefix('log ')}")
    if not path.is_file():
        raise ValueError(f"log must be a file that exists; got {source.removeprefix('log ')}")
    read = _csv if path.name.lower().endswith(_CSV) else _parquet
    return read(source, path, names, click)


def _csv(source: str, path: Path, names: Sequence, click: Any) -> pd.DataFrame:
    try:  # all columns, since with a choice of them pandas silently drops the excess fields of a row
        frame = pd.read_csv(path, dtype=object, na_filter=False)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{source} must have a header and at least one row; got an empty file") from None
    except (ValueError, OSError, EOFError) as error:
        place = re.search(r"line (\d+), saw|starting at row (\d+)", str(error))  # the header is line 1, and row 0
        row = f", row {int(place[1]) - 1 if place[1] else place[2]}" if place else ""
        raise ValueError(f"{source}{row}: it must be a CSV file; got {error}") from error
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"{source}, row 1: it must have no more fields than the header; quote a list that holds commas")
    _require(source, frame.columns, names, click)
    return frame


def _parquet(source: str, path: Path, names: Sequence, click: Any) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f"{source} is a Parquet file and needs pyarrow: pip install 'jaxbandits[parquet]'") from error
    try:
        with pq.ParquetFile(path) as file:
            _require(source, file.schema_arrow.names, names, click)
            # Objects, because integers with a null among them would become floats.
            return file.read(columns=[*names, click]).to_pandas(ignore_metadata=True, integer_object_nulls=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{source}: it must be a Parquet file; got {error}") from error
