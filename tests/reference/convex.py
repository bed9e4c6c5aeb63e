"""Bandit convex optimisation and bandits on losses, written twice: this is the slow copy, in float64 and for one lane.

The reductions are those of Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701; the learners beneath them are
those of Flaxman, Kalai and McMahan (2005), Saha and Tewari (2011), Hazan and Levy (2014), and Agarwal, Dekel and Xiao (2010).

Every learner has ``play(t, direction)``, the point or the pair of points of round t, from 1 on, and ``learn(t, direction, value)``. The
direction is a vector of standard normals; the value is the loss as it came, or, for two points, their difference over 2 rho. In a
private run the caller passes the bound on the noisy loss for ``loss_bound``.
"""

import math

import numpy as np


def unit(direction):
    direction = np.asarray(direction, dtype=np.float64)
    return direction / np.linalg.norm(direction)


def log_horizon(horizon):
    return max(math.log(horizon), 1.0)


# ---- sets --------------------------------------------------------------------------------------------------------------


class Ball:
    """{|x| <= R}, with the barrier -log(R^2 - |x|^2)."""

    def __init__(self, dim, radius):
        self.dim, self.inner_radius, self.outer_radius = dim, radius, radius
        self.centre = np.zeros(dim)
        self.barrier_parameter = 1

    def project(self, x):
        norm = float(np.linalg.norm(x))
        return x * (self.outer_radius / norm) if norm > self.outer_radius else x.copy()

    def slack(self, x):
        return self.outer_radius**2 - float(x @ x)

    def inside(self, x):
        return self.slack(x) > 0

    def barrier(self, x):
        return -math.log(self.slack(x))

    def gradient(self, x):
        return 2 * x / self.slack(x)

    def hessian(self, x):
        slack = self.slack(x)
        return 2 / slack * np.eye(self.dim) + 4 / slack**2 * np.outer(x, x)

    def root(self, x, ridge):
        """A with A A' = (hessian + ridge I)^-1: the symmetric one."""
        values, vectors = np.linalg.eigh(self.hessian(x) + ridge * np.eye(self.dim))
        return vectors @ np.diag(1 / np.sqrt(values)) @ vectors.T


class Box:
    """[low, high]^d, with a logarithm for each face."""

    def __init__(self, dim, low, high):
        self.dim, self.low, self.high = dim, low, high
        self.inner_radius = (high - low) / 2
        self.outer_radius = math.sqrt(dim) * (high - low) / 2
        self.centre = np.full(dim, (low + high) / 2)
        self.barrier_parameter = 2 * dim

    def project(self, x):
        return np.array([min(max(value, self.low), self.high) for value in x])

    def inside(self, x):
        return all(self.low < value < self.high for value in x)

    def barrier(self, x):
        return -sum(math.log(value - self.low) + math.log(self.high - value) for value in x)

    def gradient(self, x):
        return np.array([1 / (self.high - value) - 1 / (value - self.low) for value in x])

    def hessian(self, x):
        return np.diag([1 / (value - self.low) ** 2 + 1 / (self.high - value) ** 2 for value in x])

    def root(self, x, ridge):
        """The diagonal one."""
        return np.diag([1 / math.sqrt(value + ridge) for value in np.diag(self.hessian(x))])


class Simplex:
    """{x >= 0, sum of x <= 1}, with a logarithm for each face. Its centre is that of the largest ball inside."""

    def __init__(self, dim):
        self.dim = dim
        radius = 1 / (dim + math.sqrt(dim))
        self.inner_radius = radius
        self.centre = np.full(dim, radius)
        corners = [np.zeros(dim), *np.eye(dim)]
        self.outer_radius = max(float(np.linalg.norm(corner - self.centre)) for corner in corners)
        self.barrier_parameter = dim + 1

    def project(self, x):
        clipped = np.array([max(value, 0.0) for value in x])
        if sum(clipped) <= 1:
            return clipped
        # The face sum of x = 1 is active: all coordinates fall by the same amount, as far as 0.
        total, level = 0.0, 0.0
        for count, value in enumerate(sorted(x, reverse=True), start=1):
            total += value
            if value > (total - 1) / count:
                level = (total - 1) / count
        return np.array([max(value - level, 0.0) for value in x])

    def inside(self, x):
        return all(value > 0 for value in x) and sum(x) < 1

    def barrier(self, x):
        return -sum(math.log(value) for value in x) - math.log(1 - sum(x))

    def gradient(self, x):
        return np.array([1 / (1 - sum(x)) - 1 / value for value in x])

    def hessian(self, x):
        return np.diag([1 / value**2 for value in x]) + np.full((self.dim, self.dim), 1 / (1 - sum(x)) ** 2)

    def root(self, x, ridge):
        """The inverse transpose of the lower Cholesky factor."""
        lower = np.linalg.cholesky(self.hessian(x) + ridge * np.eye(self.dim))
        return np.linalg.inv(lower).T


def project_shrunk(body, xi, x):
    """The Euclidean projection on the set shrunk by 1 - xi about its centre."""
    scale = 1 - xi
    if scale <= 0:
        return body.centre.copy()
    return body.centre + scale * (body.project(body.centre + (x - body.centre) / scale) - body.centre)


def argmin(body, linear, quadratic, start):
    """The minimum of <linear, y> + quadratic |y|^2 / 2 + barrier(y): Newton's method with backtracking."""
    y = start.copy()

    def value(point):
        return float(linear @ point) + quadratic * float(point @ point) / 2 + body.barrier(point)

    for _ in range(500):
        gradient = linear + quadratic * y + body.gradient(y)
        step = np.linalg.solve(body.hessian(y) + quadratic * np.eye(body.dim), -gradient)
        decrement = -float(gradient @ step)
        if decrement < 1e-6:
            # Quadratic convergence: whole steps, of which three more reach the precision of float64.
            for _ in range(4):
                gradient = linear + quadratic * y + body.gradient(y)
                y = y + np.linalg.solve(body.hessian(y) + quadratic * np.eye(body.dim), -gradient)
            return y
        size, before = 1.0, value(y)
        while not body.inside(y + size * step) or value(y + size * step) > before - 0.25 * size * decrement:
            size /= 2
            assert size > 1e-20
        y = y + size * step
    raise AssertionError("Newton's method did not end")


# ---- one point ---------------------------------------------------------------------------------------------------------


class FKM:
    """Of Flaxman, Kalai and McMahan, for convex losses."""

    def __init__(self, body, horizon, loss_bound, lipschitz):
        self.body, self.horizon = body, horizon
        outer, inner, d = body.outer_radius, body.inner_radius, body.dim
        self.step = outer / (loss_bound * math.sqrt(horizon))
        rho = horizon**-0.25 * math.sqrt(outer * d * loss_bound * inner / (3 * (lipschitz * inner + loss_bound)))
        self.rho = min(rho, inner)
        self.xi = self.rho / inner
        self.y = body.centre.copy()

    def play(self, t, direction):
        return self.y + self.rho * unit(direction)

    def learn(self, t, direction, value):
        self.y = project_shrunk(self.body, self.xi, self.y - self.step * value * unit(direction))


class StronglyConvexFKM:
    """The same, with steps 1 / (mu t) along the estimated gradient."""

    def __init__(self, body, horizon, loss_bound, lipschitz, strong_convexity):
        self.body, self.strong_convexity = body, strong_convexity
        cube = body.dim**2 * loss_bound**2 * log_horizon(horizon) / (strong_convexity * lipschitz * horizon)
        self.rho = min(cube ** (1 / 3), body.inner_radius)
        self.xi = self.rho / body.inner_radius
        self.y = body.centre.copy()

    def play(self, t, direction):
        return self.y + self.rho * unit(direction)

    def learn(self, t, direction, value):
        gradient = self.body.dim / self.rho * value * unit(direction)
        self.y = project_shrunk(self.body, self.xi, self.y - gradient / (self.strong_convexity * t))


class FollowTheLeader:
    """What Saha and Tewari's and Hazan and Levy's learners share: follow the leader, regularised by a barrier.

    It starts at the centre of the set, or, with ``start="barrier"``, where the barrier is smallest. These differ on the simplex only.
    """

    def __init__(self, body, eta, rho, strong_convexity, start):
        self.body, self.eta, self.rho, self.strong_convexity = body, eta, rho, strong_convexity
        self.gradients, self.points = np.zeros(body.dim), np.zeros(body.dim)
        assert start in ("centre", "barrier")
        self.y = body.centre.copy() if start == "centre" else argmin(body, np.zeros(body.dim), 0.0, body.centre)

    def root(self, t):
        return self.body.root(self.y, self.eta * self.strong_convexity * t)

    def play(self, t, direction):
        return self.y + self.rho * (self.root(t) @ unit(direction))

    def estimate(self, t, direction, value):
        """The gradient, with the inverse transpose of the root."""
        return self.body.dim / self.rho * value * np.linalg.solve(self.root(t).T, unit(direction))

    def learn(self, t, direction, value):
        self.gradients += self.estimate(t, direction, value)
        self.points += self.y
        # The sum over s <= t of <g_s, y> + mu |y - y_s|^2 / 2, times eta, and the barrier.
        linear = self.eta * (self.gradients - self.strong_convexity * self.points)
        self.y = argmin(self.body, linear, self.eta * self.strong_convexity * t, self.y)


class SahaTewari(FollowTheLeader):
    """For smooth losses."""

    def __init__(self, body, horizon, loss_bound, smoothness, start="centre"):
        d = body.dim
        rate = math.sqrt(body.barrier_parameter * log_horizon(horizon) / horizon)
        rho = min(1.0, (d * loss_bound * rate / (smoothness * body.outer_radius**2)) ** (1 / 3))
        eta = min(rho * rate / (d * loss_bound), rho / (2 * d * loss_bound))
        super().__init__(body, eta, rho, 0.0, start)


class HazanLevy(FollowTheLeader):
    """For smooth and strongly convex losses."""

    def __init__(self, body, horizon, loss_bound, smoothness, strong_convexity, start="centre"):
        d = body.dim
        condition = body.barrier_parameter + 2 * smoothness / strong_convexity
        eta = math.sqrt(condition * log_horizon(horizon) / (2 * d**2 * loss_bound**2 * horizon))
        super().__init__(body, min(eta, 1 / (2 * d * loss_bound)), 1.0, strong_convexity, start)


# ---- two points --------------------------------------------------------------------------------------------------------


class TwoPoint:
    """Of Agarwal, Dekel and Xiao, on differences with noise of deviation 2 rho sigma. It learns from difference / (2 rho).

    With a strong convexity mu the steps are 1 / (mu t).
    """

    def __init__(self, body, horizon, lipschitz, sigma=0.0, strong_convexity=None):
        self.body, self.strong_convexity = body, strong_convexity
        self.rho = min(log_horizon(horizon) / horizon, body.inner_radius)
        self.xi = self.rho / body.inner_radius
        self.constant = body.outer_radius / (body.dim * math.sqrt(horizon * (lipschitz**2 + sigma**2)))
        self.y = body.centre.copy()

    def step(self, t):
        return self.constant if self.strong_convexity is None else 1 / (self.strong_convexity * t)

    def play(self, t, direction):
        u = unit(direction)
        return np.array([self.y + self.rho * u, self.y - self.rho * u])

    def learn(self, t, direction, value):
        gradient = self.body.dim * value * unit(direction)
        self.y = project_shrunk(self.body, self.xi, self.y - self.step(t) * gradient)


# ---- arms --------------------------------------------------------------------------------------------------------------


def draw(probabilities, uniform):
    """The smallest arm whose cumulative probability exceeds the uniform."""
    total = 0.0
    for arm, probability in enumerate(probabilities):
        total += probability
        if total > uniform:
            return arm
    return len(probabilities) - 1


class Losses:
    """Importance-weighted losses, scaled such that rewards from ``low`` to ``high`` cost from 1 to 0; others are not clipped."""

    def __init__(self, num_arms, low, high):
        self.num_arms, self.low, self.high = num_arms, low, high
        self.total = [0.0] * num_arms

    def probabilities(self, t):
        raise NotImplementedError

    def choose(self, t, uniform):
        return draw(self.probabilities(t), uniform)

    def learn(self, t, arm, reward):
        loss = (self.high - reward) / (self.high - self.low)
        self.total[arm] += loss / self.probabilities(t)[arm]


class Exp3(Losses):
    def __init__(self, num_arms, horizon, low, high):
        super().__init__(num_arms, low, high)
        self.eta = math.sqrt(2 * math.log(num_arms) / (horizon * num_arms))

    def probabilities(self, t):
        least = min(self.total)
        weights = [math.exp(-self.eta * (total - least)) for total in self.total]
        return [weight / sum(weights) for weight in weights]


class TsallisINF(Losses):
    """Of Zimmert and Seldin, with importance weighting."""

    def probabilities(self, t):
        eta, least = 2 / math.sqrt(t), min(self.total)

        def weights(gap):
            """For the normaliser x = least - gap."""
            return [4 / (eta * (total - least + gap)) ** 2 for total in self.total]

        # The weight of the least loss is 1 at the lower end, and at most 1 / K of a sum of at most 1 at the upper one.
        low, high = 2 / eta, 2 * math.sqrt(self.num_arms) / eta
        for _ in range(200):
            middle = (low + high) / 2
            if sum(weights(middle)) > 1:
                low = middle
            else:
                high = middle
        found = weights((low + high) / 2)
        return [weight / sum(found) for weight in found]


class Halving:
    """Successive halving: ``choose(t)`` and ``learn(t, arm, reward)``; once one arm is left, it is pulled for ever."""

    def __init__(self, num_arms, horizon):
        self.horizon, self.num_phases = horizon, (num_arms - 1).bit_length()
        self.open(list(range(num_arms)))

    def open(self, survivors):
        self.survivors, self.position = survivors, 0
        self.total = [0.0] * len(survivors)
        if len(survivors) > 1:
            self.pulls = max(self.horizon // (len(survivors) * self.num_phases), 1)

    def choose(self, t):
        return self.survivors[self.position % len(self.survivors)]

    def learn(self, t, arm, reward):
        if len(self.survivors) == 1:
            return
        self.total[self.position % len(self.survivors)] += reward
        self.position += 1
        if self.position == self.pulls * len(self.survivors):
            means = [total / self.pulls for total in self.total]
            order = sorted(range(len(means)), key=lambda place: (-means[place], place))
            kept = sorted(order[: (len(means) + 1) // 2])
            self.open([self.survivors[place] for place in kept])
