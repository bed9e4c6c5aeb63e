"""Factories of problems and policies: what they take, and building from them with clear errors."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from jaxbandits.core import NON_PRIVATE, Claim, Draw, Policy, Problem
from jaxbandits.identity import Bound

FAMILY = ("num_items", "list_len", "num_arms", "oracle", "dim", "domain", "num_agents")
"""Arguments that tell families of problems apart: a policy that takes one does not play a problem without it."""


def bound(name: str, factory: Any) -> Bound:
    """Reads a factory, plain or with arguments fixed by ``functools.partial``; ``name`` is for messages."""
    if isinstance(factory, Bound):
        return factory
    arguments: dict[str, Any] = {}
    while isinstance(factory, functools.partial):
        if factory.args:
            raise ValueError(f"{name} must fix its arguments by keyword; got positional {factory.args!r}")
        arguments, factory = {**factory.keywords, **arguments}, factory.func
    if isinstance(factory, Policy | Problem):
        kind = type(factory).__name__
        raise ValueError(f"{name} must be a factory, not the {kind} it returns: functools.partial(factory, ...) fixes its arguments")
    if not callable(factory):
        raise ValueError(f"{name} must be a factory, a function returning a Problem or a Policy; got {factory!r}")
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a factory whose arguments can be inspected; got {factory!r}") from error
    arguments = {k: v for k, v in arguments.items() if v is not None}  # None is what an argument left out is
    unknown = set(arguments) - set(parameters)
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise ValueError(f"{name} fixes {min(unknown)!r}, which is not an argument of {factory!r}")
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]
    if positional:
        raise ValueError(f"{name} must take its arguments by keyword; {positional[0]!r} of {factory!r} is positional only")
    return Bound(factory, arguments)


def _parameters(factory: Bound) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(factory.function).parameters


def taken(factory: Bound, axes: Mapping[str, Any]) -> tuple[str, ...]:
    """The axes that the factory takes: its free arguments among them."""
    taken = tuple(a for a in axes if a in _parameters(factory) and a not in factory.arguments)
    for axis in taken:
        if _parameters(factory)[axis].annotation in (int, bool, "int", "bool"):
            raise ValueError(f"grid axis {axis!r} is a static argument of {_name(factory)}: make one study for each value")
    return taken


def _name(factory: Bound) -> str:
    return getattr(factory.function, "__name__", repr(factory.function))


def build(name: str, factory: Bound, point: Mapping[str, Any], kind: type) -> Any:
    """The problem or policy at a grid point, with the point in the message if it cannot be built."""
    try:
        built = factory(**point)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}{f' at {dict(point)}' if point else ''}: {error}") from error
    if not isinstance(built, kind):
        raise ValueError(f"{name} must be a factory returning a {kind.__name__}; {_name(factory)} returned {built!r}")
    for field in ("setup_draws", "draws", "device_draws", "server_draws"):
        given = getattr(built, field, {})
        if not isinstance(given, Mapping) or not all(isinstance(d, Draw) for d in given.values()):
            raise ValueError(f"{name} must have a mapping from names to draws, such as draws.uniform(), as {field}; got {given!r}")
    if not isinstance(getattr(built, "claim", NON_PRIVATE), Claim):
        raise ValueError(f"{name} must have a Claim as claim; got {built.claim!r}")
    return built


def for_problem(name: str, factory: Bound, problem: Problem) -> Bound:
    """The factory with those sizes of the problem, and what else it shares, that it takes and has not fixed.

    Raises:
      ValueError: if it takes an argument of another family of problems, or fixes a size to another value, by itself or in an oracle.
    """
    offered = {**problem.sizes, **problem.shared}
    for argument in FAMILY:
        if argument in _parameters(factory) and argument not in offered:
            raise ValueError(f"{name} plays problems that have {argument}; this one has {', '.join(offered) or 'no sizes'}")
    for size, value in problem.sizes.items():
        fixed = {f" with {argument}": getattr(given, size) for argument, given in factory.arguments.items() if hasattr(given, size)}
        for by, found in {**fixed, "": factory.arguments.get(size, value)}.items():
            if found != value:
                raise ValueError(f"{name} fixes {size} to {found!r}{by}; it must be that of the problem, {value}")
    missing = {k: v for k, v in offered.items() if k in _parameters(factory) and k not in factory.arguments}
    return Bound(factory.function, {**factory.arguments, **missing})


def with_horizon(factory: Bound, horizon: int) -> Bound:
    """The factory with the horizon, if it takes one and has not fixed it."""
    if "horizon" not in _parameters(factory) or "horizon" in factory.arguments:
        return factory
    return Bound(factory.function, {**factory.arguments, "horizon": horizon})


def require(name: str, factory: Bound, axes: Mapping[str, Any]) -> None:
    """Refuses a factory with an argument that is neither fixed, nor swept, nor optional."""
    for parameter in _parameters(factory).values():
        optional = parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        has = f", which has {', '.join(axes)}" if axes else ""
        if not optional and parameter.name not in factory.arguments and parameter.name not in axes:
            kind = parameter.annotation
            one_number = kind in (parameter.empty, float) or not isinstance(kind, type)  # not a size, a network or an oracle
            way = f"put it in the grid{has}" if one_number else "give it to the problem, if it shares it"
            raise ValueError(f"{name} needs {parameter.name!r}: fix it with functools.partial or {way}")
