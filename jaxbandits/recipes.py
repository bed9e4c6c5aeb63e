"""Values made of functions that can be pickled: they remember which factory made them.

A domain, a link, decision sets or losses are tuples of functions that close over sizes, and Python cannot pickle such functions. So
that a study made of them can travel to another process, each remembers its factory and arguments, and is made anew there.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

from jaxbandits.identity import fingerprint

P = ParamSpec("P")
T = TypeVar("T")


class Recipe(NamedTuple):
    """The factory that made a value, by module and name, and its arguments."""

    module: str
    name: str
    arguments: dict[str, Any]


def made(recipe: Recipe) -> Any:
    """The value that a recipe makes."""
    return getattr(importlib.import_module(recipe.module), recipe.name)(**recipe.arguments)


def reduced(value: Any) -> tuple[Any, ...]:
    """For ``__reduce__`` of a NamedTuple with a field ``recipe``: how to make it anew, or its fields if it was changed since."""
    if value.recipe is not None and fingerprint(made(value.recipe)) == fingerprint(value):
        return made, (value.recipe,)
    return type(value)._make, (tuple(value),)


def remembered(factory: Callable[P, T]) -> Callable[P, T]:
    """A factory whose values remember it in their field ``recipe``."""
    signature = inspect.signature(factory)

    @functools.wraps(factory)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        value: Any = factory(*args, **kwargs)
        arguments = signature.bind(*args, **kwargs).arguments
        return value._replace(recipe=Recipe(factory.__module__, factory.__name__, dict(arguments)))

    return wrapper
