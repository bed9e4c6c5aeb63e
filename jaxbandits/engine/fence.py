"""A fence that keeps XLA's CPU compiler from recomputing a value for each of its consumers.

XLA fuses a cheap producer into all of its consumers, and counts chains of integer operations, comparisons and selections as
cheap however long they are. A random number or a sorted list is then computed again for every element of everything that
reads it, which makes the round loop many times slower. A call that XLA may not inline stops that. A fenced function
should return one array: the CPU compiler emits one loop for each output, so two outputs compute everything twice.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from jaxbandits.core import PyTree

_FENCES = contextvars.ContextVar("fences", default=True)


@contextlib.contextmanager
def unfenced() -> Iterator[None]:
    """Within it no fences are made: a trace is then the same for every kind of device."""
    token = _FENCES.set(False)
    try:
        yield
    finally:
        _FENCES.reset(token)


def fence(function: Callable) -> Callable:
    """``function`` as a computation of its own, into and out of which nothing is fused on CPU; the identity elsewhere."""
    compiled = jax.jit(function)

    def fenced(*args):
        # Asked when it is called, since asking starts JAX, and some fences are made when a module is imported.
        if not _FENCES.get() or jax.default_backend() != "cpu":
            return function(*args)
        return set_xla_metadata(compiled(*args), inlineable="false")

    return fenced


def once(tree: PyTree) -> PyTree:
    """``tree`` with each array computed once, however many read it, on CPU; the identity elsewhere."""
    return jax.tree.map(fence(lambda x: x), tree)
