"""Long runs lose nothing: counts and sums of regret after 1e8 rounds, and a short twin.

Every number is compared with what it must be: counts add up to the rounds exactly; the regret is the sum over arms of count times gap,
to the 1e-6 of a compensated sum; the sums of responses lie within 4 standard errors of count times mean.
"""

from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, twenty_arms


def counts(state, instance):
    return state.counts


def gaps(state, instance):
    return instance.best - instance.means


def means(state, instance):
    return instance.means


def high(state, instance):
    return state.folded.high


def rest(state, instance):
    return state.total - state.folded.low


def check(horizon, epsilon):
    metrics = {f.__name__: f for f in (counts, gaps, means, high, rest)}
    study = Study(
        problem=partial(armed, means=twenty_arms()),
        policies={"p": partial(policies.ldp_ucb_laplace, epsilon=epsilon)},
        seeds=16,
        horizon=horizon,
        checkpoints=[horizon // 10, horizon],
        metrics=metrics,
    )
    results = run(study, progress=False).isel(policy=0)
    pulls, gap, mean = (results[name].values for name in ("counts", "gaps", "means"))
    assert (pulls.sum(axis=-1) == np.array([horizon // 10, horizon])).all()
    np.testing.assert_allclose(results["regret"].values, (pulls * gap).sum(axis=-1), rtol=1e-6)
    total = results["high"].values + results["rest"].values
    deviation = np.sqrt(pulls * (mean * (1 - mean) + 2 / epsilon**2))
    # The best arms of a UCB policy are pulled more after good luck, so this is about arms pulled often, whose luck has averaged out.
    often = pulls > 0.2 * horizon
    assert often.any()
    assert (np.abs(total - pulls * mean)[often] <= 4.5 * deviation[often]).all()
    assert (np.abs(total - pulls * (mean + 0.01))[often] > 4.5 * deviation[often]).any(), "a bias of 0.01 would show"


@pytest.mark.full
def test_a_hundred_million_rounds():
    check(100_000_000, 2.0)


def test_a_hundred_thousand_rounds():
    check(200_000, 20.0)
