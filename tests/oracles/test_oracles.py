"""Oracles against others' solvers and by hand. Against brute force on small instances they stand in tests/reference."""

import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.sparse.csgraph

from jaxbandits import oracles
from jaxbandits.engine import draws


def grid(side):
    """The edges of a square grid of nodes, to the right and down."""
    nodes = list(itertools.product(range(side), repeat=2))
    return [(n, (n[0], n[1] + 1)) for n in nodes if n[1] + 1 < side] + [(n, (n[0] + 1, n[1])) for n in nodes if n[0] + 1 < side]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (9, 6), (12, 15)])
def test_matching_agrees_with_scipy(rows, columns):
    edges = list(itertools.product(range(rows), range(columns)))
    oracle = oracles.matching(edges=edges)
    solve = jax.jit(jax.vmap(oracle.exact, in_axes=-1, out_axes=-1))
    rng = np.random.default_rng(rows)
    weights = np.where(
        rng.random((rows * columns, 40)) < 0.5, rng.random((rows * columns, 40)), rng.integers(0, 4, (rows * columns, 40)) / 4
    )
    chosen = np.asarray(solve(jnp.asarray(weights, jnp.float32)))
    for lane in range(40):
        table = weights[:, lane].reshape(rows, columns)
        best = table[scipy.optimize.linear_sum_assignment(table, maximize=True)].sum()
        assert bool(oracle.legal(jnp.asarray(chosen[:, lane])))
        assert weights[chosen[:, lane], lane].sum() == pytest.approx(best, rel=1e-5)
    assert oracle.list_len == min(rows, columns)


def test_path_agrees_with_scipy():
    edges = grid(5)
    oracle = oracles.path(edges=edges, source=(0, 0), target=(4, 4))
    solve = jax.jit(jax.vmap(oracle.exact, in_axes=-1, out_axes=-1))
    weights = np.random.default_rng(1).random((len(edges), 30))
    chosen = np.asarray(solve(jnp.asarray(weights, jnp.float32)))
    number = {node: i for i, node in enumerate(itertools.product(range(5), repeat=2))}
    ends = [number[a] for a, _ in edges], [number[b] for _, b in edges]
    for lane in range(30):
        graph = scipy.sparse.csr_array((1 - weights[:, lane], ends), shape=(25, 25))
        best = scipy.sparse.csgraph.dijkstra(graph, indices=0)[24]
        path = chosen[:, lane]
        assert [edges[a][1] for a in path[:-1]] == [edges[b][0] for b in path[1:]]
        assert (1 - weights[path, lane]).sum() == pytest.approx(best, rel=1e-5)


def test_arms_of_infinite_weight_come_first():
    """Perfect matchings cover a complete graph of n and n nodes in n rounds; paths take the edges that are still open."""
    oracle = oracles.matching(edges=list(itertools.product(range(5), repeat=2)))
    solve = jax.jit(oracle.exact)
    seen = np.zeros(25, int)
    for _ in range(5):
        weights = jnp.where(jnp.asarray(seen) == 0, jnp.inf, jnp.asarray(np.random.default_rng(2).random(25) * 1e3, jnp.float32))
        seen[np.asarray(solve(weights))] += 1
    assert (seen == 1).all()
    path = oracles.path(edges=[("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")], source="s", target="t")
    solve = jax.jit(path.exact)
    assert solve(jnp.asarray([0.9, 0.9, jnp.inf, 0.9, 0.9, 1.0], jnp.float32)).tolist() == [0, 2, 4]
    assert solve(jnp.asarray([0.9, 0.9, 0.9, 0.9, 0.9, jnp.inf], jnp.float32)).tolist() == [5, 6, 6]
    sets = oracles.top_k(num_base_arms=4, list_len=2)
    assert sets.exact(jnp.asarray([0.9, jnp.inf, 5e9, jnp.inf], jnp.float32)).tolist() == [1, 3]


def test_rewards():
    values = jnp.asarray([0.5, 0.25], jnp.float32)
    both = jnp.asarray([0, 1], jnp.int32)
    assert float(oracles.top_k(num_base_arms=3, list_len=2).reward(values, both)) == 0.75
    assert float(oracles.cascade(num_base_arms=3, list_len=2).reward(values, both)) == 1 - 0.5 * 0.75
    assert float(oracles.cascade(num_base_arms=3, list_len=2).reward(values * 10, both)) == 1.0
    path = oracles.path(edges=[(0, 1), (1, 2), (0, 2)], source=0, target=2)
    assert float(path.reward(values, both)) == 2 - 0.5 - 0.75
    assert float(path.reward(values, jnp.asarray([2, 3], jnp.int32))) == 2 - 0.5


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 1.0), (0.8, 0.6), (1.0, 0.25)])
def test_an_approximate_oracle_earns_alpha_with_probability_beta(alpha, beta):
    """Where it does not fail it earns alpha times the optimum; how often it fails, by the draw that decides it."""
    exact = oracles.top_k(num_base_arms=8, list_len=3)
    oracle = oracles.approximate(oracle=exact, alpha=alpha, beta=beta)
    weights = jnp.asarray(np.random.default_rng(3).random(8), jnp.float32)
    numbers = draws.generate(draws.layout({draws.SERVER: oracle.draws}), jnp.uint32(0), jnp.arange(1, dtype=jnp.uint32), jnp.arange(4000))
    z = {name: value[..., 0] for name, value in numbers[draws.SERVER].items()}
    earned = np.asarray(weights)[np.asarray(jax.jit(jax.vmap(lambda z: oracle.solve(weights, z)))(z))].sum(axis=1)
    best = float(jnp.sort(weights)[-3:].sum())
    kept = np.asarray(z["oracle's failure"]) < beta
    assert abs(kept.mean() - beta) <= 4 * np.sqrt(beta * (1 - beta) / 4000)
    assert (earned[kept] >= alpha * best - 1e-6).all()
    assert (earned[kept].mean() < best - 1e-3) == (alpha < 1)
    if beta < 1:
        mean_of_random_sets = 3 * float(weights.mean())
        assert abs(earned[~kept].mean() - mean_of_random_sets) <= 4 * earned[~kept].std() / np.sqrt((~kept).sum())


@pytest.mark.parametrize("list_len", [1, 13, 64, 65, 500])
def test_a_sum_does_not_depend_on_the_order_of_the_arms(list_len):
    """Exactly, where a float32 sum of 13 numbers already does; and it is right to list_len times the last place of fixed point."""
    rng = np.random.default_rng(list_len)
    values = np.where(rng.random(list_len) < 0.5, np.float32(0.98), rng.random(list_len).astype(np.float32))
    reward = jax.jit(oracles.top_k(num_base_arms=list_len, list_len=list_len).reward)
    found = {float(reward(jnp.asarray(rng.permutation(values)), jnp.arange(list_len, dtype=jnp.int32))) for _ in range(30)}
    assert len(found) == 1
    np.testing.assert_allclose(found.pop(), values.astype(float).sum(), rtol=1e-6)


def test_a_matching_is_never_empty():
    """Also if no weight is positive, when leaving every node alone weighs as much."""
    for edges in ([(0, 1), (1, 0)], [(0, 0), (0, 1), (1, 1)], [(0, 2), (1, 2), (2, 0), (2, 1)]):
        oracle = oracles.matching(edges=edges)
        weights = jnp.asarray(list(itertools.product((-1.0, 0.0), repeat=len(edges))), jnp.float32)
        assert bool(jax.jit(jax.vmap(lambda w, oracle=oracle: oracle.legal(oracle.exact(w))))(weights).all())
        assert not bool(oracle.legal(jnp.full(oracle.list_len, len(edges), jnp.int32)))


BAD = {
    "num_base_arms must be": lambda: oracles.top_k(num_base_arms=0, list_len=1),
    "list_len must be an integer from 1 to 3; got 4": lambda: oracles.cascade(num_base_arms=3, list_len=4),
    "groups must be integers": lambda: oracles.partition(groups=[0, 2]),
    "groups must be integers that use": lambda: oracles.partition(groups=[0, 10**9]),
    "groups must be integers that": lambda: oracles.partition(groups=[[0], [1, 2]]),
    "groups must be integers that use each": lambda: oracles.partition(groups=[-1, 0]),
    "edges must be a sequence of at least one pair .left, right.": lambda: oracles.matching(edges=[]),
    "edges must be a sequence of at least one pair .tail, head.": lambda: oracles.path(edges={(0, 1)}, source=0, target=1),
    "edges must be a sequence of at least one": lambda: oracles.path(edges=[([], 1)], source=0, target=1),
    "edges must be different": lambda: oracles.matching(edges=[(0, 1), (0, 1)]),
    "edges must have no cycle": lambda: oracles.path(edges=[(0, 1), (1, 2), (2, 1), (1, 3)], source=0, target=3),
    "edges must each lie on a path from source to target": lambda: oracles.path(edges=[(0, 1), (1, 2), (1, 3)], source=0, target=3),
    "source must be a node": lambda: oracles.path(edges=[(0, 1)], source=7, target=1),
    "source must be a node of": lambda: oracles.path(edges=[(0, 1)], source=jnp.int32(0), target=1),
    "target must be a node of": lambda: oracles.path(edges=[("a", "b")], source="a", target=np.array([1, 2])),
    "target must differ": lambda: oracles.path(edges=[(0, 1)], source=0, target=0),
    "alpha must be above 0": lambda: oracles.approximate(oracle=oracles.top_k(num_base_arms=3, list_len=1), alpha=0.0),
    "beta must be above 0": lambda: oracles.approximate(oracle=oracles.top_k(num_base_arms=3, list_len=1), beta=1.5),
    "oracle must be an Oracle": lambda: oracles.approximate(oracle="top_k"),
    "oracle must be an exact one; got one of alpha 0.5": lambda: oracles.approximate(
        oracle=oracles.approximate(oracle=oracles.top_k(num_base_arms=3, list_len=1), alpha=0.5)
    ),
    "oracle.alpha must be above 0": lambda: oracles.check(oracles.top_k(num_base_arms=3, list_len=1)._replace(alpha=2.0)),
    "oracle.smoothness must be": lambda: oracles.check(oracles.top_k(num_base_arms=3, list_len=1)._replace(smoothness="x")),
    "oracle.list_len must be": lambda: oracles.check(oracles.top_k(num_base_arms=3, list_len=1)._replace(list_len=4)),
    "oracle.solve must be": lambda: oracles.check(oracles.top_k(num_base_arms=3, list_len=1)._replace(solve=None)),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments_are_named(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()


def test_an_oracle_can_be_pickled():
    """A study that holds one goes to other processes."""
    for oracle in (
        oracles.top_k(num_base_arms=4, list_len=2),
        oracles.matching(edges=[(0, 1), (1, 0)]),
        oracles.path(edges=[("s", "t")], source="s", target="t"),
        oracles.approximate(oracle=oracles.partition(groups=[0, 1, 0]), alpha=0.5),
    ):
        again = pickle.loads(pickle.dumps(oracle))
        assert again.list_len == oracle.list_len
        weights = jnp.linspace(0, 1, oracle.num_base_arms)
        assert jax.jit(again.exact)(weights).tolist() == jax.jit(oracle.exact)(weights).tolist()
