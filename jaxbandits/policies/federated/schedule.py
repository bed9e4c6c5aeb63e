"""How long the epochs of a federated algorithm are, and how far apart means must be: S(r) and C(r) of arXiv 2111.01570.

The source lacks their constants. They are rebuilt so that C(r) <= gap_guess(r) / 2, from Hoeffding's inequality for the rewards and
a tail bound for the sum of all Laplace noises in a mean, with l = log(2 K T r (r + 1)) for a failure in any arm and epoch.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_EPOCHS = 64
"""Without a limit on communication, S(r) at least doubles and no run reaches a third of these."""

_LONGEST = 2.0**30

Tail = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(number of standard Laplace variables, l) -> a bound on their sum that fails with probability exp(-l)."""


def product_tail(draws: np.ndarray, log_term: np.ndarray) -> np.ndarray:
    """sqrt(8 n) l: the form with which the paper's orders come out; wider than need be."""
    return np.sqrt(8.0 * draws) * log_term


def max_tail(draws: np.ndarray, log_term: np.ndarray) -> np.ndarray:
    """sqrt(8 l) max(sqrt(n), sqrt(l)), of Chan, Shi, Song 2011."""
    return np.sqrt(8.0 * log_term) * np.maximum(np.sqrt(draws), np.sqrt(log_term))


class Means(NamedTuple):
    """What the compared means are made of.

    Attributes:
      participants: agents whose means are averaged.
      scale: of each Laplace noise, on the sum of an epoch's rewards.
      per_epoch: noises in the sum over the agents of one epoch.
      accumulate: whether all epochs are averaged, or the newest alone.
      tail: a bound for the sum of the noises.
    """

    participants: int
    scale: float
    per_epoch: int
    accumulate: bool
    tail: Tail


def gap_guesses(num_comm_rounds: float | None, smallest_gap: float | None, horizon: int) -> np.ndarray:
    """The gap that each epoch looks for, float64 [epochs]: 2^-r, or g^(r / R) where R rounds of communication are allowed."""
    r = np.arange(1, MOST_EPOCHS + 1)
    if num_comm_rounds is None:
        return 2.0**-r
    smallest = 1.0 / horizon if smallest_gap is None else smallest_gap
    return smallest ** (r[: round(num_comm_rounds)] / num_comm_rounds)


def _held_by_float32(counts: np.ndarray) -> np.ndarray:
    """Whole numbers, rounded up to what float32 holds."""
    single = counts.astype(np.float32)
    return np.where(single < counts, np.nextafter(single, np.float32(np.inf)), single).astype(np.float64)


def epochs(num_arms: int, horizon: int, means: Means, guesses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pulls of an arm in each epoch, S(r) - S(r - 1), and C(r), float64 [MOST_EPOCHS + 1].

    First term of C: sqrt(l / (2 M S)); second: the tail bound times the scale, over M S. A length of 0 says that no epoch is left.

    Args:
      num_arms: number of arms.
      horizon: number of rounds.
      means: what the means are made of.
      guesses: the gap that each epoch looks for.
    """
    r = np.arange(1.0, len(guesses) + 1)
    log_term = math.log(2 * num_arms * horizon) + np.log(r * (r + 1))
    noises = means.per_epoch * (r if means.accumulate else np.ones_like(r))
    spread = means.tail(noises, log_term) * means.scale
    by_sampling = 8.0 * log_term / (means.participants * guesses**2)
    by_noise = 4.0 * spread / (means.participants * guesses)
    wanted = np.ceil(np.minimum(np.maximum(by_sampling, by_noise), _LONGEST))
    lengths, reached = np.zeros(MOST_EPOCHS + 1), 0.0
    for i, total in enumerate(wanted):
        lengths[i] = _held_by_float32(np.asarray(max(total - reached, 1.0) if means.accumulate else total))
        reached = min(reached + lengths[i], _LONGEST)
    used = (np.cumsum(lengths) if means.accumulate else lengths)[: len(guesses)]
    radii = np.zeros(MOST_EPOCHS + 1)
    radii[: len(guesses)] = np.sqrt(log_term / (2.0 * means.participants * used)) + spread / (means.participants * used)
    return lengths, radii
