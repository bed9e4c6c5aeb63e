"""How a function of one lane becomes one of many, with lanes on the last axis.

``vmap`` alone would bring the lanes to the front wherever a helper or a branch is met. The rules here move them to the end, run
the batched form behind a fence, and move them back; XLA cancels the transposes.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import custom_vmap

from jaxbandits.engine.fence import fence


def _to_last(x: Array, batched: bool, size: int) -> Array:
    """Moves the lane axis from 0, where ``custom_vmap`` puts it, to the end; gives unbatched arrays one."""
    return jnp.moveaxis(x, 0, -1) if batched else jnp.broadcast_to(x[..., None], (*x.shape, size))


def lanes_last(function: Callable, *, shared: tuple[int, ...] = ()) -> Callable:
    """Makes a helper of ``function``, which must accept its arrays with and without a trailing lane axis.

    Under ``vmap`` the function sees every array with lanes last. Arguments at the positions in ``shared`` keep their rank
    when all lanes share them.
    """

    @custom_vmap
    def helper(*args):
        return function(*args)

    @helper.def_vmap
    def _(size, batched, *args):
        moved = [
            x if i in shared and not b else jax.tree.map(functools.partial(_to_last, size=size), x, b)
            for i, (x, b) in enumerate(zip(args, batched, strict=True))
        ]
        result = function(*moved)
        return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), result), jax.tree.map(lambda x: True, result)

    return helper


def elementwise(function: Callable[..., Array]) -> Callable[..., Array]:
    """Makes one vector loop of an elementwise function of arrays of a lane, or of trees of arrays, such as an index formula.

    The arrays of a lane broadcast as usual, a number of the lane against its items. Plain ``vmap`` brings the lanes to the
    front wherever arrays of different rank meet, and the transposes stay in branches of ``when``.
    """

    def aligned(*args):
        rank = max(jnp.ndim(x) for x in jax.tree.leaves(args))
        return function(*jax.tree.map(lambda x: jnp.reshape(x, (1,) * (rank - jnp.ndim(x)) + jnp.shape(x)) if jnp.ndim(x) else x, args))

    @custom_vmap
    def helper(*args):
        return fence(aligned)(*args)

    @helper.def_vmap
    def _(size, batched, *args):
        moved = jax.tree.map(lambda x, b: jnp.moveaxis(x, 0, -1) if b else x[..., None] if jnp.ndim(x) else x, args, tuple(batched))
        return jnp.moveaxis(fence(aligned)(*moved), -1, 0), True

    return functools.wraps(function)(lambda *args: helper(*jax.tree.map(jnp.asarray, args)))


def when(condition: Array, function: Callable, *args: Any) -> Any:
    """``function(*args)`` if the condition holds, else ``args[0]``, skipping the work when all lanes skip it together.

    The condition must be the same for all lanes, as one on the round number is. The result has the structure of ``args[0]``.
    Everything of a lane that the function reads must be among ``args``: it may not close over it.
    """

    def branch(function):
        @custom_vmap
        def helper(condition, *args):
            return lax.cond(condition, function, lambda *a: a[0], *args)

        @helper.def_vmap
        def _(size, batched, condition, *args):
            if batched[0]:
                raise ValueError("the condition of `when` must not depend on the lane; use jnp.where for one that does")
            move = functools.partial(_to_last, size=size)
            moved = [jax.tree.map(move, x, b) for x, b in zip(args, batched[1:], strict=True)]
            over_lanes = jax.vmap(function, in_axes=-1, out_axes=-1)
            result = lax.cond(condition, over_lanes, lambda *a: a[0], *moved)
            return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), result), jax.tree.map(lambda x: True, result)

        return helper

    return branch(function)(condition, *args)


def where_any(condition: Array, function: Callable, state: Any, *args: Any) -> Any:
    """``function(state, *args)`` where the condition of the lane holds, else ``state``, skipping the work when it holds in none.

    For what happens seldom, in lanes that are not in step. The result has the structure of ``state``. Everything of a lane that
    the function reads must be among its arguments: it may not close over it.
    """

    def chosen(condition, new, old):
        return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)

    @custom_vmap
    def helper(condition, state, *args):
        return lax.cond(condition, function, lambda state, *args: state, state, *args)

    @helper.def_vmap
    def _(size, batched, condition, *args):
        condition, move = jnp.broadcast_to(condition, (size,)), functools.partial(_to_last, size=size)
        moved = [jax.tree.map(move, x, b) for x, b in zip(args, batched[1:], strict=True)]

        def over_lanes(state, *args):
            return chosen(condition, jax.vmap(function, in_axes=-1, out_axes=-1)(state, *args), state)

        result = lax.cond(jnp.any(condition), over_lanes, lambda state, *args: state, *moved)
        return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), result), jax.tree.map(lambda x: True, result)

    return helper(condition, state, *args)
