"""The federated bandit: every agent pulls an arm in each slot, and sees the reward of its own pull.

Rewards are independent bits, of one mean an arm for all agents. The action is int32 [num_agents], the arm of each; the feedback is int32
[num_agents], the bits. Regret is summed over the agents.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import ActionKind, Problem, StretchProblem
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.engine.binomial import binomial
from jaxbandits.networks import Network, interface
from jaxbandits.problems.armed import armed
from jaxbandits.turns import times_pulled


def federated(*, means: ArrayLike, num_agents: int, network: Network | None = None, by_stretch: bool = True) -> Problem:
    """A federated K-armed bandit with Bernoulli rewards.

    Algorithms that pull arms for a stretch of slots without looking at what comes in are played a stretch at a time: the sum of an agent's
    rewards from one arm is one binomial number. The law is that of slot by slot, and the cost that of the communication rounds.

    Args:
      means: [num_arms], mean rewards, in [0, 1], paid to 24 binary digits. Their order does not matter.
      num_agents: how many agents, from 1 to 4096.
      network: who is linked to whom, for policies that talk over links and have not fixed one themselves.
      by_stretch: whether to play so; otherwise slot by slot.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.probabilities("means", means)
    validate.flag("by_stretch", by_stretch)
    num_agents = interface.agents(num_agents)
    shared = {} if network is None else {"network": interface.checked(network, num_agents, connected=False)}
    one = armed(means=means)
    num_arms = one.sizes["num_arms"]
    each = lanes.elementwise(lambda u, mean: (u < mean).astype(jnp.int32))
    gap = lanes.elementwise(lambda best, mean: best - mean)
    weighed = lanes.elementwise(lambda gap, times: gap * times.astype(jnp.float32) * np.float32(num_agents))
    apart = lanes.elementwise(lambda gaps, slots: gaps * slots.astype(jnp.float32))
    either = lanes.elementwise(lambda waiting, alone, together: jnp.where(waiting, alone, together))
    spread = lanes.elementwise(lambda value, zeros: value + zeros.astype(value.dtype))
    zeros = np.zeros((num_agents, num_arms), np.int32)

    def gaps(instance, arms):
        return gap(instance.best, lanes.take(instance.means, arms))

    def respond(instance, stretch, z):
        times = either(stretch.waiting, jnp.int32(0), times_pulled(stretch, stretch.slots))
        return binomial(z["rewards"], spread(times, zeros), spread(instance.means, zeros))

    def regret(instance, stretch, slots):
        together = linalg.total(weighed(gap(instance.best, instance.means), times_pulled(stretch, slots)))
        return either(stretch.waiting, apart(linalg.total(gaps(instance, stretch.own)), slots), together)

    def within(arms: Any) -> Any:
        return jnp.all((arms >= 0) & (arms < num_arms))

    return Problem(
        sizes={"num_arms": num_arms, "num_agents": num_agents},
        setup_draws=one.setup_draws,
        draws={"reward": draws.uniform((num_agents,))},
        setup=one.setup,
        preview=one.preview,
        context=one.context,
        respond=lambda instance, round_, action, z: each(z["reward"], lanes.take(instance.means, action)),
        regret=lambda instance, round_, action: linalg.total(gaps(instance, action)),
        legal=lambda instance, action: within(action),
        action=ActionKind((num_agents,), "int32"),
        shared=shared,
        stretches=StretchProblem(
            draws={"rewards": draws.bits((2, num_agents, num_arms))},
            respond=respond,
            regret=regret,
            legal=lambda instance, stretch: within(stretch.own) & (jnp.any(stretch.arms) | stretch.waiting),
        )
        if by_stretch
        else None,
    )
