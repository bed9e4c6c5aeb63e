"""The library's federated policies, slot by slot, against message passing between agents, action by action on the same draws."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from jaxbandits import networks, problems
from jaxbandits.policies import federated as policies

from . import federated as reference
from .replay import replay

SEED, HORIZON = 20211102, 4_000
MEANS = (0.9, 0.75, 0.3, 0.5)
EPSILONS = np.array([0.3, 1.0, 5.0, math.inf], np.float32)
AGENTS = 6

RING = networks.ring(num_agents=AGENTS)
PATH = networks.path(num_agents=AGENTS)
HUBS = networks.multi_star(num_agents=AGENTS, num_hubs=2)
PARTS = networks.disjoint(networks.path(num_agents=3), networks.star(num_agents=2), networks.star(num_agents=1))
MIXED = networks.disjoint(networks.ring(num_agents=4), networks.path(num_agents=2))
SINGLE = networks.from_adjacency(np.zeros((AGENTS, AGENTS)))


class Case(NamedTuple):
    """A policy, and what the reference calls it."""

    name: str
    mode: str
    network: networks.Network | None = None
    options: dict[str, Any] = {}  # noqa: RUF012  read only
    secure_sum: bool = False

    def label(self):
        graph = f"{self.network.num_agents} agents, {len(self.network.links)} links" if self.network else "server"
        return ", ".join([self.name, graph, *(f"{k} {v}" for k, v in self.options.items())])


FEW = {"num_comm_rounds": 3, "smallest_gap": 0.1}
CASES = [
    Case("cdp_mab_paper", "paper"),
    Case("cdp_mab_paper", "paper", None, {"participation": 0.5}),
    Case("cdp_mab_calibrated", "calibrated"),
    Case("cdp_mab_calibrated", "calibrated", None, {"num_comm_rounds": 2, "smallest_gap": 0.3}),
    Case("cdp_mab", "sound"),
    Case("cdp_mab", "sound", None, {"newest_epoch": True, "participation": 0.4}),
    Case("cdp_mab", "sound", None, FEW),
    Case("cdp_mab_secure_sum", "sound", None, {}, True),
    Case("cdp_mab_secure_sum", "sound", None, {"newest_epoch": True, "participation": 0.67}, True),
    Case("ddp_mab_paper", "paper", RING),
    Case("ddp_mab_calibrated", "calibrated", PATH),
    Case("ddp_mab", "sound", HUBS),
    Case("ddp_mab", "sound", PATH, {"newest_epoch": True}),
    Case("ddp_mab", "sound", RING, FEW),
    Case("hdp_mab_paper", "paper", PARTS),
    Case("hdp_mab_calibrated", "calibrated", MIXED),
    Case("hdp_mab", "sound", PARTS),
    Case("hdp_mab", "sound", SINGLE),
]


def adjacency(network):
    matrix = np.zeros((network.num_agents, network.num_agents), int)
    for i, j in network.links:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


def told(case, means, u, z, epsilon):
    """The reference's run."""
    options = {**case.options, "newest_epoch": case.options.get("newest_epoch", False)}
    participation = options.pop("participation", 1.0)
    common = (means, u, z, HORIZON, epsilon, case.mode)
    if case.network is None:
        return reference.run_cdp(*common, participation=participation, secure_sum=case.secure_sum, **options)
    run = reference.run_hdp if case.name.startswith("hdp") else reference.run_ddp
    return run(adjacency(case.network), *common, **options)


@pytest.mark.parametrize("case", CASES, ids=Case.label)
def test_agrees_action_by_action(case):
    fixed = {"num_arms": len(MEANS), "num_agents": AGENTS, "horizon": HORIZON, **({"network": case.network} if case.network else {})}
    factory = functools.partial(getattr(policies, case.name), **fixed, **case.options)
    courses = [factory(epsilon=epsilon).derived["course"] for epsilon in EPSILONS.tolist()]
    swept = {"epsilon": EPSILONS, "course": np.stack(courses, axis=-1).astype(np.float32)}
    problem = problems.federated(means=np.array(MEANS), num_agents=AGENTS)
    lanes = replay(problem, factory, swept, SEED, np.arange(len(EPSILONS)), HORIZON)
    finished = 0
    for lane, epsilon in enumerate(EPSILONS.tolist()):
        means = np.asarray(lanes.instance.means)[..., lane]
        u, z = lanes.users["reward"][..., lane], lanes.server["noise"][..., lane]
        z = np.broadcast_to(z, (HORIZON, AGENTS))  # of a secure sum only the first is looked at
        found = told(case, means, u, z, epsilon)
        np.testing.assert_array_equal(lanes.action[..., lane], found.pulls)
        gaps = means.max() - means.astype(np.float64)
        assert lanes.regret[lane] == pytest.approx(gaps[found.pulls].sum(), rel=1e-5)
        finished += found.communications
    assert finished >= len(EPSILONS)


@pytest.mark.parametrize("rounds", [{}, {"num_comm_rounds": 5, "smallest_gap": 0.05}, {"num_comm_rounds": 2}], ids=str)
@pytest.mark.parametrize("mode", ["paper", "calibrated", "sound", "secure_sum", "newest_epoch"])
def test_lengths_and_radii(mode, rounds):
    name = {"paper": "cdp_mab_paper", "calibrated": "cdp_mab_calibrated", "secure_sum": "cdp_mab_secure_sum"}.get(mode, "cdp_mab")
    newest = {"newest_epoch": True} if mode == "newest_epoch" else {}
    size = {"num_arms": 5, "num_agents": 16, "horizon": 1_000_000}
    course = getattr(policies, name)(**size, epsilon=0.1, **newest, **rounds).derived["course"]
    told = reference.cumulative_pulls_and_radii(
        5,
        1_000_000,
        16,
        0.1,
        mode if mode in ("paper", "calibrated") else "sound",
        newest_epoch=bool(newest),
        secure_sum=mode == "secure_sum",
        **rounds,
    )
    count = len(told.fresh)
    # Pulls are rounded up to 24 binary digits here, and cut at 2^30.
    np.testing.assert_allclose(course[:count], np.minimum(told.fresh, 2.0**30), rtol=2e-7)
    np.testing.assert_allclose(
        course[65 : 65 + count][np.array(told.total) < 2**30], np.array(told.radius)[np.array(told.total) < 2**30], rtol=1e-6
    )


GRAPHS = {
    "complete": networks.complete(num_agents=9),
    "star": networks.star(num_agents=9),
    "ring": networks.ring(num_agents=9),
    "path": networks.path(num_agents=9),
    "grid": networks.grid(num_agents=9),
    "multi-star": networks.multi_star(num_agents=9, num_hubs=3),
    "random": networks.erdos_renyi(num_agents=9, link_prob=0.35, seed=1),
    "one": networks.star(num_agents=1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_messages_of_flooding(name):
    slots, talk = reference.flood(adjacency(GRAPHS[name]))
    counts = talk.counts
    found = networks.flood(GRAPHS[name])
    assert found == (slots, counts.adv, counts.req, counts.data, counts.items, counts.data_links, counts.links)


@pytest.mark.parametrize("name", [*GRAPHS, "parts"])
def test_messages_of_collecting(name):
    network = GRAPHS.get(name, PARTS)
    slots, talk = reference.collect(adjacency(network))
    found = networks.collect(network)
    sizes = tuple(len(component) for component in talk.components)
    assert found == (slots, tuple(talk.sinks), sizes, talk.counts.links, talk.counts.items)
