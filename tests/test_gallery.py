"""The page of figures: what findings are judged by, and what is written."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from PIL import Image

from experiments import __main__ as command
from experiments import gallery, published
from experiments.papers import PAPERS


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def curves(shape, noise=0.02):
    """Regret of twenty seeds that grows like this."""
    rounds = np.arange(1, 101) * 1000
    factors = 1 + noise * np.random.default_rng(0).normal(size=(20, 1))
    return xr.DataArray(factors * shape(rounds), dims=("seed", "round"), coords={"round": rounds})


@pytest.mark.parametrize(("shape", "growth"), [(np.log, 1.0), (lambda t: t.astype(float), 2.0), (np.sqrt, np.sqrt(2))])
def test_late_growth_tells_log_from_linear(shape, growth):
    found = published.late_growth(curves(shape))
    assert found.low <= found.mean <= found.high
    assert found.mean == pytest.approx(growth, rel=0.01)


def test_verdicts_say_what_they_rest_on():
    holds = published.judged("Fig. 1", "a claim", "3", True, "a rule", "a reason")
    fails = published.judged("Fig. 1", "a claim", "3", False, "a rule", "a reason")
    assert (holds.verdict, holds.why) == ("reproduced", "a rule")
    assert (fails.verdict, fails.why) == ("differs", "a reason")
    assert published.judged("Fig. 1", "a claim", "3", False, "a rule").why == "this does not hold: a rule"
    assert published.judged("Fig. 1", "a claim", "3", False, "a rule", undecided=True).verdict == "undecided"
    assert published.unchecked("Fig. 1", "a claim", "no data").verdict == "not checkable"


def test_falling_numbers():
    assert published.falls([3.0, 2.0, 1.0])
    assert not published.falls([3.0, 3.0, 1.0])
    assert not published.falls([3.0, float("nan"), 1.0])


def test_the_page_has_pictures_findings_and_what_is_claimed(tmp_path):
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    figure.suptitle("wider than the figure " * 8)
    found = [published.judged("Fig. 1 (h)", "a | b", "1", True, "a rule"), published.unchecked("Fig. 1", "c", "no data")]
    (path,) = gallery.keep(tmp_path, "semi_bandit", {"fig1_semi_two-level": figure}, found, "10 seeds")
    with Image.open(tmp_path / "pictures" / path.name) as small, Image.open(path) as large:
        assert small.width == gallery.WIDTH
        whole = np.asarray(large.convert("L"))
    assert (whole[:, :4] > 250).all(), "the title is cut off"
    text = gallery.page(tmp_path).read_text()
    assert "2 published findings: reproduced 1, differs 0, undecided 0, not checkable 1." in text
    assert "| Fig. 1 (h) | a \\| b | 1 | **reproduced**: a rule |" in text
    assert "![Fig. 1 (h) and (i)" in text
    assert "Privacy: no guarantee." in text
    assert "(pictures/semi_bandit_fig1_semi_two-level.png)" in text


def test_every_paper_has_what_the_command_needs():
    for name, paper in PAPERS.items():
        assert paper.TITLE
        assert paper.FIGURES, name
        assert all(shown.shows and shown.privacy for shown in paper.FIGURES.values())
        assert paper.studies(paper.QUICK)
        quick, full = paper.QUICK.seeds, paper.FULL.seeds
        assert full == 10 * quick or name in ("armed_local", "armed_central"), "longer, not more often"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "papers must be among cascading_dp, "),
        (["convex", "--at-once", "0"], "at-once must be an integer, at least 1; got 0"),
    ],
)
def test_bad_words(words, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        command.main(["--out", str(tmp_path), *words])


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"out must be a directory that can be made; got .*: File exists"):
        command.main(["--out", str(tmp_path / "file"), "convex"])


def test_a_paper_that_fails_is_named_and_the_others_are_drawn(tmp_path, monkeypatch, capsys):
    script = "import sys; print('said by', sys.argv[-1]); sys.exit(sys.argv[-1] == 'convex')"
    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda words, **more: real([sys.executable, "-c", script, words[-1]], **more))
    with pytest.raises(SystemExit, match="convex failed; the same command goes on from here"):
        command.main(["--out", str(tmp_path), "--at-once", "2", "convex", "federated", "privacy"])
    out = capsys.readouterr().out
    assert all(f"said by {name}" in out for name in ("convex", "federated", "privacy"))
