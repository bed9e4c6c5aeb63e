"""DP-SE: successive elimination with a fresh private mean in every epoch.

Sajed, Sheffet: An Optimal Private Stochastic-MAB Algorithm Based on an Optimal Private Stopping Rule, 2019. In epoch e every arm
that is left is pulled R_e times; the mean of these pulls alone is released with Lap(1 / (epsilon R_e)), and an arm whose mean
lies too far below the largest is dropped.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Policy
from jaxbandits.engine import draws, lanes
from jaxbandits.policies import central
from jaxbandits.policies.armed.assemble import ONE_REWARD
from jaxbandits.theory.federated_epochs import held_by_float32

_EPOCHS = 16
"""More epochs than any run reaches: the first takes over 100 pulls of an arm, and each four times as many as the one before."""

_NEVER = np.iinfo(np.int32).max


class EliminationState(NamedTuple):
    """The arms that are left and the pulls of this epoch."""

    counts: Array  # [num_arms], int32: all pulls
    left: Array  # [num_arms], bool
    pulls: Array  # [num_arms], int32: of this epoch
    ones: Array  # [num_arms], int32: rewards of this epoch
    epoch: Array  # (), int32, from 1


def epoch_lengths(num_arms: int, epsilon: float, horizon: int) -> np.ndarray:
    """R_e for every epoch and number of arms left, float64 [16, num_arms]: integers that float32 holds, rounded up to one."""
    e, left = np.arange(1, _EPOCHS + 1)[:, None], np.arange(1, num_arms + 1)[None, :]
    accuracy, log_arms = 2.0**-e, np.log(left * e**2.0 * horizon)
    by_sampling = 32.0 * (np.log(8.0) + log_arms) / accuracy**2
    by_noise = 8.0 * (np.log(4.0) + log_arms) / (epsilon * accuracy)
    return held_by_float32(np.ceil(np.minimum(np.maximum(by_sampling, by_noise), 2.0**30)) + 1.0)


def dp_se(*, num_arms: int, epsilon: ArrayLike, horizon: int, lengths: ArrayLike | None = None) -> Policy:
    """DP-SE: epochs of R_e pulls an arm, and an arm is dropped if its mean is more than 2h + 2c below the largest.

    R_e = ceil(max(32 log(8 S e^2 T) / D^2, 8 log(4 S e^2 T) / (epsilon D))) + 1 with D = 2^-e and S arms left;
    h = sqrt(log(8 S e^2 T) / (2 R_e)), c = log(4 S e^2 T) / (R_e epsilon). Regret O(sum over arms of log T / gap + K log T / epsilon).
    Deviation: R_e is rounded up to 24 binary digits. Within an epoch the arm with the fewest pulls is next. Sound: epsilon-DP for a
    trusted server, since each reward enters one release. Relation: one reward substituted, one round. Sajed, Sheffet 2019.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      lengths: R_e by epoch and arms left, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    horizon = validate.horizon(horizon)
    validate.epsilon(epsilon)
    if lengths is None:
        lengths = epoch_lengths(num_arms, validate.number("epsilon", epsilon), horizon)
    validate.table("lengths", lengths, (_EPOCHS, num_arms), "numbers of pulls, from 1 to 2^31", lambda r: (r >= 1) & (r <= 2**31))
    table = jnp.asarray(lengths, jnp.float32).reshape(-1)

    @lanes.elementwise
    def noisy_mean(ones, z, length, inverse_epsilon):
        return (ones.astype(jnp.float32) + z * inverse_epsilon) / length

    @lanes.elementwise
    def near(mean, left, best, length, log_arms, inverse_epsilon):
        sampling = jnp.sqrt(0.5 * (np.float32(np.log(8.0)) + log_arms) / length)
        noise = (np.float32(np.log(4.0)) + log_arms) * inverse_epsilon / length
        return left & (best - mean <= 2.0 * sampling + 2.0 * noise)

    masked = lanes.elementwise(lambda left, values, otherwise: jnp.where(left, values, otherwise))
    full = lanes.lanes_last(lambda pulls, length: jnp.all(pulls >= length.astype(jnp.int32)[None], axis=0))
    largest = lanes.lanes_last(lambda mean: jnp.max(mean, axis=0))
    total = lanes.lanes_last(lambda left: jnp.sum(left, axis=0, dtype=jnp.int32))
    choose = lanes.elementwise(lambda closed, new, old: jnp.where(closed, new, old))

    def init(preview):
        zeros = jnp.zeros(num_arms, jnp.int32)
        return EliminationState(counts=zeros, left=zeros == 0, pulls=zeros, ones=zeros, epoch=jnp.int32(1))

    def act(state, round_, z):
        return lanes.argmin(masked(state.left, state.pulls, jnp.int32(_NEVER)))[None]

    def update(state, t, action, reward, z):
        remaining = total(state.left)
        pulls = lanes.count_at(state.pulls, action)
        ones = lanes.add_at(state.ones, action, reward[None])
        place = (jnp.minimum(state.epoch, _EPOCHS) - 1) * num_arms + remaining - 1
        length = lanes.take(table, place[None])[0]
        closed = full(masked(state.left, pulls, jnp.int32(_NEVER)), length) & (remaining > 1)
        inverse = 1.0 / central.single(epsilon)
        mean = noisy_mean(ones, z["noise"], length, inverse)
        best = largest(masked(state.left, mean, jnp.float32(-np.inf)))
        log_arms = jnp.log(remaining.astype(jnp.float32) * state.epoch.astype(jnp.float32) ** 2 * horizon)
        left = choose(closed, near(mean, state.left, best, length, log_arms, inverse), state.left)
        return EliminationState(
            counts=lanes.count_at(state.counts, action),
            left=left,
            pulls=choose(closed, jnp.int32(0), pulls),
            ones=choose(closed, jnp.int32(0), ones),
            epoch=state.epoch + closed.astype(jnp.int32),
        )

    return Policy(
        claim=Claim(status="sound", trust="central", relation=ONE_REWARD, sensitivity="1 in one release", epsilon=epsilon),
        device_draws={},
        server_draws={"noise": draws.laplace((num_arms,))},
        init=init,
        act=act,
        report=lambda round_, action, reward, z: reward,
        update=update,
        released=lambda state: (state.left, state.epoch),
        derived={"lengths": lengths},
    )
