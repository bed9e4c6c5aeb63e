"""Kinds of bad values for what an argument may mean. Each is a strategy, so that values vary too.

A number in a tuple or in an array of one entry is not a number; an array of rank 0 is.
"""

import functools
import math

import numpy as np
from hypothesis import strategies as st

from jaxbandits.core import NON_PRIVATE

WORDS = st.sampled_from(["", "one", "1", "inf"])
SHAPELESS = {
    "a word": WORDS,
    "bytes": st.just(b"1"),
    "None": st.none(),
    "an object": st.builds(object),
    "a complex number": st.sampled_from([1j, 1 + 0j, np.complex64(1)]),
    "a mapping": st.just({"a": 1}),
    "ragged": st.just([[1.0], [1.0, 2.0]]),
    "a function": st.just(len),
}
"""What is neither a number nor an array of them."""


def but(kinds, *left_out):
    """The kinds without some."""
    return {name: found for name, found in kinds.items() if name not in left_out}


def number(low=-math.inf, high=math.inf, *, above=False, below=False, unlimited=False):
    """A number from low to high, without the end itself for ``above`` and ``below``, and inf as well if ``unlimited``."""
    kinds = {
        **SHAPELESS,
        "a flag": st.sampled_from([True, False, np.True_]),
        "several": st.sampled_from([[0.5], [0.5, 0.5], np.asarray([1.0, 1.0]), (1,)]),
        "nested": st.just([[0.5]]),
        "none in a list": st.just([]),
        "NaN": st.sampled_from([math.nan, np.float32("nan")]),
        "minus infinity": st.just(-math.inf),
    }
    if not unlimited:
        kinds["infinity"] = st.sampled_from([math.inf, np.float32("inf")])
    if low > -math.inf:
        kinds["below"] = st.floats(-1e300, low - max(abs(low) * 1e-2, 1e-12))
    if high < math.inf:
        kinds["above"] = st.floats(high * 1.01, 1e300)
    if above:
        kinds["the lower end"] = st.sampled_from([low, np.float32(low)])
    if below:
        kinds["the upper end"] = st.just(high)
    return kinds


def size(low=1, high=None):
    """An integer from low to high."""
    kinds = {
        **SHAPELESS,
        "a flag": st.sampled_from([True, False, np.True_]),
        "several": st.sampled_from([[3], [3, 4], np.asarray([3, 4]), (1,)]),
        "none in a list": st.just([]),
        "NaN": st.just(math.nan),
        "infinity": st.sampled_from([math.inf, -math.inf]),
        "a fraction": st.floats(1.0, 9.0).filter(lambda x: x != int(x)),
        "a whole float": st.sampled_from([3.0, np.float32(3.0), np.asarray(3.0)]),
        "too small": st.integers(-(10**9), low - 1),
    }
    if high is not None:
        kinds |= {"too large": st.integers(high + 1, 2 * high + 10), "huge": st.just(10**30)}
    return kinds


def vector(low=-math.inf, high=math.inf, *, empty=False, unlimited=False):
    """A vector of numbers from low to high."""
    kinds = {
        **SHAPELESS,
        "a number": st.sampled_from([0.5, 3, np.float32(0.5)]),
        "nested": st.sampled_from([[[0.5, 0.4, 0.3]], np.full((3, 1), 0.5)]),
        "flags": st.just([True, False, True]),
        "words inside": st.sampled_from([["0.5", "0.4", "0.3"], [0.5, "a", 0.3]]),
        "None inside": st.just([0.5, None, 0.3]),
        "complex inside": st.just([0.5, 1j, 0.3]),
        "NaN inside": st.integers(0, 2).map(lambda i: np.where(np.arange(3) == i, np.nan, 0.5)),
        "infinity inside": st.sampled_from([[0.5, -math.inf, 0.3]] if unlimited else [[0.5, math.inf, 0.3], [0.5, -math.inf, 0.3]]),
    }
    if not empty:
        kinds["empty"] = st.sampled_from([[], np.zeros(0)])
    if low > -math.inf:
        kinds["below"] = st.floats(-1e30, low - 1e-3).map(lambda x: [0.5, x, 0.3])
    if high < math.inf:
        kinds["above"] = st.floats(high + 1e-3, 1e30).map(lambda x: [0.5, x, 0.3])
    return kinds


def flag():
    """True or False."""
    return {
        **SHAPELESS,
        "a number": st.sampled_from([0, 1, 1.0, -1]),
        "NaN": st.just(math.nan),
        "several": st.sampled_from([[True], np.asarray([True, False])]),
    }


def made():
    """One of the package's own objects, such as a Domain."""
    return {
        **but(SHAPELESS, "a complex number"),
        "a number": st.sampled_from([0, 1.0, math.nan]),
        "a list": st.sampled_from([[], [1.0]]),
        "a tuple": st.just((1, 2)),
        "another kind": st.just(NON_PRIVATE),
        "a class": st.just(dict),
    }


def function():
    """Something to call."""
    return {
        **but(SHAPELESS, "a function", "a complex number"),
        "a number": st.sampled_from([0, 1.0, math.nan]),
        "a list": st.just([len]),
        "another kind": st.just(NON_PRIVATE),
    }


def called():
    """Something to call that the package calls before anything runs, to look at what it gives."""
    return {**function(), "of no argument": st.just(lambda: 1.0), "giving nothing": st.just(lambda *args, **named: None)}


def label():
    """One of some names."""
    return {
        **but(SHAPELESS, "a word", "bytes"),
        "unknown": st.sampled_from(["nope", ""]),
        "a number": st.sampled_from([0, 1.5, math.nan]),
        "a list": st.just(["a"]),
    }


def column():
    """A column of a table."""
    return {"unknown": st.sampled_from(["nope", "", 17]), "None": st.none(), "a list": st.just(["a"]), "an object": st.builds(object)}


def mapping():
    """A mapping."""
    return {
        **but(SHAPELESS, "a mapping", "a complex number"),
        "a number": st.sampled_from([0, 1.5]),
        "a list": st.sampled_from([["a"], []]),
    }


def words():
    """A text."""
    return {**but(SHAPELESS, "a word", "bytes"), "a number": st.sampled_from([0, 1.5]), "a list": st.just(["a"])}


def rounds():
    """Numbers of rounds, one or an array of any shape."""
    return {
        **SHAPELESS,
        "flags": st.sampled_from([True, [True, False]]),
        "NaN": st.sampled_from([math.nan, [10.0, math.nan]]),
        "infinity": st.sampled_from([math.inf, [10.0, math.inf]]),
        "below": st.sampled_from([0, -1, 0.5, [10, 0]]),
        "words inside": st.just(["10", "20"]),
    }


def shape():
    """The shape of an array."""
    return {
        **but(SHAPELESS, "a mapping"),
        "a number": st.sampled_from([3, 1.5]),
        "negative": st.integers(-100, -1).map(lambda n: (n,)),
        "fractions": st.just((1.5,)),
        "flags": st.just((True,)),
        "huge": st.just((10**30,)),
    }


def budget():
    """(epsilon, delta)."""
    return {
        **but(SHAPELESS, "a mapping"),
        "a number": st.sampled_from([1.0, math.nan]),
        "a list": st.just([1.0, 0.0]),
        "three": st.just((1.0, 0.0, 0.0)),
        "negative": st.floats(-1e9, -1e-9).map(lambda e: (e, 0.0)),
        "delta above 1": st.floats(1.01, 1e9).map(lambda d: (1.0, d)),
        "NaN": st.sampled_from([(math.nan, 0.0), (1.0, math.nan)]),
        "words inside": st.just(("1", "0")),
    }


POSITIVE = functools.partial(number, 0, above=True)
SCALE = functools.partial(number, 0, 1e10)
SHARE = functools.partial(number, 0, 1, above=True)
INSIDE = functools.partial(number, 0, 1, above=True, below=True)
COUNT = functools.partial(size, 1, 65_536)
