"""What an arm pays: laws of rewards as declared draws, handed to ``problems.armed``."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.engine import draws, lanes

Quantile = Callable[[Array, Array], Array]
"""(mean, u) -> the reward at the share u, uniform on (0, 1); float32, elementwise."""


class Rewards(NamedTuple):
    """A law of rewards.

    Attributes:
      draws: what one pull needs.
      sample: (arm int32 (), its mean float32 (), draws) -> reward, int32 () for bits and float32 () otherwise. The arm is that of the
        problem, in the order of the means given.
      check: (means float64 [num_arms]) -> None, or a ValueError if the law cannot have these means.
    """

    draws: Draws
    sample: Callable[[Array, Array, Mapping[str, Array]], Array]
    check: Callable[[np.ndarray], None]


def _unit(means: np.ndarray) -> None:
    validate.probabilities("means", means)


bernoulli = Rewards(
    draws={"reward": draws.uniform()},
    sample=lambda arm, mean, z: (z["reward"] < mean).astype(jnp.int32),
    check=_unit,
)
"""1 with the probability of the mean, else 0."""


def gaussian(deviation: float = 1.0) -> Rewards:
    """Normal rewards around the mean. They are unbounded, so a policy must squash them to make them private.

    Args:
      deviation: standard deviation, at least 0.

    Raises:
      ValueError: if the deviation is negative.
    """
    validate.amount("deviation", deviation)
    deviation = float(deviation)

    def check(means):
        if not np.all(np.isfinite(means)):
            raise ValueError(f"means must be finite numbers; got {means!r}")

    return Rewards(
        draws={"reward": draws.normal()},
        sample=lambda arm, mean, z: mean + np.float32(deviation) * z["reward"],
        check=check,
    )


def bit_quantile(mean: Array, u: Array) -> Array:
    """A bit of this mean: 1 for the u below it."""
    return (u < mean).astype(jnp.float32)


def _check_range(low: float, high: float) -> None:
    validate.scalar("low", low, "a number from -1e12 to 1e12", lambda x: abs(x) <= 1e12)
    validate.above("high", high, "low", low)


def power_quantile(power: float) -> Quantile:
    """The law of u^(1/power), which is Beta(power, 1), of mean power / (power + 1).

    Args:
      power: positive.

    Raises:
      ValueError: if it is not.
    """
    validate.positive("power", power)
    exponent = np.float32(1.0 / power)
    return lambda mean, u: u**exponent


def two_point_quantile(low: float, high: float) -> Quantile:
    """``low`` or ``high``, with the probabilities that give the mean.

    Args:
      low: the smallest reward.
      high: the largest, above it.

    Raises:
      ValueError: if they are not in this order, or not between -1e12 and 1e12.
    """
    _check_range(low, high)
    return lambda mean, u: jnp.where(u * np.float32(high - low) < mean - np.float32(low), np.float32(high), np.float32(low))


def uniform_quantile(low: float, high: float) -> Quantile:
    """Uniform on (low, high), of mean (low + high) / 2.

    Args:
      low: the smallest reward.
      high: the largest, above it.

    Raises:
      ValueError: if they are not in this order, or not between -1e12 and 1e12.
    """
    _check_range(low, high)
    return lambda mean, u: np.float32(low) + np.float32(high - low) * u


@functools.lru_cache(maxsize=1024)
def _mean(quantile: Quantile, mean: float) -> float:
    """The mean of the rewards that a quantile function gives, by the midpoint rule."""
    u = (np.arange(20_000) + 0.5) / 20_000
    with jax.ensure_compile_time_eval():
        return float(np.mean(np.asarray(quantile(jnp.float32(mean), jnp.asarray(u, jnp.float32)), np.float64)))


def by_arm(quantiles: Sequence[Quantile]) -> Rewards:
    """Another law for each arm, all from one uniform number a pull.

    Args:
      quantiles: one for each arm, in the order of the means, such as ``power_quantile(4)``.

    Raises:
      ValueError: if one is not a function; and, from the problem, if a law does not have the mean given for its arm.
    """
    allowed = "functions (mean, u) -> reward, a list of one for each arm"
    validate.instance("quantiles", quantiles, (list, tuple), allowed)
    validate.size("the number of quantiles", len(quantiles), 1, validate.MOST_ITEMS)
    for quantile in quantiles:
        validate.callable_("quantiles", quantile, allowed)
    different = list(dict.fromkeys(quantiles))
    which = np.asarray([different.index(q) for q in quantiles], np.int32)

    def sample(arm, mean, z):
        law = lanes.take(jnp.asarray(which), arm[None])[0]
        reward = different[0](mean, z["reward"])
        for i, quantile in enumerate(different[1:], start=1):
            reward = jnp.where(law == i, quantile(mean, z["reward"]), reward)
        return reward

    def check(means):
        if len(means) != len(quantiles):
            raise ValueError(f"quantiles must be one for each of the {len(means)} means; got {len(quantiles)}")
        for arm, (mean, quantile) in enumerate(zip(means, quantiles, strict=True)):
            found = _mean(quantile, float(mean))
            if not abs(found - mean) < 1e-3:
                raise ValueError(f"means must be those of the rewards; arm {arm} has {found:.4g} by its quantile and {mean:g} in means")

    return Rewards(draws={"reward": draws.uniform()}, sample=sample, check=check)


def mixed() -> Rewards:
    """The second law of arXiv 2007.03121 for ``problems.twenty_arms()``.

    Bits for means 0.9 and 0.6, Beta(4, 1) for 0.8, 0.4 or 1 with equal probability for 0.7, uniform on (0, 1) for 0.5. The interval
    of the last is not legible in the paper; this is that of its authors' code.
    """
    laws = [bit_quantile, power_quantile(4.0), two_point_quantile(0.4, 1.0), bit_quantile, uniform_quantile(0.0, 1.0)]
    return by_arm([law for law, arms in zip(laws, (1, 5, 5, 5, 4), strict=True) for _ in range(arms)])
