"""Events that tell two worlds apart, chosen on some transcripts and bounded on others.

Every number of a transcript is cut into bins; the score of a transcript adds, over its numbers, the logarithm of how much more often
their bins occur in the first world. For a message of independent parts that is the best test there is. An event is a score of at least so
much, of all numbers together or of one alone.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

_FEW = 40
"""Values of a number that are told apart one by one; others are binned by quantile, but for those that occur often."""

_OFTEN = 0.01
_TAIL = np.array([1e-4, 3e-4, 1e-3, 3e-3, 0.01])
_LEVELS = np.concatenate([_TAIL, np.linspace(0.02, 0.98, 49), 1 - _TAIL[::-1]])
_GLANCE = 20_000
_CANDIDATES = 8
_THRESHOLDS = 400
_SURE = 1 - 1e-5
"""The confidence at which events are compared: of thousands, some rare ones look good by chance."""


class Bins(NamedTuple):
    """How one number of a transcript is cut up: values that stand alone, and edges between the others."""

    atoms: np.ndarray
    edges: np.ndarray

    def __len__(self) -> int:
        return len(self.atoms) + len(self.edges) + 1

    def code(self, values: np.ndarray) -> np.ndarray:
        """The bin of each value."""
        code = np.searchsorted(self.edges, values, side="right")
        if len(self.atoms):
            place = np.minimum(np.searchsorted(self.atoms, values), len(self.atoms) - 1)
            code = np.where(self.atoms[place] == values, len(self.edges) + 1 + place, code)
        return code


def bins(values: np.ndarray) -> Bins:
    """Bins for the values of one number in all worlds."""
    some, counts = np.unique(values[:: max(1, len(values) // _GLANCE)], return_counts=True)
    if len(some) <= _FEW:
        return Bins(some, np.empty(0, values.dtype))
    atoms = some[counts > _OFTEN * counts.sum()]
    rest = values[~np.isin(values, atoms)] if len(atoms) else values
    return Bins(atoms, np.unique(np.quantile(rest, _LEVELS)) if len(rest) else np.empty(0, values.dtype))


class Event(NamedTuple):
    """A score of at least a threshold; likelier in the first world than in the second."""

    first: int
    second: int
    numbers: tuple[int, ...]  # which numbers of a transcript it looks at
    bins: tuple[Bins, ...]
    weights: tuple[np.ndarray, ...]  # of the bins of each
    threshold: float

    def holds(self, transcripts: np.ndarray) -> np.ndarray:
        """Whether it occurred, bool [runs]. transcripts: [runs, numbers]."""
        parts = [w[b.code(transcripts[:, i])] for i, b, w in zip(self.numbers, self.bins, self.weights, strict=True)]
        return np.sum(parts, axis=0) >= self.threshold


def proportion_bounds(hits: np.ndarray, runs: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's bounds on a probability, each of which holds with probability 1 - (1 - confidence) / 2."""
    hits, tail = np.asarray(hits, np.float64), (1 - confidence) / 2
    low = np.where(hits > 0, stats.beta.ppf(tail, np.maximum(hits, 1), runs - hits + 1), 0.0)
    high = np.where(hits < runs, stats.beta.ppf(1 - tail, hits + 1, np.maximum(runs - hits, 1)), 1.0)
    return low, high


def epsilon_bound(first: np.ndarray, second: np.ndarray, runs: int, delta: float, confidence: float) -> np.ndarray:
    """log((P - delta) / Q), P the lower bound on the probability in the first world and Q the upper one in the second; at least 0."""
    low, high = proportion_bounds(first, runs, confidence)[0], proportion_bounds(second, runs, confidence)[1]
    return np.log(np.maximum(low - delta, high) / high)


def choose(worlds: Sequence[np.ndarray], delta: float) -> Event | None:
    """The event of the largest bound on epsilon by these transcripts; None if no number tells any two worlds apart.

    Args:
      worlds: the transcripts of each world, [runs, numbers].
      delta: of the bound.
    """
    runs = len(worlds[0])
    pooled = np.concatenate(worlds)
    varied = [i for i in range(pooled.shape[1]) if np.any(pooled[:, i] != pooled[0, i])]
    cut = {i: bins(pooled[:, i]) for i in varied}
    codes = [{i: cut[i].code(world[:, i]) for i in varied} for world in worlds]
    counts = [{i: np.bincount(code[i], minlength=len(cut[i])) for i in varied} for code in codes]
    best, found = 0.0, None
    for first, second in itertools.permutations(range(len(worlds)), 2):
        weights = {i: _weights(counts[first][i], counts[second][i]) for i in varied}
        telling = [i for i in varied if np.any(weights[i])]
        telling.sort(key=lambda i: -float(np.sum((counts[first][i] - counts[second][i]) * weights[i])))
        for numbers in [telling] * (len(telling) > 1) + [[i] for i in telling[:_CANDIDATES]]:
            scores = [np.sum([weights[i][codes[w][i]] for i in numbers], axis=0) for w in (first, second)]
            threshold, bound = _threshold(scores[0], scores[1], runs, delta)
            if bound > best:
                best = bound
                found = Event(first, second, tuple(numbers), tuple(cut[i] for i in numbers), tuple(weights[i] for i in numbers), threshold)
    return found


def _weights(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The logarithm of the ratio of two frequencies, 0 where chance may have made the difference."""
    clear = np.abs(first - second) > 3.0 * np.sqrt(first + second + 1.0)
    return np.where(clear, np.log((first + 0.5) / (second + 0.5)), 0.0)


def _threshold(first: np.ndarray, second: np.ndarray, runs: int, delta: float) -> tuple[float, float]:
    """The threshold of the largest bound, and the bound."""
    levels = np.unique(first)
    if len(levels) > _THRESHOLDS:
        spread = np.concatenate([np.linspace(0, 1, _THRESHOLDS), 1 - np.geomspace(1e-5, 0.1, 50)])
        levels = np.unique(np.quantile(first, spread, method="nearest"))
    ordered = np.sort(first), np.sort(second)
    hits = [runs - np.searchsorted(o, levels, side="left") for o in ordered]
    bounds = epsilon_bound(hits[0], hits[1], runs, delta, _SURE)
    at = int(np.argmax(bounds))
    return float(levels[at]), float(bounds[at])
