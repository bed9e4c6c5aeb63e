"""Matchings of a bipartite graph: the maximum-weight matching oracle."""

import collections
import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.oracles.interface import TIES, Oracle, all_different, finite, pairs_of_nodes, sum_of_means


class Sides(NamedTuple):
    """A bipartite graph; the smaller side is that of the rows."""

    rows: tuple[int, ...]  # of each edge
    columns: tuple[int, ...]
    num_rows: int
    num_columns: int


def _sides(edges: Sequence[tuple[Hashable, Hashable]]) -> Sides:
    pairs = pairs_of_nodes(edges, "(left, right)")
    left, right = ({node: i for i, node in enumerate(dict.fromkeys(side))} for side in zip(*pairs, strict=True))
    (most, times), *_ = collections.Counter(pairs).most_common(1)
    if times > 1:
        raise ValueError(f"edges must be different; got {most!r} {times} times")
    rows, columns = tuple(left[a] for a, _ in pairs), tuple(right[b] for _, b in pairs)
    if len(left) <= len(right):
        return Sides(rows, columns, len(left), len(right))
    return Sides(columns, rows, len(right), len(left))


class _Duals(NamedTuple):
    """Hungarian algorithm with shortest augmenting paths; column 0 is a stand-in for the row that is being matched."""

    row: Array  # [num_rows + 1], float32: potentials
    column: Array  # [num_columns + 1], float32
    match: Array  # [num_columns + 1], int32: the row of each column, 0 if none


class _Search(NamedTuple):
    """Growing the tree of alternating paths from one row."""

    duals: _Duals
    slack: Array  # [num_columns + 1], float32: least reduced cost of an edge from the tree
    parent: Array  # [num_columns + 1], int32: the column before, on the way to each column
    inside: Array  # [num_columns + 1], bool
    at: Array  # (), int32: the column reached last
    steps: Array  # (), int32


def _grow(cost: Array, search: _Search) -> _Search:
    inside = search.inside.at[search.at].set(True)
    row = search.duals.match[search.at]
    reduced = cost[row] - search.duals.row[row] - search.duals.column
    closer = ~inside & (reduced < search.slack)
    slack = jnp.where(closer, reduced, search.slack)
    parent = jnp.where(closer, search.at, search.parent)
    outside = jnp.where(inside, jnp.inf, slack)
    reached = jnp.argmin(outside).astype(jnp.int32)
    step = outside[reached]
    duals = _Duals(
        row=search.duals.row.at[search.duals.match].add(jnp.where(inside, step, 0.0)),
        column=search.duals.column - jnp.where(inside, step, 0.0),
        match=search.duals.match,
    )
    return _Search(duals, jnp.where(inside, slack, slack - step), parent, inside, reached, search.steps + 1)


def _match_row(cost: Array, row: Array, duals: _Duals) -> _Duals:
    num_columns = cost.shape[1] - 1
    start = _Search(
        duals=duals._replace(match=duals.match.at[0].set(row)),
        slack=jnp.full(num_columns + 1, jnp.inf, jnp.float32),
        parent=jnp.zeros(num_columns + 1, jnp.int32),
        inside=jnp.zeros(num_columns + 1, bool),
        at=jnp.int32(0),
        steps=jnp.int32(0),
    )

    def open_ended(search):  # every step adds a column, so the limit is not met unless a weight is NaN
        return (search.duals.match[search.at] != 0) & (search.steps <= num_columns)

    found = lax.while_loop(open_ended, functools.partial(_grow, cost), start)

    def flip(at_and_match):
        at, match = at_and_match
        before = found.parent[at]
        return before, match.at[at].set(match[before])

    _, match = lax.while_loop(lambda state: state[0] != 0, flip, (found.at, found.duals.match))
    return found.duals._replace(match=match)


def assign(value: Array) -> Array:
    """The column of each row, all different, for which the sum of the values is largest.

    The Hungarian algorithm with shortest augmenting paths, num_rows^2 num_columns steps.

    Args:
      value: float32 [num_rows, num_columns], finite, num_rows at most num_columns.

    Returns:
      int32 [num_rows].
    """
    num_rows, num_columns = value.shape
    cost = jnp.pad(-value, ((1, 0), (1, 0)))
    nothing = _Duals(jnp.zeros(num_rows + 1, jnp.float32), jnp.zeros(num_columns + 1, jnp.float32), jnp.zeros(num_columns + 1, jnp.int32))
    duals = lax.fori_loop(1, num_rows + 1, lambda row, duals: _match_row(cost, row, duals), nothing)
    column = jnp.arange(num_columns, dtype=jnp.int32)
    return jnp.zeros(num_rows + 1, jnp.int32).at[duals.match[1:]].set(column)[1:]


def _best_matching(sides: Sides, weights: Array) -> Array:
    num_edges, shape = len(sides.rows), (sides.num_rows, sides.num_columns)
    edge = np.full(shape, num_edges, np.int32)
    edge[list(sides.rows), list(sides.columns)] = np.arange(num_edges)

    padded = jnp.append(jnp.maximum(finite(weights, sides.num_rows), 0.0), jnp.float32(0.0))
    chosen = jnp.asarray(edge)[jnp.arange(sides.num_rows), assign(padded[edge])]
    # Without a positive weight no edge need be chosen; a super arm has one.
    only = jnp.where(jnp.arange(sides.num_rows) == sides.rows[0], 0, num_edges).astype(jnp.int32)
    return jnp.where(jnp.all(chosen == num_edges), only, chosen)


def _any_best_matching(sides: Sides, weights: Array, z: Mapping[str, Array]) -> Array:
    """With weights that grow by a random 2^-18 (1 + their size) at most, so that equal ones do not fall to the edges that come first."""
    known = finite(weights, sides.num_rows)
    return _best_matching(sides, known + np.float32(2.0**-18) * z[TIES] * (1.0 + jnp.abs(known)))


def _is_matching(sides: Sides, super_arm: Array) -> Array:
    num_edges = len(sides.rows)
    fine = all_different(super_arm, num_edges) & jnp.all(super_arm <= num_edges)
    for nodes in (sides.rows, sides.columns):
        met = lanes.take(jnp.asarray((*nodes, num_edges), jnp.int32), jnp.clip(super_arm, 0, num_edges))
        fine = fine & all_different(met, num_edges)
    return fine


def matching(*, edges: Sequence[tuple[Hashable, Hashable]]) -> Oracle:
    """Sets of edges of a bipartite graph no two of which share a node; base arms are edges. The maximum-weight matching.

    A matching earns the sum of its means. It has one place for each node of the smaller side, empty for a node that is not matched;
    negative weights count as 0, and ties are broken at random. A complete graph of n and n nodes is the assignment problem.

    Args:
      edges: [num_base_arms], different pairs (left, right) of nodes, any hashable names.

    Raises:
      ValueError: if the edges are not such pairs.
    """
    sides = _sides(edges)
    num_edges = validate.size("the number of edges", len(sides.rows), 1, validate.MOST_ITEMS)
    exact = functools.partial(_best_matching, sides)
    return Oracle(
        num_base_arms=num_edges,
        list_len=sides.num_rows,
        solve=functools.partial(_any_best_matching, sides),
        exact=exact,
        reward=functools.partial(sum_of_means, num_edges),
        legal=functools.partial(_is_matching, sides),
        smoothness=float(sides.num_rows),
        draws={TIES: draws.uniform((num_edges,))},
    )
