"""What a value is, apart from the process it lives in: descriptions that are equal for equal values, and factories compared by them."""

import ast
import functools
import hashlib
import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def fingerprint(value: Any) -> Any:
    """A description of a value made of JSON types: equal values give equal descriptions, in every process.

    Functions are described by name, those outside this package also by a digest of their source and of what they close over,
    so that a changed definition is a different value.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Bound):
        return {"function": fingerprint(value.function), "arguments": {k: fingerprint(v) for k, v in sorted(value.arguments.items())}}
    if isinstance(value, Mapping):
        return {str(k): fingerprint(v) for k, v in value.items()}
    if isinstance(value, functools.partial):
        return {"function": fingerprint(value.func), "arguments": [fingerprint(value.args), fingerprint(value.keywords)]}
    if isinstance(value, list | tuple):
        return [fingerprint(v) for v in value]
    if hasattr(value, "tolist"):  # NumPy and JAX arrays and scalars
        return fingerprint(value.tolist())
    if callable(value):
        return _function_fingerprint(value)
    return re.sub(r"0x[0-9a-f]+", "", repr(value))  # addresses differ from process to process


def _function_fingerprint(function: Callable) -> str:
    module, name = getattr(function, "__module__", None) or "?", getattr(function, "__qualname__", repr(function))
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    if module.startswith("jaxbandits."):
        return f"{module}.{name}{json.dumps(fingerprint(cells))}" if cells else f"{module}.{name}"
    try:
        source = _without_words(inspect.getsource(function))
    except (OSError, TypeError):  # typed at a prompt, or not written in Python
        code = getattr(function, "__code__", None)
        name = name if code is not None else f"{module}.{name}"
        source = re.sub(r"0x[0-9a-f]+", "", repr([getattr(code, part, b"") for part in ("co_code", "co_consts", "co_names")]))
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    inside = json.dumps([source, [fingerprint(c) for c in cells], fingerprint(defaults)])
    # Not the module, which is __main__ for a script and another for the same file imported, or given to the command line.
    return f"{name}#{hashlib.sha256(inside.encode()).hexdigest()[:16]}"


def _without_words(source: str) -> str:
    """The code without comments and docstrings, which change nothing; as it is if it is not a definition by itself."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a lambda in the middle of something
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def frozen(value: Any) -> Any:
    """The value, a NumPy array as a copy that cannot be written to: a study keeps what it was given."""
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.setflags(write=False)
    return copy


class Bound:
    """A factory with some of its arguments: what ``functools.partial`` makes, but compared and hashed by value."""

    def __init__(self, function: Callable, arguments: Mapping[str, Any]):
        """Args: the factory and keyword arguments for it."""
        self.function, self.arguments = function, {k: frozen(v) for k, v in arguments.items()}
        self._key = (function, json.dumps({k: fingerprint(v) for k, v in sorted(self.arguments.items())}))

    def __call__(self, **arguments: Any) -> Any:
        """The factory's result with these arguments too."""
        return self.function(**self.arguments, **arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
