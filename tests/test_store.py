"""The store: resume, top up, refuse, and survive being killed."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import zarr

from jaxbandits import Study, run, store
from jaxbandits.engine import tiles
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear


def counts(state, instance):
    return state.counts


def study(**changes):
    fields = {
        "problem": partial(cascade, means=linear(6), list_len=2),
        "policies": {"F": policies.first_ldp_ucb1, "ucb": policies.cascade_ucb1},
        "grid": {"epsilon": [0.5, 2.0]},
        "seeds": 20,
        "horizon": 60,
        "metrics": {"counts": counts},
    }
    return Study(**{**fields, **changes})


@pytest.fixture(scope="module")
def fresh():
    return run(study(), progress=False)


def lanes_run(monkeypatch):
    """Counts the lanes that are run from now on."""
    ran = []
    original = tiles.advance_tile

    def counting(program, lanes, *args):
        ran.append(len(lanes.replica))
        return original(program, lanes, *args)

    monkeypatch.setattr(tiles, "advance_tile", counting)
    return ran


def test_written_and_read_back(tmp_path, fresh, monkeypatch):
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    ran = lanes_run(monkeypatch)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    assert ran == []


def test_more_seeds_top_up(tmp_path, fresh, monkeypatch):
    run(study(seeds=5), store=tmp_path / "s", progress=False)
    ran = lanes_run(monkeypatch)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    assert sum(ran) < 2 * 15 + 15 + 2 * 16  # the 15 new seeds of three grid points, padded
    ran.clear()
    few = run(study(seeds=3), store=tmp_path / "s", progress=False)
    xr.testing.assert_equal(few, fresh.isel(seed=slice(3)))
    assert ran == []


def test_an_interrupted_run_loses_nothing_finished(tmp_path, fresh, monkeypatch):
    original, done = tiles.advance_tile, []

    def failing(*args):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(original(*args))
        return done[-1]

    with monkeypatch.context() as patch:
        patch.setattr(tiles, "advance_tile", failing)
        with pytest.raises(KeyboardInterrupt):
            run(study(), store=tmp_path / "s", max_tile=16, progress=False)
    ran = lanes_run(monkeypatch)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", max_tile=16, progress=False), fresh)
    assert 0 < sum(ran) <= 64


def test_holes_are_filled(tmp_path, fresh):
    run(study(), store=tmp_path / "s", progress=False)
    regret = zarr.open_group(tmp_path / "s", mode="r+")["F/regret"]
    regret[1, [3, 7]] = np.nan
    regret[0, 2, 5] = np.nan
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)


@pytest.mark.parametrize("lost", ["counts", "counts/c", "regret/c"])
def test_what_is_lost_is_run_again(tmp_path, fresh, lost):
    run(study(), store=tmp_path / "s", progress=False)
    shutil.rmtree(tmp_path / "s" / "ucb" / lost)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)


@pytest.mark.parametrize("damage", ["F/zarr.json", "F/regret/zarr.json", "zarr.json"])
def test_damaged_descriptions_are_named(tmp_path, damage):
    run(study(), store=tmp_path / "s", progress=False)
    (tmp_path / "s" / damage).write_text("[1]")
    with pytest.raises(ValueError, match=r"store is damaged at|store must be empty or hold a study"):
        run(study(), store=tmp_path / "s", progress=False)


def test_xarray_opens_it(tmp_path, fresh):
    run(study(), store=tmp_path / "s", progress=False)
    opened = xr.open_zarr(tmp_path / "s", group="F", consolidated=False)
    np.testing.assert_array_equal(opened["regret"].sel(epsilon=2.0), fresh["regret"].sel(policy="F", epsilon=2.0))


ANOTHER = {"horizon": {"horizon": 61}, "seed": {"seed": 1}, "grid": {"grid": {"epsilon": [0.5]}}, "metrics": {"metrics": {}}}


@pytest.mark.parametrize("field", ANOTHER)
def test_another_study_is_refused(tmp_path, field):
    run(study(seeds=1), store=tmp_path / "s", progress=False)
    with pytest.raises(ValueError, match=f"store must belong to this study.*with another {field if field != 'horizon' else '.*'}"):
        run(study(seeds=1, **ANOTHER[field]), store=tmp_path / "s", progress=False)


def test_a_store_in_use_is_refused(tmp_path):
    holder = store.Store(tmp_path / "s", study(), {})
    with pytest.raises(ValueError, match="store must be in use by one run at a time"):
        run(study(), store=tmp_path / "s", progress=False)
    holder.close()
    run(study(seeds=1), store=tmp_path / "s", progress=False)


BONUS = 1.0


def bonus_policy(*, num_items, list_len):
    """A policy that reads a constant from outside of its own source."""
    policy = policies.cascade_ucb1(num_items=num_items, list_len=list_len)
    return policy._replace(init=lambda preview: policy.init(preview)._replace(clicks=jnp.full(num_items, int(BONUS), jnp.int32)))


def test_results_of_changed_functions_are_refused(tmp_path, monkeypatch):
    """The change is outside of the factory's source, so only the traced round shows it; in one process too."""
    made = study(policies={"p": bonus_policy}, grid={}, metrics={})
    before = run(made, store=tmp_path / "s", progress=False)
    monkeypatch.setitem(globals(), "BONUS", 30.0)
    with pytest.raises(ValueError, match=r"store must hold results of the same functions.*'p'"):
        run(made, store=tmp_path / "s", progress=False)
    assert (run(made, progress=False)["regret"] != before["regret"]).any()
    monkeypatch.setitem(globals(), "BONUS", 1.0)
    xr.testing.assert_identical(run(made, store=tmp_path / "s", progress=False), before)


def test_results_of_other_numbers_are_refused(tmp_path, monkeypatch):
    run(study(), store=tmp_path / "s", progress=False)
    monkeypatch.setattr("jaxbandits.engine.rehearsal.GENERATOR", "another generator")
    with pytest.raises(ValueError, match="store must hold results of the same functions"):
        run(study(seeds=30), store=tmp_path / "s", progress=False)


def flip(path, at):
    """One bit, as a disk does it."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


CHUNK = "ucb/regret/c/0/0"
DAMAGE = {
    "cut off": (CHUNK, lambda path: path.write_bytes(path.read_bytes()[:20])),
    "empty": (CHUNK, lambda path: path.write_bytes(b"")),
    "one bit": (CHUNK, lambda path: flip(path, -30)),
    "one bit of a metric": ("F/counts/c/1/0/0/0", lambda path: flip(path, 40)),
    "description": ("F/regret/zarr.json", lambda path: path.write_text("[1]")),
    "description of a policy": ("F/zarr.json", lambda path: path.write_text("{")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_repaired_on_request(tmp_path, fresh, damage, monkeypatch):
    run(study(), store=tmp_path / "s", progress=False)
    place, harm = DAMAGE[damage]
    harm(tmp_path / "s" / place)
    named = place if "/c/" in place else place.split("/")[0]
    for _ in range(2):  # looking does not change it
        with pytest.raises(ValueError, match=f"store is damaged at '.*/s/{named}', run with repair=True to remove that and run it again"):
            run(study(), store=tmp_path / "s", progress=False)
    ran = lanes_run(monkeypatch)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False, repair=True), fresh)
    assert sum(ran) == {"ucb": 32, "F": 32 if "/c/" in place else 48}[place.split("/")[0]]  # its lanes and no others, filled up
    ran.clear()
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    assert ran == []


@pytest.mark.parametrize(
    ("arguments", "message"), [({"repair": 1}, "repair must be True or False; got 1"), ({"repair": True}, "with a store")]
)
def test_repair_is_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        run(study(), progress=False, **arguments)


def cut_off(monkeypatch, after):
    """Interrupts a run when its tiles have played so many rounds; what was played."""
    original, played = tiles.advance_tile, []

    def advance(program, lanes, checkpoints, device, report, before, seconds):
        played.append(original(program, lanes, checkpoints, device, report, before, 0.0))  # a pause after each call
        if played[-1].done >= after:
            raise KeyboardInterrupt
        return played[-1]

    monkeypatch.setattr(tiles, "advance_tile", advance)
    monkeypatch.setattr(tiles, "_LANE_ROUNDS_AT_FIRST", 200.0)
    return played


def test_a_tile_goes_on_inside_its_horizon(tmp_path, fresh, monkeypatch):
    one = {"policies": {"F": policies.first_ldp_ucb1}, "seeds": 3, "grid": {"epsilon": [2.0]}}
    with monkeypatch.context() as patch:
        played = cut_off(patch, after=40)
        with pytest.raises(KeyboardInterrupt):
            run(study(**one), store=tmp_path / "s", progress=False)
    kept = list((tmp_path / "s" / ".unfinished").iterdir())
    assert len(kept) == 1
    stopped = played[-2].done  # the last was lost
    assert 12 <= stopped < 60
    begun, original = [], tiles.advance_tile

    def advance(*args):
        begun.append(args[5])
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(tiles, "advance_tile", advance)
        result = run(study(**one), store=tmp_path / "s", progress=False)
    xr.testing.assert_equal(result, fresh.sel(policy=["F"], epsilon=[2.0]).isel(seed=slice(3)))
    assert [before.done for before in begun] == [stopped]
    assert list((tmp_path / "s" / ".unfinished").iterdir()) == []


@pytest.mark.parametrize("change", ["seeds", "another version", "damaged"])
def test_what_was_cut_off_is_used_only_where_it_belongs(tmp_path, fresh, change, monkeypatch):
    one = {"policies": {"F": policies.first_ldp_ucb1}, "grid": {"epsilon": [2.0]}, "seeds": 10}
    with monkeypatch.context() as patch:
        cut_off(patch, after=40)
        with pytest.raises(KeyboardInterrupt):
            run(study(**one), store=tmp_path / "s", progress=False)
    (kept,) = (tmp_path / "s" / ".unfinished").iterdir()
    ran = lanes_run(monkeypatch)
    if change == "seeds":
        few = run(study(**{**one, "seeds": 3}), store=tmp_path / "s", progress=False)
        xr.testing.assert_equal(few, fresh.sel(policy=["F"], epsilon=[2.0]).isel(seed=slice(3)))
        assert kept.exists(), "seeds that are not asked for now may be asked for later"
    if change == "another version":
        monkeypatch.setattr("importlib.metadata.version", lambda name: "0")
    if change == "damaged":
        flip(kept, 1000)
        with pytest.raises(ValueError, match=r"store is damaged at '.*/s/.unfinished/.*npz', run with repair=True to begin that tile"):
            run(study(**one), store=tmp_path / "s", progress=False)
    result = run(study(**one), store=tmp_path / "s", progress=False, repair=change == "damaged")
    np.testing.assert_array_equal(result["regret"], fresh["regret"].sel(policy=["F"], epsilon=[2.0]).isel(seed=slice(10)))
    assert sum(ran) == (32 if change == "seeds" else 16)
    assert not kept.exists()


def test_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="store must be empty or hold a study"):
        run(study(), store=tmp_path, progress=False)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"store must be a directory that can be written; got '.*file'"):
        run(study(), store=tmp_path / "file", progress=False)


def test_a_read_only_directory_is_refused(tmp_path, monkeypatch):
    def refuse(self, data):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "write_bytes", refuse)  # the tests may run as a user who may write everywhere
    with pytest.raises(ValueError, match=r"store must be a directory that can be written.*Permission denied"):
        run(study(), store=tmp_path / "s", progress=False)


VICTIM = """
    from functools import partial
    from jaxbandits import Study, run, store
    from jaxbandits.policies import cascade as policies
    from jaxbandits.problems import cascade, linear
    study = Study(problem=partial(cascade, means=linear(6), list_len=2), policies={"F": policies.first_ldp_ucb1},
                  grid={"epsilon": [0.5, 1.0, 2.0, 4.0]}, seeds=64, horizon=20_000)
    if __name__ == "__main__":
        import sys
        print("started", flush=True)
        run(study, store=sys.argv[1], max_tile=16, progress=False)
"""


def test_kill_in_the_middle(tmp_path):
    """Kill -9 while tiles are being written; the next run finishes, and the bits are those of a run never interrupted."""
    script = tmp_path / "victim.py"
    script.write_text(textwrap.dedent(VICTIM))
    place = tmp_path / "s"
    process = subprocess.Popen([sys.executable, script, place], stdout=subprocess.PIPE, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    assert process.stdout.readline() == b"started\n"
    deadline = time.monotonic() + 120
    while not list(place.glob("F/regret/c/*/*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    made = Study(
        problem=partial(cascade, means=linear(6), list_len=2),
        policies={"F": policies.first_ldp_ucb1},
        grid={"epsilon": [0.5, 1.0, 2.0, 4.0]},
        seeds=64,
        horizon=20_000,
    )
    before = np.asarray(zarr.open_group(place, mode="r")["F/regret"][..., -1])
    assert np.isnan(before).any(), "it must have been killed before the end"
    assert np.isfinite(before).any(), "and after some tiles were written"
    resumed, whole = run(made, store=place, progress=False), run(made, progress=False)
    np.testing.assert_array_equal(resumed["regret"], whole["regret"])
    done = np.isfinite(before)
    np.testing.assert_array_equal(before[done], whole["regret"].values[0, ..., -1][done])
