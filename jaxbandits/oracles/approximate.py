"""Oracles that are not exact: what an (alpha, beta)-approximation costs."""

import functools
from collections.abc import Mapping

import jax.numpy as jnp
from jax import Array

from jaxbandits import validate
from jaxbandits.engine import draws, lanes
from jaxbandits.oracles.interface import Oracle, check

_SHRINK, _FAIL, _ANY = "oracle's loss", "oracle's failure", "oracle's order"


def _solve(oracle: Oracle, alpha: float, beta: float, weights: Array, z: Mapping[str, Array]) -> Array:
    lost = jnp.where(weights > 0, weights * (1.0 - (1.0 - alpha) * z[_SHRINK]), weights)
    return oracle.solve(_choose(lost, z[_ANY], z[_FAIL], jnp.float32(beta)), z)


@lanes.elementwise
def _choose(weights, order, fail, beta):
    return jnp.where(fail < beta, weights, order)


def approximate(*, oracle: Oracle, alpha: float = 1.0, beta: float = 1.0) -> Oracle:
    """An (alpha, beta)-approximate oracle made of an exact one.

    With probability beta it maximises positive weights that are each multiplied by a random factor between alpha and 1, which earns
    at least alpha times the optimum if scaling all means by alpha scales the reward by alpha or more, as it does for sums and for the
    cascade's reward; otherwise it plays a super arm that is best for random weights. A problem with this oracle measures regret
    against alpha beta times the optimum, R(T) = T alpha beta opt - E sum r(S_t), which may be negative.

    Args:
      oracle: the exact one, of rewards that are not negative.
      alpha: above 0 and at most 1.
      beta: above 0 and at most 1.

    Raises:
      ValueError: if a number is out of range, or the oracle is not exact.
    """
    validate.scalar("alpha", alpha, "above 0 and at most 1", lambda x: 0 < x <= 1)
    validate.scalar("beta", beta, "above 0 and at most 1", lambda x: 0 < x <= 1)
    if (check(oracle).alpha, oracle.beta) != (1.0, 1.0):
        raise ValueError(f"oracle must be an exact one; got one of alpha {oracle.alpha:g} and beta {oracle.beta:g}")
    alpha, beta, arms = float(alpha), float(beta), (oracle.num_base_arms,)
    return oracle._replace(
        solve=functools.partial(_solve, oracle, alpha, beta),
        alpha=alpha,
        beta=beta,
        draws={**oracle.draws, _SHRINK: draws.uniform(arms), _FAIL: draws.uniform(), _ANY: draws.uniform(arms)},
    )
