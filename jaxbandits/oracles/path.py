"""Paths from a source to a target in a directed graph without cycles: the shortest-path oracle."""

import functools
import graphlib
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.oracles.interface import TIES, Oracle, add_up, all_different, finite, pairs_of_nodes, present


class Graph(NamedTuple):
    """A directed graph without cycles, nodes numbered so that every edge goes to a larger number."""

    tails: tuple[int, ...]  # of each edge
    heads: tuple[int, ...]
    source: int
    target: int
    num_nodes: int
    longest: int  # edges of the longest path from source to target


def _graph(edges: Sequence[tuple[Hashable, Hashable]], source: Hashable, target: Hashable) -> Graph:
    before: dict[Hashable, list] = {}  # lists: the order of a set of names differs from process to process
    pairs = pairs_of_nodes(edges, "(tail, head)")
    for tail, head in pairs:
        before.setdefault(head, []).append(tail)
    try:
        order = list(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError as error:
        raise ValueError(f"edges must have no cycle; got {' -> '.join(str(node) for node in error.args[1])}") from error
    for name, node in (("source", source), ("target", target)):
        if not isinstance(node, Hashable) or node not in dict.fromkeys(order):
            raise ValueError(f"{name} must be a node of edges; got {node!r}")
    if source == target:
        raise ValueError(f"target must differ from source; got {target!r}")
    number = {node: i for i, node in enumerate(order)}
    tails, heads = tuple(number[tail] for tail, _ in pairs), tuple(number[head] for _, head in pairs)
    from_source, to_target = {number[source]: 0}, {number[target]}
    for tail, head in sorted(zip(tails, heads, strict=True)):
        if tail in from_source:
            from_source[head] = max(from_source.get(head, 0), from_source[tail] + 1)
    for tail, head in sorted(zip(tails, heads, strict=True), reverse=True):
        if head in to_target:
            to_target.add(tail)
    for edge, tail, head in zip(pairs, tails, heads, strict=True):
        if tail not in from_source or head not in to_target or tail == number[target] or head == number[source]:
            raise ValueError(f"edges must each lie on a path from source to target; {edge!r} does not")
    return Graph(tails, heads, number[source], number[target], len(order), from_source[number[target]])


def _best_path(graph: Graph, weights: Array) -> Array:
    return _first_of_the_best(graph, weights, -jnp.arange(len(graph.tails), dtype=jnp.float32))


def _any_best_path(graph: Graph, weights: Array, z: Mapping[str, Array]) -> Array:
    return _first_of_the_best(graph, weights, z[TIES])


def _first_of_the_best(graph: Graph, weights: Array, rank: Array) -> Array:
    """The best path; where several edges lead on to one, the edge of the largest rank."""
    num_edges = len(graph.tails)
    gain = finite(weights, graph.longest) - 1.0
    worth = {graph.target: jnp.zeros_like(gain[0])}
    chosen = {graph.target: jnp.full_like(gain[0], num_edges, jnp.int32)}
    for node in reversed(range(graph.num_nodes)):
        ranked = None
        for edge in (e for e, tail in enumerate(graph.tails) if tail == node):
            value = gain[edge] + worth[graph.heads[edge]]
            if ranked is None:
                worth[node], ranked, chosen[node] = value, rank[edge], jnp.full_like(value, edge, jnp.int32)
                continue
            better = (value > worth[node]) | ((value == worth[node]) & (rank[edge] > ranked))
            worth[node], ranked = jnp.where(better, value, worth[node]), jnp.where(better, rank[edge], ranked)
            chosen[node] = jnp.where(better, jnp.int32(edge), chosen[node])
    next_edge = jnp.stack([chosen[node] for node in range(graph.num_nodes)])
    heads = jnp.asarray((*graph.heads, graph.target), jnp.int32)
    node, path = jnp.full((1,), graph.source, jnp.int32), []
    for _ in range(graph.longest):
        path.append(lanes.take(next_edge, node))
        node = lanes.take(heads, path[-1])
    return jnp.concatenate(path)


def _is_path(graph: Graph, super_arm: Array) -> Array:
    """In whatever order: without cycles, a set of edges is a path if as many lead out of each node as into it, but for its ends."""
    num_edges = len(graph.tails)
    there = (super_arm >= 0) & (super_arm < num_edges)
    edge = jnp.clip(super_arm, 0, num_edges - 1)
    tails, heads = (lanes.take(jnp.asarray(ends, jnp.int32), edge) for ends in (graph.tails, graph.heads))
    fine = all_different(super_arm, num_edges) & jnp.all(super_arm <= num_edges)
    for node in range(graph.num_nodes):
        out, into = (jnp.sum(there & (ends == node)) for ends in (tails, heads))
        fine = fine & (out <= 1) & (out - into == (node == graph.source) - (node == graph.target))
    return fine


def _saved(graph: Graph, values: Array, super_arm: Array) -> Array:
    return np.float32(graph.longest) - add_up(1.0 - values, present(super_arm, len(graph.tails)))


def path(*, edges: Sequence[tuple[Hashable, Hashable]], source: Hashable, target: Hashable) -> Oracle:
    """Paths from a source to a target; base arms are edges. The shortest path, if an edge of mean u costs 1 - u.

    A path earns list_len, the edges of the longest path, less the costs of its edges. As a super arm it lists its edges from the source
    on; ties are broken at random.

    Args:
      edges: [num_base_arms], pairs (tail, head) of nodes, any hashable names. The graph has no cycle.
      source: where paths begin.
      target: where they end.

    Raises:
      ValueError: if there is a cycle, or an edge on no path from source to target.
    """
    graph = _graph(edges, source, target)
    num_edges = validate.size("the number of edges", len(graph.tails), 1, validate.MOST_ITEMS)
    exact = functools.partial(_best_path, graph)
    return Oracle(
        num_base_arms=num_edges,
        list_len=graph.longest,
        solve=functools.partial(_any_best_path, graph),
        exact=exact,
        reward=functools.partial(_saved, graph),
        legal=functools.partial(_is_path, graph),
        smoothness=float(graph.longest),
        draws={TIES: draws.uniform((num_edges,))},
    )
