"""Killed at random moments, a run loses nothing that was finished and runs nothing of it twice, and ends with the same numbers."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr

from jaxbandits import Study, run, store
from tests.victim import STUDY

pytestmark = pytest.mark.xdist_group("kills")  # in one worker, which makes the fixtures once
WAYS = {  # how a run dies, and what is drawn for it
    "operation": lambda draw: draw.randrange(1, 250),
    "after": lambda draw: draw.uniform(0.0, 1.5),
    "worker": lambda draw: draw.uniform(0.0, 3.0),
}


@pytest.fixture(scope="module")
def whole():
    return run(STUDY, progress=False)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return tmp_path_factory.mktemp("compiled")


def victim(place, compiled, *death):
    """Plays until the end or death; the exit status, and the tiles that were begun."""
    words = [sys.executable, "-m", "tests.victim", str(place), "--compiled", str(compiled), *map(str, death)]
    done = subprocess.run(words, env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    return done, lines[-1:] == ["finished"], [json.loads(line) for line in lines if line.startswith("{")]


def there(place):
    """Lanes that are finished in a store: (policy, epsilon, seed); 0 for the epsilon of a policy that has none."""
    found = set()
    for policy in STUDY.plans:
        with contextlib.suppress(KeyError, FileNotFoundError):
            group = zarr.open_group(place, mode="r", path=policy)
            full = np.isfinite(group["regret"][...]).all(axis=-1) & np.isfinite(group["counts"][...]).all(axis=(-2, -1))
            for at in zip(*np.nonzero(full), strict=True):
                epsilon = list(STUDY.axes["epsilon"])[at[0]] if len(at) == 2 else 0.0
                found.add((policy, float(np.float32(epsilon)), int(at[-1])))
    return found


def begun(tiles):
    """The same of tiles that were begun."""
    found = set()
    for tile in tiles:
        levels = tile["epsilon"] or [0.0] * len(tile["seed"])
        found |= {(tile["policy"], epsilon, seed) for epsilon, seed in zip(levels, tile["seed"], strict=True)}
    return found


def kill_until_finished(place, compiled, whole, draw, ways, kills):
    """Kills runs into one store by turns, at most so many; what was finished is never begun again. How many were killed."""
    killed, went_on = 0, 0
    while True:
        before = there(place)
        way = ways[killed % len(ways)] if killed < kills else None
        done, finished, tiles = victim(place, compiled, *([f"--{way}", WAYS[way](draw)] if way else []))
        assert not before & begun(tiles), "finished lanes were run again"
        assert before <= there(place), "finished lanes were lost"
        went_on += sum(tile["done"] > 0 for tile in tiles)
        if finished:
            break
        assert way, done.stderr
        assert done.returncode == -9 or "this executor has lost its workers" in done.stderr, done.stderr
        killed += 1
    again = run(STUDY, store=place, progress=False)
    for quantity in ("regret", "counts"):
        np.testing.assert_array_equal(again[quantity], whole[quantity])
    assert not list(place.rglob("*.partial"))
    assert not list((place / ".unfinished").glob("*"))
    return killed, went_on


def campaign(folder, compiled, whole, kills, seed):
    draw, killed, went_on, number = random.Random(seed), 0, 0, 0
    while killed < kills:
        ways = draw.sample(list(WAYS), len(WAYS))
        some, on = kill_until_finished(folder / str(number), compiled, whole, draw, ways, min(kills - killed, 6))
        killed, went_on, number = killed + some, went_on + on, number + 1
    assert went_on > 0, "no tile went on inside its horizon"
    return number


def test_kills(tmp_path, compiled, whole):
    campaign(tmp_path, compiled, whole, kills=6, seed=1)


@pytest.mark.full
def test_a_hundred_kills(tmp_path, compiled, whole):
    campaign(tmp_path, compiled, whole, kills=100, seed=2)


@contextlib.contextmanager
def small_disk(place, kilobytes):
    """A disk with little room, and a function that makes it larger."""
    place.mkdir()

    def mount(*options):
        done = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no small disk can be made here: {done.stderr}")

    mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs")
    try:
        yield lambda kilobytes: mount("-o", f"remount,size={kilobytes}k")
    finally:
        subprocess.run(["umount", str(place)], check=True)


FEW = Study(**{f: getattr(STUDY, f) for f in ("problem", "policies", "grid", "metrics")}, seeds=48, horizon=500)


@pytest.fixture(scope="module")
def few():
    return run(FEW, progress=False)["regret"]


@pytest.mark.parametrize("kilobytes", [12, 40, 80, 110])
def test_a_full_disk(tmp_path, few, kilobytes):
    """It says so, keeps what it has, and finishes once there is room."""
    with small_disk(tmp_path / "disk", kilobytes) as grow:
        place = tmp_path / "disk" / "s"
        with pytest.raises((OSError, ValueError), match=r"cannot be written.*No space left on device|can be written.*No space left"):
            run(FEW, store=place, max_tile=16, progress=False)
        before = there(place)
        grow(5_000)
        np.testing.assert_array_equal(run(FEW, store=place, progress=False)["regret"], few)
        assert before <= there(place)
        assert not list(place.rglob("*.partial"))


def test_no_room_for_a_chunk(tmp_path, few, monkeypatch):
    """The same where no disk can be made: the third chunk does not fit."""
    written, write = [], store.Store.write

    def full(self, job, values):
        written.append(job)
        if len(written) == 3:
            monkeypatch.setattr("zarr.storage._local._put", refuse)
        write(self, job, values)

    def refuse(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.Store, "write", full)
    with pytest.raises(OSError, match=r"store .* cannot be written, what was finished before is kept: No space left on device"):
        run(FEW, store=tmp_path / "s", max_tile=16, progress=False)
    monkeypatch.undo()
    assert len(there(tmp_path / "s")) == 32
    np.testing.assert_array_equal(run(FEW, store=tmp_path / "s", progress=False)["regret"], few)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_pauses_the_command_line(tmp_path, sent):
    """What its tiles did is kept; meanwhile the store is closed to others, and afterwards it goes on."""
    place = tmp_path / "s"
    words = ["run", "--policies", "cascade_ucb1", "--num-items", "6", "--list-len", "2", "--seeds", "16", "--horizon", "1000000000"]
    # Whoever runs the tests in the background has them ignore Ctrl-C, and so would the command.
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from jaxbandits import cli; cli.main()"
    words = [sys.executable, "-c", start, *words, "--no-progress", "--store", str(place)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    deadline = time.monotonic() + 120
    while not (place / "zarr.json").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    second = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    assert second.returncode == 2
    assert second.stderr == f"jaxbandits: store must be in use by one run at a time; {str(place)!r} is in use by another\n"
    process.send_signal(sent)
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said == "jaxbandits: interrupted; with a store, the same command goes on from here\n"
    (kept,) = place.glob(".unfinished/*.npz")
    assert json.loads(np.load(kept)["head"].tobytes())["done"] > 0
