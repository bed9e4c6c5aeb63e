"""Cascading bandits under local privacy, written twice: this is the slow copy.

One lane at a time, in float64, with loops, from the papers and with nothing from the library, so that the two agree only where
both are right. Randomness comes in from outside. Items are the policy's own numbers, lists and clicks count from 0.

Algorithm n is that of Cascading Bandit under Differential Privacy, arXiv 2105.11126.
"""

import functools
import math

from scipy.special import log_ndtr, ndtr

INFINITY = math.inf


# ---- the user ----------------------------------------------------------------------------------------------------------


def click_position(skip, action, u):
    """Where the user clicks, by the inverse of the distribution function; the length of the list if nowhere."""
    position, passed = 0, 1.0
    for item in action:
        passed *= skip[item]
        if u < passed:
            position += 1
    return position


def regret(skip, action):
    """Expected regret of a list: how much more often the user leaves it than the best list."""
    return math.prod(skip[item] for item in action) - math.prod(sorted(skip)[: len(action)])


# ---- solvers -----------------------------------------------------------------------------------------------------------


def exploration(t):
    """The budget of KL-UCB in round t (Garivier and Cappe 2011, c = 3)."""
    return math.log(t) + 3 * math.log(max(1.0, math.log(t)))


def bernoulli_kl(p, q):
    left = p * math.log(p / q) if p > 0 else 0.0
    if p == 1:
        return left
    return left + (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else INFINITY


@functools.cache
def kl_ucb(mean, count, budget):
    """The largest q in [mean, 1] with count * kl(mean, q) <= budget."""
    if mean == 1 or count * bernoulli_kl(mean, 1.0) <= budget:
        return 1.0
    low, high = mean, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        # Adjacent floats have no middle, and kl(0, 0) is 0 / 0.
        if middle <= 0 or count * bernoulli_kl(mean, middle) <= budget:
            low = middle
        else:
            high = middle
    return low


@functools.cache
def laplace_tail(count, scale, tail_log):
    """What a sum of Laplace draws exceeds in size with probability at most g, where tail_log = log(2 / g), by Chernoff's bound."""
    if count == 0 or scale == 0:
        return 0.0

    def bound(x):  # x = scale * theta, in (0, 1)
        return scale * (tail_log - count * math.log1p(-x * x)) / x

    golden = (math.sqrt(5) - 1) / 2
    low, high = 0.0, 1.0
    left, right = 1 - golden, golden
    at_left, at_right = bound(left), bound(right)
    for _ in range(80):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            if not low < left < right:
                break
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            if not left < right < high:
                break
            at_right = bound(right)
    return min(at_left, at_right)


def analytic_sigma(epsilon, delta, sensitivity):
    """The smallest standard deviation of Gaussian noise that is (epsilon, delta)-private (Balle and Wang 2018)."""

    def spent(sigma):
        half, shift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        return ndtr(half - shift) - math.exp(epsilon + log_ndtr(-half - shift))

    low = high = sensitivity
    while spent(low) <= delta:
        low /= 2
    while spent(high) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return high


def composed_delta(epsilon_each, times, epsilon):
    """The delta at ``epsilon`` of pure private mechanisms used one after the other (Kairouz, Oh and Viswanath 2015)."""
    p = 1 / (1 + math.exp(-epsilon_each))
    return sum(
        math.comb(times, i) * max(0.0, p ** (times - i) * (1 - p) ** i - math.exp(epsilon) * p**i * (1 - p) ** (times - i))
        for i in range(times + 1)
    )


def exact_split(epsilon, delta, times):
    """The largest epsilon that ``times`` mechanisms may each spend."""
    low = high = epsilon / times
    while composed_delta(high, times, epsilon) <= delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if composed_delta(middle, times, epsilon) <= delta else (low, middle)
    return low


# ---- the list ----------------------------------------------------------------------------------------------------------


def largest(index, displays, how_many):
    """The items with the largest indices, in decreasing order; among the infinite ones those shown least; then by number."""

    def rank(item):
        return -index[item], displays[item] if index[item] == INFINITY else 0, item

    return sorted(range(len(index)), key=rank)[:how_many]


def fewest(items, count):
    """The item with the fewest observations, the first of them in the order given."""
    return min(items, key=lambda item: count[item])


class Policy:
    """A policy of one lane: ``start``, then ``act`` and ``update`` once in each round."""

    def __init__(self, num_items, list_len):
        self.num_items, self.list_len = num_items, list_len
        self.count, self.total, self.displays = [0] * num_items, [0.0] * num_items, [0] * num_items

    def start(self, preview):
        """Before round 1, with one raw answer about every item."""
        raise NotImplementedError

    def indices(self, t):
        """The index of every item in round t."""
        raise NotImplementedError

    def arrange(self, index, t):
        """The list that these indices call for."""
        return largest(index, self.displays, self.list_len)

    def act(self, t):
        return self.arrange(self.indices(t), t)

    def update(self, t, action, click, draws):
        raise NotImplementedError

    def mean(self, item):
        return self.total[item] / self.count[item]


# ---- every examined item is observed -----------------------------------------------------------------------------------


class Examined(Policy):
    """One raw answer about every item to begin with; then the items down to the click, each with its own noise."""

    noise_size = 0.0

    def start(self, preview):
        for item in range(self.num_items):
            self.count[item], self.total[item] = 1, float(preview[item])

    def radius(self, t, item):
        """The width of the index that pays for the noise."""
        return 0.0

    def indices(self, t):
        return [self.mean(item) + math.sqrt(1.5 * math.log(t) / self.count[item]) + self.radius(t, item) for item in range(self.num_items)]

    def update(self, t, action, click, draws):
        for position, item in enumerate(action):
            self.displays[item] += 1
            if position <= click:
                noise = self.noise_size * draws["noise"][position] if self.noise_size else 0.0
                self.total[item] += (1.0 if position == click else 0.0) + noise
                self.count[item] += 1


class CascadeUcb1(Examined):
    """CascadeUCB1 (Kveton et al. 2015)."""


class CascadeKlUcb(Examined):
    """CascadeKL-UCB (Kveton et al. 2015), whose indices may be some rounds old."""

    def __init__(self, num_items, list_len, refresh_every):
        super().__init__(num_items, list_len)
        self.refresh_every = refresh_every

    def start(self, preview):
        super().start(preview)
        self.kept = [self.fresh(1, item) for item in range(self.num_items)]

    def fresh(self, t, item):
        return kl_ucb(self.mean(item), self.count[item], exploration(t))

    def indices(self, t):
        return list(self.kept)

    def update(self, t, action, click, draws):
        super().update(t, action, click, draws)
        for item in range(self.num_items) if t % self.refresh_every == 0 else action:
            self.kept[item] = self.fresh(t + 1, item)


class LaplaceUcb(Examined):
    """Algorithm 2."""

    def __init__(self, num_items, list_len, epsilon, noise_scale=1.0, radius_scale=1.0):
        super().__init__(num_items, list_len)
        self.scale, self.radius_scale = list_len / epsilon, radius_scale
        self.noise_size = noise_scale * self.scale

    def radius(self, t, item):
        return self.radius_scale * self.scale * math.sqrt(24 * math.log(t) / self.count[item])


def chernoff_radius(t, count, scale):
    """The radius of a mean whose first term has no noise, at probability 1 - t^-3."""
    return laplace_tail(count - 1, scale, math.log(2) + 3 * math.log(t)) / count


class LaplaceUcbCalibrated(LaplaceUcb):
    def radius(self, t, item):
        return self.radius_scale * chernoff_radius(t, self.count[item], self.scale)


class LaplaceUcbForced(LaplaceUcb):
    """The radius of Algorithm 2 is valid from 3 log t observations on; an item that has fewer goes where it is surely examined."""

    def arrange(self, index, t):
        action = largest(index, self.displays, self.list_len)
        rare = fewest(range(self.num_items), self.count)
        if self.count[rare] > 3 * math.log(t):
            return action
        return [rare, *(item for item in action if item != rare)][: self.list_len]


class GaussianUcb(Examined):
    """Algorithm 3."""

    def __init__(self, num_items, list_len, epsilon, delta, noise_scale=1.0, radius_scale=1.0):
        super().__init__(num_items, list_len)
        self.sigma, self.radius_scale = self.deviation(epsilon, delta), radius_scale
        self.noise_size = noise_scale * self.sigma

    def deviation(self, epsilon, delta):
        return math.sqrt(2 * self.list_len * math.log(1.25 / delta)) / epsilon

    def radius(self, t, item):
        return self.radius_scale * self.sigma * math.sqrt(2 * math.log(2 * t**3) / self.count[item])


class GaussianUcbCalibrated(GaussianUcb):
    def deviation(self, epsilon, delta):
        return analytic_sigma(epsilon, delta, math.sqrt(self.list_len))


class CompositionUcb(Examined):
    """The variant of Theorem 7."""

    def __init__(self, num_items, list_len, epsilon, delta, noise_scale=1.0, radius_scale=1.0):
        super().__init__(num_items, list_len)
        self.scale, self.radius_scale = 1 / self.split(epsilon, delta), radius_scale
        self.noise_size = noise_scale * self.scale

    def split(self, epsilon, delta):
        return epsilon / math.sqrt(4 * self.list_len * math.log(math.e + epsilon / delta))

    def radius(self, t, item):
        return self.radius_scale * self.scale * math.sqrt(24 * math.log(t) / self.count[item])


class CompositionUcbCalibrated(CompositionUcb):
    def split(self, epsilon, delta):
        return exact_split(epsilon, delta, self.list_len)

    def radius(self, t, item):
        return self.radius_scale * chernoff_radius(t, self.count[item], self.scale)


# ---- only the front item is observed -----------------------------------------------------------------------------------


class FirstLdpUcb1(Policy):
    """One randomised bit a round: whether the front item, the least observed of the list, was clicked."""

    def __init__(self, num_items, list_len, epsilon=INFINITY):
        super().__init__(num_items, list_len)
        self.bit_if_click, self.bit_if_none = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
        self.range = 1 / math.tanh(epsilon / 2)

    def start(self, preview):
        """Nothing: the raw answers of a user may not be used."""

    def index(self, t, item):
        if self.count[item] == 0:
            return INFINITY
        debiased = (self.mean(item) - self.bit_if_none) * self.range
        return debiased + self.range * math.sqrt(1.5 * math.log(t) / self.count[item])

    def indices(self, t):
        return [self.index(t, item) for item in range(self.num_items)]

    def arrange(self, index, t):
        action = largest(index, self.displays, self.list_len)
        front = fewest(action, self.count)
        return [front, *(item for item in action if item != front)]

    def update(self, t, action, click, draws):
        for item in action:
            self.displays[item] += 1
        bit = click == 0
        if self.range > 1:  # otherwise epsilon is infinite, and there may be nothing to draw
            bit = draws["bit"] < (self.bit_if_click if bit else self.bit_if_none)
        self.count[action[0]] += 1
        self.total[action[0]] += 1.0 if bit else 0.0


class FirstLdpKlUcb(FirstLdpUcb1):
    """The same with KL-UCB on the bits; indices may be some rounds old."""

    def __init__(self, num_items, list_len, refresh_every, epsilon=INFINITY):
        super().__init__(num_items, list_len, epsilon)
        self.refresh_every = refresh_every
        self.kept = [INFINITY] * num_items

    def index(self, t, item):
        if self.count[item] == 0:
            return INFINITY
        bits = kl_ucb(self.mean(item), self.count[item], exploration(t))
        return min(1.0, (bits - self.bit_if_none) * self.range)

    def indices(self, t):
        return list(self.kept)

    def update(self, t, action, click, draws):
        super().update(t, action, click, draws)
        for item in range(self.num_items) if t % self.refresh_every == 0 else action[:1]:
            self.kept[item] = self.index(t + 1, item)
