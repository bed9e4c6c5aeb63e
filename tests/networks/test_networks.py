"""Graphs of agents: the published diameters and numbers of links, what users bring, and what flooding and collecting take."""

import pickle

import networkx as nx
import numpy as np
import pytest

from jaxbandits import networks
from jaxbandits.networks import Network
from jaxbandits.theory import federated as theory

SQUARES = (4, 9, 16, 64)
TABLE = {  # of arXiv 2111.01570, Table I: diameter and links
    "complete": (lambda m: 1, lambda m: m * (m - 1) // 2),
    "star": (lambda m: 2, lambda m: m - 1),
    "ring": (lambda m: m // 2, lambda m: m),
    "path": (lambda m: m - 1, lambda m: m - 1),
    "grid": (lambda m: 2 * (round(m**0.5) - 1), lambda m: 2 * (m - round(m**0.5))),
}


@pytest.mark.parametrize("num_agents", SQUARES)
@pytest.mark.parametrize("name", TABLE)
def test_table_of_graphs(name, num_agents):
    network = getattr(networks, name)(num_agents=num_agents)
    diameter, links = (size(num_agents) for size in TABLE[name])
    assert (network.diameter, len(network.links)) == (diameter, links)
    flood = networks.flood(network)
    assert flood.slots == diameter
    assert flood.links_with_data <= flood.links_used <= diameter * links == theory.graph_cost_printed(diameter=diameter, num_links=links)
    assert flood.items == num_agents * (num_agents - 1)
    assert flood.req == flood.data <= flood.adv


@pytest.mark.parametrize(("num_agents", "num_hubs", "diameter"), [(16, 1, 2), (16, 2, 3), (16, 4, 3), (5, 4, 2), (4, 4, 1)])
def test_multi_star(num_agents, num_hubs, diameter):
    network = networks.multi_star(num_agents=num_agents, num_hubs=num_hubs)
    assert network.diameter == diameter
    assert len(network.links) == num_hubs * (num_hubs - 1) // 2 + num_agents - num_hubs
    degrees = [network.graph.degree(hub) - num_hubs + 1 for hub in range(num_hubs)]
    assert max(degrees) - min(degrees) <= 1


def test_random_graphs_are_connected_and_drawn_by_seed():
    found = [networks.erdos_renyi(num_agents=20, link_prob=0.15, seed=seed) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert all(network.connected for network in found)
    links = [len(networks.erdos_renyi(num_agents=40, link_prob=0.5, seed=seed).links) for seed in range(20)]
    assert abs(np.mean(links) - 390) < 4 * np.sqrt(195 / 20)
    with pytest.raises(ValueError, match=r"link_prob must be large enough for a connected graph.*0.001"):
        networks.erdos_renyi(num_agents=20, link_prob=0.001)


@pytest.mark.parametrize(
    ("network", "sink", "radius"),
    [
        (networks.path(num_agents=7), 3, 3),
        (networks.path(num_agents=8), 3, 4),
        (networks.star(num_agents=9), 0, 1),
        (networks.grid(num_agents=9), 4, 2),
        (networks.ring(num_agents=6), 0, 3),
    ],
)
def test_a_sink_is_a_centre_of_its_component(network, sink, radius):
    found = networks.collect(network)
    assert (found.sinks, found.slots, found.sizes) == ((sink,), radius, (network.num_agents,))
    assert sink in nx.center(network.graph)
    far = networks.collect(networks.disjoint(networks.complete(num_agents=3), network))
    assert far.sinks == (0, 3 + sink)
    assert far.slots == max(radius, 1)
    assert far.links_used == 2 + found.links_used


def test_networks_of_networkx_and_of_matrices_are_the_same():
    ring = networks.ring(num_agents=6)
    assert networks.from_networkx(nx.cycle_graph(6)) == ring
    assert networks.from_networkx(nx.relabel_nodes(nx.cycle_graph(6), dict(enumerate("abcdef")))) == ring
    assert networks.from_adjacency(nx.to_numpy_array(nx.cycle_graph(6))) == ring
    assert networks.from_adjacency((nx.to_numpy_array(nx.cycle_graph(6)) > 0).tolist()) == ring
    assert hash(ring) == hash(networks.from_networkx(nx.cycle_graph(6)))
    assert pickle.loads(pickle.dumps(ring)) == ring
    assert nx.is_isomorphic(ring.graph, nx.cycle_graph(6))


def test_parts():
    parts = networks.disjoint(networks.path(num_agents=2), networks.star(num_agents=1), networks.ring(num_agents=3))
    assert parts.components == ((0, 1), (2,), (3, 4, 5))
    assert not parts.connected
    with pytest.raises(ValueError, match="network must be connected to have a diameter; it has 3 components"):
        _ = parts.diameter
    with pytest.raises(ValueError, match="network must be connected; it has 3 components"):
        networks.flood(parts)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: networks.star(num_agents=0), "num_agents must be an integer from 1 to 4096; got 0"),
        (lambda: networks.ring(num_agents=2), "num_agents must be an integer from 3 to 4096; got 2"),
        (lambda: networks.grid(num_agents=8), "num_agents must be a square number for a grid; got 8"),
        (lambda: networks.path(num_agents=2.5), "num_agents must be an integer from 1 to 4096; got 2.5"),
        (lambda: networks.multi_star(num_agents=4, num_hubs=5), "num_hubs must be an integer from 1 to 4; got 5"),
        (lambda: networks.erdos_renyi(num_agents=4, link_prob=0), "link_prob must be above 0 and at most 1; got 0"),
        (lambda: networks.disjoint(), "networks must be one Network or more"),
        (lambda: networks.disjoint(nx.path_graph(3)), "networks must be one Network or more"),
        (lambda: networks.from_networkx(nx.DiGraph([(0, 1)])), "graph must be an undirected networkx graph"),
        (lambda: networks.from_networkx([[0, 1], [1, 0]]), "graph must be an undirected networkx graph"),
        (lambda: networks.from_networkx(nx.Graph([(0, 0)])), "graph must not link a node to itself"),
        (lambda: networks.from_networkx(nx.Graph()), "graph must have from 1 to 4096 agents; got 0"),
        (lambda: networks.from_adjacency([[0, 1], [0, 0]]), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.from_adjacency([[1, 1], [1, 0]]), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.from_adjacency([[0, 2], [2, 0]]), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.from_adjacency([[0, 1, 1], [1, 0, 1]]), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.from_adjacency([[0], [1, 0]]), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.from_adjacency("ring"), "adjacency must be a symmetric matrix of 0 and 1"),
        (lambda: networks.flood("ring"), "network must be a Network"),
        (lambda: networks.collect(None), "network must be a Network"),
    ],
)
def test_what_is_no_network_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_network_made_by_hand_is_checked_where_it_is_used():
    for links in (((0, 3),), ((1, 0),), ((0, 0),), ((0, 1), (0, 1))):
        with pytest.raises(ValueError, match="network must have links"):
            networks.flood(Network(3, links))


def test_what_is_no_network_is_refused_whatever_was_looked_at_before():
    networks.flood(networks.path(num_agents=2))
    for wrong in ([1], {}, (2, ((0, 1),))):
        for function in (networks.flood, networks.collect):
            with pytest.raises(ValueError, match="network must be a Network"):
                function(wrong)
    for links in ([(0, 1)], ((0, 1), (1, 0)), ((-1, 0),), ((0, 9),)):
        with pytest.raises(ValueError, match="network must have links"):
            networks.collect(Network(3, links))


def test_large_networks():
    assert networks.flood(networks.path(num_agents=600)).items == 600 * 599
    assert networks.complete(num_agents=400).diameter == 1
