"""Private bandit convex optimisation with one point a round: any black box on noisy losses.

Zheng et al.: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, Algorithm 1. The black box is told that losses
are as large as the noise makes them, B~ = B + (what the noise exceeds in no round with probability 1 - 1 / T).
"""

import dataclasses
import math
from collections.abc import Callable

from jax.typing import ArrayLike

from jaxbandits import domains, validate
from jaxbandits.core import Policy
from jaxbandits.domains import Domain
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import Randomiser, gaussian, laplace
from jaxbandits.policies import reduction
from jaxbandits.policies.convex.gradient import fkm
from jaxbandits.policies.convex.two_point import ONE_USER, SMALL_EPSILON


@dataclasses.dataclass(frozen=True)
class _Losses:
    """What is known of the losses, for the black box."""

    domain: Domain
    horizon: int
    loss_bound: float
    lipschitz: float
    smoothness: float
    strong_convexity: float

    def __post_init__(self):
        domains.check(self.domain)
        validate.horizon(self.horizon)
        validate.positive("loss_bound", self.loss_bound)
        validate.positive("lipschitz", self.lipschitz)
        validate.scalar("smoothness", self.smoothness, "a number, at least 0, or inf", lambda x: x >= 0)
        validate.amount("strong_convexity", self.strong_convexity)

    def private(self, black_box: Callable[..., Policy], noise: Randomiser, tail: ArrayLike, **claim: str) -> Policy:
        """The black box behind the noise."""
        noise = noise._replace(claim=dataclasses.replace(noise.claim, relation=ONE_USER, **claim))
        inner = reduction.play(
            "black_box",
            black_box,
            domain=self.domain,
            horizon=self.horizon,
            loss_bound=self.loss_bound + tail,
            lipschitz=self.lipschitz,
            smoothness=self.smoothness,
            strong_convexity=self.strong_convexity,
        )
        return reduction.behind(inner, noise, -self.loss_bound, self.loss_bound)


def gaussian_one_point(
    *,
    domain: Domain,
    horizon: int,
    loss_bound: float,
    lipschitz: float,
    epsilon: ArrayLike,
    delta: ArrayLike,
    smoothness: float = math.inf,
    strong_convexity: float = 0.0,
    black_box: Callable[..., Policy] = fkm,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 1 as printed. No guarantee for epsilon above 1.

    A user sends the loss plus N(0, sigma^2), sigma = (2 B / epsilon) sqrt(2 log(1.25 / delta)), and a black box plays on these; it is told
    the bound B + sigma sqrt(2 log(2 T^2)), which the paper leaves out. Regret is that of the black box at that bound, plus a
    constant. arXiv 2006.00701, Algorithm 1 and Theorem 3.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      lipschitz: G, positive.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      smoothness: for a black box that uses it.
      strong_convexity: for a black box that uses it.
      black_box: factory of a non-private policy, such as ``convex.fkm``, ``convex.saha_tewari`` or ``convex.hazan_levy``.
      sigma: derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    known = _Losses(domain, horizon, loss_bound, lipschitz, smoothness, strong_convexity)
    sigma = reduction.calibrated(calibrate.classic_sigma, sigma, epsilon, delta, 2 * float(loss_bound))
    noise = gaussian(shape=(), sensitivity=2 * float(loss_bound), sigma=sigma, epsilon=epsilon, delta=delta)
    policy = known.private(black_box, noise, reduction.normal_tail(sigma, horizon), status="paper", flaw=SMALL_EPSILON)
    return policy._replace(derived={"sigma": sigma})


def ldp_gaussian_one_point(
    *,
    domain: Domain,
    horizon: int,
    loss_bound: float,
    lipschitz: float,
    epsilon: ArrayLike,
    delta: ArrayLike,
    smoothness: float = math.inf,
    strong_convexity: float = 0.0,
    black_box: Callable[..., Policy] = fkm,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 1 with the analytic sigma.

    As ``gaussian_one_point``, with losses cut to [-B, B] and the smallest sigma for sensitivity 2 B. Sound: (epsilon, delta)-LDP for every
    epsilon. Relation: any two convex losses of one user, one round; the points are public.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      lipschitz: G, positive.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      smoothness: for a black box that uses it.
      strong_convexity: for a black box that uses it.
      black_box: factory of a non-private policy, such as ``convex.fkm``, ``convex.saha_tewari`` or ``convex.hazan_levy``.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    known = _Losses(domain, horizon, loss_bound, lipschitz, smoothness, strong_convexity)
    sigma = reduction.calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, 2 * float(loss_bound))
    noise = gaussian(shape=(), sensitivity=2 * float(loss_bound), sigma=sigma, epsilon=epsilon, delta=delta)
    return known.private(black_box, noise, reduction.normal_tail(sigma, horizon))._replace(derived={"sigma": sigma})


def ldp_laplace_one_point(
    *,
    domain: Domain,
    horizon: int,
    loss_bound: float,
    lipschitz: float,
    epsilon: ArrayLike,
    smoothness: float = math.inf,
    strong_convexity: float = 0.0,
    black_box: Callable[..., Policy] = fkm,
) -> Policy:
    """Algorithm 1 with Laplace noise, without a delta.

    A user sends the loss, cut to [-B, B], plus Lap(2 B / epsilon); the black box is told the bound B + (2 B / epsilon) log(2 T^2). Sound:
    epsilon-LDP. Relation: any two convex losses of one user, one round; the points are public.

    Args:
      domain: where points are; a study passes that of the problem, and the bounds on the losses.
      horizon: T, the number of rounds; a study passes its own.
      loss_bound: B, positive.
      lipschitz: G, positive.
      epsilon: privacy level, positive; inf adds no noise.
      smoothness: for a black box that uses it.
      strong_convexity: for a black box that uses it.
      black_box: factory of a non-private policy, such as ``convex.fkm``, ``convex.saha_tewari`` or ``convex.hazan_levy``.

    Raises:
      ValueError: if an argument is out of range.
    """
    known = _Losses(domain, horizon, loss_bound, lipschitz, smoothness, strong_convexity)
    noise = laplace(shape=(), sensitivity=2 * float(loss_bound), epsilon=epsilon)
    return known.private(black_box, noise, reduction.laplace_tail(2 * float(loss_bound) / epsilon, horizon))
