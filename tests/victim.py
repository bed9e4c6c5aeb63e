"""A run that is killed: ``python -m tests.victim`` plays a study into a store, and dies as it is told to.

It says which lanes it begins with, one JSON line a tile, so that whoever killed it can tell what was run twice.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import signal
import sys
import threading
import time
from functools import partial

from jaxbandits import Study, run, workers
from jaxbandits.engine import tiles
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear


def counts(state, instance):
    return state.counts


STUDY = Study(
    problem=partial(cascade, means=linear(6), list_len=2),
    policies={"F": policies.first_ldp_ucb1, "ucb": policies.cascade_ucb1},
    grid={"epsilon": [0.5, 2.0]},
    seeds=96,
    horizon=200_000,
    metrics={"counts": counts},
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # it is not at once


def die_in_operation(store: pathlib.Path, number: int) -> None:
    """Kills the process in its so many-th change of a file: what is to take a file's place is left half written."""
    seen = [0]

    def watch(event, args):
        writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax")
        if (writes or event in ("os.rename", "os.remove", "os.mkdir")) and str(args[0]).startswith(str(store)):
            seen[0] += 1
            if seen[0] == number:
                if event == "os.rename":
                    os.truncate(args[0], pathlib.Path(args[0]).stat().st_size // 2)
                die()

    sys.addaudithook(watch)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("store", type=pathlib.Path)
    options.add_argument("--compiled")
    options.add_argument("--operation", type=int, help="die in this change of a file")
    options.add_argument("--after", type=float, help="die so many seconds after the first tile was begun")
    options.add_argument("--worker", type=float, help="the same for one of two workers")
    given = options.parse_args()
    workers._PATIENCE, tiles._SECONDS_PER_CALL = 0.1, 0.05
    if given.operation:
        die_in_operation(given.store, given.operation)
    elsewhere = given.worker is not None
    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) if elsewhere else None
    send = workers.Workers.send

    def watched(self, policy, lanes, checkpoints, before, report, *, keeps):
        if given.after is not None and watched.first:
            threading.Timer(given.after, die).start()
        watched.first = False
        lane = {"policy": policy, "epsilon": [float(e) for e in lanes.policy.get("epsilon", [])], "seed": lanes.replica.tolist()}
        print(json.dumps({**lane, "done": before.done if before else 0}), flush=True)
        future = send(self, policy, lanes, checkpoints, before, report, keeps=keeps)
        if pool and given.worker >= 0:
            threading.Timer(given.worker, lambda: os.kill(next(iter(pool._processes)), signal.SIGKILL)).start()
            given.worker = -1
        return future

    watched.first = True
    workers.Workers.send = watched
    from tests.victim import STUDY as named_as_its_module  # not as __main__, so that the store of one process is the other's

    run(named_as_its_module, store=given.store, executor=pool, compiled=given.compiled, max_tile=16, progress=False)
    print("finished", flush=True)
    os._exit(0)  # not held up by timers


if __name__ == "__main__":
    main()
