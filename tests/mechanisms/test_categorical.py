"""Randomisers of one of K categories or none: their laws by counting over the draws, exact ratios, and unbiased readings."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.mechanisms import calibrate, categorical

FINE = 2**20


def grid():
    return (jnp.arange(FINE, dtype=jnp.float32) + 0.5) / FINE


def response_law(k, epsilon):
    """P(message | value), [K + 1, K + 1], counted over a grid of each draw; they are independent, and the second has K + 1 cells."""
    mechanism = categorical.randomised_response(num_categories=k, epsilon=epsilon)
    law = np.zeros((k + 1, k + 1))
    cells = (np.arange(k + 1) + 0.5) / (k + 1)
    for value, other in itertools.product(range(k + 1), cells):
        sent = jax.vmap(lambda u, v=value, o=other: mechanism.send(jnp.int32(v), {"keep": u, "other": jnp.float32(o)}))(grid())
        law[value] += np.bincount(np.asarray(sent), minlength=k + 1) / FINE / (k + 1)
    return mechanism, law


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_randomised_response(k, epsilon):
    """The worst ratio is e^epsilon, and the mean reading of every value is its one-hot vector, by enumeration."""
    mechanism, law = response_law(k, epsilon)
    q = 1 / (math.exp(epsilon) + k)
    np.testing.assert_allclose(law, np.where(np.eye(k + 1) > 0, math.exp(epsilon) * q, q), atol=3e-6)
    ratios = law[:, None] / law[None]
    assert ratios.max() == pytest.approx(math.exp(epsilon), rel=1e-4)
    read = np.stack([np.asarray(mechanism.read(jnp.int32(m)), float) for m in range(k + 1)])
    np.testing.assert_allclose(law @ read, np.eye(k + 1)[:, :k], atol=3e-5)
    if k > 1:
        variance = law[1] @ (read[:, 0] - (law[1] @ read)[0]) ** 2
        assert variance == pytest.approx((math.exp(epsilon) + k - 1) / (math.exp(epsilon) - 1) ** 2, rel=1e-3)


def unary_law(k, epsilon):
    """P(bit = 1 | value), [K + 1, K], counted over a grid."""
    mechanism = categorical.unary_encoding(num_categories=k, epsilon=epsilon)
    every = jax.vmap(lambda u, v: mechanism.send(v, {"bit": jnp.full(k, u)}), in_axes=(0, None))
    return mechanism, np.stack([np.asarray(every(grid(), jnp.int32(v))).mean(axis=0) for v in range(k + 1)])


@pytest.mark.parametrize(("k", "epsilon", "worst"), [(1, 0.2, 1.1107), (1, 2.0, 4.1945), (2, 0.2, None), (4, 1.0, None), (4, 2.0, None)])
def test_unary_encoding(k, epsilon, worst):
    """The worst ratio over all 2^K messages is e^epsilon for K of two or more, and smaller for one."""
    mechanism, ones = unary_law(k, epsilon)
    q = 1 / (math.exp(epsilon) + 1)
    expected = np.full((k + 1, k), q)
    expected[np.arange(k), np.arange(k)] = 0.5
    np.testing.assert_allclose(ones, expected, atol=2e-6)

    def ratio(ones):
        outputs = np.asarray(list(itertools.product((0, 1), repeat=k)))
        law = np.prod(np.where(outputs[None], ones[:, None], 1 - ones[:, None]), axis=2)
        return (law[:, None] / law[None]).max()

    assert ratio(expected) == pytest.approx(worst or math.exp(epsilon), rel=1e-3 if worst else 1e-10)
    assert ratio(ones) == pytest.approx(ratio(expected), rel=1e-4)
    read = np.stack([np.asarray(mechanism.read(jnp.full(k, bit, jnp.int32)), float)[0] for bit in (0, 1)])
    np.testing.assert_allclose(ones * read[1] + (1 - ones) * read[0], np.eye(k + 1)[:, :k], atol=3e-5)


@pytest.mark.parametrize("k", [1, 3])
def test_noise_is_scaled_to_the_distance_of_one_hot_vectors(k):
    """L1 at most 2 and L2 at most sqrt(2) over all pairs of values, and reached; 1 and 1 for a single category."""
    vectors = [np.asarray(categorical.one_hot(jnp.int32(v), k), float) for v in range(k + 1)]
    pairs = list(itertools.combinations(vectors, 2))
    farthest = max(np.abs(a - b).sum() for a, b in pairs), max(np.sqrt(((a - b) ** 2).sum()) for a, b in pairs)
    laplace = categorical.noisy_one_hot_laplace(num_categories=k, epsilon=0.5)
    gaussian = categorical.noisy_one_hot_gaussian(num_categories=k, epsilon=0.5, delta=1e-3)
    for mechanism, scale in ((laplace, farthest[0] / 0.5), (gaussian, calibrate.analytic_sigma(0.5, 1e-3, farthest[1]))):
        at = [mechanism.send(jnp.int32(0), {"noise": jnp.full(k, z)}) for z in (0.0, 1.0)]
        np.testing.assert_allclose(at[0], vectors[0])
        np.testing.assert_allclose(at[1] - at[0], scale, rtol=1e-6)
        assert mechanism.read(at[1]) is at[1]
        assert mechanism.claim.guaranteed


def test_without_noise_the_value_is_sent():
    for k in (1, 3):
        mechanism = categorical.randomised_response(num_categories=k, epsilon=math.inf)
        for value in range(k + 1):
            sent = mechanism.send(jnp.int32(value), {"keep": jnp.float32(0.9999999), "other": jnp.float32(0.5)})
            assert int(sent) == value
            np.testing.assert_array_equal(mechanism.read(sent), np.eye(k + 1)[value, :k])


def test_bad_arguments_are_named():
    for make in (categorical.randomised_response, categorical.unary_encoding, categorical.noisy_one_hot_laplace):
        with pytest.raises(ValueError, match="num_categories must be"):
            make(num_categories=0, epsilon=1.0)
        with pytest.raises(ValueError, match="epsilon must be"):
            make(num_categories=2, epsilon=0.0)
    with pytest.raises(ValueError, match=r"sigma must be at least .* which the claim needs"):
        categorical.noisy_one_hot_gaussian(num_categories=2, epsilon=1.0, delta=1e-3, sigma=0.1)


@pytest.mark.parametrize("epsilon", [1e-10, 1e-8, 1e-3])
def test_a_reading_at_a_tiny_epsilon_is_a_number(epsilon):
    read = np.asarray(categorical.unary_encoding(num_categories=2, epsilon=epsilon).read(jnp.array([0, 1])))
    np.testing.assert_allclose(read[1] - read[0], 4 / epsilon, rtol=1e-3)
