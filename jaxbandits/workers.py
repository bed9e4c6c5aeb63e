"""Who runs the tiles: threads of this process, or the workers of any ``concurrent.futures.Executor``.

A tile that a worker has lost is sent again, from where it last paused. What goes wrong inside a tile comes back as a value, so
whatever the executor itself raises is the loss of a worker.
"""

import concurrent.futures
import contextlib
import functools
import hashlib
import importlib.metadata
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import cloudpickle
import jax
import numpy as np

from jaxbandits.engine import compiled, rehearsal, scan, tiles

_PATIENCE = 60.0
"""Seconds after which a tile comes back to be kept, and goes on."""
_AHEAD = 64
"""Tiles that wait at workers of whom it is not known how many there are or will be."""


_GONE = "this executor has lost its workers and cannot be used again; with a store nothing that was finished is lost"


class Lost(Exception):
    """The worker is gone, and with it what it did since the tile last paused; ``__cause__`` is what its executor said."""


class Task(NamedTuple):
    """What a worker of another process is sent."""

    program: bytes  # pickled once: equal bytes are one program to a worker, so it compiles once
    lanes: scan.Lanes
    checkpoints: np.ndarray
    turn: int
    before: tiles.Played | None
    versions: tuple[str, ...]
    compiled: str | None


class Workers:
    """An executor, and how to speak to it."""

    def __init__(self, executor: concurrent.futures.Executor | None):
        """Args: the executor; None for threads of its own, one a core, or one an accelerator.

        Raises:
          ValueError: if it is no executor, or one that JAX does not survive.
        """
        if executor is not None and not isinstance(executor, concurrent.futures.Executor):
            raise ValueError(f"executor must be a concurrent.futures.Executor; got {executor!r}")
        context = getattr(executor, "_mp_context", None)
        if context is not None and context.get_start_method() == "fork":
            raise ValueError(
                "executor must start its processes with 'spawn' or 'forkserver', as mp_context=multiprocessing.get_context('spawn') does; "
                "JAX does not survive 'fork'"
            )
        if getattr(getattr(executor, "_client", None), "asynchronous", False):
            raise ValueError("executor must be that of a client with asynchronous=False; got one that waits in an event loop")
        self._own = executor is None
        self._executor = executor or concurrent.futures.ThreadPoolExecutor(_at_a_time())
        self.here = isinstance(self._executor, concurrent.futures.ThreadPoolExecutor)
        self.count = _count(self._executor)
        self.most_sent = 2 * self.count if hasattr(self._executor, "_max_workers") else max(2 * self.count, _AHEAD)
        self._turn = 0
        self._shipped: dict[str, bytes] = {}

    def close(self, *, wait: bool) -> None:
        """Ends the threads if they are its own."""
        if self._own:
            self._executor.shutdown(wait=wait, cancel_futures=not wait)

    def there(self) -> bool:
        """Whether there are workers, as far as the executor tells.

        Raises:
          concurrent.futures.BrokenExecutor: if it cannot answer any more; Dask's never says so of its own accord.
        """
        if self._closed():
            raise concurrent.futures.BrokenExecutor(f"{_GONE}: its scheduler is gone, or its client is closed")
        with contextlib.suppress(Exception):
            return bool(self._executor._client.nthreads())  # pyright: ignore[reportAttributeAccessIssue]
        return True

    def _closed(self) -> bool:
        return getattr(getattr(self._executor, "_client", None), "status", "") == "closed"

    def cancel(self, future: concurrent.futures.Future) -> bool:
        """Takes back a tile that has not been begun, or is in another process; whether that was possible."""
        return self._closed() or future.cancel()

    def board(self, programs: Mapping[str, scan.Program]) -> None:
        """Makes the programs ready for sending.

        Raises:
          ValueError: if a policy or what belongs to it cannot be sent.
        """
        self._programs = programs
        for name, program in {} if self.here else programs.items():
            try:
                self._shipped[name] = cloudpickle.dumps(program)
            except Exception as error:  # whatever an object that cannot be pickled raises
                raise ValueError(
                    f"executor must be sent what can be pickled; policy {name!r}, the problem or a metric cannot: {error}"
                ) from error

    def send(
        self,
        policy: str,
        lanes: scan.Lanes,
        checkpoints: np.ndarray,
        before: tiles.Played | None,
        report: Callable[[str, int], bool],
        *,
        keeps: bool,
    ) -> concurrent.futures.Future:
        """Starts a tile, or goes on with it; ``keeps`` tells whether somebody keeps what it does before it is finished."""
        turn, self._turn = self._turn, self._turn + 1
        if self.here:
            seconds = _PATIENCE if keeps else float("inf")
            with _told_if_broken(Exception):
                return self._executor.submit(tiles.advance_tile, self._programs[policy], lanes, checkpoints, turn, report, before, seconds)
        task = Task(self._shipped[policy], lanes, checkpoints, turn, before, _versions(), compiled.folder())
        with _told_if_broken(Exception):
            return self._executor.submit(serve, task, _PATIENCE)

    def result(self, future: concurrent.futures.Future) -> tiles.Played:
        """What a tile has played.

        Raises:
          Lost: if its worker is gone, and it should be sent again.
          Exception: what went wrong in it.
        """
        if self.here:
            return future.result()
        try:
            error = future.exception()
        except concurrent.futures.CancelledError as cancelled:
            error = cancelled
        if isinstance(error, concurrent.futures.BrokenExecutor):
            with _told_if_broken():
                raise error
        if error is not None:  # each library has its own for a worker that is gone
            raise Lost from error
        found = future.result()
        if isinstance(found, tiles.Played):
            return found
        raise found


@contextlib.contextmanager
def _told_if_broken(kind: type[Exception] = concurrent.futures.BrokenExecutor) -> Iterator[None]:
    try:
        yield
    except kind as error:
        guard = "; a script must start processes under if __name__ == '__main__'" if "process pool" in str(error) else ""
        raise concurrent.futures.BrokenExecutor(f"{_GONE}: {error}{guard}") from error


def _at_a_time() -> int:
    return tiles.cores() if tiles.device_bytes() is None else jax.local_device_count()


def _count(executor: Any) -> int:
    """How many tiles an executor runs at a time, as far as it tells."""
    if isinstance(workers := getattr(executor, "_max_workers", None), int):
        return max(workers, 1)
    with contextlib.suppress(Exception):  # Dask's knows its client, which knows the threads of each worker
        return max(sum(executor._client.nthreads().values()), 1)
    return _at_a_time()


@functools.cache
def _versions() -> tuple[str, ...]:
    return importlib.metadata.version("jaxbandits"), jax.__version__


# ---- in the worker -----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _unpacked(program: bytes) -> scan.Program:
    try:
        return pickle.loads(program)
    except ImportError as error:
        raise ImportError(f"a worker must be able to import what policies, problem and metrics are made of: {error}") from error


_found_alike: set[bytes] = set()


def _check(task: Task, program: scan.Program) -> None:
    """Refuses a program that is another here, where a module may have been imported before it was changed."""
    key = hashlib.sha256(task.program).digest()
    if key in _found_alike:
        return
    if rehearsal.rehearse(program, task.lanes).digest != program.digest:
        raise RuntimeError("a worker must have the code that sent it the work; it has imported another: start the workers anew")
    _found_alike.add(key)


def serve(task: Task, seconds: float) -> tiles.Played | Exception:
    """Runs a tile in a worker until it pauses.

    Args:
      task: the tile.
      seconds: how long to run before a pause.

    Returns:
      what it has played, or what went wrong in it.
    """
    try:
        if task.versions != _versions():
            wanted = f"the versions of jaxbandits and jax that sent it the work, {task.versions}"
            raise RuntimeError(f"a worker must have {wanted}; it has {_versions()}")
        program = _unpacked(task.program)
        _check(task, program)
        with compiled.kept_in(task.compiled):
            return tiles.advance_tile(program, task.lanes, task.checkpoints, task.turn, None, task.before, seconds)
    except Exception as error:
        try:
            error.add_note("in a worker:\n" + traceback.format_exc())
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:  # an error that cannot travel
            return RuntimeError("in a worker:\n" + traceback.format_exc())
