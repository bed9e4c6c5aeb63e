import builtins
import functools
import gzip
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import jaxbandits
from jaxbandits import problems
from jaxbandits.problems import from_clicks, simulate_clicks

# What each row shows of the items it examines, and the item clicked:
LISTS = [
    ["a", "b", "c"],  # 2: a, b; clicked b
    ["a", "b", "c"],  # none: a, b, c
    ["c", "a"],  # 1: c; clicked c
    ["b", "d", "a"],  # 3: b, d, a; clicked a
    ["a", "e"],  # 1: a; clicked a
    ["d"],  # none: d
    ["c", "b", "a"],  # 2: c, b; clicked b
    ["b", "c"],  # 1: b; clicked b
]
CLICKS = [2, None, 1, 3, 1, None, 2, 1]
# So a was examined in rows 1, 2, 4, 5; b in 1, 2, 4, 7, 8; c in 2, 3, 7; d in 4, 6; e never.
ITEMS, EXAMINED, CLICKED = ["b", "a", "c", "d", "e"], [5, 4, 3, 2, 0], [3, 2, 1, 0, 0]
NUMBERS = {"a": 30, "b": 7, "c": 12, "d": 100, "e": -5}
WIDE = ["first", "second", "third"]


def named(kind):
    return LISTS if kind == "text" else [[NUMBERS[item] for item in row] for row in LISTS]


def long_frame(lists, clicks=CLICKS, separator="|"):
    return pd.DataFrame({"shown": [separator.join(map(str, row)) for row in lists], "click": clicks})


def wide_frame(lists, clicks=CLICKS):
    return pd.DataFrame([[*row, *[None] * (3 - len(row))] for row in lists], columns=WIDE).assign(click=clicks)


def saved(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def frame_text(lists, path):
    return from_clicks(long_frame(lists))


def frame_text_other_names(lists, path):
    frame = long_frame(lists, separator=", ").rename(columns={"shown": "impressions", "click": "position"})
    return from_clicks(frame, shown="impressions", click="position", separator=",")


def frame_lists(lists, path):
    return from_clicks(pd.DataFrame({"shown": lists, "click": CLICKS}))


def frame_arrays(lists, path):
    return from_clicks(pd.DataFrame({"shown": [np.array(row) for row in lists], "click": [0 if c is None else c for c in CLICKS]}))


def frame_wide(lists, path):
    return from_clicks(wide_frame(lists), shown=WIDE)


def frame_index(lists, path):
    return from_clicks(wide_frame(lists).set_index(pd.Index([5] * 8)), shown=WIDE)


def csv_text(lists, path):
    return from_clicks(str(saved(long_frame(lists), path / "log.csv")))


def csv_commas(lists, path):
    return from_clicks(saved(long_frame(lists, separator=","), path / "log.csv"), separator=",")


def csv_wide(lists, path):
    return from_clicks(saved(wide_frame(lists), path / "log.csv"), shown=WIDE)


def csv_gz(lists, path):
    return from_clicks(saved(long_frame(lists), path / "LOG.CSV.gz"))


def parquet_text(lists, path):
    return from_clicks(saved(long_frame(lists), path / "log.parquet"))


def parquet_lists(lists, path):
    return from_clicks(saved(pd.DataFrame({"x": 1.5, "shown": lists, "click": pd.array(CLICKS, "Int64")}), path / "log.parquet"))


def parquet_wide(lists, path):
    return from_clicks(saved(wide_frame(lists), path / "log.parquet"), shown=tuple(WIDE))


def pair_lists(lists, path):
    return from_clicks((lists, CLICKS))


def pair_array(lists, path):
    return from_clicks((wide_frame(lists)[WIDE].to_numpy(), np.array(CLICKS, float)))


LAYOUTS = [
    frame_text,
    frame_text_other_names,
    frame_lists,
    frame_arrays,
    frame_wide,
    frame_index,
    csv_text,
    csv_commas,
    csv_wide,
    csv_gz,
    parquet_text,
    parquet_lists,
    parquet_wide,
    pair_lists,
    pair_array,
]


# ---- counts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "integers"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_by_hand_in_every_layout(layout, kind, tmp_path):
    log = layout(named(kind), tmp_path)
    assert log.items.tolist() == (ITEMS if kind == "text" else [NUMBERS[item] for item in ITEMS])
    assert log.items.dtype.kind == ("U" if kind == "text" else "i")
    assert log.examined.tolist() == EXAMINED
    assert log.clicked.tolist() == CLICKED
    assert log.examined.dtype == log.clicked.dtype == np.int64
    np.testing.assert_array_equal(log.attraction, [3 / 5, 2 / 4, 1 / 3, 0, np.nan])
    assert log.rows == 8


def test_the_order_of_rows_does_not_matter():
    forth, back = from_clicks((LISTS, CLICKS)).table(), from_clicks((LISTS[::-1], CLICKS[::-1])).table()
    pd.testing.assert_frame_equal(forth, back)


def test_ties_are_in_order_of_ids():
    assert from_clicks(([[10], [9], [8, 7]], [None] * 3)).items.tolist() == [7, 8, 9, 10]
    assert from_clicks(([["10"], ["9"], ["b", "a"]], [None] * 3)).items.tolist() == ["10", "9", "a", "b"]


def reference(lists, clicks):
    counts = {}
    for items, click in zip(lists, clicks, strict=True):
        for position, item in enumerate(items, start=1):
            examined, clicked = counts.get(item, (0, 0))
            looked = not click or position <= click
            counts[item] = (examined + looked, clicked + (position == click))
    return counts


ROW = st.lists(st.integers(-3, 12), min_size=1, max_size=6, unique=True).flatmap(
    lambda items: st.tuples(st.just(items), st.integers(0, len(items)))
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=12))
def test_counts_equal_a_loop(rows):
    lists, clicks = [row[0] for row in rows], [row[1] for row in rows]
    width = max(map(len, lists))
    padded = np.array([[*row, *[np.nan] * (width - len(row))] for row in lists])
    for log in (from_clicks((lists, clicks)), from_clicks((padded, clicks)), from_clicks(long_frame(lists, clicks))):
        counts = zip(log.examined.tolist(), log.clicked.tolist(), strict=True)
        assert dict(zip(log.items.tolist(), counts, strict=True)) == reference(lists, clicks)


# ---- ids and clicks in their many spellings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "items"),
    [
        (["3", "1"], [1, 3]),
        (["3.0", " 1"], [1, 3]),
        ([3.0, 1.0], [1, 3]),
        ([np.int32(3), np.float32(1)], [1, 3]),
        (["-3", 2**62], [-3, 2**62]),
        (["007", "7"], ["007", "7"]),  # a leading zero makes it a name
        (["3", "x"], ["3", "x"]),
        ([3, "x"], ["3", "x"]),
        (["2.5", "1"], ["1", "2.5"]),
        ([2**64, 1], ["1", "18446744073709551616"]),
        (["nan", "None"], ["None", "nan"]),
        (["[x]", "é ü"], ["[x]", "é ü"]),
    ],
)
def test_ids(ids, items):
    log = from_clicks(([ids], [0]))
    assert log.items.tolist() == items
    assert log.items.dtype.kind == ("i" if isinstance(items[0], int) else "U")


def test_an_integer_is_the_same_item_in_a_column_that_nan_made_float(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y,click\n3,1.0,1\n1,3.0,2\n3,,\n")
    log = from_clicks(path, shown=["x", "y"])
    assert (log.items.tolist(), log.examined.tolist(), log.clicked.tolist()) == ([3, 1], [3, 1], [2, 0])


def test_large_ids_survive_a_null_in_parquet(tmp_path):
    large = [2**60 + 1, 2**60 + 2]
    frame = pd.DataFrame({"x": [5, 6], "y": pd.array([large[0], None], "Int64"), "z": pd.array([large[1], None], "Int64"), "click": 0})
    assert from_clicks(saved(frame, tmp_path / "log.parquet"), shown=["x", "y", "z"]).items.tolist() == [5, 6, *large]


@pytest.mark.parametrize("none", [None, np.nan, pd.NA, 0, 0.0, "", " ", "0", "nan", "None", "NULL", "<NA>"])
@pytest.mark.parametrize("one", [1, 1.0, "1", "1.0", " 1 ", np.int8(1)])
def test_spellings_of_clicks(one, none):
    log = from_clicks(([["a", "b"], ["b", "a"]], [one, none]))
    assert (log.items.tolist(), log.examined.tolist(), log.clicked.tolist()) == (["a", "b"], [2, 1], [1, 0])


@pytest.mark.parametrize("dtype", ["float64", "Float64", "Int64", "int16", "uint8", "object", "category", "string"])
def test_click_columns_of_any_type(dtype):
    clicks = pd.Series([0 if click is None else click for click in CLICKS])
    if dtype not in ("int16", "uint8"):
        clicks = clicks.astype("Int64").where(clicks > 0)
    assert from_clicks(long_frame(LISTS, clicks.astype(dtype))).clicked.tolist() == CLICKED


def test_padding_at_the_end_of_a_list_is_no_item():
    assert from_clicks(pd.DataFrame({"shown": ["a|b|", "b||"], "click": [2, None]})).examined.tolist() == [2, 1]


# ---- bad rows ----------------------------------------------------------------------------------------------------------


def frame(shown, click):
    return {"log": pd.DataFrame({"shown": shown, "click": click})}


def wide(rows, click):
    return {"log": pd.DataFrame(rows, columns=WIDE[: len(rows[0])]).assign(click=click), "shown": WIDE[: len(rows[0])]}


BAD_ROWS = {
    "click behind the list": (frame(["a|b", "a|b"], [2, 3]), r"log, row 2: click must be from 1 to 2, .* got 3 on 'a\|b'$"),
    "click behind a padded list": (wide([["a", "b"], ["a", None]], [2, 2]), r"row 2: click must be from 1 to 1, .* got 2 on \['a', "),
    "click before the list": (frame(["a|b", "a|b"], [-1, 1]), r"row 1: click must be from 1 to 2.* got -1 "),
    "click too large for an integer": (frame(["a"], ["123456789123456789"]), r"row 1: click must be from 1 to 1.* got '1234"),
    "click infinite": (frame(["a", "a"], [1, np.inf]), r"row 2: click must be an integer position.* got inf$"),
    "click with a fraction": (frame(["a|b", "a|b"], [1, 1.5]), r"row 2: click must be an integer position.* got 1\.5$"),
    "click a word": (frame(["a|b"], ["yes"]), r"row 1: click must be an integer position.* got 'yes'$"),
    "two clicks": (frame(["a|b"], ["1|2"]), r"row 1: click must be an integer position.* got '1\|2'$"),
    "click a truth value": (frame(["a", "a"], [False, True]), r"row 1: click must be an integer position.* got False; 2 rows are bad$"),
    "click a list": (frame(["a"], [[1]]), r"row 1: click must be an integer position.* got \[1\]$"),
    "repeated item": (frame(["a|b", "a|b", "b|c|b"], 0), r"log, row 3: the items of a list must differ; got 'b\|c\|b'$"),
    "repeated item under two spellings": (frame(["1|1.0", "2"], 0), r"row 1: the items of a list must differ; got '1\|1.0'$"),
    "repeated item, wide": (wide([["a", "b"], ["c", "c"]], 0), r"row 2: the items of a list must differ; got \['c', 'c'\]$"),
    "empty text": (frame(["a", " "], 0), r"row 2: the list must have at least one item; got ' '$"),
    "missing list": (frame(["a", None], 0), r"row 2: the list must have at least one item; got (nan|None)$"),
    "empty list": (frame([["a"], []], 0), r"row 2: the list must have at least one item; got \[\]$"),
    "empty array": ({"log": (np.empty((3, 0)), [0] * 3)}, r"row 1: the list must have at least one item; got \[\]; 3 rows are bad$"),
    "empty, wide": (wide([["a", "b"], [None, None]], 0), r"row 2: the list must have at least one item"),
    "gap": (frame(["a|b", "a||b"], 0), r"row 2: no item may be missing before the last of the list; got 'a\|\|b'$"),
    "gap, wide": (wide([[1, 2, 3], [1, np.nan, 3]], 0), r"row 2: no item may be missing before the last.* got \[1, nan, 3\]$"),
    "gap at the start": (wide([[np.nan, 2.0], [1.0, 2.0]], 0), r"row 1: no item may be missing before the last"),
    "no list": (frame([["a"], 3], 0), r"row 2: shown must be a list, or text with items separated by '\|'; got 3$"),
    "one item a row": (frame([4, 5], 0), r"row 1: shown must be a list, or text .* got 4; 2 rows are bad$"),
    "matrix": (frame([["a"], np.eye(2)], 0), r"row 2: shown must be a list, or text .* got \[\[1.0, 0.0\]"),
    "id with a fraction": (frame([["a"], ["b", 2.5]], 0), r"row 2: an item must be an integer, or text .* got 2\.5$"),
    "id beyond the integers of a float": (wide([[1.0], [2.0**53]], 0), r"row 2: an item must be an integer.* got 9007199254740992\.0$"),
    "id a truth value": (frame([["a"], [True]], 0), r"row 2: an item must be an integer, or text .* got True$"),
    "id bytes": (frame([["a"], [b"b"]], 0), r"row 2: an item must be an integer, or text .* got b'b'$"),
    "id a list": (frame([["a"], [["b"]]], 0), r"row 2: an item must be an integer, or text .* got <class 'list'>$"),
    "list as Python prints it": (
        {**frame(["[1, 2]", "[2]"], 0), "separator": ","},
        r"row 1: an item must be an integer, or text without an unmatched bracket; got '\[1'$",
    ),
    "the first of several": (frame(["a", "", "a|a", "a"], [1, 1, 1, 9]), r"row 2: the list must have .* got ''; 3 rows are bad$"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case):
    arguments, message = BAD_ROWS[case]
    with pytest.raises(ValueError, match=message):
        from_clicks(**arguments)


BAD_CSV = {
    "bad click": ("shown,click\na|b,1\na|b,x\n", r"log '.*log\.csv', row 2: click must be an integer position.* got 'x'$"),
    "bad click behind a blank line": ("shown,click\na|b,1\n\na|b,3\n", r"row 2: click must be from 1 to 2.* got '3' on"),
    "empty list": ("shown,click\n,1\n", r"log '.*log\.csv', row 1: the list must have at least one item"),
    "too many fields in a later row": ("shown,click\na,1\na,b,2\n", r"log '.*log\.csv', row 2: it must be a CSV file; got .*saw 3"),
    "too many fields in every row": (
        "shown,click\na,1,2\na,1,2\n",
        r"log '.*log\.csv', row 1: it must have no more fields than the header",
    ),
    "open quote": ('shown,click\na,1\n"a,1\n', r"log '.*log\.csv', row 2: it must be a CSV file; got .*EOF inside string"),
    "nothing": ("", r"log '.*log\.csv' must have a header and at least one row; got an empty file$"),
    "only a header": ("shown,click\n", r"log '.*log\.csv' must have at least one row; got none$"),
    "no such column": ("list,click\na,1\n", r"shown must name one column of log '.*log\.csv', which has \['list', 'click'\]; got 'shown'$"),
    "not text": (b"shown,click\n\xff\xfe,1\n", r"log '.*log\.csv': it must be a CSV file; got .*utf-8"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv_files(case, tmp_path):
    text, message = BAD_CSV[case]
    path = tmp_path / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        from_clicks(path)


def test_bad_parquet_files(tmp_path):
    path = tmp_path / "log.pq"
    path.write_text("shown,click\na,1\n")
    with pytest.raises(ValueError, match=r"log '.*log\.pq': it must be a Parquet file; got "):
        from_clicks(path)
    path = saved(pd.DataFrame({"shown": [["a"], ["a", None, "b"]], "click": [1, None]}), tmp_path / "log.parquet")
    with pytest.raises(
        ValueError, match=r"log '.*log\.parquet', row 2: no item may be missing before the last of the list; got \['a', None"
    ):
        from_clicks(path)
    with pytest.raises(ValueError, match=r"click must name one column of log '.*', which has \['shown', 'click'\]; got 'clicked'"):
        from_clicks(path, click="clicked")


def test_a_cut_off_gz_file(tmp_path):
    whole = gzip.compress(b"shown,click\n" + b"a|b,1\n" * 1000)
    (tmp_path / "log.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"log '.*log\.csv\.gz': it must be a CSV file; got "):
        from_clicks(tmp_path / "log.csv.gz")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = saved(long_frame(LISTS), tmp_path / "log.parquet")
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"log '.*' is a Parquet file and needs pyarrow: pip install 'jaxbandits\[parquet\]'"):
        from_clicks(path)


BAD_ARGUMENTS = {
    "missing file": ({"log": "no/such.csv"}, r"^log must be a file that exists; got 'no/such\.csv'$"),
    "unknown type of file": (
        {"log": "clicks.json"},
        r"^log must be a path that ends in \.csv, \.csv\.gz, \.parquet, \.pq; got 'clicks\.json'$",
    ),
    "something else": ({"log": 3}, r"^log must be a path to .* file, a pandas DataFrame, or a pair \(lists, clicks\); got 3$"),
    "three arrays": ({"log": ([], [], [])}, r"^log must be a pair \(lists, clicks\) if it is a tuple or a list; got 3 "),
    "unequal lengths": (
        {"log": ([["a"], ["b"]], [1])},
        r"^log must be a pair \(lists, clicks\) with one list and one click a row; got shapes",
    ),
    "no sequences": ({"log": (3, [1])}, r"^log must be a pair \(lists, clicks\) of arrays or sequences; got 3 as lists$"),
    "text for clicks": ({"log": ([["a"]], "1")}, r"^log must be a pair .* of arrays or sequences; got '1' as clicks$"),
    "no rows": ({"log": ([], [])}, r"^log must have at least one row; got none$"),
    "no rows in a frame": ({"log": wide_frame([["a"]], [1])[:0], "shown": WIDE}, r"^log must have at least one row; got none$"),
    "unknown click column": ({"click": "position"}, r"^click must name one column of log, which has \['shown', 'click'\]; got 'position'$"),
    "unknown position column": ({"shown": ["shown", "x"]}, r"^shown must name one column of log, which has .*; got 'x'$"),
    "no columns": ({"shown": []}, r"^shown must name one or more columns, .* got \[\]$"),
    "one column twice": ({"shown": ["shown", "shown"]}, r"^shown must name one or more columns, all different"),
    "click among the items": ({"shown": ["shown", "click"]}, r"^shown must name .* none of them click, 'click'; got"),
    "click a list": ({"click": ["click"]}, r"^click must name one column of log, .* got \['click'\]$"),
    "two columns of one name": (
        {"log": pd.DataFrame([["a", "b", 1]], columns=["shown", "shown", "click"])},
        r"^shown must name one column of log, which has \['shown', 'shown', 'click'\]; got 'shown'$",
    ),
    "level 0": ({"level": 0}, r"^level must be strictly between 0 and 1; got 0$"),
    "level 1": ({"level": 1.0}, r"^level must be strictly between 0 and 1; got 1\.0$"),
    "level in percent": ({"level": 95}, r"^level must be strictly between 0 and 1; got 95$"),
    "level NaN": ({"level": np.nan}, r"^level must be strictly between 0 and 1; got nan$"),
    "no separator": ({"separator": ""}, r"^separator must be text of at least one character; got ''$"),
    "separator a number": ({"separator": 1}, r"^separator must be text of at least one character; got 1$"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(case):
    arguments, message = BAD_ARGUMENTS[case]
    with pytest.raises(ValueError, match=message):
        from_clicks(**{"log": long_frame(LISTS), **arguments})


# ---- intervals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_wilsons(level):
    log = from_clicks((LISTS, CLICKS), level=level)
    for examined, clicked, low, high in zip(log.examined[:4], log.clicked[:4], log.low, log.high, strict=False):
        expected = stats.binomtest(int(clicked), int(examined)).proportion_ci(level, method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)
    assert log.low[3] == 0.0
    assert (log.low[4], log.high[4]) == pytest.approx((0, 1), abs=1e-15)  # nothing is known of what nobody looked at
    assert log.level == level


def test_an_interval_by_hand():
    log = from_clicks((LISTS, CLICKS))
    # d: 0 of 2, so from 0 to z^2 / (2 + z^2) with z^2 = 3.841459
    assert (log.low[3], log.high[3]) == pytest.approx((0, 3.841459 / 5.841459), abs=1e-6)
    sure = from_clicks(([["a"]] * 2, [1, 1]))
    assert (sure.low[0], sure.high[0]) == pytest.approx((2 / 5.841459, 1), abs=1e-6)
    assert sure.high[0] == 1.0


def test_coverage_of_the_intervals():
    means = np.linspace(0.5, 0.1, 8)
    covered = []
    for seed in range(200):
        table = from_clicks(simulate_clicks(means, 3, 600, seed)).table().sort_values("item")
        covered.append((table.low.to_numpy() <= means) & (means <= table.high.to_numpy()))
    share, error = np.mean(covered), np.sqrt(0.95 * 0.05 / np.size(covered))
    assert abs(share - 0.95) < 4 * error


def test_recovery_which_clicks_per_display_fail():
    means, names = np.array([0.6, 0.45, 0.35, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02]), list("abcdefghi")
    simulated = simulate_clicks(means, 4, 40_000, 7, names)
    table = from_clicks(simulated).table().set_index("item").loc[names]
    error = np.sqrt(means * (1 - means) / table.examined)
    assert (np.abs(table.attraction - means) < 4.5 * error).all()

    displayed = simulated["shown"].str.split("|").explode().value_counts().loc[names]
    naive = table.clicked / displayed
    assert (np.abs(naive - means) > 4.5 * np.sqrt(means * (1 - means) / displayed)).sum() >= 7


# ---- results -----------------------------------------------------------------------------------------------------------


def test_table_and_what_is_kept():
    log = from_clicks((LISTS, CLICKS))
    table = log.table()
    assert list(table.columns) == ["item", "examined", "clicked", "attraction", "low", "high"]
    assert table["item"].tolist() == ITEMS
    assert np.isnan(table["attraction"].iloc[4])
    np.testing.assert_array_equal(log.means(), [3 / 5, 2 / 4, 1 / 3, 0])
    assert log.items_kept().tolist() == ["b", "a", "c", "d"]
    np.testing.assert_array_equal(log.means(min_examined=4), [3 / 5, 2 / 4])
    assert log.items_kept(4).tolist() == ["b", "a"]
    with pytest.raises(AttributeError):
        log.rows = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: log.means(0), r"^min_examined must be an integer from 1 to 5; got 0$"),
        (lambda log: log.items_kept(6), r"^min_examined must be an integer from 1 to 5; got 6$"),
        (lambda log: log.means(1.5), r"^min_examined must be an integer from 1 to 5; got 1\.5$"),
        (lambda log: log.problem(5), r"^list_len must be an integer from 1 to 4; got 5$"),
        (lambda log: log.problem(3, min_examined=4), r"^list_len must be an integer from 1 to 2; got 3$"),
        (lambda log: log.problem(0), r"^list_len must be an integer from 1 to 4; got 0$"),
    ],
)
def test_bad_arguments_of_the_result(call, message):
    with pytest.raises(ValueError, match=message):
        call(from_clicks((LISTS, CLICKS)))


def test_a_study_on_a_log():
    log = from_clicks((LISTS, CLICKS))
    problem = log.problem(list_len=2)
    assert isinstance(problem, functools.partial)
    assert problem.func is problems.cascade
    study = jaxbandits.Study(problem=problem, policies={"ucb": jaxbandits.policies.cascade.cascade_ucb1}, seeds=4, horizon=50)
    assert pickle.loads(pickle.dumps(study)) == study
    regret = jaxbandits.run(study, progress=False)["regret"]
    assert np.isfinite(regret).all()
    assert (regret.isel(round=-1) > 0).any()


# ---- simulation --------------------------------------------------------------------------------------------------------


def test_simulated_logs():
    frame = simulate_clicks([0.3, 0.9, 0.0], 2, 5000, 3, ["x", "y", "z"])
    assert list(frame.columns) == ["shown", "click"]
    assert str(frame["click"].dtype) == "Int64"
    pd.testing.assert_frame_equal(frame, simulate_clicks([0.3, 0.9, 0.0], 2, 5000, 3, ["x", "y", "z"]))
    assert not frame.equals(simulate_clicks([0.3, 0.9, 0.0], 2, 5000, 4, ["x", "y", "z"]))
    shares = frame["shown"].value_counts(normalize=True)
    assert len(shares) == 6  # each ordered pair, a sixth of the time
    assert (np.abs(shares - 1 / 6) < 4.5 * np.sqrt(5 / 36 / 5000)).all()
    clicks = frame[frame["shown"] == "x|y"]["click"].fillna(0)
    for position, probability in enumerate([0.07, 0.3, 0.63]):
        assert abs((clicks == position).mean() - probability) < 4.5 * np.sqrt(probability * (1 - probability) / len(clicks))


def test_simulated_logs_of_extreme_items():
    assert from_clicks(simulate_clicks([1.0, 0.0], 2, 100, 0)).attraction.tolist() == [1, 0]
    assert simulate_clicks([0.0], 1, 3, 0)["click"].isna().all()
    assert simulate_clicks([1.0], 1, 3, 0)["click"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"means": [0.5, 1.5]}, r"^means must be a vector of numbers in \[0, 1\]"),
        ({"list_len": 3}, r"^list_len must be an integer from 1 to 2; got 3$"),
        ({"rows": 0}, r"^rows must be an integer from 1 to 10000000; got 0$"),
        ({"seed": -1}, r"^seed must be an integer from 0 to 4294967295; got -1$"),
        ({"item_names": ["a"]}, r"^item_names must be 2 different ids, not empty and without '\|'; got \['a'\]$"),
        ({"item_names": ["a", "a"]}, r"^item_names must be 2 different ids"),
        ({"item_names": ["a", "b|c"]}, r"^item_names must be 2 different ids"),
        ({"item_names": ["a", ""]}, r"^item_names must be 2 different ids"),
        ({"item_names": 2}, r"^item_names must be 2 different ids"),
    ],
)
def test_bad_arguments_of_a_simulation(change, message):
    with pytest.raises(ValueError, match=message):
        simulate_clicks(**{"means": [0.5, 0.2], "list_len": 2, "rows": 10, "seed": 0, **change})


def test_a_million_rows():
    simulated = simulate_clicks(np.linspace(0.3, 0.01, 30), 4, 1_000_000, 0)
    log = from_clicks(simulated)
    assert log.rows == 1_000_000
    assert log.clicked.sum() == simulated["click"].notna().sum()


@pytest.mark.parametrize("other", [", ", ";", "\t"])
def test_the_wrong_separator_is_refused(other):
    """Lists that are not taken apart would be lists of one item each, with attraction 0 or 1."""
    log = pd.DataFrame({"shown": [other.join(["a", "b", "c"]), other.join(["b", "a"]), "c"], "click": [1, None, 1]})
    with pytest.raises(ValueError, match=r"separator must be that of the lists; got '\|', which no list has, while most have"):
        from_clicks(log)
    assert len(from_clicks(log, separator=other.strip() or other).items) == 3
    assert len(from_clicks(pd.DataFrame({"shown": ["red shoes", "a"], "click": [1, None]})).items) == 2
