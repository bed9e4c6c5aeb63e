"""Bounds of semi-bandits: worked values, gaps by enumeration, and measured regret below what is proved."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, oracles, run
from jaxbandits.mechanisms import calibrate
from jaxbandits.policies import semi_bandit as policies
from jaxbandits.problems import semi_bandit
from jaxbandits.theory import semi_bandit as theory

GAPS = theory.Gaps(num_base_arms=6, list_len=2, smoothness=2.0, min_gap=0.1, max_gap=0.5)
LOG_T = math.log(1e5)


def test_worked_values():
    often = (2.0 / 0.1) ** 2 * LOG_T
    assert theory.cucb(horizon=1e5, gaps=GAPS) == pytest.approx((6 * often + math.pi**2 / 3 + 1) * 6 * 0.5)
    laplace = theory.ldp_laplace_cucb(horizon=1e5, epsilon=0.5, gaps=GAPS)
    width = 4 * (math.sqrt(1.5) + 4 * math.sqrt(24)) ** 2
    assert laplace == pytest.approx((width * often + 3 * LOG_T + 2 * math.pi**2 / 3 + 1) * 3)
    printed = theory.gaussian_cucb_printed(horizon=1e5, epsilon=0.5, delta=1e-3, gaps=GAPS)
    assert printed == pytest.approx((128 * 2 * math.log(1250) / 0.25 * often + math.pi**2 / 3 + 1) * 3)
    assert theory.gaussian_cucb_printed(horizon=1e5, epsilon=9.0, delta=1e-3, gaps=GAPS) == pytest.approx(
        (128 * math.log(1250) * often + math.pi**2 / 3 + 1) * 3
    )
    corrected = theory.gaussian_cucb_corrected(horizon=1e5, epsilon=0.5, delta=1e-3, gaps=GAPS)
    width = 4 * (math.sqrt(1.5) + 2 * math.sqrt(2 * 2 * math.log(1250)) / 0.5) ** 2
    assert corrected == pytest.approx((width * often + math.pi**2 / 3 + 2 * (1 + LOG_T) + 1) * 3)
    sound = theory.ldp_gaussian_cucb(horizon=1e5, epsilon=0.5, delta=1e-3, gaps=GAPS)
    width = 4 * (math.sqrt(1.5) + 2 * calibrate.analytic_sigma(0.5, 1e-3, math.sqrt(2))) ** 2
    assert sound == pytest.approx((width * often + math.pi**2 / 3 + 2 * (1 + LOG_T) + 1) * 3)
    c = (math.exp(0.25) + 1) / (math.exp(0.25) - 1)
    split = theory.cucb_ldp1(horizon=1e5, epsilon=0.5, gaps=GAPS)
    assert split == pytest.approx((6 * c**2 * often + math.pi**2 / 3 + 1) * 3)
    assert theory.cucb_ldp2(horizon=1e5, epsilon=0.25, gaps=GAPS) == pytest.approx(split)
    assert theory.cucb_ldp2(horizon=1e5, epsilon=math.inf, gaps=GAPS) == theory.cucb(horizon=1e5, gaps=GAPS)
    order = theory.cucb_dp_order(horizon=1e5, gaps=GAPS, epsilon=0.5)
    assert order == pytest.approx(6 * 4 * LOG_T / 0.05)
    assert theory.cucb_dp_order(horizon=1e5, gaps=GAPS, epsilon=math.inf) == pytest.approx(6 * 4 * LOG_T / 0.1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-3), (math.sqrt(2), 0.5), (5.0, 0.5)])
def test_the_leading_term_of_the_theorem_covers_the_radius_of_the_algorithm(epsilon, delta):
    """min(epsilon^2, 2) in the theorem is for this; it is so for K log(1.25 / delta) >= 3/8."""
    one = GAPS._replace(list_len=1)
    slopes = [
        bound(horizon=math.e**2, epsilon=epsilon, delta=delta, gaps=one) - bound(horizon=math.e, epsilon=epsilon, delta=delta, gaps=one)
        for bound in (theory.gaussian_cucb_printed, theory.gaussian_cucb_corrected)
    ]
    assert slopes[0] + 2 * 6 * 0.5 >= slopes[1]


@pytest.mark.parametrize("reward", [np.sum, theory.attracts])
@pytest.mark.parametrize("means", [[0.9, 0.7, 0.7, 0.4, 0.1], [0.5, 0.5, 0.5, 0.2], [0.3, 0.3], [1.0, 1.0, 0.5, 0.0]])
def test_gaps_are_those_of_all_sets(reward, means):
    for list_len in range(1, len(means) + 1):
        values = [float(reward(np.asarray(s))) for s in itertools.combinations(means, list_len)]
        gaps = [max(values) - value for value in values if max(values) - value > 1e-12]
        expected = (min(gaps), max(gaps)) if gaps else (0.0, 0.0)
        found = theory.set_gaps(means=means, list_len=list_len, reward=reward)
        np.testing.assert_allclose((found.min_gap, found.max_gap), expected, atol=1e-12)
        assert found[:3] == (len(means), list_len, list_len)
        listed = theory.listed_gaps(rewards=np.round(values, 12), num_base_arms=len(means), list_len=list_len, smoothness=list_len)
        np.testing.assert_allclose(listed, found, atol=1e-11)


def test_one_gaussian_radius_fails_more_often_over_all_counts_than_at_one():
    """Why Theorem 9 is corrected: at t = 100 the largest deviation over all counts passes the radius more often than 2 t^-2."""
    t, runs = 100, 200_000
    noise = np.random.default_rng(7).standard_normal((runs, t))
    count = np.arange(1, t + 1)
    beyond = np.abs(np.cumsum(noise, axis=1)) / np.sqrt(count) > 2 * math.sqrt(math.log(t))
    at_one, at_any = beyond[:, -1].mean(), beyond.any(axis=1).mean()
    assert at_one <= 2 / t**2 + 4 * math.sqrt(2 / t**2 / runs)
    assert at_any > 2 / t**2 + 4 * math.sqrt(2 / t**2 / runs)
    assert at_any <= 2 / t


def test_bad_arguments_are_named():
    for bad in ({"min_gap": -0.1}, {"max_gap": 0.01}, {"smoothness": 0.0}, {"num_base_arms": 0}, {"list_len": 7}):
        with pytest.raises(ValueError, match=rf"gaps\.{next(iter(bad))} must be"):
            theory.cucb(horizon=10, gaps=GAPS._replace(**bad))
    with pytest.raises(ValueError, match="horizon must be"):
        theory.cucb(horizon=0, gaps=GAPS)
    with pytest.raises(ValueError, match="gaps must be Gaps"):
        theory.cucb(horizon=10, gaps=(0.1, 0.5))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="epsilon must be"):
        theory.cucb_ldp2(horizon=10, epsilon=0.0, gaps=GAPS)
    assert np.asarray(theory.cucb(horizon=[10, 100], gaps=GAPS._replace(min_gap=0.0))).tolist() == [0.0, 0.0]


def test_measured_regret_stays_below_what_is_proved():
    means, size = [0.9, 0.8, 0.5, 0.4, 0.2, 0.1], {"num_base_arms": 6, "list_len": 2}
    gaps = theory.set_gaps(means=means, list_len=2)
    study = Study(
        problem=partial(semi_bandit, means=means, oracle=oracles.top_k(**size)),
        policies={
            "cucb": policies.cucb,
            "gaussian_cucb_corrected": partial(policies.gaussian_cucb, delta=0.1),
            "ldp_gaussian_cucb": partial(policies.ldp_gaussian_cucb, delta=0.1),
            "ldp_laplace_cucb": policies.ldp_laplace_cucb,
            "cucb_ldp1": policies.cucb_ldp1,
            "cucb_ldp2": policies.cucb_ldp2,
        },
        grid={"epsilon": [1.0, 8.0]},
        seeds=32,
        horizon=50_000,
    )
    regret = run(study, progress=False)["regret"].mean("seed")
    for name in study.policies:
        for epsilon in (1.0, 8.0):
            needs = {"epsilon": epsilon, "delta": 0.1}
            arguments = {k: v for k, v in needs.items() if k in getattr(theory, name).__annotations__}
            bound = getattr(theory, name)(horizon=study.rounds, gaps=gaps, **arguments)
            assert (regret.sel(policy=name, epsilon=epsilon) <= bound).all(), name
