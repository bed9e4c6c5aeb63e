"""What federated algorithms are compared with: no noise, and no federation."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandits.core import NON_PRIVATE, Draw, Draws, Policy
from jaxbandits.networks import interface
from jaxbandits.policies.armed.elimination import dp_se
from jaxbandits.policies.armed.local import ucb1
from jaxbandits.policies.federated.assemble import ONE_REWARD, assemble
from jaxbandits.theory.federated_epochs import SOUND


def federated_elimination(*, num_arms: int, num_agents: int, horizon: int, course: ArrayLike | None = None) -> Policy:
    """CDP-MAB without noise: every agent sends its means as they are.

    Regret O(sum over arms of log T / gap) in sum over the agents. Non-private.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      horizon: T, number of rounds; a study fills it in.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(
        num_arms=num_arms,
        num_agents=num_agents,
        epsilon=np.inf,
        horizon=horizon,
        mode=SOUND,
        status="sound",
        course=course,
        claim=NON_PRIVATE,
    )


def _of_each(declared: Draws, num_agents: int) -> dict[str, Draw]:
    """The same draws for every agent."""

    def repeated(draw: Draw) -> Draw:
        def law(words):
            each = words.reshape((num_agents, draw.words, *words.shape[1:]))
            values = jax.vmap(draw.law)(each)[:, : math.prod(draw.shape)]
            return values.reshape((-1, *values.shape[2:]))

        return Draw(law, (num_agents, *draw.shape), num_agents * draw.words)

    return {name: repeated(draw) for name, draw in declared.items()}


def each_agent(policy: Policy, num_agents: int) -> Policy:
    """Agents that all play a policy for K arms, and never talk: slot by slot, at M times the cost of one.

    Args:
      policy: that of one agent, for a K-armed bandit. What its server tells its device stays with the agent.
      num_agents: how many agents.

    Raises:
      ValueError: if policy is no policy, or num_agents is out of range.
    """
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a Policy, such as armed.ucb1(num_arms=5); got {policy!r}")
    num_agents = interface.agents(num_agents)

    def act(state, round_, z):
        return jax.vmap(lambda state, z: policy.act(state, round_, z)[0])(state, z)

    def report(round_, action, rewards, z):
        def one(arm, reward, told, z):
            return policy.report(round_._replace(broadcast=told), arm[None], reward, z)

        return jax.vmap(one)(action, rewards, round_.broadcast, z)

    def update(state, t, action, messages, z):
        return jax.vmap(lambda state, arm, message, z: policy.update(state, t, arm[None], message, z))(state, action, messages, z)

    def init(preview):
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (num_agents, *jnp.shape(x))), policy.init(preview))

    of_agent = dataclasses.replace(policy.claim, trust="agent", relation=ONE_REWARD)
    return policy._replace(
        claim=of_agent if policy.claim.trust == "central" else policy.claim,
        device_draws=_of_each(policy.device_draws, num_agents),
        server_draws=_of_each(policy.server_draws, num_agents),
        init=init,
        act=act,
        report=report,
        update=update,
        settle=None if policy.settle is None else jax.vmap(policy.settle),
        broadcast=None if policy.broadcast is None else jax.vmap(policy.broadcast),
        stretches=None,
        released=None if policy.released is None else jax.vmap(policy.released),
    )


def independent_dp_se(*, num_arms: int, num_agents: int, epsilon: ArrayLike, horizon: int, lengths: ArrayLike | None = None) -> Policy:
    """Agents that play DP-SE each for itself, without any communication.

    Played slot by slot. Regret M times that of ``armed.dp_se``. Sound: epsilon-DP for each agent, against all that see its pulls, since
    each reward enters one release. Relation: one reward of one agent substituted, one slot. Sajed, Sheffet 2019.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      epsilon: privacy level of each agent, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      lengths: pulls by epoch and arms left, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return each_agent(dp_se(num_arms=num_arms, epsilon=epsilon, horizon=horizon, lengths=lengths), num_agents)


def independent_ucb1(*, num_arms: int, num_agents: int) -> Policy:
    """Agents that play UCB1 each for itself, without any communication.

    Played slot by slot. Regret M times that of ``armed.ucb1``. Non-private.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.

    Raises:
      ValueError: if an argument is out of range.
    """
    return each_agent(ucb1(num_arms=num_arms), num_agents)
