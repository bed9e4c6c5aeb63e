"""A directory of compiled programs, which JAX looks into before it compiles: shared by processes, and by workers who see the same files."""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

_DIRECTORY, _LEAST_SECONDS = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"


def folder() -> str | None:
    """The directory that is in use; None if there is none."""
    return _set(_DIRECTORY)


def keep_in(directory: str) -> None:
    """Makes JAX keep what it compiles in a directory, and look there first."""
    _change(directory, 0.0)


@contextlib.contextmanager
def kept_in(directory: str | None) -> Iterator[None]:
    """The same for a while; None leaves JAX as it is set."""
    if directory is None:
        yield
        return
    before = _set(_DIRECTORY), _set(_LEAST_SECONDS)
    keep_in(directory)
    try:
        yield
    finally:
        _change(*before)


def _set(option: str) -> Any:
    return getattr(jax.config, option)


def _change(directory: str | None, least_seconds: float) -> None:
    if _set(_DIRECTORY) != directory:
        jax.config.update(_DIRECTORY, directory)
        compilation_cache.reset_cache()  # it looks at the option once
    jax.config.update(_LEAST_SECONDS, least_seconds)
