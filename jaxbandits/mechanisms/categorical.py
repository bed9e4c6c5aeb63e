"""Local randomisers for one of K categories or none, such as the position of a click: what is sent, and an unbiased reading of it.

A value is int32 (), a category from 0 to K - 1, or K for none. Read as a one-hot vector v of K coordinates, two values differ by at most 2
in L1 and sqrt(2) in L2, whatever K. A message always has the same shape.

Draws are simulation-grade, of 24 bits: a probability is a multiple of 6e-8, so that from an epsilon of about 17 on no false message is
ever sent, and below 1e-6 one of 6e-8 more or less matters.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Draws
from jaxbandits.engine import draws
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import ANY_TWO, debias_factor, flip_probability, gaussian, laplace


class Categorical(NamedTuple):
    """A local mechanism for one of K categories or none.

    Attributes:
      draws: what ``send`` needs, by name.
      send: (value, draws) -> message.
      read: message -> unbiased estimate of the one-hot vector, float32 [K].
      claim: what the mechanism says about privacy.
    """

    draws: Draws
    send: Callable[[Array, Mapping[str, Array]], Array]
    read: Callable[[Array], Array]
    claim: Claim


def one_hot(value: Array, num_categories: int) -> Array:
    """1 at the category, 0 elsewhere, and nowhere for none; bool [K]."""
    return jnp.arange(num_categories, dtype=jnp.int32) == value[..., None]


def _categories(num_categories: int) -> int:
    return validate.size("num_categories", num_categories, 1, validate.MOST_ITEMS)


def randomised_response(*, num_categories: int, epsilon: ArrayLike) -> Categorical:
    """k-RR: the value with probability D = (e^epsilon - 1) / (e^epsilon + K), else any of the K + 1 with equal probability.

    Exactly epsilon-private, one of K + 1 messages. The reading of category k is (1[message = k] - q) / D, q = 1 / (e^epsilon + K), of
    variance (e^epsilon + K - 1) / (e^epsilon - 1)^2 where v is 0: less than ``unary_encoding`` has while K < 3 e^epsilon + 1. Warner
    1965; Kairouz, Oh, Viswanath 2016.

    Args:
      num_categories: K, at least 1.
      epsilon: privacy level, positive; at inf the value is sent as it is.

    Raises:
      ValueError: if an argument is out of range.
    """
    k = _categories(num_categories)
    validate.epsilon(epsilon)
    shrunk = jnp.exp(-jnp.asarray(epsilon, jnp.float32))
    kept = -jnp.expm1(-jnp.asarray(epsilon, jnp.float32)) / (1.0 + k * shrunk)
    chance = shrunk / (1.0 + k * shrunk)

    def send(value, z):
        other = jnp.minimum((z["other"] * (k + 1)).astype(jnp.int32), k)
        return jnp.where(z["keep"] < kept, value, other)

    return Categorical(
        draws={"keep": draws.uniform(), "other": draws.uniform()},
        send=send,
        read=lambda message: (one_hot(message, k).astype(jnp.float32) - chance) / kept,
        claim=Claim(status="sound", trust="local", relation=ANY_TWO, sensitivity=f"one of {k + 1} values", epsilon=epsilon),
    )


def unary_encoding(*, num_categories: int, epsilon: ArrayLike) -> Categorical:
    """OUE: a bit for each category, 1 with probability 1/2 for the value and q = 1 / (e^epsilon + 1) for the others.

    epsilon-private, and exactly so for K of two or more; for one category ``bernoulli`` is better. The reading of category k is
    (bit - q) / (1/2 - q), of variance 4 e^epsilon / (e^epsilon - 1)^2 where v is 0; at epsilon = inf a bit of the value is still a coin.
    Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency Estimation, 2017.

    Args:
      num_categories: K, at least 1.
      epsilon: privacy level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    k = _categories(num_categories)
    validate.epsilon(epsilon)
    flip, factor = flip_probability(epsilon), debias_factor(epsilon)  # 1/2 - flip is 1 / (2 factor), and 0 in float32 for a small epsilon

    def send(value, z):
        return (z["bit"] < jnp.where(one_hot(value, k), 0.5, flip)).astype(jnp.int32)

    return Categorical(
        draws={"bit": draws.uniform((k,))},
        send=send,
        read=lambda message: (message.astype(jnp.float32) - flip) * (2.0 * factor),
        claim=Claim(status="sound", trust="local", relation=ANY_TWO, sensitivity="two bits", epsilon=epsilon),
    )


def noisy_one_hot_laplace(*, num_categories: int, epsilon: ArrayLike) -> Categorical:
    """The one-hot vector with Lap(2 / epsilon) on every coordinate: L1 sensitivity 2, whatever K.

    Args:
      num_categories: K, at least 1.
      epsilon: privacy level, positive; inf adds nothing.

    Raises:
      ValueError: if an argument is out of range.
    """
    k = _categories(num_categories)
    noise = laplace(shape=(k,), sensitivity=min(2, k), epsilon=epsilon)
    return Categorical(
        noise.draws, lambda value, z: noise.send(one_hot(value, k).astype(jnp.float32), z), lambda message: message, noise.claim
    )


def one_hot_sigma(num_categories: int, epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike | None = None) -> ArrayLike:
    """The standard deviation of ``noisy_one_hot_gaussian``: the analytic one, or a given one that is not smaller.

    Args:
      num_categories: K, at least 1.
      epsilon: privacy level, positive.
      delta: strictly between 0 and 1.
      sigma: the given one, if any.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    sensitivity = min(2, _categories(num_categories)) ** 0.5
    if sigma is None:
        return calibrate.analytic_sigma(epsilon, delta, sensitivity)  # pyright: ignore[reportArgumentType]
    validate.enough("sigma", sigma, lambda: calibrate.analytic_sigma(epsilon, delta, sensitivity), epsilon, delta)  # pyright: ignore
    return sigma


def noisy_one_hot_gaussian(*, num_categories: int, epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike | None = None) -> Categorical:
    """The one-hot vector with N(0, sigma^2) on every coordinate, sigma analytic at the L2 sensitivity sqrt(2), whatever K.

    Args:
      num_categories: K, at least 1.
      epsilon: privacy level, positive; inf adds nothing.
      delta: strictly between 0 and 1.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    k = _categories(num_categories)
    sigma = one_hot_sigma(k, epsilon, delta, sigma)
    noise = gaussian(shape=(k,), sensitivity=min(2, k) ** 0.5, sigma=sigma, epsilon=epsilon, delta=delta)
    return Categorical(
        noise.draws, lambda value, z: noise.send(one_hot(value, k).astype(jnp.float32), z), lambda message: message, noise.claim
    )
