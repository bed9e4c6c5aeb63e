"""Cascading bandits under central privacy, written twice: this is the slow copy. See ``cascade``.

Algorithm 1 is that of Cascading Bandit under Differential Privacy, arXiv 2105.11126. The noise is the server's, so the draws that
``update`` gets are too.
"""

import math

from .cascade import INFINITY, Examined, Policy, exploration, fewest, largest
from .counters import Accumulating, Forgetting, Hybrid, Laws, MergedHybrid
from .solvers import clip, private_kl_ucb, tail_at

LAWS = {counter: Laws(counter(1.0)) for counter in (Hybrid, MergedHybrid)}
"""What noise the counters have at an epsilon of 1."""


# ---- every examined item is observed -----------------------------------------------------------------------------------


class HybridUcb(Examined):
    """Algorithm 1, as in its box: the logarithm of the horizon."""

    def __init__(self, num_items, list_len, epsilon, horizon=None, order_constant=1.0, noise_scale=1.0, radius_scale=1.0):
        super().__init__(num_items, list_len)
        self.epsilon, self.each = epsilon, epsilon / num_items
        self.horizon, self.order_constant, self.noise_scale, self.radius_scale = horizon, order_constant, noise_scale, radius_scale
        self.counters = [Hybrid(self.each) for _ in range(num_items)]

    def mean(self, item):
        return (self.total[item] + self.counters[item].released) / self.count[item]

    def radius_log(self, item):
        return math.log(self.horizon)

    def radius(self, t, item):
        box = 3 * self.order_constant * self.num_items * self.radius_log(item) ** 1.5 * math.log(t) / (self.epsilon * self.count[item])
        return self.radius_scale * box

    def update(self, t, action, click, draws):
        for position, item in enumerate(action):
            self.displays[item] += 1
            if position <= click:
                self.counters[item].insert(1.0 if position == click else 0.0, self.noise_scale * draws["noise"][position])
                self.count[item] += 1


class HybridUcbByCount(HybridUcb):
    """Algorithm 1, as in its proof: the logarithm of the item's count."""

    def radius_log(self, item):
        return math.log(self.count[item])


class HybridUcbCalibrated(HybridUcb):
    """Algorithm 1 with Chernoff's bound on the noise that is there."""

    def radius(self, t, item):
        return self.radius_scale * tail_at(LAWS[Hybrid], self.count[item] - 1, t, self.each) / self.count[item]


# ---- only the front item is observed -----------------------------------------------------------------------------------


class First(Policy):
    """Feeds the counter of the front item, the one fed least often of the list; ``count`` is how often."""

    def __init__(self, num_items, list_len, epsilon, counters):
        super().__init__(num_items, list_len)
        self.epsilon, self.counters = epsilon, counters

    def start(self, preview):
        """Nothing: the raw answers of a user may not be used."""

    def released_index(self, t, counter):
        """The index of an item that has a release."""
        raise NotImplementedError

    def index(self, t, item):
        return self.released_index(t, self.counters[item]) if self.counters[item].count > 0 else INFINITY

    def indices(self, t):
        return [self.index(t, item) for item in range(self.num_items)]

    def arrange(self, index, t):
        action = largest(index, self.displays, self.list_len)
        front = fewest(action, self.count)
        return [front, *(item for item in action if item != front)]

    def update(self, t, action, click, draws):
        for item in action:
            self.displays[item] += 1
        self.count[action[0]] += 1
        self.counters[action[0]].insert(1.0 if click == 0 else 0.0, draws["noise"][0])


class FirstDpUcb1(First):
    """UCB1 on a counter that releases in every round."""

    def __init__(self, num_items, list_len, epsilon, counter=Hybrid):
        super().__init__(num_items, list_len, epsilon, [counter(epsilon) for _ in range(num_items)])
        self.laws = LAWS[counter]

    def released_index(self, t, counter):
        count = counter.count
        sampling = math.sqrt(1.5 * math.log(t) / count)
        return counter.released / count + sampling + tail_at(self.laws, count, t, self.epsilon) / count


class FirstDpLazyUcb1(First):
    """The newest batch only, each twice as large as the one before."""

    def __init__(self, num_items, list_len, epsilon):
        super().__init__(num_items, list_len, epsilon, [Forgetting(epsilon, "lazy") for _ in range(num_items)])

    def arrange(self, index, t):
        action = largest(index, self.displays, self.list_len)
        front = min(action, key=lambda item: (self.counters[item].count, self.counters[item].pending))  # the first such
        return [front, *(item for item in action if item != front)]

    def released_index(self, t, counter):
        h = counter.count
        return counter.released / h + math.sqrt(3.1 * math.log(2 * t) / (2 * h)) + 3.1 * math.log(t) / (self.epsilon * h)


class FirstDpKlUcb(First):
    """KL-UCB with the private divergence, on batches that all count; indices may be some rounds old."""

    def __init__(self, num_items, list_len, epsilon, refresh_every, exploration=exploration):
        super().__init__(num_items, list_len, epsilon, [Accumulating(epsilon) for _ in range(num_items)])
        self.refresh_every, self.exploration = refresh_every, exploration
        self.kept = [INFINITY] * num_items

    def released_index(self, t, counter):
        return private_kl_ucb(clip(counter.released / counter.count), counter.count, self.exploration(t), self.epsilon)

    def indices(self, t):
        return list(self.kept)

    def update(self, t, action, click, draws):
        super().update(t, action, click, draws)
        for item in range(self.num_items) if t % self.refresh_every == 0 else action[:1]:
            self.kept[item] = self.index(t + 1, item)


# ---- every displayed item is observed ----------------------------------------------------------------------------------


class AllDpUcb1(Policy):
    """Two counters for each item, fed whenever it is displayed: whether it was clicked, and whether it was examined."""

    def __init__(self, num_items, list_len, epsilon, epsilon_click=None, epsilon_examined=None):
        super().__init__(num_items, list_len)
        self.for_click, self.for_examined = (epsilon / 4, epsilon / (2 * (list_len - 1))) if list_len > 1 else (epsilon, None)
        if epsilon_click is not None:
            assert 2 * epsilon_click + (list_len - 1) * epsilon_examined <= epsilon
            self.for_click, self.for_examined = epsilon_click, epsilon_examined
        self.clicks = [Hybrid(self.for_click) for _ in range(num_items)]
        self.examined = [Hybrid(self.for_examined) for _ in range(num_items)] if list_len > 1 else None
        self.count = self.displays

    def start(self, preview):
        """Nothing: the raw answers of a user may not be used."""

    def index(self, t, item):
        n = self.displays[item]
        if n == 0:
            return INFINITY
        examined, radius = float(n), tail_at(LAWS[Hybrid], n, t, self.for_click)
        if self.examined is not None:
            examined = self.examined[item].released
            radius += tail_at(LAWS[Hybrid], n, t, self.for_examined)
        if examined <= 0:
            return INFINITY
        return (self.clicks[item].released + math.sqrt(1.5 * n * math.log(t)) + radius) / examined

    def indices(self, t):
        return [self.index(t, item) for item in range(self.num_items)]

    def arrange(self, index, t):
        action = largest(index, self.displays, self.list_len)
        front = fewest(action, self.displays)
        return [front, *(item for item in action if item != front)]

    def update(self, t, action, click, draws):
        for position, item in enumerate(action):
            self.displays[item] += 1
            self.clicks[item].insert(1.0 if position == click else 0.0, draws["click"][position])
            if self.examined is not None:
                self.examined[item].insert(1.0 if position <= click else 0.0, draws["examined"][position])
