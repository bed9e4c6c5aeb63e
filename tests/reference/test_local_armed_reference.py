"""The library's locally private K-armed policies against a slow second implementation, action by action on the same draws."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.identity import Bound
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed as armed_problem
from jaxbandits.problems import rewards

from . import local_armed as reference
from .compare import nudged
from .replay import numbers, replay

SEED = 20210511
CLOSE = 0.002
"""The part of the rounds in which rounding may decide."""


class Law(NamedTuple):
    """What the arms pay, in the library and by our own formulas: (arm of the problem, its mean, the draw) -> reward."""

    there: rewards.Rewards
    here: Callable[[int, float, float], float]
    dtype: type = np.float32
    exact: bool = True  # whether float32 sums are, so that what is equal here is equal there


def _bit(mean, u):
    return 1.0 if u < mean else 0.0


def _beta(mean, u):
    """Beta(4, 1)."""
    return u**0.25


def _two_points(mean, u):
    """0.4 or 1."""
    return 1.0 if u < (mean - 0.4) / (1.0 - 0.4) else 0.4


def _unit(mean, u):
    return u


BITS = Law(rewards.bernoulli, lambda arm, mean, u: _bit(mean, u), np.int32)
NORMAL = Law(rewards.gaussian(), lambda arm, mean, z: mean + z)
OURS = (_bit, _beta, _two_points, _bit, _beta, _unit)
LAWS = {
    _bit: rewards.bit_quantile,
    _beta: rewards.power_quantile(4),
    _two_points: rewards.two_point_quantile(0.4, 1.0),
    _unit: rewards.uniform_quantile(0.0, 1.0),
}
MIXED = Law(rewards.by_arm([LAWS[law] for law in OURS]), lambda arm, mean, u: OURS[arm](mean, u), exact=False)


class Size(NamedTuple):
    """A problem, and how much of it to play."""

    means: tuple[float, ...]
    law: Law
    replicas: int
    horizon: int


SIZES = {
    "bits": Size((0.9, 0.8, 0.7, 0.6, 0.5), BITS, 3, 500),
    "mixed": Size((0.9, 0.8, 0.7, 0.6, 0.8, 0.5), MIXED, 3, 500),
    "normal": Size((1.0, 0.5, 0.5, 0.0), NORMAL, 3, 500),
    "a sure arm and a hopeless one": Size((0.0, 1.0, 0.5), BITS, 2, 300),
    "one arm": Size((0.3,), BITS, 1, 40),
}

NOTHING = ({},)
LOCAL = tuple({"epsilon": epsilon} for epsilon in (0.5, 2.0, math.inf))


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...] = LOCAL
    fixed: dict[str, Any] = {}  # noqa: RUF012  read only

    def label(self, size):
        return ", ".join([self.name, *(f"{name} {value}" for name, value in self.fixed.items()), size])


def _both(name, reference, swept=LOCAL):
    return [Case(name, reference, swept), Case(name, reference, swept, {"author_code": True})]


RAW = (  # rewards in [0, 1]
    *_both("ucb1", reference.Ucb1, NOTHING),
    *_both("ldp_ucb_laplace", reference.LdpUcbLaplace),
    *_both("ldp_ucb_bernoulli", reference.LdpUcbBernoulli),
    Case("ldp_ucb_laplace_chernoff", reference.LdpUcbLaplaceChernoff),
    Case("ldp_kl_ucb", reference.LdpKlUcb, LOCAL, {"refresh_every": 8}),
)
SQUASHED = (  # any rewards
    *_both("sigmoid_ucb1", reference.SigmoidUcb1, NOTHING),
    *_both("ldp_ucb_laplace_sigmoid", reference.LdpUcbLaplaceSigmoid),
    *_both("ldp_ucb_bernoulli_sigmoid", reference.LdpUcbBernoulliSigmoid),
)
PRINTED = tuple(case for case in RAW + SQUASHED if "author_code" not in case.fixed)
PLAYED = [
    *itertools.product(RAW, ("bits", "a sure arm and a hopeless one")),
    *((case, "normal") for case in SQUASHED),
    *((case, "mixed") for case in PRINTED),
    *((case, "one arm") for case in PRINTED if case in RAW),
    (Case("ldp_kl_ucb", reference.LdpKlUcb, LOCAL, {"refresh_every": 1}), "bits"),
]


def play_reference(policy, played, lane, size):
    """Plays one lane beside the library's, and goes on with the library's action where rounding decided.

    Returns:
      The number of rounds where it did, and the pseudo-regret.
    """
    labels = played.instance.labels[:, lane].tolist()
    means = [float(value) for value in played.instance.means[:, lane]]
    np.testing.assert_array_equal(means, np.float32(size.means)[labels])
    close, lost = 0, 0.0
    for now, (theirs,) in enumerate(played.action[:, :, lane].tolist()):
        t = now + 1
        ours = policy.act(t)
        if ours != theirs:
            close += 1
            index = policy.indices(t)
            if not size.law.exact:  # a sum of 0.4s is rounded, so what ties here may differ there
                index = [value * (1 + 1e-12 * arm) for arm, value in enumerate(index)]
            explained = policy.choose(nudged(index, [theirs]), t)
            assert explained == theirs, f"round {t}: {ours} here, {theirs} there; indices {index}, counts {policy.count}"
        reward = size.law.here(labels[theirs], means[theirs], float(played.users["reward"][now, lane]))
        assert math.isclose(reward, played.feedback[now, lane], rel_tol=1e-6, abs_tol=1e-6), f"round {t}"
        policy.update(t, theirs, policy.report(reward, numbers(played.device, now, lane)))
        lost += max(size.means) - size.means[labels[theirs]]
    return close, lost


@pytest.mark.parametrize(("case", "size_name"), PLAYED, ids=[case.label(name) for case, name in PLAYED])
def test_same_actions(case, size_name):
    size = SIZES[size_name]
    num_arms = len(size.means)
    factory = Bound(getattr(policies, case.name), {"num_arms": num_arms, **case.fixed})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    swept = {name: jnp.asarray([parameters[name] for parameters, _ in lanes], jnp.float32) for name in case.swept[0]}
    problem = armed_problem(means=size.means, rewards=size.law.there)
    played = replay(problem, factory, swept, SEED, [replica for _, replica in lanes], size.horizon)
    assert played.feedback.dtype == size.law.dtype

    close = 0
    for lane, (parameters, _) in enumerate(lanes):
        rounds, lost = play_reference(case.reference(num_arms, **case.fixed, **parameters), played, lane, size)
        close += rounds
        np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * size.horizon)
    assert close <= CLOSE * len(lanes) * size.horizon
