"""The store: resume, top up, refuse, and survive being killed."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from typing import Any, NamedTuple

import filelock
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
import zarr

from jaxbandits import Study, folder, run, store, unfinished
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


@pytest.mark.parametrize("lost", ["counts", "counts/c", "regret/c", "regret/zarr.json"])
def test_what_is_lost_is_run_again(tmp_path, fresh, lost):
    run(study(), store=tmp_path / "s", progress=False)
    folder.remove(tmp_path / "s" / "ucb" / lost)
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
    with pytest.raises(
        ValueError, match=f"store must belong to this study.*whose study differs in {field if field != 'horizon' else '.*'}"
    ):
        run(study(seeds=1, **ANOTHER[field]), store=tmp_path / "s", progress=False)


def test_a_store_in_use_is_refused(tmp_path):
    holder = store.Store(tmp_path / "s", study(), {}, {})
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


def replace_by_directory(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.mkdir()


def replace_by_file(path):
    shutil.rmtree(path)
    path.write_text("")


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


CHUNK = "ucb/regret/c/0/0"
DAMAGE = {  # what is harmed, what is named, how, and how many lanes are run again: those that are lost, in tiles filled up to 16
    "cut off": (CHUNK, CHUNK, lambda path: path.write_bytes(path.read_bytes()[:20]), 32),
    "empty": (CHUNK, CHUNK, lambda path: path.write_bytes(b""), 32),
    "one bit": (CHUNK, CHUNK, lambda path: flip(path, -30), 32),
    "one bit of a metric": ("F/counts/c/1/0/0/0", "F/counts/c/1/0/0/0", lambda path: flip(path, 40), 32),
    "a directory for a chunk": (CHUNK, CHUNK, replace_by_directory, 32),
    "a file for a directory": ("ucb/regret/c", "ucb/regret/c", replace_by_file, 32),
    "description": ("F/regret/zarr.json", "F", lambda path: path.write_text("[1]"), 48),
    "another shape": ("F/regret/zarr.json", "F", lambda path: change(path, "33", "32"), 48),
    "description of a policy": ("F/zarr.json", "F", lambda path: path.write_text("{"), 48),
    "no description of a policy": ("F/zarr.json", "F", lambda path: path.unlink(), 48),
    "no digest of a policy": ("F/zarr.json", "F", lambda path: change(path, "digest", "digset"), 48),
    "a file for a policy": ("ucb", "ucb", replace_by_file, 32),
    "description of all": ("zarr.json", "zarr.json", lambda path: path.write_text(""), 0),
    "no description of all": ("zarr.json", "zarr.json", lambda path: path.unlink(), 0),
    "one letter of the description of all": ("zarr.json", "zarr.json", lambda path: change(path, '"horizon": 60', '"horizon": 61'), 0),
    "a directory for a tile cut off": (".unfinished/x.npz", ".unfinished/x.npz", lambda path: path.mkdir(parents=True), 0),
    "garbage for a tile cut off": (".unfinished/x.npz", ".unfinished/x.npz", lambda path: path.write_bytes(b"PK"), 0),
    "a file for the tiles cut off": (".unfinished", ".unfinished", replace_by_file, 0),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_repaired_on_request(tmp_path, fresh, damage, monkeypatch):
    run(study(), store=tmp_path / "s", progress=False)
    (tmp_path / "s" / ".unfinished").mkdir()
    place, named, harm, again = DAMAGE[damage]
    harm(tmp_path / "s" / place)
    for _ in range(2):  # looking does not change it
        with pytest.raises(ValueError, match=rf"store is damaged at '.*/s/{named}', run with repair=True \(--repair\) to remove that"):
            run(study(), store=tmp_path / "s", progress=False)
    ran = lanes_run(monkeypatch)
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False, repair=True), fresh)
    assert sum(ran) == again
    ran.clear()
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    assert ran == []


def test_a_description_is_not_written_for_what_may_be_another_study(tmp_path):
    run(study(seed=1), store=tmp_path / "s", progress=False)
    (tmp_path / "s" / "zarr.json").write_text("")
    with pytest.raises(ValueError, match=r"what else is there does not say that it is this study: it cannot be repaired"):
        run(study(), store=tmp_path / "s", progress=False, repair=True)


@pytest.mark.parametrize("name", ["round", "seed", "epsilon"])
@pytest.mark.parametrize("file", ["zarr.json", "c/0"])
def test_coordinates_are_written_again(tmp_path, fresh, name, file):
    """They say what is known, so damage to them is no matter."""
    run(study(seeds=12), store=tmp_path / "s", progress=False)
    (tmp_path / "s" / "F" / name / file).write_bytes(b"12345")
    xr.testing.assert_identical(run(study(), store=tmp_path / "s", progress=False), fresh)
    opened = xr.open_zarr(tmp_path / "s", group="F", consolidated=False)
    np.testing.assert_array_equal(opened["regret"].sel(epsilon=2.0), fresh["regret"].sel(policy="F", epsilon=2.0))


def test_chunks_of_old_functions_are_not_taken_for_new(tmp_path, monkeypatch):
    """A description is lost, a function changes, a run is cut off: what is there afterwards comes from one function only."""
    run(study(seeds=64), store=tmp_path / "s", progress=False)
    (tmp_path / "s" / "F" / "regret" / "zarr.json").unlink()
    monkeypatch.setattr("jaxbandits.engine.rehearsal.GENERATOR", "another generator")
    with pytest.raises(ValueError, match="store must hold results of the same functions"):
        run(study(seeds=64), store=tmp_path / "s", progress=False)
    monkeypatch.undo()
    cut_off(monkeypatch, after=1)
    with pytest.raises(KeyboardInterrupt):
        run(study(seeds=64), store=tmp_path / "s", progress=False)
    assert not list((tmp_path / "s").glob("F/regret/c/*/*"))


def test_types_that_are_none_of_numpys_are_kept(tmp_path, monkeypatch):
    """State and metrics in bfloat16, and whatever else JAX computes with."""

    class Many(NamedTuple):
        seen: Any
        sum: jax.Array
        flags: jax.Array
        wave: jax.Array
        none: tuple

    def many(*, num_items, list_len):
        policy = policies.cascade_ucb1(num_items=num_items, list_len=list_len)

        def init(preview):
            flags, wave = jnp.zeros(3, jnp.bool_), jnp.zeros((), jnp.complex64)
            return Many(policy.init(preview), jnp.zeros((2,), jnp.bfloat16), flags, wave, ())

        def update(state, t, action, message, z):
            seen = policy.update(state.seen, t, action, message, z)
            grown = (state.sum.astype(jnp.float32) * 1.01 + 0.37).astype(jnp.bfloat16)
            return Many(seen, grown, ~state.flags, state.wave + jnp.complex64(1j), ())

        return policy._replace(init=init, update=update, act=lambda s, r, z: policy.act(s.seen, r, z))

    def kept(state, instance):
        return state.sum

    made = study(policies={"many": many}, grid={}, metrics={"kept": kept})
    whole = run(made, progress=False)
    with monkeypatch.context() as patch:
        cut_off(patch, after=40)
        with pytest.raises(KeyboardInterrupt):
            run(made, store=tmp_path / "s", progress=False)
    assert list((tmp_path / "s" / ".unfinished").iterdir())
    xr.testing.assert_identical(run(made, store=tmp_path / "s", progress=False), whole)


def test_state_that_cannot_be_kept_is_refused():
    def keyed(*, num_items, list_len):
        policy = policies.cascade_ucb1(num_items=num_items, list_len=list_len)
        return policy._replace(init=lambda preview: (policy.init(preview), jax.random.key(0)))

    with pytest.raises(ValueError, match=r"policy 'p': init must return arrays of numbers, of 8 bits or more; got .*key"):
        run(study(policies={"p": keyed}, grid={}, metrics={}), progress=False)


def test_a_finished_tile_that_was_not_crossed_off(tmp_path, fresh, monkeypatch):
    """Killed between the last write and that: its file goes."""
    one = {"policies": {"F": policies.first_ldp_ucb1}, "seeds": 3, "grid": {"epsilon": [2.0]}}
    with monkeypatch.context() as patch:
        cut_off(patch, after=40)
        with pytest.raises(KeyboardInterrupt):
            run(study(**one), store=tmp_path / "s", progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(unfinished.Unfinished, "drop", lambda self, job: None)
        run(study(**one), store=tmp_path / "s", progress=False)
    assert list((tmp_path / "s" / ".unfinished").iterdir())
    ran = lanes_run(monkeypatch)
    run(study(**one), store=tmp_path / "s", progress=False)
    assert ran == []
    assert not list((tmp_path / "s" / ".unfinished").iterdir())


def test_an_interrupt_in_the_middle_of_a_write_keeps_the_tile(tmp_path, monkeypatch):
    write, calls = store.Store.write, []

    def interrupted(self, job, values):
        calls.append(job)
        if len(calls) == 1:
            raise KeyboardInterrupt
        write(self, job, values)

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(study(grid={"epsilon": [2.0]}, policies={"F": policies.first_ldp_ucb1}), store=tmp_path / "s", progress=False)
    ran = lanes_run(monkeypatch)
    run(study(grid={"epsilon": [2.0]}, policies={"F": policies.first_ldp_ucb1}), store=tmp_path / "s", progress=False)
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
        with pytest.raises(ValueError, match=r"store is damaged at '.*/s/.unfinished/.*npz', run with repair=True"):
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
    def refuse(self, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)  # the tests may run as a user who may write everywhere
    with pytest.raises(ValueError, match=r"store must be a directory that can be written.*Permission denied"):
        run(study(), store=tmp_path / "s", progress=False)


def test_what_is_no_store_is_left_alone(tmp_path):
    """Whatever its files are called."""
    for name in ("film.mkv.partial", "deep/.probe-7", "deep/more.partial", "other/note.0123456789abcdef0123456789abcdef.partial"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for place in (tmp_path, tmp_path / "deep", tmp_path / "other"):
        with pytest.raises(ValueError, match="store must be empty or hold a study"):
            run(study(), store=place, progress=False)
    zarr.create_group(store=tmp_path / "another")
    with pytest.raises(ValueError, match="store must be empty or hold a study"):
        run(study(), store=tmp_path / "another", progress=False)
    assert sorted(path for path in tmp_path.rglob("*") if "another" not in str(path)) == before
    assert not (tmp_path / "another" / ".lock").exists()


@pytest.mark.parametrize("path", ["", 3, None.__class__])
def test_no_path(path):
    with pytest.raises(ValueError, match="store must be the path of a directory; got"):
        run(study(), store=path, progress=False)


def test_the_process_may_go_elsewhere(tmp_path, fresh, monkeypatch):
    """A path is that of the moment when the run begins."""
    monkeypatch.chdir(tmp_path)
    original = tiles.advance_tile
    (tmp_path / "elsewhere").mkdir()

    def advance(*args):
        os.chdir(tmp_path / "elsewhere")
        return original(*args)

    monkeypatch.setattr(tiles, "advance_tile", advance)
    xr.testing.assert_identical(run(study(), store="s", progress=False), fresh)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_policy_may_be_called_like_a_file_in_the_making(tmp_path):
    named = study(policies={"a.partial": policies.cascade_ucb1}, grid={}, seeds=2)
    first = run(named, store=tmp_path / "s", progress=False)
    xr.testing.assert_identical(run(named, store=tmp_path / "s", progress=False), first)


VICTIM = """
    from functools import partial
    from jaxbandits import Study, folder, run, store, unfinished
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
