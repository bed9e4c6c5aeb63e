"""The cascading bandit: a user scans a list from the top and clicks the first attractive item.

Kveton, Szepesvari, Wen, Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model, 2015; and Cascading Bandit under
Differential Privacy, arXiv 2105.11126.

Item e attracts a user with probability w(e), independently over items and users. The list (a_1, ..., a_K) of distinct items
earns 1 if some item attracts, so 1 - prod_k (1 - w(a_k)) in expectation, whatever the order. The feedback is the position of
the first attractive item, int32 (), counted from 0, and K if there is none; nothing is learnt of the items behind it.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Draws, Problem, Round
from jaxbandits.engine import draws, lanes


class CascadeInstance(NamedTuple):
    """The attraction probabilities one seed meets.

    The policy's item i is item ``labels[i]`` of the problem, in an order drawn for each seed. So the order in which the means
    were given carries no information, and a policy that breaks ties by number does not favour good items.

    Attributes:
      labels: [num_items], int32.
      skip: [num_items], float32: 1 - w, the probability that a user passes over the policy's item i.
      worst_best: (), float32: the largest skip probability in a best list.
      num_better: (), int32: items with a strictly smaller one.
      best: (), float32: the probability that a user passes over a best list.
    """

    labels: Array
    skip: Array
    worst_best: Array
    num_better: Array
    best: Array


def _instance(means: Array, list_len: int, z) -> CascadeInstance:
    labels = lanes.shuffle(z["order"])
    skip = lanes.take(1.0 - means, labels)
    ascending = jnp.sort(1.0 - means)  # of what lanes may share, so once for all of them
    worst_best = ascending[list_len - 1]
    return CascadeInstance(
        labels=labels,
        skip=skip,
        worst_best=worst_best,
        num_better=jnp.sum(skip < worst_best, dtype=jnp.int32),
        best=jnp.prod(ascending[:list_len]),
    )


def _preview(instance: CascadeInstance, z) -> Array:
    """One user's attraction to every item, int32 [num_items]."""
    return (z["preview"] >= instance.skip).astype(jnp.int32)


def _respond(instance: CascadeInstance, round_: Round, action: Array, z) -> Array:
    """The position of the click, from 0, or list_len if there is none; int32 ()."""
    skip = lanes.take(instance.skip, action)
    passed, click = jnp.ones_like(skip[0]), jnp.zeros_like(action[0])
    for k in range(action.shape[0]):  # the click is past position k with probability prod_{j<=k} (1 - w(a_j))
        passed = passed * skip[k]
        click = click + (z["click"] < passed).astype(jnp.int32)
    return click


def _regret(instance: CascadeInstance, round_: Round, action: Array) -> Array:
    skip = lanes.take(instance.skip, action)
    passed, better, as_good = jnp.ones_like(skip[0]), jnp.zeros_like(action[0]), skip[0] <= instance.worst_best
    for k in range(action.shape[0]):
        passed = passed * skip[k]
        better = better + (skip[k] < instance.worst_best).astype(jnp.int32)
        as_good = as_good & (skip[k] <= instance.worst_best)
    # Exactly 0 for a best list: the rounding of a product in another order would add up over a long horizon.
    optimal = as_good & (better == instance.num_better)
    return jnp.where(optimal, 0.0, jnp.maximum(passed - instance.best, 0.0))


def _legal(instance: CascadeInstance, action: Array) -> Array:
    """Whether the list holds different items of the problem."""
    num_items = instance.skip.shape[0]
    legal = (action[0] >= 0) & (action[0] < num_items)
    for k in range(1, action.shape[0]):
        legal = legal & (action[k] >= 0) & (action[k] < num_items) & jnp.all(action[k] != action[:k])
    return legal


def _problem(num_items: int, list_len: int, setup_draws: Draws, setup) -> Problem:
    return Problem(
        sizes={"num_items": num_items, "list_len": list_len},
        setup_draws={"order": draws.bits((2, num_items)), "preview": draws.uniform((num_items,)), **setup_draws},
        draws={"click": draws.uniform()},
        setup=setup,
        preview=_preview,
        context=lambda instance, t, z: (),
        respond=_respond,
        regret=_regret,
        legal=_legal,
    )


def cascade(*, means: ArrayLike, list_len: int) -> Problem:
    """A cascading bandit with given attraction probabilities.

    Args:
      means: [num_items], attraction probabilities in [0, 1]. Their order does not matter.
      list_len: length of the displayed list, from 1 to num_items.

    Raises:
      ValueError: if a mean lies outside [0, 1] or list_len is out of range.
    """
    validate.probabilities("means", means)
    num_items = np.shape(means)[0]
    num_items, list_len = validate.list_sizes(num_items, list_len)

    def setup(z):
        return _instance(jnp.asarray(means, jnp.float32), list_len, z)

    return _problem(num_items, list_len, {}, setup)


def uniform_cascade(*, num_items: int, list_len: int) -> Problem:
    """A cascading bandit whose attraction probabilities are uniform on (0, 1), drawn anew for each seed.

    Args:
      num_items: number of items, at least 1.
      list_len: length of the displayed list, from 1 to num_items.

    Raises:
      ValueError: if a size is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    return _problem(num_items, list_len, {"means": draws.uniform((num_items,))}, lambda z: _instance(z["means"], list_len, z))
