"""Algorithm 1 of the cascade paper: a hybrid counter for every item, under central privacy.

Cascading Bandit under Differential Privacy, arXiv 2105.11126, Algorithm 1, Theorems 1 and 2. Every examined item gets an entry in
its counter, at epsilon / num_items each. The paper claims epsilon-DP. Its proof is wrong for lists of two or more: another click
position makes up to list_len streams longer or shorter, and a counter protects the values of a stream, not its length. All
versions here reproduce that and carry no guarantee; ``first_dp_ucb1`` and ``first_dp_kl_ucb`` are sound replacements.

The algorithm box takes the logarithm of the horizon where the proof has that of the count; the constant c1 is not stated.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy, PyTree
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import counters
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.assemble import RAW_START, prefix
from jaxbandits.policies.cascade.first_central import ONE_USER

LENGTHS = "the position of the click changes how many entries the counters get, which they do not hide"
"""Why Algorithm 1 has no guarantee for lists of two or more."""


class HybridState(NamedTuple):
    """What is known of every item."""

    seen: PyTree  # of the counter, one stream an item; the first observation is not in it
    first: Array  # [num_items], float32: one user's raw attraction, where every mean starts
    kept: Array | None  # [num_items], float32: the noise radius, times the count, if it is kept


@lanes.elementwise
def _optimistic(released, first, entries, radius, width):
    root = indices.inverse_root(entries + 1)
    return (released + first + radius) * root * root + width * root


def _policy(
    status,
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    noise_scale: ArrayLike,
    radius: central.Index,
) -> Policy:
    """``radius`` is the noise radius times the count."""
    keeping = radius.keeping
    streams = counters.hybrid(num_streams=num_items, epsilon=epsilon / num_items, noise_scale=noise_scale)

    def init(preview):
        first = preview.astype(jnp.float32)
        return HybridState(seen=streams.init(), first=first, kept=keeping.start(num_items) if keeping else None)

    def act(state, round_, z):
        release, t = streams.read(state.seen), round_.t
        wide = radius.upper(release, state.kept, t)
        return lanes.top_k(_optimistic(release.total, state.first, release.counts, wide, indices.ucb1_width(t)), list_len)

    def update(state, t, action, message, z):
        seen = streams.insert(state.seen, action, message.value, message.observed, z)
        kept = keeping.renew(state.kept, streams.read(seen), action, t) if keeping else None
        return HybridState(seen=seen, first=state.first, kept=kept)

    flaw = LENGTHS if list_len > 1 else RAW_START
    return Policy(
        claim=dataclasses.replace(streams.claim, status=status, relation=ONE_USER, epsilon=epsilon, flaw=flaw),
        device_draws={},
        server_draws=streams.draws(list_len),
        init=init,
        act=act,
        report=lambda round_, action, click, z: prefix(click, list_len),
        update=update,
        released=lambda state: streams.read(state.seen),
    )


def _checked(num_items, list_len, epsilon, order_constant, radius_scale):
    validate.epsilon(epsilon)
    validate.scale("order_constant", order_constant)
    validate.scale("radius_scale", radius_scale)
    return validate.list_sizes(num_items, list_len)


def hybrid_ucb(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    horizon: int,
    order_constant: ArrayLike = 1.0,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
) -> Policy:
    """Algorithm 1 as printed in its box. No guarantee.

    Index mean + sqrt(1.5 log t / T) + 3 c1 L (log n)^1.5 log t / (epsilon T), n the horizon; the mean of T observations, the first
    of them raw, is released by a hybrid counter at epsilon / L.

    Args:
      num_items: L, number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      horizon: n, number of rounds; a study fills it in.
      order_constant: c1, which the paper leaves open.
      noise_scale: factor on the noise. The paper's figures use 0.01.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_items, list_len = _checked(num_items, list_len, epsilon, order_constant, radius_scale)
    horizon = validate.horizon(horizon)
    factor = radius_scale * order_constant * 3.0 * num_items / epsilon

    log_n = np.float32(np.log(horizon) ** 1.5)

    def radius(release, kept, t):
        return central.single(factor) * log_n * indices.log_round(t)

    return _policy(
        "paper",
        num_items=num_items,
        list_len=list_len,
        epsilon=epsilon,
        noise_scale=noise_scale,
        radius=central.Index(upper=radius),
    )


def hybrid_ucb_by_count(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    order_constant: ArrayLike = 1.0,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
) -> Policy:
    """Algorithm 1 as its proof has it: the radius with the logarithm of the count, (log T)^1.5. No guarantee.

    At T = 1 its noise radius is 0, as is the noise.

    Args:
      num_items: L, number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      order_constant: c1, which the paper leaves open.
      noise_scale: factor on the noise. The paper's figures use 0.01.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_items, list_len = _checked(num_items, list_len, epsilon, order_constant, radius_scale)
    factor = radius_scale * order_constant * 3.0 * num_items / epsilon

    @lanes.elementwise
    def grown(entries, log_t, factor):
        return factor * log_t * jnp.log(1.0 + entries.astype(jnp.float32)) ** 1.5

    return _policy(
        "paper",
        num_items=num_items,
        list_len=list_len,
        epsilon=epsilon,
        noise_scale=noise_scale,
        radius=central.Index(upper=lambda release, kept, t: grown(release.counts, indices.log_round(t), central.single(factor))),
    )


def hybrid_ucb_calibrated(
    *, num_items: int, list_len: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, radius_scale: ArrayLike = 1.0
) -> Policy:
    """Algorithm 1 with a radius that is valid at every count: the Chernoff bound of the counter's noise at 1 - t^-3, over T.

    The round in it is rounded up to 7 binary digits, so that it is seldom computed for all items. The privacy is not repaired: no
    guarantee.

    Args:
      num_items: L, number of items.
      list_len: length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_items, list_len = _checked(num_items, list_len, epsilon, 1.0, radius_scale)
    keeping = central.kept_tail(counters.hybrid(num_streams=num_items, epsilon=1.0))
    scaled = lanes.elementwise(lambda kept, factor: factor * kept)
    factor = central.single(radius_scale * num_items / epsilon)
    return _policy(
        "calibrated",
        num_items=num_items,
        list_len=list_len,
        epsilon=epsilon,
        noise_scale=noise_scale,
        radius=central.Index(upper=lambda release, kept, t: scaled(kept, factor), keeping=keeping),
    )
