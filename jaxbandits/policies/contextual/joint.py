"""LinUCB under joint differential privacy: a trusted server keeps the regression in a tree of noisy sums.

Shariff, Sheffet: Differentially Private Contextual Linear Bandits, 2018. The server adds Gram matrices of (features, reward) in a binary
tree over the rounds, and what it tells later users is made of noisy nodes. Strict privacy of the actions would cost linear regret; joint
privacy protects a user from all others: the user's own action may depend on the user's own features.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxbandits import links, validate
from jaxbandits.core import Claim, Policy
from jaxbandits.engine import draws, lanes, linalg, sums
from jaxbandits.engine.fence import fence
from jaxbandits.links import Link
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.regression import growth
from jaxbandits.policies.contextual import assemble
from jaxbandits.policies.contextual.assemble import Confidence
from jaxbandits.policies.reduction import calibrated

ONE_OF_ALL = "one user's record (features, reward) replaced, one round; what all other users see"
"""The neighbouring relation of joint privacy."""


class Tree(NamedTuple):
    """The exact Gram matrix, and the noise of the nodes in force."""

    gram: Array  # packed, of (x, y): since the last settling
    folded: sums.Sum  # before that
    noise: Array  # [levels, packed]: of the node of each set bit of the round, 0 for the others


@lanes.lanes_last
def _renewed(noise: Array, fresh: Array, lowest: Array) -> Array:
    """The noise after a round whose lowest set bit is given: nodes below it are gone, and its own is fresh."""

    def kernel(noise, fresh, lowest):
        level = lax.broadcasted_iota(jnp.int32, noise.shape, 0)
        last = lowest[None, None]
        return jnp.where(level < last, 0.0, jnp.where(level == last, fresh[None], noise))

    return fence(kernel)(noise, fresh, lowest)


def joint_dp_linucb(
    *,
    dim: int,
    link: Link,
    horizon: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    fail_prob: ArrayLike = 0.1,
    theta_bound: ArrayLike = 1.0,
    regulariser: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """LinUCB on a tree of noisy Gram matrices, under joint privacy.

    A record is in at most m = 1 + ceil(log2 T) nodes, each with symmetric normal noise. sigma is the smallest for sqrt(2) (1 + Y^2)
    sqrt(m), since m Gaussian releases are one of sqrt(m) times the sensitivity; the printed constant is larger. The noise in force is
    shifted by 2 Gamma, Gamma >= its norm, so that its eigenvalues lie in [rho, 3 rho] with rho = Gamma; beta_t = R sqrt(2 log(2 / alpha) +
    d log(3 + t / (d rho))) + S sqrt(3 rho) + gamma, gamma the bound on the noise of the vector. Sound: jointly (epsilon, delta)-DP.
    Relation: one user's record (features, reward) replaced, one round; what all other users see. Shariff, Sheffet 2018, Algorithm 1 and
    section 4.2.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem: the range of rewards and their scatter R.
      horizon: T, the number of rounds; a study passes its own. Records of rounds after it are left out.
      epsilon: privacy level, positive; inf adds no noise.
      delta: strictly between 0 and 1.
      fail_prob: alpha.
      theta_bound: S, what the length of the parameter is at most, positive.
      regulariser: the least ridge, positive; it matters without noise.
      sigma: derived; leave it out, or give a larger one.

    Raises:
      ValueError: if an argument is out of range, or sigma too small for the claim.
    """
    dim = assemble.checked(dim, fail_prob, theta_bound=theta_bound, regulariser=regulariser)
    link, horizon = links.check(link), validate.horizon(horizon)
    nodes, levels = 1 + (horizon - 1).bit_length(), horizon.bit_length()
    sensitivity = 2**0.5 * (1 + links.bound(link) ** 2) * nodes**0.5
    sigma = calibrated(calibrate.analytic_sigma, sigma, epsilon, delta, sensitivity)
    spread = jnp.asarray(sigma, jnp.float32)
    size = linalg.packed_size(dim + 1)
    row, column = linalg.places(dim + 1)
    of_matrix, of_vector = np.flatnonzero(row < dim), np.flatnonzero((row == dim) & (column < dim))

    per_node = spread * np.float32(nodes**0.5)
    rho = jnp.maximum(per_node * growth(dim + 1, horizon, fail_prob), 0.5 * jnp.asarray(regulariser, jnp.float32))
    log_fail = jnp.log(jnp.asarray(fail_prob, jnp.float32))
    vector_noise = per_node * (np.float32(dim**0.5) + jnp.sqrt(2.0 * (np.float32(np.log(horizon)) - log_fail))) * jnp.sqrt(1.0 / rho)

    def confidence(t):
        log = 2.0 * (np.float32(np.log(2.0)) - log_fail) + dim * jnp.log(3.0 + t.astype(jnp.float32) / (dim * rho))
        return Confidence(ridge=2.0 * rho, width=link.noise * jnp.sqrt(log) + theta_bound * jnp.sqrt(3.0 * rho) + vector_noise)

    def released(state):
        exact = linalg.plus(state.folded.high, state.gram)
        return linalg.plus(exact, linalg.total(state.noise))

    def act(state, round_, z):
        known = released(state)
        return assemble.choose(known[of_matrix], known[of_vector], round_.context, confidence(round_.t))

    def update(state, t, action, message, z):
        one = assemble.cut(message, link)
        both = jnp.concatenate([one.features, one.reward[None]])
        lowest = jnp.int32(31) - lax.clz(t & -t)
        # The tree is full after its horizon: later records stay out of it, for no node has noise for them.
        still = (t <= horizon).astype(jnp.float32)
        return state._replace(
            gram=linalg.plus(state.gram, linalg.scaled(linalg.outer(both), still)),
            noise=_renewed(state.noise, linalg.scaled(z["node"], spread), jnp.where(t <= horizon, lowest, -1)),
        )

    def settle(state):
        return state._replace(gram=jnp.zeros_like(state.gram), folded=sums.add(state.folded, state.gram))

    return Policy(
        claim=Claim(
            status="sound",
            trust="joint",
            relation=ONE_OF_ALL,
            sensitivity=f"L2 {sensitivity:.4g} over {nodes} nodes",
            epsilon=epsilon,
            delta=delta,
        ),
        device_draws={},
        server_draws={"node": draws.normal((size,))},
        init=lambda preview: Tree(
            gram=jnp.zeros(size, jnp.float32), folded=sums.zero((size,)), noise=jnp.zeros((levels, size), jnp.float32)
        ),
        act=act,
        report=lambda round_, action, reward, z: assemble.record(round_, action, reward),
        update=update,
        settle=settle,
        released=released,
        derived={"sigma": sigma},
    )
