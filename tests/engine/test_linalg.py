"""Batched small systems against NumPy in float64, and what happens to matrices that are not positive definite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.engine import factor, lanes, linalg
from tests.reference import contextual as reference

LANES = 6


def packed(matrices):
    row, column = linalg.places(matrices.shape[-1])
    return jnp.asarray(matrices[:, row, column].T, jnp.float32)


def over_lanes(function, in_axes=-1):
    return jax.jit(jax.vmap(function, in_axes=in_axes, out_axes=-1))


def drawn(dim, rows=4, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(LANES, dim, dim + 2))
    return half @ half.transpose(0, 2, 1), rng.normal(size=(LANES, rows, dim)), rng.normal(size=(LANES, dim))


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_forms_and_solutions(dim):
    matrices, rows, vectors = drawn(dim)
    known = over_lanes(factor.forms)(
        packed(matrices), jnp.full(LANES, 0.5), jnp.asarray(rows.transpose(1, 2, 0), jnp.float32), jnp.asarray(vectors.T, jnp.float32)
    )
    solved = over_lanes(factor.solve)(packed(matrices), jnp.full(LANES, 0.5), jnp.asarray(vectors.T, jnp.float32))
    for lane in range(LANES):
        whole = matrices[lane] + 0.5 * np.eye(dim)
        wanted = np.linalg.solve(whole, vectors[lane])
        np.testing.assert_allclose(known.mean[:, lane], rows[lane] @ wanted, rtol=1e-3, atol=1e-3)
        square = np.einsum("ai,ai->a", rows[lane], np.linalg.solve(whole, rows[lane].T).T)
        np.testing.assert_allclose(known.square[:, lane], square, rtol=1e-3)
        np.testing.assert_allclose(solved[:, lane], wanted, rtol=1e-3, atol=1e-3)
    assert (known.ridge == 0.5).all()


def test_one_lane_is_the_same_as_many():
    matrices, rows, vectors = drawn(3)
    args = packed(matrices), jnp.full(LANES, 0.5), jnp.asarray(rows.transpose(1, 2, 0), jnp.float32), jnp.asarray(vectors.T, jnp.float32)
    many, one = over_lanes(factor.forms)(*args), factor.forms(*(a[..., 2] for a in args))
    np.testing.assert_allclose(many.mean[:, 2], one.mean, rtol=1e-6)


def test_an_indefinite_matrix_raises_its_own_ridge_only():
    """The ridge doubles until the matrix is positive definite, and the lanes beside it do not notice."""
    matrices, rows, vectors = drawn(4)
    rest = jnp.asarray(rows.transpose(1, 2, 0), jnp.float32), jnp.asarray(vectors.T, jnp.float32)
    alone = over_lanes(factor.forms)(packed(matrices), jnp.full(LANES, 0.5), *rest)
    matrices[1] -= 9.0 * np.eye(4)
    matrices[4] = 0.0
    ridge = jnp.full(LANES, 0.5).at[4].set(0.0)
    found = over_lanes(factor.forms)(packed(matrices), ridge, *rest)
    least = -np.linalg.eigvalsh(matrices[1])[0]
    assert least > 0.5
    assert found.ridge[1] == 0.5 * 2 ** np.ceil(np.log2(least / 0.5))
    assert 0 < found.ridge[4] < 1e-3
    wanted = np.linalg.solve(matrices[1] + float(found.ridge[1]) * np.eye(4), vectors[1])
    np.testing.assert_allclose(found.mean[:, 1], rows[1] @ wanted, rtol=2e-3, atol=1e-4)
    for lane in (0, 2, 3, 5):
        np.testing.assert_array_equal(found.mean[:, lane], alone.mean[:, lane])
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.square).all()


def test_what_is_no_number_does_not_go_on_for_ever():
    bad = factor.forms(jnp.full(3, jnp.nan), 1.0, jnp.ones((2, 2)), jnp.ones(2))
    assert np.isnan(bad.mean).all()


@pytest.mark.parametrize("dim", [1, 3, 6])
def test_roots(dim):
    matrices, _, vectors = drawn(dim)
    forward, back = over_lanes(factor.roots)(packed(matrices), jnp.asarray(vectors.T, jnp.float32))
    for lane in range(LANES):
        lower = np.linalg.cholesky(matrices[lane])
        np.testing.assert_allclose(forward[:, lane], lower @ vectors[lane], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(back[:, lane], np.linalg.solve(lower.T, vectors[lane]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dim", [1, 3, 6])
def test_projection_in_a_norm(dim):
    matrices, _, vectors = drawn(dim, seed=5)
    points = vectors * np.array([0.01, 0.5, 1, 3, 30, 1000])[:, None]
    found = over_lanes(lambda v, p: factor.project_in_norm(v, 0.3, p, 1.0))(packed(matrices), jnp.asarray(points.T, jnp.float32))
    for lane in range(LANES):
        wanted = reference.project_in_norm(points[lane], matrices[lane] + 0.3 * np.eye(dim), 1.0)
        np.testing.assert_allclose(found[:, lane], wanted, atol=2e-4)
        assert np.linalg.norm(found[:, lane]) <= 1 + 2e-5


def test_rows_products_and_lengths():
    rng = np.random.default_rng(0)
    table, x = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    np.testing.assert_allclose(linalg.times(jnp.asarray(table), jnp.asarray(x)), table @ x, rtol=1e-5)
    np.testing.assert_array_equal(linalg.row(jnp.asarray(table), jnp.int32(4)), table[4])
    items = jnp.arange(LANES, dtype=jnp.int32) % 5
    shared = jax.vmap(linalg.row, in_axes=(None, -1), out_axes=-1)(jnp.asarray(table), items)
    np.testing.assert_array_equal(shared.T, table[np.asarray(items)])
    np.testing.assert_allclose(np.linalg.norm(linalg.rows_normalised(jnp.asarray(table)), axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(linalg.within(jnp.array([3.0, 4.0])), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(linalg.within(jnp.array([0.3, 0.4])), np.float32([0.3, 0.4]))
    np.testing.assert_array_equal(linalg.normalised(jnp.zeros(2)), [0, 0])
    np.testing.assert_array_equal(linalg.unpacked(linalg.outer(jnp.asarray(x)), 3), np.outer(x, x))


@pytest.mark.parametrize("num_items", [1, 4, 100])
def test_pick_follows_the_weights(num_items):
    weights = np.random.default_rng(0).random(num_items).astype(np.float32)
    weights[0] += 0.1
    level = (np.arange(20_000) + 0.5) / 20_000
    found = jax.jit(jax.vmap(lanes.pick, in_axes=(None, -1), out_axes=-1))(jnp.asarray(weights), jnp.asarray(level, jnp.float32))
    share = np.bincount(np.asarray(found), minlength=num_items) / len(level)
    np.testing.assert_allclose(share, weights / weights.sum(), atol=2e-4)  # on a grid of levels: exact up to its ends


def test_many_unknowns_go_to_lapack():
    """Beyond 24 unknowns the same answers, by another way."""
    dim = 30
    matrices, rows, vectors = drawn(dim)
    matrices[1] -= 40.0 * np.eye(dim)
    held = packed(matrices), jnp.full(LANES, 0.5)
    rows_last, vectors_last = jnp.asarray(rows.transpose(1, 2, 0), jnp.float32), jnp.asarray(vectors.T, jnp.float32)
    known = over_lanes(factor.forms)(*held, rows_last, vectors_last)
    solved = over_lanes(factor.solve)(*held, vectors_last)
    near = over_lanes(lambda v, p: factor.project_in_norm(v, 0.3, p, 1.0))(held[0], vectors_last)
    assert known.ridge[1] > 0.5
    for lane in (0, 1, 3):
        whole = matrices[lane] + float(known.ridge[lane]) * np.eye(dim)
        np.testing.assert_allclose(known.mean[:, lane], rows[lane] @ np.linalg.solve(whole, vectors[lane]), rtol=2e-2, atol=2e-3)
        if lane != 1:
            np.testing.assert_allclose(solved[:, lane], np.linalg.solve(whole, vectors[lane]), rtol=2e-2, atol=2e-3)
            wanted = reference.project_in_norm(vectors[lane], matrices[lane] + 0.3 * np.eye(dim), 1.0)
            np.testing.assert_allclose(near[:, lane], wanted, atol=2e-3)
    one = factor.forms(held[0][:, 2], 0.5, rows_last[..., 2], vectors_last[:, 2])
    np.testing.assert_allclose(one.mean, known.mean[:, 2], rtol=1e-3, atol=1e-4)


def test_pick_never_reaches_a_weight_of_zero():
    rng = np.random.default_rng(0)
    for size in (5, 50, 100):
        weights = np.append(rng.random(size), 0.0).astype(np.float32)
        assert int(lanes.pick(jnp.asarray(weights), jnp.float32(1 - 2.0**-24))) < size
