"""The library's convex policies and those for adversarial arms against a slow second implementation, on the same draws."""

import inspect
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from jaxbandits import domains
from jaxbandits.identity import Bound
from jaxbandits.policies import armed, convex
from jaxbandits.policies.armed.halving import phases
from jaxbandits.problems import armed as armed_problem
from jaxbandits.problems import linear, losses, one_point, two_point

from . import convex as reference
from .replay import numbers, replay

SEED = 20200600
HORIZON = 120
BODIES = {
    "ball": (domains.ball(dim=3, radius=2.0), reference.Ball(3, 2.0)),
    "box": (domains.box(dim=2, low=-1.0, high=3.0), reference.Box(2, -1.0, 3.0)),
    "simplex": (domains.simplex(dim=3), reference.Simplex(3)),
}


class Pair(NamedTuple):
    """A learner and its reference, which is made of the body and what is known of the losses."""

    there: Any
    here: Any
    two: bool = False


def _start(body):
    return "barrier" if isinstance(body, reference.Simplex) else "centre"


PAIRS = {
    "fkm": Pair(convex.fkm, lambda body, k: reference.FKM(body, HORIZON, k["loss_bound"], k["lipschitz"])),
    "fkm, strongly convex": Pair(
        convex.fkm_strongly_convex,
        lambda body, k: reference.StronglyConvexFKM(body, HORIZON, k["loss_bound"], k["lipschitz"], k["strong_convexity"]),
    ),
    "saha, tewari": Pair(
        convex.saha_tewari, lambda body, k: reference.SahaTewari(body, HORIZON, k["loss_bound"], k["smoothness"], _start(body))
    ),
    "hazan, levy": Pair(
        convex.hazan_levy,
        lambda body, k: reference.HazanLevy(body, HORIZON, k["loss_bound"], k["smoothness"], k["strong_convexity"], _start(body)),
    ),
    "two points": Pair(convex.two_point, lambda body, k: reference.TwoPoint(body, HORIZON, k["lipschitz"]), two=True),
    "two points, falling rate": Pair(
        partial(convex.two_point, rate=convex.falling_rate),
        lambda body, k: reference.TwoPoint(body, HORIZON, k["lipschitz"], 0.0, k["strong_convexity"]),
        two=True,
    ),
}


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", PAIRS)
def test_plays_like_the_reference(name, body, private):
    pair, (domain, mine) = PAIRS[name], BODIES[body]
    problem = (two_point if pair.two else one_point)(domain=domain, losses=losses.quadratic(domain=domain))
    known = {k: v for k, v in problem.shared.items() if k != "domain"}
    epsilon, delta, noise = 4.0, 0.01, 0.0
    there = Bound(pair.there.func, pair.there.keywords) if isinstance(pair.there, partial) else Bound(pair.there, {})
    if private and pair.two:
        rates = {k: v for k, v in there.arguments.items() if k == "rate"}
        there = Bound(convex.gaussian_two_point, {**rates, "epsilon": epsilon, "delta": delta})
        noise = 2 * known["lipschitz"] / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    elif private:
        there = Bound(convex.gaussian_one_point, {"epsilon": epsilon, "delta": delta, "black_box": pair.there})
        noise = 2 * known["loss_bound"] / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    takes = inspect.signature(there.function).parameters
    given = {k: v for k, v in {**known, "domain": domain, "horizon": HORIZON}.items() if k in takes}
    played = replay(problem, Bound(there.function, {**there.arguments, **given}), {}, SEED, np.arange(2), HORIZON)
    for lane in range(2):
        told = {**known, "loss_bound": known["loss_bound"] + (0 if pair.two else noise * math.sqrt(2 * math.log(2 * HORIZON**2)))}
        learner = pair.here(mine, told)
        if pair.two:
            strong = known["strong_convexity"] if "falling" in name else None
            learner = reference.TwoPoint(mine, HORIZON, known["lipschitz"], noise, strong)
        for now in range(HORIZON):
            drawn = {**numbers(played.server, now, lane), **numbers(played.device, now, lane)}
            point = learner.play(now + 1, drawn["direction"])
            np.testing.assert_allclose(played.action[now, ..., lane], point, atol=5e-4 * domain.outer_radius, err_msg=str(now))
            answer = played.feedback[now, ..., lane].astype(np.float64)
            value = answer
            if pair.two:
                value = (answer[0] - answer[1]) / (2 * learner.rho)
            learner.learn(now + 1, drawn["direction"], float(value) + noise * float(drawn.get("noise", 0.0)))


LOW, HIGH = -1.0, 2.0
ARMS = {
    "exp3": (
        Bound(armed.exp3, {"num_arms": 4, "horizon": HORIZON, "low": LOW, "high": HIGH}),
        lambda: reference.Exp3(4, HORIZON, LOW, HIGH),
    ),
    "tsallis": (Bound(armed.tsallis_inf, {"num_arms": 4, "low": LOW, "high": HIGH}), lambda: reference.TsallisINF(4, LOW, HIGH)),
}


@pytest.mark.parametrize("name", ARMS)
def test_draws_arms_like_the_reference(name):
    there, make = ARMS[name]
    played = replay(armed_problem(means=linear(4, 0.9, 0.1)), there, {}, SEED, np.arange(3), HORIZON)
    for lane in range(3):
        mine = make()
        for now in range(HORIZON):
            drawn = float(played.server["arm"][now, lane])
            arm = int(played.action[now, 0, lane])
            if mine.choose(now + 1, drawn) != arm:
                level = np.cumsum(mine.probabilities(now + 1))
                assert np.min(np.abs(level - drawn)) < 1e-5, (lane, now)
            mine.learn(now + 1, arm, float(played.feedback[now, lane]))


@pytest.mark.parametrize(("num_arms", "horizon"), [(1, 20), (2, 40), (5, 100), (6, 20)])
def test_halves_like_the_reference(num_arms, horizon):
    there = Bound(armed.sequential_halving, {"num_arms": num_arms, "horizon": horizon})
    played = replay(armed_problem(means=linear(num_arms, 0.9, 0.1)), there, {}, SEED, np.arange(4), horizon)
    for lane in range(4):
        mine = reference.Halving(num_arms, horizon)
        for now in range(horizon):
            assert mine.choose(now + 1) == played.action[now, 0, lane], (lane, now)
            mine.learn(now + 1, int(played.action[now, 0, lane]), float(played.feedback[now, lane]))


def test_phases_halve_until_one_is_left():
    for num_arms in range(2, 40):
        found = phases(num_arms, 10_000)
        assert -(-found[-1][0] // 2) == 1
        assert found[-1][1] <= 10_000
    assert phases(1, 10) == []
