"""What a network is: a number of agents and the links between them."""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csgraph

from jaxbandits import validate


class Network(NamedTuple):
    """An undirected graph of agents 0, 1, ..; equal if agents and links are, and hashable.

    Attributes:
      num_agents: how many agents.
      links: (i, j) with i < j, in order, each once.
    """

    num_agents: int
    links: tuple[tuple[int, int], ...]

    @property
    def graph(self) -> nx.Graph:
        """The same as a networkx graph, for anything that networkx knows about it."""
        return _graph(self)

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The agents of each connected component, in order of the first of them."""
        return tuple(sorted(tuple(sorted(found)) for found in nx.connected_components(self.graph)))

    @property
    def connected(self) -> bool:
        """Whether every agent can reach every other."""
        return len(self.components) == 1

    @property
    def diameter(self) -> int:
        """The largest distance between two agents, 0 for a single one.

        Raises:
          ValueError: if the network is not connected.
        """
        if not self.connected:
            raise ValueError(f"network must be connected to have a diameter; it has {len(self.components)} components")
        return int(distances(self).max())


@functools.lru_cache(maxsize=16)
def _graph(network: Network) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(network.num_agents))
    graph.add_edges_from(network.links)
    return nx.freeze(graph)


@functools.lru_cache(maxsize=4)
def distances(network: Network) -> np.ndarray:
    """Between any two agents, int16 [num_agents, num_agents]; -1 where there is no path."""
    steps = csgraph.shortest_path(nx.to_scipy_sparse_array(network.graph), unweighted=True)
    found = np.where(np.isfinite(steps), steps, -1).astype(np.int16)
    found.setflags(write=False)
    return found


def from_links(num_agents: int, links: Iterable[tuple[int, int]]) -> Network:
    """The network of these links, each in any direction."""
    return Network(int(num_agents), tuple(sorted({(int(min(i, j)), int(max(i, j))) for i, j in links})))


def agents(num_agents: Any, low: int = 1) -> int:
    """A number of agents, checked."""
    return validate.size("num_agents", num_agents, low, validate.MOST_AGENTS)


def checked(network: Any, num_agents: int, *, connected: bool) -> Network:
    """A network of so many agents.

    Raises:
      ValueError: if it is none, has another number of agents, or is not connected where it has to be.
    """
    if not isinstance(network, Network):
        raise ValueError(f"network must be a Network, such as networks.star(num_agents={num_agents}); got {network!r}")
    num_agents = agents(num_agents)
    if not _in_order(network):
        raise ValueError(f"network must have links (i, j) with i < j of its agents, in order and each once; got {network.links!r}")
    if network.num_agents != num_agents:
        raise ValueError(f"network must have the num_agents of the problem, {num_agents}; got {network.num_agents}")
    if connected and not network.connected:
        raise ValueError(f"network must be connected; it has {len(network.components)} components")
    return network


def _in_order(network: Network) -> bool:
    """Whether the links are as ``from_links`` makes them."""
    try:
        return network == from_links(network.num_agents, network.links) and all(0 <= i < j < network.num_agents for i, j in network.links)
    except (TypeError, ValueError):
        return False
