"""The papers in processes of their own, and the rules of their verdicts."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest


def begun(out, *papers):
    """Papers begun two at a time, by a script in the background, which does not hear a SIGINT."""
    words = [sys.executable, "-m", "experiments", "--out", out, "--no-progress", "--at-once", "2", *papers]
    ignoring = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv({sys.executable!r}, {[str(w) for w in words]!r})"
    process = subprocess.Popen([sys.executable, "-c", ignoring], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in papers:
        assert process.stdout.readline().endswith(": begun\n")
    return process


def children(process):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split() if _is_there(int(pid))]


def _is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_signal_to_the_parent_alone_ends_all(tmp_path):
    process = begun(tmp_path, "cascading_dp", "federated")
    papers = children(process)
    assert len(papers) == 2
    process.send_signal(signal.SIGTERM)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        for pid in filter(_is_there, papers):
            os.kill(pid, signal.SIGKILL)
        process.kill()
    assert process.returncode == 130
    assert err.strip() == "experiments: interrupted; with a store, the same command goes on from here"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_paper_that_was_killed_is_said_to_be(tmp_path):
    process = begun(tmp_path, "cascading_dp", "federated")
    for pid in children(process):
        os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    said, _, rest = err.strip().partition(" failed; ")
    assert rest == "the same command goes on from here"
    assert sorted(said.split(", ")) == ["cascading_dp (killed by signal 9)", "federated (killed by signal 9)"]


def test_slopes_of_the_page_are_judged_by_the_rule_beside_them():
    """The number itself, not the end of an interval, which is wide where there are few seeds."""
    lines = Path("experiments/gallery.md").read_text(encoding="utf-8").splitlines()
    judged = [line.split(" | ") for line in lines if "slope" in line and line.startswith("| Theorems")]
    assert len(judged) == 8
    for _, published, measured, verdict in judged:
        most = 3 / 4 if "T^(3/4)" in published else 2 / 3 if "T^(2/3)" in published else 1 / 2 if "T^(1/2)" in published else 0.0
        slopes = [float(found) for found in re.findall(r"(?:epsilon [\d.]+): (-?[\d.]+) \(", measured)]
        assert slopes, measured
        assert verdict.startswith("**reproduced**") == (max(slopes) <= most + 0.05), measured
