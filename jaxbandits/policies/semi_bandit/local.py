"""CUCB-LDP1 and CUCB-LDP2: CUCB on private bits, under local privacy.

Chen, Zheng, Zhou, Yang, Chen, Wang: (Locally) Differentially Private Combinatorial Semi-Bandits, 2020. LDP1 splits epsilon over the
arms of a super arm; LDP2 discards all but one of them and so has the whole epsilon for it. The text of the paper was not at hand: the
constants follow from the privacy of the bits, and from Hoeffding's bound.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.randomiser import bernoulli, debias_factor, flip_probability, laplace
from jaxbandits.oracles import Oracle, check
from jaxbandits.policies import bits, central
from jaxbandits.policies import index as indices
from jaxbandits.policies.semi_bandit.assemble import ONE_USER, choose, fewest_first, numbers_policy


@lanes.elementwise
def _debiased(bit_mean, counts, width, factor, flip):
    return factor * (bit_mean + width * indices.inverse_root(counts) - flip)


def _bits_index(epsilon: ArrayLike):
    """Debiased mean + c sqrt(1.5 log t / N) of private bits, c the debiasing factor."""
    factor, flip = debias_factor(epsilon), flip_probability(epsilon)
    return lambda mean, counts, t: _debiased(mean, counts, indices.ucb1_width(t), factor, flip)


def cucb_ldp1(*, oracle: Oracle, epsilon: ArrayLike) -> Policy:
    """CUCB-LDP1: a private bit for every arm of the super arm, each with epsilon / K.

    Index debiased mean + c sqrt(1.5 log t / N), c = (e^(epsilon / K) + 1) / (e^(epsilon / K) - 1). Sound: epsilon-LDP by basic
    composition of K bits. Relation: any two vectors of one user's bits, one round; the super arm is public. Chen et al. 2020.

    Args:
      oracle: chooses a super arm of at most K arms; a study passes that of the problem.
      epsilon: privacy level, positive; inf is ``cucb``.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle = check(oracle)
    validate.epsilon(epsilon, low=1e-10 * oracle.list_len)  # a share must be one that a bit can have
    each = epsilon / oracle.list_len
    bit = bernoulli(epsilon=each, shape=(oracle.list_len,))
    claim = dataclasses.replace(bit.claim, epsilon=epsilon, relation=ONE_USER, sensitivity=f"{oracle.list_len} values in [0, 1]")
    return numbers_policy(oracle=oracle, randomiser=bit, index=_bits_index(each), claim=claim)


def cucb_ldp2(*, oracle: Oracle, epsilon: ArrayLike) -> Policy:
    """CUCB-LDP2: one private bit a user, about the arm of the super arm with the fewest reports.

    Index debiased mean + c sqrt(1.5 log t / N), c = (e^epsilon + 1) / (e^epsilon - 1), N the reports about an arm. Regret in
    ``theory.semi_bandit.cucb_ldp2``: epsilon is not divided by the size of a super arm. Sound: epsilon-LDP, one bit, about an arm that
    past messages determine. Relation: any two vectors of one user's bits, one round. Chen et al. 2020.

    Args:
      oracle: chooses a super arm; a study passes that of the problem.
      epsilon: privacy level, positive; at inf the raw bit is sent.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle, bit = check(oracle), bernoulli(epsilon=epsilon)
    claim = dataclasses.replace(bit.claim, relation=ONE_USER)
    return numbers_policy(oracle=oracle, randomiser=bit, index=_bits_index(epsilon), claim=claim, discard=True)


def cucb_ldp2_laplace(*, oracle: Oracle, epsilon: ArrayLike) -> Policy:
    """CUCB-LDP2 with Laplace noise in place of a private bit.

    Index mean + sqrt(1.5 log t / N) + the Chernoff bound of N draws Lap(1 / epsilon) at 1 - t^-3, over N. Sound: epsilon-LDP, one number,
    about an arm that past messages determine. Relation: any two vectors of one user's bits, one round. After Chen et al. 2020.

    Args:
      oracle: chooses a super arm; a study passes that of the problem.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """

    @lanes.elementwise
    def upper(mean, counts, log_t, inverse_epsilon):
        root = indices.inverse_root(counts)
        tail = tails.laplace_chernoff_unit(counts.astype(jnp.float32), np.float32(np.log(2.0)) + 3.0 * log_t)
        return mean + jnp.sqrt(1.5 * log_t) * root + inverse_epsilon * tail * root * root

    oracle, noise = check(oracle), laplace(shape=(), sensitivity=1, epsilon=epsilon)
    return numbers_policy(
        oracle=oracle,
        randomiser=noise,
        index=lambda mean, counts, t: upper(mean, counts, indices.log_round(t), 1.0 / central.single(epsilon)),
        claim=dataclasses.replace(noise.claim, relation=ONE_USER),
        discard=True,
    )


@lanes.elementwise
def _debiased_cap(upper, factor, flip):
    return jnp.minimum(factor * (upper - flip), 1.0)


def cucb_ldp2_kl(*, oracle: Oracle, epsilon: ArrayLike, refresh_every: int = 8) -> Policy:
    """CUCB-LDP2 with KL-UCB on the private bits. The default choice under local privacy.

    As ``cucb_ldp2`` with index min{1, c (q - flip_probability)}, q = max{q: N kl(mean of the bits, q) <= log t + 3 log log t}. Sound:
    epsilon-LDP for the same reason. Relation: any two vectors of one user's bits, one round. Of this project; no regret bound is proved.

    Args:
      oracle: chooses a super arm; a study passes that of the problem.
      epsilon: privacy level, positive; at inf the raw bit is sent.
      refresh_every: all indices are computed anew every so many rounds, and that of the reported arm after each; 1 computes all in
        each round.

    Raises:
      ValueError: if an argument is out of range.
    """
    oracle, bit = check(oracle), bernoulli(epsilon=epsilon)
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)
    factor, flip = debias_factor(epsilon), flip_probability(epsilon)

    def act(state, round_, z):
        return fewest_first(choose(oracle, _debiased_cap(state.upper, factor, flip), state.counts, z), state.counts)

    return Policy(
        claim=dataclasses.replace(bit.claim, relation=ONE_USER),
        device_draws=bit.draws,
        server_draws=oracle.draws,
        init=lambda preview: bits.start(oracle.num_base_arms),
        act=act,
        report=lambda round_, action, reply, z: bit.send(reply[0].astype(jnp.float32), z),
        update=lambda state, t, action, message, z: bits.learn(state, t, action[:1], message, refresh_every),
    )
