"""Continual counters under UCB1: Mishra, Thakurta 2015 and Tossou, Dimitrakakis 2016.

Mishra, Thakurta: (Nearly) Optimal Differentially Private Stochastic Multi-Arm Bandits, 2015. Tossou, Dimitrakakis: Algorithms for
Differentially Private Multi-Armed Bandits, 2016. The rewards of an arm go into a continual counter; the index of its released mean
is that of UCB1, with a radius for the noise or without.
"""

import dataclasses
import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Claim, Policy, PyTree
from jaxbandits.engine import draws, lanes
from jaxbandits.mechanisms import counters
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from jaxbandits.policies.armed.assemble import ONE_REWARD, released_policy


def _sampling(t: Array) -> Array:
    """sqrt(2 log t), float32 ()."""
    return jnp.sqrt(2.0 * indices.log_round(t))


@lanes.elementwise
def _upper(total, counts, radius, width):
    root = indices.inverse_root(counts)
    return (total + radius) * root * root + width * root


def _mishra_thakurta(num_arms, epsilon, horizon, tail_prob, share) -> Policy:
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    horizon = validate.horizon(horizon)
    validate.epsilon(epsilon)
    validate.scalar("tail_prob", tail_prob, "strictly between 0 and 1", lambda g: 0 < g < 1)
    log_t = max(1.0, math.log(horizon))
    streams = counters.binary(num_streams=num_arms, horizon=horizon, epsilon=epsilon / share(num_arms))
    radius = central.single(share(num_arms) * log_t**2 * (jnp.log(num_arms * horizon * log_t) - jnp.log(tail_prob)) / epsilon)
    policy = released_policy(
        counter=streams,
        index=lambda release, t, z: _upper(release.total, release.counts, radius, _sampling(t)),
    )
    return policy._replace(claim=dataclasses.replace(policy.claim, epsilon=epsilon))


def mishra_thakurta_ucb(*, num_arms: int, epsilon: ArrayLike, horizon: int, tail_prob: ArrayLike = 0.1) -> Policy:
    """DP-UCB of Mishra and Thakurta with the whole epsilon for every arm.

    A binary counter an arm. Index S / N + sqrt(2 log t / N) + G / N, G = (log T)^2 log(K T log T / g) / epsilon, with log T read as
    at least 1. G is very large at horizons one can run. Deviation: the paper has epsilon / K an arm and a factor K in G, which is
    ``mishra_thakurta_ucb_split``; one reward enters one counter, so the whole epsilon suffices. Sound: epsilon-DP for a trusted
    server. Relation: one reward substituted, one round.

    Args:
      num_arms: K, number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      tail_prob: g, the probability that the noise of some release exceeds G.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _mishra_thakurta(num_arms, epsilon, horizon, tail_prob, lambda num_arms: 1)


def mishra_thakurta_ucb_split(*, num_arms: int, epsilon: ArrayLike, horizon: int, tail_prob: ArrayLike = 0.1) -> Policy:
    """DP-UCB of Mishra and Thakurta as printed: epsilon / K for each arm, and a factor K in G.

    As ``mishra_thakurta_ucb`` otherwise. Its regret is O(K (log T)^3 / (epsilon gap)). Sound: epsilon-DP for a trusted server, and
    K times better than claimed. Relation: one reward substituted, one round.

    Args:
      num_arms: K, number of arms.
      epsilon: privacy level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      tail_prob: g, the probability that the noise of some release exceeds G.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _mishra_thakurta(num_arms, epsilon, horizon, tail_prob, lambda num_arms: num_arms)


def dp_ucb_bound(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """DP-UCB-Bound: UCB1 on hybrid counters with a radius for their noise.

    Index S / N + sqrt(2 log t / N) + v / N, v = (sqrt(8) / epsilon) log(4 t^4), times log N + 1 unless N is a power of two. Sound:
    epsilon-DP for a trusted server, since one reward enters one counter. Relation: one reward substituted, one round. Tossou,
    Dimitrakakis 2016.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    validate.epsilon(epsilon)
    streams = counters.hybrid(num_streams=num_arms, epsilon=epsilon)

    @lanes.elementwise
    def radius(counts, log_t, scale):
        base = scale * np.float32(math.sqrt(8.0)) * (np.float32(math.log(4.0)) + 4.0 * log_t)
        grown = base * (jnp.log(jnp.maximum(counts, 1).astype(jnp.float32)) + 1.0)
        return jnp.where(counts & (counts - 1) == 0, base, grown)

    def index(release, t, z):
        wide = radius(release.counts, indices.log_round(t), central.single(streams.scale))
        return _upper(release.total, release.counts, wide, _sampling(t))

    return released_policy(counter=streams, index=index)


class EvenState(NamedTuple):
    """Streams that all grow by one entry a round."""

    seen: PyTree  # of the counter, one stream an arm
    pulls: Array  # [num_arms], int32


def dp_ucb(*, num_arms: int, epsilon: ArrayLike) -> Policy:
    """DP-UCB of Tossou and Dimitrakakis: UCB1 on hybrid counters, without a radius for their noise.

    In every round the counter of the pulled arm gets the reward and all others get 0, so that the streams grow evenly. Index
    S / N + sqrt(2 log t / N) after N pulls: a heuristic, since the noise grows with the round. Sound: epsilon-DP for a trusted
    server, since one reward enters one counter. Relation: one reward substituted, one round.

    Args:
      num_arms: number of arms.
      epsilon: privacy level, positive; inf adds no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    validate.epsilon(epsilon)
    streams = counters.hybrid(num_streams=num_arms, epsilon=epsilon)
    every = jnp.arange(num_arms, dtype=jnp.int32)

    def init(preview):
        return EvenState(seen=streams.init(), pulls=jnp.zeros(num_arms, jnp.int32))

    def act(state, round_, z):
        upper = _upper(streams.read(state.seen).total, state.pulls, jnp.float32(0.0), _sampling(round_.t))
        return lanes.top_k(jnp.where(state.pulls == 0, indices.unseen(state.pulls), upper), 1)

    def update(state, t, action, reward, z):
        rewards = lanes.add_at(jnp.zeros(num_arms, jnp.int32), action, reward[None])
        seen = streams.insert(state.seen, every, rewards, jnp.ones(num_arms, bool), z)
        return EvenState(seen=seen, pulls=lanes.count_at(state.pulls, action))

    return Policy(
        claim=dataclasses.replace(streams.claim, relation=ONE_REWARD),
        device_draws={},
        server_draws=streams.draws(num_arms),
        init=init,
        act=act,
        report=lambda round_, action, reward, z: reward,
        update=update,
        released=lambda state: streams.read(state.seen),
    )


class IntervalState(NamedTuple):
    """Exact sums, and the means that were released."""

    counts: Array  # [num_arms], int32
    total: Array  # [num_arms], int32
    mean: Array  # [num_arms], float32
    released: Array  # [num_arms], bool


def dp_ucb_int(*, num_arms: int, epsilon: ArrayLike, rate: ArrayLike = 1.1, interval: ArrayLike | None = None) -> Policy:
    """DP-UCB-Int: UCB1 on means that are released every ceil(1 / epsilon) pulls. No guarantee.

    The mean of all N pulls so far gets Lap(N^-(1 - rate/2)); index mean + sqrt(2 log t / N). Tossou, Dimitrakakis 2016, whose
    claim is an epsilon and a delta that grow with the rounds, not the epsilon given here.

    Args:
      num_arms: number of arms.
      epsilon: nominal privacy level, positive.
      rate: v, above 1 and at most 1.5.
      interval: ceil(1 / epsilon), derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    validate.epsilon(epsilon)
    validate.scalar("rate", rate, "above 1 and at most 1.5", lambda v: 1 < v <= 1.5)
    if interval is None:
        interval = float(min(max(math.ceil(1.0 / validate.number("epsilon", epsilon)), 1), 2**30))

    validate.scalar("interval", interval, "a number of pulls, from 1 to 2^30", lambda f: 1 <= f <= 2**30)

    @lanes.elementwise
    def noisy_mean(total, counts, z, exponent):
        n = jnp.maximum(counts, 1).astype(jnp.float32)
        return total.astype(jnp.float32) / n + z * jnp.exp(exponent * jnp.log(n))

    @lanes.elementwise
    def due(counts, interval):
        return counts % jnp.maximum(interval.astype(jnp.int32), 1) == 0

    upper = lanes.elementwise(lambda mean, counts, width: mean + width * indices.inverse_root(counts))

    def init(preview):
        zeros = jnp.zeros(num_arms, jnp.int32)
        return IntervalState(counts=zeros, total=zeros, mean=jnp.zeros(num_arms, jnp.float32), released=zeros > 0)

    def act(state, round_, z):
        index = upper(state.mean, state.counts, _sampling(round_.t))
        return lanes.top_k(jnp.where(state.released, index, indices.unseen(state.counts)), 1)

    def update(state, t, action, reward, z):
        counts = lanes.count_at(state.counts, action)
        total = lanes.add_at(state.total, action, reward[None])
        count = lanes.take(counts, action)
        release = due(count, central.single(interval))
        fresh = noisy_mean(lanes.take(total, action), count, z["noise"], central.single(0.5 * rate - 1.0))
        mean = lanes.set_at(state.mean, action, fresh, release)
        return IntervalState(counts=counts, total=total, mean=mean, released=lanes.set_at(state.released, action, release, release))

    return Policy(
        claim=Claim(
            status="paper", trust="central", relation=ONE_REWARD, epsilon=epsilon, flaw="what it spends grows with the number of rounds"
        ),
        device_draws={},
        server_draws={"noise": draws.laplace((1,))},
        init=init,
        act=act,
        report=lambda round_, action, reward, z: reward,
        update=update,
        released=lambda state: (state.mean, state.released),
        derived={"interval": interval},
    )
