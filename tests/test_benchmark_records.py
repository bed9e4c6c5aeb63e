"""What is done with measurements: they are loaded, kept, compared and drawn. Nothing here measures."""

import json

import numpy as np
import pytest

from experiments.benchmarks import __main__ as command
from experiments.benchmarks import kept, table
from experiments.benchmarks.jobs import Sizes
from experiments.benchmarks.table import Line

SIZES = Sizes()
MACHINE = {
    "cpu": "an old one",
    "cores": 2,
    "platform": "Linux",
    "pinned": True,
    "versions": {"jax": "0.9", "jaxbandits": "0.1"},
    "date": "2026-01-01",
    "load": 0.0,
}
OTHER = {**MACHINE, "cpu": "a new one"}


def ratio(value, low, high, wanted="more"):
    return Line("  engine faster by", value, "x", (low, high), wanted=wanted)


def rows(*lines):
    return {"workload": [Line("A: engine", 30.0, "ns", (29.0, 31.0)), *lines]}


def compared(now, before, machine=MACHINE, sizes=SIZES):
    earlier = json.loads(kept.text(kept.summary(MACHINE, SIZES, before)))
    return "\n".join(kept.against(machine, sizes, now, earlier))


def line_of(printed, what):
    (line,) = [line for line in printed.splitlines() if line.startswith(what)]
    return line.split()


@pytest.mark.parametrize(
    ("now", "before", "verdict"),
    [
        ((14.0, 13.5, 14.5), (10.0, 9.5, 10.5), "better"),
        ((10.0, 9.5, 10.5), (14.0, 13.5, 14.5), "worse"),
        ((10.0, 9.5, 10.5), (10.9, 10.4, 11.4), ""),  # the ranges overlap
        ((10.0, 10.0, 10.0), (10.9, 10.9, 10.9), ""),  # two tight ranges, not much apart
        ((10.0, 10.0, 10.0), (11.2, 11.2, 11.2), "worse"),
        ((10.0, 5.0, 20.0), (14.0, 13.5, 14.5), ""),  # too noisy to tell
    ],
)
def test_a_line_has_changed_if_the_ranges_do_not_meet(now, before, verdict):
    assert kept.verdict(ratio(*now), before) == verdict
    costs = {"better": "worse", "worse": "better", "": ""}[verdict]
    assert kept.verdict(ratio(*now, wanted="less"), before) == costs


def test_the_comparison_prints_ratios_and_marks_what_has_changed():
    printed = compared(rows(ratio(7.0, 6.9, 7.1)), rows(ratio(14.0, 13.9, 14.1)))
    assert line_of(printed, "A: engine: engine faster by")[-6:] == ["7", "x", "14", "x", "0.50", "worse"]
    assert line_of(printed, "A: engine  ")[-5:] == ["30", "ns", "30", "ns", "1.00"]
    assert kept.RULE in printed


def test_times_are_compared_on_the_same_processor_only():
    printed = compared(rows(ratio(14.0, 13.9, 14.1)), rows(ratio(14.0, 13.9, 14.1)), machine=OTHER)
    assert "another processor" in printed
    assert "a new one" in printed
    assert " ns " not in printed
    assert line_of(printed, "A: engine: engine faster by")[-1] == "1.00"


def test_lines_that_come_and_go_are_said_so():
    other = Line("  engine faster than a peer by", 3.0, "x", (3.0, 3.0), wanted="more")
    printed = compared(rows(other), rows(ratio(14.0, 13.9, 14.1)))
    assert "not kept" in printed
    assert "not measured" in printed


def test_other_sizes_are_named():
    assert "other sizes: horizon 7, kept 10000" in compared(rows(), rows(), sizes=Sizes(horizon=7))
    assert "other sizes" not in compared(rows(), rows())


def test_lines_of_one_name_are_told_apart_by_what_stands_above():
    lines = [Line("B"), Line("  ratio", 2.0, "x"), Line("C"), Line("  ratio", 3.0, "x")]
    assert list(table.keyed(lines)) == ["B", "B: ratio", "C", "C: ratio"]


def curve(base, sizes):
    rng = np.random.default_rng(0)
    return {str(size): list(base * rng.uniform(0.95, 1.05, 3)) for size in sizes}


def measured():
    def curves(sizes):
        return {"engine": curve(30.0, sizes), "idiomatic": curve(440.0, sizes[:2]), "scalar": curve(170.0, sizes[:2])}

    everything = (*SIZES.few_lanes, *SIZES.lane_counts)
    threads = {"1": [30.0, 30.5], "2": [16.0, 16.2]}
    return {"threads": threads, "lanes": curves(everything), "rounds": curves(SIZES.horizons), "items": curves(SIZES.item_counts)}


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "numbers.json"
    sizes = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(SIZES).items()}
    path.write_text(json.dumps({"machine": MACHINE, "sizes": sizes, "measured": measured()}), encoding="utf-8")
    return path


def test_a_run_that_was_written_is_printed_drawn_kept_and_compared(record, tmp_path, capsys):
    picture, small, again = (tmp_path / name for name in ("scaling.png", "kept.json", "again.json"))
    command.main(["--load", str(record), "--figure", str(picture), "--keep", str(small), "--json", str(again)])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 120_000
    assert small.stat().st_size < 3_000
    assert json.loads(again.read_text(encoding="utf-8"))["measured"] == measured()
    capsys.readouterr()
    command.main(["--load", str(again), "--against", str(small), "--only", "items"])
    printed = capsys.readouterr().out
    assert "an old one" in printed
    assert "other sizes" not in printed
    for line in printed.split("now/kept")[1].splitlines():
        assert not line.endswith(("better", "worse", "kept", "measured"))


def test_a_figure_wants_all_its_rows(record, tmp_path):
    with pytest.raises(SystemExit, match="not there: items, threads"):
        command.main(["--only", "lanes", "rounds", "--figure", str(tmp_path / "scaling.png")])


@pytest.mark.parametrize("option", ["--load", "--against"])
def test_a_file_that_is_something_else_is_refused(option, tmp_path):
    path = tmp_path / "other.json"
    with pytest.raises(SystemExit, match="cannot be read"):
        command.main([option, str(path)])
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(SystemExit, match="must be what"):
        command.main([option, str(path)])
