"""CUCB-DP: CUCB on continual counters, under central privacy.

Chen, Zheng, Zhou, Yang, Chen, Wang: (Locally) Differentially Private Combinatorial Semi-Bandits, 2020. Of each super arm only the arm
with the fewest entries is learnt of; its bit goes into that arm's counter. Given the releases, which arm that is is the same for two
neighbouring runs, so one entry of one stream changes, and every arm has the whole epsilon.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy, PyTree
from jaxbandits.mechanisms import counters
from jaxbandits.mechanisms.counters import Counter
from jaxbandits.oracles import Oracle, check
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.semi_bandit.assemble import choose, fewest_first

ONE_USER = "one user's bits substituted, one round"
"""The neighbouring relation of a central semi-bandit policy."""


class CentralState(NamedTuple):
    """What the counters hold, and what is kept of the indices."""

    seen: PyTree  # of the counter, one stream an arm
    kept: Array | None  # [num_base_arms], float32: the costly part of the index, if it has one


def _policy(oracle: Oracle, counter: Counter, index: central.Index) -> Policy:
    keeping = index.keeping

    def act(state, round_, z):
        release = counter.read(state.seen)
        super_arm = choose(oracle, index.upper(release, state.kept, round_.t), release.counts, z)
        return fewest_first(super_arm, state.seen.counts)

    def update(state, t, action, bit, z):
        front = action[:1]
        seen = counter.insert(state.seen, front, bit[None], jnp.ones(1, bool), z)
        return CentralState(seen=seen, kept=keeping.renew(state.kept, counter.read(seen), front, t) if keeping else None)

    return Policy(
        claim=dataclasses.replace(counter.claim, relation=ONE_USER),
        device_draws={},
        server_draws={**oracle.draws, **counter.draws(1)},  # the oracle's first, so that its numbers are those of other policies
        init=lambda preview: CentralState(counter.init(), keeping.start(oracle.num_base_arms) if keeping else None),
        act=act,
        report=lambda round_, action, bits, z: bits[0],
        update=update,
        released=lambda state: counter.read(state.seen),
    )


def cucb_dp(*, oracle: Oracle, epsilon: ArrayLike, counter: Callable[..., Counter] = counters.hybrid) -> Policy:
    """CUCB-DP: CUCB on the bits that a continual counter for each arm releases.

    Index S / n + sqrt(1.5 log t / n) + q / n: S the counter's release after n entries, q the Chernoff bound at 1 - t^-3 of the very
    noise in it, with t rounded up to 7 binary digits. Order
    of its regret in ``theory.semi_bandit.cucb_dp_order``. Sound: epsilon-DP for a trusted server. Relation: one user's bits substituted,
    one round. Chen et al. 2020.

    Args:
      oracle: chooses a super arm; a study passes that of the problem.
      epsilon: privacy level, positive; at inf the counters are exact.
      counter: factory of the counter, given num_streams and epsilon: ``counters.hybrid``, ``counters.merged_hybrid`` or another.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle = check(oracle)
    validate.epsilon(epsilon)
    streams = counters.made_by(counter, num_streams=oracle.num_base_arms, epsilon=epsilon)
    return _policy(oracle, streams, central.ucb1(streams))


def cucb_dp_kl(
    *, oracle: Oracle, epsilon: ArrayLike, exploration: Callable[[Array], Array] = indices.exploration, refresh_every: int = 8
) -> Policy:
    """CUCB-DP with KL-UCB on doubling batches that add up. The default choice for a trusted server.

    The discarding rule of ``cucb_dp`` with the counter and the index of ``cascade.first_dp_kl_ucb``. Sound: epsilon-DP for a trusted
    server. Relation: one user's bits substituted, one round. Of this project; no regret bound is proved.

    Args:
      oracle: chooses a super arm; a study passes that of the problem.
      epsilon: privacy level, positive; at inf the sums are exact.
      exploration: t -> exploration level, float32 (), at least 0; by default log t + 3 log log t.
      refresh_every: the indices of all arms are computed anew every so many rounds, and that of the front arm after each.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle = check(oracle)
    validate.epsilon(epsilon)
    validate.exploration(exploration)
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)
    streams = counters.accumulating(num_streams=oracle.num_base_arms, epsilon=epsilon)
    return _policy(oracle, streams, central.kl_ucb(epsilon, exploration, refresh_every))
