"""Cascading bandits that learn from every displayed position under local privacy: this is the slow copy. See ``cascade``.

One message a round says, with noise, where the click was. Clicks are then read without bias at every position, and so are
examinations, since a position is examined unless there was a click before it.
"""

import math

from scipy.special import expit

from .cascade import INFINITY, Policy, analytic_sigma, laplace_tail, largest


def one_hot(click, list_len):
    """Whether each position was clicked."""
    return [1.0 if position == click else 0.0 for position in range(list_len)]


def examined(clicked):
    """Readings of whether each position was examined, from those of whether it was clicked."""
    return [1.0 - sum(clicked[:position]) for position in range(len(clicked))]


def last(holds):
    """The end of the interval [0, w] on which a condition that fails at 1 holds; 0 if it holds nowhere."""
    low, high = 0.0, 1.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


class AllPositions(Policy):
    """Every displayed item gets a reading of its click and one of its examination; ``displays`` is how many."""

    def __init__(self, num_items, list_len):
        super().__init__(num_items, list_len)
        self.clicks, self.examinations = [0.0] * num_items, [0.0] * num_items
        self.behind = [0] * num_items  # H: over all displays, the positions that stood before the item

    def start(self, preview):
        """Nothing: the raw answers of a user may not be used."""

    def report(self, click, draws):
        """What the user sends."""
        raise NotImplementedError

    def read(self, message):
        """What was clicked, without bias."""
        return list(message)

    def numerator(self, t, item):
        """A bound on the attraction times the examinations."""
        raise NotImplementedError

    def index(self, t, item):
        if self.displays[item] == 0 or self.examinations[item] <= 0:
            return INFINITY
        return self.numerator(t, item) / self.examinations[item]

    def indices(self, t):
        return [self.index(t, item) for item in range(self.num_items)]

    def places(self, draws):
        """Which of the ranked items each position shows."""
        return sorted(range(self.list_len), key=lambda place: -draws["order"][place]) if self.list_len > 1 else [0]

    def ordered(self, ranked, draws):
        """The ranked items as they are shown."""
        return [ranked[place] for place in self.places(draws)]

    def ranked(self, action, draws):
        """The ranked items as far as what was shown tells."""
        return [item for _, item in sorted(zip(self.places(draws), action, strict=True))]

    def chosen(self, index, draws):
        """The items to show, ranked."""
        return largest(index, self.displays, self.list_len)

    def act(self, t, draws):
        return self.ordered(self.chosen(self.indices(t), draws), draws)

    def update(self, action, message):
        clicked = self.read(message)
        for position, (item, click, seen) in enumerate(zip(action, clicked, examined(clicked), strict=True)):
            self.clicks[item] += click
            self.examinations[item] += seen
            self.displays[item] += 1
            self.behind[item] += position


class Bits(AllPositions):
    """A message of one bit a position, or as good as that.

    What is summed is whole, so that sums are equal, and 0, exactly where they would be on paper.
    """

    bit_if_click, bit_if_none = 1.0, 0.0  # p and q: how likely a bit is set

    def __init__(self, num_items, list_len):
        super().__init__(num_items, list_len)
        self.set, self.set_before = [0] * num_items, [0] * num_items

    def bits(self, message):
        return message

    def read(self, message):
        return [(bit - self.bit_if_none) / (self.bit_if_click - self.bit_if_none) for bit in self.bits(message)]

    def update(self, action, message):
        bits, p, q = self.bits(message), self.bit_if_click, self.bit_if_none
        for position, item in enumerate(action):
            self.set[item] += int(bits[position])
            self.set_before[item] += int(sum(bits[:position]))
            self.displays[item] += 1
            self.behind[item] += position
            n = self.displays[item]
            self.clicks[item] = (self.set[item] - n * q) / (p - q)
            self.examinations[item] = ((n * p - self.set_before[item]) + (self.behind[item] - n) * q) / (p - q)


class AllLdpResponseUcb1(Bits):
    """R: randomised response on the position of the click; the items least examined, as far as is known, come first."""

    def __init__(self, num_items, list_len, epsilon):
        super().__init__(num_items, list_len)
        shrunk = math.exp(-epsilon)
        self.bit_if_click, self.bit_if_none = 1 / (1 + list_len * shrunk), shrunk / (1 + list_len * shrunk)
        self.kept = self.bit_if_click - self.bit_if_none  # D

    def report(self, click, draws):
        if draws["keep"] < self.kept:
            return click
        return min(math.floor(draws["other"] * (self.list_len + 1)), self.list_len)

    def bits(self, message):
        return one_hot(message, self.list_len)

    def numerator(self, t, item):
        proxy = self.displays[item] / (4 * self.kept**2)
        return self.clicks[item] + math.sqrt(6 * proxy * math.log(t))

    def ordered(self, ranked, draws):
        return sorted(ranked, key=lambda item: self.examinations[item])

    def ranked(self, action, draws):
        return action


class AllLdpVectorUcb1(AllPositions):
    """A message of one number a position, whose noise has a given sub-Gaussian proxy."""

    noise_proxy = 0.0

    def proxy(self, item, attraction):
        """The proxy of the clicks less ``attraction`` times the examinations."""
        n = self.displays[item]
        return n / 4 + self.noise_proxy * (n + attraction**2 * self.behind[item])

    def may_be(self, t, item, attraction):
        """Whether the readings leave this attraction possible."""
        budget = 4 * math.log(t) + math.log(self.list_len)
        excess = attraction * self.examinations[item] - self.clicks[item]
        return excess <= math.sqrt(2 * budget * self.proxy(item, attraction))

    def index(self, t, item):
        if self.displays[item] == 0:
            return INFINITY
        if self.may_be(t, item, 1.0):
            return 1.0
        return last(lambda attraction: self.may_be(t, item, attraction))

    def chosen(self, index, draws):
        # Most bounds are 1 for a long time, so that a rule by number would keep to the same few items.
        def rank(item):
            return -index[item], self.displays[item] if index[item] == INFINITY else -draws["tie"][item], item

        return sorted(range(self.num_items), key=rank)[: self.list_len]


class AllLdpUnaryUcb1(Bits, AllLdpVectorUcb1):
    """O: optimised unary encoding."""

    def __init__(self, num_items, list_len, epsilon):
        super().__init__(num_items, list_len)
        self.bit_if_click, self.bit_if_none = 0.5, float(expit(-epsilon))
        self.noise_proxy = 1 / math.tanh(epsilon / 2) ** 2

    def report(self, click, draws):
        chances = [self.bit_if_click if yes else self.bit_if_none for yes in one_hot(click, self.list_len)]
        return [int(u < chance) for chance, u in zip(chances, draws["bit"], strict=True)]


class AllLdpUnarySimpleUcb1(AllLdpUnaryUcb1):
    """O with a ratio for an index, as if the positions of the items were fixed beforehand."""

    def numerator(self, t, item):
        return self.clicks[item] + math.sqrt(6 * self.proxy(item, 1.0) * math.log(t))

    def index(self, t, item):
        return AllPositions.index(self, t, item)

    def chosen(self, index, draws):
        return AllPositions.chosen(self, index, draws)


class AllLdpGaussianUcb1(AllLdpVectorUcb1):
    """G: Gaussian noise on every position; another click changes two of them, or one in lists of one."""

    def __init__(self, num_items, list_len, epsilon, delta):
        super().__init__(num_items, list_len)
        self.sigma = analytic_sigma(epsilon, delta, math.sqrt(2) if list_len > 1 else 1.0)
        self.noise_proxy = self.sigma**2

    def report(self, click, draws):
        return [yes + self.sigma * noise for yes, noise in zip(one_hot(click, self.list_len), draws["noise"], strict=True)]


class AllLdpLaplaceUcb1(AllPositions):
    """Lap: Laplace noise on every position."""

    def __init__(self, num_items, list_len, epsilon):
        super().__init__(num_items, list_len)
        self.scale = (2 if list_len > 1 else 1) / epsilon

    def report(self, click, draws):
        return [yes + self.scale * noise for yes, noise in zip(one_hot(click, self.list_len), draws["noise"], strict=True)]

    def numerator(self, t, item):
        n = self.displays[item]
        tail_log = math.log(2) + math.log(self.list_len) + 4 * math.log(t)
        noise = laplace_tail(n + self.behind[item], self.scale, tail_log)
        return self.clicks[item] + math.sqrt(1.5 * n * math.log(t)) + noise
