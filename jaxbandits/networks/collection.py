"""Sink agent collection: everybody's data on shortest paths to one agent of each component, as in arXiv 2111.01570, Algorithm 4.

Every agent passes on what it got to its lowest-numbered neighbour that is one step nearer to the sink. A link is counted once for each
slot in which it is used.
"""

import functools
from typing import NamedTuple

import numpy as np

from jaxbandits.networks.interface import Network, checked, distances


class Collection(NamedTuple):
    """What one communication round of collecting takes.

    Attributes:
      slots: until every sink has all data of its component, the largest radius.
      sinks: the sink of each component: the agent with the least largest distance to the others, of several the lowest.
      sizes: agents of each component.
      links_used: links, counted once for each slot of use.
      items: data carried, counted once for each link it passes.
    """

    slots: int
    sinks: tuple[int, ...]
    sizes: tuple[int, ...]
    links_used: int
    items: int


def collect(network: Network) -> Collection:
    """Collects the data of each component at its sink.

    Args:
      network: of any number of components.

    Raises:
      ValueError: if it is no Network.
    """
    return _collect(checked(network, getattr(network, "num_agents", 0), connected=False))


@functools.lru_cache(maxsize=256)
def _collect(network: Network) -> Collection:
    graph, distance, components = network.graph, distances(network), network.components
    radii = [distance[np.ix_(component, component)].max(axis=1) for component in components]
    sinks = tuple(component[int(np.argmin(radius))] for component, radius in zip(components, radii, strict=True))
    links = items = 0
    for sink in sinks:
        to_sink = distance[sink].tolist()
        below: dict[int, int] = {}  # the longest way of a datum to this agent from behind it
        behind: dict[int, int] = {}  # data that come to this agent from behind it
        for agent in sorted((i for i, steps in enumerate(to_sink) if steps > 0), key=lambda i: -to_sink[i]):
            parent = min(j for j in graph[agent] if to_sink[j] == to_sink[agent] - 1)
            links += below.get(agent, 0) + 1
            items += behind.get(agent, 0) + 1
            below[parent] = max(below.get(parent, 0), below.get(agent, 0) + 1)
            behind[parent] = behind.get(parent, 0) + behind.get(agent, 0) + 1
    slots = max(int(radius.min()) for radius in radii)
    return Collection(slots, sinks, tuple(len(component) for component in components), links, items)
