"""Who runs the tiles does not matter, nor whether they live to finish them."""

import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re
import signal
import sys
import threading
import time
from functools import partial

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import jaxbandits
from jaxbandits import Study, cli, run, workers
from jaxbandits.engine import compiled, tiles
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear

pytestmark = pytest.mark.xdist_group("workers")  # in one worker, which makes the fixtures once
HORIZON = 400


def study(**changes):
    fields = {
        "problem": partial(cascade, means=linear(6), list_len=2),
        "policies": {"F": policies.first_ldp_ucb1, "ucb": policies.cascade_ucb1},
        "grid": {"epsilon": [0.5, 2.0]},
        "seeds": 40,
        "horizon": HORIZON,
        "metrics": {"most": lambda state, instance: state.counts.max()},  # no module has it
    }
    return Study(**{**fields, **changes})


@pytest.fixture(scope="module")
def whole():
    return run(study(), progress=False)


def same(found, whole):
    for quantity in ("regret", "most"):
        np.testing.assert_array_equal(found[quantity], whole[quantity])


class WorkerDied(Exception):
    """Of a library that is not known here."""


class Faulty(concurrent.futures.Executor):
    """Runs a task when it is sent, as another process would; some are lost."""

    def __init__(self, lost=lambda task: False, change=lambda task: task):
        self.lost, self.change, self.tasks = lost, change, []

    def submit(self, function, task, seconds):
        future = concurrent.futures.Future()
        self.tasks.append(task)
        if self.lost(task):
            future.set_exception(WorkerDied())
        else:
            future.set_result(function(self.change(task), seconds))
        return future


@pytest.fixture
def hasty(monkeypatch):
    """Tiles pause after every call, and calls are short."""
    monkeypatch.setattr(workers, "_PATIENCE", 0.0)
    monkeypatch.setattr(tiles, "_LANE_ROUNDS_AT_FIRST", 1600.0)
    monkeypatch.setattr(tiles, "_SECONDS_PER_CALL", 0.0)


@pytest.mark.usefixtures("hasty")
def test_tiles_pause_and_go_on_from_there(whole):
    executor = Faulty()
    same(run(study(), executor=executor, max_tile=16, progress=False), whole)
    begun = [task.before.done if task.before else 0 for task in executor.tasks]
    assert begun.count(0) == 8  # 120 lanes in tiles of 16
    assert max(begun) > 100
    assert len(begun) > 24


@pytest.mark.usefixtures("hasty")
def test_a_lost_tile_is_sent_again_from_its_last_pause(whole):
    seen = collections.Counter()

    def twice(task):
        piece = task.program, bytes(task.lanes.replica), str(task.lanes.policy), task.before.done if task.before else 0
        seen[piece] += 1
        return seen[piece] <= 2

    same(run(study(), executor=Faulty(lost=twice), max_tile=16, progress=False), whole)
    assert set(seen.values()) == {3}
    assert len({done for *_, done in seen}) > 3


def test_a_tile_that_kills_its_workers_is_given_up():
    executor = Faulty(lost=lambda task: True)
    with pytest.raises(RuntimeError, match=r"a tile of policy '.*' has cost 5 workers in a row; .* WorkerDied"):
        run(study(seeds=2), executor=executor, max_tile=16, progress=False)
    assert len(executor.tasks) <= 2 * 5  # each of the two policies is one tile


def test_losses_are_counted_tile_by_tile(whole, tmp_path):
    """One poisonous tile among healthy ones does not go round for ever, and the others are kept."""
    executor = Faulty(lost=lambda task: 33 in task.lanes.replica and "epsilon" in task.lanes.policy)
    with pytest.raises(RuntimeError, match="a tile of policy 'F' has cost 5 workers"):
        run(study(), executor=executor, max_tile=16, store=tmp_path / "s", progress=False)
    again = Faulty()
    same(run(study(), executor=again, max_tile=16, store=tmp_path / "s", progress=False), whole)
    assert len(again.tasks) < 8


def test_workers_of_other_versions_are_refused():
    executor = Faulty(change=lambda task: task._replace(versions=("0.0.1", "0.9.0")))
    with pytest.raises(RuntimeError, match=r"a worker must have the versions of jaxbandits and jax.*'0.0.1', '0.9.0'"):
        run(study(seeds=2), executor=executor, progress=False)


def test_what_goes_wrong_in_a_worker_is_told_and_not_tried_again(monkeypatch):
    def broken(*args):
        raise MemoryError("too many lanes")

    executor = Faulty()
    monkeypatch.setattr(tiles, "advance_tile", broken)
    with pytest.raises(MemoryError, match="too many lanes") as raised:
        run(study(seeds=2), executor=executor, progress=False)
    assert "in a worker" in raised.value.__notes__[0]
    assert len(executor.tasks) <= 2  # one for each policy


def test_a_worker_that_has_imported_other_code_is_refused(monkeypatch):
    """It would give the numbers of what it knows under the name of what was sent."""

    def serve_with_another_generator(task, seconds):
        workers._found_alike.clear()
        with monkeypatch.context() as patch:
            patch.setattr("jaxbandits.engine.rehearsal.GENERATOR", "another generator")
            return workers.serve(task, seconds)

    class Stale(Faulty):
        def submit(self, function, task, seconds):
            return super().submit(serve_with_another_generator, task, seconds)

    with pytest.raises(RuntimeError, match="a worker must have the code that sent it the work; it has imported another: start the workers"):
        run(study(seeds=2), executor=Stale(), progress=False)


def test_a_module_that_a_worker_lacks_is_named(monkeypatch):
    def lacks(program):
        raise ModuleNotFoundError("No module named 'helper'")

    workers._unpacked.cache_clear()
    monkeypatch.setattr("pickle.loads", lacks)
    task = workers.Task(b"", None, None, 0, None, workers._versions(), None)
    (said,) = workers.serve(task, 1.0).args
    assert "a worker must be able to import what policies, problem and metrics are made of: No module named 'helper'" in said


class GoneClient:
    """As Dask's when the scheduler has died: it never answers, and says so only if it is asked."""

    status, asynchronous = "running", False

    def nthreads(self):
        return {"a": 1}


class Silent(concurrent.futures.Executor):
    def __init__(self):
        self._client = GoneClient()

    def submit(self, *args):
        self._client.status = "closed"
        return concurrent.futures.Future()


def test_an_executor_that_never_answers_again_is_given_up(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxbandits.run"], "_LOOK", 0.01)
    with pytest.raises(concurrent.futures.BrokenExecutor, match=r"lost its workers.*scheduler is gone"):
        run(study(seeds=2), executor=Silent(), progress=False)


def test_an_executor_that_takes_nothing_more_says_so():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(concurrent.futures.BrokenExecutor, match="cannot schedule new futures after shutdown"):
        run(study(seeds=2), executor=pool, progress=False)


def test_a_client_in_an_event_loop_is_refused():
    executor = Silent()
    executor._client.asynchronous = True
    with pytest.raises(ValueError, match="executor must be that of a client with asynchronous=False"):
        run(study(seeds=2), executor=executor, progress=False)


def test_what_cannot_be_sent_is_named():
    lock = threading.Lock()

    def locked(state, instance):
        with lock:
            return state.counts[0]

    with pytest.raises(ValueError, match="executor must be sent what can be pickled; policy 'F', the problem or a metric cannot"):
        run(study(metrics={"locked": locked}), executor=Faulty(), progress=False)


def test_a_program_is_unpacked_once(whole):
    workers._unpacked.cache_clear()
    run(study(), executor=Faulty(), max_tile=16, progress=False)
    assert workers._unpacked.cache_info().misses == 2  # policies
    assert workers._unpacked.cache_info().hits == 6


def test_an_executor_that_does_not_tell_its_workers_is_not_flooded():
    waiting, most = [], []

    class Slow(Faulty):
        def submit(self, function, task, seconds):
            most.append(sum(not future.done() for future in waiting))
            future = concurrent.futures.Future()
            waiting.append(future)
            threading.Timer(0.001, lambda: future.set_result(function(task, seconds))).start()
            return future

    made = study(policies={"ucb": policies.cascade_ucb1}, grid={}, metrics={}, seeds=16 * 100, horizon=20)
    run(made, executor=Slow(), max_tile=16, progress=False)
    assert max(most) < 64


def test_an_interrupt_pauses_what_runs_here(whole, tmp_path, monkeypatch):
    """Ctrl-C between two checkpoints: what the tiles did is kept."""
    original, waits = tiles.advance_tile, concurrent.futures.wait

    def advance(program, lanes, checkpoints, device, report, before, seconds):
        def ask(stage, rounds):
            deadline = time.monotonic() + 20
            while stage == "run" and rounds and not report(stage, 0) and time.monotonic() < deadline:
                time.sleep(0.01)
            return report(stage, rounds)

        return original(program, lanes, checkpoints, device, ask, before, seconds)

    def interrupted(futures, **options):
        if "return_when" in options:
            raise KeyboardInterrupt
        return waits(futures, **options)

    monkeypatch.setattr(tiles, "_LANE_ROUNDS_AT_FIRST", 1600.0)
    with monkeypatch.context() as patch:
        patch.setattr(tiles, "advance_tile", advance)
        patch.setattr(concurrent.futures, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(study(), store=tmp_path / "s", max_tile=16, progress=False)
    assert list((tmp_path / "s" / ".unfinished").glob("*.npz"))
    same(run(study(), store=tmp_path / "s", progress=False), whole)


def test_a_pool_that_has_lost_a_process_says_so():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        killed = pool.submit(os.getpid).result()
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(concurrent.futures.BrokenExecutor, match=r"this executor has lost its workers.*if __name__ =="):
            run(study(seeds=2), executor=pool, progress=False)


@pytest.fixture(scope="module")
def client():
    # A worker that is killed again while it starts is not given up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s", "distributed.admin.tick.limit": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_dask(client, whole):
    same(run(study(), executor=client.get_executor(), max_tile=16, progress=False), whole)


def test_a_killed_worker_costs_time_only(client, tmp_path):
    """One of two is killed when the first results are there; Dask starts another, and its tiles go on."""
    made = study(horizon=100_000, metrics={}, checkpoints=[HORIZON, 100_000])
    killed = []

    def kill():
        pids = client.run(os.getpid, on_error="ignore")
        killed.append(min(pids.values()))
        os.kill(killed[0], signal.SIGKILL)

    original = workers.Workers.result

    def result(self, future):
        if not killed:
            kill()
        return original(self, future)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers.Workers, "result", result)
        there = run(made, executor=client.get_executor(), max_tile=16, store=tmp_path / "s", progress=False)
    assert killed
    np.testing.assert_array_equal(there["regret"], run(made, progress=False)["regret"])


def test_the_readme_on_a_cluster(client, whole, tmp_path, monkeypatch):
    (block,) = re.findall(r"```py\n(.*?)```", (pathlib.Path(__file__).parent.parent / "README.md").read_text(), re.DOTALL)
    assert "tcp://127.0.0.1:8786" in block
    monkeypatch.chdir(tmp_path)
    names = {"jb": jaxbandits, "study": study()}
    exec(block.replace("tcp://127.0.0.1:8786", client.scheduler.address), names)
    same(names["results"], whole)


def test_the_command_line_uses_a_cluster(client, monkeypatch, capsys):
    words = ["run", "--policies", "first_ldp_ucb1", "--epsilon", "1", "--horizon", "60", "--seeds", "3"]
    words += ["--num-items", "6", "--list-len", "2", "--no-progress", "--json"]
    printed = []
    for more in ([], ["--cluster", client.scheduler.address]):
        monkeypatch.setattr(sys, "argv", ["jaxbandits", *words, *more])
        cli.main()
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert json.loads(printed[1])[0]["claim"]["label"] == "1-LDP"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "missing port number"),
        ("nowhere", "missing port number"),
        ("smoke://signals", "unknown address scheme"),
        ("tcp://127.0.0.1:1", "timed out"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(address, message, monkeypatch, capsys):
    def fail(*args, **options):
        raise OSError("timed out")

    monkeypatch.setattr("distributed.Client", fail)
    monkeypatch.setattr(sys, "argv", ["jaxbandits", "run", "--policies", "cascade_ucb1", "--horizon", "5", "--cluster", address])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"jaxbandits: cluster must be the address of a Dask scheduler that runs; got {address!r}: {message}")


def test_compiled_programs_are_kept(tmp_path, whole):
    tiles._compile.cache_clear()
    tiles._compiled.clear()
    before = compiled.folder()
    same(run(study(), compiled=tmp_path / "kept", progress=False), whole)
    assert compiled.folder() == before
    assert list((tmp_path / "kept").iterdir())


def test_runs_at_a_time_leave_the_setting_as_it_was(tmp_path):
    """The first of them sets it, and the last puts it back, in whatever order they end."""
    before = compiled.folder()
    first, second = compiled.kept_in(str(tmp_path / "a")), compiled.kept_in(str(tmp_path / "b"))
    first.__enter__()
    second.__enter__()
    assert compiled.folder() == str(tmp_path / "a")
    first.__exit__(None, None, None)
    assert compiled.folder() == str(tmp_path / "a")
    second.__exit__(None, None, None)
    assert compiled.folder() == before


def test_the_folder_of_compiled_programs_is_checked(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="compiled must be a directory that can be written; got"):
        run(study(), compiled=tmp_path / "file", progress=False)
    with pytest.raises(ValueError, match="compiled must be a directory that can be written; got 3"):
        run(study(), compiled=3, progress=False)
