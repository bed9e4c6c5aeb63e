"""Long runs lose nothing: counts and sums of regret after 1e8 rounds, killed on the way, and a short twin.

Every number is compared with what it must be: counts add up to the rounds exactly; the regret is the sum over arms of count times gap,
to the 1e-6 of a compensated sum; the sums of responses lie within 4.5 standard errors of count times mean.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxbandits import run
from tests.statistical.long import study


def check(results, horizon, epsilon):
    results = results.isel(policy=0)
    pulls, gap, mean = (results[name].values for name in ("counts", "gaps", "means"))
    assert (pulls.sum(axis=-1) == np.array([horizon // 10, horizon])).all()
    np.testing.assert_allclose(results["regret"].values, (pulls * gap).sum(axis=-1), rtol=1e-6)
    total = results["high"].values + results["rest"].values
    deviation = np.sqrt(pulls * (mean * (1 - mean) + 2 / epsilon**2))
    # The best arms of a UCB policy are pulled more after good luck, so this is about arms pulled often, whose luck has averaged out.
    often = pulls > 0.2 * horizon
    assert often.any()
    assert (np.abs(total - pulls * mean)[often] <= 4.5 * deviation[often]).all()
    assert (np.abs(total - pulls * (mean + 0.01))[often] > 4.5 * deviation[often]).any(), "a bias of 0.01 would show"


def begin(place, horizon, epsilon):
    patience = 30.0 if horizon >= 10**7 else 0.0
    words = [sys.executable, "-m", "tests.statistical.long", str(place), str(horizon), str(epsilon), str(patience)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})


def play(place, horizon, epsilon):
    """To the end; the most memory, in MB."""
    out, _ = begin(place, horizon, epsilon).communicate(timeout=3000)
    return float(out)


def killed_on_the_way(place, horizon, epsilon, seconds):
    """Kills a run when its tile has first been kept; played on from there. The most memory of the second run."""
    first, deadline = begin(place, horizon, epsilon), time.monotonic() + seconds
    while not list(place.glob(".unfinished/*.npz")) and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (kept,) = place.glob(".unfinished/*.npz")
    done = int(np.load(kept)["record counts"].shape[0])
    assert done < 2, "it must have been killed before its last checkpoint"
    return play(place, horizon, epsilon)


@pytest.mark.full
def test_a_hundred_million_rounds(tmp_path):
    horizon, epsilon = 100_000_000, 2.0
    peak = killed_on_the_way(tmp_path / "long", horizon, epsilon, seconds=600)
    check(run(study(horizon, epsilon), store=tmp_path / "long", progress=False), horizon, epsilon)
    short = play(tmp_path / "short", 100_000, 20.0)
    assert peak < 1.1 * short, "memory must not grow with the horizon"


def test_four_hundred_thousand_rounds(tmp_path):
    horizon, epsilon = 400_000, 20.0
    killed_on_the_way(tmp_path / "long", horizon, epsilon, seconds=60)
    results = run(study(horizon, epsilon), store=tmp_path / "long", progress=False)
    check(results, horizon, epsilon)
    np.testing.assert_array_equal(results["regret"], run(study(horizon, epsilon), progress=False)["regret"])
