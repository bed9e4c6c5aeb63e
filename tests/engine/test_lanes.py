"""The array helpers: the same answers for one lane and for many, and those of NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.engine import lanes

LANES = 33


def over_lanes(function):
    return jax.jit(jax.vmap(function, in_axes=-1, out_axes=-1))


@pytest.mark.parametrize(
    ("num_items", "k"),
    [(1, 1), (2, 1), (2, 2), (5, 3), (20, 4), (20, 16), (20, 20), (33, 7), (70, 5), (100, 10), (300, 1), (120, 120), (1000, 4)],
)
def test_top_k_is_the_stable_sort(num_items, k):
    rng = np.random.default_rng(num_items * 1000 + k)
    index = rng.normal(size=(num_items, LANES)).astype(np.float32)
    index[:, :11] = np.round(index[:, :11])  # many ties
    index[:, 11:22] = rng.choice(np.array([np.inf, -np.inf, 0.0], np.float32), size=(num_items, 11))
    expected = np.argsort(-index, axis=0, kind="stable")[:k]
    np.testing.assert_array_equal(over_lanes(lambda u: lanes.top_k(u, k))(index), expected)
    one_lane = jax.jit(lambda u: lanes.top_k(u, k))
    for lane in (0, 12, 30):
        np.testing.assert_array_equal(one_lane(jnp.asarray(index[:, lane])), expected[:, lane])


@pytest.mark.parametrize("k", [0, 6])
def test_top_k_refuses_other_lengths(k):
    with pytest.raises(ValueError, match=f"from 1 to the number of items, 5; got {k}"):
        lanes.top_k(jnp.zeros(5), k)


def tables(rng, num_items=9, k=4):
    table = rng.normal(size=(num_items, LANES)).astype(np.float32)
    items = np.stack([rng.permutation(num_items)[:k] for _ in range(LANES)], axis=-1).astype(np.int32)
    return table, items, rng.normal(size=(k, LANES)).astype(np.float32)


def test_take_add_and_set():
    table, items, value = tables(np.random.default_rng(1))
    where = np.random.default_rng(2).random(items.shape) < 0.5
    added, written = table.copy(), table.copy()
    for lane in range(LANES):
        added[items[:, lane], lane] += value[:, lane]
        chosen = items[where[:, lane], lane]
        written[chosen, lane] = value[where[:, lane], lane]
    np.testing.assert_array_equal(over_lanes(lanes.take)(table, items), np.take_along_axis(table, items, axis=0))
    np.testing.assert_array_equal(over_lanes(lanes.add_at)(table, items, value), added)
    np.testing.assert_array_equal(over_lanes(lanes.set_at)(table, items, value, where), written)
    np.testing.assert_array_equal(lanes.add_at(*(jnp.asarray(x[..., 3]) for x in (table, items, value))), added[:, 3])
    np.testing.assert_array_equal(lanes.set_at(*(jnp.asarray(x[..., 3]) for x in (table, items, value, where))), written[:, 3])


def test_take_from_a_table_that_all_lanes_share():
    table, items, _ = tables(np.random.default_rng(3))
    shared = jax.vmap(lanes.take, in_axes=(None, -1), out_axes=-1)(jnp.asarray(table[:, 0]), jnp.asarray(items))
    np.testing.assert_array_equal(shared, table[:, 0][items])


def test_counts_are_exact_beyond_float32():
    table = jnp.full((3,), 2**24 + 1, jnp.int32)
    np.testing.assert_array_equal(
        lanes.add_at(table, jnp.array([1], jnp.int32), jnp.array([1], jnp.int32)), [2**24 + 1, 2**24 + 2, 2**24 + 1]
    )


def test_long_tables_are_the_same():
    """Long tables and lists are gathered from and scattered into instead of swept over."""
    rng = np.random.default_rng(8)
    table = rng.integers(0, 100, size=(700, LANES)).astype(np.int32)
    items = np.stack([rng.permutation(700)[:5] for _ in range(LANES)], axis=-1).astype(np.int32)
    value = rng.integers(1, 9, size=items.shape).astype(np.int32)
    expected = table.copy()
    for lane in range(LANES):
        expected[items[:, lane], lane] += value[:, lane]
    np.testing.assert_array_equal(over_lanes(lanes.add_at)(table, items, value), expected)
    np.testing.assert_array_equal(lanes.add_at(jnp.asarray(table[:, 0]), items[:, 0], value[:, 0]), expected[:, 0])
    np.testing.assert_array_equal(over_lanes(lanes.take)(table, items), np.take_along_axis(table, items, axis=0))


@pytest.mark.parametrize("num_items", [6, 700])
@pytest.mark.parametrize("k", [1, 3])
def test_count_at_adds_one(num_items, k):
    rng = np.random.default_rng(9)
    table = rng.integers(0, 100, size=(num_items, LANES)).astype(np.int32)
    items = np.stack([rng.permutation(num_items)[:k] for _ in range(LANES)], axis=-1).astype(np.int32)
    items[0, 0] = num_items  # none
    expected = table.copy()
    for lane in range(LANES):
        expected[[i for i in items[:, lane] if i < num_items], lane] += 1
    np.testing.assert_array_equal(over_lanes(lanes.count_at)(table, items), expected)


def test_least_first_moves_the_least_and_shifts_the_rest():
    items, count = jnp.array([7, 3, 9, 1], jnp.int32), jnp.array([5, 2, 4, 2], jnp.int32)
    np.testing.assert_array_equal(lanes.least_first(items, count), [3, 7, 9, 1])  # of 3 and 1, both seen twice, the first
    np.testing.assert_array_equal(lanes.least_first(items, jnp.array([2, 2, 4, 1], jnp.int32)), [1, 7, 3, 9])
    np.testing.assert_array_equal(lanes.least_first(items, jnp.array([1, 2, 4, 2], jnp.int32)), items)


def test_least_first_of_a_long_list():
    rng = np.random.default_rng(5)
    items = np.stack([rng.permutation(60)[:40] for _ in range(LANES)], axis=-1).astype(np.int32)
    count = rng.integers(0, 9, size=items.shape).astype(np.int32)
    found = over_lanes(lanes.least_first)(items, count)
    for lane in range(LANES):
        star = items[np.argmin(count[:, lane]), lane]
        assert found[:, lane].tolist() == [star, *(i for i in items[:, lane] if i != star)]


def test_argmin_takes_the_lowest_at_a_tie():
    values = np.random.default_rng(4).integers(0, 4, size=(40, LANES)).astype(np.int32)
    np.testing.assert_array_equal(over_lanes(lanes.argmin)(values), np.argmin(values, axis=0))


def test_when_runs_only_if_the_condition_holds():
    def step(t, x, y):
        return lanes.when(t % 2 == 0, lambda x, y: x + 2.0 * y, x, y)

    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    many = jax.jit(jax.vmap(step, in_axes=(None, -1, -1), out_axes=-1))
    np.testing.assert_array_equal(many(2, x, y), x + 2)
    np.testing.assert_array_equal(many(3, x, y), x)
    np.testing.assert_array_equal(step(jnp.int32(2), jnp.asarray(x), jnp.asarray(y)), x + 2)
    branches = str(jax.make_jaxpr(jax.vmap(step, in_axes=(None, -1, -1), out_axes=-1))(2, x, y))
    assert "cond[" in branches, "work that all lanes skip together must stay a branch"


def test_when_refuses_a_condition_of_the_lane():
    with pytest.raises(ValueError, match="must not depend on the lane"):
        jax.vmap(lambda c, x: lanes.when(c, lambda x: x + 1.0, x))(jnp.array([True, False]), jnp.zeros(2))


def test_elementwise_broadcasts_a_number_of_the_lane_against_its_items():
    scaled = lanes.elementwise(lambda x, a, b: x * a + b)
    x, a = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    many = jax.vmap(lambda x, a: scaled(x, a, jnp.float32(1)), in_axes=-1, out_axes=-1)
    np.testing.assert_array_equal(many(x, a), x * a + 1)
    np.testing.assert_array_equal(scaled(jnp.asarray(x[:, 2]), jnp.float32(a[2]), jnp.float32(1)), x[:, 2] * a[2] + 1)
