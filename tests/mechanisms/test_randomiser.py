"""Local randomisers: the law of what they send, in closed form where there is one, and what they claim."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.core import NON_PRIVATE, Claim
from jaxbandits.engine import draws
from jaxbandits.mechanisms import calibrate, randomiser

EPSILONS = [0.05, 0.2, 0.5, 1.0, 2.0, 5.0]
VALUES = np.linspace(0, 1, 21)


def numbers(mechanism):
    """The mechanism's draws for 1e5 uses, [250, *shape, 400] each."""
    plan = draws.layout({draws.DEVICE: mechanism.draws})
    replica, time = jnp.arange(400, dtype=jnp.uint32), jnp.arange(1, 251, dtype=jnp.int32)
    return draws.generate(plan, jnp.uint32(7), replica, time)[draws.DEVICE]


# ---- the private bit ---------------------------------------------------------------------------------------------------


def exact_mean(value, epsilon):
    return (value * math.exp(epsilon) + 1 - value) / (math.exp(epsilon) + 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_mean_of_the_bit_is_affine_in_the_value(epsilon):
    # mu_epsilon = 1/2 + (2r - 1)(e^epsilon - 1) / (2 (e^epsilon + 1)), arXiv 2007.03121
    affine = 0.5 + (2 * VALUES - 1) * math.tanh(epsilon / 2) / 2
    assert np.allclose(exact_mean(VALUES, epsilon), affine, rtol=0, atol=1e-12)
    assert np.allclose(randomiser.bernoulli_mean(VALUES, epsilon), affine, rtol=0, atol=1e-6)
    assert float(randomiser.flip_probability(epsilon)) == pytest.approx(exact_mean(0, epsilon), rel=1e-6)
    assert float(randomiser.debias_factor(epsilon)) == pytest.approx(1 / (1 - 2 * exact_mean(0, epsilon)), rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_likelihood_ratio_is_attained_between_0_and_1_only(epsilon):
    def worst(ones):
        both = np.stack([ones, 1 - ones])  # the probability of each bit, for each value
        return (both[:, :, None] / both[:, None, :]).max(axis=0)

    exact = worst(exact_mean(VALUES, epsilon))
    coded = worst(np.asarray(randomiser.bernoulli_mean(VALUES, epsilon), np.float64))
    ends = np.zeros_like(exact, bool)
    ends[0, -1] = ends[-1, 0] = True
    assert exact[ends] == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert coded[ends] == pytest.approx(math.exp(epsilon), rel=1e-5)
    assert np.all(exact[~ends] < math.exp(epsilon) * (1 - 1e-3 * epsilon))
    assert np.all(coded[~ends] < math.exp(epsilon) * (1 - 1e-3 * epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_debiased_bits_are_unbiased_and_as_far_apart_as_the_factor(epsilon):
    factor, flip = float(randomiser.debias_factor(epsilon)), float(randomiser.flip_probability(epsilon))
    ones = np.asarray(randomiser.bernoulli_mean(VALUES, epsilon), np.float64)
    low, high = (0 - flip) * factor, (1 - flip) * factor
    assert high - low == pytest.approx(1 / math.tanh(epsilon / 2), rel=1e-6)
    assert np.allclose(ones * high + (1 - ones) * low, VALUES, rtol=0, atol=3e-7 * factor)


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_bits_are_sent_with_their_mean(value, epsilon):
    # Evenly spaced uniform numbers count the measure of "send 1" exactly; simulated ones meet it within their error.
    mechanism = randomiser.bernoulli(epsilon=epsilon)
    even = (jnp.arange(2**20, dtype=jnp.float32) + 0.5) * np.float32(2.0**-20)
    bit = mechanism.send(jnp.float32(value), {"bit": even})
    assert bit.dtype == jnp.int32
    assert float(jnp.mean(bit.astype(jnp.float32))) == pytest.approx(exact_mean(value, epsilon), abs=2e-6)

    sent = np.asarray(mechanism.send(jnp.float32(value), numbers(mechanism)))
    error = math.sqrt(exact_mean(value, epsilon) * (1 - exact_mean(value, epsilon)) / sent.size)
    assert abs(sent.mean() - exact_mean(value, epsilon)) < 4.5 * error
    if value != 0.5:  # power
        for wrong in (epsilon / 1.5, epsilon * 1.5):
            assert abs(sent.mean() - exact_mean(value, wrong)) > 4.5 * error


def test_without_privacy_the_bit_is_the_value():
    mechanism = randomiser.bernoulli(epsilon=math.inf)
    inside = jnp.asarray([2.0**-25, 0.1, 0.5, 1 - 2.0**-24], jnp.float32)
    assert mechanism.send(jnp.float32(1.0), {"bit": inside}).tolist() == [1, 1, 1, 1]
    assert mechanism.send(jnp.float32(0.0), {"bit": inside}).tolist() == [0, 0, 0, 0]
    assert float(randomiser.debias_factor(math.inf)) == 1
    assert float(randomiser.flip_probability(math.inf)) == 0


@pytest.mark.parametrize("word", [0, 2**31, 2**32 - 1])
def test_without_privacy_the_bit_is_the_value_whatever_the_random_word(word):
    mechanism = randomiser.bernoulli(epsilon=math.inf)
    number = mechanism.draws["bit"].law(jnp.full(1, word, jnp.uint32))[0]
    assert mechanism.send(jnp.float32(1.0), {"bit": number}) == 1
    assert mechanism.send(jnp.float32(0.0), {"bit": number}) == 0


# ---- added noise -------------------------------------------------------------------------------------------------------


def laplace(**changed):
    return randomiser.laplace(**{"shape": (), "sensitivity": 4.0, "epsilon": 2.0, **changed})


def gaussian(**changed):
    sigma = calibrate.analytic_sigma(changed.get("epsilon", 2.0), 1e-3, 2.0)
    return randomiser.gaussian(**{"shape": (), "sensitivity": 2.0, "sigma": sigma, "epsilon": 2.0, "delta": 1e-3, **changed})


ADDED = [(laplace, stats.laplace, 2.0), (gaussian, stats.norm, 2 * 1.4452393)]


@pytest.mark.parametrize("noise_scale", [1.0, 0.01])
@pytest.mark.parametrize(("make", "law", "scale"), ADDED)
def test_added_noise_has_its_law_and_no_other_scale(make, law, scale, noise_scale):
    mechanism = make(noise_scale=noise_scale)
    value = 0.375
    sent = np.asarray(mechanism.send(jnp.float32(value), numbers(mechanism)), np.float64).ravel()
    p_value = {factor: stats.kstest(sent, law(loc=value, scale=factor * noise_scale * scale).cdf).pvalue for factor in (2 / 3, 1.0, 1.5)}
    assert p_value[1.0] > 1e-3
    assert p_value[2 / 3] < 1e-100
    assert p_value[1.5] < 1e-100


@pytest.mark.parametrize(("make", "law", "scale"), ADDED)
def test_each_coordinate_gets_noise_of_its_own(make, law, scale):
    mechanism = make(shape=(3,))
    z = np.moveaxis(np.asarray(numbers(mechanism)["noise"]), 1, 0).reshape(3, -1)
    sent = np.asarray(mechanism.send(jnp.asarray([1.0, 2.0, 3.0]), {"noise": jnp.asarray([0.5, -1.0, 2.0])}))
    assert np.allclose(sent, [1 + 0.5 * scale, 2 - scale, 3 + 2 * scale], rtol=1e-6)
    correlation = np.corrcoef(z)[np.triu_indices(3, 1)]
    assert np.all(np.abs(correlation) < 4.5 / math.sqrt(z.shape[1]))


@pytest.mark.parametrize("make", [laplace, gaussian])
def test_without_privacy_nothing_is_added(make):
    mechanism = make(epsilon=math.inf, shape=(2,))
    value = jnp.asarray([0.25, 1.0])
    assert np.array_equal(mechanism.send(value, {"noise": jnp.asarray([17.0, -17.0])}), value)


# ---- claims ------------------------------------------------------------------------------------------------------------


def test_claims_of_the_mechanisms():
    assert laplace().claim.guarantee() == (2.0, 0.0)
    assert gaussian().claim.guarantee() == (2.0, 1e-3)
    assert randomiser.bernoulli(epsilon=0.5).claim.guarantee() == (0.5, 0.0)
    assert laplace().claim.label() == "2-LDP"
    assert gaussian().claim.label() == "(2, 0.001)-LDP"
    assert randomiser.bernoulli(epsilon=0.5).claim.label() == "0.5-LDP"
    assert laplace().claim.sensitivity == "L1 4.0"
    assert gaussian(sensitivity=math.sqrt(2)).claim.sensitivity == "L2 1.414"
    assert {m.claim.trust for m in (laplace(), gaussian(), randomiser.bernoulli(epsilon=1.0))} == {"local"}
    assert {m.claim.relation for m in (laplace(), gaussian(), randomiser.bernoulli(epsilon=1.0))} == {randomiser.ANY_TWO}


@pytest.mark.parametrize("noise_scale", [0.0, 0.01, 0.999, 2.0])
@pytest.mark.parametrize("make", [laplace, gaussian])
def test_scaled_noise_has_no_guarantee(make, noise_scale):
    claim = make(noise_scale=noise_scale).claim
    assert not claim.guaranteed
    assert claim.label() == "no guarantee"
    with pytest.raises(ValueError, match=rf"no privacy guarantee: noise_scale is {noise_scale:g}, a guarantee needs 1"):
        claim.guarantee()


@pytest.mark.parametrize("status", ["paper", "calibrated"])
def test_flawed_algorithms_have_no_guarantee(status):
    claim = dataclasses.replace(laplace().claim, status=status, flaw="the message shows the click")
    assert not claim.guaranteed
    assert claim.label() == "no guarantee"
    with pytest.raises(ValueError, match=f"a {status} run has no privacy guarantee: the message shows the click"):
        claim.guarantee()


def test_non_private_runs_have_no_guarantee():
    assert not NON_PRIVATE.guaranteed
    assert NON_PRIVATE.label() == "non-private"
    with pytest.raises(ValueError, match="a non-private run has no privacy guarantee: the server sees the raw feedback"):
        NON_PRIVATE.guarantee()


def test_a_claim_is_sound_or_names_its_flaw():
    assert Claim(status="sound", trust="central", epsilon=1.0).label() == "1-DP"
    with pytest.raises(ValueError, match="flaw must be empty for a sound claim"):
        Claim(status="sound", flaw="but")
    for status in ("paper", "calibrated", "non-private"):
        with pytest.raises(ValueError, match="named otherwise"):
            Claim(status=status)


# ---- bad arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "argument", "values"),
    [
        (laplace, "epsilon", [0, -1.0, math.nan, "much"]),
        (laplace, "noise_scale", [-1, math.inf, math.nan]),
        (gaussian, "noise_scale", [-1, math.inf, math.nan]),
        (gaussian, "sigma", [-1, math.inf, math.nan]),
        (gaussian, "delta", [0, 1, math.nan]),
        (randomiser.bernoulli, "epsilon", [0, -1.0, math.nan, "much"]),
    ],
)
def test_bad_arguments_are_refused(make, argument, values):
    for value in values:
        with pytest.raises(ValueError, match=rf"{argument} must be .*got"):
            make(**{argument: value})
