"""Contextual linear and generalised linear bandits, written twice: this is the slow copy, in float64 and for one lane.

LinUCB and GLM are those of Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701; beside them stand OFUL
(Abbasi-Yadkori, Pal and Szepesvari 2011), GLOC (Jun, Bhargava, Nowak and Willett 2017), a jointly private LinUCB (Shariff and Sheffet
2018) and the greedy policies with ordinary least squares or gradient steps of Han et al. (2021).

Every policy has ``choose(t, features)``, the index of each action in round t, from 1 on, and ``learn(t, x, y, draws)`` for the features
and the raw reward of the action played. Of equal indices the lowest number wins. The index always takes the features as they come; what
a round sends is clipped first where the policy is a sound one.
"""

import math

import numpy as np
from scipy.special import log_ndtr, ndtr

INFINITY = math.inf

# ---- calibration -------------------------------------------------------------------------------------------------------


def joint_sensitivity(bound):
    """Of (upper triangle of x x', y x) in the Euclidean norm, for x in the unit ball and |y| <= bound, from dimension 2 on."""
    return math.sqrt(2) * (1 + bound**2 / 2) if bound**2 <= 2 else 2 * bound


def excess(s, epsilon):
    """The smallest delta for which a Gaussian of deviation s is (epsilon, delta)-private at sensitivity 1."""
    return ndtr(0.5 / s - epsilon * s) - math.exp(epsilon + log_ndtr(-0.5 / s - epsilon * s))


def analytic_sigma(sensitivity, epsilon, delta):
    """The smallest deviation of a Gaussian that is (epsilon, delta)-private, by bisection; 0 for an infinite epsilon."""
    if epsilon == INFINITY:
        return 0.0
    low, high = 1.0, 1.0
    while excess(low, epsilon) <= delta:
        low /= 2
    while excess(high, epsilon) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if excess(middle, epsilon) > delta:
            low = middle
        else:
            high = middle
    return sensitivity * high


# ---- small tools -------------------------------------------------------------------------------------------------------


def symmetric(draws, dim):
    """The symmetric matrix whose lower triangle, read column by column, is ``draws``."""
    assert len(draws) == dim * (dim + 1) // 2
    matrix, position = np.zeros((dim, dim)), 0
    for column in range(dim):
        for row in range(column, dim):
            matrix[row, column] = matrix[column, row] = draws[position]
            position += 1
    return matrix


def into_ball(x, radius=1.0):
    """Scaled down to the ball about 0, if outside."""
    x = np.asarray(x, dtype=np.float64)
    norm = float(np.linalg.norm(x))
    return x * (radius / norm) if norm > radius else x.copy()


def clip(y, low, high):
    return min(max(float(y), low), high)


def positive_definite(matrix):
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > 1e-12 * max(abs(values[0]), abs(values[-1])))


def norm_squared(x, matrix):
    """x' matrix^-1 x."""
    return float(x @ np.linalg.solve(matrix, x))


def noise_growth(t, dim, horizon, fail_prob):
    """The bound on the operator norm of a sum of t symmetric matrices of standard normals, for all rounds at once."""
    return math.sqrt(t) * (4 * math.sqrt(dim) + 2 * math.log(2 * horizon / fail_prob))


LINKS = {
    "linear": (lambda z: z, lambda z: 1.0),
    "logistic": (lambda z: 1 / (1 + math.exp(-z)), lambda z: math.exp(-abs(z)) / (1 + math.exp(-abs(z))) ** 2),
    "poisson": (math.exp, math.exp),
}


def smallest_slope(link, radius):
    """The smallest derivative of the link on [-radius, radius]; all three have it at the left end."""
    return LINKS[link][1](-radius)


# ---- local privacy -----------------------------------------------------------------------------------------------------


class Local:
    """A server that adds up noisy x x' and noisy multiples of x.

    ``raised`` tells whether V + c I was ever not positive definite, so that c had to be doubled; beta stays as it is then. A c of 0
    starts from 1.
    """

    def __init__(self, dim, horizon, fail_prob, sigma):
        self.dim, self.horizon, self.fail_prob, self.sigma = dim, horizon, fail_prob, sigma
        self.gram, self.moment = np.zeros((dim, dim)), np.zeros(dim)
        self.raised = False

    def growth(self, t):
        return noise_growth(t, self.dim, self.horizon, self.fail_prob)

    def gamma(self, t):
        return self.sigma * self.growth(t)

    def ridge(self, t):
        return 2 * self.gamma(t)

    def beta(self, t):
        return 0.0

    def bonus(self, beta, squared):
        return beta * math.sqrt(squared)

    def regularised(self, t):
        """V + c_t I."""
        c, identity = self.ridge(t), np.eye(self.dim)
        while not positive_definite(self.gram + c * identity):
            self.raised = True
            c = 2 * c if c > 0 else 1.0
        return self.gram + c * identity

    def choose(self, t, features):
        matrix, beta = self.regularised(t), self.beta(t)
        self.theta = np.linalg.solve(matrix, self.moment)
        index = []
        for x in np.asarray(features, dtype=np.float64):
            index.append(float(x @ self.theta) + self.bonus(beta, norm_squared(x, matrix)))
        return index

    def add(self, x, value, draws):
        """Takes in one round: value times x is the contribution to the moment."""
        self.gram += np.outer(x, x) + self.sigma * symmetric(draws["matrix"], self.dim)
        self.moment += value * x + self.sigma * np.asarray(draws["vector"], dtype=np.float64)


class LinUCB(Local):
    """LDP-LinUCB. ``paper`` and ``author_code`` clip nothing."""

    def __init__(
        self, dim, horizon, epsilon, delta, fail_prob, variant, reward_bound=None, reward_noise=None, theta_bound=None, regulariser=1.0
    ):
        if variant == "paper":
            sigma = 6 * math.sqrt(2 * math.log(2.5 / delta)) / epsilon
        elif variant == "author_code":
            sigma = 4 * math.sqrt(math.log(1.25 / delta)) / epsilon
        else:
            assert variant == "sound"
            sigma = analytic_sigma(joint_sensitivity(reward_bound), epsilon, delta)
        super().__init__(dim, horizon, fail_prob, sigma)
        self.variant, self.regulariser = variant, regulariser
        self.reward_bound, self.reward_noise, self.theta_bound = reward_bound, reward_noise, theta_bound

    def gamma(self, t):
        gamma = self.sigma * self.growth(t)
        return max(gamma, self.regulariser / 2) if self.variant == "sound" else gamma

    def ridge(self, t):
        if self.variant == "author_code" and t == 1:
            return 0.1
        return 2 * self.gamma(t)

    def beta(self, t):
        d, gamma = self.dim, self.gamma(t)
        if self.variant == "sound":
            log = math.log(self.horizon / self.fail_prob)
            rewards = self.reward_noise * math.sqrt(2 * log + d * math.log(1 + t / (d * gamma)))
            noise = self.sigma * math.sqrt(t) * (math.sqrt(d) + math.sqrt(2 * log)) / math.sqrt(gamma)
            return rewards + math.sqrt(3 * gamma) * self.theta_bound + noise
        log = math.log(self.horizon)
        # sigma sqrt(d t / gamma), where gamma = sigma growth.
        noise = math.sqrt(self.sigma * d * t / self.growth(t))
        return 2 * self.sigma * math.sqrt(d * log) + (math.sqrt(3 * gamma) + noise) * d * log

    def bonus(self, beta, squared):
        return beta * squared if self.variant == "author_code" else beta * math.sqrt(squared)

    def learn(self, t, x, y, draws):
        x, y = np.asarray(x, dtype=np.float64), float(y)
        if self.variant == "sound":
            x, y = into_ball(x), clip(y, -self.reward_bound, self.reward_bound)
        self.add(x, y, draws)


class GLM(Local):
    """LDP-GLM: a centre, regressed on the predictions of an online learner that descends along noisy gradients."""

    def __init__(self, dim, horizon, epsilon, delta, fail_prob, variant, link, reward_bound=None, multiplier=1.0, regulariser=1.0):
        self.link, self.mu = LINKS[link][0], smallest_slope(link, 1.0)
        self.low, self.high = {
            "linear": (None if reward_bound is None else -reward_bound, reward_bound),
            "logistic": (0.0, 1.0),
            "poisson": (0.0, reward_bound),
        }[link]
        if variant == "paper":
            sigma = 6 * math.sqrt(2 * math.log(3.75 / delta)) / epsilon
        else:
            assert variant == "sound"
            # The link increases, so that the largest |g(z) - y| is at an end of both.
            self.residual = max(self.link(1.0) - self.low, self.high - self.link(-1.0))
            sigma = analytic_sigma(joint_sensitivity(math.sqrt(1 + self.residual**2)), epsilon, delta)
        super().__init__(dim, horizon, fail_prob, sigma)
        self.variant, self.multiplier, self.regulariser = variant, multiplier, regulariser
        self.online = np.zeros(dim)

    def gamma(self, t):
        gamma = self.sigma * self.growth(t)
        return max(gamma, self.regulariser / 2) if self.variant == "sound" else gamma

    def beta(self, t):
        return self.multiplier * math.sqrt((self.sigma / self.mu) * math.sqrt(self.dim * t))

    def learn(self, t, x, y, draws):
        x, y = np.asarray(x, dtype=np.float64), float(y)
        if self.variant == "sound":
            x, y = into_ball(x), clip(y, self.low, self.high)
        z = float(x @ self.online)
        gradient = (self.link(z) - y) * x + self.sigma * np.asarray(draws["gradient"], dtype=np.float64)
        self.add(x, z, draws)
        self.online = into_ball(self.online - gradient / math.sqrt(self.horizon))


class GreedyOLS(Local):
    """LDP-OLS: sends what the sound LinUCB sends and plays what looks best."""

    def __init__(self, dim, horizon, epsilon, delta, fail_prob, reward_bound):
        super().__init__(dim, horizon, fail_prob, analytic_sigma(joint_sensitivity(reward_bound), epsilon, delta))
        self.reward_bound = reward_bound

    def learn(self, t, x, y, draws):
        self.add(into_ball(x), clip(y, -self.reward_bound, self.reward_bound), draws)


def ball_scale(dim, radius, epsilon):
    """The norm of what the mechanism of the ball sends: it makes the mean equal to the input."""
    log = math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2)
    return radius * math.sqrt(math.pi) * math.exp(log) / math.tanh(epsilon / 2)


def ball_mechanism(vector, radius, epsilon, draws):
    """The mechanism of the Euclidean ball of Duchi, Jordan and Wainwright: unbiased, epsilon-private for norms up to ``radius``."""
    dim, norm = len(vector), float(np.linalg.norm(vector))
    if norm > 0:
        axis = vector / norm
    else:
        axis = np.zeros(dim)
        axis[0] = 1.0
    if not draws["sign"] < 0.5 + norm / (2 * radius):
        axis = -axis
    point = np.asarray(draws["direction"], dtype=np.float64)
    point = point / np.linalg.norm(point)
    near = bool(draws["half"] < 1 / (1 + math.exp(-epsilon)))
    if (float(point @ axis) >= 0) != near:
        point = -point
    return ball_scale(dim, radius, epsilon) * point


class LdpSGD:
    """One private gradient a round, and whatever looks best."""

    def __init__(self, dim, epsilon, reward_bound, step):
        self.epsilon, self.reward_bound, self.step = epsilon, reward_bound, step
        self.theta = np.zeros(dim)

    def choose(self, t, features):
        return [float(x @ self.theta) for x in np.asarray(features, dtype=np.float64)]

    def learn(self, t, x, y, draws):
        x, y = into_ball(x), clip(y, -self.reward_bound, self.reward_bound)
        gradient = (float(x @ self.theta) - y) * x
        sent = ball_mechanism(gradient, 1 + self.reward_bound, self.epsilon, draws)
        self.theta = into_ball(self.theta - (self.step / t) * sent)


# ---- no privacy --------------------------------------------------------------------------------------------------------


class OFUL:
    def __init__(self, dim, fail_prob, reward_noise, theta_bound, feature_bound, regulariser):
        self.dim, self.fail_prob, self.reward_noise = dim, fail_prob, reward_noise
        self.theta_bound, self.feature_bound, self.regulariser = theta_bound, feature_bound, regulariser
        self.matrix, self.moment = regulariser * np.eye(dim), np.zeros(dim)

    def beta(self, t):
        # The rounds seen so far are t - 1: the set holds for the estimate made of them.
        ratio = (1 + (t - 1) * self.feature_bound**2 / self.regulariser) / self.fail_prob
        return self.reward_noise * math.sqrt(self.dim * math.log(ratio)) + math.sqrt(self.regulariser) * self.theta_bound

    def choose(self, t, features):
        theta, beta = np.linalg.solve(self.matrix, self.moment), self.beta(t)
        index = []
        for x in np.asarray(features, dtype=np.float64):
            index.append(float(x @ theta) + beta * math.sqrt(norm_squared(x, self.matrix)))
        return index

    def learn(self, t, x, y, draws=None):
        x = np.asarray(x, dtype=np.float64)
        self.matrix += np.outer(x, x)
        self.moment += float(y) * x


def project_in_norm(point, matrix, radius):
    """The point of the ball about 0 that is nearest in the norm of ``matrix``: (V + nu I)^-1 V point, nu >= 0 such that it fits."""
    if np.linalg.norm(point) <= radius:
        return point.copy()
    values, vectors = np.linalg.eigh(matrix)
    coordinates = values * (vectors.T @ point)

    def norm(nu):
        return float(np.linalg.norm(coordinates / (values + nu)))

    low, high = 0.0, 1.0
    while norm(high) > radius:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if norm(middle) > radius:
            low = middle
        else:
            high = middle
    return vectors @ (coordinates / (values + high))


class GLOC:
    """Online to confidence set, with an online Newton step."""

    def __init__(self, dim, fail_prob, link, reward_noise, theta_bound, regulariser):
        self.dim, self.fail_prob, self.reward_noise = dim, fail_prob, reward_noise
        self.theta_bound, self.regulariser = theta_bound, regulariser
        self.link, self.kappa = LINKS[link][0], smallest_slope(link, theta_bound)
        # One matrix serves the step and the estimate: regulariser I + sum of x x'.
        self.matrix = regulariser * np.eye(dim)
        self.online, self.moment, self.squares, self.gradients = np.zeros(dim), np.zeros(dim), 0.0, 0.0

    def estimate(self):
        return np.linalg.solve(self.matrix, self.moment)

    def radius_squared(self):
        kappa, alpha, noise = self.kappa, self.fail_prob, self.reward_noise
        online = 2 * kappa * self.theta_bound**2 * self.regulariser + self.gradients / (2 * kappa)
        inside = math.sqrt(1 + 2 * online / kappa + 4 * noise**4 / (kappa**4 * alpha**2))
        beta = 1 + 4 * online / kappa + 8 * noise**2 / kappa**2 * math.log(2 / alpha * inside)
        fit = self.squares - float(self.estimate() @ self.moment)
        return max(self.regulariser * self.theta_bound**2 + beta - fit, 0.0)

    def choose(self, t, features):
        theta, width = self.estimate(), math.sqrt(self.radius_squared())
        index = []
        for x in np.asarray(features, dtype=np.float64):
            index.append(float(x @ theta) + width * math.sqrt(norm_squared(x, self.matrix)))
        return index

    def learn(self, t, x, y, draws=None):
        x = np.asarray(x, dtype=np.float64)
        zeta = float(x @ self.online)
        self.moment += zeta * x
        self.squares += zeta**2
        self.matrix += np.outer(x, x)
        gradient = (self.link(zeta) - float(y)) * x
        self.gradients += norm_squared(gradient, self.matrix)
        step = np.linalg.solve(self.matrix, gradient) / self.kappa
        self.online = project_in_norm(self.online - step, self.matrix, self.theta_bound)


# ---- joint privacy -----------------------------------------------------------------------------------------------------


class JointPrivate:
    """LinUCB over a binary tree of noisy Gram matrices of (x, y)."""

    def __init__(self, dim, horizon, epsilon, delta, fail_prob, reward_bound, reward_noise, theta_bound):
        self.dim, self.horizon, self.fail_prob = dim, horizon, fail_prob
        self.reward_bound, self.reward_noise, self.theta_bound = reward_bound, reward_noise, theta_bound
        self.num_nodes = 1 + (horizon - 1).bit_length()
        self.sigma = analytic_sigma(math.sqrt(2) * (1 + reward_bound**2) * math.sqrt(self.num_nodes), epsilon, delta)
        log = math.log(2 * horizon / fail_prob)
        spread = self.sigma * math.sqrt(self.num_nodes)
        self.shift = spread * (4 * math.sqrt(dim + 1) + 2 * log)
        self.rho_min, self.rho_max = self.shift, 3 * self.shift
        self.gamma = spread * (math.sqrt(dim) + math.sqrt(2 * log)) / math.sqrt(self.rho_min)
        self.gram = np.zeros((dim + 1, dim + 1))
        self.nodes = {}
        self.raised = False

    def noise(self):
        total = np.zeros((self.dim + 1, self.dim + 1))
        for node in self.nodes.values():
            total += node
        return total

    def beta(self, t):
        d = self.dim
        volume = d * math.log(self.rho_max / self.rho_min + t / (d * self.rho_min))
        rewards = self.reward_noise * math.sqrt(2 * math.log(2 / self.fail_prob) + volume)
        return rewards + self.theta_bound * math.sqrt(self.rho_max) + self.gamma

    def choose(self, t, features):
        d, identity = self.dim, np.eye(self.dim)
        noisy = self.gram + self.noise()
        c = 2 * self.shift
        while not positive_definite(noisy[:d, :d] + c * identity):
            self.raised = True
            c *= 2
        matrix, beta = noisy[:d, :d] + c * identity, self.beta(t)
        theta = np.linalg.solve(matrix, noisy[:d, d])
        index = []
        for x in np.asarray(features, dtype=np.float64):
            index.append(float(x @ theta) + beta * math.sqrt(norm_squared(x, matrix)))
        return index

    def learn(self, t, x, y, draws):
        both = np.append(into_ball(x), clip(y, -self.reward_bound, self.reward_bound))
        self.gram += np.outer(both, both)
        level = (t & -t).bit_length() - 1
        for lower in range(level):
            self.nodes.pop(lower, None)
        self.nodes[level] = self.sigma * symmetric(draws["node"], self.dim + 1)
