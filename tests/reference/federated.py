"""Federated private K-armed bandits, written twice: this is the slow copy, agent by agent and message by message.

Agents know their own rewards and what was sent to them. Row 0 of ``u`` and ``z``, both [horizon, num_agents], is the first slot.
"""

import math
from typing import NamedTuple

import numpy as np


class Epochs(NamedTuple):
    """The epochs of a run, each a list with the first epoch first."""

    fresh: list[int]  # pulls of each active arm in the epoch
    total: list[int]  # pulls that a mean rests on: of all epochs so far, or of the newest alone
    radius: list[float]  # an arm goes if it is more than twice this below the best


class Counts(NamedTuple):
    """Messages of one communication round."""

    adv: int = 0
    req: int = 0
    data: int = 0
    items: int = 0  # agents' means inside the data messages
    data_links: int = 0  # a link that carried data counts once in each slot
    links: int = 0  # a link that carried any message counts once in each slot
    uploads: int = 0  # messages to the server
    told: int = 0  # agents that the server answers


class Result(NamedTuple):
    """What happened in a run."""

    pulls: np.ndarray  # [horizon, num_agents]
    left: list[np.ndarray]  # [num_arms] of bool, after the elimination of each finished communication round
    communications: int  # finished communication rounds
    ends: list[int]  # the slots, counted from 1, with which they finished
    rewards: np.ndarray  # [num_agents, num_arms], rewards of the closed epochs that count, without noise
    sums: np.ndarray  # [num_agents, num_arms], the same with the noise
    unclosed: np.ndarray  # [num_agents, num_arms], rewards of the epoch that the horizon cut off
    counts: list[Counts]  # of the finished communication rounds
    cut_off: Counts | None  # of a communication round that the horizon cut off


def cumulative_pulls_and_radii(
    num_arms, horizon, num_agents, epsilon, mode, newest_epoch=False, secure_sum=False, num_comm_rounds=None, smallest_gap=None
):
    """S and C of all epochs, up to the first that no horizon has room for. ``num_agents`` are those who upload."""
    m, fresh, total, radius = num_agents, [], [], []
    while not (fresh and 2 * fresh[-1] > horizon) and len(fresh) != num_comm_rounds:
        r = len(fresh) + 1
        log = math.log(2 * num_arms * horizon * r * (r + 1))
        gap = 1 / horizon if smallest_gap is None else smallest_gap
        gap_guess = 2.0**-r if num_comm_rounds is None else gap ** (r / num_comm_rounds)
        draws = (1 if newest_epoch else r) * (1 if secure_sum else m)
        tail = math.sqrt(8 * draws) * log if mode == "paper" else math.sqrt(8 * log) * max(math.sqrt(draws), math.sqrt(log))
        noise = tail / ((m if mode == "sound" else m**2) * epsilon)
        needed = max(8 * log / (m * gap_guess**2), 4 * noise / gap_guess)
        before = total[-1] if total and not newest_epoch else 0
        total.append(math.ceil(needed if newest_epoch else max(needed, before + 1)))
        fresh.append(total[-1] - before)
        radius.append(math.sqrt(log / (2 * m * total[-1])) + noise / total[-1])
    return Epochs(fresh, total, radius)


def average(messages):
    """The mean of each arm over messages, {arm: mean} each, in their order."""
    added = dict.fromkeys(messages[0], 0.0)
    for message in messages:
        for arm in added:
            added[arm] += message[arm]
    return {arm: value / len(messages) for arm, value in added.items()}


def best(value, arms):
    return min(arms, key=lambda arm: (-value[arm], arm))


def decide(mean, radius):
    """(which arms stay, the one of the largest mean): whoever holds the means of all can tell."""
    left = [arm for arm in sorted(mean) if not max(mean.values()) - mean[arm] > 2 * radius]
    return left, best(mean, left)


class Agent:
    """One agent: its rewards, its private means, the arms it takes for active."""

    def __init__(self, num_arms, noise_scale, newest_epoch, private):
        self.noise_scale, self.newest_epoch, self.private = noise_scale, newest_epoch, private
        self.active = list(range(num_arms))
        self.unclosed, self.z, self.rewards, self.mean, self.pulls = ([0.0] * num_arms for _ in range(5))

    def observe(self, arm, reward, z):
        self.unclosed[arm], self.z[arm] = self.unclosed[arm] + reward, z

    def close(self, fresh):
        """Ends an epoch and returns the message: the private mean of each active arm. The number of its last pull is its noise."""
        for arm in self.active:
            newest = (self.unclosed[arm] + self.noise_scale * self.z[arm]) / fresh
            if self.newest_epoch:
                self.rewards[arm], self.pulls[arm] = 0.0, 0
            self.rewards[arm] += self.unclosed[arm]
            self.mean[arm] = (self.pulls[arm] * self.mean[arm] + fresh * newest) / (self.pulls[arm] + fresh)
            self.pulls[arm] += fresh
            self.unclosed[arm] = 0.0
        return {arm: self.mean[arm] for arm in self.active}

    def own_best(self):
        """The arm for the slots of a communication round. All active arms have as many pulls, so rewards stand for their mean."""
        return best(self.mean if self.private else self.rewards, self.active)


def distances(near, source):
    """{agent: steps} to all agents that can be reached, breadth first."""
    steps, queue = {source: 0}, [source]
    for agent in queue:
        for other in near[agent]:
            if other not in steps:
                steps[other] = steps[agent] + 1
                queue.append(other)
    return steps


class Upload:
    """A server, and the first agents upload to it: no slot passes."""

    done = True

    def __init__(self, messages, num_uploads):
        self.inbox, self.num_agents = messages[:num_uploads], len(messages)
        self.counts = Counts(uploads=num_uploads, told=self.num_agents)

    def conclude(self, radius):
        return [decide(average(self.inbox), radius)] * self.num_agents


class Flood:
    """A graph without a server: ADV, REQ and DATA in each slot, until everybody holds the means of all."""

    def __init__(self, adjacency, messages):
        self.near = [np.flatnonzero(row).tolist() for row in adjacency]
        self.held = [{agent: message} for agent, message in enumerate(messages)]
        self.new, self.counts = [{agent} for agent in range(len(messages))], Counts()
        if len(distances(self.near, 0)) < len(self.near):
            raise ValueError("the graph is not connected")

    @property
    def done(self):
        return all(len(held) == len(self.near) for held in self.held)

    def step(self):
        agents, used, used_by_data, num_items = range(len(self.near)), set(), set(), 0
        adv, req, got = [[] for _ in agents], [[] for _ in agents], [{} for _ in agents]  # what each agent gets; (from whom, labels)
        for sender in agents:
            for other in self.near[sender] if self.new[sender] else ():
                adv[other].append((sender, sorted(self.new[sender])))
                used.add(frozenset((sender, other)))
        for requester in agents:
            asked = set()
            for sender, labels in sorted(adv[requester]):
                missing = [label for label in labels if label not in self.held[requester] and label not in asked]
                asked.update(missing)
                if missing:
                    req[sender].append((requester, missing))
        for sender in agents:
            for requester, labels in req[sender]:
                got[requester].update({label: self.held[sender][label] for label in labels})
                used_by_data.add(frozenset((sender, requester)))
                num_items += len(labels)
        for agent in agents:
            self.held[agent].update(got[agent])
            self.new[agent] = set(got[agent])
        num_adv, num_req = sum(map(len, adv)), sum(map(len, req))
        self.counts = add(self.counts, Counts(num_adv, num_req, num_req, num_items, len(used_by_data), len(used | used_by_data)))

    def conclude(self, radius):
        return [decide(average([held[agent] for agent in range(len(self.near))]), radius) for held in self.held]


class Collect:
    """Components of a graph, each with a sink that its agents' means travel to; the sinks upload to a server."""

    def __init__(self, adjacency, messages):
        near = [np.flatnonzero(row).tolist() for row in adjacency]
        self.num_agents, self.components, self.sinks, self.parent = len(near), [], [], {}
        for agent in range(len(near)):
            component = sorted(distances(near, agent))
            if component[0] < agent:
                continue
            sink = min(component, key=lambda i: (max(distances(near, i).values()), i))
            steps = distances(near, sink)
            self.components, self.sinks = [*self.components, component], [*self.sinks, sink]
            self.parent.update({i: min(j for j in near[i] if steps[j] == steps[i] - 1) for i in component if i != sink})
        self.held = [{agent: message} for agent, message in enumerate(messages)]
        self.unsent, self.counts = [{agent} for agent in range(len(near))], Counts()

    @property
    def done(self):
        return all(len(self.held[sink]) == len(component) for sink, component in zip(self.sinks, self.components, strict=True))

    def step(self):
        sent = []
        for agent, parent in sorted(self.parent.items()):
            if self.unsent[agent]:
                sent.append((parent, {label: self.held[agent][label] for label in self.unsent[agent]}))
                self.unsent[agent] = set()
        for parent, data in sent:
            self.held[parent].update(data)
            self.unsent[parent].update(data)
        num, items = len(sent), sum(len(data) for _, data in sent)
        self.counts = add(self.counts, Counts(data=num, items=items, data_links=num, links=num))

    def conclude(self, radius):
        mean, self.counts = {}, add(self.counts, Counts(uploads=len(self.sinks), told=self.num_agents))
        for sink, component in zip(self.sinks, self.components, strict=True):
            upload = average([self.held[sink][agent] for agent in component])
            for arm, value in upload.items():
                mean[arm] = mean.get(arm, 0.0) + len(component) * value
        return [decide({arm: value / self.num_agents for arm, value in mean.items()}, radius)] * self.num_agents


def add(one, other):
    return Counts(*(a + b for a, b in zip(one, other, strict=True)))


def flood(adjacency, talk=Flood):
    """(slots, talk) of a communication round that nothing cuts off: ``talk.counts``, and ``talk.held`` of each agent."""
    slots, talk = 0, talk(adjacency, [{}] * len(adjacency))
    while not talk.done:
        talk.step()
        slots += 1
    return slots, talk


def collect(adjacency):
    """The same of a collection; see also ``talk.components``, ``talk.sinks`` and ``talk.parent``."""
    return flood(adjacency, Collect)


def simulate(talk_of, num_uploads, means, u, z, horizon, epsilon, mode, newest_epoch=False, secure_sum=False, **rounds):
    """One run; ``talk_of`` begins a communication round with the agents' messages."""
    assert not secure_sum or mode == "sound", "a secure sum is for sound alone"
    means, u, z = (np.asarray(x, np.float64) for x in (means, u, z))
    num_arms, num_agents = len(means), u.shape[1]
    epochs = cumulative_pulls_and_radii(num_arms, horizon, num_uploads, epsilon, mode, newest_epoch, secure_sum, **rounds)
    scale = [1 / (epsilon if mode == "sound" else num_uploads * epsilon)] * num_agents
    if secure_sum:  # the agents' shares add up to one draw, and the server sees only the sum: as if the first agent held the draw
        scale[1:] = [0.0] * (num_agents - 1)
    agents = [Agent(num_arms, b, newest_epoch, mode == "sound") for b in scale]
    pulls, left, ends, counts, cut_off = [], [], [], [], None

    def run():
        nonlocal cut_off
        for fresh, radius in zip(epochs.fresh, epochs.radius, strict=True):
            for _ in range(fresh):
                for arm in agents[0].active:
                    if len(pulls) == horizon:
                        return
                    for i, agent in enumerate(agents):
                        agent.observe(arm, float(u[len(pulls), i] < means[arm]), z[len(pulls), i])
                    pulls.append([arm] * num_agents)
            talk = talk_of([agent.close(fresh) for agent in agents])
            while not talk.done:
                if len(pulls) == horizon:
                    cut_off = talk.counts
                    return
                pulls.append([agent.own_best() for agent in agents])
                talk.step()
            decisions = talk.conclude(radius)
            assert all(decision == decisions[0] for decision in decisions), "agents disagree"
            for agent, (stay, _) in zip(agents, decisions, strict=True):
                agent.active = list(stay)
            left.append(np.isin(np.arange(num_arms), agents[0].active))
            ends.append(len(pulls))
            counts.append(talk.counts)
            if len(agents[0].active) == 1 or len(left) == rounds.get("num_comm_rounds"):
                pulls.extend([[favourite for _, favourite in decisions]] * (horizon - len(pulls)))
                return

    run()
    kept = [(agent.rewards, np.multiply(agent.mean, agent.pulls), agent.unclosed) for agent in agents]
    return Result(np.array(pulls), left, len(left), ends, *np.array(kept).swapaxes(0, 1), counts, cut_off)


def run_cdp(means, u, z, horizon, epsilon, mode, participation=1.0, **options):
    """With a server; a part of the agents uploads."""
    m = max(1, round(participation * u.shape[1]))
    return simulate(lambda messages: Upload(messages, m), m, means, u, z, horizon, epsilon, mode, **options)


def run_ddp(adjacency, means, u, z, horizon, epsilon, mode, talk=Flood, **options):
    """On a connected graph."""
    return simulate(lambda messages: talk(adjacency, messages), len(adjacency), means, u, z, horizon, epsilon, mode, **options)


def run_hdp(adjacency, means, u, z, horizon, epsilon, mode, **options):
    """On a graph of components, with a server."""
    return run_ddp(adjacency, means, u, z, horizon, epsilon, mode, talk=Collect, **options)
