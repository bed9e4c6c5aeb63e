"""Laws of additive noise."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import problems
from jaxbandits.mechanisms import counters, noise
from jaxbandits.policies import cascade
from jaxbandits.privacy import audit

SCALES = [0.2, 1.0, 3.7, 40.0]


def all_draws(count=2**20):
    """Standard Laplace draws whose law is cut into so many equal pieces, half of each sign."""
    u = (np.arange(count // 2) + 0.5) / (count // 2)
    return np.concatenate([-np.log(u), np.log(u)]).astype(np.float32)


def pmf(k, scale):
    r = np.exp(-1 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(k)


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_noise_has_its_law(scale):
    """Number by number, and no law of a scale that is 1 % off."""
    made = np.asarray(noise.discrete_laplace.make(jnp.float32(scale), jnp.asarray(all_draws())))
    k = np.arange(-5, 6)
    found = np.array([np.mean(made == i) for i in k])
    np.testing.assert_allclose(found, pmf(k, scale), atol=4e-6)
    assert np.abs(found - pmf(k, 1.01 * scale)).max() > 2e-5
    assert np.all(made == np.round(made))


@pytest.mark.parametrize("scale", SCALES)
def test_variances(scale):
    k = np.arange(-4000, 4001)
    assert noise.discrete_laplace.variance(np.asarray(scale)) == pytest.approx(np.sum(pmf(k, scale) * k**2.0), rel=1e-9)
    assert noise.discrete_laplace.variance(np.asarray(scale)) < noise.laplace.variance(np.asarray(scale)) == 2 * scale**2


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_noise_is_near_continuous_noise_of_the_same_draw(scale):
    z = jnp.asarray(all_draws(2**12))
    assert np.abs(noise.discrete_laplace.make(jnp.float32(scale), z) - noise.laplace.make(jnp.float32(scale), z)).max() <= 1


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_noise_has_the_lighter_tails(scale):
    """Moment generating functions: every Chernoff bound for Laplace noise holds."""
    theta = np.linspace(0.01, 0.99, 50) / scale
    discrete = (np.cosh(1 / scale) - 1) / (np.cosh(1 / scale) - np.cosh(theta))
    assert np.all(discrete <= 1 / (1 - (scale * theta) ** 2))


def test_no_noise_at_scale_0():
    assert float(noise.discrete_laplace.make(jnp.float32(0.0), jnp.float32(5.0))) == 0.0
    assert noise.discrete_laplace.variance(np.asarray(0.0)) < 1e-300


COUNTERS = {
    "accumulating": counters.accumulating,
    "forgetting": counters.forgetting,
    "binary": partial(counters.binary, horizon=100),
    "hybrid": counters.hybrid,
    "merged": counters.merged_hybrid,
}


@pytest.mark.parametrize("name", COUNTERS)
def test_a_counter_with_discrete_noise_releases_whole_numbers(name):
    counter = COUNTERS[name](num_streams=2, epsilon=0.3, noise=noise.discrete_laplace)
    plain = COUNTERS[name](num_streams=2, epsilon=0.3)
    state, other = counter.init(), plain.init()
    insert, insert_plain = jax.jit(counter.insert), jax.jit(plain.insert)
    for t in range(1, 12):
        z = {"noise": jnp.float32(1.5 * (-1) ** t * t**0.5)[None]}
        entry = jnp.array([0]), jnp.array([t % 2]), jnp.array([True])
        state, other = insert(state, *entry, z), insert_plain(other, *entry, z)
        total = counter.read(state).total
        np.testing.assert_array_equal(total, np.round(total))
        assert np.abs(total - plain.read(other).total).max() <= 1 + t.bit_length()
    assert counter.read(state).total[0] != plain.read(other).total[0]
    assert 0 < counter.law(11).variance < plain.law(11).variance


def test_the_audit_of_discrete_noise():
    """The release after the first batch shows the bit with exactly the ratio that is claimed."""
    batches = partial(counters.accumulating, noise=noise.discrete_laplace)
    policy = partial(cascade.first_dp_ucb1, epsilon=1.0, counter=batches)
    found = audit(policy, partial(problems.cascade, means=np.full(3, 0.5), list_len=2), runs=2**15)
    assert 0.85 < found.epsilon <= 1.0


def test_bad_noise_is_named():
    with pytest.raises(ValueError, match="noise must be"):
        counters.hybrid(num_streams=1, epsilon=1.0, noise="laplace")
    with pytest.raises(ValueError, match="for which claims are proved"):
        counters.hybrid(num_streams=1, epsilon=1.0, noise=noise.laplace._replace(make=lambda scale, z: 0.0 * z))
    with pytest.raises(ValueError, match=r"noise must be noise\.laplace with these nodes"):
        counters.hybrid(num_streams=1, epsilon=1.0, nodes=counters.honaker, noise=noise.discrete_laplace)
