"""The library's contextual policies against a slow second implementation, action by action on the same draws."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from jaxbandits import links
from jaxbandits.identity import Bound
from jaxbandits.policies import contextual as policies
from jaxbandits.problems import contexts, contextual

from . import contextual as reference
from .replay import numbers, replay

SEED = 20200600
NEAR = 2e-4
"""Distance of two indices, relative to the largest, that float32 may confuse."""
CLOSE = 0.02
"""The part of the rounds in which rounding may decide."""


class Pair(NamedTuple):
    """A policy and its reference."""

    here: Any  # (dim, horizon, epsilon) -> reference
    there: Any
    link: links.Link = links.linear()
    epsilon: float | None = 2.0
    delta: bool = True


def _linucb(variant):
    sound = {"reward_bound": 1.0, "reward_noise": 0.1, "theta_bound": 1.0} if variant == "sound" else {}
    return lambda dim, horizon, epsilon: reference.LinUCB(dim, horizon, epsilon, 0.01, 0.1, variant, **sound)


def _glm(variant, link, bound=1.0):
    return lambda dim, horizon, epsilon: reference.GLM(dim, horizon, epsilon, 0.01, 0.1, variant, link, reward_bound=bound)


def _gloc(link, noise):
    return lambda dim, horizon, epsilon: reference.GLOC(dim, 0.1, link, noise, 1.0, 1.0)


PAIRS = {
    "linucb, paper": Pair(_linucb("paper"), policies.ldp_linucb_paper),
    "linucb, paper, little noise": Pair(_linucb("paper"), policies.ldp_linucb_paper, epsilon=1e4),
    "linucb, author_code": Pair(_linucb("author_code"), policies.ldp_linucb_author_code),
    "linucb, author_code, little noise": Pair(_linucb("author_code"), policies.ldp_linucb_author_code, epsilon=1e3),
    "linucb, sound": Pair(_linucb("sound"), policies.ldp_linucb),
    "linucb, sound, little noise": Pair(_linucb("sound"), policies.ldp_linucb, epsilon=100.0),
    "linucb, sound, no noise": Pair(_linucb("sound"), policies.ldp_linucb, epsilon=float("inf")),
    "glm, paper": Pair(_glm("paper", "logistic"), policies.ldp_glm_paper, links.logistic()),
    "glm, paper, little noise": Pair(_glm("paper", "logistic"), policies.ldp_glm_paper, links.logistic(), epsilon=1e3),
    "glm, sound": Pair(_glm("sound", "logistic"), policies.ldp_glm, links.logistic()),
    "glm, sound, linear": Pair(_glm("sound", "linear"), policies.ldp_glm, links.linear(), epsilon=50.0),
    "glm, sound, poisson": Pair(_glm("sound", "poisson", 10.0), policies.ldp_glm, links.poisson(), epsilon=100.0),
    "oful": Pair(lambda dim, horizon, epsilon: reference.OFUL(dim, 0.1, 0.1, 1.0, 1.0, 1.0), policies.oful, epsilon=None, delta=False),
    "gloc, linear": Pair(_gloc("linear", 0.1), policies.gloc, epsilon=None, delta=False),
    "gloc, logistic": Pair(_gloc("logistic", 0.5), policies.gloc, links.logistic(), epsilon=None, delta=False),
    "joint": Pair(
        lambda dim, horizon, epsilon: reference.JointPrivate(dim, horizon, epsilon, 0.01, 0.1, 1.0, 0.1, 1.0), policies.joint_dp_linucb
    ),
    "joint, little noise": Pair(
        lambda dim, horizon, epsilon: reference.JointPrivate(dim, horizon, epsilon, 0.01, 0.1, 1.0, 0.1, 1.0),
        policies.joint_dp_linucb,
        epsilon=50.0,
    ),
    "ols": Pair(lambda dim, horizon, epsilon: reference.GreedyOLS(dim, horizon, epsilon, 0.01, 0.1, 1.0), policies.ldp_ols, epsilon=10.0),
    "sgd": Pair(lambda dim, horizon, epsilon: reference.LdpSGD(dim, epsilon, 1.0, 1.0), policies.ldp_sgd, delta=False),
}


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", PAIRS)
def test_plays_like_the_reference(name, dim):
    pair = PAIRS[name]
    horizon, replicas = 150, 3
    problem = contextual(contexts=contexts.sphere(dim=dim, num_actions=5), link=pair.link)
    fixed = {"dim": dim, "link": pair.link}
    fixed |= {"horizon": horizon} if pair.delta else {}
    fixed |= {"delta": 0.01} if pair.delta else {}
    fixed |= {} if pair.epsilon is None else {"epsilon": pair.epsilon}
    played = replay(problem, Bound(pair.there, fixed), {}, SEED, np.arange(replicas), horizon)
    close = raised = 0
    for lane in range(replicas):
        mine = pair.here(dim, horizon, pair.epsilon)
        for now in range(horizon):
            features = played.context[now, ..., lane].astype(np.float64)
            index = np.asarray(mine.choose(now + 1, features))
            action = played.action[now, 0, lane]
            if action != int(np.argmax(index)):
                assert index.max() - index[action] <= NEAR * max(1e-3, np.abs(index).max()), (lane, now, index, action)
                close += 1
            drawn = {**numbers(played.device, now, lane), **numbers(played.server, now, lane)}
            mine.learn(now + 1, features[action], float(played.feedback[now, lane]), drawn)
            raised += getattr(mine, "raised", False)
    # In one dimension indices of opposite actions are often alike.
    assert close <= (CLOSE if dim > 1 else 0.2) * horizon * replicas
    assert not raised or pair.epsilon == float("inf")
