"""Runs a study: grid x seeds -> lanes -> tiles -> a labelled Dataset."""

import concurrent.futures
import contextlib
import itertools
import os
from collections.abc import Callable, Iterator

import jax
import numpy as np
import xarray as xr
from tqdm.auto import tqdm

from jaxbandits import dataset, validate
from jaxbandits.core import LOSSES
from jaxbandits.engine import rehearsal, scan, tiles
from jaxbandits.store import Store
from jaxbandits.study import Plan, Study


def run(
    study: Study,
    *,
    store: str | os.PathLike | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: bool = True,
    max_tile: int | None = None,
) -> xr.Dataset:
    """Runs what is missing of a study and returns all of it.

    Args:
      study: what to run.
      store: a directory for the results. If it holds results of this study, only what is missing is run, so an interrupted run
        goes on and a larger number of seeds tops up.
      executor: where tiles run; by default threads, one a core. Any ``concurrent.futures.Executor`` will do; one of other
        processes needs a study whose functions can be pickled, and must start them with ``spawn``, since JAX does not survive
        a fork.
      progress: whether to show a progress bar.
      max_tile: at most so many lanes in a tile; by default chosen by memory. Results do not depend on it.

    Returns:
      a Dataset with regret[policy, <grid axes>, seed, round], realised_regret if the problem has it, and each metric. ``attrs``
      holds the study, the versions, and each policy's claim. A policy that an axis does not concern is constant along it.

    Raises:
      ValueError: if an argument is bad, a policy or metric does not keep to its shapes and types or shows an illegal list, or the
        store belongs to another study, is in use or cannot be written.
      FloatingPointError: if a regret is not finite or a metric is NaN.
    """
    if not isinstance(study, Study):
        raise ValueError(f"study must be a Study; got {study!r}")
    if executor is not None and not isinstance(executor, concurrent.futures.Executor):
        raise ValueError(f"executor must be a concurrent.futures.Executor; got {executor!r}")
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise ValueError("executor must start its processes with 'spawn' or 'forkserver'; JAX does not survive 'fork'")
    if max_tile is not None:
        max_tile = validate.size("max_tile", max_tile)
    rehearsals = _rehearse(study)
    digests = {name: found.digest for name, found in rehearsals.items()}
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(contextlib.closing(Store(store, study, digests))) if store is not None else None
        results = {name: _empty(study, plan, disk.read(name) if disk else {}) for name, plan in study.plans.items()}
        bar = stack.enter_context(_Progress(study, results, enabled=progress))
        if executor is not None:
            in_process = isinstance(executor, concurrent.futures.ThreadPoolExecutor)
            _run_missing(study, results, disk, executor, bar, in_process, max_tile, rehearsals)
        else:
            with concurrent.futures.ThreadPoolExecutor(tiles.cores()) as threads:
                try:
                    _run_missing(study, results, disk, threads, bar, True, max_tile, rehearsals)
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    raise
    return dataset.assemble(study, results)


def _rehearse(study: Study) -> dict[str, rehearsal.Rehearsal]:
    """Traces one round of each policy for one lane, without compiling.

    Raises:
      ValueError: if a policy or a metric does not keep to its shapes and types.
    """
    found, shapes = {}, {}
    for name, plan in study.plans.items():
        lane = _lanes(study, plan, np.zeros(1, np.int64), np.zeros(1, np.int64), 1)
        try:
            found[name] = rehearsal.rehearse(_program(study, plan), lane)
        except ValueError as error:
            raise ValueError(f"policy {name!r}: {error}") from error
        for metric, shape in found[name].shapes.items():
            if shapes.setdefault(metric, shape) != shape:
                raise ValueError(f"metrics[{metric!r}] must have one shape for all policies; got {shapes[metric]} and {shape}")
    return found


def _program(study: Study, plan: Plan, digest: str = "") -> scan.Program:
    return scan.Program(problem=study.source, policy=plan.factory, metrics=tuple(study.metrics.items()), digest=digest)


# ---- results in memory: {quantity: [points, seeds, round, ...]} --------------------------------------------------------


def _empty(study: Study, plan: Plan, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if found:
        return found
    points = int(np.prod(plan.shape, dtype=np.int64))
    return {"regret": np.full((points, study.seeds, len(study.rounds)), np.nan)}


def _missing(values: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Grid point and seed of each lane still to run."""
    gone = np.zeros(values["regret"].shape[:2], bool)
    for value in values.values():
        gone |= np.isnan(value).any(axis=tuple(range(2, value.ndim)))
    point, seed = np.nonzero(gone)
    return point, seed


# ---- jobs --------------------------------------------------------------------------------------------------------------


def _jobs(
    study: Study,
    name: str,
    values: dict[str, np.ndarray],
    rehearsed: rehearsal.Rehearsal,
    workers: int,
    max_tile: int | None,
) -> Iterator[tuple]:
    """(program, lanes, points, seeds) of each tile of a policy; the lanes are padded, the points and seeds are not."""
    plan = study.plans[name]
    points, seeds = _missing(values)
    if not len(points):
        return
    program = _program(study, plan, rehearsed.digest)
    size = tiles.tile_size(len(points), rehearsed.lane_bytes, workers)
    if max_tile is not None:
        size = min(size, max(max_tile // tiles.WIDTH, 1) * tiles.WIDTH)
    for first in range(0, len(points), size):
        point, seed = points[first : first + size], seeds[first : first + size]
        yield program, _lanes(study, plan, point, seed, size), point, seed


def _lanes(study: Study, plan: Plan, point: np.ndarray, seed: np.ndarray, size: int) -> scan.Lanes:
    padded, replica = np.resize(point, size), np.resize(seed, size)

    def arguments(swept):
        return {k: np.moveaxis(v[padded], 0, -1) for k, v in swept.items()}

    return scan.Lanes(
        seed=np.uint32(study.seed),
        replica=replica.astype(np.uint32),
        policy=arguments(plan.arguments),
        problem=arguments(plan.problem_arguments),
    )


def _run_missing(
    study: Study,
    results: dict[str, dict[str, np.ndarray]],
    disk: Store | None,
    executor: concurrent.futures.Executor,
    bar: "_Progress",
    in_process: bool,
    max_tile: int | None,
    rehearsals: dict[str, rehearsal.Rehearsal],
) -> None:
    checkpoints, devices = np.asarray(study.rounds), len(jax.local_devices())
    waiting: dict[concurrent.futures.Future, tuple[str, np.ndarray, np.ndarray]] = {}
    by_policy = [
        [(name, *job) for job in _jobs(study, name, results[name], rehearsals[name], tiles.cores(), max_tile)] for name in study.plans
    ]
    # In turn over the policies, so that workers compile different ones at the same time instead of waiting for one.
    in_turn = [job for tier in itertools.zip_longest(*by_policy) for job in tier if job is not None]
    try:
        for i, (name, program, lanes, point, seed) in enumerate(in_turn):
            device, hook = (i % devices, bar.hook(name, len(point))) if in_process else (0, None)
            waiting[executor.submit(tiles.run_tile, program, lanes, checkpoints, device, hook)] = (name, point, seed)
        for future in concurrent.futures.as_completed(list(waiting)):
            name, point, seed = waiting.pop(future)
            _collect(study, results[name], disk, name, point, seed, future.result())
            if not in_process:
                bar.hook(name, len(point))("run", study.rounds[-1])
    except BaseException:
        bar.stop()
        for future, (name, point, seed) in waiting.items():
            if not future.cancel() and future.done() and not future.cancelled() and future.exception() is None:
                _collect(study, results[name], disk, name, point, seed, future.result())
        raise


def _collect(
    study: Study,
    table: dict[str, np.ndarray],
    disk: Store | None,
    name: str,
    point: np.ndarray,
    seed: np.ndarray,
    record: dict[str, np.ndarray],
) -> None:
    """Puts what a tile gave into the tables and the store, once it is known to hold numbers only."""
    checks = {check: record[check][:, : len(point)] for check in (scan.NUMBERS, scan.LEGAL)}
    for check, passed in checks.items():
        if passed.all():
            continue
        at, lane = (int(i) for i in np.argwhere(~passed)[0])
        where = f"round {study.rounds[at]} of seed {int(seed[lane])}"
        if check == scan.NUMBERS:
            raise FloatingPointError(
                f"the state of policy {name!r} is not a number in {where}: look at what the problem replies, and at extremes"
            )
        raise ValueError(
            f"policy {name!r} must choose legal actions, lists of different items, or points of the domain; in {where} it did not"
        )
    values = {k: np.moveaxis(v, -1, 0)[: len(point)].astype(np.float64) for k, v in record.items() if k not in checks}
    for quantity, value in values.items():
        bad = ~np.isfinite(value) if quantity in LOSSES else np.isnan(value)
        if bad.any():
            lane = int(np.argwhere(bad)[0][0])
            where = np.unravel_index(point[lane], study.plans[name].shape) if study.plans[name].shape else ()
            at = {axis: list(study.axes[axis])[int(i)] for axis, i in zip(study.plans[name].axes, where, strict=True)}
            raise FloatingPointError(f"{quantity} of policy {name!r} is not a number at grid point {at}, seed {int(seed[lane])}")
        if quantity not in table:
            table[quantity] = np.full((*table["regret"].shape[:2], *value.shape[1:]), np.nan)
        table[quantity][point, seed] = value
    if disk:
        disk.prepare(name, {k: v.shape[1:] for k, v in values.items()})
        disk.write(name, point, seed, values)


# ---- progress ----------------------------------------------------------------------------------------------------------


class _Progress:
    """A bar on the host, in lane-rounds: what is compiling or running, how fast, how long still."""

    def __init__(self, study: Study, results: dict[str, dict[str, np.ndarray]], *, enabled: bool):
        lanes = sum(len(_missing(values)[0]) for values in results.values())
        self._stopped = False
        self._bar = tqdm(
            total=lanes * study.rounds[-1], unit=" lane-rounds", unit_scale=True, disable=not enabled or not lanes, mininterval=0.5
        )

    def stop(self) -> None:
        """Ends the tiles that are running at their next report."""
        self._stopped = True

    def hook(self, policy: str, lanes: int) -> Callable[[str, int], None]:
        """A function for a tile of so many lanes to call with what it does, "compile" or "run", and the rounds it has done."""

        def report(stage: str, rounds: int) -> None:
            if self._stopped:
                raise concurrent.futures.CancelledError
            self._bar.set_description(f"compiling {policy}" if stage == "compile" else "running", refresh=stage == "compile")
            self._bar.update(rounds * lanes)

        return report

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
