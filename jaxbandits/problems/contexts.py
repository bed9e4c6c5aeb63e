"""Decision sets of contextual bandits: the features of the actions that a round offers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws, PyTree
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.engine.fence import fence
from jaxbandits.recipes import Recipe, reduced, remembered


class Contexts(NamedTuple):
    """A law of decision sets. Your own is a Contexts with these fields.

    Attributes:
      num_actions: actions of a round.
      dim: features of an action.
      setup_draws: what setup needs, drawn once for each seed.
      draws: what a round needs.
      setup: setup draws -> what the rounds of this seed have in common.
      at: (that, t, draws) -> features, float32 [num_actions, dim].
      recipe: for pickling; leave it out.
    """

    num_actions: int
    dim: int
    setup_draws: Draws
    draws: Draws
    setup: Callable[[Mapping[str, Array]], PyTree]
    at: Callable[[PyTree, Array, Mapping[str, Array]], Array]
    recipe: Recipe | None = None

    def __reduce__(self):
        """Pickled by its recipe."""
        return reduced(self)


MOST_ACTIONS = 4096
"""The most actions of a round."""


def check_contexts(contexts: Any) -> Contexts:
    """The contexts, if they are Contexts.

    Args:
      contexts: what a user gave for them.

    Raises:
      ValueError: if not, or if a size is out of range.
    """
    if not isinstance(contexts, Contexts):
        raise ValueError(f"contexts must be Contexts, such as contexts.sphere(dim=2, num_actions=10); got {contexts!r}")
    validate.size("contexts.num_actions", contexts.num_actions, 1, MOST_ACTIONS)
    validate.size("contexts.dim", contexts.dim, 1, linalg.MOST_DIM)
    return contexts


@remembered
def sphere(*, dim: int, num_actions: int = 10) -> Contexts:
    """Every action anew in every round, uniform on the unit sphere.

    Args:
      dim: number of features.
      num_actions: number of actions.

    Raises:
      ValueError: if a size is out of range.
    """
    dim = validate.size("dim", dim, 1, linalg.MOST_DIM)
    num_actions = validate.size("num_actions", num_actions, 1, MOST_ACTIONS)
    return Contexts(
        num_actions=num_actions,
        dim=dim,
        setup_draws={},
        draws={"features": draws.normal((num_actions, dim))},
        setup=lambda z: (),
        at=lambda common, t, z: linalg.rows_normalised(z["features"]),
    )


@remembered
def fixed(features: Any) -> Contexts:
    """The same actions in every round, in an order drawn for each seed.

    Args:
      features: [num_actions, dim], of length at most 1.

    Raises:
      ValueError: if they are not.
    """
    table = validate.matrix("features", features, "an array [num_actions, dim] of finite numbers").astype(np.float32)
    if (long := float(np.linalg.norm(table, axis=1).max(initial=0.0))) > 1 + 1e-6:
        raise ValueError(f"features must be rows of length at most 1; got {validate.short(features)}, with one of length {long:g}")
    num_actions = validate.size("the number of rows of features", len(table), 1, MOST_ACTIONS)

    def setup(z):
        order = lanes.shuffle(z["order"])
        return jnp.stack([lanes.take(jnp.asarray(column), order) for column in table.T], axis=1)

    return Contexts(
        num_actions=num_actions,
        dim=validate.size("the length of rows of features", table.shape[1], 1, linalg.MOST_DIM),
        setup_draws={"order": draws.bits((2, num_actions))},
        draws={},
        setup=setup,
        at=lambda common, t, z: common,
    )


@remembered
def of_users(users: np.ndarray, items: np.ndarray) -> Contexts:
    """A user, one of all with equal chances, and the same items: features are products of the coordinates of both.

    Args:
      users: [num_users, dim].
      items: [num_items, dim].

    Raises:
      ValueError: if they are not.
    """
    mine = validate.matrix("users", users, "an array [num_users, dim] of finite numbers").astype(np.float32)
    theirs = validate.matrix("items", items, "an array [num_items, dim] of finite numbers").astype(np.float32)
    if theirs.shape[1] != mine.shape[1]:
        raise ValueError(f"items must have as many columns as users, {mine.shape[1]}; got an array of shape {theirs.shape}")
    count = len(mine)

    @lanes.lanes_last
    def features(user):
        return fence(lambda user: user[None] * theirs.reshape(*theirs.shape, *(1,) * (user.ndim - 1)))(user)

    def at(common, t, z):
        return features(linalg.row(jnp.asarray(mine), jnp.minimum((z["user"] * count).astype(jnp.int32), count - 1)))

    return Contexts(num_actions=len(theirs), dim=mine.shape[1], setup_draws={}, draws={"user": draws.uniform()}, setup=lambda z: (), at=at)
