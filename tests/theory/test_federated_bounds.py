"""Bounds of federated bandits: worked values, orders of the trade-offs, and measured regret below what is proved."""

import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, networks, problems, run
from jaxbandits.policies import federated as policies
from jaxbandits.theory import federated as theory

MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
BOUNDS = ("cdp_mab_paper", "cdp_mab_calibrated", "cdp_mab", "cdp_mab_secure_sum")


def test_a_worked_value():
    """Two arms of gap 0.45 and no noise: C(1) is nearly 1/8, above 0.45 / 4, and C(2) is half of it."""
    t, m = 1000, 10
    log_term = math.log(2 * 2 * t * 6)
    pulls = math.ceil(8 * log_term * 16 / m)
    assert theory.cdp_mab(horizon=t, means=[0.25, 0.7], num_agents=m, epsilon=math.inf) == pytest.approx(m * 0.45 * (pulls + 2))
    with_delay = theory.cdp_mab(horizon=t, means=[0.25, 0.7], num_agents=m, epsilon=math.inf, delay=3)
    assert with_delay == pytest.approx(m * 0.45 * (pulls + 2 + 3 * 2))


@pytest.mark.parametrize("num_agents", [1, 16])
def test_measured_regret_is_below(num_agents):
    problem = partial(problems.federated, means=MEANS, num_agents=num_agents)
    levels = (0.05, 1.0)
    study = Study(problem=problem, policies={n: getattr(policies, n) for n in BOUNDS}, grid={"epsilon": levels}, seeds=50, horizon=100_000)
    final = run(study, progress=False)["regret"].isel(round=-1).mean("seed")
    for name in BOUNDS:
        for epsilon in levels:
            bound = getattr(theory, name)(horizon=100_000, means=MEANS, num_agents=num_agents, epsilon=epsilon)
            assert float(final.sel(policy=name, epsilon=epsilon)) < bound
            assert bound <= 0.4 * num_agents * 100_000  # the worst there is


def test_measured_regret_with_a_delay_is_below():
    path = networks.path(num_agents=16)
    problem = partial(problems.federated, means=MEANS, num_agents=16, network=path)
    study = Study(problem=problem, policies={"p": partial(policies.ddp_mab, epsilon=1.0)}, seeds=50, horizon=100_000)
    regret = float(run(study, progress=False)["regret"].isel(round=-1).mean())
    bounds = [theory.cdp_mab(horizon=100_000, means=MEANS, num_agents=16, epsilon=1.0, delay=d) for d in (0, 15)]
    assert regret < bounds[1]
    assert bounds[0] < bounds[1] <= bounds[0] + 16 * 15 * 3 * 0.4 * 2


def test_a_gap_that_is_never_found_costs_every_round():
    tiny = [0.5, 0.5 + 1e-6]
    for mode in BOUNDS:
        bound = getattr(theory, mode)(horizon=10**6, means=tiny, num_agents=4, epsilon=1.0)
        assert bound == pytest.approx(4 * 1e-6 * 10**6, rel=1e-4)


def test_orders():
    wide = {"horizon": 10**6, "means": MEANS}
    by_agents = [
        theory.cdp_mab(**wide, num_agents=m, epsilon=1e-3) / theory.cdp_mab(**wide, num_agents=4 * m, epsilon=1e-3) for m in (64, 256)
    ]
    np.testing.assert_allclose(by_agents, 0.5, rtol=0.25)  # sqrt(M) in the private part, up to epochs
    assert theory.cdp_mab_printed(horizon=1e6, means=MEANS, num_agents=4, epsilon=1e-3) == pytest.approx(5 * math.log(1e6) ** 1.5 / 2e-3)
    sampling = math.log(1e6) * sum(1 / gap for gap in (0.1, 0.2, 0.3, 0.4))
    assert theory.cdp_mab_printed(horizon=1e6, means=MEANS, num_agents=4, epsilon=1e3) == pytest.approx(sampling)
    assert theory.regime_switch_printed(horizon=math.e**4, num_agents=9, epsilon=0.1) == pytest.approx(0.15)
    np.testing.assert_allclose(theory.regime_switch_printed(horizon=[1, math.e**4], num_agents=9, epsilon=0.1), [math.inf, 0.15])
    assert theory.regime_switch_printed(horizon=1, num_agents=9, epsilon=0.1) == math.inf
    curve = theory.cdp_mab(horizon=[100, 10_000], means=MEANS, num_agents=2, epsilon=1.0)
    assert np.shape(curve) == (2,)
    assert theory.cdp_mab(horizon=100, means=[0.5, 0.5], num_agents=2, epsilon=1.0) == 0


def test_costs_of_communication():
    assert [theory.communication_rounds(gap) for gap in (1.0, 0.5, 0.25, 0.1)] == [1, 2, 3, 5]
    assert theory.server_cost(num_agents=16, price=0.5) == 8
    assert theory.graph_cost_printed(diameter=2, num_links=15, price=2.0) == 60
    assert theory.hybrid_cost(num_components=4, links_used=12, server_price=3.0, link_price=0.5) == 18
    for bad in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="smallest_gap must be above 0 and at most 1"):
            theory.communication_rounds(bad)
    with pytest.raises(ValueError, match="num_agents must be"):
        theory.cdp_mab(horizon=100, means=MEANS, num_agents=0, epsilon=1.0)
