"""The command line as a stranger meets it."""

import json
import os
import subprocess
import sys

import pytest

from jaxbandits import cli, problems
from tests.helpers import command_line


@pytest.fixture
def command(monkeypatch, capsys):
    return command_line(monkeypatch, capsys)


RUN = ["run", "--horizon", 60, "--seeds", 3, "--num-items", 6, "--list-len", 2, "--no-progress"]


def test_list(command):
    status, out, _ = command("list")
    assert status == 0
    assert len(out.splitlines()) == 1 + len(cli.POLICIES)
    assert out.split()[:4] == ["policy", "family", "claim", "summary"]
    assert "first_ldp_kl_ucb" in out
    rows = {row["policy"]: row for row in json.loads(command("list", "--json")[1])}
    assert rows["first_ldp_kl_ucb"]["claim"] == "1-LDP"
    assert rows["laplace_ucb"]["claim"] == "no guarantee"
    assert "position of the click" in rows["laplace_ucb"]["flaw"]


@pytest.mark.parametrize(
    ("what", "columns"), [("problems", {"family", "summary", "policies"}), ("figures", {"paper", "figure", "privacy"})]
)
def test_other_lists(command, what, columns):
    status, out, _ = command("list", what)
    rows = json.loads(command("list", what, "--json")[1])
    assert status == 0
    assert len(out.splitlines()) - 1 == len(rows) >= 7
    assert all(columns <= set(row) and all(row[column] for column in columns) for row in rows)


def test_problems_say_who_plays_them(command):
    rows = {row["family"]: row for row in json.loads(command("list", "problems", "--json")[1])}
    assert sum(row["policies"] for row in rows.values()) == len(cli.POLICIES)
    assert "cascade_ucb1" in rows["cascade"]["played_by"]
    assert "means" in rows["cascade"]["arguments"]


@pytest.mark.parametrize("name", [[], *([name] for name in cli.COMMANDS)])
def test_help_is_for_people(command, name):
    status, out, _ = command(*name, "--help")
    assert status == 0
    assert out.startswith(f"usage: {' '.join(['jaxbandits', *name])} ")
    for ugly in ("{None}", "(default: )", "default: None", "''"):
        assert ugly not in out


def test_a_reader_that_has_gone_is_no_error():
    end, written = os.pipe()
    os.close(end)
    try:
        done = subprocess.run([sys.executable, "-m", "jaxbandits", "list"], stdout=written, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(written)
    assert done.stderr == ""
    assert done.returncode == 141


def test_tables_and_precision(command, tmp_path):
    words = [*RUN, "--policies", "cascade_ucb1", "first_ldp_ucb1", "--epsilon", 0.5, 2]
    for ending, part in ((".md", "| first_ldp_ucb1 |"), (".tex", r"first\_ldp\_ucb1"), (".csv", "first_ldp_ucb1,0.5,0,1,")):
        path = tmp_path / f"table{ending}"
        status, _, err = command(*words, "--table", path, "--store", tmp_path / "s")
        assert status == 0, err
        assert part in path.read_text()
    status, out, err = command(*words, "--precision", 0.001, "--most-seeds", 6)
    assert status == 0
    assert err.startswith("jaxbandits: most_seeds, 6, was reached before the precision: ")
    assert out.startswith("after 60 rounds, 6 seeds:")
    assert command(*words, "--table", tmp_path / "table.doc")[2].startswith(
        "jaxbandits: table must be a file that ends in one of .md, .tex, .csv, .parquet"
    )


def test_plots_against_what_is_asked_for(command, tmp_path):
    command(*RUN, "--policies", "first_ldp_ucb1", "--epsilon", 0.5, 2, "--save", tmp_path / "d.nc")
    for against, said in (("round", ", at epsilon 0.5"), ("epsilon", "")):
        _, _, err = command("plot", tmp_path / "d.nc", tmp_path / "p.png", "--against", against)
        assert err == f"wrote {tmp_path / 'p.png'}{said}\n"


def test_run_prints_plots_saves_and_resumes(command, tmp_path):
    words = [*RUN, "--policies", "laplace_ucb", "first_ldp_ucb1", "cascade_ucb1", "--epsilon", 0.5, 2, "--store", tmp_path / "s"]
    status, out, err = command(*words, "--save", tmp_path / "d.nc", "--plot", tmp_path / "p.png")
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0] == "after 60 rounds, 3 seeds:"
    assert sum(line.endswith("no guarantee") for line in lines) == 2
    assert sum(line.endswith("non-private") for line in lines) == 1
    assert any(line.startswith("first_ldp_ucb1") and line.endswith("0.5-LDP") for line in lines)
    assert (tmp_path / "p.png").stat().st_size > 5000
    again = json.loads(command(*words, "--json")[1])
    assert [row["policy"] for row in again] == ["laplace_ucb"] * 2 + ["first_ldp_ucb1"] * 2 + ["cascade_ucb1"]
    assert again[0]["claim"]["nominal_epsilon"] == 0.5
    assert "epsilon" not in again[0]["claim"]
    status, out, _ = command("plot", tmp_path / "d.nc", tmp_path / "q.pdf")
    assert status == 0
    assert (tmp_path / "q.pdf").stat().st_size > 1000


def test_json_of_no_privacy_is_json(command):
    """Other readers than Python's know no Infinity."""
    words = [*RUN, "--policies", "first_ldp_ucb1", "--epsilon", 1, "inf", "--json"]
    rows = json.loads(command(*words)[1], parse_constant=lambda found: pytest.fail(f"{found} is not JSON"))
    assert [row["epsilon"] for row in rows] == [1.0, "inf"]
    assert rows[1]["claim"]["at"] == {"epsilon": "inf"}


def test_a_click_log(command, tmp_path):
    problems.simulate_clicks([0.5, 0.3, 0.1], list_len=2, rows=400, seed=0).to_csv(tmp_path / "log.csv", index=False)
    status, out, err = command(*RUN, "--policies", "cascade_ucb1", "--clicks", tmp_path / "log.csv")
    assert status == 0, err
    assert "cascade_ucb1" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policies", "nope"], "policies must be those of `jaxbandits list`; got 'nope'"),
        (["--policies", "dp_imd"], "did you mean 'dp_imed'?"),
        (["--policies", "first_ldp_ucb1"], "epsilon is needed by first_ldp_ucb1"),
        (["--policies", "cascade_ucb1", "--noise-scale", 0.1], "noise_scale is an argument of none of these policies; got 0.1"),
        (["--policies", "cascade_ucb1", "--plot", "nowhere/a.png"], "plot must be a file in a directory that exists"),
        (["--policies", "cascade_ucb1", "--plot", "a.foo"], "plot must be a file that ends in one of"),
        (["--policies", "laplace_ucb"], "epsilon is needed by laplace_ucb: add, for example, --epsilon 1"),
        (["--policies", "laplace_ucb", "--epsilon", "-1"], "epsilon must be a positive number"),
        (["--policies", "gaussian_ucb", "--epsilon", "1", "--delta", "2"], "delta must be strictly between 0 and 1; got 2.0"),
        (["--policies", "cascade_ucb1", "--horizon", "0"], "horizon must be an integer from 1"),
        (["--policies", "cascade_ucb1", "--list-len", "9"], "list_len must be an integer from 1 to 6; got 9"),
        (["--policies", "cascade_ucb1", "--clicks", "missing.csv"], "missing.csv"),
        (["--policies", "cascade_ucb1", "--oracle", "cascade"], "oracle is for semi-bandit policies only; got 'cascade'"),
        (["--policies", "cascade_ucb1", "--epsilon", 1], "epsilon is an argument of none of these policies; got 1"),
        (["--policies", "ucb1"], "list_len is for lists and super arms only; got '2'"),
        (["--policies", "cucb", "--means", 0.1, 0.2], "num_items is the number of means; got '6'"),
        (["--policies", "cucb", "--clicks", "log.csv"], "clicks is for cascade policies only"),
    ],
)
def test_errors_are_one_line(command, words, message):
    status, out, err = command(*RUN, *words)
    assert status == 2
    assert out == ""
    assert err.startswith("jaxbandits: ")
    assert message in err
    assert len(err.splitlines()) == 1


def test_plot_of_nothing(command, tmp_path):
    status, _, err = command("plot", tmp_path / "none.nc", tmp_path / "p.png")
    assert status == 2
    assert "dataset must be a file" in err


def test_arms(command):
    words = ["run", "--horizon", 300, "--seeds", 4, "--no-progress", "--epsilon", 1, "--means", 0.9, 0.5, 0.1]
    status, out, err = command(*words, "--policies", "dp_kl_ucb", "dp_se")
    assert status == 0, err
    assert any(line.startswith("dp_se") and line.endswith("1-DP") for line in out.splitlines())
    status, _, err = command(*words, "--policies", "dp_kl_ucb", "first_ldp_kl_ucb")
    assert status == 2
    assert "policies must be of one family of problems; got dp_kl_ucb (armed) and first_ldp_kl_ucb (cascade)" in err
    assert command(*words, "--policies", "dp_imed", "--clicks", "log.csv")[0] == 2


@pytest.mark.parametrize("oracle", ["top-k", "cascade"])
def test_semi_bandits(command, oracle):
    status, out, err = command(*RUN, "--policies", "cucb", "ldp_gaussian_cucb", "--epsilon", 1, "--oracle", oracle)
    assert status == 0, err
    assert any(line.startswith("ldp_gaussian_cucb") and line.endswith("(1, 0.001)-LDP") for line in out.splitlines())


def test_audit(command):
    words = ["audit", "--runs", 4096, "--num-items", 4, "--list-len", 2, "--policies"]
    status, out, _ = command(*words, "laplace_ucb", "first_ldp_ucb1", "--epsilon", 1)
    assert status == 0
    lines = out.splitlines()
    assert "no guarantee, nominal 1 is exceeded" in lines[0]
    assert lines[1].endswith("; 1-LDP")
    (row,) = json.loads(command(*words, "first_dp_kl_ucb", "--epsilon", 0.5, "--json")[1])
    assert row["claim"] == "0.5-DP"
    assert 0 <= row["epsilon"] <= 0.5
    assert row["violated"] is False


def test_audit_of_a_guarantee_that_does_not_hold_has_a_status(command, monkeypatch):
    flawed = cli.POLICIES["laplace_ucb"]
    claim = cli.POLICIES["first_ldp_ucb1"](num_items=2, list_len=1, epsilon=1.0).claim

    def liar(*, num_items, list_len, epsilon):
        return flawed(num_items=num_items, list_len=list_len, epsilon=epsilon)._replace(claim=claim)

    monkeypatch.setitem(cli.POLICIES, "laplace_ucb", liar)
    status, out, _ = command("audit", "--runs", 2048, "--num-items", 4, "--list-len", 2, "--policies", "laplace_ucb", "--epsilon", 1)
    assert status == 1
    assert "1-LDP: REFUTED" in out


def test_privacy_table(command, tmp_path):
    command(*RUN, "--policies", "laplace_ucb", "first_ldp_ucb1", "--epsilon", 1, "--save", tmp_path / "d.nc")
    status, out, _ = command("privacy", tmp_path / "d.nc", "--rounds", 5)
    assert status == 0
    assert "no guarantee" in out
    rows = json.loads(command("privacy", tmp_path / "d.nc", "--rounds", 5, "--json")[1])
    assert {row["policy"]: row["user_epsilon"] for row in rows} == {"laplace_ucb": None, "first_ldp_ucb1": 5.0}
    status, _, err = command("privacy", tmp_path / "none.nc")
    assert status == 2
    assert err.startswith("jaxbandits: dataset must be a file")


def test_contextual_and_convex_policies(command):
    words = ["run", "--horizon", 60, "--seeds", 3, "--no-progress"]
    status, out, err = command(
        *words, "--policies", "ldp_glm", "oful", "--epsilon", 2, "--link", "logistic", "--dim", 3, "--num-actions", 4
    )
    assert status == 0, err
    assert "(2, 0.001)-LDP" in out
    status, out, err = command(*words, "--policies", "ldp_gaussian_two_point", "two_point", "--epsilon", 2, "--domain", "simplex")
    assert status == 0, err
    for wrong, said in [
        (["--policies", "fkm", "two_point"], "one family of problems"),
        (["--policies", "oful", "--losses", "linear"], "losses is for convex policies only"),
        (["--policies", "fkm", "--link", "poisson"], "link is for contextual policies only"),
        (["--policies", "oful", "--list-len", 2], "list_len is for lists and super arms only"),
        (["--policies", "cascade_ucb1", "--dim", 3], "dim is for contextual and convex policies only"),
    ]:
        status, _, err = command(*words, *wrong)
        assert status != 0
        assert said in err


STUDIES = """
from functools import partial
import jaxbandits as jb
from jaxbandits.policies import cascade

def mine(*, num_items, list_len):
    return cascade.cascade_ucb1(num_items=num_items, list_len=list_len)

problem = partial(jb.problems.cascade, list_len=2)
both = {"mine": mine, "F": cascade.first_ldp_ucb1}
means = {"few": jb.problems.linear(4), "many": jb.problems.linear(6)[:4]}
first = jb.Study(problem=problem, policies=both, grid={"epsilon": [0.5, 2.0], "means": means}, seeds=3, horizon=50)
"""


@pytest.fixture
def studies(tmp_path):
    path = tmp_path / "studies.py"
    path.write_text(STUDIES)
    return path


def test_a_study_of_a_file(command, studies, tmp_path):
    status, out, err = command("run", studies, "--no-progress", "--plot", tmp_path / "p.png", "--store", tmp_path / "s")
    assert status == 0, err
    assert err.splitlines()[-1] == f"wrote {tmp_path / 'p.png'}, at means few"
    lines = out.splitlines()
    assert lines[0] == "after 50 rounds, 3 seeds:"
    assert lines[1].split() == ["policy", "epsilon", "means", "regret", "s.e.", "claim"]
    assert [line.split()[:3] for line in lines[2:4]] == [["mine", "-", "few"], ["mine", "-", "many"]]
    assert lines[-1].endswith("2-LDP")
    assert len(lines) == 2 + 2 + 4
    more = command("run", f"{studies}:first", "--no-progress", "--seeds", 5, "--store", tmp_path / "s")[1]
    assert more.startswith("after 50 rounds, 5 seeds:")


@pytest.mark.parametrize(
    ("written", "words", "message"),
    [
        (STUDIES, ["--epsilon", 1], "epsilon must be set in the study of the file, not beside it; got (1.0,)"),
        (STUDIES, ["--policies", "ucb1"], "policies must be set in the study of the file, not beside it; got ('ucb1',)"),
        (
            STUDIES + "second = jb.Study(problem=problem, policies=both, grid={**first.grid, 'epsilon': [1]})",
            [],
            "studies.py:second; got",
        ),
        ("x = 1", [], "study must be a name in a file with a jaxbandits.Study; got"),
        ("import nothing_like_it", [], "study must be in a file that runs; in "),
        ("def (", [], "study must be in a file that runs; in "),
    ],
)
def test_bad_files(command, studies, written, words, message):
    studies.write_text(written)
    status, _, err = command("run", studies, "--no-progress", *words)
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("place", ["nowhere.py", "studies", "studies.py:none:"])
def test_no_file(command, place):
    status, _, err = command("run", place, "--no-progress")
    assert status == 2
    assert "study must be a Python file with a study in it, such as studies.py or studies.py:first; got" in err
