"""K-armed bandits under local privacy, written twice: this is the slow copy. See ``cascade``.

Algorithms and curators are those of Multi-Armed Bandits with Local Differential Privacy, arXiv 2007.03121. Of equal indices the lowest
number wins, so that arms never pulled, whose index is infinite, come first and in order.
"""

import math

from .cascade import INFINITY, exploration, kl_ucb
from .solvers import tail

# ---- curators ----------------------------------------------------------------------------------------------------------


def raw(reward, epsilon, draws):
    return reward


def to_laplace(reward, epsilon, draws):
    """CTL."""
    return reward + draws["noise"] / epsilon


def to_bernoulli(reward, epsilon, draws):
    """CTB: 1 with probability (r e^epsilon + 1 - r) / (e^epsilon + 1)."""
    shrunk = math.exp(-epsilon)
    return 1.0 if draws["bit"] < (reward + (1 - reward) * shrunk) / (1 + shrunk) else 0.0


def sigmoid(reward):
    return 1 / (1 + math.exp(-reward))


# ---- agents ------------------------------------------------------------------------------------------------------------


class Policy:
    """An agent and its curator, of one lane: ``act``, ``report`` and ``update`` once in each round.

    With ``author_code`` every arm starts with a response of 0, so that none is new.
    """

    curator = staticmethod(raw)
    squash = False

    def __init__(self, num_arms, epsilon=INFINITY, author_code=False):
        self.num_arms, self.epsilon, self.author_code = num_arms, epsilon, author_code
        self.count, self.total = [1 if author_code else 0] * num_arms, [0.0] * num_arms

    # The user's side.

    def report(self, reward, draws):
        return self.curator(sigmoid(reward) if self.squash else reward, self.epsilon, draws)

    # The server's side.

    def upper(self, t, mean, count):
        """The index of an arm that has responses."""
        raise NotImplementedError

    def index(self, t, arm):
        count = self.count[arm]
        return self.upper(t, self.total[arm] / count, count) if count > 0 else INFINITY

    def indices(self, t):
        return [self.index(t, arm) for arm in range(self.num_arms)]

    def forced(self, t):
        """The arm that has to be pulled whatever the indices are, or None."""
        return None

    def choose(self, index, t):
        """The arm that these indices call for."""
        arm = self.forced(t)
        return index.index(max(index)) if arm is None else arm

    def act(self, t):
        return self.choose(self.indices(t), t)

    def update(self, t, arm, response):
        self.count[arm] += 1
        self.total[arm] += response


def sampling_radius(t, count):
    return math.sqrt(2 * math.log(t) / count)


class Ucb1(Policy):
    """UCB1, on whatever the curator sends."""

    def upper(self, t, mean, count):
        return mean + sampling_radius(t, count)


class SigmoidUcb1(Ucb1):
    squash = True


class LdpUcbBernoulli(Ucb1):
    """LDP-UCB-B."""

    curator = staticmethod(to_bernoulli)


class LdpUcbBernoulliSigmoid(LdpUcbBernoulli):
    """LDP-UCB-BS."""

    squash = True


class LdpUcbLaplace(Policy):
    """LDP-UCB-L. Its radius is valid from 4 log t responses on; the first arm that has fewer is pulled."""

    curator = staticmethod(to_laplace)

    def upper(self, t, mean, count):
        return mean + sampling_radius(t, count) + math.sqrt(32 * math.log(t) / (count * self.epsilon**2))

    def forced(self, t):
        if self.author_code:
            needed = 4 * math.log(t + 1)
        elif t > self.num_arms:
            needed = 4 * math.log(t)
        else:
            return None
        return next((arm for arm in range(self.num_arms) if self.count[arm] <= needed), None)


class LdpUcbLaplaceSigmoid(LdpUcbLaplace):
    """LDP-UCB-LS."""

    squash = True


class LdpUcbLaplaceChernoff(Policy):
    """LDP-UCB-L with Chernoff's bound on the noise, at probability 1 - 2 t^-4. It is valid from the first response on."""

    curator = staticmethod(to_laplace)

    def upper(self, t, mean, count):
        noise = tail(((1.0, count),), 4 * math.log(t)) / self.epsilon
        return mean + sampling_radius(t, count) + noise / count


class LdpKlUcb(Policy):
    """KL-UCB on the bits of CTB, as they come (Gajane, Urvoy and Kaufmann 2018); indices may be some rounds old."""

    curator = staticmethod(to_bernoulli)

    def __init__(self, num_arms, epsilon, refresh_every):
        super().__init__(num_arms, epsilon)
        self.refresh_every = refresh_every
        self.kept = [INFINITY] * num_arms

    def upper(self, t, mean, count):
        return kl_ucb(mean, count, exploration(t))

    def indices(self, t):
        return list(self.kept)

    def update(self, t, arm, response):
        super().update(t, arm, response)
        for one in range(self.num_arms) if t % self.refresh_every == 0 else [arm]:
            self.kept[one] = self.index(t + 1, one)
