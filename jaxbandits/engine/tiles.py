"""A tile: a few hundred lanes run to the horizon as one job.

A tile is a pure function of its arguments, so tiles can run in any order, in threads, in other processes or on other machines.
What a lane computes does not depend on the tile it is in: tiles are padded to a multiple of 16 lanes, so that no lane falls
into the scalar remainder of a vector loop, which rounds differently.
"""

import functools
import hashlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.stages import Compiled, Lowered

from jaxbandits.core import LOSSES
from jaxbandits.engine import leap, scan, sums
from jaxbandits.engine.scan import Lanes, Program

WIDTH = 16
"""Lanes in the widest vector; the size of a tile is a multiple of it."""

_CACHE_BYTES = 800_000
_CPU_OPTIONS = {
    "xla_cpu_prefer_vector_width": 512,
    # Tiles are the parallelism: splitting one small kernel over the cores costs more than the kernel.
    "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
}
_LANE_ROUNDS_PER_CALL = 2e7
_MOST_KEPT = 128
"""Executables that a process keeps. Each takes 200 memory maps or more, of which Linux gives a process 65,530."""

Report = Callable[[str, int], None]
Names = tuple[tuple[str, ...], tuple[str, ...]]
Shapes = tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]


class Executable(NamedTuple):
    """The compiled parts of a tile."""

    start: Compiled  # lanes -> carry
    advance: Compiled  # (lanes, carry, checkpoints) -> carry, records


def _options(device: Any) -> dict[str, Any]:
    return _CPU_OPTIONS if device.platform == "cpu" else {}


_locks: dict[Any, threading.Lock] = {}
_locks_lock = threading.Lock()


def _lock_of(key: Any) -> threading.Lock:
    """Threads that want the same executable wait for the one that compiles it."""
    with _locks_lock:
        return _locks.setdefault(key, threading.Lock())


def compile_tile(
    program: Program, size: int, sweeps: Names, shapes: Shapes, legs: int, device: int, report: Report | None = None
) -> Executable:
    """The executable of a tile, compiled once for each set of arguments in each process.

    Args:
      program: what to run.
      size: lanes.
      sweeps: names of the swept arguments of the policy and of the problem.
      shapes: the shape of each of them for one lane, in the same order.
      legs: checkpoints handed over at a time.
      device: index of the local device.
      report: called with "compile", 0 before compiling.
    """
    key = (program, size, sweeps, shapes, legs, device)
    if key not in _locks and report:
        report("compile", 0)
    # Rounds are 32-bit whatever the user's settings.
    with _lock_of(key), jax.enable_x64(False):
        return _compile(*key)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _compile(program, size, sweeps, shapes, legs, device) -> Executable:
    target = jax.local_devices()[device]
    sharding = jax.sharding.SingleDeviceSharding(target)

    def like(shape, dtype):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

    def arguments(names, shapes):
        return {name: like((*shape, size), jnp.float32) for name, shape in zip(names, shapes, strict=True)}

    lanes: Any = Lanes(
        seed=like((), jnp.uint32),
        replica=like((size,), jnp.uint32),
        policy=arguments(sweeps[0], shapes[0]),
        problem=arguments(sweeps[1], shapes[1]),
    )
    options = _options(target)
    engine = leap if leap.possible(program, lanes) else scan
    start = jax.jit(functools.partial(engine.start, program), compiler_options=options).lower(lanes)
    carry = jax.tree.map(lambda x: like(x.shape, x.dtype), start.out_info)
    advance = jax.jit(functools.partial(engine.advance, program), donate_argnums=1, compiler_options=options)
    return Executable(_shared(start, device), _shared(advance.lower(lanes, carry, like((legs,), jnp.int32)), device))


_compiled: weakref.WeakValueDictionary[Any, Compiled] = weakref.WeakValueDictionary()


def _shared(lowered: Lowered, device: int) -> Compiled:
    """The compiled form, of which programs of the same code have one: algorithms that differ in swept numbers alone, or in their claims."""
    key = hashlib.sha256(lowered.as_text().encode()).digest(), lowered.in_tree, lowered.out_tree, device
    with _lock_of(key):
        found = _compiled.get(key)
        if found is None:
            found = _compiled[key] = lowered.compile()
        return found


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tile_size(num_lanes: int, bytes_per_lane: int, workers: int) -> int:
    """How many lanes a tile should have: enough for long vector loops, few enough for the cache, the same work for each worker."""
    on_cpu = jax.local_devices()[0].platform == "cpu"
    largest = min(1024, max(2 * WIDTH, _CACHE_BYTES // max(bytes_per_lane, 1))) if on_cpu else 1 << 16
    turns = -(-num_lanes // (largest * workers))
    wanted = min(largest, max(-(-num_lanes // (turns * workers)), 64), num_lanes)
    return -(-wanted // WIDTH) * WIDTH


def schedule(checkpoints: np.ndarray, lanes: int) -> np.ndarray:
    """Cuts the checkpoints into calls of about a second, so that progress shows; int32 [calls, legs], padded by repeats."""
    horizon = int(checkpoints[-1])
    calls = int(np.clip(np.ceil(horizon * lanes / _LANE_ROUNDS_PER_CALL), 1, 256))
    ends = np.unique(np.ceil(np.arange(1, calls + 1) * horizon / calls).astype(np.int64))
    groups = [checkpoints[(checkpoints > low) & (checkpoints <= high)] for low, high in zip([0, *ends[:-1]], ends, strict=True)]
    groups = [np.append(g, high) if not len(g) or g[-1] != high else g for g, high in zip(groups, ends, strict=True)]
    legs = max(len(g) for g in groups)
    return np.stack([np.pad(g, (0, legs - len(g)), mode="edge") for g in groups]).astype(np.int32)


def run_tile(
    program: Program, lanes: Lanes, checkpoints: np.ndarray, device: int = 0, report: Report | None = None
) -> dict[str, np.ndarray]:
    """Runs a tile to its last checkpoint.

    Args:
      program: what to run.
      lanes: whom to run it for, as NumPy arrays; the number of lanes is a multiple of ``WIDTH``.
      checkpoints: int [n], increasing.
      device: index of the local device.
      report: called with "compile", 0 before compiling and with "run" and the number of rounds each time some have been done.

    Returns:
      "regret", and "realised_regret" if the problem has it, float64 [n, lanes], and each metric, [n, ..., lanes].
    """
    points = np.asarray(checkpoints)
    calls = points[None].astype(np.int32) if leap.possible(program, lanes) else schedule(points, np.shape(lanes.replica)[0])
    executable = compile_tile(program, *signature(lanes), calls.shape[1], device, report)
    if report:
        report("run", 0)
    lanes = jax.device_put(lanes, jax.local_devices()[device])
    carry, kept, done = executable.start(lanes), [], 0
    for stops in calls:
        carry, record = executable.advance(lanes, carry, jax.device_put(stops, jax.local_devices()[device]))
        lost = {name: sums.on_host(sums.Sum(*record[name])) for name in LOSSES if name in record}
        values = {**record, **lost}
        wanted = np.isin(stops, checkpoints) & (np.diff(stops, prepend=done) > 0)
        kept.append({name: np.asarray(value)[wanted] for name, value in values.items()})
        if report:
            report("run", int(stops[-1]) - done)
        done = int(stops[-1])
    return {name: np.concatenate([k[name] for k in kept]) for name in kept[0]}


def signature(lanes: Lanes) -> tuple[int, Names, Shapes]:
    """What of a tile's lanes the executable depends on: their number, and names and shapes of the swept arguments."""
    names = tuple(lanes.policy), tuple(lanes.problem)
    policy, problem = (tuple(np.shape(v)[:-1] for v in swept.values()) for swept in (lanes.policy, lanes.problem))
    return np.shape(lanes.replica)[0], names, (policy, problem)
