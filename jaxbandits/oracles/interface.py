"""What an oracle is: from a weight for each base arm to the best super arm, a set of base arms that may be played together.

A super arm is int32 [list_len], its base arms in any order. A place without an arm holds num_base_arms, so that super arms of
different sizes have one shape; helpers here read and skip such places.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws
from jaxbandits.engine import lanes


class Oracle(NamedTuple):
    """Super arms, what they earn, and how one is chosen. Policies call ``solve``; problems call the rest.

    A super arm is int32 [list_len]: its base arms, each once, in any order, and num_base_arms in a place without one. Policies may
    put another of its arms in front.

    Attributes:
      num_base_arms: m, number of base arms.
      list_len: K, the most base arms of a super arm.
      solve: (weights float32 [m], draws) -> super arm, of at least one arm, that earns most if the weights were the means. Weights are
        optimistic indices: they may be above 1, where they count as 1 or as they are, as suits the reward, below 0, and +inf for an arm
        that is to come before all others, as far as super arms allow. A finite one is up to 1e30 / K in size.
      exact: weights -> super arm of the largest reward, for weights in [0, 1].
      reward: (means of the arms float32 [K], super arm) -> expected reward, float32 (). Not smaller for larger means. What stands for
        the mean of a place without an arm must not matter.
      legal: super arm -> bool (), whether it is one; that its arms are different and in range is looked at besides.
      smoothness: B: rewards differ by at most B times the largest difference of the means.
      exchangeable: whether any renaming of the base arms makes super arms of super arms, of the same reward.
      alpha, beta: ``solve`` earns at least alpha times the optimum, with probability at least beta.
      draws: what ``solve`` needs in each round, by name.
    """

    num_base_arms: int
    list_len: int
    solve: Callable[[Array, Mapping[str, Array]], Array]
    exact: Callable[[Array], Array]
    reward: Callable[[Array, Array], Array]
    legal: Callable[[Array], Array]
    smoothness: float
    exchangeable: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    draws: Draws = {}  # noqa: RUF012  read only, and a mapping proxy could not be pickled


def check(oracle: Any) -> Oracle:
    """The oracle, if it is one.

    Args:
      oracle: what a user gave for it.

    Raises:
      ValueError: if not, or if a field has not the right kind or range.
    """
    if not isinstance(oracle, Oracle):
        raise ValueError(f"oracle must be an Oracle, such as oracles.top_k(num_base_arms=20, list_len=4); got {oracle!r}")
    validate.size("oracle.num_base_arms", oracle.num_base_arms, 1, validate.MOST_ITEMS)
    validate.size("oracle.list_len", oracle.list_len, 1, oracle.num_base_arms)
    for field in ("solve", "exact", "reward", "legal"):
        validate.callable_(f"oracle.{field}", getattr(oracle, field), "a function")
    validate.positive("oracle.smoothness", oracle.smoothness)
    for field in ("alpha", "beta"):
        validate.scalar(f"oracle.{field}", getattr(oracle, field), "above 0 and at most 1", lambda x: 0 < x <= 1)
    return oracle


def present(super_arm: Array, num_base_arms: int) -> Array:
    """Which places have an arm, bool [list_len]."""
    return super_arm < num_base_arms


def read(table: Array, super_arm: Array) -> Array:
    """The entries of the arms of a super arm; for a place without an arm that of the last arm. table: [num_base_arms]."""
    return lanes.take(table, jnp.minimum(super_arm, table.shape[0] - 1))


TIES = "oracle's ties"
"""The name of the draws that break ties, uniform [num_base_arms], for arms that cannot be renamed."""


def add_up(values: Array, there: Array) -> Array:
    """The sum of those numbers in [0, 1] that are there, float32 (). Exact in fixed point, so their order does not matter."""
    places = min(24, 30 - (values.shape[0] - 1).bit_length())  # as many binary ones as an int32 sum has room for
    whole = jnp.where(there, jnp.round(jnp.clip(values, 0.0, 1.0) * np.float32(2**places)), 0.0).astype(jnp.int32)
    return jnp.sum(whole, axis=0, dtype=jnp.int32).astype(jnp.float32) * np.float32(2.0**-places)


def sum_of_means(num_base_arms: int, values: Array, super_arm: Array) -> Array:
    """``reward`` of a super arm that earns the sum of its means."""
    return add_up(values, present(super_arm, num_base_arms))


@lanes.elementwise
def _replace(weights: Array, large: Array) -> Array:
    return jnp.where(weights == jnp.inf, large, weights)


def finite(weights: Array, list_len: int) -> Array:
    """The weights, +inf as a number so large that one more such arm outweighs what any other arms can gain."""
    largest = jnp.max(jnp.where(jnp.isinf(weights), 0.0, jnp.abs(weights)))
    return _replace(weights, 4.0 * list_len * (1.0 + largest))


def all_different(super_arm: Array, num_base_arms: int) -> Array:
    """Whether no arm is there twice, none is below 0, and there is one at all, bool ()."""
    empty = num_base_arms + jnp.arange(super_arm.shape[0], dtype=jnp.int32)
    there = present(super_arm, num_base_arms)
    ordered = jnp.sort(jnp.where(there, super_arm, empty))
    return jnp.all(super_arm >= 0) & jnp.all(ordered[1:] != ordered[:-1]) & jnp.any(there)


def pairs_of_nodes(edges: Any, what: str) -> list[tuple[Hashable, Hashable]]:
    """The edges of a graph as a list of pairs.

    Raises:
      ValueError: if they are not, or in no order: the order of a set of names differs from process to process.
    """
    try:
        pairs = None if isinstance(edges, set | frozenset | str | bytes) else [(first, second) for first, second in edges]
        hash(tuple(pairs or ()))
    except (TypeError, ValueError):
        pairs = None
    if not pairs:
        raise ValueError(f"edges must be a sequence of at least one pair {what} of hashable nodes; got {edges!r}")
    return pairs
