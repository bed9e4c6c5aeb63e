"""K-armed bandits under central privacy, written twice: this is the slow copy. See ``cascade``.

An arm without a released mean has an infinite index. Of equal indices the lowest number wins, of infinite ones the arm pulled least.
"""

import math

import numpy as np

from .cascade import INFINITY, exploration, kl_ucb
from .counters import Accumulating, Binary, Forgetting, Hybrid
from .solvers import clip, divergence, private_kl_ucb


class Policy:
    """A policy of one lane: ``act`` and ``update`` once in each round."""

    def __init__(self, num_arms):
        self.num_arms, self.pulls = num_arms, [0] * num_arms

    def index(self, t, arm, draws):
        raise NotImplementedError

    def indices(self, t, draws=None):
        return [self.index(t, arm, draws) for arm in range(self.num_arms)]

    def choose(self, index, t):
        """The arm that these indices call for."""
        return min(range(self.num_arms), key=lambda arm: (-index[arm], self.pulls[arm] if index[arm] == INFINITY else 0, arm))

    def act(self, t, draws=None):
        return self.choose(self.indices(t, draws), t)

    def update(self, t, arm, reward, draws):
        self.pulls[arm] += 1


def sampling_radius(t, pulls):
    return math.sqrt(2 * math.log(t) / pulls)


# ---- a release in every round ------------------------------------------------------------------------------------------


class Counting(Policy):
    """A counter for each arm; an index is a noisy sum over the pulls, and a radius."""

    def __init__(self, num_arms, epsilon, counters):
        super().__init__(num_arms)
        self.epsilon, self.counters = epsilon, counters

    def noise_radius(self, t, arm):
        return 0.0

    def index(self, t, arm, draws):
        pulls = self.pulls[arm]
        if pulls == 0:
            return INFINITY
        return self.counters[arm].released / pulls + sampling_radius(t, pulls) + self.noise_radius(t, arm)

    def update(self, t, arm, reward, draws):
        super().update(t, arm, reward, draws)
        self.counters[arm].insert(float(reward), draws["noise"][0])


class MishraThakurtaUcb(Counting):
    """Mishra and Thakurta (2015), with all of epsilon for each arm."""

    split = False

    def __init__(self, num_arms, epsilon, horizon, tail_prob=0.1):
        share = num_arms if self.split else 1
        super().__init__(num_arms, epsilon, [Binary(horizon, epsilon / share) for _ in range(num_arms)])
        log_horizon = max(1.0, math.log(horizon))
        self.g = share * log_horizon**2 * math.log(num_arms * horizon * log_horizon / tail_prob) / epsilon

    def noise_radius(self, t, arm):
        return self.g / self.pulls[arm]


class MishraThakurtaUcbSplit(MishraThakurtaUcb):
    """The same as published: every arm gets its share."""

    split = True


class DpUcbBound(Counting):
    """DP-UCB-Bound (Tossou and Dimitrakakis 2016)."""

    def __init__(self, num_arms, epsilon):
        super().__init__(num_arms, epsilon, [Hybrid(epsilon) for _ in range(num_arms)])

    def noise_radius(self, t, arm):
        pulls = self.pulls[arm]
        nu = math.sqrt(8) / self.epsilon * (math.log(4) + 4 * math.log(t))
        if pulls & (pulls - 1) != 0:
            nu *= math.log(pulls) + 1
        return nu / pulls


class DpUcb(Counting):
    """DP-UCB (Tossou and Dimitrakakis 2016): the counters of all arms go forward in every round, of those not pulled by a zero."""

    def __init__(self, num_arms, epsilon):
        super().__init__(num_arms, epsilon, [Hybrid(epsilon) for _ in range(num_arms)])

    def update(self, t, arm, reward, draws):
        self.pulls[arm] += 1
        for other in range(self.num_arms):
            self.counters[other].insert(float(reward) if other == arm else 0.0, draws["noise"][other])


class DpUcbInt(Policy):
    """DP-UCB-Int (Tossou and Dimitrakakis 2016): a new noisy mean every 1 / epsilon pulls."""

    def __init__(self, num_arms, epsilon, rate=1.1):
        super().__init__(num_arms)
        self.every, self.rate = max(1, math.ceil(1 / epsilon)), rate
        self.total, self.mean = [0.0] * num_arms, [None] * num_arms

    def index(self, t, arm, draws):
        return INFINITY if self.mean[arm] is None else self.mean[arm] + sampling_radius(t, self.pulls[arm])

    def update(self, t, arm, reward, draws):
        super().update(t, arm, reward, draws)
        self.total[arm] += reward
        pulls = self.pulls[arm]
        if pulls % self.every == 0:
            self.mean[arm] = self.total[arm] / pulls + pulls ** -(1 - self.rate / 2) * draws["noise"][0]


# ---- elimination -------------------------------------------------------------------------------------------------------


def float32_from(integer):
    """The least float32 that is not below."""
    near = np.float32(integer)
    return int(near if int(near) >= integer else np.nextafter(near, np.float32(np.inf)))


class DpSe(Policy):
    """DP-SE (Sajed and Sheffet 2019)."""

    def __init__(self, num_arms, epsilon, horizon):
        super().__init__(num_arms)
        self.epsilon, self.b = epsilon, 1 / horizon
        self.active, self.epoch = list(range(num_arms)), 0
        self.begin()

    def begin(self):
        self.epoch += 1
        self.in_epoch, self.total = [0] * self.num_arms, [0.0] * self.num_arms
        of_mean, of_noise = self.logarithms()
        guess = 2.0**-self.epoch
        self.needed = float32_from(math.ceil(max(32 * of_mean / guess**2, 8 * of_noise / (self.epsilon * guess))) + 1)

    def logarithms(self):
        size = len(self.active) * self.epoch**2 / self.b
        return math.log(8 * size), math.log(4 * size)

    def index(self, t, arm, draws):
        return 0.0

    def choose(self, index, t):
        return min(self.active, key=lambda arm: (self.in_epoch[arm], arm))

    def update(self, t, arm, reward, draws):
        super().update(t, arm, reward, draws)
        if len(self.active) == 1:
            return
        self.in_epoch[arm] += 1
        self.total[arm] += reward
        if all(self.in_epoch[other] == self.needed for other in self.active):
            self.eliminate(draws["noise"])
            self.begin()

    def eliminate(self, noise):
        mean = {arm: self.total[arm] / self.needed + noise[arm] / (self.epsilon * self.needed) for arm in self.active}
        of_mean, of_noise = self.logarithms()
        h, c = math.sqrt(of_mean / (2 * self.needed)), of_noise / (self.needed * self.epsilon)
        best = max(mean.values())
        self.active = [arm for arm in self.active if best - mean[arm] <= 2 * h + 2 * c]


# ---- batches -----------------------------------------------------------------------------------------------------------


class Batched(Policy):
    """A batch for each arm; an index comes from what the full ones released."""

    def __init__(self, num_arms, epsilon, batches):
        super().__init__(num_arms)
        self.epsilon, self.batches = epsilon, batches

    def released_index(self, t, mean, count):
        raise NotImplementedError

    def index(self, t, arm, draws):
        batch = self.batches[arm]
        return self.released_index(t, batch.released / batch.count, batch.count) if batch.count > 0 else INFINITY

    def update(self, t, arm, reward, draws):
        super().update(t, arm, reward, draws)
        self.batches[arm].insert(float(reward), draws["noise"][0])


class Episodes(Batched):
    """An arm, once chosen, is played until its batch is full."""

    def begun(self):
        return next((arm for arm in range(self.num_arms) if self.batches[arm].pending > 0), None)

    def act(self, t, draws=None):
        return super().act(t, draws) if self.begun() is None else self.begun()

    def choose(self, index, t):
        return super().choose(index, t) if self.begun() is None else self.begun()


class AdapUcb(Episodes):
    """AdaP-UCB (Azize and Basu 2022): the last half of the pulls counts."""

    a = 3.1

    def __init__(self, num_arms, epsilon):
        super().__init__(num_arms, epsilon, [Forgetting(epsilon, "AdaP") for _ in range(num_arms)])

    def released_index(self, t, mean, count):
        return mean + math.sqrt(self.a * math.log(2 * t) / (2 * count)) + self.a * math.log(t) / (self.epsilon * count)


class AdapKlUcb(AdapUcb):
    """AdaP-KLUCB (Azize and Basu 2022)."""

    def released_index(self, t, mean, count):
        return kl_ucb(clip(mean + self.a * math.log(t) / (self.epsilon * count)), count, self.a * math.log(t))


class DpKlUcb(Episodes):
    """DP-KLUCB (Azize et al. 2025): all batches count."""

    def __init__(self, num_arms, epsilon, exploration=exploration):
        super().__init__(num_arms, epsilon, [Accumulating(epsilon) for _ in range(num_arms)])
        self.exploration = exploration

    def released_index(self, t, mean, count):
        return private_kl_ucb(clip(mean), count, self.exploration(t), self.epsilon)


class DpImed(DpKlUcb):
    """DP-IMED (Azize et al. 2025). The index is the negative of what it makes least."""

    def released_index(self, t, mean, count):
        best = max(clip(batch.released / batch.count) for batch in self.batches if batch.count > 0)
        return -(count * divergence(clip(mean), best, self.epsilon) + math.log(count))


class LazyUcb(Batched):
    """Anytime-Lazy-UCB (Hu et al. 2021): the newest batch counts, and the arm is chosen anew in each round."""

    def __init__(self, num_arms, epsilon):
        super().__init__(num_arms, epsilon, [Forgetting(epsilon, "lazy") for _ in range(num_arms)])

    def released_index(self, t, mean, count):
        return mean + math.sqrt(3 * math.log(t) / (2 * count)) + 3 * math.log(t) / (self.epsilon * count)


class LazyDpTs(LazyUcb):
    """Lazy-DP-TS (Hu and Hegde 2022)."""

    def index(self, t, arm, draws):
        batch = self.batches[arm]
        if batch.count == 0:
            return INFINITY
        m = clip(batch.released / batch.count + 3 * math.log(t) / (self.epsilon * batch.count))
        normal, uniform = draws["normal"][..., arm], draws["uniform"][..., arm]
        yes = gamma(m * batch.count + 1, normal[:, 0], uniform[:, 0])
        no = gamma((1 - m) * batch.count + 1, normal[:, 1], uniform[:, 1])
        return yes / (yes + no)


def gamma(alpha, normal, uniform):
    """A gamma variable by the first accepted of some tries (Marsaglia and Tsang 2000); the middle of the law if none is."""
    d = alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    for x, u in zip(normal, uniform, strict=True):
        v = (1 + c * x) ** 3
        if v > 0 and math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v
    return d
