"""Learning from all positions under central privacy: DP-all.

Every displayed item gets an entry in two counters, whatever was examined: whether it was clicked, and whether it was examined.
How many entries a counter has is then public, and the ratio of the two sums estimates the attraction. A user who clicks elsewhere
changes at most 2 entries of the first kind and list_len - 1 of the second, position 1 being always examined.

A proposal of this project; no paper prints it. Items whose examined sum is not positive come first, among those the one displayed
least often; of the list the item displayed least often moves to the front, where it is surely examined.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Policy, PyTree
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import counters
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.first_central import ONE_USER
from jaxbandits.policies.cascade.first_position import front_list


class AllCentralState(NamedTuple):
    """What the counters hold, and what is kept of the indices."""

    seen: PyTree  # clicks, one stream an item
    examined: PyTree  # examinations, one stream an item; None for lists of one
    kept: Array  # [num_items], float32: the tail of a counter's noise at scale 1


class Everywhere(NamedTuple):
    """The raw feedback as two bits a position."""

    click: Array  # [list_len], int32
    examined: Array  # [list_len], int32


def all_dp_ucb1(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    epsilon_click: ArrayLike | None = None,
    epsilon_examined: ArrayLike | None = None,
) -> Policy:
    """DP-all: UCB1 on the ratio of released clicks to released examinations, of every displayed item.

    Index (X + sqrt(1.5 n log t) + q) / O: X and O released by hybrid counters after n displays, q the sum of the Chernoff bounds at
    1 - t^-3 of their noises, with t rounded up to 7 binary digits. For lists of one O is n. Sound: epsilon-DP for a trusted server,
    as 2 epsilon_click + (K - 1) epsilon_examined <= epsilon. Relation: the attractions of one user substituted, one round. No
    regret bound is proved.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: privacy level, positive; inf adds no noise.
      epsilon_click: of the counters of clicks; epsilon / 4 by default, epsilon for lists of one.
      epsilon_examined: of the counters of examinations; epsilon / (2 (K - 1)) by default.

    Raises:
      ValueError: if an argument is out of range, or the two levels together exceed epsilon.
    """
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.epsilon(epsilon)
    several = list_len > 1
    click_level = epsilon / (4 if several else 1) if epsilon_click is None else epsilon_click
    examined_level = epsilon / (2 * max(list_len - 1, 1)) if epsilon_examined is None else epsilon_examined
    for name, level in (("epsilon_click", epsilon_click), ("epsilon_examined", epsilon_examined)):
        if level is not None:
            validate.epsilon(level, name)
    spent = 2 * click_level + (list_len - 1) * examined_level if several else click_level
    validate.budget("2 epsilon_click + (list_len - 1) epsilon_examined" if several else "epsilon_click", spent, epsilon)
    clicks = counters.hybrid(num_streams=num_items, epsilon=click_level)
    examinations = counters.hybrid(num_streams=num_items, epsilon=examined_level)

    @lanes.elementwise
    def ratio(clicked, examined, count, kept, width, scale):
        n = count.astype(jnp.float32)
        upper = (clicked + width * n * indices.inverse_root(count) + scale * kept) / jnp.where(examined > 0.0, examined, 1.0)
        return jnp.where((count > 0) & (examined > 0.0), upper, indices.unseen(count))

    tails = central.kept_tail(clicks)

    def init(preview):
        examined = examinations.init() if several else None
        return AllCentralState(seen=clicks.init(), examined=examined, kept=tails.start(num_items))

    def act(state, round_, z):
        release, t = clicks.read(state.seen), round_.t
        seen = examinations.read(state.examined).total if several else release.counts.astype(jnp.float32)
        scale = central.single(clicks.scale) + (central.single(examinations.scale) if several else 0.0)
        upper = ratio(release.total, seen, release.counts, state.kept, indices.ucb1_width(t), scale)
        return front_list(upper, release.counts, list_len)

    def report(round_, action, click, z):
        position = jnp.arange(list_len, dtype=jnp.int32)
        return Everywhere(click=(position == click).astype(jnp.int32), examined=(position <= click).astype(jnp.int32))

    def update(state, t, action, message, z):
        shown = jnp.ones(list_len, bool)
        seen = clicks.insert(state.seen, action, message.click, shown, {"noise": z["click"]})
        examined = state.examined
        if several:
            examined = examinations.insert(examined, action, message.examined, shown, {"noise": z["examined"]})
        return AllCentralState(seen=seen, examined=examined, kept=tails.renew(state.kept, clicks.read(seen), action, t))

    drawn = clicks.draws(list_len)["noise"]
    return Policy(
        claim=Claim(
            status="sound",
            trust="central",
            relation=ONE_USER,
            sensitivity=f"2 entries of click streams, {list_len - 1} of examination streams" if several else "1 entry of a stream",
            epsilon=epsilon,
        ),
        device_draws={},
        server_draws={"click": drawn, "examined": drawn} if several else {"click": drawn},
        init=init,
        act=act,
        report=report,
        update=update,
        released=lambda state: (clicks.read(state.seen), examinations.read(state.examined) if several else ()),
    )
