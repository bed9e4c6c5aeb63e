"""Array helpers for the code of one lane that stay fast when many lanes are batched on the last axis.

Each helper reads like ordinary code for one lane: items lie on axis 0. Under the engine's ``vmap`` it sees all lanes at once,
on the last axis, and runs as a few long vector loops behind a fence (see ``fence``). Without a ``vmap`` the same code runs one
lane, which is how to debug a policy.
"""

import jax.numpy as jnp
from jax import Array, lax

from jaxbandits.engine.batching import elementwise, lanes_last, when, where_any
from jaxbandits.engine.fence import fence
from jaxbandits.engine.selection import argmin, least_first, pick, shuffle, top_k

__all__ = [
    "add_at",
    "argmin",
    "count_at",
    "elementwise",
    "lanes_last",
    "least_first",
    "pick",
    "set_at",
    "shuffle",
    "take",
    "top_k",
    "when",
    "where_any",
]


def _flat(items: Array, table: Array) -> Array:
    """Positions of (item, lane) in a table laid out flat: one-dimensional gathers and scatters are faster."""
    if table.ndim == 1:
        return items
    return items * table.shape[-1] + lax.broadcasted_iota(jnp.int32, items.shape, items.ndim - 1)


_SHORT = 32
"""The longest table of which ``take`` looks at every row when it reads several: processors gather slowly."""


def _take(table: Array, items: Array) -> Array:
    def gather(table, items):
        return table.reshape(-1).at[_flat(items, table)].get(mode="promise_in_bounds")

    def sweep(table, items):
        found = jnp.broadcast_to(table[0], items.shape)
        for row in range(1, table.shape[0]):
            found = jnp.where(items == row, table[row][None], found)
        return found

    return fence(sweep if items.shape[0] > 1 and table.shape[0] <= _SHORT else gather)(table, items)


_take_helper = lanes_last(_take, shared=(0,))


def take(table: Array, items: Array) -> Array:
    """``table[items]`` for distinct or equal items in bounds. table: [num_items]; items: int32 [k]."""
    return _take_helper(table, items)


_LONGEST_SWEEP = 512
"""The largest number of items times length of the table for which ``add_at`` sweeps over the table."""


def _scatter_add(table: Array, items: Array, value: Array) -> Array:
    flat = table.reshape(-1)
    return flat.at[_flat(items, table).reshape(-1)].add(value.reshape(-1), unique_indices=True, mode="drop").reshape(table.shape)


def _sweep_add(table: Array, items: Array, value: Array) -> Array:
    row = lax.broadcasted_iota(jnp.int32, table.shape, 0)
    if items.shape[0] == 1:
        return jnp.where(row == items, table + value, table)
    change = jnp.zeros_like(table)
    for i in range(items.shape[0]):  # the items are distinct, so at most one of the selections holds
        change = jnp.where(row == items[i][None], value[i][None], change)
    return table + change


def _add_at(table: Array, items: Array, value: Array | None = None) -> Array:
    add = _scatter_add if items.shape[0] * table.shape[0] > _LONGEST_SWEEP else _sweep_add
    if value is None:
        return fence(lambda table, items: add(table, items, jnp.ones(items.shape, table.dtype)))(table, items)
    return fence(lambda table, items, value: add(table, items, value.astype(table.dtype)))(table, items, value)


_add_at_helper = lanes_last(_add_at)


def add_at(table: Array, items: Array, value: Array) -> Array:
    """``table`` with ``value[i]`` added at ``items[i]``. table: [num_items]; items: int32 [k], distinct; value: [k].

    An item that is num_items is none, and may be there more than once: its value goes nowhere. A masked sweep over the table,
    cheaper than a scatter for the short tables and lists of bandits; a scatter for long ones.
    """
    return _add_at_helper(table, items, value)


def count_at(table: Array, items: Array) -> Array:
    """``table`` with 1 added at ``items``, which are as for ``add_at``."""
    return _add_at_helper(table, items)


def _set_at(table: Array, items: Array, value: Array, where: Array) -> Array:
    def kernel(table, items, value, where):
        position, flat = _flat(items, table), table.reshape(-1)
        # Masked positions rewrite their old value: dropping out-of-bounds positions instead is slower.
        old = flat.at[position].get(mode="promise_in_bounds")
        new = jnp.where(where, value.astype(table.dtype), old)
        flat = flat.at[position.reshape(-1)].set(new.reshape(-1), unique_indices=True, mode="promise_in_bounds")
        return flat.reshape(table.shape)

    return fence(kernel)(table, items, value, where)


_set_at_helper = lanes_last(_set_at)


def set_at(table: Array, items: Array, value: Array, where: Array | bool = True) -> Array:
    """``table`` with ``value[i]`` written at ``items[i]`` where ``where[i]``. Items int32 [k], distinct and in bounds."""
    return _set_at_helper(table, items, value, jnp.broadcast_to(jnp.asarray(where), items.shape))
