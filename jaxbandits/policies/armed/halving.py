"""Best-arm identification by successive halving, as a policy that pulls what it has found ever after. Non-private."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits import validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.engine import lanes, sums
from jaxbandits.engine.fence import fence


class Halving(NamedTuple):
    """Which arms are left, and what was seen of them in this phase."""

    counts: Array  # [num_arms], int32: pulls of all phases
    left: Array  # [num_arms], int32: 1 for an arm that is left
    pulls: Array  # [num_arms], int32: those of this phase
    total: Array  # [num_arms], float32: sum of their rewards, since the last settling
    folded: sums.Sum  # [num_arms]: before that


def phases(num_arms: int, horizon: int) -> list[tuple[int, int]]:
    """The arms left in each phase, and the round after which it ends; without arms to halve, none."""
    rounds = math.ceil(math.log2(num_arms)) if num_arms > 1 else 0
    found, end, left = [], 0, num_arms
    for _ in range(rounds):
        end += left * max(1, horizon // (left * rounds))
        found.append((left, end))
        left = -(-left // 2)
    return found


@lanes.lanes_last
def _kept(left: Array, seen: Array, total: Array, count: Array) -> Array:
    """The arms among the ``count`` best of those left, by mean, ties to the lower number."""

    def kernel(left, seen, total, count):
        mean = jnp.where(left > 0, total / jnp.maximum(seen, 1).astype(jnp.float32), -jnp.inf)
        number, better = lax.broadcasted_iota(jnp.int32, mean.shape, 0), jnp.zeros(mean.shape, jnp.int32)

        def compare(j, better):
            other = lax.dynamic_slice_in_dim(mean, j, 1)
            return better + ((other > mean) | ((other == mean) & (j < number))).astype(jnp.int32)

        better = lax.fori_loop(0, mean.shape[0], compare, better)
        return ((better < count[None]) & (left > 0)).astype(jnp.int32)

    return fence(kernel)(left, seen, total, count)


@lanes.elementwise
def _order(left: Array, seen: Array) -> Array:
    """Least for the arm that is left and was pulled least in this phase."""
    return jnp.where(left > 0, seen, jnp.iinfo(jnp.int32).max)


def sequential_halving(*, num_arms: int, horizon: int) -> Policy:
    """Successive halving: the worse half of the arms goes after each of ceil(log2 K) phases. Non-private.

    In a phase each arm left is pulled floor(T / (|S| ceil(log2 K))) times, at least once, by turns; the better half by the mean of the
    phase stays. The last arm is pulled in all further rounds. The state's ``left`` says which arms are left. Karnin, Koren,
    Somekh 2013, Algorithm 1.

    Args:
      num_arms: number of arms K.
      horizon: T, the number of rounds; a study passes its own.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms, horizon = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS), validate.horizon(horizon)
    plan = [(left, end) for left, end in phases(num_arms, horizon) if end <= validate.MOST_ROUNDS]
    ends, keep = (np.asarray(x, np.int32) for x in ([end for _, end in plan] or [0], [-(-left // 2) for left, _ in plan] or [1]))

    def halve(state, t):
        count = jnp.sum(jnp.where(jnp.asarray(ends) == t, jnp.asarray(keep), 0), dtype=jnp.int32)
        return state._replace(
            left=_kept(state.left, state.pulls, state.folded.high + state.total, count),
            pulls=jnp.zeros_like(state.pulls),
            total=jnp.zeros_like(state.total),
            folded=sums.zero(state.total.shape),
        )

    def update(state, t, action, reward, z):
        after = Halving(
            counts=lanes.count_at(state.counts, action),
            left=state.left,
            pulls=lanes.count_at(state.pulls, action),
            total=lanes.add_at(state.total, action, jnp.asarray(reward, jnp.float32)[None]),
            folded=state.folded,
        )
        return lanes.when(jnp.any(jnp.asarray(ends) == t), lambda state: halve(state, t), after)

    def init(preview):
        nothing = jnp.zeros(num_arms, jnp.int32)
        start = jnp.zeros(num_arms, jnp.float32)
        return Halving(nothing, jnp.ones(num_arms, jnp.int32), nothing, start, sums.zero((num_arms,)))

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={},
        init=init,
        act=lambda state, round_, z: lanes.argmin(_order(state.left, state.pulls))[None],
        report=lambda round_, action, reward, z: jnp.asarray(reward, jnp.float32),
        update=update,
        settle=lambda state: state._replace(total=jnp.zeros_like(state.total), folded=sums.add(state.folded, state.total)),
    )
