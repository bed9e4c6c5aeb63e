"""What a counter is: noisy sums of many streams that are released while the streams grow.

Neighbouring streams have one entry substituted and the same length. Every release of a counter together is epsilon-private, also
when later entries depend on earlier releases, since each piece of noise is drawn once and kept.

Noise is simulation-grade floating point, as in ``mechanisms.randomiser``. A sum is exact: it is counted in int32.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Draws, PyTree
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import noise as noises

ONE_ENTRY = "one entry of one stream substituted, same length"
"""The neighbouring relation of a counter."""

LEAST_EPSILON = 1e-16
"""The smallest privacy level of a counter: a policy may give it a share of a small epsilon."""


class Release(NamedTuple):
    """The newest release of every stream.

    Attributes:
      total: float32 [num_streams], the noisy sum; 0 before the first release.
      counts: int32 [num_streams], how many entries it sums.
      waiting: int32 [num_streams], entries inserted since.
    """

    total: Array
    counts: Array
    waiting: Array


class Law(NamedTuple):
    """The noise in one release: a sum of independent variables, of mean 0.

    Attributes:
      scales: float64 [groups], Laplace scales, or standard deviations of normal noise.
      counts: int64 [groups], how many variables of each.
      variance_of: scale -> variance of a variable.
    """

    scales: np.ndarray
    counts: np.ndarray
    variance_of: Callable[[np.ndarray], np.ndarray] = noises.laplace.variance

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return float(np.sum(self.counts * self.variance_of(self.scales)))


class Counter(NamedTuple):
    """A continual counter of several streams of bits, as a factory returns it; for one lane, like a policy.

    Attributes:
      claim: what it says about privacy.
      draws: how many streams an insertion touches -> the draws it needs. ``engine.draws.sample`` makes numbers of them outside of a
        study.
      init: () -> state, which has the entries of each stream so far as ``counts``, int32 [num_streams].
      insert: (state, streams int32 [k], values int32 [k], where bool [k], draws) -> state. The streams are distinct; one whose
        ``where`` is false gets no entry. Values other than 0 and 1 are cut to them.
      read: state -> Release.
      law: entries of a stream -> the Law of the noise in its newest release, on the host.
      scale: what multiplies every draw; inversely proportional to epsilon.
      tail: (entries int32, log(2 / tail_prob)) -> what the size of the noise in the newest release, over ``scale``, exceeds with
        probability at most tail_prob; float32, of the shape of the entries. For the round loop: it depends on no argument of the
        lane.
    """

    claim: Claim
    draws: Callable[[int], Draws]
    init: Callable[[], PyTree]
    insert: Callable[[PyTree, Array, Array, Array, Mapping[str, Array]], PyTree]
    read: Callable[[PyTree], Release]
    law: Callable[[int], Law]
    scale: ArrayLike
    tail: Callable[[Array, ArrayLike], Array]


def checked(num_streams: Any, epsilon: Any, noise_scale: Any) -> int:
    """The number of streams, once the arguments of a counter are known to be good."""
    validate.epsilon(epsilon, low=LEAST_EPSILON)
    validate.scale("noise_scale", noise_scale)
    return validate.size("num_streams", num_streams, 1, validate.MOST_ITEMS)


def entries(count: Any, most: int = validate.MOST_ROUNDS) -> int:
    """A number of entries to ask a law about."""
    return validate.size("count", count, 0, most)


def within(where: Array, counts: Array, streams: Array, most: int) -> Array:
    """``where``, but not for streams that have ``most`` entries already: what a counter promises ends there."""
    return where if most == validate.MOST_ROUNDS else where & (lanes.take(counts, streams) < most)


def made_by(factory: Any, **arguments: Any) -> Counter:
    """The counter that a user's factory makes.

    Args:
      factory: such as ``counters.hybrid``.
      arguments: what it is called with.

    Raises:
      ValueError: if it is not a factory of counters.
    """
    allowed = "a factory of counters, taking num_streams and epsilon, such as counters.hybrid"
    counter = validate.called("counter", factory, allowed, **arguments)
    if not isinstance(counter, Counter):
        raise ValueError(f"counter must be {allowed}; it returned {counter!r}")
    return counter


def claim(epsilon: Any, noise_scale: Any, *, sensitivity: str = "1 in one stream", delta: Any = 0.0) -> Claim:
    """The claim of a counter of values in {0, 1}."""
    return Claim(
        status="sound",
        trust="central",
        relation=ONE_ENTRY,
        sensitivity=sensitivity,
        epsilon=epsilon,
        delta=delta,
        noise_scale=noise_scale,
    )


def count_in(counts: Array, total: Array, streams: Array, values: Array, where: Array) -> tuple[Array, Array]:
    """Entries and exact sums of the streams, int32, after an insertion."""
    if values.dtype != jnp.int32:
        raise ValueError(f"values must be int32: a counter sums bits; got {values.dtype}")
    added = jnp.where(where, jnp.clip(values, 0, 1), 0)  # what is promised holds for bits
    return lanes.add_at(counts, streams, where.astype(jnp.int32)), lanes.add_at(total, streams, added)
