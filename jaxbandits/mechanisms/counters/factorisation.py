"""The square-root factorisation: Gaussian noise that is correlated over time as well as can be.

Fichtenberger, Henzinger, Upadhyay: Constant Matters: Fine-grained Error Bound on Differentially Private Continual Observation,
2023. Prefix sums are A x with A lower triangular of ones; A = F F for the Toeplitz matrix F with f_0 = 1,
f_k = f_{k-1} (2k - 1) / (2k), and F (F x + z) = A x + F z is released.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.engine.fence import fence
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.counters.interface import Counter, Law, Release, checked, claim, count_in, entries, within

LONGEST, LARGEST = 65_536, 2**26
"""The longest horizon, and the most horizon * num_streams: the state and the work of an insertion grow with them."""


class FactorisationState(NamedTuple):
    """Streams, and every draw so far."""

    counts: Array  # [num_streams], int32
    total: Array  # [num_streams], int32, exact
    released: Array  # [num_streams], float32
    past: Array  # [horizon * num_streams], float32


def square_root_factor(length: int) -> np.ndarray:
    """f_0, ..., f_{length-1}, float64: the first column of the square root of the matrix of prefix sums.

    Args:
      length: how many, at least 1.

    Raises:
      ValueError: if it is out of range.
    """
    k = np.arange(1, validate.size("length", length), dtype=np.float64)
    return np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))


def square_root(
    *,
    num_streams: int,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
) -> Counter:
    """Prefix sums with noise F z, z normal with standard deviation sigma: (epsilon, delta)-private.

    sigma is analytic for the L2 sensitivity D, D^2 = sum_{k<n} f_k^2 = (log n + 3.350) / pi + O(1 / n) for n = horizon. Standard
    deviation at entry s: sigma sqrt(sum_{k<s} f_k^2). An insertion takes time and state of the size of the horizon. Entries
    beyond the horizon are left out: the release stays as it is.

    Args:
      num_streams: number of streams.
      horizon: the most entries of a stream, up to 65,536.
      epsilon: privacy level, positive; inf adds nothing. It cannot be swept, and delta neither: sigma is worked out from them.
      delta: strictly between 0 and 1.
      noise_scale: factor on the noise; any other than 1 voids the claim.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_streams = checked(num_streams, epsilon, noise_scale)
    validate.delta(delta)
    horizon = validate.size("horizon", horizon, 1, min(LONGEST, LARGEST // num_streams))
    factor = square_root_factor(horizon)
    deviation = np.append(0.0, np.sqrt(np.cumsum(factor**2)))
    sigma = calibrate.analytic_sigma(validate.number("epsilon", epsilon), validate.number("delta", delta), float(deviation[-1]))
    unit = noise_scale * sigma
    weights = jnp.asarray(factor, jnp.float32)

    def weighted(past, count):
        """sum_{j < count} f_{count-1-j} past_j for each stream of an insertion; past [horizon, k]."""

        def kernel(past, count):
            age = count[None] - 1 - jnp.arange(horizon, dtype=jnp.int32).reshape((-1,) + (1,) * count.ndim)
            return jnp.sum(jnp.where(age >= 0, weights[jnp.maximum(age, 0)], 0.0) * past, axis=0)

        return fence(kernel)(past, count)

    weigh = lanes.lanes_last(weighted)

    @lanes.elementwise
    def noisy(total, noise, unit):
        return total.astype(jnp.float32) + unit * noise

    def init():
        zeros = jnp.zeros(num_streams, jnp.int32)
        none = jnp.zeros(num_streams, jnp.float32)
        return FactorisationState(counts=zeros, total=zeros, released=none, past=jnp.zeros(horizon * num_streams, jnp.float32))

    def insert(state, streams, values, where, z):
        where = within(where, state.counts, streams, horizon)
        counts, total = count_in(state.counts, state.total, streams, values, where)
        count = jnp.clip(lanes.take(counts, streams), 1, horizon)
        past = lanes.set_at(state.past, (count - 1) * num_streams + streams, z["noise"], where)
        places = jnp.arange(horizon, dtype=jnp.int32)[:, None] * num_streams + streams[None, :]
        columns = lanes.take(past, places.reshape(-1)).reshape(places.shape)
        fresh = noisy(lanes.take(total, streams), weigh(columns, count), jnp.asarray(unit, jnp.float32))
        return FactorisationState(counts=counts, total=total, released=lanes.set_at(state.released, streams, fresh, where), past=past)

    def law(count):
        return Law(
            scales=deviation[[entries(count, horizon)]] * validate.number("noise_scale", unit),
            counts=np.ones(1, np.int64),
            variance_of=np.square,
        )

    @lanes.elementwise
    def gaussian(deviation, log_term):
        return deviation * jnp.sqrt(2.0 * log_term)

    def tail(count, log_term):
        return gaussian(lanes.take(jnp.asarray(deviation, jnp.float32), jnp.minimum(count, horizon)), log_term)

    return Counter(
        claim=claim(epsilon, noise_scale, sensitivity=f"L2 {deviation[-1]:.4g}", delta=delta),
        draws=lambda insertions: {"noise": draws.normal((insertions,))},
        init=init,
        insert=insert,
        read=lambda state: Release(total=state.released, counts=state.counts, waiting=jnp.zeros_like(state.counts)),
        law=law,
        scale=unit,
        tail=tail,
    )
