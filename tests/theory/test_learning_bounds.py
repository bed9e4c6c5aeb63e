"""Bounds of convex and contextual learners: values by hand, measured regret below the proved one, slopes."""

import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, domains, problems, run
from jaxbandits.mechanisms import calibrate
from jaxbandits.policies import convex
from jaxbandits.problems import losses
from jaxbandits.theory import contextual as contexts_theory
from jaxbandits.theory import convex as theory

DISC = domains.ball(dim=2)
LAW = losses.quadratic(domain=DISC)


def test_values():
    assert theory.fkm_upper(horizon=16, dim=1, loss_bound=1.0, lipschitz=2.0) == pytest.approx(2 * 8 * 3)
    assert theory.strongly_convex_order(horizon=8, dim=1, loss_bound=8.0, lipschitz=1.0, strong_convexity=1.0) == pytest.approx(16.0)
    assert theory.smooth_order(horizon=1000, dim=1, loss_bound=1.0, smoothness=8.0) == pytest.approx(200 * math.log(1000) ** (1 / 3))
    wanted = 3 * math.sqrt(5 * 100 * math.log(100))
    given = {"loss_bound": 3.0, "smoothness": 2.0, "strong_convexity": 1.0}
    assert theory.smooth_strongly_convex_order(horizon=100, dim=1, **given) == pytest.approx(wanted)
    assert theory.two_point_order(horizon=100, dim=2, lipschitz=3.0, sigma=4.0) == pytest.approx(100.0)
    assert theory.two_point_strongly_convex_order(horizon=100, dim=1, lipschitz=1.0, strong_convexity=2.0) == pytest.approx(
        math.log(100) / 2
    )
    assert theory.reduction_order(horizon=100, num_arms=4, epsilon=2.0) == pytest.approx(10.0)
    assert contexts_theory.ldp_linucb_printed(horizon=16, dim=1, epsilon=2.0) == pytest.approx(4.0)
    assert contexts_theory.ldp_linucb_order(horizon=16, dim=1, sigma=4.0) == pytest.approx(16.0)
    assert contexts_theory.ldp_glm_printed(horizon=16, epsilon=1.0, slope=0.5) == pytest.approx(16.0)
    np.testing.assert_allclose(contexts_theory.oful_order(horizon=[4, 9], dim=2), [4, 6])
    assert contexts_theory.joint_dp_order(horizon=16, dim=1, epsilon=4.0) == pytest.approx(2.0)


def test_told_bound_is_that_of_the_reduction():
    sigma = calibrate.analytic_sigma(1.0, 1e-2, 6.0)
    told = theory.told(loss_bound=3.0, horizon=100, epsilon=1.0, delta=1e-2)
    assert told == pytest.approx(3 + sigma * math.sqrt(2 * math.log(2 * 100**2)))
    assert theory.told(loss_bound=3.0, horizon=100, epsilon=math.inf, delta=1e-2) == 3.0


def test_fkm_stays_below_its_bound():
    """A11, without and with noise."""
    horizon = 2000
    study = Study(
        problem=partial(problems.one_point, domain=DISC, losses=LAW),
        policies={"p": partial(convex.ldp_gaussian_one_point, delta=1e-2)},
        grid={"epsilon": [1.0, math.inf]},
        seeds=20,
        horizon=horizon,
        checkpoints=(horizon,),
    )
    regret = run(study, progress=False)["regret"].sel(policy="p").isel(round=-1).mean("seed")
    for epsilon in (1.0, math.inf):
        told = theory.told(loss_bound=LAW.bound, horizon=horizon, epsilon=epsilon, delta=1e-2)
        bound = theory.fkm_upper(horizon=horizon, dim=2, loss_bound=told, lipschitz=LAW.lipschitz)
        assert float(regret.sel(epsilon=epsilon)) <= bound + 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.fkm_upper(horizon=0, dim=2, loss_bound=1.0, lipschitz=1.0),
        lambda: theory.fkm_upper(horizon=10, dim=2, loss_bound=-1.0, lipschitz=1.0),
        lambda: theory.two_point_order(horizon=10, dim=2, lipschitz=1.0, sigma=-1.0),
        lambda: contexts_theory.oful_order(horizon=10, dim=0),
        lambda: contexts_theory.ldp_glm_printed(horizon=10, epsilon=1.0, slope=0.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(ValueError, match="must be"):
        call()
