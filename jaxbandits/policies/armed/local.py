"""K-armed bandits under local privacy: UCB1 and KL-UCB on private responses.

Ren, Zhou, Liu, Shroff: Multi-Armed Bandits with Local Differential Privacy, arXiv 2007.03121. A user's device makes the reward
private, by Laplace noise (CTL) or by one random bit (CTB), behind a sigmoid if rewards are unbounded; the server runs UCB1 on the
responses. The claims of the paper hold. An arm without a response comes first; other ties go to the lowest number, which the
problem assigns at random for each seed.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, clipped, laplace, squashed
from jaxbandits.policies import bits, central, responses
from jaxbandits.policies import index as indices

ONE_REWARD = "any two rewards of one user, one round"
"""The neighbouring relation of a local K-armed policy."""


class Radius(NamedTuple):
    """What is added to the mean of an arm.

    Attributes:
      at: (1 / sqrt(count), count, *numbers) -> radius, elementwise over arms.
      numbers: t -> the numbers of the lane that ``at`` takes.
    """

    at: Callable[..., Array]
    numbers: Callable[[Array], tuple[Array, ...]]


def ucb_on(
    num_arms: int,
    randomiser: Randomiser,
    radius: Radius,
    *,
    forced: float | None = None,
    author_code: bool = False,
    start: Callable[[int, int], responses.Responses] = responses.start,
) -> Policy:
    """UCB on responses; with ``forced``, arms with at most so many log t pulls go first, the lowest number before the others."""
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    validate.flag("author_code", author_code)

    @lanes.elementwise
    def upper(state, due_at, *numbers):
        counts = state.counts
        root = indices.inverse_root_of(counts.astype(jnp.float32))  # an arm without a response is due
        value = (responses.added_up(state) * root + radius.at(root, counts, *numbers)) * root
        return jnp.where(counts <= due_at, jnp.inf, value)

    def act(state, round_, z):
        t = round_.t
        log_t = indices.log_round(t + 1 if author_code else t)
        # The first num_arms rounds pull each arm once, unless a phantom reward stands for that.
        due = jnp.int32(0) if forced is None else jnp.where((t > num_arms) | author_code, forced * log_t, 0.0).astype(jnp.int32)
        return lanes.top_k(upper(state, due, *radius.numbers(t)), 1)

    private = randomiser.claim.trust == "local"
    return Policy(
        claim=dataclasses.replace(randomiser.claim, relation=ONE_REWARD) if private else NON_PRIVATE,
        device_draws=randomiser.draws,
        server_draws={},
        init=lambda preview: start(num_arms, 1 if author_code else 0),
        act=act,
        report=lambda round_, action, reward, z: randomiser.send(jnp.asarray(reward, jnp.float32), z),
        update=lambda state, t, action, response, z: responses.learn(state, action, response[None]),
        settle=responses.settle,
    )


def _scaled(factor: ArrayLike) -> Radius:
    """A factor times sqrt(2 log t / N)."""
    return Radius(
        at=lambda root, counts, width: width,
        numbers=lambda t: (central.single(factor) * jnp.sqrt(2.0 * indices.log_round(t)),),
    )


def ucb1(*, num_arms: int, author_code: bool = False) -> Policy:
    """UCB1: index mean + sqrt(2 log t / N) of the rewards. Non-private.

    Regret at most sum over arms of 8 log T / gap + (1 + pi^2 / 3) gap for rewards in [0, 1].

    Args:
      num_arms: number of arms.
      author_code: as the code of arXiv 2007.03121: every arm starts with one phantom reward of 0.

    Raises:
      ValueError: if an argument is out of range.
    """
    return ucb_on(num_arms, responses.RAW, _scaled(1.0), author_code=author_code)


def sigmoid_ucb1(*, num_arms: int, author_code: bool = False) -> Policy:
    """UCB1 on the sigmoid of the rewards, for unbounded ones. Non-private.

    Args:
      num_arms: number of arms.
      author_code: as for ``ucb1``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return ucb_on(num_arms, squashed(responses.RAW), _scaled(1.0), author_code=author_code)


def _laplace(num_arms, epsilon, behind, author_code) -> Policy:
    noise = behind(laplace(shape=(), sensitivity=1, epsilon=epsilon))
    return ucb_on(num_arms, noise, _scaled(1.0 + 4.0 / epsilon), forced=4.0, author_code=author_code)


def ldp_ucb_laplace(*, num_arms: int, epsilon: ArrayLike, author_code: bool = False) -> Policy:
    """LDP-UCB-L: UCB1 on rewards with Laplace noise.

    A user sends r + Lap(1 / epsilon). While some arm has at most 4 log t pulls it is pulled, the lowest number first; then the index
    is mean + (1 + 4 / epsilon) sqrt(2 log t / N). Rewards are cut to [0, 1]. Sound: epsilon-LDP. Relation: any two rewards of one user,
    one round. arXiv 2007.03121, Agent 2 and Curator 1.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      author_code: as the authors' code: every arm starts with one phantom reward of 0, and is due below 4 log(t + 1) pulls.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _laplace(num_arms, epsilon, clipped, author_code)


def ldp_ucb_laplace_sigmoid(*, num_arms: int, epsilon: ArrayLike, author_code: bool = False) -> Policy:
    """LDP-UCB-LS: LDP-UCB-L on the sigmoid of the rewards, for unbounded ones.

    The means must lie in [0, 1] and the noise of the rewards have one law. Sound: epsilon-LDP. Relation: any two rewards of one
    user, one round. arXiv 2007.03121, Agent 2 with Curator 5.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      author_code: as for ``ldp_ucb_laplace``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _laplace(num_arms, epsilon, squashed, author_code)


def ldp_ucb_bernoulli(*, num_arms: int, epsilon: ArrayLike, author_code: bool = False) -> Policy:
    """LDP-UCB-B: UCB1 on private bits.

    A user sends a bit that is 1 with probability (r e^epsilon + 1 - r) / (e^epsilon + 1). Index mean of the bits + sqrt(2 log t / N).
    Rewards are cut to [0, 1]. Sound: epsilon-LDP. Relation: any two rewards of one user, one round. arXiv 2007.03121, Agent 4 and
    Curator 3.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; at inf a reward of 0 or 1 is sent as it is.
      author_code: as for ``ucb1``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return ucb_on(num_arms, clipped(bernoulli(epsilon=epsilon)), _scaled(1.0), author_code=author_code, start=responses.start_bits)


def ldp_ucb_bernoulli_sigmoid(*, num_arms: int, epsilon: ArrayLike, author_code: bool = False) -> Policy:
    """LDP-UCB-BS: LDP-UCB-B on the sigmoid of the rewards, for unbounded ones.

    The means must lie in [0, 1] and the noise of the rewards have one law. Sound: epsilon-LDP. Relation: any two rewards of one
    user, one round. arXiv 2007.03121, Agent 4 with Curator 6.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; at inf a bit with the probability of the sigmoid is sent.
      author_code: as for ``ucb1``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return ucb_on(num_arms, squashed(bernoulli(epsilon=epsilon)), _scaled(1.0), author_code=author_code, start=responses.start_bits)


def ldp_ucb_laplace_chernoff(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """LDP-UCB-L with the Chernoff bound of its noise as radius, and no forced pulls.

    Index mean + sqrt(2 log t / N) + q / N, q the Chernoff bound of N draws of Lap(1 / epsilon) at 1 - 2 t^-4. Shows how much of the
    distance between LDP-UCB-L and LDP-UCB-B comes from the paper's loose tail. Rewards are cut to [0, 1]. Sound: epsilon-LDP. Relation:
    any two rewards of one user, one round. Of this project.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """

    def radius(root, counts, log_t, inverse_epsilon):
        tail = tails.laplace_chernoff_unit(counts.astype(jnp.float32), jnp.maximum(4.0 * log_t, np.float32(1e-6)))
        return jnp.sqrt(2.0 * log_t) + inverse_epsilon * tail * root

    noise = clipped(laplace(shape=(), sensitivity=1, epsilon=epsilon))
    return ucb_on(num_arms, noise, Radius(radius, lambda t: (indices.log_round(t), 1.0 / central.single(epsilon))))


def ldp_kl_ucb(*, num_arms: int, epsilon: ArrayLike, refresh_every: int = 8) -> Policy:
    """KL-UCB on private bits. The default choice under local privacy.

    The bits of ``ldp_ucb_bernoulli``; index max{q: N kl(mean of the bits, q) <= log t + 3 log log t}. Limsup of R / log T at most sum
    over arms of gap / kl(mean of the arm's bits, that of the best arm's). Rewards are cut to [0, 1]. Sound: epsilon-LDP. Relation: any
    two rewards of one user, one round. Gajane, Urvoy, Kaufmann: Corrupt Bandits for Preserving Local Privacy, 2018.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; at inf a reward of 0 or 1 is sent as it is.
      refresh_every: all indices are computed anew every so many rounds, and that of the pulled arm after each; 1 computes all in
        each round.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    refresh_every = validate.size("refresh_every", refresh_every, 1, validate.MOST_ROUNDS)
    bit = clipped(bernoulli(epsilon=epsilon))

    def act(state, round_, z):
        return lanes.top_k(jnp.where(state.counts == 0, indices.unseen(state.counts), state.upper), 1)

    return Policy(
        claim=dataclasses.replace(bit.claim, relation=ONE_REWARD),
        device_draws=bit.draws,
        server_draws={},
        init=lambda preview: bits.start(num_arms),
        act=act,
        report=lambda round_, action, reward, z: bit.send(jnp.asarray(reward, jnp.float32), z),
        update=lambda state, t, action, response, z: bits.learn(state, t, action, response, refresh_every),
    )
