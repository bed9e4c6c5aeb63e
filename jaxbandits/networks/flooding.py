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


@functools.lru_cache(maxsize=256)
def flood(network: Network) -> Flood:
    """Floods everybody's data through a network.

    Args:
      network: connected.

    Raises:
      ValueError: if it is not connected, or no Network.
    """
    checked(network, getattr(network, "num_agents", 0), connected=True)
    distance, slots = distances(network), network.diameter
    neighbours: list[list[int]] = [sorted(network.graph[i]) for i in range(network.num_agents)]
    adv = req = items = with_data = used = 0
    for slot in range(1, slots + 1):
        new = distance == slot - 1  # [holder, datum]: got in the slot before
        asked: set[tuple[int, int]] = set()
        for agent in range(network.num_agents):
            lacking = distance[agent] == slot  # what arrives now: the rest of what is lacking is not advertised to it yet
            for sender in neighbours[agent]:
                answered = lacking & new[sender]
                lacking = lacking & ~answered
                if answered.any():
                    items += int(answered.sum())
                    asked.add((agent, sender))
        advertising = np.flatnonzero(new.any(axis=1)).tolist()
        adv += sum(len(neighbours[sender]) for sender in advertising)
        req += len(asked)
        with_data += len({(min(pair), max(pair)) for pair in asked})
        used += len({(min(i, j), max(i, j)) for i in advertising for j in neighbours[i]})
    return Flood(slots, adv, req, req, items, with_data, used)
