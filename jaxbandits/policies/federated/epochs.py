"""The course of a federated algorithm: explore in epochs, communicate, wait where it takes time, drop arms.

In an epoch all agents pull the arms that are left in turn, equally often. Then each sends noisy means. While these travel over links,
agents pull their own best arms and keep nothing of it. When all is known, the arms whose mean over the agents lies too far below the
largest are dropped. Everything is a function of the sums of rewards, so an epoch can be played at once; ``slot_by_slot`` plays the same
algorithm a slot at a time.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Claim, Policy, PyTree, StretchPolicy
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.theory.federated_epochs import MOST_EPOCHS
from jaxbandits.turns import Pulls, arm_in_turn, pulled

_FOREVER = np.int32(validate.MOST_ROUNDS)


class FederatedState(NamedTuple):
    """What the agents hold between two stretches, and what they have told."""

    left: Array  # [num_arms], bool: arms that are left
    epoch: Array  # (), int32, from 1: the epoch that runs, or after which agents wait
    waiting: Array  # (), bool: whether means are on their way
    pulls: Array  # (), int32: of each arm that is left by each agent, in the epochs that count
    ones: Array  # [num_agents, num_arms], int32: rewards of these
    noise: Array  # [num_noises, num_arms], float32: noise on the sums of these
    own: Array  # [num_agents], int32: the arm that each agent pulls while it waits
    communications: Array  # (), int32: rounds of communication that are over
    slots: PyTree = ()  # the epoch so far, slot by slot


class Slots(NamedTuple):
    """A stretch that is not over yet."""

    slot: Array  # (), int32, from 0: which is next
    ones: Array  # [num_agents, num_arms], int32: rewards in it
    noise: Array  # [num_noises, num_arms], float32, standard: that of the newest slot of each arm


class Rules(NamedTuple):
    """What tells federated algorithms apart.

    Attributes:
      num_arms: number of arms.
      num_agents: number of agents.
      waits: whether means travel over links.
      accumulate: whether the means are over all epochs, or over the newest.
      private_wait: whether agents that wait choose by their own noisy means, not by their raw ones.
      num_noises: noises in a mean over the agents, one for each agent or a single one.
      lengths: [MOST_EPOCHS + 1], pulls of an arm in each epoch; 0 where none is left.
      radii: [MOST_EPOCHS + 1], C(r).
      scale: of a noise, on the sum of an epoch's rewards.
      participants: (), agents that send means, the first of them.
      delay: (), slots that the means travel.
    """

    num_arms: int
    num_agents: int
    waits: bool
    accumulate: bool
    private_wait: bool
    num_noises: int
    lengths: Array
    radii: Array
    scale: Array
    participants: Array
    delay: Array


_count = lanes.lanes_last(lambda left: jnp.sum(left, axis=0, dtype=jnp.int32))
_largest = lanes.lanes_last(lambda values: jnp.max(values, axis=0))
_times = lanes.elementwise(lambda length, number: jnp.where(length > _FOREVER // number, _FOREVER, length * number))
_choose = lanes.elementwise(lambda condition, new, old: jnp.where(condition, new, old))
_noisy = lanes.elementwise(lambda ones, noise: ones.astype(jnp.float32) + noise)
_is = lanes.elementwise(lambda a, b: a == b)
_less = lanes.elementwise(lambda a, b: a < b)
_scaled = lanes.elementwise(lambda noise, scale: noise * scale)


@lanes.lanes_last
def _best_arms(values: Array) -> Array:
    """The arm of the largest value of each agent, the lowest of several. values: [num_agents, num_arms]."""
    return jnp.argmax(values, axis=1).astype(jnp.int32)


@lanes.lanes_last
def _sums(ones: Array, participants: Array) -> Array:
    """The sum over the agents that take part, as two numbers [2, num_arms] whose sum it is: whole numbers, whatever their order."""
    agent = jnp.arange(ones.shape[0]).reshape((-1,) + (1,) * (ones.ndim - 1))
    some = jnp.where(agent < participants[None, None].astype(jnp.int32), ones, 0)
    # Two parts, since 4096 agents may have 2^31 rewards each.
    high, low = some >> 12, some & 0xFFF
    return jnp.stack([jnp.sum(high, axis=0), jnp.sum(low, axis=0)]).astype(jnp.float32)


@lanes.elementwise
def _mean(high, low, noise, pulls, participants):
    return ((high * 4096.0 + low) + noise) / (jnp.maximum(pulls, 1).astype(jnp.float32) * participants)


def means(rules: Rules, state: FederatedState) -> Array:
    """The mean of each arm over the agents, as everybody knows it when communication is over, float32 [num_arms]."""
    high, low = _sums(state.ones, rules.participants)
    return _mean(high, low, linalg.total(_taking_part(rules, state.noise)), state.pulls, rules.participants)


def _taking_part(rules: Rules, noise: Array) -> Array:
    if rules.num_noises == 1:
        return noise
    agent = jnp.arange(rules.num_noises, dtype=jnp.float32)[:, None]
    return _choose(_less(agent, rules.participants), noise, jnp.float32(0.0))


@lanes.elementwise
def _near(mean, best, left, radius):
    return left & (best - mean <= 2.0 * radius)


def _start(rules: Rules) -> FederatedState:
    zero = jnp.int32(0)
    return FederatedState(
        left=jnp.ones(rules.num_arms, bool),
        epoch=jnp.int32(1),
        waiting=jnp.bool_(False),
        pulls=zero,
        ones=jnp.zeros((rules.num_agents, rules.num_arms), jnp.int32),
        noise=jnp.zeros((rules.num_noises, rules.num_arms), jnp.float32),
        own=jnp.zeros(rules.num_agents, jnp.int32),
        communications=zero,
    )


def _length(rules: Rules, epoch: Array) -> Array:
    place = jnp.minimum(epoch, MOST_EPOCHS + 1) - 1
    return lanes.take(rules.lengths, place[None])[0].astype(jnp.int32)


@lanes.elementwise
def _slots(waiting, exploring, delay, explore):
    onwards = jnp.where(exploring, jnp.maximum(explore, 1), _FOREVER)
    return jnp.where(waiting, delay.astype(jnp.int32), onwards)


def _plan(rules: Rules, state: FederatedState) -> Pulls:
    number = _count(state.left)
    explore = _times(_length(rules, state.epoch), number)
    slots = _slots(state.waiting, number > 1, rules.delay, explore)
    return Pulls(slots=slots, number=state.epoch, arms=state.left, waiting=state.waiting, own=state.own)


def _explored(rules: Rules, state: FederatedState, ones: Array, noise: Array) -> FederatedState:
    """An epoch is over: the agents add it to what they hold."""
    length = _length(rules, state.epoch)
    noise = _scaled(noise, rules.scale)
    if rules.accumulate:
        ones, noise, length = state.ones + ones, state.noise + noise, state.pulls + length
    own = state.own
    if rules.waits:
        seen = _noisy(ones, noise) if rules.private_wait else ones
        least = jnp.float32(-np.inf) if rules.private_wait else jnp.int32(-1)
        own = _best_arms(_choose(state.left[None], seen, least))
    return state._replace(pulls=length, ones=ones, noise=noise, own=own)


def _decided(rules: Rules, state: FederatedState) -> FederatedState:
    """Communication is over: arms are dropped, all but the best if no more communication is allowed."""
    mean = _choose(state.left, means(rules, state), jnp.float32(-np.inf))
    radius = lanes.take(rules.radii, jnp.minimum(state.epoch, MOST_EPOCHS)[None] - 1)[0]
    left = _near(mean, _largest(mean), state.left, radius)
    best = _is(jnp.arange(rules.num_arms, dtype=jnp.int32), lanes.top_k(mean, 1)[0])
    last = _length(rules, state.epoch + 1) == 0
    return state._replace(
        left=_choose(last, best, left),
        epoch=state.epoch + 1,
        waiting=jnp.zeros_like(state.waiting),
        communications=state.communications + 1,
    )


def _pick(condition: Array, new: FederatedState, old: FederatedState) -> FederatedState:
    return FederatedState(*(_choose(condition, a, b) for a, b in zip(new[:-1], old[:-1], strict=True)), slots=old.slots)


def _after(rules: Rules, state: FederatedState, ones: Array, noise: Array) -> FederatedState:
    """The state after a stretch: an epoch, or a wait."""
    explored = _explored(rules, state, ones, noise)
    if not rules.waits:
        return _decided(rules, explored)
    return _pick(state.waiting, _decided(rules, state), explored._replace(waiting=jnp.ones_like(state.waiting)))


_OF_LANE = ("lengths", "radii", "scale", "participants", "delay")


def slot_by_slot(rules: Rules) -> tuple[Callable, Callable, Callable]:
    """``init``, ``act`` and ``update`` of the same algorithm a slot at a time."""
    blank = Slots(
        slot=jnp.int32(0),
        ones=jnp.zeros((rules.num_agents, rules.num_arms), jnp.int32),
        noise=jnp.zeros((rules.num_noises, rules.num_arms), jnp.float32),
    )
    gained = lanes.elementwise(lambda hit, waiting, rewards, ones: jnp.where(hit & ~waiting, ones + rewards, ones))

    def close(state: FederatedState, *of_lane: Array) -> FederatedState:
        own = rules._replace(**dict(zip(_OF_LANE, of_lane, strict=True)))
        return _after(own, state, state.slots.ones, state.slots.noise)._replace(slots=blank)

    def act(state, round_, z):
        return pulled(_plan(rules, state), state.slots.slot)

    def update(state, t, action, rewards, z):
        stretch = _plan(rules, state)
        here = _is(jnp.arange(rules.num_arms, dtype=jnp.int32), arm_in_turn(state.left, state.slots.slot))[None]
        slots = Slots(
            slot=state.slots.slot + 1,
            ones=gained(here, state.waiting, rewards[:, None], state.slots.ones),
            noise=_choose(here, z["noise"][:, None], state.slots.noise),
        )
        of_lane = (getattr(rules, name) for name in _OF_LANE)
        return lanes.where_any(slots.slot == stretch.slots, close, state._replace(slots=slots), *of_lane)

    return lambda preview: _start(rules)._replace(slots=blank), act, update


def policy(rules: Rules, claim: Claim, derived: dict) -> Policy:
    """The policy of some rules, both ways."""
    init, act, update = slot_by_slot(rules)
    return Policy(
        claim=claim,
        device_draws={},
        server_draws={"noise": draws.laplace((rules.num_noises,))},
        init=init,
        act=act,
        report=lambda round_, action, rewards, z: rewards,
        update=update,
        released=lambda state: (state.communications, _noisy_uploads(rules, state)),
        derived=derived,
        stretches=StretchPolicy(
            draws={"noise": draws.laplace((rules.num_noises, rules.num_arms))},
            init=lambda preview: _start(rules),
            plan=lambda state: _plan(rules, state),
            update=lambda state, stretch, ones, z: _after(rules, state, ones, z["noise"]),
        ),
    )


def first_epoch(policy: Policy) -> tuple[int, int]:
    """The last slot of the first epoch, and that in which its means have arrived: ``present`` and ``horizon`` of an audit.

    Before it nothing is shown. A first epoch is short for agents that plan for a short run and few rounds of communication, such as
    ``horizon=400, num_comm_rounds=1, smallest_gap=0.9``; fixed in the policy, they are not those of the audit.

    Args:
      policy: with all arguments, of this family.

    Raises:
      ValueError: if it has no epochs.
    """
    if not isinstance(policy, Policy) or "course" not in policy.derived or policy.stretches is None:
        raise ValueError(f"policy must be one of the federated algorithms with epochs; got {policy!r}")
    slots, course = policy.stretches.plan(policy.stretches.init(())).slots, policy.derived["course"]
    return int(slots), int(slots) + int(course[-2])


def _noisy_uploads(rules: Rules, state: FederatedState) -> Array:
    """What each agent has sent, times its number of pulls: sums with noise; of a secure sum, the sum alone."""
    if rules.num_noises < rules.num_agents:
        high, low = _sums(state.ones, rules.participants)
        return _added(high * 4096.0, low, state.noise[0])
    return _taking_part(rules, _noisy(state.ones, state.noise))


_added = lanes.elementwise(lambda high, low, noise: high + low + noise)
