"""Learning from all positions under local privacy: R, O, G and Lap.

The user sends one private message about the position of the click, of fixed shape: k-RR, OUE, or a noisy one-hot vector. It reads as
unbiased estimates z_k of "clicked at k", and so o_k = 1 - z_1 - .. - z_(k-1) of "k was examined". Every displayed item adds those of
its position to X and O, whatever was examined, so that how often it was displayed, n, is free of data. E[z_k - w o_k | past] = 0 for an
item of attraction w, so X / O estimates w.

Proposals of this project; no paper prints them, and no regret bound is proved. Learning from the first position alone is usually
better: the item being explored is at the front, and the further down, the noisier o_k. An item that may have any index comes first, among
those the one displayed least often; ties of indices capped at 1 are broken at random in each round, other ties go to the lowest number,
which the problem assigns at random for each seed.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Draws, Policy, PyTree
from jaxbandits.engine import draws, lanes, sums
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.categorical import (
    Categorical,
    noisy_one_hot_gaussian,
    noisy_one_hot_laplace,
    one_hot_sigma,
    randomised_response,
    unary_encoding,
)
from jaxbandits.mechanisms.randomiser import debias_factor
from jaxbandits.policies import central
from jaxbandits.policies import index as indices


class Read(NamedTuple):
    """What was read about every item, or, of sums, their parts."""

    clicked: PyTree  # X: estimates of a click at the item's position
    examined: PyTree  # O: estimates that the position was examined
    above: PyTree  # H: positions above it


class AllState(NamedTuple):
    """Sums over the displays of every item."""

    counts: Array  # [num_items], int32: n, the displays
    recent: Read  # [num_items], float32: since the last settling
    folded: Read  # of Sum, [num_items]: before it


def _zero(num_items: int) -> AllState:
    nothing = jnp.zeros(num_items, jnp.float32)
    return AllState(
        counts=jnp.zeros(num_items, jnp.int32),
        recent=Read(nothing, nothing, nothing),
        folded=Read(*(sums.zero((num_items,)) for _ in Read._fields)),
    )


def _totals(state: AllState) -> Read:
    return Read(*(kept.high + new for kept, new in zip(state.folded, state.recent, strict=True)))


def _settle(state: AllState) -> AllState:
    folded = Read(*(sums.add(kept, new) for kept, new in zip(state.folded, state.recent, strict=True)))
    return state._replace(recent=jax.tree.map(jnp.zeros_like, state.recent), folded=folded)


@lanes.lanes_last
def _examined(clicked: Array) -> Array:
    """1 less what is read of the positions above; float32 [list_len]."""
    found = [jnp.ones_like(clicked[0])]
    for value in clicked[:-1]:
        found.append(found[-1] - value)
    return jnp.stack(found)


Index = Callable[[Read, Array, Array, Array, Array], Array]
"""(sums, displays, 1 / sqrt(displays), log t, spread) -> index, elementwise over items; displays float32, at least 1.

The spread is of what is read of one message: a variance proxy, or a scale.
"""


def _policy(
    *, num_items: int, list_len: int, message: Categorical, index: Index, spread: ArrayLike, ratio: bool, at_random: bool
) -> Policy:
    """``ratio``: the index divides by the examined sum, and may be anything while that is not positive."""

    @lanes.elementwise
    def upper(state, log_t, spread):
        read, n = _totals(state), jnp.maximum(state.counts, 1).astype(jnp.float32)
        known = (state.counts > 0) & (read.examined > 0.0) if ratio else state.counts > 0
        safe = read._replace(examined=jnp.where(known, read.examined, 1.0))
        return jnp.where(known, index(safe, n, indices.inverse_root(state.counts), log_t, spread), indices.unseen(state.counts))

    def act(state, round_, z):
        optimistic = upper(state, indices.log_round(round_.t), central.single(spread))
        # Indices capped at 1 are ties for a long time, and which items they explore then matters.
        ranked = lanes.top_k(optimistic if ratio else jnp.where(optimistic == 1.0, 1.0 + z["tie"], optimistic), list_len)
        if list_len == 1:
            return ranked
        first = z["order"] if at_random else -lanes.take(_totals(state).examined, ranked)
        return lanes.take(ranked, lanes.top_k(first, list_len))

    def update(state, t, action, sent, z):
        clicked = message.read(sent)
        new = Read(clicked, _examined(clicked), jnp.arange(list_len, dtype=jnp.float32))
        recent = Read(*(lanes.add_at(table, action, value) for table, value in zip(state.recent, new, strict=True)))
        return state._replace(counts=lanes.count_at(state.counts, action), recent=recent)

    order: Draws = {"order": draws.uniform((list_len,))} if at_random and list_len > 1 else {}
    ties: Draws = {} if ratio else {"tie": draws.uniform((num_items,))}
    return Policy(
        claim=message.claim,
        device_draws=message.draws,
        server_draws={**order, **ties},
        init=lambda preview: _zero(num_items),
        act=act,
        report=lambda round_, action, click, z: message.send(click, z),
        update=update,
        settle=_settle,
    )


def _hoeffding(proxy: Callable[[Read, Array, Array], Array]) -> Index:
    """(X + sqrt(6 V log t)) / O, V = ``proxy`` (sums, n, spread): Hoeffding's bound at 1 - t^-3 for a sub-Gaussian sum of that proxy."""

    def index(read, n, root, log_t, spread):
        return (read.clicked + jnp.sqrt(6.0 * proxy(read, n, spread) * log_t)) / read.examined

    return index


def _self_consistent(list_len: int) -> Index:
    """sup{w <= 1: w O - X <= sqrt(2 l (n / 4 + v (n + w^2 H)))}, l = 4 log t + log K, v the spread; 0 if there is none.

    w O - X less the root is concave in w, so where it is positive at 1 the set is [0, w*], and w* a root of a quadratic equation.
    """
    log_len = math.log(list_len)

    def index(read, n, root, log_t, spread):
        # In units of the spread, so that no square of a large one overflows.
        unit = root * root / jnp.sqrt(0.25 + spread)
        x, o, twice = read.clicked * unit, read.examined * unit, 2.0 * (4.0 * log_t + log_len) * root * root
        a, b = twice, twice * (spread / (0.25 + spread)) * read.above * root * root
        half = jnp.sqrt(jnp.maximum(a * (o * o - b) + b * x * x, 0.0))
        # Two forms of the root, so that neither takes a difference of numbers of one size.
        low = (a - x * x) / jnp.maximum(half - x * o, 1e-30)
        high = (x * o + half) / jnp.maximum(o * o - b, 1e-30)
        inside = jnp.where(x > 0.0, high, jnp.where(x * x > a, 0.0, low))
        return jnp.where(o - x <= jnp.sqrt(a + b), 1.0, jnp.clip(inside, 0.0, 1.0))

    return index


def all_ldp_response_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike) -> Policy:
    """R: UCB1 on the click position by k-ary randomised response, all positions.

    Index (X + sqrt(6 V log t)) / O, V = n / (4 D^2), D = (e^epsilon - 1) / (e^epsilon + K): z_k - w o_k has mean 0 and width 1 / D. The
    list is shown by ascending O, so that what is known least is in front. Sound: epsilon-LDP, one of K + 1 messages. Relation: any two
    attraction vectors of one user, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: privacy level, positive; at inf the position is sent as it is.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    message = randomised_response(num_categories=list_len, epsilon=epsilon)
    shrunk = jnp.exp(-jnp.asarray(epsilon, jnp.float32))
    width = (1.0 + list_len * shrunk) / -jnp.expm1(-jnp.asarray(epsilon, jnp.float32))
    index = _hoeffding(lambda read, n, spread: spread * n)
    return _policy(
        num_items=num_items, list_len=list_len, message=message, index=index, spread=0.25 * width * width, ratio=True, at_random=False
    )


def all_ldp_unary_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike, simple_index: bool = False) -> Policy:
    """O: UCB1 on the click position by optimised unary encoding, all positions.

    Index sup{w <= 1: w O - X <= sqrt(2 l (n / 4 + c^2 (n + w^2 H)))}, l = 4 log t + log K, H the positions above over all displays, c =
    (e^epsilon + 1) / (e^epsilon - 1). The order of the list is drawn at random. Sound: epsilon-LDP, K bits. Relation: any two attraction
    vectors of one user, one round. No regret bound is proved; for K < 3 e^epsilon + 1 ``all_ldp_response_ucb1`` is less noisy.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: privacy level, positive.
      simple_index: the index (X + sqrt(6 V log t)) / O, V = n / 4 + c^2 (n + H), for comparison: its confidence is not proved, as V
        depends on the past, its privacy is.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.flag("simple_index", simple_index)
    message = unary_encoding(num_categories=list_len, epsilon=epsilon)
    index = _self_consistent(list_len)
    if simple_index:
        index = _hoeffding(lambda read, n, spread: (0.25 + spread) * n + spread * read.above)
    return _policy(
        num_items=num_items,
        list_len=list_len,
        message=message,
        index=index,
        spread=debias_factor(epsilon) ** 2,
        ratio=simple_index,
        at_random=True,
    )


def all_ldp_gaussian_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike, delta: ArrayLike, sigma: ArrayLike | None = None) -> Policy:
    """G: UCB1 on the one-hot click position with Gaussian noise, all positions.

    As ``all_ldp_unary_ucb1`` with sigma^2 for c^2; sigma is analytic at L2 sensitivity sqrt(2), whatever K. Sound: (epsilon, delta)-LDP,
    K numbers. Relation: any two attraction vectors of one user, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    sigma = one_hot_sigma(list_len, epsilon, delta, sigma)
    message = noisy_one_hot_gaussian(num_categories=list_len, epsilon=epsilon, delta=delta, sigma=sigma)
    spread = jnp.asarray(sigma, jnp.float32) ** 2
    index = _self_consistent(list_len)
    policy = _policy(num_items=num_items, list_len=list_len, message=message, index=index, spread=spread, ratio=False, at_random=True)
    return policy._replace(derived={"sigma": sigma})


def all_ldp_laplace_ucb1(*, num_items: int, list_len: int, epsilon: ArrayLike) -> Policy:
    """Lap: UCB1 on the one-hot click position with Laplace noise, all positions.

    Each coordinate gets Lap(2 / epsilon), whatever K. Index (X + sqrt(1.5 n log t) + q) / O, q the Chernoff bound of n + H draws at
    1 - t^-4 / K, H the positions above over all displays. The order of the list is drawn at random. Sound: epsilon-LDP, K numbers.
    Relation: any two attraction vectors of one user, one round. No regret bound is proved.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if a size or epsilon is out of range.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    message = noisy_one_hot_laplace(num_categories=list_len, epsilon=epsilon)
    scale, log_len = min(2, list_len) / epsilon, math.log(2.0 * list_len)

    def index(read, n, root, log_t, scale):
        tail = tails.laplace_chernoff_unit(n + read.above, 4.0 * log_t + log_len)
        return (read.clicked + jnp.sqrt(1.5 * n * log_t) + scale * tail) / read.examined

    return _policy(num_items=num_items, list_len=list_len, message=message, index=index, spread=scale, ratio=True, at_random=True)
