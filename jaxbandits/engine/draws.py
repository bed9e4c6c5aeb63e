"""Declared draws: from (seed, stream, round, slot) to numbers.

Word ``w`` of stream ``s`` in round ``t`` of replica ``r`` under seed ``k`` is half ``t % 2`` of the Random123 block
``threefry2x32-20(key=(k, r), counter=(t // 2, s * 2**24 + w))``. It depends on nothing else: not on the tile, the chunk, the
grid point, the policy or the device. Policies and grid points that share a seed therefore meet the same users. Two rounds share
their blocks, so that no half is left over in a stream with an odd number of words a round, such as a single one.

The numbers are simulation-grade: 24-bit magnitudes bound a Laplace draw at 17.3 scales and a normal one at 5.9 standard
deviations. Do not release real data through them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Draw, Draws
from jaxbandits.engine.fence import fence

GENERATOR = "threefry2x32-20, two rounds a block"
"""Which numbers these are. It changes with them, so that a store of other numbers is not continued."""

MOST_WORDS = 2**24
"""The most words of a stream in a round: there the counters of the next stream begin."""

USERS, DEVICE, SERVER, SETUP = range(4)
"""The streams: users' behaviour, noise on the device, noise on the server, and what is drawn once for each seed."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(k0: Array, k1: Array, x0: Array, x1: Array) -> tuple[Array, Array]:
    """The 20-round threefry2x32 block function of Random123, elementwise on uint32 arrays of any shapes that broadcast."""
    keys = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))
            x1 = x1 ^ x0
        x0, x1 = x0 + keys[(i + 1) % 3], x1 + keys[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


# ---- laws: uint32[words, ...] -> [size, ...] ---------------------------------------------------------------------------


def _float(words: Array) -> Array:
    return lax.bitcast_convert_type(words, jnp.float32)


def _bits(floats: Array) -> Array:
    return lax.bitcast_convert_type(floats, jnp.uint32)


def unit_law(words: Array) -> Array:
    """Uniform on the multiples i / 2**24 in (0, 1), one for each word; i = 0 gives half a step, so that 0 and 1 never occur."""
    return jnp.maximum((words >> np.uint32(8)).astype(jnp.float32), 0.5) * np.float32(2.0**-24)


def bits_law(words: Array) -> Array:
    """The words themselves."""
    return words


def laplace_law(words: Array) -> Array:
    """Standard Laplace, density exp(-|x|)/2: an exponential magnitude from the high 24 bits, the sign from the lowest bit."""
    return _float(_bits(-jnp.log(unit_law(words))) | (words << np.uint32(31)))


_COS = tuple((-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(6))
_SIN = tuple((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(6))


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def normal_law(words: Array) -> Array:
    """Standard normal: words 2i and 2i+1 give values 2i and 2i+1 by Box and Muller's transform.

    The sine and cosine of the angle are Taylor polynomials on an eighth of a turn, exact to a float32 rounding, in place of the library's
    sine and cosine, which spend most of their time on arguments that cannot occur here.
    """
    radius = jnp.sqrt(-2.0 * jnp.log(unit_law(words[0::2])))
    angle = words[1::2]
    # The two top bits choose the quadrant, the next 23 the position x in (-1/2, 1/2) of a quarter turn.
    quadrant = angle >> np.uint32(30)
    x = (((angle << np.uint32(2)) >> np.uint32(9)).astype(jnp.float32) + 0.5) * np.float32(2.0**-23) - 0.5
    cosine, sine = _polynomial(x * x, _COS), x * _polynomial(x * x, _SIN)
    odd = (quadrant & np.uint32(1)) == 1
    negate = (quadrant & np.uint32(2)) << np.uint32(30)
    first = _float(_bits(jnp.where(odd, sine, cosine)) ^ negate)
    second = _float(_bits(jnp.where(odd, -cosine, sine)) ^ negate)
    pairs = jnp.stack([radius * first, radius * second], axis=1)
    return pairs.reshape((words.shape[0], *words.shape[1:]))


def _draw(law, shape: tuple[int, ...], multiple: int = 1) -> Draw:
    shape = validate.shape("shape", shape)
    return Draw(law, shape, -(-math.prod(shape) // multiple) * multiple)


def uniform(shape: tuple[int, ...] = ()) -> Draw:
    """Uniform on (0, 1), float32.

    Args:
      shape: of the numbers of one lane; () for a single one.

    Raises:
      ValueError: if it is no tuple of sizes.
    """
    return _draw(unit_law, shape)


def laplace(shape: tuple[int, ...] = ()) -> Draw:
    """Laplace with scale 1, float32.

    Args:
      shape: of the numbers of one lane; () for a single one.

    Raises:
      ValueError: if it is no tuple of sizes.
    """
    return _draw(laplace_law, shape)


def normal(shape: tuple[int, ...] = ()) -> Draw:
    """Normal with mean 0 and variance 1, float32.

    Args:
      shape: of the numbers of one lane; () for a single one.

    Raises:
      ValueError: if it is no tuple of sizes.
    """
    return _draw(normal_law, shape, multiple=2)


def bits(shape: tuple[int, ...] = ()) -> Draw:
    """Uniform 32-bit words, uint32.

    Args:
      shape: of the numbers of one lane; () for a single one.

    Raises:
      ValueError: if it is no tuple of sizes.
    """
    return _draw(bits_law, shape)


# ---- from declared draws to numbers ------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where the words of several streams lie when their blocks are made together.

    Attributes:
      streams: the draws of each stream.
      counters: [W], uint32: the second counter word of the block of each word.
      first_word: where the words of each stream begin.
    """

    streams: Mapping[int, Draws]
    counters: np.ndarray
    first_word: Mapping[int, int]


def layout(streams: Mapping[int, Draws]) -> Layout:
    """Lays out the draws of several streams, one after the other."""
    counters, first = [], {}
    for stream, draws in streams.items():
        first[stream] = len(counters)
        words = sum(d.words for d in draws.values())
        if words > MOST_WORDS:
            raise ValueError(f"draws must need at most {MOST_WORDS:,} words of a stream in a round; {', '.join(draws)} need {words:,}")
        counters += [(stream << 24) + i for i in range(words)]
    return Layout(streams, np.asarray(counters, np.uint32), first)


def generate_pairs(plan: Layout, seed: ArrayLike, replica: ArrayLike, pairs: Array) -> dict[int, dict[str, Array]]:
    """All numbers of some pairs of rounds that share their blocks.

    Args:
      plan: the layout of the declared draws.
      seed: uint32 (), the seed of the study.
      replica: uint32 [B], the number of the seed that each lane runs.
      pairs: int32 [P], or [P, B] if they differ between lanes; pair p is rounds 2 p and 2 p + 1.

    Returns:
      for each stream, for each name, an array [2 P, *shape, B].
    """
    if not len(plan.counters):
        return {stream: {} for stream in plan.streams}

    # Both words of a block leave through one complex64: a kernel with two outputs would compute every block twice.
    def blocks(seed, replica, pairs):
        pairs = pairs.astype(jnp.uint32).reshape((pairs.shape[0], 1, -1))
        x0, x1 = threefry2x32(seed, replica[None, None, :], pairs, jnp.asarray(plan.counters)[None, :, None])
        return lax.complex(_float(x0), _float(x1))

    packed = fence(blocks)(seed, replica, pairs)
    result = {}
    for stream, draws in plan.streams.items():
        offset, result[stream] = plan.first_word[stream], {}
        for name, draw in draws.items():
            result[stream][name] = _values(packed, draw, offset)
            offset += draw.words
    return result


def generate(plan: Layout, seed: ArrayLike, replica: ArrayLike, rounds: Array) -> dict[int, dict[str, Array]]:
    """All numbers of some rounds, int32 [C]: for each stream, for each name, an array [C, *shape, B]; see ``generate_pairs``."""
    both, which = generate_pairs(plan, seed, replica, rounds // 2), 2 * jnp.arange(len(rounds)) + rounds % 2
    return jax.tree.map(lambda x: x[which], both)


def generate_each(plan: Layout, seed: ArrayLike, replica: ArrayLike, rounds: Array) -> dict[int, dict[str, Array]]:
    """All numbers of one round of each lane, int32 [B]: for each stream, for each name, an array [*shape, B]; see ``generate_pairs``."""
    both = generate_pairs(plan, seed, replica, (rounds // 2)[None])
    return jax.tree.map(lambda x: jnp.where(rounds % 2 == 1, x[1], x[0]), both)


def sample(declared: Draws, *, seed: int = 0, replica: int = 0, round: int = 1) -> dict[str, Array]:
    """Numbers for declared draws, for one lane in one round: to try a mechanism or a policy outside of a study.

    Args:
      declared: the draws by name, such as ``counter.draws(1)`` or ``policy.server_draws``.
      seed: of the study.
      replica: which of its seeds.
      round: the round.

    Returns:
      each draw's numbers, of its shape; those that the server would get in a study.

    Raises:
      ValueError: if ``declared`` holds anything but draws, or a number is out of range.
    """
    if not isinstance(declared, Mapping) or not all(isinstance(draw, Draw) for draw in declared.values()):
        raise ValueError(f"declared must be a mapping from names to draws, such as draws.uniform(); got {declared!r}")
    seed, replica = (validate.size(name, value, 0, 2**32 - 1) for name, value in (("seed", seed), ("replica", replica)))
    round = validate.size("round", round, 1, 2**31 - 1)
    found = generate(layout({SERVER: declared}), jnp.uint32(seed), jnp.asarray([replica], jnp.uint32), jnp.asarray([round], jnp.int32))
    return {name: value[0, ..., 0] for name, value in found[SERVER].items()}


def _values(packed: Array, draw: Draw, offset: int) -> Array:
    """The values of one draw, whose words start at ``offset`` in blocks [P, W, B] that hold two rounds each."""
    size = math.prod(draw.shape)

    def kernel(packed):
        mine = packed[:, offset : offset + draw.words]
        words = jnp.stack([_bits(lax.real(mine)), _bits(lax.imag(mine))], axis=1).reshape((-1, *mine.shape[1:]))
        values = jax.vmap(draw.law)(words)[:, :size]
        return values.reshape((values.shape[0], *draw.shape, values.shape[-1]))

    return fence(kernel)(packed)
