"""One round of one lane, traced and not compiled: what is wrong with a policy shows before anything costs time."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import Draws, Round
from jaxbandits.engine.scan import CHUNK, Lanes, Program, first_lane

Shape = tuple[int, ...]


def _numbers(draws: Draws) -> dict[str, Any]:
    """The shapes and types of some draws of one lane."""
    found = {}
    for name, draw in draws.items():
        values = jax.eval_shape(draw.law, jax.ShapeDtypeStruct((draw.words,), jnp.uint32))
        found[name] = jax.ShapeDtypeStruct(draw.shape, values.dtype)
    return found


def _try(what: str, function: Callable, *args: Any) -> Any:
    """The shapes of what a function returns; its own errors become one that says which function it was."""
    try:
        return jax.eval_shape(function, *args)
    except Exception as error:  # of code that is not ours: whatever it is, it is reported, and chained
        raise ValueError(f"{what} failed with {type(error).__name__}: {error}") from error


def _kinds(tree: Any) -> Any:
    return jax.tree.map(lambda x: f"{np.dtype(x.dtype).name}{list(x.shape)}", tree)


def rehearse(program: Program, lanes: Lanes) -> tuple[int, dict[str, Shape]]:
    """Checks that a round of the first lane keeps to its shapes and types.

    Args:
      program: what would run.
      lanes: one lane or more.

    Returns:
      the bytes one lane needs in the round loop, and the shape of each metric.

    Raises:
      ValueError: naming the function that does not.
    """
    with jax.enable_x64(False):  # as it is compiled
        return _rehearse(program, lanes)


def _rehearse(program: Program, lanes: Lanes) -> tuple[int, dict[str, Shape]]:
    problem, policy = first_lane(program.problem, lanes.problem), first_lane(program.policy, lanes.policy)
    users, device, server = (_numbers(d) for d in (problem.draws, policy.device_draws, policy.server_draws))
    setup = _numbers(problem.setup_draws)
    t: Any = jax.ShapeDtypeStruct((), jnp.int32)

    instance = _try("setup", problem.setup, setup)
    state = _try("init", policy.init, _try("preview", problem.preview, instance, setup))
    round_ = Round(t=t, context=_try("context", problem.context, instance, users))
    action = _try("act", policy.act, state, round_, server)
    length = problem.sizes.get("list_len")
    if not hasattr(action, "dtype") or action.dtype != jnp.int32 or (length is not None and action.shape != (length,)):
        wanted = "int32" if length is None else f"int32[{length}]"
        raise ValueError(f"act must return {wanted}, the items of the list; got {_kinds(action)}")
    feedback = _try("respond", problem.respond, instance, action, users)
    message = _try("report", policy.report, round_, action, feedback, device)
    after = _try("update", policy.update, state, t, action, message, server)
    if jax.tree.structure(after) != jax.tree.structure(state) or _kinds(after) != _kinds(state):
        raise ValueError(
            f"update must return a state of the same structure, shapes and types as init: {_kinds(state)}; got {_kinds(after)}"
        )
    regret = _try("regret", problem.regret, instance, action)
    if _kinds(regret) != "float32[]":
        raise ValueError(f"regret must return float32[]; got {_kinds(regret)}")
    shapes = {name: _metric(name, metric, state, instance) for name, metric in program.metrics}
    words = sum(d.words for group in (problem.draws, policy.device_draws, policy.server_draws) for d in group.values())
    kept = sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in jax.tree.leaves((instance, state)))
    return kept + 8 * CHUNK * words, shapes


def _metric(name: str, metric: Callable, state: Any, instance: Any) -> Shape:
    value = _try(f"metrics[{name!r}]", lambda s, i: jnp.asarray(metric(s, i)), state, instance)
    real = jnp.issubdtype(value.dtype, jnp.floating) or jnp.issubdtype(value.dtype, jnp.integer) or value.dtype == jnp.bool_
    if not real or not math.prod(value.shape):
        raise ValueError(f"metrics[{name!r}] must return a real number or an array of them; got {_kinds(value)}")
    return value.shape
