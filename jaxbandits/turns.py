"""Stretches of slots in which agents pull arms in turn: what a federated bandit and its algorithms say to each other."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits.engine import lanes


class Pulls(NamedTuple):
    """A stretch of slots: all agents pull the same arms in turn, or each one its own.

    Attributes:
      slots: int32 (), how long.
      number: int32 (), which of the draws it gets.
      arms: bool [num_arms], which arms are pulled in turn, from the lowest, by all agents at once.
      waiting: bool (), whether each agent pulls its own arm instead, of which nothing is kept.
      own: int32 [num_agents], that arm.
    """

    slots: Array
    number: Array
    arms: Array
    waiting: Array
    own: Array


@lanes.lanes_last
def _place(arms: Array) -> Array:
    """How many of the arms in turn come before each, int32 [num_arms]."""
    return jnp.cumsum(arms.astype(jnp.int32), axis=0) - arms.astype(jnp.int32)


_number = lanes.lanes_last(lambda arms: jnp.sum(arms, axis=0, dtype=jnp.int32))


@lanes.elementwise
def _times_pulled(arms, place, number, slots):
    number = jnp.maximum(number, 1)
    return jnp.where(arms & (slots > place), (slots - place - 1) // number + 1, 0)


def times_pulled(stretch: Pulls, slots: Array) -> Array:
    """How often each arm is pulled by each agent in the first slots of a stretch of arms in turn, int32 [num_arms]."""
    return _times_pulled(stretch.arms, _place(stretch.arms), _number(stretch.arms), slots)


@lanes.elementwise
def _chosen(arms, place, turn):
    return jnp.where(arms & (place == turn), 1, 0)


_where_one = lanes.lanes_last(lambda hit: jnp.sum(hit * jnp.arange(hit.shape[0]).reshape((-1,) + (1,) * (hit.ndim - 1)), axis=0))
_remainder = lanes.elementwise(lambda slot, number: slot % jnp.maximum(number, 1))
_of_all = lanes.elementwise(lambda waiting, own, arm: jnp.where(waiting, own, arm))


def arm_in_turn(arms: Array, slot: Array) -> Array:
    """The arm that is pulled in a slot of a stretch, from 0, int32 ()."""
    return _where_one(_chosen(arms, _place(arms), _remainder(slot, _number(arms))))


def pulled(stretch: Pulls, slot: Array) -> Array:
    """The arm of each agent in a slot of a stretch, from 0, int32 [num_agents]."""
    return _of_all(stretch.waiting, stretch.own, arm_in_turn(stretch.arms, slot))
