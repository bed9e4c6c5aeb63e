"""The graphs of arXiv 2111.01570 and others, and those that users have already."""

import math
from typing import Any

import networkx as nx
import numpy as np

from jaxbandits import validate
from jaxbandits.networks.interface import Network, agents, from_links

_TRIES = 1000


def complete(*, num_agents: int) -> Network:
    """Every agent linked to every other; diameter 1.

    Args:
      num_agents: how many agents.

    Raises:
      ValueError: if it is out of range.
    """
    return from_links(agents(num_agents), nx.complete_graph(num_agents).edges)


def star(*, num_agents: int) -> Network:
    """Agent 0 linked to every other; diameter 2.

    Args:
      num_agents: how many agents.

    Raises:
      ValueError: if it is out of range.
    """
    return from_links(agents(num_agents), [(0, i) for i in range(1, num_agents)])


def multi_star(*, num_agents: int, num_hubs: int) -> Network:
    """Hubs that are all linked, the other agents linked to one hub each, evenly; diameter 3 with two hubs or more that have leaves.

    Args:
      num_agents: how many agents, hubs included.
      num_hubs: how many hubs, the first agents.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_agents = agents(num_agents)
    num_hubs = validate.size("num_hubs", num_hubs, 1, num_agents)
    between = [(i, j) for i in range(num_hubs) for j in range(i)]
    return from_links(num_agents, between + [(i % num_hubs, i) for i in range(num_hubs, num_agents)])


def ring(*, num_agents: int) -> Network:
    """Every agent linked to the next, the last to the first; diameter num_agents // 2.

    Args:
      num_agents: how many agents, at least 3.

    Raises:
      ValueError: if it is out of range.
    """
    return from_links(agents(num_agents, 3), [(i, (i + 1) % num_agents) for i in range(num_agents)])


def path(*, num_agents: int) -> Network:
    """Every agent linked to the next; diameter num_agents - 1.

    Args:
      num_agents: how many agents.

    Raises:
      ValueError: if it is out of range.
    """
    return from_links(agents(num_agents), [(i, i + 1) for i in range(num_agents - 1)])


def grid(*, num_agents: int) -> Network:
    """A square of sqrt(num_agents) rows and columns; diameter 2 (sqrt(num_agents) - 1).

    Args:
      num_agents: how many agents, a square number.

    Raises:
      ValueError: if it is out of range, or not a square.
    """
    side = math.isqrt(agents(num_agents))
    if side * side != num_agents:
        raise ValueError(f"num_agents must be a square number for a grid; got {num_agents}")
    right = [(i, i + 1) for i in range(num_agents) if (i + 1) % side]
    return from_links(num_agents, right + [(i, i + side) for i in range(num_agents - side)])


def erdos_renyi(*, num_agents: int, link_prob: float, seed: int = 0) -> Network:
    """Each pair of agents linked with the same probability, drawn again until the graph is connected.

    Args:
      num_agents: how many agents.
      link_prob: probability of a link, above 0 and at most 1.
      seed: of the draw.

    Raises:
      ValueError: if an argument is out of range, or a thousand draws were not connected.
    """
    num_agents, seed = agents(num_agents), validate.size("seed", seed, 0, 2**32 - 1)
    validate.scalar("link_prob", link_prob, "above 0 and at most 1", lambda p: 0 < p <= 1)
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(num_agents, 1)
    for _ in range(_TRIES):
        linked = rng.random(len(rows)) < link_prob
        found = from_links(num_agents, zip(rows[linked].tolist(), columns[linked].tolist(), strict=True))
        if found.connected:
            return found
    raise ValueError(f"link_prob must be large enough for a connected graph; none of {_TRIES} was with {link_prob:g}")


def disjoint(*networks: Network) -> Network:
    """Networks beside each other without a link between them, agents numbered on: the components of a hybrid network.

    Args:
      networks: one or more.

    Raises:
      ValueError: if there is none, or one is not a Network.
    """
    if not networks or not all(isinstance(network, Network) for network in networks):
        raise ValueError(f"networks must be one Network or more; got {networks!r}")
    first = np.cumsum([0] + [network.num_agents for network in networks]).tolist()
    agents(first[-1])
    links = [(i + shift, j + shift) for network, shift in zip(networks, first, strict=False) for i, j in network.links]
    return from_links(first[-1], links)


def from_networkx(graph: Any) -> Network:
    """The network of a networkx graph; its nodes, in the graph's order, are agents 0, 1, ..

    Args:
      graph: an undirected graph; of several links between two nodes one is kept, and weights are not looked at.

    Raises:
      ValueError: if it is no undirected graph, has no node or too many, or a node is linked to itself.
    """
    if not isinstance(graph, nx.Graph) or graph.is_directed():
        raise ValueError(f"graph must be an undirected networkx graph; got {graph!r}")
    number = {node: i for i, node in enumerate(graph.nodes)}
    _check_nodes("graph", len(number))
    links = [(number[a], number[b]) for a, b in graph.edges()]
    if (alone := next((a for a, b in graph.edges() if a == b), None)) is not None:
        raise ValueError(f"graph must not link a node to itself; it links {alone!r}")
    return from_links(len(number), links)


def from_adjacency(adjacency: Any) -> Network:
    """The network of an adjacency matrix.

    Args:
      adjacency: [num_agents, num_agents], symmetric, 1 for a link and 0 for none, 0 on the diagonal.

    Raises:
      ValueError: if it is not.
    """
    allowed = "a symmetric matrix of 0 and 1, with 0 on the diagonal"
    try:
        matrix = np.asarray(adjacency)
    except (TypeError, ValueError):  # ragged
        matrix = np.asarray(None)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.dtype.kind in "iufb"
    if isinstance(adjacency, np.ma.MaskedArray) or not square or not _simple(matrix):
        raise ValueError(f"adjacency must be {allowed}; got {adjacency!r}")
    _check_nodes("adjacency", len(matrix))
    return from_links(len(matrix), zip(*(place.tolist() for place in np.nonzero(matrix)), strict=True))


def _simple(matrix: np.ndarray) -> bool:
    return bool(np.all((matrix == 0) | (matrix == 1)) and np.all(matrix == matrix.T) and not np.any(np.diag(matrix) != 0))


def _check_nodes(name: str, count: int) -> None:
    if not 1 <= count <= validate.MOST_AGENTS:
        raise ValueError(f"{name} must have from 1 to {validate.MOST_AGENTS} agents; got {count}")
