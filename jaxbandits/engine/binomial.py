"""Binomial numbers for up to 2^31 trials, from a word of randomness each, exact in law as far as float32 can tell.

Where the mean is small, the distribution function is searched from below. Elsewhere a transformed rejection (Hoermann, The Generation of
Binomial Random Variates, 1993, BTRS), with two changes for large numbers in 32 bits. All is relative to the integer part of the
mean, worked out in whole numbers, and the acceptance ratio is that of two saddle points (Loader, Fast and Accurate Computation of Binomial
Probabilities, 2000), in which no large numbers cancel. The proposal is linear within the cells of its 24-bit uniform number, so that it
reaches every integer.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.engine.batching import lanes_last
from jaxbandits.engine.draws import threefry2x32, unit_law
from jaxbandits.engine.fence import fence

_SMALL_MEAN = np.int32(10)
_LONGEST_SEARCH = 110
"""A number of mean 10 is larger with a probability below 1e-70."""

_TERMS = 4
"""From here on Stirling's series with three terms is right to 4e-8."""


def _corrections() -> np.ndarray:
    """What Stirling leaves out: log k! - (k log k - k) for k below 4."""
    logs = np.cumsum(np.log(np.maximum(np.arange(_TERMS), 1.0)))
    k = np.arange(1.0, _TERMS)
    return np.concatenate([[0.0], logs[1:] - (k * np.log(k) - k)]).astype(np.float32)


_CORRECTIONS = _corrections()


def grid(probability: Array) -> Array:
    """How many of the 2^24 values of a uniform draw are below it, uint32: the chance of a bit ``u < probability``, exactly."""
    scaled = probability * np.float32(2.0**24)
    return jnp.where(scaled > 0.5, jnp.ceil(jnp.clip(scaled, 0.0, 2.0**24)), 0.0).astype(jnp.uint32)


def _bits(floats: Array) -> Array:
    return lax.bitcast_convert_type(floats, jnp.uint32)


@fence
def _packed_product(n: Array, p: Array) -> Array:
    # n = a 2^16 + b and p = c 2^12 + d, so that all products have less than 32 bits.
    a, b, c, d = n >> np.uint32(16), n & np.uint32(0xFFFF), p >> np.uint32(12), p & np.uint32(0xFFF)
    low = b * d  # in units of 2^-24
    middle = a * d  # of 2^-8
    other = b * c  # of 2^-12
    fraction = (low & np.uint32(0xFFFFFF)) + ((middle & np.uint32(0xFF)) << np.uint32(16)) + ((other & np.uint32(0xFFF)) << np.uint32(12))
    whole = ((a * c) << np.uint32(4)) + (middle >> np.uint32(8)) + (other >> np.uint32(12)) + (low >> np.uint32(24))
    whole = whole + (fraction >> np.uint32(24))
    fraction = (fraction & np.uint32(0xFFFFFF)).astype(jnp.float32) * np.float32(2.0**-24)
    return lax.complex(lax.bitcast_convert_type(whole, jnp.float32), fraction)


def _product(n: Array, p: Array) -> tuple[Array, Array]:
    """The product n p / 2^24 as an integer, int32, and a fraction, float32, for n < 2^31 and p <= 2^23."""
    packed = _packed_product(n, p)
    return _bits(lax.real(packed)).astype(jnp.int32), lax.imag(packed)


def _correction(k: Array) -> Array:
    """What Stirling leaves out: log k! - (k log k - k), for whole k from 0."""
    inverse = 1.0 / jnp.maximum(k, np.float32(_TERMS))
    square = inverse * inverse
    rest = inverse * (np.float32(1 / 12) - square * (np.float32(1 / 360) - square * np.float32(1 / 1260)))
    series = 0.5 * jnp.log(np.float32(2 * np.pi) * jnp.maximum(k, 1.0)) + rest
    for i in range(_TERMS):
        series = jnp.where(k == np.float32(i), _CORRECTIONS[i], series)
    return series


def _deviance(x: Array, mean: Array, above: Array) -> Array:
    """The deviance x log(x / mean) + mean - x, with ``above`` = x - mean known without cancellation."""
    v = above / (x + mean)
    square, term = v * v, 2.0 * x * v
    near = above * v
    for j in range(1, 6):
        term = term * square
        near = near + term * np.float32(1.0 / (2 * j + 1))
    far = x * jnp.log(jnp.maximum(x, 1e-30) / jnp.maximum(mean, 1e-30)) - above
    return jnp.where(jnp.abs(v) < 0.1, near, far)


def _search(word: Array, n: Array, p: Array) -> Array:
    """For means below 10: how often the distribution function stays below a uniform number."""
    uniform = unit_law(word)
    trials, odds = n.astype(jnp.float32), p / (1.0 - p)
    first = jnp.exp(trials * jnp.log1p(-p))

    def step(carry):
        i, k, chance, left = carry
        on = left > chance
        left = jnp.where(on, left - chance, left)
        chance = jnp.where(on, chance * odds * (trials - k) / (k + 1.0), chance)
        return i + 1, jnp.where(on, k + 1.0, k), chance, left

    def going(carry):
        i, _, chance, left = carry
        return (i < _LONGEST_SEARCH) & jnp.any(left > chance)

    _, k, _, _ = lax.while_loop(going, step, (jnp.int32(0), jnp.zeros_like(first), first, uniform))
    return jnp.minimum(k.astype(jnp.int32), n.astype(jnp.int32))


@fence
def _block(key0: Array, key1: Array, tries: Array) -> Array:
    """Two words of a try, as one complex64: a kernel with two outputs would compute them twice."""
    words = threefry2x32(key0, key1, jnp.zeros_like(key0) + tries.astype(jnp.uint32), jnp.zeros_like(key0))
    return lax.complex(*(lax.bitcast_convert_type(word, jnp.float32) for word in words))


def _reject(key0: Array, key1: Array, n: Array, p: Array, whole: Array, fraction: Array, wanted: Array) -> Array:
    """For means from 10 on, p at most 1/2; ``whole`` and ``fraction`` are the mean."""
    trials, mean = n.astype(jnp.float32), whole.astype(jnp.float32) + fraction
    deviation = jnp.sqrt(mean * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    squeeze, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation

    @fence
    def logs(k):  # of the probability of whole + k, less what is the same for all k
        ones = jnp.stack([whole + k, n.astype(jnp.int32) - whole - k]).astype(jnp.float32)
        above = k.astype(jnp.float32) - fraction
        lost = _deviance(ones, jnp.stack([mean, trials - mean]), jnp.stack([above, -above])) + _correction(ones)
        return -(lost[0] + lost[1])

    mode = jnp.floor(fraction + p).astype(jnp.int32)  # of (n + 1) p, relative to the mean

    @fence
    def propose(words):  # a number relative to the mean, infinite where it is none, and the log of what its chance must exceed
        first, second = _bits(lax.real(words)), _bits(lax.imag(words))
        u, v = unit_law(first) - 0.5, unit_law(second)
        within = (((first & np.uint32(0xFF)) << np.uint32(8)) | (second & np.uint32(0xFF))).astype(jnp.float32) * np.float32(2.0**-16) - 0.5
        edge = 0.5 - jnp.abs(u)
        slope = a / (edge * edge) + b
        k = jnp.floor((2.0 * a / edge + b) * u + slope * (within * np.float32(2.0**-24)) + (fraction + 0.5))
        inside = (k >= -whole.astype(jnp.float32)) & (k <= trials - whole.astype(jnp.float32)) & (jnp.abs(k) < 2.0**30)
        sure = (edge >= 0.07) & (v <= squeeze)
        needed = jnp.where(sure, -jnp.inf, jnp.log(v * alpha / slope))
        return lax.complex(jnp.where(inside, k, jnp.inf), needed)

    def step(carry):
        tries, value, open_, peak = carry
        proposed = propose(_block(key0, key1, tries))
        k, needed = lax.real(proposed), lax.imag(proposed)
        inside = jnp.isfinite(k)
        # The first pass is for the mode: the same code gives the peak that all tries are measured against.
        k = jnp.where(tries == 0, mode, jnp.where(inside, k, 0.0).astype(jnp.int32))
        here = logs(k)
        accept = open_ & inside & (tries > 0) & (needed <= here - peak)
        return tries + 1, jnp.where(accept, whole + k, value), open_ & ~accept, jnp.where(tries == 0, here, peak)

    return lax.while_loop(lambda carry: jnp.any(carry[2]), step, (jnp.int32(0), whole, wanted, jnp.zeros_like(mean)))[1]


@lanes_last
def binomial(words: Array, trials: Array, probability: Array) -> Array:
    """How many of independent bits ``u < probability`` are 1, u a uniform draw on its grid of 2^-24.

    Args:
      words: uint32 [2, ...], uniform: the randomness.
      trials: int32 [...], from 0.
      probability: float32 [...], from 0 to 1.

    Returns:
      int32 [...], a function of these numbers alone, however many others are made together.
    """

    def kernel(words, trials, probability):
        n, below = trials.astype(jnp.uint32), grid(probability)
        flipped = below > np.uint32(1 << 23)
        rarer = jnp.where(flipped, np.uint32(1 << 24) - below, below)
        p = rarer.astype(jnp.float32) * np.float32(2.0**-24)
        whole, fraction = _product(n, rarer)
        large = whole >= _SMALL_MEAN
        # Where a method is not used it gets numbers that it ends at once on.
        small = _search(words[0], jnp.where(large, np.uint32(0), n), p)
        many = _reject(
            words[0],
            words[1],
            jnp.where(large, n, np.uint32(40)),
            jnp.where(large, p, 0.5),
            jnp.where(large, whole, 20),
            jnp.where(large, fraction, 0.0),
            large,
        )
        found = jnp.where(large, many, small)
        return jnp.where(flipped, trials - found, found)

    return fence(kernel)(words, trials, probability)
