"""What federated factories share: their arguments checked, and the rules made of them."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandits import validate
from jaxbandits.core import Claim, Policy, Status
from jaxbandits.networks import interface
from jaxbandits.policies import central
from jaxbandits.policies.federated import epochs
from jaxbandits.theory import federated_epochs
from jaxbandits.theory.federated_epochs import MOST_EPOCHS, Mode

ONE_REWARD = "one reward of one agent substituted, one slot"
"""The neighbouring relation of a federated bandit."""

TOO_LITTLE = "the noise in an agent's upload is scaled to the number of agents times epsilon"
AND_RAW = f"{TOO_LITTLE}, and agents that wait choose by their raw means, in plain view"


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


_NO_OPTIONS = Options()


def _check(options: Options) -> None:
    validate.flag("newest_epoch", options.newest_epoch)
    validate.scalar("participation", options.participation, "from 1e-6 to 1", lambda p: 0.999999e-6 <= p <= 1)
    if options.num_comm_rounds is not None:
        whole = f"a whole number from 1 to {MOST_EPOCHS}, or inf"
        validate.scalar(
            "num_comm_rounds", options.num_comm_rounds, whole, lambda r: r == np.inf or (1 <= r <= MOST_EPOCHS and r == round(r))
        )
    if options.smallest_gap is not None:
        validate.scalar("smallest_gap", options.smallest_gap, "from 1e-9 to 0.999", lambda g: 0.999999e-9 <= g <= 0.9990001)
        if options.num_comm_rounds is None:
            raise ValueError(f"smallest_gap is for num_comm_rounds only, which is None; got {options.smallest_gap!r}")


def _worked_out(num_arms: int, num_agents: int, epsilon: Any, horizon: int, mode: Mode, delay: int, options: Options) -> np.ndarray:
    """The course of a run, float64 [_COURSE]: lengths, radii, slots that means travel, number of agents that send."""

    def given(name: str, value: Any) -> float | None:
        return None if value is None else validate.number(name, value)

    rounds, gap = given("num_comm_rounds", options.num_comm_rounds), given("smallest_gap", options.smallest_gap)
    sending = federated_epochs.participants(validate.number("participation", options.participation), num_agents)
    scale = mode.scale(sending, validate.number("epsilon", epsilon))
    lengths, radii = federated_epochs.epochs(
        num_arms,
        horizon,
        sending,
        scale,
        mode,
        federated_epochs.gap_guesses(rounds, gap, horizon),
        single_noise=options.secure_sum,
        accumulate=not options.newest_epoch,
    )
    return np.concatenate([lengths, radii, [delay, sending]])


def _check_course(course: Any, num_agents: int, delay: int) -> None:
    after = MOST_EPOCHS + 1

    def fits(numbers: np.ndarray) -> np.ndarray:
        if numbers.shape != (_COURSE,):
            return np.zeros(1, bool)
        lengths, radii, (slots, sending) = numbers[:after], numbers[after:-2], numbers[-2:]
        whole = (lengths == np.round(lengths)) & (lengths >= 0) & (lengths <= 2**30)
        senders = 1 <= sending <= num_agents and sending == round(sending)
        return np.array([whole.all(), lengths[0] >= 1, ((radii >= 0) & (radii < np.inf)).all(), slots == delay, senders])

    validate.table("course", course, (_COURSE,), "numbers that the factory has worked out", fits)


_COURSE = 2 * (MOST_EPOCHS + 1) + 2


def assemble(
    *,
    num_arms: Any,
    num_agents: Any,
    epsilon: Any,
    horizon: Any,
    mode: Mode,
    status: Status,
    course: Any,
    delay: int = 0,
    options: Options = _NO_OPTIONS,
    claim: Claim | None = None,
) -> Policy:
    """A federated policy.

    Args:
      num_arms: number of arms.
      num_agents: number of agents.
      epsilon: privacy level.
      horizon: number of rounds.
      mode: how noisy an upload is, and what it is taken for.
      status: of the claim. In a sound policy agents that wait choose by their noisy means, in others by their raw ones.
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
        course = _worked_out(num_arms, num_agents, epsilon, horizon, mode, delay, options)
    _check_course(course, num_agents, delay)
    single, after = jnp.asarray(course, jnp.float32), MOST_EPOCHS + 1
    rules = epochs.Rules(
        num_arms=num_arms,
        num_agents=num_agents,
        waits=delay > 0,
        accumulate=not options.newest_epoch,
        private_wait=status == "sound",
        num_noises=1 if options.secure_sum else num_agents,
        lengths=single[:after],
        radii=single[after : 2 * after],
        scale=jnp.asarray(mode.scale(single[-1], central.single(epsilon)), jnp.float32),  # never out of step with the claim
        participants=single[-1],
        delay=single[-2],
    )
    flaw = "" if status == "sound" else AND_RAW if delay else TOO_LITTLE
    own = Claim(status=status, trust="agent", relation=ONE_REWARD, sensitivity="L1 1", epsilon=epsilon, flaw=flaw)
    return epochs.policy(rules, claim or own, {"course": course})
