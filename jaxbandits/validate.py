"""Checks at the door: a bad argument raises a ValueError that names the argument, its value and what is allowed.

A traced value passes: it was checked as a number before anything was compiled.
"""

import functools
import operator
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def _known(value: Any) -> bool:
    return not isinstance(value, Tracer)


def _fail(name: str, value: Any, allowed: str) -> NoReturn:
    raise ValueError(f"{name} must be {allowed}; got {short(value)}")


def short(value: Any) -> str:
    """A value for a message: what it prints as, on one line and at most 200 characters."""
    words = " ".join(repr(value).split())
    return words if len(words) <= 200 else f"{words[:200]} .."


def _numbers(name: str, value: Any, allowed: str) -> np.ndarray:
    """The value as an array of numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # ragged or otherwise not an array
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        _fail(name, value, allowed)
    return array.astype(np.float64)


def size(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """A static size: an integer from ``low`` to ``high``."""
    allowed = f"an integer from {low} to {high}" if high is not None else f"an integer, at least {low}"
    if isinstance(value, bool | np.bool_):
        _fail(name, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        _fail(name, value, allowed)
    if number < low or (high is not None and number > high):
        _fail(name, value, allowed)
    return number


MOST_AGENTS = 4096
"""The most agents of a federated bandit."""

MOST_ROUNDS = 2**31 - 1
"""The most rounds, and the most entries of a stream: int32 counts them."""

MOST_ITEMS = 65_536
"""The most items of a problem; the random words of a round must fit their counters."""


def list_sizes(num_items: Any, list_len: Any) -> tuple[int, int]:
    """``num_items`` from 1 to ``MOST_ITEMS`` and ``list_len`` from 1 to ``num_items``, as Python integers."""
    items = size("num_items", num_items, 1, MOST_ITEMS)
    return items, size("list_len", list_len, 1, items)


def scalar(name: str, value: Any, allowed: str, test: Callable[[float], bool]) -> None:
    """One number, or a traced value, for which ``test`` holds."""
    if _known(value):
        number = _numbers(name, value, allowed)
        if number.ndim or not test(float(number)):
            _fail(name, value, allowed)


def number(name: str, value: Any) -> float:
    """A number in double precision; a swept one is not known when it is needed."""
    if not _known(value):
        raise ValueError(f"{name} must be fixed: something is worked out from it before anything runs, so it cannot be swept here")
    return float(value)


def horizon(value: Any) -> int:
    """A number of rounds that int32 can count."""
    return size("horizon", value, 1, MOST_ROUNDS)


@functools.lru_cache(maxsize=64)
def _levels(function: Callable[[Any], Any]) -> list[tuple[int, Any]]:
    """What an exploration function gives at a few rounds."""
    with jax.ensure_compile_time_eval():
        return [(t, function(jnp.int32(t))) for t in (1, 2, 3, 10, 1000, MOST_ROUNDS)]


def exploration(function: Any) -> None:
    """A function of the round, int32 () -> float32 (), that is at least 0 and finite; looked at at a few rounds."""
    allowed = "a function of the round, int32 () -> float32 (), at least 0 and finite"
    if not callable(function):
        _fail("exploration", function, allowed)
    try:
        levels = _levels(function)
    except Exception as error:  # of code that is not ours
        raise ValueError(f"exploration must be {allowed}; it failed with {type(error).__name__}: {error}") from error
    for t, level in levels:
        array = np.asarray(level)
        if array.shape or array.dtype != np.float32 or not 0 <= float(array) < np.inf:
            raise ValueError(f"exploration must be {allowed}; got {level!r} at round {t}")


def callable_(name: str, value: Any, what: str) -> None:
    """Something to call; ``what`` says what it is."""
    if not callable(value):
        _fail(name, value, what)


def called(name: str, value: Any, what: str, *args: Any, **kwargs: Any) -> Any:
    """What a function gives for these arguments, if it is one and takes them; ``what`` says what it is."""
    callable_(name, value, what)
    try:
        return value(*args, **kwargs)
    except TypeError as error:  # it takes others
        raise ValueError(f"{name} must be {what}; got {short(value)}: {error}") from error


def instance(name: str, value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """An object of a kind; ``what`` says what it is."""
    if not isinstance(value, kind):
        _fail(name, value, what)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """One of some words."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        _fail(name, value, f"one of {', '.join(names)}")


def shape(name: str, value: Any) -> tuple[int, ...]:
    """The shape of an array, as a tuple of Python integers."""
    if not isinstance(value, tuple):
        _fail(name, value, "a tuple of sizes, such as () or (3,)")
    return tuple(size(name, length, 0, MOST_ROUNDS) for length in value)


def rounds(name: str, value: Any) -> np.ndarray:
    """A number of rounds, or an array of them, as float64."""
    allowed = "a finite number, or an array of them, at least 1"
    numbers = _numbers(name, value, allowed)
    if not np.all((numbers >= 1) & (numbers < np.inf)):
        _fail(name, value, allowed)
    return numbers


def epsilon(value: Any, name: str = "epsilon", low: float = 1e-10) -> None:
    """A privacy level; infinity is the non-private limit. Beyond the range float32 cannot hold the noise, or the lack of it."""
    allowed = f"a positive number from {low:g} to 1e10, or inf for no privacy"
    scalar(name, value, allowed, lambda x: low <= x <= 1e10 or x == np.inf)


def delta(value: Any) -> None:
    """A probability strictly between 0 and 1."""
    scalar("delta", value, "strictly between 0 and 1", lambda x: 0 < x < 1)


def budget(name: str, spent: Any, epsilon: Any) -> None:
    """Privacy levels that together spend at most epsilon, up to rounding; ``name`` says what adds up to the spent level."""
    if _known(spent) and _known(epsilon) and float(spent) > float(epsilon) * (1 + 1e-6):
        _fail(name, float(spent), f"at most epsilon, {float(epsilon):g}")


def enough(name: str, value: Any, least: Callable[[], float], *needs: Any) -> None:
    """A number that is at least what a claim needs, up to rounding to float32, once it and what that depends on are known."""
    scalar(name, value, "a finite number", np.isfinite)
    if _known(value) and all(_known(need) for need in needs) and not float(value) >= (needed := least()) * (1 - 1e-6):
        _fail(name, float(value), f"at least {needed:.6g}, which the claim needs")


def above(name: str, value: Any, other: str, least: Any) -> None:
    """A number above another one, up to 1e12, as far as the two are known."""
    low = float(least) if _known(least) else -np.inf
    scalar(
        name, value, f"a number above {other}, {low:g}, up to 1e12" if _known(least) else "a number up to 1e12", lambda x: low < x <= 1e12
    )


def scale(name: str, value: Any) -> None:
    """A factor from 0 to 1e10."""
    scalar(name, value, "a finite number, at least 0 and at most 1e10", lambda x: 0 <= x <= 1e10)


def flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        _fail(name, value, "True or False")


def positive(name: str, value: Any) -> None:
    """A finite number above 0."""
    scalar(name, value, "a finite number above 0", lambda x: 0 < x < np.inf)


def amount(name: str, value: Any) -> None:
    """A finite number, at least 0."""
    scalar(name, value, "a finite number, at least 0", lambda x: 0 <= x < np.inf)


def probabilities(name: str, value: Any, length: int | None = None) -> None:
    """A vector of probabilities, of the given length if there is one."""
    allowed = "a vector of numbers in [0, 1]" + (f" of length {length}" if length is not None else "")
    numbers = _numbers(name, value, allowed) if _known(value) else value
    if np.ndim(numbers) != 1 or np.shape(numbers)[0] < 1 or (length is not None and np.shape(numbers)[0] != length):
        _fail(name, value, allowed)
    if _known(value) and not np.all((numbers >= 0) & (numbers <= 1)):  # false for NaN too
        _fail(name, value, allowed)


def vector(name: str, value: Any) -> np.ndarray | None:
    """A vector of at least one number, as float64; None for a traced one."""
    allowed = "a vector of numbers"
    numbers = _numbers(name, value, allowed) if _known(value) else value
    if np.ndim(numbers) != 1 or np.shape(numbers)[0] < 1:
        _fail(name, value, allowed)
    return np.asarray(numbers) if _known(value) else None


def finite(name: str, value: Any) -> np.ndarray:
    """A vector of at least one finite number, as float64."""
    allowed = "a vector of finite numbers"
    numbers = _numbers(name, value, allowed)
    if numbers.ndim != 1 or not numbers.size or not np.all(np.isfinite(numbers)):
        _fail(name, value, allowed)
    return numbers


def table(name: str, value: Any, shape: tuple[int, ...], what: str, test: Callable[[np.ndarray], np.ndarray]) -> None:
    """An array of a shape, or a traced one, for whose numbers ``test`` holds."""
    allowed = f"an array of shape {shape} of {what}"
    numbers = _numbers(name, value, allowed) if _known(value) else value
    if np.shape(numbers) != shape or (_known(value) and not np.all(test(np.asarray(numbers)))):
        _fail(name, value, allowed)


def matrix(name: str, value: Any, what: str, test: Callable[[np.ndarray], np.ndarray] = np.isfinite) -> np.ndarray:
    """A matrix, not empty, for whose numbers ``test`` holds, as float64; ``what`` says what it is."""
    numbers = _numbers(name, value, what)
    if numbers.ndim != 2 or not numbers.size or not np.all(test(numbers)):
        _fail(name, value, what)
    return numbers


def amounts(name: str, value: Any) -> np.ndarray:
    """A vector of finite numbers, at least 0, as float64."""
    allowed = "a vector of finite numbers, at least 0"
    numbers = _numbers(name, value, allowed)
    if numbers.ndim != 1 or not np.all((numbers >= 0) & (numbers < np.inf)):
        _fail(name, value, allowed)
    return numbers


def new_file(name: str, path: Any, endings: Iterable[str] = ()) -> pathlib.Path:
    """A file that could be written: in a directory that exists, with one of the endings, such as ".md", if there are any."""
    instance(name, path, (str, os.PathLike), "a path")
    file, allowed = pathlib.Path(path), list(endings)
    if not file.name or file.is_dir() or not file.parent.is_dir():
        _fail(name, str(path), "a file in a directory that exists")
    if allowed and file.suffix.lower() not in allowed:
        _fail(name, str(path), f"a file that ends in one of {', '.join(allowed)}")
    return file
