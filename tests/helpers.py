"""What many tests need: every policy by discovery, with values for its arguments and a problem that it plays."""

import functools
import inspect
import itertools

import jax.numpy as jnp

from jaxbandits import oracles, policies, problems
from jaxbandits.core import Round

CASCADE = {name: getattr(policies.cascade, name) for name in policies.cascade.__all__}
ARMED = {name: getattr(policies.armed, name) for name in policies.armed.__all__}
SEMI_BANDIT = {name: getattr(policies.semi_bandit, name) for name in policies.semi_bandit.__all__}
POLICIES = {**CASCADE, **ARMED, **SEMI_BANDIT}
ROUND = Round(t=jnp.int32(1), context=())
"""The first round of a problem without contexts."""
VALUES = {"epsilon": 1.0, "delta": 1e-3, "horizon": 1000}


def takes(factory, name):
    """Whether the factory has an argument of that name."""
    return name in inspect.signature(factory).parameters


def swept(factory, **values):
    """The values for those arguments that the factory has."""
    return {k: v for k, v in {**VALUES, **values}.items() if takes(factory, k)}


def build(factory, num_items, list_len, **values):
    """The policy with the usual values for what it needs; for arms, list_len is not looked at."""
    if takes(factory, "oracle"):
        sizes = {"oracle": oracles.top_k(num_base_arms=num_items, list_len=list_len)}
    else:
        sizes = {"num_arms": num_items} if takes(factory, "num_arms") else {"num_items": num_items, "list_len": list_len}
    return factory(**sizes, **swept(factory, **values))


def bind(factory, **values):
    """The factory with the usual values fixed, for a study."""
    return functools.partial(factory, **swept(factory, **values))


def feedbacks(factory, list_len):
    """Every raw feedback of a user that the policy may meet: rewards 0 and 1, positions of the click, or bits of a super arm."""
    if takes(factory, "oracle"):
        return [list(bits) for bits in itertools.product((0, 1), repeat=list_len)]
    return [0, 1] if takes(factory, "num_arms") else list(range(list_len + 1))


def problem_of(factory, num_items, list_len, **fixed):
    """A problem that the policy plays, its means free unless fixed."""
    if takes(factory, "oracle"):
        return functools.partial(problems.semi_bandit, oracle=oracles.top_k(num_base_arms=num_items, list_len=list_len), **fixed)
    if takes(factory, "num_arms"):
        return functools.partial(problems.armed, **fixed)
    return functools.partial(problems.cascade, list_len=list_len, **fixed)
