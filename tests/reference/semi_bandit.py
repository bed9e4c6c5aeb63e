"""Combinatorial semi-bandits, written twice: this is the slow copy. See ``cascade``.

Algorithm 4 is that of Cascading Bandit under Differential Privacy, arXiv 2105.11126; the algorithms that discard, and CUCB-LDP1, are
those of Chen et al., (Locally) Differentially Private Combinatorial Semi-Bandits, 2020. A super arm is a list of places, in which the
number of base arms stands for an empty place.
"""

import itertools
import math

from .cascade import INFINITY, analytic_sigma, exploration, fewest, kl_ucb, laplace_tail
from .central_cascade import LAWS
from .counters import Accumulating, Hybrid
from .local_armed import raw, to_bernoulli, to_laplace
from .solvers import clip, private_kl_ucb, tail_at

# ---- oracles -----------------------------------------------------------------------------------------------------------


class TopK:
    """Every set of ``list_len`` arms; the arms of the best one in decreasing order, of equal weights the lowest number first."""

    shuffled = True

    def __init__(self, num_base_arms, list_len):
        self.num_base_arms, self.list_len = num_base_arms, list_len

    def solve(self, weights):
        return sorted(range(self.num_base_arms), key=lambda arm: (-weights[arm], arm))[: self.list_len]

    def reward(self, means, arms):
        return sum(means[arm] for arm in arms)

    def optimum(self, means):
        return self.reward(means, self.solve(means))


class Cascade(TopK):
    """The same sets for a user who is content with one good arm."""

    def reward(self, means, arms):
        return 1 - math.prod(1 - means[arm] for arm in arms)


class Listed:
    """Super arms that are written down one by one, and earn the weights of their arms, less ``cost`` for each."""

    shuffled = False

    def __init__(self, num_base_arms, list_len, super_arms, cost=0.0):
        self.num_base_arms, self.list_len, self.cost = num_base_arms, list_len, cost
        self.super_arms = [[*arms, *[num_base_arms] * (list_len - len(arms))] for arms in super_arms]
        self.by_arms = {frozenset(self.arms(places)): places for places in self.super_arms}

    def arms(self, places):
        return [arm for arm in places if arm < self.num_base_arms]

    def score(self, weights, places):
        """How many of the weights are infinite, and the sum of the others: of two super arms the larger pair is better."""
        weights = [weights[arm] for arm in self.arms(places)]
        return weights.count(INFINITY), sum(weight - self.cost for weight in weights if weight < INFINITY)

    def solve(self, weights):
        return max(self.super_arms, key=lambda places: self.score(weights, places))

    def reward(self, means, arms):
        return sum(means[arm] - self.cost for arm in arms)

    def optimum(self, means):
        return max(self.reward(means, self.arms(places)) for places in self.super_arms)


def partition(groups):
    """One arm of every group."""
    members = [[arm for arm, group in enumerate(groups) if group == one] for one in range(max(groups) + 1)]
    return Listed(len(groups), len(members), itertools.product(*members))


def matching(edges):
    """Edges of which no two share a node, each at the place of its node on the side that has fewer; on the left if neither has."""
    sides = list(zip(*edges, strict=True))
    here, there = sorted(sides, key=lambda side: len(set(side)))
    nodes = list(dict.fromkeys(here))
    choices = [[len(edges), *(arm for arm in range(len(edges)) if here[arm] == node)] for node in nodes]

    def matched(places):
        across = [there[arm] for arm in places if arm < len(edges)]
        return len(across) == len(set(across))

    return Listed(len(edges), len(nodes), [places for places in itertools.product(*choices) if matched(places)])


def path(edges, source, target):
    """Paths through a graph without cycles."""

    def onward(node):
        if node == target:
            yield []
            return
        for arm, (tail, head) in enumerate(edges):
            if tail == node:
                yield from ([arm, *rest] for rest in onward(head))

    paths = list(onward(source))
    return Listed(len(edges), max(map(len, paths)), paths, cost=1.0)


# ---- policies ----------------------------------------------------------------------------------------------------------


class Policy:
    """A policy of one lane: ``start``, then ``act`` and ``update`` once in each round."""

    def __init__(self, oracle):
        self.oracle, self.num_base_arms = oracle, oracle.num_base_arms
        self.count, self.total = [0] * oracle.num_base_arms, [0.0] * oracle.num_base_arms

    def start(self, preview):
        """Nothing: the raw answers of a user may not be used."""

    def upper(self, t, mean, count):
        """The index of an arm that has data."""
        raise NotImplementedError

    def index(self, t, arm):
        count = self.count[arm]
        return self.upper(t, self.total[arm] / count, count) if count > 0 else INFINITY

    def indices(self, t):
        return [self.index(t, arm) for arm in range(self.num_base_arms)]

    def arrange(self, places):
        """The action in which this super arm is played."""
        return places

    def act(self, t):
        return self.arrange(self.oracle.solve(self.indices(t)))

    def respond(self, bit, draws):
        """What the user sends about one arm."""
        return raw(bit, INFINITY, draws)

    def learn(self, arm, response):
        self.count[arm] += 1
        self.total[arm] += response

    def update(self, t, action, bits, draws):
        raise NotImplementedError


def sampling_radius(t, count):
    return math.sqrt(1.5 * math.log(t) / count)


# ---- every arm of the super arm is observed ----------------------------------------------------------------------------


class Every(Policy):
    def update(self, t, action, bits, draws):
        for place, arm in enumerate(action):
            if arm < self.num_base_arms:
                self.learn(arm, self.respond(bits[place], {name: value[place] for name, value in draws.items()}))


class Cucb(Every):
    """CUCB (Chen, Wang and Yuan 2013)."""

    def upper(self, t, mean, count):
        return mean + sampling_radius(t, count)


class GaussianCucb(Every):
    """Algorithm 4: begins with one raw answer about every arm, and counts rounds as if that had taken one for each."""

    def __init__(self, oracle, epsilon, delta, noise_scale=1.0, radius_scale=1.0):
        super().__init__(oracle)
        self.sigma, self.noise_scale, self.radius_scale = self.deviation(epsilon, delta), noise_scale, radius_scale

    def deviation(self, epsilon, delta):
        return math.sqrt(2 * self.oracle.list_len * math.log(1.25 / delta)) / epsilon

    def start(self, preview):
        self.count, self.total = [1] * self.num_base_arms, [float(bit) for bit in preview]

    def now(self, t):
        return self.num_base_arms + t

    def upper(self, t, mean, count):
        noise = 2 * self.sigma * math.sqrt(math.log(self.now(t)) / count)
        return mean + sampling_radius(self.now(t), count) + self.radius_scale * noise

    def respond(self, bit, draws):
        return bit + self.noise_scale * self.sigma * draws["noise"]


class LdpGaussianCucb(GaussianCucb):
    """Algorithm 4 with the noise that is needed, and nothing raw to begin with."""

    def deviation(self, epsilon, delta):
        return analytic_sigma(epsilon, delta, math.sqrt(self.oracle.list_len)) if epsilon < INFINITY else 0.0

    def start(self, preview):
        pass

    def now(self, t):
        return t


def chernoff(t, count, scale):
    """What the mean of Laplace draws exceeds with probability at most t^-3."""
    return laplace_tail(count, scale, math.log(2) + 3 * math.log(t)) / count


class LdpLaplaceCucb(Every):
    """Algorithm 4 with Laplace noise, whose radius is valid from 3 log t observations on."""

    def __init__(self, oracle, epsilon, noise_scale=1.0, radius_scale=1.0):
        super().__init__(oracle)
        self.scale, self.noise_scale, self.radius_scale = oracle.list_len / epsilon, noise_scale, radius_scale

    def upper(self, t, mean, count):
        closed = self.scale * math.sqrt(24 * math.log(t) / count)
        noise = closed if count >= 3 * math.log(t) else chernoff(t, count, self.scale)
        return mean + sampling_radius(t, count) + self.radius_scale * noise

    def respond(self, bit, draws):
        return bit + self.noise_scale * self.scale * draws["noise"]


class Bits:
    """Randomised bits, and what they say about the true ones."""

    def __init__(self, epsilon):
        self.epsilon, self.if_none, self.range = epsilon, 1 / (1 + math.exp(epsilon)), 1 / math.tanh(epsilon / 2)

    def send(self, bit, draws):
        return to_bernoulli(bit, self.epsilon, draws)

    def debias(self, mean):
        return (mean - self.if_none) * self.range


class CucbLdp1(Every):
    """CUCB-LDP1: a bit for each arm, at its part of the budget."""

    def __init__(self, oracle, epsilon):
        super().__init__(oracle)
        self.bits = Bits(epsilon / oracle.list_len)

    def upper(self, t, mean, count):
        return self.bits.debias(mean) + self.bits.range * sampling_radius(t, count)

    def respond(self, bit, draws):
        return self.bits.send(bit, draws)


# ---- only the front arm is observed ------------------------------------------------------------------------------------


class Front(Policy):
    """The arm of the super arm observed least often goes to the front, and nothing is asked about the others."""

    def arrange(self, places):
        arms = [arm for arm in places if arm < self.num_base_arms]
        if not arms:
            return places
        front = fewest(arms, self.count)
        return [front, *(arm for arm in places if arm != front)]

    def update(self, t, action, bits, draws):
        if action[0] < self.num_base_arms:
            self.learn(action[0], self.respond(bits[0], draws))


class CucbLdp2(Front):
    """CUCB-LDP2: one randomised bit a round."""

    def __init__(self, oracle, epsilon):
        super().__init__(oracle)
        self.bits = Bits(epsilon)

    def upper(self, t, mean, count):
        return self.bits.debias(mean) + self.bits.range * sampling_radius(t, count)

    def respond(self, bit, draws):
        return self.bits.send(bit, draws)


class CucbLdp2Laplace(Front):
    """CUCB-LDP2 with one noisy number a round, and Chernoff's bound on the noise."""

    def __init__(self, oracle, epsilon):
        super().__init__(oracle)
        self.epsilon = epsilon

    def upper(self, t, mean, count):
        return mean + sampling_radius(t, count) + chernoff(t, count, 1 / self.epsilon)

    def respond(self, bit, draws):
        return to_laplace(bit, self.epsilon, draws)


class Refreshed(Front):
    """Indices that may be some rounds old: that of the front arm is new, the others are every few rounds."""

    def __init__(self, oracle, refresh_every):
        super().__init__(oracle)
        self.refresh_every = refresh_every
        self.kept = [INFINITY] * self.num_base_arms

    def indices(self, t):
        return list(self.kept)

    def update(self, t, action, bits, draws):
        super().update(t, action, bits, draws)
        for arm in range(self.num_base_arms) if t % self.refresh_every == 0 else action[:1]:
            if arm < self.num_base_arms:
                self.kept[arm] = self.index(t + 1, arm)


class CucbLdp2Kl(Refreshed):
    """CUCB-LDP2 with KL-UCB on the bits."""

    def __init__(self, oracle, epsilon, refresh_every):
        super().__init__(oracle, refresh_every)
        self.bits = Bits(epsilon)

    def upper(self, t, mean, count):
        return min(1.0, self.bits.debias(kl_ucb(mean, count, exploration(t))))

    def respond(self, bit, draws):
        return self.bits.send(bit, draws)


class CucbDp(Front):
    """CUCB-DP: the true bits go into counters of the server, which release in every round."""

    def __init__(self, oracle, epsilon, counter=Hybrid):
        super().__init__(oracle)
        self.epsilon, self.laws = epsilon, LAWS[counter]
        self.counters = [counter(epsilon) for _ in range(self.num_base_arms)]

    def index(self, t, arm):
        counter, count = self.counters[arm], self.count[arm]
        if count == 0:
            return INFINITY
        return counter.released / count + sampling_radius(t, count) + tail_at(self.laws, count, t, self.epsilon) / count

    def update(self, t, action, bits, draws):
        super().update(t, action, bits, draws)
        if action[0] < self.num_base_arms:
            self.counters[action[0]].insert(float(bits[0]), draws["noise"][0])


class CucbDpKl(Refreshed):
    """CUCB-DP with batches that all count, and KL-UCB with the private divergence."""

    def __init__(self, oracle, epsilon, refresh_every):
        super().__init__(oracle, refresh_every)
        self.epsilon = epsilon
        self.counters = [Accumulating(epsilon) for _ in range(self.num_base_arms)]

    def index(self, t, arm):
        counter = self.counters[arm]
        if counter.count == 0:
            return INFINITY
        return private_kl_ucb(clip(counter.released / counter.count), counter.count, exploration(t), self.epsilon)

    def update(self, t, action, bits, draws):
        if action[0] < self.num_base_arms:
            self.counters[action[0]].insert(float(bits[0]), draws["noise"][0])
        super().update(t, action, bits, draws)
