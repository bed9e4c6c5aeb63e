"""Seeds by target standard error."""

import json
import re
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, problems, run, run_to_precision, stats
from jaxbandits.policies import armed


def study(seeds=10, **more):
    return Study(
        problem=partial(problems.armed, means=[0.8, 0.5]),
        policies={"bits": armed.ldp_ucb_bernoulli},
        grid={"epsilon": [1.0, 4.0]},
        seeds=seeds,
        horizon=100,
        checkpoints=[50, 100],
        **more,
    )


def test_it_stops_where_the_error_is_small_enough(tmp_path):
    found = run_to_precision(study(), relative=0.02, store=tmp_path / "s", progress=False)
    rule = json.loads(found.attrs["precision"])
    assert rule["reached"]
    assert rule["stages"][0] == 10
    assert rule["stages"][-1] == found.sizes["seed"] > 10
    assert all(later <= 4 * earlier for earlier, later in zip(rule["stages"], rule["stages"][1:], strict=False))
    final = stats.final(found["regret"])
    assert bool((stats.standard_error(final) <= 0.02 * final.mean("seed")).all())
    before = final.isel(seed=slice(rule["stages"][-2]))
    assert not bool((stats.standard_error(before) <= 0.02 * before.mean("seed")).all()), "a stage too many"
    np.testing.assert_array_equal(run(study(found.sizes["seed"]), progress=False)["regret"], found["regret"])
    again = run_to_precision(study(found.sizes["seed"]), relative=0.02, store=tmp_path / "s", progress=False)
    assert json.loads(again.attrs["precision"])["stages"] == [found.sizes["seed"]]


def test_either_error_will_do():
    loose = run_to_precision(study(), standard_error=1e6, relative=1e-9, progress=False)
    assert json.loads(loose.attrs["precision"])["stages"] == [10]


def test_it_says_when_it_gives_up():
    with pytest.warns(UserWarning, match=r"most_seeds, 20, was reached before the precision: 'bits' at epsilon [14].0 would need"):
        found = run_to_precision(study(), relative=1e-3, most_seeds=20, progress=False)
    assert json.loads(found.attrs["precision"])["reached"] is False
    assert found.sizes["seed"] == 20


def test_a_mean_of_nothing_needs_no_more_seeds():
    one = Study(problem=partial(problems.armed, means=[0.5]), policies={"ucb": armed.ucb1}, seeds=3, horizon=10)
    assert json.loads(run_to_precision(one, relative=0.1, progress=False).attrs["precision"])["stages"] == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "standard_error or relative must be above 0; got 0.0 and 0.0"),
        ({"relative": -1.0}, "relative must be a finite number, at least 0; got -1.0"),
        ({"relative": 0.1, "metric": "cost"}, "metric must be one of regret; got 'cost'"),
        ({"relative": 0.1, "most_seeds": 5}, "most_seeds must be an integer from 10"),
        ({"relative": 0.1, "study": 3}, "study must be a Study; got 3"),
        ({"relative": 0.1, "study": study(1)}, "seeds of the study must be an integer, at least 2; got 1"),
        ({"relative": 0.1, "study": study(metrics={"both": lambda s, i: s.counts})}, "metric must be a number, not an array"),
    ],
)
def test_bad_wishes(arguments, message):
    chosen = {"study": study(), **arguments}
    if "array" in message:
        chosen["metric"] = "both"
    with pytest.raises(ValueError, match=re.escape(message)):
        run_to_precision(chosen.pop("study"), progress=False, **chosen)
