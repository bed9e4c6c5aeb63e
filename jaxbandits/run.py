"""Runs a study: grid x seeds -> lanes -> tiles -> a labelled Dataset."""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import pathlib
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from tqdm.auto import tqdm

from jaxbandits import dataset, jobs, validate
from jaxbandits.engine import compiled as programs
from jaxbandits.engine import rehearsal, tiles
from jaxbandits.jobs import Job, Table
from jaxbandits.store import Store
from jaxbandits.study import Study
from jaxbandits.workers import Lost, Workers

_MOST_LOSSES = 5
"""Workers in a row that a tile may cost. One that kills them, by what it needs of memory for instance, would go round for ever."""
_LOOK = 5.0
"""Seconds without news after which it is asked whether there can be any."""
_GRACE = 10.0
"""Seconds that tiles have to pause when a run is cut off."""


def run(
    study: Study,
    *,
    store: str | os.PathLike | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: bool = True,
    max_tile: int | None = None,
    repair: bool = False,
    compiled: str | os.PathLike | None = None,
) -> xr.Dataset:
    """Runs what is missing of a study and returns all of it.

    Args:
      study: what to run.
      store: a directory for the results. If it holds results of this study, only what is missing is run, so an interrupted run
        goes on, inside the horizon too, and a larger number of seeds tops up.
      executor: where tiles run; by default threads, one a core, or one an accelerator. Any ``concurrent.futures.Executor`` will
        do, such as ``dask.distributed.Client(...).get_executor()`` for a cluster. Processes must be started with ``spawn``, since
        JAX does not survive a fork, and workers must have the same versions of jaxbandits and JAX. A tile that is lost with its
        worker is run again by another, from where it was last heard of, about a minute ago.
      progress: whether to show a progress bar.
      max_tile: at most so many lanes in a tile; by default chosen by memory and workers. Results do not depend on it.
      repair: whether to remove what is damaged in the store, and run it again.
      compiled: a directory where compiled programs are kept from one process to the next, by workers too, who must see it under
        the same name; by default as JAX is set.

    Returns:
      a Dataset with regret[policy, <grid axes>, seed, round], realised_regret if the problem has it, and each metric. ``attrs``
      holds the study, the versions, and each policy's claim. A policy that an axis does not concern is constant along it.
      The numbers are the same bits however the work was cut up and wherever it ran, on processors of one kind.

    Raises:
      ValueError: if an argument is bad, a policy or metric does not keep to its shapes and types or shows an illegal list, or the
        store belongs to another study, is in use, is damaged or cannot be written.
      FloatingPointError: if a regret is not finite or a metric is NaN.
      OSError: if there is no room in the store for more.
      concurrent.futures.BrokenExecutor: if the executor has lost its workers for good, or takes no more work.
      RuntimeError: if a tile has cost several workers in a row, or workers have other code or versions.
    """
    if not isinstance(study, Study):
        raise ValueError(f"study must be a Study; got {study!r}")
    workers = Workers(executor)
    try:
        if max_tile is not None:
            max_tile = validate.size("max_tile", max_tile)
        validate.flag("progress", progress)
        validate.flag("repair", repair)
        if repair and store is None:
            raise ValueError("repair must come with a store; got no store")
        folder = _folder(compiled)
        rehearsals = jobs.rehearse(study)
        workers.board({name: jobs.program(study, plan, rehearsals[name].digest) for name, plan in study.plans.items()})
        _check_memory(study, rehearsals)
        digests = {name: found.digest for name, found in rehearsals.items()}
        shapes = next(iter(rehearsals.values())).shapes
        with contextlib.ExitStack() as stack:
            stack.enter_context(programs.kept_in(folder))
            disk = (
                stack.enter_context(contextlib.closing(Store(store, study, digests, shapes, repair=repair))) if store is not None else None
            )
            tables = {name: (disk.read(name) if disk else {}) or jobs.empty(study, plan) for name, plan in study.plans.items()}
            waiting = _in_turn(tables, disk, rehearsals, workers.count, max_tile)
            bar = stack.enter_context(_Progress(waiting, study.rounds[-1], enabled=progress))
            bar.describe("running" if workers.here else "waiting for workers")
            _run_missing(waiting, study, tables, disk, workers, bar)
        workers.close(wait=True)
    except BaseException:
        workers.close(wait=False)
        raise
    return dataset.assemble(study, tables)


def _folder(compiled: str | os.PathLike | None) -> str | None:
    if compiled is None:
        return None
    try:
        path = pathlib.Path(compiled).expanduser().absolute()
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except (TypeError, OSError) as error:
        said, shown = getattr(error, "strerror", None) or error, str(compiled) if isinstance(compiled, os.PathLike) else compiled
        raise ValueError(f"compiled must be a directory that can be written; got {shown!r}: {said}") from error
    return str(path)


def _check_memory(study: Study, rehearsals: Mapping[str, rehearsal.Rehearsal]) -> None:
    """Refuses results that this machine cannot hold, before they are run."""
    lanes = sum(int(np.prod(plan.shape, dtype=np.int64)) for plan in study.plans.values()) * study.seeds
    numbers = max(sum(int(np.prod(shape)) for shape in found.shapes.values()) for found in rehearsals.values()) + 2
    wanted, there = 8 * lanes * len(study.rounds) * numbers, _memory()
    if there is not None and wanted > there:
        raise ValueError(
            f"study must have results that fit into memory, {there / 1e9:,.0f} GB here; got {lanes:,} lanes with {len(study.rounds):,} "
            f"checkpoints, {wanted / 1e9:,.0f} GB: record fewer rounds (checkpoints) or smaller metrics, or run fewer seeds at a time"
        )


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not everywhere
        return None


def _in_turn(
    tables: Mapping[str, Table],
    disk: Store | None,
    rehearsals: Mapping[str, rehearsal.Rehearsal],
    workers: int,
    max_tile: int | None,
) -> list[Job]:
    """All jobs, in turn over the policies, so that workers compile different ones at the same time instead of waiting for one."""
    by_policy = []
    for name, found in rehearsals.items():
        unfinished = disk.unfinished(name, jobs.gaps(tables[name])) if disk else []
        by_policy.append(jobs.missing(name, tables[name], unfinished, found.lane_bytes, workers, max_tile))
    return [job for tier in itertools.zip_longest(*by_policy) for job in tier if job is not None]


def _run_missing(
    waiting: list[Job], study: Study, tables: Mapping[str, Table], disk: Store | None, workers: Workers, bar: "_Progress"
) -> None:
    queue, checkpoints = collections.deque(waiting), np.asarray(study.rounds)
    sent: dict[concurrent.futures.Future, Job] = {}

    def heard(job: Job, played: tiles.Played) -> Job | None:
        """Keeps what a tile has played; the job that is left of it."""
        if not workers.here:
            bar.hook(job)("run", played.done - _done(job))
        if played.done == study.rounds[-1]:
            values = jobs.enter(study, job, played.records, tables[job.policy])
            if disk:
                disk.write(job, values)
            return None
        job = job._replace(before=played, losses=0)
        if disk:
            disk.keep(job)
        return job

    try:
        while queue or sent:
            while queue and len(sent) < workers.most_sent:
                job = queue.popleft()
                lanes = jobs.lanes(study, job)
                sent[workers.send(job.policy, lanes, checkpoints, job.before, bar.hook(job), keeps=disk is not None)] = job
            found = concurrent.futures.wait(sent, timeout=_LOOK, return_when=concurrent.futures.FIRST_COMPLETED).done
            if not found and not workers.there():
                bar.describe("waiting for workers")
            for future in found:
                job = sent[future]
                try:
                    left = heard(job, workers.result(future))
                except Lost as loss:
                    left = job._replace(losses=job.losses + 1)
                    if left.losses == _MOST_LOSSES:
                        cost = f"a tile of policy {job.policy!r} has cost {_MOST_LOSSES} workers in a row; is their memory too small?"
                        raise RuntimeError(f"{cost} {type(loss.__cause__).__name__}: {loss.__cause__}") from loss.__cause__
                del sent[future]  # not before it is kept: an interrupt may come at any time
                if left:
                    queue.appendleft(left)
    except BaseException:
        bar.stop()
        running = {future: job for future, job in sent.items() if not workers.cancel(future)}
        with contextlib.suppress(KeyboardInterrupt):  # a second one, pressed with the first, would lose what this is to keep
            concurrent.futures.wait(running, timeout=_GRACE if workers.here else 0)
        for future in concurrent.futures.wait(running, timeout=_GRACE if workers.here else 0).done:
            with contextlib.suppress(Exception):  # what is told is what went wrong first
                heard(running[future], workers.result(future))
        raise


def _done(job: Job) -> int:
    return job.before.done if job.before else 0


class _Progress:
    """A bar on the host, in lane-rounds: what is compiling or running, how fast, how long still."""

    def __init__(self, waiting: list[Job], horizon: int, *, enabled: bool):
        total, done = (sum(len(job.point) * rounds(job) for job in waiting) for rounds in (lambda job: horizon, _done))
        self._stopped = False
        self._bar = tqdm(total=total, initial=done, unit=" lane-rounds", unit_scale=True, disable=not enabled or not total, mininterval=0.5)

    def describe(self, what: str) -> None:
        """Says what is being done."""
        self._bar.set_description(what)

    def stop(self) -> None:
        """Asks the tiles that run in this process to pause."""
        self._stopped = True

    def hook(self, job: Job) -> Callable[[str, int], bool]:
        """A function for a tile to call with what it does, "compile" or "run", and the rounds it has done; whether to pause."""

        def report(stage: str, rounds: int) -> bool:
            self._bar.set_description(f"compiling {job.policy}" if stage == "compile" else "running", refresh=stage == "compile")
            self._bar.update(rounds * len(job.point))
            return self._stopped

        return report

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
