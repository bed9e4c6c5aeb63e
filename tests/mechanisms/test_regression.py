"""Noisy regressions: the symmetric matrix, its norm, the joint sensitivity; and the ball mechanism."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from jaxbandits.engine import linalg
from jaxbandits.mechanisms import ball_to_sphere, calibrate, regression
from tests.helpers import numbers

RUNS = 20_000


def released(dim, sigma, runs, seed=0):
    """The noise of runs of the mechanism: [dim, dim, runs] and [dim, runs]."""
    it = regression.symmetric_gaussian(dim=dim, num_vectors=1, sensitivity=2.0, sigma=sigma, epsilon=1.0, delta=1e-3)
    nothing = regression.Statistics(matrix=jnp.zeros(linalg.packed_size(dim)), vectors=(jnp.zeros(dim),))
    sent = jax.jit(jax.vmap(lambda z: it.send(nothing, z), in_axes=-1, out_axes=-1))(numbers(it.draws, runs, seed))
    return np.asarray(linalg.unpacked(sent.matrix, dim)), np.asarray(sent.vectors[0])


def test_matrix_is_symmetric_with_the_same_variance_everywhere():
    """M17: a wrong law, such as the half sum of a matrix and its transpose, has half the variance off the diagonal."""
    dim, sigma = 4, 1.7
    matrix, vector = released(dim, sigma, RUNS)
    np.testing.assert_array_equal(matrix, matrix.swapaxes(0, 1))
    np.testing.assert_allclose(matrix.var(axis=-1), sigma**2, rtol=0.05)
    np.testing.assert_allclose(vector.var(axis=-1), sigma**2, rtol=0.05)
    row, column = linalg.places(dim)
    correlation = np.corrcoef(np.concatenate([matrix[row, column], vector]))
    assert np.abs(correlation - np.eye(len(correlation))).max() < 5 / np.sqrt(RUNS)


def test_operator_norm_stays_below_its_bound():
    """M17: a sum of t matrices is as one of sqrt(t) times the deviation, so one round tells."""
    dim, horizon, fail_prob = 5, 1000, 0.1
    matrix, _ = released(dim, 1.0, 4000)
    norm = np.abs(np.linalg.eigvalsh(matrix.transpose(2, 0, 1))).max(axis=1)
    bound = float(regression.growth(dim, horizon, fail_prob))
    assert bound == pytest.approx(4 * dim**0.5 + 2 * np.log(2 * horizon / fail_prob))
    assert (norm <= bound).mean() >= 1 - fail_prob
    assert norm.max() > bound / 6  # the bound is loose, but not of another order


@pytest.mark.parametrize(("bound", "wanted"), [(0.5, 1.591), (1.0, 2.121), (1.3, 2.609), (2.0, 4.0)])
def test_joint_sensitivity(bound, wanted):
    """M18: the largest distance of two records, found by a search over both."""
    row, column = linalg.places(2)

    def far(p):
        sent = []
        for angle, reward, length in (p[:3], p[3:]):
            x = length * np.array([np.cos(angle), np.sin(angle)])
            sent.append(np.concatenate([np.outer(x, x)[row, column], bound * reward * x]))
        return -np.linalg.norm(sent[0] - sent[1])

    box = [(0, 2 * np.pi), (-1, 1), (0, 1)] * 2
    found = -optimize.differential_evolution(far, box, seed=0, tol=1e-10, maxiter=400).fun
    assert found == pytest.approx(wanted, abs=1e-3)
    assert regression.joint_sensitivity(bound) == pytest.approx(wanted, abs=1e-3)


def test_release_refuses_bad_input():
    with pytest.raises(ValueError, match="bound must be"):
        regression.joint_sensitivity(-1.0)
    with pytest.raises(ValueError, match="num_vectors must be"):
        regression.symmetric_gaussian(dim=2, num_vectors=3, sensitivity=1.0, sigma=1.0, epsilon=1.0, delta=0.1)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("size", [0.0, 0.6, 2.0])
def test_ball_mechanism_is_unbiased_and_of_one_length(dim, size):
    epsilon, radius = 1.0, 2.0
    it = ball_to_sphere(dim=dim, radius=radius, epsilon=epsilon)
    vector = np.zeros(dim, np.float32)
    vector[-1] = size
    sent = np.asarray(jax.jit(jax.vmap(lambda z: it.send(jnp.asarray(vector), z), in_axes=-1, out_axes=-1))(numbers(it.draws, RUNS)))
    length = np.linalg.norm(sent, axis=0)
    np.testing.assert_allclose(length, length[0], rtol=1e-5)
    error = sent.std(axis=1) / np.sqrt(RUNS)
    assert (np.abs(sent.mean(axis=1) - vector) <= 4 * error + 1e-6).all()


def test_ball_mechanism_has_the_ratio_of_its_claim():
    """Two opposite ends of a diameter: the two halves of the sphere have probabilities in ratio e^epsilon, exactly."""
    epsilon = 1.2
    it = ball_to_sphere(dim=3, radius=1.0, epsilon=epsilon)
    end = jnp.array([0.0, 0.0, 1.0])
    z = numbers(it.draws, RUNS)
    send = jax.jit(jax.vmap(lambda v, z: it.send(v, z), in_axes=(None, -1), out_axes=-1))
    shares = [float((send(v, z)[2] > 0).mean()) for v in (end, -end)]
    wanted = np.exp(epsilon) / (1 + np.exp(epsilon))
    error = np.sqrt(wanted * (1 - wanted) / RUNS)
    assert abs(shares[0] - wanted) < 4 * error
    assert abs(shares[1] - (1 - wanted)) < 4 * error
    # At one half of the density on each side, any set has the ratio that these have.
    longer = jax.jit(jax.vmap(lambda z: it.send(10 * end, z), in_axes=-1, out_axes=-1))(z)
    np.testing.assert_array_equal(longer, send(end, z))  # cut to the ball


def test_sigma_is_calibrated_to_the_joint_release():
    assert calibrate.analytic_sigma(1.0, 1e-3, regression.joint_sensitivity(1.0)) == pytest.approx(2.575 * 2.1213, rel=1e-3)
