"""Counters that release a noisy running sum, from the textbook: one stream at a time, every array dense.

A counter takes ``insert(x, z)``, an item and the draws of the round it came in, and then shows ``released``, its newest noisy sum
(0 before there is one), and ``count``, how many items that covers. Draws have scale 1. A plain tree takes one draw for each item; a
tree of Honaker's takes an array, whose entry j is the own draw of the node of height j that ends at the item.
"""

import math
from collections import Counter as Multiset

# ---- dyadic trees ------------------------------------------------------------------------------------------------------


def trailing_zeros(m):
    return (m & -m).bit_length() - 1


def set_bits(m):
    return [i for i in range(m.bit_length()) if m >> i & 1]


class Tree:
    """Partial sums over dyadic intervals (Chan, Shi and Song 2011); only those that the output needs are kept."""

    def __init__(self, levels, scale):
        self.scale, self.size = scale, 0
        self.alpha, self.noisy = [0.0] * levels, [0.0] * levels

    @staticmethod
    def single(z):
        """The one draw of a round in which no node of the tree ends."""
        return z

    def insert(self, x, z):
        self.size += 1
        i = trailing_zeros(self.size)
        self.alpha[i] = sum(self.alpha[j] for j in range(i)) + x
        for j in range(i):
            self.alpha[j] = self.noisy[j] = 0.0
        self.noisy[i] = self.alpha[i] + z * self.scale

    def node(self, height):
        """The noisy sum of the newest node of this height."""
        return self.noisy[height]

    def output(self):
        return sum(self.node(i) for i in set_bits(self.size))


class HonakerTree(Tree):
    """The whole tree; a node is estimated from its own draw and from what its children say (Honaker 2015)."""

    def __init__(self, levels, scale):
        self.levels, self.scale, self.size = levels, scale, 0
        self.items, self.estimate, self.variance = [], {}, [1.0]  # variances relative to that of a draw
        for _ in range(levels):
            self.variance.append(1 / (1 + 1 / (2 * self.variance[-1])))

    @staticmethod
    def single(z):
        return z[0]

    def insert(self, x, z):
        self.items.append(x)
        self.size += 1
        for height in range(trailing_zeros(self.size) + 1):
            assert height < self.levels
            place = self.size >> height  # the node over the items from (place - 1) * 2^height to place * 2^height
            own = sum(self.items[self.size - 2**height :]) + z[height] * self.scale
            if height > 0:
                children = self.estimate[height - 1, 2 * place - 1] + self.estimate[height - 1, 2 * place]
                own_weight, their_weight = 1.0, 1 / (2 * self.variance[height - 1])
                own = (own * own_weight + children * their_weight) * (1 / (own_weight + their_weight))
            self.estimate[height, place] = own

    def node(self, height):
        return self.estimate[height, self.size >> height]


# ---- counters ----------------------------------------------------------------------------------------------------------


class Counter:
    """One stream."""

    def __init__(self):
        self.released, self.count = 0.0, 0

    def insert(self, x, z):
        raise NotImplementedError


class Binary(Counter):
    """At most ``horizon`` items, all in one tree."""

    def __init__(self, horizon, epsilon, tree=Tree):
        super().__init__()
        levels = math.floor(math.log2(horizon)) + 1
        self.tree = tree(levels, levels / epsilon)

    def insert(self, x, z):
        self.tree.insert(x, z)
        self.released, self.count = self.tree.output(), self.count + 1


class Logarithmic(Counter):
    """Releases at powers of two; the noise adds up."""

    def __init__(self, epsilon):
        super().__init__()
        self.scale, self.beta, self.t = 1 / epsilon, 0.0, 0

    def insert(self, x, z):
        self.t += 1
        self.beta = self.beta + x
        if self.t & (self.t - 1) == 0:
            self.beta = self.beta + z * self.scale
            self.released, self.count = self.beta, self.t


class Hybrid(Counter):
    """The logarithmic counter at half of epsilon, and between its releases a fresh tree at the other half."""

    def __init__(self, epsilon, tree=Tree):
        super().__init__()
        self.epsilon, self.make = epsilon, tree
        self.base = self.beta = 0.0
        self.tree, self.height = None, 0

    def insert(self, x, z):
        self.count += 1
        self.beta = self.beta + x
        if self.count & (self.count - 1) == 0:
            self.height = int(math.log2(self.count))
            self.beta = self.beta + self.make.single(z) * (2 / self.epsilon)
            self.base = self.released = self.beta
            self.tree = self.make(self.height, 2 * self.height / self.epsilon)
        else:
            self.tree.insert(x, z)
            self.released = self.base + self.tree.output()


class MergedHybrid(Counter):
    """The root of the tree of a block of items is what the logarithmic counter adds for the block."""

    def __init__(self, epsilon, tree=Tree):
        super().__init__()
        self.epsilon, self.make = epsilon, tree
        self.base, self.block, self.tree = 0.0, 0, None

    def insert(self, x, z):
        self.count += 1
        if self.count == 1:
            self.base = x + self.make.single(z) * (1 / self.epsilon)
            self.reset(0)
            return
        self.tree.insert(x, z)
        if self.tree.size == 2**self.block:
            self.base = self.base + self.tree.node(self.block)
            self.reset(self.block + 1)
        else:
            self.released = self.base + self.tree.output()

    def reset(self, block):
        self.block, self.tree = block, self.make(block + 1, (block + 1) / self.epsilon)
        self.released = self.base


class SquareRoot(Counter):
    """Normal noise with the correlations of a square root of the matrix of prefix sums (Fichtenberger, Henzinger and Upadhyay)."""

    def __init__(self, horizon, sigma):
        super().__init__()
        self.sigma, self.total, self.draws = sigma, 0.0, []
        self.f = square_root_coefficients(horizon)

    def insert(self, x, z):
        self.draws.append(z)
        self.total, self.count = self.total + x, self.count + 1
        self.released = self.total + self.sigma * sum(f * past for f, past in zip(self.f, reversed(self.draws), strict=False))


def square_root_coefficients(n):
    f = [1.0]
    for k in range(1, n):
        f.append(f[-1] * (2 * k - 1) / (2 * k))
    return f


# ---- batches -----------------------------------------------------------------------------------------------------------


class Batches(Counter):
    """Items wait in a batch until it is full."""

    def __init__(self, epsilon):
        super().__init__()
        self.scale, self.pending, self.pending_sum, self.seen = 1 / epsilon, 0, 0.0, 0

    def size(self):
        """How many items fill the batch."""
        raise NotImplementedError

    def close(self, noisy, items):
        raise NotImplementedError

    def insert(self, x, z):
        self.seen += 1
        self.pending, self.pending_sum = self.pending + 1, self.pending_sum + x
        if self.pending >= self.size():
            self.close(self.pending_sum + z * self.scale, self.pending)
            self.pending, self.pending_sum = 0, 0.0


class Accumulating(Batches):
    """Every batch counts, each with a draw of its own."""

    def __init__(self, epsilon, ratio=2.0):
        super().__init__(epsilon)
        self.ratio = ratio

    def size(self):
        return max(1, math.ceil((self.ratio - 1) * self.count - 1e-9))  # (1.1 - 1) * 10 is no more than 1

    def close(self, noisy, items):
        self.released, self.count = self.released + noisy, self.count + items


class Forgetting(Batches):
    """Only the newest batch counts. The next one is twice as large (``lazy``), or as large as all so far (``AdaP``)."""

    def __init__(self, epsilon, rule):
        super().__init__(epsilon)
        assert rule in ("lazy", "AdaP")
        self.rule, self.next = rule, 1

    def size(self):
        return self.next

    def close(self, noisy, items):
        self.released, self.count = noisy, items
        self.next = 2 * items if self.rule == "lazy" else self.seen


# ---- what noise a release has ------------------------------------------------------------------------------------------


class Noise(dict):
    """A linear combination of draws: draw -> factor."""

    def __add__(self, other):
        if not isinstance(other, Noise):
            assert other == 0
            return self
        result = Noise(self)
        for draw, factor in other.items():
            result[draw] = result.get(draw, 0.0) + factor
        return result

    __radd__ = __add__

    def __mul__(self, factor):
        return Noise({draw: old * factor for draw, old in self.items()})


class Laws:
    """The noise of the releases of one counter, found by running it on zeros and on draws that are left as names."""

    def __init__(self, counter, tree=Tree):
        self.counter, self.tree, self.inserted = counter, tree, 0
        self.known = {0: ()}

    def at(self, count):
        """((scale, how many), ...) of the independent draws in the release over ``count`` items."""
        while count not in self.known:
            self.inserted += 1
            assert self.inserted <= 2 * count, "never released"
            z = [Noise({(self.inserted, height): 1.0}) for height in range(trailing_zeros(self.inserted) + 32)]
            self.counter.insert(0.0, z if self.tree is HonakerTree else z[0])
            scales = Multiset(round(abs(factor), 12) for factor in self.counter.released.values() if factor)
            self.known[self.counter.count] = tuple(sorted(scales.items()))
        return self.known[count]
