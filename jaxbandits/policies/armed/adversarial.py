"""K-armed policies for any sequence of losses: Exp3 and Tsallis-INF. Non-private; ``reduction`` makes them private.

Both keep an estimate of the loss of every arm, the loss of the arm pulled over the probability with which it was, and draw the arm of a
round from weights that fall with it. Rewards in [low, high] become losses in [0, 1].
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.engine import draws, lanes
from jaxbandits.engine.fence import fence


class Estimates(NamedTuple):
    """Estimated losses so far, and how often arms were pulled."""

    counts: Array  # [num_arms], int32
    losses: Array  # [num_arms], float32: above those of the arm that was best at the last settling


def _policy(num_arms: int, low: ArrayLike, high: ArrayLike, weights: Callable[[Array, Array], Array]) -> Policy:
    """Draws arms from weights of (estimated losses, t), and adds what an arm lost over its probability."""
    validate.scalar("low", low, "a number from -1e12 to 1e12", lambda x: abs(x) <= 1e12)
    validate.above("high", high, "low", low)
    width = jnp.asarray(high, jnp.float32) - jnp.asarray(low, jnp.float32)

    def act(state, round_, z):
        return lanes.pick(weights(state.losses, round_.t), z["arm"])[None]

    def update(state, t, action, reward, z):
        chances = weights(state.losses, t)
        loss = (jnp.asarray(high, jnp.float32) - jnp.asarray(reward, jnp.float32)) / width
        mine = lanes.take(chances, action) / jnp.sum(chances)
        return Estimates(
            counts=lanes.count_at(state.counts, action), losses=lanes.add_at(state.losses, action, loss / jnp.maximum(mine, _LEAST))
        )

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={"arm": draws.uniform()},
        init=lambda preview: Estimates(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, jnp.float32)),
        act=act,
        report=lambda round_, action, reward, z: jnp.asarray(reward, jnp.float32),
        update=update,
        # Only differences matter, and those of the good arms stay small.
        settle=lambda state: state._replace(losses=_above_least(state.losses)),
    )


_LEAST = np.float32(1e-12)


@lanes.lanes_last
def _above_least(losses: Array) -> Array:
    return fence(lambda losses: losses - jnp.min(losses, axis=0)[None])(losses)


@lanes.lanes_last
def _exponential(losses: Array, rate: Array) -> Array:
    return fence(lambda losses, rate: jnp.exp(-rate[None] * (losses - jnp.min(losses, axis=0)[None])))(losses, rate)


def exp3(*, num_arms: int, horizon: int, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Policy:
    """Exp3: weights exp(-eta times the estimated loss). Non-private.

    eta = sqrt(2 log K / (T K)). Regret against any one arm at most (high - low) sqrt(2 T K log K), whatever the losses, as long as they are
    in their range. Auer, Cesa-Bianchi, Freund, Schapire 2002, in the form without mixing.

    Args:
      num_arms: number of arms K.
      horizon: T, the number of rounds; a study passes its own.
      low: the least reward.
      high: the largest reward.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms, horizon = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS), validate.horizon(horizon)
    rate = jnp.float32(math.sqrt(2 * math.log(num_arms) / (horizon * num_arms)))
    return _policy(num_arms, low, high, lambda losses, t: _exponential(losses, rate))


_STEPS = 8
"""Of Newton's method for the weights."""


@lanes.lanes_last
def _tsallis(losses: Array, rate: Array) -> Array:
    """4 / (rate (loss - x))^2 with x such that they add up to 1."""

    def kernel(losses, rate):
        above = losses - jnp.min(losses, axis=0)[None]
        gap = 2.0 / rate  # how far x is below the least loss: at least this, where the best arm has weight 1
        for _ in range(_STEPS):
            near = 1.0 / (rate[None] * (above + gap[None]))
            total = 4.0 * jnp.sum(near * near, axis=0)
            slope = 8.0 * rate * jnp.sum(near * near * near, axis=0)
            # Newton's method for total^(-1/2) = 1, which is nearly linear in the gap.
            gap = gap + 2.0 * (total * jnp.sqrt(total) - total) / slope
        near = 2.0 / (rate[None] * (above + gap[None]))
        return near * near

    return fence(kernel)(losses, rate)


def tsallis_inf(*, num_arms: int, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Policy:
    """Tsallis-INF: best of both worlds, for losses of any sequence and of one law. Non-private.

    Weights 4 / (eta_t (estimated loss - x))^2, eta_t = 2 / sqrt(t), x such that they add up to 1. Regret at most 4 (high - low) sqrt(K T)
    + 1 whatever the losses, and of order K log T / gap for losses of one law. Zimmert, Seldin 2021, with importance weights.

    Args:
      num_arms: number of arms K.
      low: the least reward.
      high: the largest reward.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    return _policy(num_arms, low, high, lambda losses, t: _tsallis(losses, 2.0 / jnp.sqrt(t.astype(jnp.float32))))
