"""A directory of compiled programs, which JAX looks into before it compiles: shared by processes, and by workers who see the same files."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

_DIRECTORY, _LEAST_SECONDS = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"


def folder() -> str | None:
    """The directory that is in use; None if there is none."""
    return _set(_DIRECTORY)


_lock = threading.Lock()
_users, _before = [], []  # of a directory, and what was set when the first of them came


@contextlib.contextmanager
def kept_in(directory: str | None) -> Iterator[None]:
    """Makes JAX keep what it compiles in a directory for a while, and look there first; None leaves it as it is set.

    The setting is that of the process: while several ask for it at a time, the first directory is that of all.
    """
    if directory is None:
        yield
        return
    with _lock:
        if not _users:
            _before[:] = [_set(_DIRECTORY), _set(_LEAST_SECONDS)]
            _change(directory, 0.0)
        _users.append(directory)
    try:
        yield
    finally:
        with _lock:
            _users.remove(directory)
            if not _users:
                _change(*_before)


def _set(option: str) -> Any:
    return getattr(jax.config, option)


def _change(directory: str | None, least_seconds: float) -> None:
    if _set(_DIRECTORY) != directory:
        jax.config.update(_DIRECTORY, directory)
        compilation_cache.reset_cache()  # it looks at the option once
    jax.config.update(_LEAST_SECONDS, least_seconds)
