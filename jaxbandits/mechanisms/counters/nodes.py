"""How the noise of a block of a tree counter is made: its own draw, or Honaker's estimate from all draws below it.

Every block of 2^h entries has noise of one scale. Draws of blocks below it, which the textbook counter makes and throws away, can
be averaged in: Honaker: Efficient Use of Differentially Private Binary Trees, 2015. That is post-processing of private sums, so it
costs no privacy; the variance of a high block falls to about half.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxbandits.core import Draw
from jaxbandits.engine import draws, lanes
from jaxbandits.engine.fence import fence


class Nodes(NamedTuple):
    """A way to make the noise of blocks.

    Attributes:
      draw: (heights, insertions) -> what is drawn in a round.
      needs_older: whether ``estimate`` looks at the noises of older blocks.
      estimate: (height of the finished block int32 [k], draws, older float32 [heights, k], parent float32 [k]) -> noise of the
        block at scale 1, float32 [k]. ``older`` holds the released noises in the table, ``parent`` that of the release the block
        is added to; both divided by the scale of the block.
      pieces: height -> (weight, number) of the independent draws in a block.
      bound: height -> (scale, number) of draws whose moments bound those of a block: the largest weight in it, and as many as have
        its variance. Exact where all weights are one.
    """

    draw: Callable[[int, int], Draw]
    needs_older: bool
    estimate: Callable[[Array, Array, Array, Array], Array]
    pieces: Callable[[int], list[tuple[float, int]]]
    bound: Callable[[int], tuple[float, float]]


def bit_length(n: Array) -> Array:
    """Number of binary digits of a count, int32; 0 for 0."""
    return 32 - lax.clz(n)


def height(n: Array) -> Array:
    """Height of the block that ends at entry n of a tree: the trailing zero bits of n; -1 for 0. int32."""
    return bit_length(n & -n) - 1


own_draw = Nodes(
    draw=lambda heights, insertions: draws.laplace((insertions,)),
    needs_older=False,
    estimate=lambda height, z, older, parent: z,
    pieces=lambda height: [(1.0, 1)],
    bound=lambda height: (1.0, 1.0),
)
"""Every block has its own draw and no other, as published."""


def _honaker_variance(height: int) -> float:
    """Of the noise of a block, over that of one draw."""
    return 2**height / (2 ** (height + 1) - 1)


def _own_weight(height: int) -> float:
    """What the own draw of a block counts beside the sum of its two children: weights are inverse to variances."""
    below = 2 * _honaker_variance(height - 1) if height else 0.0
    return below / (1.0 + below) if height else 1.0


def _honaker_pieces(height: int) -> list[tuple[float, int]]:
    rest, found = 1.0, []
    for h in range(height, -1, -1):
        found.append((rest * _own_weight(h), 2 ** (height - h)))
        rest *= 1.0 - _own_weight(h)
    return found


def _honaker_bound(height: int) -> tuple[float, float]:
    largest = max(weight for weight, _ in _honaker_pieces(height))
    return largest, _honaker_variance(height) / largest**2


def _honaker_estimate(height: Array, z: Array, older: Array, parent: Array) -> Array:
    def kernel(height, z, older, parent):
        estimate = z[0]
        for h in range(1, z.shape[0]):
            # The left child, of height h - 1, ended half a block ago; the difference of two releases is its noise.
            left = older[h - 1] - jnp.where(height == h, parent, older[h])
            weight = _own_weight(h)
            higher = weight * z[h] + (1.0 - weight) * (left + estimate)
            estimate = jnp.where(height >= h, higher, estimate)
        return estimate

    return fence(kernel)(height, z, older, parent)


honaker = Nodes(
    draw=lambda heights, insertions: draws.laplace((heights, insertions)),
    needs_older=True,
    estimate=lanes.lanes_last(_honaker_estimate),
    pieces=_honaker_pieces,
    bound=_honaker_bound,
)
"""Honaker's estimate of a block: the average, weighted by inverse variance, of its own draw and the sum of its two children."""
