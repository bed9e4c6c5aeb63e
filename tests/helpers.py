"""What many tests need: every policy by discovery, with values for its arguments and a problem that it plays."""

import functools
import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandits import cli, domains, links, networks, oracles, policies, problems
from jaxbandits.core import Round
from jaxbandits.engine import draws

ROUND = Round(t=jnp.int32(1), context=())
"""The first round of a problem without contexts."""
VALUES = {"epsilon": 1.0, "delta": 1e-3, "horizon": 1000}


class Family(NamedTuple):
    """How the policies of a family are tested. Sizes are the number of items and the length of a list, or what stands for them.

    Attributes:
      sizes: (num_items, list_len) -> the arguments of a factory that say what it plays.
      problem: (num_items, list_len, **fixed) -> a problem, its axis free unless fixed.
      axis: the argument of the problem that tests vary; "" for none.
      feedbacks: list_len -> raw feedbacks that a policy may meet.
      bad_sizes: sizes that are refused, and the argument that is named.
      edges: sizes, and values of the axis by label.
      alike: (num_items, list_len) -> values for which nothing can be lost.
      turned: two values between which only the order differs.
      size: of the runs that share a compilation.
      only_one: whether there is a single action.
      round: (num_items, list_len) -> the first round.
      counts: whether states count what was observed.
    """

    sizes: Callable[[int, int], dict[str, Any]]
    problem: Callable[..., Any]
    axis: str
    feedbacks: Callable[[int], list[Any]]
    bad_sizes: list[tuple[Any, Any, str]]
    edges: dict[str, tuple[int, int, dict[str, Any]]]
    alike: Callable[[int, int], dict[str, Any]] | None
    turned: Callable[[int, int], dict[str, Any]] | None
    size: tuple[int, int] = (8, 3)
    only_one: Callable[[int, int], bool] = lambda num_items, list_len: num_items == list_len
    round: Callable[[int, int], Round] = lambda num_items, list_len: ROUND
    counts: bool = True


LISTS = {
    "one item": (1, 1, {"zero": np.array([0.0]), "low": np.array([0.3]), "one": np.array([1.0])}),
    "list of one": (5, 1, {"linear": problems.linear(5), "zero": np.zeros(5), "one": np.ones(5)}),
    "list of all": (4, 4, {"linear": problems.linear(4), "zero": np.zeros(4), "one": np.ones(4)}),
}


def _alike(num_items, list_len):
    return {"zero": np.zeros(num_items), "middle": np.full(num_items, 0.4), "one": np.ones(num_items)}


def _turned(num_items, list_len):
    """The good items first or last."""
    return {"first": problems.linear(num_items, 0.8, 0.1), "last": problems.linear(num_items, 0.8, 0.1)[::-1]}


def _bad(items, length):
    return [(0, 1, items), (3, 4, length), (3, 0, length), (3.5, 1, items)]


CASCADES = Family(
    sizes=lambda num_items, list_len: {"num_items": num_items, "list_len": list_len},
    problem=lambda num_items, list_len, **fixed: functools.partial(problems.cascade, list_len=list_len, **fixed),
    axis="means",
    feedbacks=lambda list_len: list(range(list_len + 1)),
    bad_sizes=_bad("num_items", "list_len"),
    edges=LISTS,
    alike=_alike,
    turned=_turned,
)
ARMS = CASCADES._replace(
    sizes=lambda num_items, list_len: {"num_arms": num_items},
    problem=lambda num_items, list_len, **fixed: functools.partial(problems.armed, **fixed),
    feedbacks=lambda list_len: [0, 1],
    bad_sizes=[(0, 1, "num_arms"), (3.5, 1, "num_arms")],
    # Of the size of other runs, whose compilation they share.
    edges={"one arm": LISTS["one item"], "several": (8, 1, {"linear": problems.linear(8), "zero": np.zeros(8), "one": np.ones(8)})},
)


AGENTS = ARMS._replace(  # list_len stands for the number of agents
    sizes=lambda num_items, list_len: {
        "num_arms": num_items,
        "num_agents": list_len,
        "network": networks.path(num_agents=max(int(list_len), 1)),
    },
    problem=lambda num_items, list_len, **fixed: functools.partial(
        problems.federated, num_agents=list_len, network=networks.path(num_agents=list_len), **fixed
    ),
    feedbacks=lambda list_len: [[0] * list_len, [1] * list_len],
    bad_sizes=[(0, 1, "num_arms"), (3.5, 1, "num_arms"), (3, 0, "num_agents"), (3, 2.5, "num_agents")],
    edges={
        "one arm": LISTS["one item"],
        "one agent": LISTS["list of one"],
        "several agents": (4, 3, {"linear": problems.linear(4), "zero": np.zeros(4), "one": np.ones(4)}),
    },
    only_one=lambda num_items, list_len: num_items == 1,
    size=(4, 3),  # that of an edge, whose compilation they share
    counts=False,
)


def _top(num_items, list_len):
    return oracles.top_k(num_base_arms=num_items, list_len=list_len)


SETS = CASCADES._replace(
    sizes=lambda num_items, list_len: {"oracle": _top(num_items, list_len)},
    problem=lambda num_items, list_len, **fixed: functools.partial(problems.semi_bandit, oracle=_top(num_items, list_len), **fixed),
    feedbacks=lambda list_len: [list(bits) for bits in itertools.product((0, 1), repeat=list_len)],
    bad_sizes=_bad("num_base_arms", "list_len"),
)


def _axis(dim, place):
    return np.eye(dim)[place]


LINK = links.linear()
CONTEXTS = Family(  # list_len stands for the number of features
    sizes=lambda num_items, list_len: {"dim": list_len, "link": LINK},
    problem=lambda num_items, list_len, **fixed: functools.partial(
        problems.contextual, contexts=problems.contexts.sphere(dim=list_len, num_actions=num_items), link=LINK, **fixed
    ),
    axis="theta",
    feedbacks=lambda list_len: [-1.0, 1.0],
    bad_sizes=[(3, 0, "dim"), (3, 2.5, "dim"), (3, 1000, "dim")],
    edges={
        "one action": (1, 1, {"zero": np.zeros(1), "one": np.ones(1)}),
        "several": (5, 3, {"zero": np.zeros(3), "unit": _axis(3, 0)}),
    },
    alike=lambda num_items, list_len: {"zero": np.zeros(list_len), "again": np.zeros(list_len)},
    turned=lambda num_items, list_len: {"first": _axis(list_len, 0), "last": _axis(list_len, list_len - 1)},
    size=(5, 3),
    only_one=lambda num_items, list_len: num_items == 1,
    round=lambda num_items, list_len: Round(
        t=jnp.int32(1), context=jnp.asarray(np.linspace(-0.5, 0.5, num_items * list_len).reshape(num_items, list_len), jnp.float32)
    ),
    counts=False,
)


def _losses(dim):
    domain = domains.ball(dim=dim)
    return domain, problems.losses.quadratic(domain=domain)


def _known(num_items, list_len):
    domain, law = _losses(list_len)
    return {
        "domain": domain,
        "loss_bound": law.bound,
        "lipschitz": law.lipschitz,
        "smoothness": law.smoothness,
        "strong_convexity": law.strong_convexity,
    }


def _convex(problem):
    def make(num_items, list_len, **fixed):
        domain, law = _losses(list_len)
        return functools.partial(problem, domain=domain, losses=law, **fixed)

    return make


POINT = Family(  # list_len stands for the number of coordinates
    sizes=_known,
    problem=_convex(problems.one_point),
    axis="",
    feedbacks=lambda list_len: [-1.0, 1.0],
    bad_sizes=[],
    edges={"one coordinate": (1, 1, {}), "several": (1, 3, {})},
    alike=None,
    turned=None,
    size=(1, 3),
    only_one=lambda num_items, list_len: False,
    counts=False,
)
PAIR = POINT._replace(problem=_convex(problems.two_point), feedbacks=lambda list_len: [[0.0, 1.0], [1.0, 0.0]])

CASCADE = {name: getattr(policies.cascade, name) for name in policies.cascade.__all__}
ARMED = {name: getattr(policies.armed, name) for name in policies.armed.__all__}
SEMI_BANDIT = {name: getattr(policies.semi_bandit, name) for name in policies.semi_bandit.__all__}
CONTEXTUAL = {name: getattr(policies.contextual, name) for name in policies.contextual.__all__}
CONVEX = {name: getattr(policies.convex, name) for name in policies.convex.__all__}
FEDERATED = {name: getattr(policies.federated, name) for name in policies.federated.__all__}
POLICIES = {**CASCADE, **ARMED, **SEMI_BANDIT, **CONTEXTUAL, **CONVEX, **FEDERATED}


def numbers(declared, runs, seed=3):
    """Independent numbers for declared draws, runs on the last axis."""
    plan = draws.layout({draws.DEVICE: declared})
    found = draws.generate(plan, jnp.uint32(seed), jnp.arange(runs, dtype=jnp.uint32), jnp.ones(1, jnp.int32))
    return {name: value[0] for name, value in found[draws.DEVICE].items()}


def takes(factory, name):
    """Whether the factory has an argument of that name."""
    return name in inspect.signature(factory).parameters


def family(factory):
    """How the factory's family is tested."""
    if takes(factory, "domain"):
        return POINT if takes(factory, "loss_bound") else PAIR
    played = {"num_agents": AGENTS, "link": CONTEXTS, "oracle": SETS, "num_arms": ARMS}
    return next((found for name, found in played.items() if takes(factory, name)), CASCADES)


def swept(factory, **values):
    """The values for those arguments that the factory has."""
    return {k: v for k, v in {**VALUES, **values}.items() if takes(factory, k)}


def build(factory, num_items, list_len, **values):
    """The policy with the usual values for what it needs; for arms, list_len is not looked at."""
    sizes = {k: v for k, v in family(factory).sizes(num_items, list_len).items() if takes(factory, k)}
    return factory(**sizes, **swept(factory, **values))


def bind(factory, **values):
    """The factory with the usual values fixed, for a study."""
    return functools.partial(factory, **swept(factory, **values))


def feedbacks(factory, list_len):
    """Every raw feedback of a user that the policy may meet: rewards 0 and 1, positions of the click, or bits of a super arm."""
    return family(factory).feedbacks(list_len)


def problem_of(factory, num_items, list_len, **fixed):
    """A problem that the policy plays, its means free unless fixed."""
    return family(factory).problem(num_items, list_len, **fixed)


def command_line(monkeypatch, capsys):
    """The command line as a function of its words: exit status, what is printed, what is said beside it."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["jaxbandits", *map(str, words)])
        try:
            cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call
