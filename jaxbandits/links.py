"""How a reward depends on the features of an action: the mean is g(x' theta), and rewards scatter about it.

Problems draw rewards from a link; policies of the same study read from it what they may assume: the slopes of g, the range of rewards,
and how they scatter. Features and the parameter have length at most 1, so z = x' theta lies in [-1, 1].
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.engine import draws
from jaxbandits.recipes import Recipe, reduced, remembered


class Link(NamedTuple):
    """A link function and the law of a reward.

    Attributes:
      mean: z -> g(z), elementwise, increasing.
      value: the same for a Python number.
      slope: S -> the smallest slope of g on [-S, S], positive.
      draws: what a reward needs, by name.
      sample: (z, draws) -> reward, float32 ().
      low, high: the range that rewards are cut to before they are made private.
      noise: R, such that a reward less its mean is R-sub-Gaussian.
      recipe: for pickling; leave it out.
    """

    mean: Callable[[Array], Array]
    value: Callable[[float], float]
    slope: Callable[[float], float]
    draws: Draws
    sample: Callable[[Array, Mapping[str, Array]], Array]
    low: float
    high: float
    noise: float
    recipe: Recipe | None = None

    def __reduce__(self):
        """Pickled by its recipe."""
        return reduced(self)


def check(link: Any) -> Link:
    """The link, if it is one.

    Args:
      link: what a user gave for it.

    Raises:
      ValueError: if not, or if a field has not the right kind or range.
    """
    if not isinstance(link, Link):
        raise ValueError(f"link must be a Link, such as links.logistic(); got {link!r}")
    for field in ("mean", "value", "slope", "sample"):
        validate.callable_(f"link.{field}", getattr(link, field), "a function")
    validate.scalar("link.low", link.low, "a number from -1e6, below link.high", lambda low: -1e6 <= low < link.high)
    validate.scalar("link.high", link.high, "a number up to 1e6", lambda high: high <= 1e6)
    validate.scale("link.noise", link.noise)
    validate.positive("link.slope(1.0)", link.slope(1.0))
    return link


def residual(link: Link) -> float:
    """The largest |g(z) - y| over z in [-1, 1] and rewards y in their range."""
    return max(abs(link.value(z) - y) for z in (-1.0, 1.0) for y in (link.low, link.high))


def bound(link: Link) -> float:
    """The largest size of a reward in its range."""
    return max(abs(link.low), abs(link.high))


def _check_bound(reward_bound: float) -> None:
    validate.scalar("reward_bound", reward_bound, "above 0 and at most 1e6", lambda bound: 0 < bound <= 1e6)


def _identity(z):
    return z


@remembered
def linear(*, noise: float = 0.1, reward_bound: float = 1.0) -> Link:
    """Rewards x' theta plus normal noise.

    Args:
      noise: standard deviation, at least 0.
      reward_bound: rewards are cut to [-reward_bound, reward_bound] before they are made private.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scale("noise", noise)
    _check_bound(reward_bound)
    spread = float(noise)
    return Link(
        mean=_identity,
        value=_identity,
        slope=_one,
        draws={"reward": draws.normal()},
        sample=lambda z, u: z + jnp.float32(spread) * u["reward"],
        low=-float(reward_bound),
        high=float(reward_bound),
        noise=spread,
    )


def _one(radius: float) -> float:
    return 1.0


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def _logistic_slope(radius: float) -> float:
    return _logistic(radius) * (1 - _logistic(radius))


def _bernoulli(z: Array, u: Mapping[str, Array]) -> Array:
    return (u["reward"] < jax.nn.sigmoid(z)).astype(jnp.float32)


@remembered
def logistic() -> Link:
    """Rewards of 0 or 1, a 1 with probability 1 / (1 + exp(-x' theta))."""
    return Link(
        mean=jax.nn.sigmoid,
        value=_logistic,
        slope=_logistic_slope,
        draws={"reward": draws.uniform()},
        sample=_bernoulli,
        low=0.0,
        high=1.0,
        noise=0.5,
    )


_MOST_EVENTS = 24
"""Of a Poisson reward of mean at most e: more have a probability below 1e-14."""


def _poisson_sample(z: Array, u: Mapping[str, Array]) -> Array:
    mean = jnp.exp(z)
    mass = jnp.exp(-mean)
    below, events = mass, jnp.zeros_like(z)
    for k in range(1, _MOST_EVENTS + 1):
        events = events + (u["reward"] >= below).astype(jnp.float32)
        mass = mass * mean * jnp.float32(1 / k)
        below = below + mass
    return events


def _poisson_slope(radius: float) -> float:
    return math.exp(-radius)


@remembered
def poisson(*, reward_bound: float = 10.0) -> Link:
    """Poisson rewards of mean exp(x' theta).

    Args:
      reward_bound: rewards are cut to [0, reward_bound] before they are made private; the scatter assumed of them is half of it.

    Raises:
      ValueError: if it is not positive.
    """
    _check_bound(reward_bound)
    return Link(
        mean=jnp.exp,
        value=math.exp,
        slope=_poisson_slope,
        draws={"reward": draws.uniform()},
        sample=_poisson_sample,
        low=0.0,
        high=float(reward_bound),
        noise=float(reward_bound) / 2,
    )
