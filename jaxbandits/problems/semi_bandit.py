"""The combinatorial semi-bandit: play a set of base arms together, see the bit of each.

Chen, Wang, Yuan: Combinatorial Multi-Armed Bandit: General Framework and Applications, 2013. In each round a super arm S is played, one
of those of an oracle, and the bit u_t(i) ~ Bern(u(i)) of every i in S is seen; S itself is public. It earns r_u(S), as the oracle says.

The action is int32 [list_len], the arms of S in any order, a place without an arm holding num_base_arms. The feedback is int32
[list_len], the bit of each place, 0 for one without an arm.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Problem
from jaxbandits.engine import draws, lanes
from jaxbandits.oracles import Oracle, check, present, read
from jaxbandits.oracles.interface import all_different


class SemiBanditInstance(NamedTuple):
    """The means one seed meets.

    If the oracle's super arms allow any renaming, the order of the arms is drawn for each seed, so that the order in which the means
    were given carries no information; else the arms keep their numbers, and the oracle breaks ties at random.

    Attributes:
      labels: [num_base_arms], int32: the policy's arm i is arm labels[i] of the problem.
      means: [num_base_arms], float32, of the policy's arms.
      target: (), float32: alpha beta times the optimum, what regret is measured against.
    """

    labels: Array
    means: Array
    target: Array


ROUNDING = np.float32(2.0**-22)
"""Rewards of two super arms closer than this times list_len are the same up to the rounding of their sums."""


def semi_bandit(*, means: ArrayLike, oracle: Oracle) -> Problem:
    """A combinatorial semi-bandit.

    Regret of a round is alpha beta opt - r_u(S), opt the largest r_u; for an exact oracle alpha and beta are 1, and a difference
    below list_len 2^-22, which float32 cannot tell from a tie, is none. A negative one would mean that the action is no super arm, or the
    oracle not exact. The oracle is passed on to the policies of a study, which may play another one of the same sizes.

    Args:
      means: [num_base_arms], u, means of the bits, in [0, 1].
      oracle: ``oracles.top_k(...)``, ``oracles.matching(...)`` or another: the super arms and what they earn.

    Raises:
      ValueError: if a mean lies outside [0, 1], or the oracle is for another number of arms.
    """
    m, exact = check(oracle).num_base_arms, oracle.alpha == oracle.beta == 1.0
    validate.probabilities("means", means, m)

    def setup(z):
        labels = lanes.shuffle(z["order"]) if oracle.exchangeable else jnp.arange(m, dtype=jnp.int32)
        mine = lanes.take(jnp.asarray(means, jnp.float32), labels)
        best = oracle.exact(mine)
        optimum = oracle.reward(read(mine, best), best)
        return SemiBanditInstance(labels=labels, means=mine, target=np.float32(oracle.alpha * oracle.beta) * optimum)

    def respond(instance, round_, action, z):
        return ((z["reply"] < read(instance.means, action)) & present(action, m)).astype(jnp.int32)

    def regret(instance, round_, action):
        lost = instance.target - oracle.reward(read(instance.means, action), action)
        return jnp.where(jnp.abs(lost) > oracle.list_len * ROUNDING, lost, 0.0) if exact else lost

    return Problem(
        sizes={"num_base_arms": m, "list_len": oracle.list_len},
        setup_draws={"order": draws.bits((2, m)), "preview": draws.uniform((m,))},
        draws={"reply": draws.uniform((oracle.list_len,))},
        setup=setup,
        preview=lambda instance, z: (z["preview"] < instance.means).astype(jnp.int32),
        context=lambda instance, t, z: (),
        respond=respond,
        regret=regret,
        legal=lambda instance, action: all_different(action, m) & jnp.all(action <= m) & oracle.legal(action),
        shared={"oracle": oracle},
    )
