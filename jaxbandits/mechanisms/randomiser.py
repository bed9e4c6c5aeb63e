"""Local randomisers: how one user's value is made private before it leaves the device.

Laplace and Gaussian noise here is simulation-grade floating point: the low bits of a float can leak (Mironov 2012), so a
claim holds for the mechanism on real numbers, and nothing real should be released through this code.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Draws
from jaxbandits.engine import draws

ANY_TWO = "any two values of one user's record, one round"
"""The neighbouring relation of local privacy."""


class Randomiser(NamedTuple):
    """A local mechanism.

    Attributes:
      draws: what ``send`` needs, by name.
      send: (value, draws) -> message.
      claim: what the mechanism says about privacy.
    """

    draws: Draws
    send: Callable[[Array, Mapping[str, Array]], Array]
    claim: Claim


def laplace(*, shape: tuple[int, ...], sensitivity: ArrayLike, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0) -> Randomiser:
    """Adds Laplace noise of scale ``noise_scale * sensitivity / epsilon`` to each coordinate.

    epsilon-private for values whose L1 distance is at most ``sensitivity``, if noise_scale is 1. Variance
    2 (sensitivity / epsilon)^2. With sensitivity 1 and shape () it is CTL, Curator 1 of arXiv 2007.03121.

    Args:
      shape: shape of the value.
      sensitivity: largest L1 distance between two values.
      epsilon: privacy level, positive; inf adds nothing.
      noise_scale: factor on the noise; any other than 1 voids the claim.

    Raises:
      ValueError: if epsilon or noise_scale is out of range.
    """
    shape = validate.shape("shape", shape)
    validate.epsilon(epsilon)
    validate.positive("sensitivity", sensitivity)
    validate.scale("noise_scale", noise_scale)
    scale = noise_scale * (sensitivity / epsilon)
    claim = Claim(
        status="sound", trust="local", relation=ANY_TWO, sensitivity=f"L1 {sensitivity}", epsilon=epsilon, noise_scale=noise_scale
    )
    return Randomiser(draws={"noise": draws.laplace(shape)}, send=lambda value, z: value + scale * z["noise"], claim=claim)


def gaussian(
    *, shape: tuple[int, ...], sensitivity: float, sigma: ArrayLike, epsilon: ArrayLike, delta: ArrayLike, noise_scale: ArrayLike = 1.0
) -> Randomiser:
    """Adds normal noise of standard deviation ``noise_scale * sigma`` to each coordinate.

    (epsilon, delta)-private for values whose L2 distance is at most ``sensitivity``, if noise_scale is 1 and sigma is at least
    ``calibrate.analytic_sigma(epsilon, delta, sensitivity)``. The caller, who chooses sigma, answers for that.

    Args:
      shape: shape of the value.
      sensitivity: largest L2 distance between two values.
      sigma: standard deviation.
      epsilon: privacy level, positive.
      delta: strictly between 0 and 1.
      noise_scale: factor on the noise; any other than 1 voids the claim.

    Raises:
      ValueError: if a value is out of range.
    """
    shape = validate.shape("shape", shape)
    validate.epsilon(epsilon)
    validate.delta(delta)
    validate.scalar("sigma", sigma, "a number from 0 to 1e15", lambda s: 0 <= s <= 1e15)
    validate.scale("noise_scale", noise_scale)
    validate.positive("sensitivity", sensitivity)
    deviation = noise_scale * sigma
    claim = Claim(
        status="sound",
        trust="local",
        relation=ANY_TWO,
        sensitivity=f"L2 {sensitivity:.4g}",
        epsilon=epsilon,
        delta=delta,
        noise_scale=noise_scale,
    )
    return Randomiser(draws={"noise": draws.normal(shape)}, send=lambda value, z: value + deviation * z["noise"], claim=claim)


def debias_factor(epsilon: ArrayLike) -> Array:
    """(e^epsilon + 1) / (e^epsilon - 1): the range of a debiased private bit. 1 at epsilon = inf."""
    return 1.0 / jnp.tanh(0.5 * jnp.asarray(epsilon, jnp.float32))


def flip_probability(epsilon: ArrayLike) -> Array:
    """1 / (e^epsilon + 1): the probability that a private bit is wrong. 0 at epsilon = inf."""
    return jax.nn.sigmoid(-jnp.asarray(epsilon, jnp.float32))


def bernoulli(*, epsilon: ArrayLike, shape: tuple[int, ...] = ()) -> Randomiser:
    """One bit for each value r in [0, 1]: 1 with probability (r e^epsilon + 1 - r) / (e^epsilon + 1). Called CTB.

    epsilon-private for any two values in [0, 1], and for several values epsilon each; the ratio e^epsilon is attained between 0 and
    1. Its mean is affine in r: ``(bit - flip_probability) * debias_factor`` is unbiased. Curator 3 of Multi-Armed Bandits with
    Local Differential Privacy, arXiv 2007.03121.

    Args:
      epsilon: privacy level of one bit, positive; at inf a value of 0 or 1 is sent as it is.
      shape: shape of the values; the claim is about one of them.

    Raises:
      ValueError: if epsilon is not positive.
    """
    shape = validate.shape("shape", shape)
    validate.epsilon(epsilon)
    claim = Claim(status="sound", trust="local", relation=ANY_TWO, sensitivity="one value in [0, 1]", epsilon=epsilon)

    def send(value, z):
        return (z["bit"] < bernoulli_mean(value, epsilon)).astype(jnp.int32)

    return Randomiser(draws={"bit": draws.uniform(shape)}, send=send, claim=claim)


def inside(value: Any, low: float | Array, high: float | Array) -> Array:
    """The number cut to [low, high]; the low end for what is no number, which would tell its user from all others."""
    value, low, high = (jnp.asarray(x, jnp.float32) for x in (value, low, high))
    return jnp.where(value >= low, jnp.minimum(value, high), low)


def _check(randomiser: Any) -> None:
    validate.instance("randomiser", randomiser, Randomiser, "a Randomiser, such as mechanisms.bernoulli(epsilon=1.0)")


def clipped(randomiser: Randomiser) -> Randomiser:
    """The randomiser behind a cut to [0, 1]: what it claims for values there holds for any two numbers. What is none counts as 0.

    Args:
      randomiser: of one value in [0, 1].

    Raises:
      ValueError: if it is none.
    """
    _check(randomiser)

    def send(value, z):
        return randomiser.send(inside(value, 0.0, 1.0), z)

    return randomiser._replace(send=send)


def squashed(randomiser: Randomiser) -> Randomiser:
    """The randomiser behind a sigmoid, 1 / (1 + e^-r), which makes any number r a value in (0, 1). Called CTL-S and CTB-S.

    As private as the randomiser is for values in [0, 1], for any two numbers; what is none counts as 0 if it is private. The order of
    the means survives if they lie in [0, 1] and the noise of the rewards has one law. Curators 5 and 6 of Multi-Armed Bandits with
    Local Differential Privacy, arXiv 2007.03121.

    Args:
      randomiser: of one value in [0, 1], such as ``bernoulli`` or ``laplace(shape=(), sensitivity=1, ..)``.

    Raises:
      ValueError: if it is none.
    """
    _check(randomiser)
    private = randomiser.claim.status != "non-private"  # without privacy a run that learns from what is no number is to end with an error

    def send(value, z):
        share = jax.nn.sigmoid(jnp.asarray(value, jnp.float32))
        return randomiser.send(inside(share, 0.0, 1.0) if private else share, z)

    return randomiser._replace(send=send)


def bernoulli_mean(value: ArrayLike, epsilon: ArrayLike) -> Array:
    """The mean of the bit that ``bernoulli`` sends for a value."""
    flip, value = flip_probability(epsilon), jnp.asarray(value, jnp.float32)
    return value * (1.0 - flip) + (1.0 - value) * flip
