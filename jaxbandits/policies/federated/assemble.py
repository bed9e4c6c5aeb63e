"""What federated factories share: their arguments checked, and the rules made of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandits import validate
from jaxbandits.core import Claim, Policy
from jaxbandits.networks import interface
from jaxbandits.policies.federated import epochs, schedule
from jaxbandits.policies.federated.schedule import MOST_EPOCHS, Means, max_tail, product_tail

ONE_REWARD = "one reward of one agent substituted, one slot"
"""The neighbouring relation of a federated bandit."""

TOO_LITTLE = "the noise in an agent's upload is scaled to the number of agents times epsilon"
AND_RAW = f"{TOO_LITTLE}, and agents that wait choose by their raw means, in plain view"


class Mode(NamedTuple):
    """How noisy an upload is, and what it is taken for.

    Attributes:
      scale: (participants, epsilon) -> scale of the noise on an agent's sum of an epoch.
      tail: a bound for a sum of such noises.
      private_wait: whether agents that wait choose by their noisy means.
      status: of the claim.
    """

    scale: Callable[[int, float], float]
    tail: schedule.Tail
    private_wait: bool
    status: Any


def _nominal(participants: int, epsilon: float) -> float:
    return 1.0 / (participants * epsilon)


def _of_one(participants: int, epsilon: float) -> float:
    return 1.0 / epsilon


PAPER = Mode(_nominal, product_tail, private_wait=False, status="paper")
CALIBRATED = Mode(_nominal, max_tail, private_wait=False, status="calibrated")
SOUND = Mode(_of_one, max_tail, private_wait=True, status="sound")


class Options(NamedTuple):
    """The optional arguments of the factories, as they are given.

    Attributes:
      newest_epoch: whether means are of the newest epoch alone.
      secure_sum: whether the server sees the sum of the uploads only.
      participation: share of the agents that send means.
      num_comm_rounds: R, or None.
      smallest_gap: the gap at which R rounds arrive, or None.
    """

    newest_epoch: bool = False
    secure_sum: bool = False
    participation: Any = 1.0
    num_comm_rounds: Any = None
    smallest_gap: Any = None


def participants(participation: float, num_agents: int) -> int:
    """How many agents a share of them is, at least one."""
    return max(1, round(participation * num_agents))


def _check(options: Options) -> None:
    validate.flag("newest_epoch", options.newest_epoch)
    validate.scalar("participation", options.participation, "above 0 and at most 1", lambda p: 0 < p <= 1)
    if options.num_comm_rounds is not None:
        whole = f"a whole number from 1 to {MOST_EPOCHS}"
        validate.scalar("num_comm_rounds", options.num_comm_rounds, whole, lambda r: 1 <= r <= MOST_EPOCHS and r == round(r))
    if options.smallest_gap is not None:
        validate.scalar("smallest_gap", options.smallest_gap, "above 0 and below 1", lambda g: 0 < g < 1)
        if options.num_comm_rounds is None:
            raise ValueError(f"smallest_gap is for num_comm_rounds only, which is None; got {options.smallest_gap!r}")


def _worked_out(num_arms: int, num_agents: int, epsilon: Any, horizon: int, mode: Mode, options: Options) -> np.ndarray:
    """The course of a run, float64 [_COURSE]: lengths, radii, scale of the noise, number of agents that send."""

    def given(name: str, value: Any) -> float | None:
        return None if value is None else validate.number(name, value)

    rounds, gap = given("num_comm_rounds", options.num_comm_rounds), given("smallest_gap", options.smallest_gap)
    sending = participants(validate.number("participation", options.participation), num_agents)
    scale = mode.scale(sending, validate.number("epsilon", epsilon))
    compared = Means(sending, scale, 1 if options.secure_sum else sending, not options.newest_epoch, mode.tail)
    lengths, radii = schedule.epochs(num_arms, horizon, compared, schedule.gap_guesses(rounds, gap, horizon))
    return np.concatenate([lengths, radii, [scale, sending]])


_COURSE = 2 * (MOST_EPOCHS + 1) + 2


def assemble(
    *,
    num_arms: Any,
    num_agents: Any,
    epsilon: Any,
    horizon: Any,
    mode: Mode,
    course: Any,
    delay: int = 0,
    options: Options = Options(),
    claim: Claim | None = None,
) -> Policy:
    """A federated policy.

    Args:
      num_arms: number of arms.
      num_agents: number of agents.
      epsilon: privacy level.
      horizon: number of rounds.
      mode: how noisy an upload is.
      course: what ``_worked_out`` found before, or None.
      delay: slots that the means travel.
      options: the rest.
      claim: another one than that of the mode.
    """
    num_arms = validate.size("num_arms", num_arms, 1, validate.MOST_ITEMS)
    num_agents = interface.agents(num_agents)
    horizon = validate.horizon(horizon)
    validate.epsilon(epsilon)
    _check(options)
    if course is None:
        course = _worked_out(num_arms, num_agents, epsilon, horizon, mode, options)
    validate.table("course", course, (_COURSE,), "finite numbers, at least 0", lambda n: (n >= 0) & np.isfinite(n))
    single, after = jnp.asarray(course, jnp.float32), MOST_EPOCHS + 1
    rules = epochs.Rules(
        num_arms=num_arms,
        num_agents=num_agents,
        delay=delay,
        accumulate=not options.newest_epoch,
        private_wait=mode.private_wait,
        num_noises=1 if options.secure_sum else num_agents,
        lengths=single[:after],
        radii=single[after : 2 * after],
        scale=single[-2],
        participants=single[-1],
    )
    flaw = "" if mode.status == "sound" else AND_RAW if delay else TOO_LITTLE
    own = Claim(status=mode.status, trust="agent", relation=ONE_REWARD, sensitivity="L1 1", epsilon=epsilon, flaw=flaw)
    return epochs.policy(rules, claim or own, {"course": course})
