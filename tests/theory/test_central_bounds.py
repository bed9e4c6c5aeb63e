"""Bounds under central privacy: worked values, limits, and measured regret on the right side of what is proved."""

import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, linear, two_level
from jaxbandits.theory import armed_central, cascade_central, cascade_lower
from jaxbandits.theory.cascade import bernoulli_kl

MEANS = [0.75, 0.625, 0.5, 0.375, 0.25]
CASCADE = {"means": two_level(), "list_len": 4}
LOWER = {"num_items": 20, "list_len": 4, "base_prob": 0.2, "gap": 0.15}


def test_worked_values_of_the_cascade_bounds():
    log_t, inverse = math.log(1e5), 16 / 0.15
    printed = cascade_central.hybrid_ucb_printed(horizon=1e5, **CASCADE, epsilon=2.0, xi=0.5)
    assert printed == pytest.approx(192 * inverse * (10 * log_t) ** 1.5 + 2 * math.pi**2 / 3 * 20)
    x = 10 * log_t / 0.15
    order = cascade_central.hybrid_ucb_order(horizon=1e5, **CASCADE, epsilon=2.0)
    assert order == pytest.approx(16 * (log_t / 0.15 + 10 * log_t * math.log(x) ** 1.5))
    private = cascade_central.dp_lower_printed(horizon=1e5, **LOWER, epsilon=0.01, with_nonprivate=False)
    assert private == pytest.approx(16 * 0.8**3 * log_t / 2)
    nonprivate = cascade_lower.nonprivate_lower(horizon=1e5, **LOWER)
    assert cascade_central.dp_lower_printed(horizon=1e5, **LOWER, epsilon=math.inf) == nonprivate
    assert cascade_central.dp_lower_printed(horizon=1e5, **LOWER, epsilon=1e-5) > nonprivate


def test_worked_values_of_the_armed_bounds():
    log_t = math.log(1e6)
    assert armed_central.adap_ucb(horizon=1e6, means=[0.5, 0.3, 0.1], epsilon=0.25) == pytest.approx(
        16 * 3.1 * (1 / 0.2 + 1 / 0.25) * log_t + 2 * 3.1 / 0.1
    )
    lower = armed_central.dp_lower(horizon=1e6, means=[0.5, 0.3], epsilon=math.inf)
    assert lower == pytest.approx(0.2 * log_t / bernoulli_kl(0.3, 0.5))
    # At small epsilon d is about epsilon times the gap.
    assert armed_central.dp_lower(horizon=1e6, means=[0.5, 0.3], epsilon=1e-3) == pytest.approx(log_t / 1e-3, rel=0.02)
    assert armed_central.dp_kl_ucb(horizon=1e6, means=MEANS, epsilon=0.1) == 2 * armed_central.dp_lower(
        horizon=1e6, means=MEANS, epsilon=0.1
    )
    assert armed_central.dp_minimax_lower(horizon=1e6, num_arms=5, epsilon=1e-6) == pytest.approx(4 / 131e-6)
    assert armed_central.dp_minimax_lower(horizon=1e6, num_arms=5, epsilon=1.0) == pytest.approx(2000 / 27)
    assert armed_central.dp_se_order(horizon=1e6, means=[0.5, 0.3], epsilon=0.5) == pytest.approx((5 + 4) * log_t)
    assert armed_central.mishra_thakurta_order(horizon=1e6, means=[0.5, 0.3], epsilon=0.5) == pytest.approx(20 * log_t**3)


BOUNDS = {
    "hybrid_ucb_printed": partial(cascade_central.hybrid_ucb_printed, **CASCADE, xi=0.1),
    "hybrid_ucb_order": partial(cascade_central.hybrid_ucb_order, **CASCADE),
    "dp_lower_printed": partial(cascade_central.dp_lower_printed, **LOWER),
    **{
        name: partial(getattr(armed_central, name), means=MEANS)
        for name in ("adap_ucb", "dp_kl_ucb", "dp_lower", "dp_lower_2022", "dp_se_order", "mishra_thakurta_order")
    },
    "dp_minimax_lower": partial(armed_central.dp_minimax_lower, num_arms=5),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_shapes_and_monotony(name):
    bound = BOUNDS[name]
    values = np.asarray(bound(horizon=[1, 10, 1000, 1e8], epsilon=0.3))
    assert values.shape == (4,)
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()
    assert np.ndim(bound(horizon=1000, epsilon=0.3)) == 0
    by_epsilon = [float(bound(horizon=1e5, epsilon=e)) for e in (1e-3, 0.1, 1.0, math.inf)]
    assert (np.diff(by_epsilon) <= 1e-9).all()
    for bad in ({"horizon": 0, "epsilon": 1.0}, {"horizon": 10, "epsilon": 0.0}, {"horizon": 10, "epsilon": math.nan}):
        with pytest.raises(ValueError, match=r"(horizon|epsilon) must be"):
            bound(**bad)


def test_arms_or_items_all_alike_have_nothing_to_lose():
    for name in ("dp_lower", "dp_lower_2022", "adap_ucb", "dp_se_order", "mishra_thakurta_order"):
        value = getattr(armed_central, name)(horizon=1e5, means=[0.4, 0.4], epsilon=1.0)
        assert value == (2 * math.log(1e5) if name == "dp_se_order" else 0.0)
    assert cascade_central.hybrid_ucb_order(horizon=1e5, means=np.full(5, 0.2), list_len=2, epsilon=1.0) == 0.0
    assert cascade_central.hybrid_ucb_order(horizon=1e5, means=linear(), list_len=4, epsilon=1.0) > 0.0


def test_the_newer_lower_bound_is_the_larger():
    for epsilon in (0.01, 0.1, 1.0):
        newer, older = (f(horizon=1e6, means=MEANS, epsilon=epsilon) for f in (armed_central.dp_lower, armed_central.dp_lower_2022))
        assert newer >= older


def test_adap_ucb_stays_below_its_bound():
    study = Study(
        problem=partial(armed, means=np.asarray(MEANS)), policies={"p": policies.adap_ucb}, grid={"epsilon": [0.2, 1.0]}, seeds=50
    )
    regret = run(study, progress=False)["regret"].sel(policy="p").mean("seed")
    for epsilon in (0.2, 1.0):
        assert (regret.sel(epsilon=epsilon) <= armed_central.adap_ucb(horizon=regret["round"], means=MEANS, epsilon=epsilon)).all()
