"""Runs a study: grid x seeds -> lanes -> tiles -> a labelled Dataset."""

import concurrent.futures
import importlib.metadata
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import xarray as xr
from tqdm.auto import tqdm

from jaxbandits.core import Claim
from jaxbandits.engine import scan, tiles
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
      a Dataset with regret[policy, <grid axes>, seed, round] and each metric. ``attrs`` holds the study, the versions, and each
      policy's claim. A policy that an axis does not concern is constant along it.

    Raises:
      ValueError: if the store belongs to another study or cannot be written.
      FloatingPointError: if a run gives NaN.
    """
    if not isinstance(study, Study):
        raise ValueError(f"study must be a Study; got {study!r}")
    disk = Store(store, study) if store is not None else None
    results = {name: _empty(study, plan, disk.read(name) if disk else {}) for name, plan in study.plans.items()}
    with _Progress(study, results, enabled=progress) as bar:
        if executor is not None:
            _run_missing(
                study,
                results,
                disk,
                executor,
                bar,
                in_process=isinstance(executor, concurrent.futures.ThreadPoolExecutor),
                max_tile=max_tile,
            )
        else:
            with concurrent.futures.ThreadPoolExecutor(_cores()) as threads:
                try:
                    _run_missing(study, results, disk, threads, bar, in_process=True, max_tile=max_tile)
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    raise
    return _dataset(study, results)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---- results in memory: {quantity: [points, seeds, round, ...]} --------------------------------------------------------


def _empty(study: Study, plan: Plan, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if found:
        return found
    points = int(np.prod(plan.shape, dtype=np.int64))
    return {"regret": np.full((points, study.seeds, len(study.checkpoints)), np.nan)}


def _missing(values: dict[str, np.ndarray], study: Study) -> tuple[np.ndarray, np.ndarray]:
    """Grid point and seed of each lane still to run."""
    return np.nonzero(np.isnan(values["regret"][:, :, -1]))


# ---- jobs --------------------------------------------------------------------------------------------------------------


def _jobs(study: Study, name: str, values: dict[str, np.ndarray], workers: int, max_tile: int | None) -> Iterator[tuple]:
    """(program, lanes, points, seeds) of each tile of a policy; the lanes are padded, the points and seeds are not."""
    plan = study.plans[name]
    points, seeds = _missing(values, study)
    if not len(points):
        return
    program = scan.Program(problem=study.problem, policy=plan.factory, metrics=tuple(study.metrics.items()))
    size = tiles.tile_size(len(points), scan.lane_bytes(program, _lanes(study, plan, points[:1], seeds[:1], 1)), workers)
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
    *,
    in_process: bool,
    max_tile: int | None,
) -> None:
    checkpoints, devices = np.asarray(study.checkpoints), len(jax.local_devices())
    waiting: dict[concurrent.futures.Future, tuple] = {}
    try:
        for name in study.plans:
            for i, (program, lanes, point, seed) in enumerate(_jobs(study, name, results[name], _cores(), max_tile)):
                device, hook = (i % devices, bar.hook(len(point))) if in_process else (0, None)
                if in_process and i < devices:  # compile here, while the workers run what is compiled already
                    bar.say(f"compiling {name}")
                    legs = tiles.schedule(checkpoints, len(lanes.replica)).shape[1]
                    tiles.compile_tile(program, *tiles.signature(lanes), legs, device)
                    bar.say("running")
                future = executor.submit(tiles.run_tile, program, lanes, checkpoints, device, hook)
                waiting[future] = (name, point, seed)
            _collect(study, results, disk, bar, waiting, [f for f in waiting if f.done()], in_process)
        for future in concurrent.futures.as_completed(list(waiting)):
            _collect(study, results, disk, bar, waiting, [future], in_process)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


def _collect(study, results, disk, bar, waiting, finished, in_process) -> None:
    for future in finished:
        name, point, seed = waiting.pop(future)
        values = {k: np.moveaxis(v, -1, 0)[: len(point)].astype(np.float64) for k, v in future.result().items()}
        for quantity, value in values.items():
            if np.isnan(value).any():
                lane = int(np.argwhere(np.isnan(value))[0][0])
                where = dict(zip(study.plans[name].axes, np.unravel_index(point[lane], study.plans[name].shape or (1,)), strict=False))
                raise FloatingPointError(f"{quantity} of policy {name!r} is NaN at grid point {where}, seed {int(seed[lane])}")
            table = results[name].setdefault(quantity, np.full((*results[name]["regret"].shape[:2], *value.shape[1:]), np.nan))
            table[point, seed] = value
        if disk:
            disk.prepare(name, {k: v.shape[1:] for k, v in values.items()})
            disk.write(name, point, seed, values)
        if not in_process:
            bar.hook(len(point))(study.checkpoints[-1])


# ---- the dataset -------------------------------------------------------------------------------------------------------


def _dataset(study: Study, results: dict[str, dict[str, np.ndarray]]) -> xr.Dataset:
    coordinates = {axis: list(values) for axis, values in study.grid.items()}
    coordinates |= {"seed": np.arange(study.seeds), "round": np.asarray(study.checkpoints)}
    per_policy = []
    for name, values in results.items():
        plan, data = study.plans[name], {}
        for quantity, value in values.items():
            extra = [f"{quantity}_{i}" for i in range(value.ndim - 3)]
            shaped = value.reshape((*plan.shape, *value.shape[1:]))
            data[quantity] = ([*plan.axes, "seed", "round", *extra], shaped)
        used = {k: v for k, v in coordinates.items() if k in (*plan.axes, "seed", "round")}
        part = xr.Dataset(data, coords=used)
        full = {axis: coordinates[axis] for axis in study.grid if axis not in plan.axes}
        per_policy.append(part.expand_dims({"policy": [name], **full}))
    dataset = xr.concat(per_policy, dim="policy", join="outer") if len(per_policy) > 1 else per_policy[0]
    dataset = dataset.transpose("policy", *study.grid, "seed", "round", ...)
    dataset["regret"].attrs = {"long_name": "cumulative expected regret", "units": "reward"}
    dataset["round"].attrs = {"long_name": "round t"}
    dataset.attrs = {
        "study": json.dumps(study.describe()),
        "claims": json.dumps(claims(study)),
        "versions": json.dumps({p: importlib.metadata.version(p) for p in ("jax", "jaxlib", "numpy", "xarray")}),
    }
    return dataset


def claims(study: Study) -> dict[str, list[dict[str, Any]]]:
    """What each policy claims at each of its grid points, as JSON types. The epsilon of a claim without a guarantee is called
    ``nominal_epsilon``.
    """
    return {name: [_claim(claim) for claim in plan.claims] for name, plan in study.plans.items()}


def _claim(claim: Claim) -> dict[str, Any]:
    prefix = "" if claim.guaranteed else "nominal_"
    parameters = {} if claim.status == "non-private" else {f"{prefix}epsilon": float(claim.epsilon), f"{prefix}delta": float(claim.delta)}
    return {
        "label": claim.label(),
        "status": claim.status,
        "trust": claim.trust,
        "relation": claim.relation,
        "sensitivity": claim.sensitivity,
        **{k: v if np.isfinite(v) else repr(v) for k, v in parameters.items()},
        "noise_scale": float(claim.noise_scale),
        "flaw": claim.flaw,
    }


# ---- progress ----------------------------------------------------------------------------------------------------------


class _Progress:
    """A bar on the host, in lane-rounds: what is compiling or running, how fast, how long still."""

    def __init__(self, study: Study, results: dict[str, dict[str, np.ndarray]], *, enabled: bool):
        lanes = sum(len(_missing(values, study)[0]) for values in results.values())
        self._bar = tqdm(
            total=lanes * study.checkpoints[-1], unit="round", unit_scale=True, disable=not enabled or not lanes, mininterval=0.5
        )

    def say(self, what: str) -> None:
        """Shows what is going on."""
        self._bar.set_description(what, refresh=True)

    def hook(self, lanes: int) -> Callable[[int], None]:
        """A function to call with the number of rounds that so many lanes have done."""
        return lambda rounds: self._bar.update(rounds * lanes)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
