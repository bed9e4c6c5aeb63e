"""Super arms that are sets: any of a size, or one arm of each group."""

import functools
from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.oracles.interface import TIES, Oracle, all_different, sum_of_means


def _largest(list_len: int, weights: Array, z: Mapping[str, Array] | None = None) -> Array:
    """Without draws for ties: a problem relabels arms that may be renamed."""
    return lanes.top_k(weights, list_len)


def _whole(num_base_arms: int, super_arm: Array) -> Array:
    return all_different(super_arm, num_base_arms) & jnp.all(super_arm < num_base_arms)


def _some_attracts(values: Array, super_arm: Array) -> Array:
    """1 - prod (1 - u), values above 1 read as 1."""
    return 1.0 - jnp.prod(1.0 - jnp.clip(values, 0.0, 1.0), axis=0)


def _sets_of_one_size(num_base_arms, list_len, reward) -> Oracle:
    num_base_arms = validate.size("num_base_arms", num_base_arms, 1, validate.MOST_ITEMS)
    list_len = validate.size("list_len", list_len, 1, num_base_arms)
    exact = functools.partial(_largest, list_len)
    return Oracle(
        num_base_arms=num_base_arms,
        list_len=list_len,
        solve=exact,
        exact=exact,
        reward=reward,
        legal=functools.partial(_whole, num_base_arms),
        smoothness=float(list_len),
        exchangeable=True,
    )


def top_k(*, num_base_arms: int, list_len: int) -> Oracle:
    """All sets of list_len arms; a set earns the sum of its means. The largest weights in decreasing order, ties to the lowest number.

    Args:
      num_base_arms: m, number of base arms.
      list_len: K, size of a set, from 1 to num_base_arms.

    Raises:
      ValueError: if a size is out of range.
    """
    return _sets_of_one_size(num_base_arms, list_len, functools.partial(sum_of_means, num_base_arms))


def cascade(*, num_base_arms: int, list_len: int) -> Oracle:
    """All sets of list_len arms; a set earns 1 - prod(1 - mean): the cascade's reward, every arm observed. Solved as ``top_k``.

    Args:
      num_base_arms: m, number of base arms.
      list_len: K, size of a set, from 1 to num_base_arms.

    Raises:
      ValueError: if a size is out of range.
    """
    return _sets_of_one_size(num_base_arms, list_len, _some_attracts)


Members = tuple[tuple[int, ...], ...]


def _best_of_each(members: Members, weights: Array) -> Array:
    return _first_of_the_best(members, weights, -jnp.arange(weights.shape[0], dtype=jnp.float32))


def _any_best_of_each(members: Members, weights: Array, z: Mapping[str, Array]) -> Array:
    return _first_of_the_best(members, weights, z[TIES])


def _first_of_the_best(members: Members, weights: Array, rank: Array) -> Array:
    """Of each group the arm of the largest weight, of several that of the largest rank."""
    chosen = []
    for group in members:
        arms = jnp.asarray(group, jnp.int32)
        weight = lanes.take(weights, arms)
        best = jnp.where(weight == jnp.max(weight), lanes.take(rank, arms), -jnp.inf)
        chosen.append(lanes.take(arms, lanes.top_k(best, 1)))
    return jnp.concatenate(chosen)


def _one_of_each(groups: tuple[int, ...], super_arm: Array) -> Array:
    inside = (super_arm >= 0) & (super_arm < len(groups))
    group = lanes.take(jnp.asarray(groups, jnp.int32), jnp.clip(super_arm, 0, len(groups) - 1))
    return all_different(super_arm, len(groups)) & jnp.all(inside) & jnp.all(jnp.sort(group) == jnp.arange(super_arm.shape[0]))


def partition(*, groups: Sequence[int]) -> Oracle:
    """One arm of each group; a super arm earns the sum of its means. The largest weight of each group, ties at random.

    Args:
      groups: [num_base_arms], the group of each base arm: 0, 1, .., each with at least one arm.

    Raises:
      ValueError: if a group is missing.
    """
    try:
        numbers = np.asarray(groups)
    except ValueError:  # ragged
        numbers = np.asarray(None)
    usable = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
    if not usable or numbers.max() >= len(numbers) or len(np.unique(numbers)) != numbers.max() + 1 or numbers.min() < 0:
        raise ValueError(f"groups must be integers that use each of 0, 1, .., up to the largest; got {groups!r}")
    validate.size("the length of groups", len(numbers), 1, validate.MOST_ITEMS)
    each = tuple(int(g) for g in numbers)
    members = tuple(tuple(arm for arm, g in enumerate(each) if g == group) for group in range(max(each) + 1))
    exact = functools.partial(_best_of_each, members)
    return Oracle(
        num_base_arms=len(each),
        list_len=len(members),
        solve=functools.partial(_any_best_of_each, members),
        exact=exact,
        reward=functools.partial(sum_of_means, len(each)),
        legal=functools.partial(_one_of_each, each),
        smoothness=float(len(members)),
        draws={TIES: draws.uniform((len(each),))},
    )
