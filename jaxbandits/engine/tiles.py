"""A tile: a few hundred lanes run towards the horizon as one job, in one go or in several.

A tile is a pure function of its arguments, so tiles can run in any order, in threads, in other processes or on other machines, and
what one has done so far is a value that can be kept and taken up again.
What a lane computes does not depend on the tile it is in: tiles are padded to a multiple of 16 lanes, so that no lane falls
into the scalar remainder of a vector loop, which rounds differently.
"""

import functools
import hashlib
import math
import os
import threading
import time
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
_STOPS = 64
"""Checkpoints that are handed over in a call, at most."""
_SMALL_DEVICE = 4 << 30
"""Bytes of an accelerator that does not tell its memory."""
_LANE_ROUNDS_AT_FIRST = 4e6
"""Of the first call; those after it are as long as the clock says that ``_SECONDS_PER_CALL`` are."""
_SECONDS_PER_CALL = 1.0
_MOST_KEPT = 128
"""Executables that a process keeps. Each takes 200 memory maps or more, of which Linux gives a process 65,530."""

Report = Callable[[str, int], bool | None]
"""Called with "compile", 0 before compiling and with "run" and the number of rounds each time some have been done; what it returns says
whether the tile is to pause."""
Names = tuple[tuple[str, ...], tuple[str, ...]]
Shapes = tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]


class Executable(NamedTuple):
    """The compiled parts of a tile."""

    start: Compiled  # lanes -> carry
    advance: Compiled  # (lanes, carry, checkpoints) -> carry, records
    leaps: bool  # whether over rounds, whose number then does not matter


def _options(device: Any) -> dict[str, Any]:
    return _CPU_OPTIONS if device.platform == "cpu" else {}


_locks: dict[Any, threading.Lock] = {}
_locks_lock = threading.Lock()


def _lock_of(key: Any) -> threading.Lock:
    """Threads that want the same executable wait for the one that compiles it."""
    with _locks_lock:
        return _locks.setdefault(key, threading.Lock())


def compile_tile(
    program: Program, size: int, sweeps: Names, shapes: Shapes, stops: int, device: int, report: Report | None = None
) -> Executable:
    """The executable of a tile, compiled once for each set of arguments in each process.

    Args:
      program: what to run.
      size: lanes.
      sweeps: names of the swept arguments of the policy and of the problem.
      shapes: the shape of each of them for one lane, in the same order.
      stops: checkpoints handed over at a time.
      device: index of the local device.
      report: called with "compile", 0 before compiling.
    """
    key = (program, size, sweeps, shapes, stops, device)
    if key not in _locks and report:
        report("compile", 0)
    # Rounds are 32-bit whatever the user's settings.
    with _lock_of(key), jax.enable_x64(False):
        return _compile(*key)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _compile(program, size, sweeps, shapes, stops, device) -> Executable:
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
    leaps = leap.possible(program, lanes)
    engine = leap if leaps else scan
    start = jax.jit(functools.partial(engine.start, program), compiler_options=options).lower(lanes)
    carry = jax.tree.map(lambda x: like(x.shape, x.dtype), start.out_info)
    advance = jax.jit(functools.partial(engine.advance, program), donate_argnums=1, compiler_options=options)
    return Executable(_shared(start, device), _shared(advance.lower(lanes, carry, like((stops,), jnp.int32)), device), leaps)


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


def device_bytes() -> int | None:
    """The memory of the first accelerator that lanes may fill; None on a processor."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return None
    stats = device.memory_stats() or {}
    return stats.get("bytes_limit", _SMALL_DEVICE)


def tile_size(num_lanes: int, lane_bytes: int, workers: int, device_bytes: int | None = None) -> int:
    """How many lanes a tile should have: enough for long vector loops, few enough for the memory, the same work for each worker.

    Args:
      num_lanes: lanes to run.
      lane_bytes: what one of them keeps in the round loop.
      workers: how many tiles run at a time.
      device_bytes: memory of the accelerator they run on; None for a processor, whose cache is what counts.
    """
    if device_bytes is None:
        largest = min(1024, max(2 * WIDTH, _CACHE_BYTES // max(lane_bytes, 1)))
    else:
        # The state is there twice, before a round and after it, and the compiler's temporaries are of its size.
        largest = min(1 << 16, max(2 * WIDTH, device_bytes // 8 // max(lane_bytes, 1)))
    turns = -(-num_lanes // (largest * workers))
    wanted = min(largest, max(-(-num_lanes // (turns * workers)), 64), num_lanes)
    return -(-wanted // WIDTH) * WIDTH


class Played(NamedTuple):
    """What a tile has done: a value of plain arrays, which can be kept, sent, and gone on from."""

    done: int  # rounds
    carry: tuple[np.ndarray, ...]  # the tile between two rounds, leaf by leaf
    records: dict[str, np.ndarray]  # at the checkpoints that it has passed, [checkpoints, ..., lanes]


def most_stops(checkpoints: np.ndarray) -> int:
    """How many checkpoints are handed over in a call: few numbers, so that studies share executables."""
    return min(1 << (len(checkpoints) - 1).bit_length(), _STOPS)


def stops_ahead(checkpoints: np.ndarray, done: int, rounds: int, stops: int) -> np.ndarray:
    """Where the next call stops: at the checkpoints within so many rounds, and at their end; int32 [stops], padded by repeats."""
    end = min(done + rounds, int(checkpoints[-1]))
    found = checkpoints[(checkpoints > done) & (checkpoints <= end)][:stops]
    if len(found) < stops and (not len(found) or found[-1] < end):
        found = np.append(found, end)
    return np.pad(found, (0, stops - len(found)), mode="edge").astype(np.int32)


def run_tile(
    program: Program, lanes: Lanes, checkpoints: np.ndarray, device: int = 0, report: Report | None = None
) -> dict[str, np.ndarray]:
    """Runs a tile to its last checkpoint.

    Args:
      program: what to run.
      lanes: whom to run it for, as NumPy arrays; the number of lanes is a multiple of ``WIDTH``.
      checkpoints: int [n], increasing.
      device: which local device, counted round and round.
      report: told what is being done.

    Returns:
      "regret", and "realised_regret" if the problem has it, float64 [n, lanes], and each metric, [n, ..., lanes].
    """
    return advance_tile(program, lanes, checkpoints, device, report).records


def advance_tile(
    program: Program,
    lanes: Lanes,
    checkpoints: np.ndarray,
    device: int = 0,
    report: Report | None = None,
    before: Played | None = None,
    seconds: float = math.inf,
) -> Played:
    """Runs a tile to its last checkpoint, or until it is to pause.

    Args:
      program: what to run.
      lanes: whom to run it for, as NumPy arrays; the number of lanes is a multiple of ``WIDTH``.
      checkpoints: int [n], increasing.
      device: which local device, counted round and round.
      report: told what is being done, and may ask for a pause.
      before: what the tile has done already.
      seconds: how long to run before a pause; at least one call is made.

    Returns:
      what it has done now. Neither where it pauses nor how its rounds are cut into calls changes a bit of it.
    """
    device %= jax.local_device_count()
    target, points = jax.local_devices()[device], np.asarray(checkpoints, np.int64)
    horizon, size = int(points[-1]), np.shape(lanes.replica)[0]
    stops = most_stops(points)
    executable = compile_tile(program, *signature(lanes), stops, device, report)
    if report:
        report("run", 0)
    lanes = jax.device_put(lanes, target)
    if before is None:
        done, carry, kept = 0, executable.start(lanes), []
    else:
        carry = jax.device_put(jax.tree.unflatten(executable.start.out_tree, before.carry), target)
        done, kept = before.done, [before.records]
    rounds = horizon if executable.leaps else max(int(_LANE_ROUNDS_AT_FIRST / size), 1)
    began = now = time.monotonic()
    while True:
        ahead = stops_ahead(points, done, rounds, stops)
        carry, record = executable.advance(lanes, carry, jax.device_put(ahead, target))
        lost = {name: sums.on_host(sums.Sum(*record[name])) for name in LOSSES if name in record}
        values = {**record, **lost}
        wanted = (points[np.searchsorted(points, ahead)] == ahead) & (np.diff(ahead, prepend=done) > 0)
        kept.append({name: np.asarray(value)[wanted] for name, value in values.items()})
        played, done = int(ahead[-1]) - done, int(ahead[-1])
        last, now = now, time.monotonic()
        paused = report is not None and report("run", played)
        if done == horizon or paused or now - began >= seconds:
            break
        pace = played / max(now - last, 1e-3)
        rounds = max(int(min(max(pace * _SECONDS_PER_CALL, rounds / 2), 4 * rounds, horizon)), 1)
    records = {name: np.concatenate([k[name] for k in kept]) for name in kept[0]}
    leaves = tuple(np.asarray(leaf) for leaf in jax.tree.leaves(carry)) if done < horizon else ()
    return Played(done, leaves, records)


def signature(lanes: Lanes) -> tuple[int, Names, Shapes]:
    """What of a tile's lanes the executable depends on: their number, and names and shapes of the swept arguments."""
    names = tuple(lanes.policy), tuple(lanes.problem)
    policy, problem = (tuple(np.shape(v)[:-1] for v in swept.values()) for swept in (lanes.policy, lanes.problem))
    return np.shape(lanes.replica)[0], names, (policy, problem)
