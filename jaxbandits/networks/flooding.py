"""Global information synchronisation: flooding with three handshakes a slot, as in arXiv 2111.01570, Algorithm 2.

In a slot each agent advertises the labels of the data that it got in the slot before (ADV); a neighbour asks for those that it lacks (REQ)
and gets them (DATA). What several neighbours advertise is asked of the lowest-numbered of them. Which messages are sent depends on the
network alone, so they are counted once and not in every run.
"""

import functools
from typing import NamedTuple

import numpy as np

from jaxbandits.networks.interface import Network, checked, distances


class Flood(NamedTuple):
    """What one communication round of flooding takes.

    Attributes:
      slots: until every agent holds all data, the diameter.
      adv: advertisements, one for each agent with new data, neighbour and slot.
      req: requests, one for each agent that lacks something, neighbour asked and slot.
      data: answers to them.
      items: data carried in the answers: each agent gets each other's once.
      links_with_data: links with an answer on them, counted once a slot.
      links_used: links with any message on them, counted once a slot.
    """

    slots: int
    adv: int
    req: int
    data: int
    items: int
    links_with_data: int
    links_used: int


def flood(network: Network) -> Flood:
    """Floods everybody's data through a network.

    Args:
      network: connected.

    Raises:
      ValueError: if it is not connected, or no Network.
    """
    return _flood(checked(network, getattr(network, "num_agents", 0), connected=True))


@functools.lru_cache(maxsize=256)
def _flood(network: Network) -> Flood:
    graph, distance, slots = network.graph, distances(network).astype(np.int64), network.diameter
    count, codes, between = network.num_agents, [], []
    for agent in range(count):
        near = np.array(sorted(graph[agent]), np.int64)
        others = np.flatnonzero(np.arange(count) != agent)
        if not len(near) or not len(others):
            continue
        # A datum comes in the slot of its distance, from the first neighbour that is one step nearer to its owner.
        sender = near[np.argmax(distance[near][:, others] == distance[agent, others] - 1, axis=0)]
        asked = np.unique(distance[agent, others] * count + sender)
        codes.append(len(asked))
        slot, sender = asked // count, asked % count
        between.append((slot * count + np.minimum(sender, agent)) * count + np.maximum(sender, agent))
    # An agent advertises in the slot after each in which it got something: data come from all distances up to its eccentricity.
    advertises = np.minimum(distance.max(axis=1) + 1, slots)
    pairs = np.array(network.links, np.int64).reshape(-1, 2)
    return Flood(
        slots=slots,
        adv=int(sum(graph.degree(agent) * int(advertises[agent]) for agent in range(count))),
        req=sum(codes),
        data=sum(codes),
        items=count * (count - 1),
        links_with_data=len(np.unique(np.concatenate(between))) if between else 0,
        links_used=int(np.sum(np.max(advertises[pairs], axis=1))) if len(pairs) else 0,
    )
