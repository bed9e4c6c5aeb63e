"""How often the indices of R, O, G and Lap fall below the attraction: at most once in t rounds, after t of them.

An index is below w if and only if what it rests on fails an inequality at w, which is evaluated on the states of 1e5 items that were
played. Three items in lists of three, so that all are displayed in every round. F and DP-F are in test_central_numbers.
"""

import math
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, problems, run
from jaxbandits.mechanisms import calibrate, tails
from jaxbandits.policies import cascade

K, EPSILON, DELTA = 3, 1.0, 1e-3
ROUNDS, SEEDS = (100, 1000), 33_400


def total(name, state, instance):
    return getattr(state.recent, name) + getattr(state.folded, name).high


STATES = {
    "w": lambda state, instance: 1 - instance.skip,
    "n": lambda state, instance: state.counts,
    "x": partial(total, "clicked"),
    "o": partial(total, "examined"),
    "h": partial(total, "above"),
}


def response_excess(w, n, x, o, h, log_t, shrink):
    """W O - X over the radius of R that is its due."""
    d = (math.exp(EPSILON) - 1) / (math.exp(EPSILON) + K)
    return w * o - x - shrink * np.sqrt(6 * n / (4 * d * d) * log_t)


def mixed_excess(spread, w, n, x, o, h, log_t, shrink):
    return w * o - x - shrink * np.sqrt(2 * (4 * log_t + math.log(K)) * (n / 4 + spread * (n + w * w * h)))


def laplace_excess(w, n, x, o, h, log_t, shrink):
    tail = np.array([tails.laplace_chernoff([2 / EPSILON], [k], 1 / (K * math.exp(4 * log_t))) for k in np.unique(n + h)])
    tail = tail[np.searchsorted(np.unique(n + h), n + h)]
    return w * o - x - shrink * (np.sqrt(1.5 * n * log_t) + tail)


C_SQUARED = ((math.exp(EPSILON) + 1) / (math.exp(EPSILON) - 1)) ** 2
SIGMA_SQUARED = calibrate.analytic_sigma(EPSILON, DELTA, 2**0.5) ** 2
CASES = {
    "R": (cascade.all_ldp_response_ucb1, response_excess),
    "O": (cascade.all_ldp_unary_ucb1, partial(mixed_excess, C_SQUARED)),
    "G": (
        partial(cascade.all_ldp_gaussian_ucb1, delta=DELTA),
        partial(mixed_excess, SIGMA_SQUARED),
    ),
    "Lap": (cascade.all_ldp_laplace_ucb1, laplace_excess),
}


@pytest.mark.parametrize("name", CASES)
def test_indices_lie_above_the_attraction_but_once_in_t(name):
    """4 standard errors; a radius of a sixth fails far more often."""
    policy, excess = CASES[name]
    study = Study(
        problem=partial(problems.cascade, means=np.array([0.2, 0.5, 0.8]), list_len=K),
        policies={"p": partial(policy, epsilon=EPSILON)},
        seeds=SEEDS,
        horizon=ROUNDS[-1],
        checkpoints=list(ROUNDS),
        metrics=STATES,
    )
    found = run(study, progress=False).isel(policy=0)
    for t in ROUNDS:
        state = {key: found[key].sel(round=t).values.ravel().astype(np.float64) for key in STATES}
        assert state["w"].size >= 1e5
        assert np.all(state["n"] == t)
        known = state["o"] > 0
        failed = np.mean(known & (excess(**state, log_t=math.log(t), shrink=1.0) > 0))
        assert failed <= 1 / t + 4 * math.sqrt(1 / t / state["w"].size), (t, failed)
        assert np.mean(known & (excess(**state, log_t=math.log(t), shrink=1 / 6) > 0)) > 4 / t
