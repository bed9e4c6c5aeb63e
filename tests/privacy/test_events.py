"""Events on transcripts of known laws."""

import numpy as np
import pytest
from scipy import stats

from jaxbandits.privacy import events


@pytest.mark.parametrize("p", [1e-4, 0.03, 0.5, 0.999])
def test_the_bounds_on_a_proportion_cover_it(p):
    """Exactly, by summing over all numbers of hits: each side is missed with probability 2.5 % at most, and not much less."""
    runs = 20_000
    hits = np.arange(runs + 1)
    low, high = events.proportion_bounds(hits, runs, 0.95)
    law = stats.binom.pmf(hits, runs, p)
    for missed in (low > p, high < p):
        assert law[missed].sum() <= 0.025 + 1e-9
    assert law[(low > p * 1.5) | (high < p / 1.5)].sum() < 0.025
    loose = events.proportion_bounds(hits, runs, 0.8)
    assert law[(loose[0] > p) | (loose[1] < p)].sum() > 0.05, "a lower confidence must miss more often"


def test_the_bounds_at_the_ends():
    low, high = events.proportion_bounds(np.array([0, 100]), 100, 0.95)
    np.testing.assert_allclose([low[0], high[1]], [0.0, 1.0])
    np.testing.assert_allclose([high[0], low[1]], [1 - 0.025 ** (1 / 100), 0.025 ** (1 / 100)])


def test_an_epsilon_of_two_probabilities():
    runs = 10**9  # so many that the bounds are the frequencies
    bound = float(events.epsilon_bound(np.asarray(4 * 10**8), np.asarray(10**8), runs, 0.0, 0.95))
    assert bound == pytest.approx(np.log(4), abs=1e-3)
    shifted = float(events.epsilon_bound(np.asarray(4 * 10**8), np.asarray(10**8), runs, 0.1, 0.95))
    assert shifted == pytest.approx(np.log(3), abs=1e-3)
    assert events.epsilon_bound(np.asarray(10), np.asarray(20), 100, 0.0, 0.95) == 0.0


def normal_worlds(shift, runs=40_000, numbers=5):
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, runs, numbers)).astype(np.float32)
    first[:, 1] += shift
    return first, second


def test_the_event_looks_where_the_worlds_differ():
    first, second = normal_worlds(1.0)
    event = events.choose([first, second], 0.0)
    assert event is not None
    assert event.numbers == (1,)
    assert event.holds(first).mean() > 1.5 * event.holds(second).mean()


def test_worlds_of_one_law_are_not_told_apart():
    first, second = normal_worlds(0.0)
    event = events.choose([first, second], 0.0)
    assert event is None or event.holds(first).mean() < 1.2 * event.holds(second).mean() + 1e-3


def test_parts_are_put_together():
    """Ten independent bits of epsilon 0.4 each: no one of them shows more than 0.4, all of them much more."""
    rng, p = np.random.default_rng(4), 1 / (1 + np.exp(-0.4))
    first, second = (rng.random((100_000, 10)) < p).astype(np.float32), (rng.random((100_000, 10)) >= p).astype(np.float32)
    event = events.choose([first, second], 0.0)
    assert event is not None
    assert len(event.numbers) == 10
    hits = [np.asarray(event.holds(w).sum()) for w in (first, second)]
    assert 1.2 < events.epsilon_bound(hits[0], hits[1], 100_000, 0.0, 0.95) < 4.0


def test_values_that_occur_often_are_bins_of_their_own():
    rng = np.random.default_rng(5)
    values = np.where(rng.random(50_000) < 0.3, 0.0, rng.normal(size=50_000)).astype(np.float32)
    cut = events.bins(values)
    assert list(cut.atoms) == [0.0]
    code = cut.code(np.array([0.0, 1e-6, -1e-6], np.float32))
    assert code[0] != code[1]
    assert code[0] != code[2]
    assert set(events.bins(np.array([1, 2, 2, 3], np.float32)).atoms) == {1, 2, 3}
    assert len(cut) > code.max()
