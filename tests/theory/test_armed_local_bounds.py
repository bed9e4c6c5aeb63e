"""Bounds of K-armed bandits under local privacy: worked values, published factors, limits, and measured regret below what is proved."""

import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, twenty_arms
from jaxbandits.theory import armed_local as theory
from jaxbandits.theory.cascade import bernoulli_kl

MEANS = [0.9, 0.7, 0.4]


def test_worked_values():
    log_t = math.log(1e5)
    spread = 1 / 0.2 + 1 / 0.5
    assert theory.ucb1(horizon=1e5, means=MEANS) == pytest.approx(8 * spread * log_t + (1 + math.pi**2 / 3) * 0.7)
    laplace = theory.ldp_ucb_laplace(horizon=1e5, means=MEANS, epsilon=0.5)
    assert laplace == pytest.approx(8 * 81 * spread * log_t + (1 + 2 * math.pi**2 / 3) * 0.7)
    c = (math.exp(0.5) + 1) / (math.exp(0.5) - 1)
    bits = theory.ldp_ucb_bernoulli(horizon=1e5, means=MEANS, epsilon=0.5, slope=theory.SIGMOID_SLOPE)
    assert bits == pytest.approx(8 * (c / 0.076) ** 2 * spread * log_t + (1 + math.pi**2 / 3) * 0.7)
    kl = theory.ldp_kl_ucb(horizon=1e5, means=[0.9, 0.7], epsilon=0.5)
    assert kl == pytest.approx(0.2 * log_t / bernoulli_kl(0.5 + 0.2 / c, 0.5 + 0.4 / c))
    printed = theory.ldp_lower_printed(horizon=1e5, means=MEANS, epsilon=0.5)
    assert printed == pytest.approx(spread * log_t / (math.exp(0.5) - math.exp(-0.5)) ** 2)
    assert theory.ldp_lower(horizon=1e5, means=MEANS, epsilon=0.5) == 4 * printed


@pytest.mark.parametrize(("epsilon", "laplace", "bits"), [(0.2, 441, 100.7), (0.5, 81, 16.7), (1.0, 25, 4.68), (2.0, 9, 1.724)])
def test_published_factors_over_ucb1(epsilon, laplace, bits):
    def slope(bound, **arguments):
        low, high = (bound(horizon=t, means=MEANS, **arguments) for t in (1e3, 1e6))
        return high - low

    plain = slope(theory.ucb1)
    assert slope(theory.ldp_ucb_laplace, epsilon=epsilon) / plain == pytest.approx(laplace, rel=1e-3)
    assert slope(theory.ldp_ucb_bernoulli, epsilon=epsilon) / plain == pytest.approx(bits, rel=2e-3)


def test_the_slope_of_the_sigmoid():
    """c_s = E[s'(Z)] / e for a standard normal Z."""
    z = np.linspace(-12, 12, 200_001)
    s = 1 / (1 + np.exp(-z))
    expected = np.trapezoid(s * (1 - s) * np.exp(-z * z / 2), z) / math.sqrt(2 * math.pi)
    assert expected == pytest.approx(0.20662, abs=1e-4)
    assert expected / math.e == pytest.approx(theory.SIGMOID_SLOPE, abs=1e-4)


@pytest.mark.parametrize("name", ["ldp_ucb_laplace", "ldp_ucb_bernoulli", "ldp_kl_ucb", "ldp_lower_printed", "ldp_lower"])
def test_shapes_and_limits(name):
    bound = partial(getattr(theory, name), means=MEANS)
    assert np.asarray(bound(horizon=[1, 100, 1e7], epsilon=0.3)).shape == (3,)
    assert (np.diff([bound(horizon=1e4, epsilon=e) for e in (1e-3, 0.1, 1.0, 10.0, math.inf)]) <= 1e-9).all()
    at_infinity = bound(horizon=1e4, epsilon=math.inf)
    if name == "ldp_ucb_bernoulli":
        assert at_infinity == theory.ucb1(horizon=1e4, means=MEANS)
    elif name.startswith("ldp_lower"):
        assert at_infinity == 0.0
    for bad in ({"epsilon": 0.0}, {"epsilon": 1.0, "horizon": 0.5}):
        with pytest.raises(ValueError, match=r"(epsilon|horizon) must be"):
            bound(**{"horizon": 10, **bad})


def test_measured_regret_stays_below_what_is_proved():
    study = Study(
        problem=partial(armed, means=twenty_arms()),
        policies={"ucb1": policies.ucb1, "ldp_ucb_bernoulli": policies.ldp_ucb_bernoulli, "ldp_ucb_laplace": policies.ldp_ucb_laplace},
        grid={"epsilon": [1.0, 4.0]},
        seeds=32,
        horizon=50_000,
    )
    regret = run(study, progress=False)["regret"].mean("seed")
    for epsilon in (1.0, 4.0):
        for name in study.policies:
            arguments = {} if name == "ucb1" else {"epsilon": epsilon}
            bound = getattr(theory, name)(horizon=regret["round"].values, means=twenty_arms(), **arguments)
            assert (regret.sel(policy=name, epsilon=epsilon).values <= bound).all()
