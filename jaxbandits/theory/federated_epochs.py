"""How long the epochs of a federated algorithm are, and how far apart means must be: S(r) and C(r) of arXiv 2111.01570.

The source lacks their constants. They are rebuilt so that C(r) <= gap_guess(r) / 2, from Hoeffding's inequality for the rewards and
a tail bound for the sum of all Laplace noises in a mean, with l = log(2 K T r (r + 1)) for a failure in any arm and epoch.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MOST_EPOCHS = 64
"""Without a limit on communication, the first term of S(r) grows by four, so that no run of 2^31 rounds reaches a third of these."""

_LONGEST = 2.0**30

Tail = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(number of standard Laplace variables, l) -> a bound on their sum that fails with probability exp(-l)."""


def product_tail(draws: np.ndarray, log_term: np.ndarray) -> np.ndarray:
    """sqrt(8 n) l: the form with which the paper's orders come out; wider than need be."""
    return np.sqrt(8.0 * draws) * log_term


def max_tail(draws: np.ndarray, log_term: np.ndarray) -> np.ndarray:
    """sqrt(8 l) max(sqrt(n), sqrt(l)), of Chan, Shi, Song 2011."""
    return np.sqrt(8.0 * log_term) * np.maximum(np.sqrt(draws), np.sqrt(log_term))


class Mode(NamedTuple):
    """How noisy an upload is, and what it is taken for.

    Attributes:
      scale: (participants, epsilon) -> scale of the noise on an agent's sum of an epoch, of numbers or traced values.
      tail: a bound for a sum of such noises.
    """

    scale: Callable[[Any, Any], Any]
    tail: Tail


def _nominal(participants: Any, epsilon: Any) -> Any:
    return 1.0 / (participants * epsilon)


def _of_one(participants: Any, epsilon: Any) -> Any:
    return 1.0 / epsilon


PAPER = Mode(_nominal, product_tail)
"""As printed: M times too little noise."""
CALIBRATED = Mode(_nominal, max_tail)
"""The noise of the paper, and a tail that fits it better."""
SOUND = Mode(_of_one, max_tail)
"""Noise for one agent."""


def participants(participation: float, num_agents: int) -> int:
    """How many agents a share of them is, at least one."""
    return max(1, round(participation * num_agents))


def gap_guesses(num_comm_rounds: float | None, smallest_gap: float | None, horizon: int) -> np.ndarray:
    """The gap that each epoch looks for, float64 [epochs]: 2^-r, or g^(r / R) where R rounds of communication are allowed."""
    r = np.arange(1, MOST_EPOCHS + 1)
    if num_comm_rounds is None or math.isinf(num_comm_rounds):
        return 2.0**-r
    smallest = 1.0 / horizon if smallest_gap is None else smallest_gap
    return smallest ** (r[: round(num_comm_rounds)] / num_comm_rounds)


def held_by_float32(counts: np.ndarray) -> np.ndarray:
    """Whole numbers, rounded up to what float32 holds."""
    single = counts.astype(np.float32)
    return np.where(single < counts, np.nextafter(single, np.float32(np.inf)), single).astype(np.float64)


def epochs(
    num_arms: int,
    horizon: int,
    participants: int,
    scale: float,
    mode: Mode,
    guesses: np.ndarray,
    *,
    single_noise: bool = False,
    accumulate: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Pulls of an arm in each epoch, S(r) - S(r - 1), and C(r), float64 [MOST_EPOCHS + 1].

    First term of C: sqrt(l / (2 M S)); second: the tail bound times the scale, over M S. A length of 0 says that no epoch is left.

    Args:
      num_arms: number of arms, K.
      horizon: number of rounds, T.
      participants: agents whose means are averaged, M.
      scale: of each Laplace noise, on the sum of an epoch's rewards.
      mode: whose tail bounds the sum of the noises.
      guesses: the gap that each epoch looks for.
      single_noise: whether the sum over the agents has one noise an epoch, not one for each agent.
      accumulate: whether means are of all epochs, or of the newest alone.
    """
    r = np.arange(1.0, len(guesses) + 1)
    log_term = math.log(2 * num_arms * horizon) + np.log(r * (r + 1))
    noises = (1 if single_noise else participants) * (r if accumulate else np.ones_like(r))
    spread = mode.tail(noises, log_term) * scale
    by_sampling = 8.0 * log_term / (participants * guesses**2)
    by_noise = 4.0 * spread / (participants * guesses)
    wanted = np.ceil(np.minimum(np.maximum(by_sampling, by_noise), _LONGEST))
    lengths, reached = np.zeros(MOST_EPOCHS + 1), 0.0
    for i, total in enumerate(wanted):
        lengths[i] = held_by_float32(np.asarray(max(total - reached, 1.0) if accumulate else total))
        reached = min(reached + lengths[i], _LONGEST)
    used = (np.cumsum(lengths) if accumulate else lengths)[: len(guesses)]
    radii = np.zeros(MOST_EPOCHS + 1)
    radii[: len(guesses)] = np.sqrt(log_term / (2.0 * participants * used)) + spread / (participants * used)
    return lengths, radii
