"""Who may talk to whom: graphs of agents, and what it takes to get everybody's data around."""

from jaxbandits.networks.collection import Collection, collect
from jaxbandits.networks.flooding import Flood, flood
from jaxbandits.networks.graphs import complete, disjoint, erdos_renyi, from_adjacency, from_networkx, grid, multi_star, path, ring, star
from jaxbandits.networks.interface import Network

__all__ = [
    "Collection",
    "Flood",
    "Network",
    "collect",
    "complete",
    "disjoint",
    "erdos_renyi",
    "flood",
    "from_adjacency",
    "from_networkx",
    "grid",
    "multi_star",
    "path",
    "ring",
    "star",
]
