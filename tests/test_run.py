"""Running a study: the Dataset, metrics, progress, other executors."""

import concurrent.futures
import json
import multiprocessing
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear, two_level


def pulls(state, instance):
    """Observations of each item of the problem, in the order of the means."""
    return jnp.zeros_like(state.counts).at[instance.labels].set(state.counts)


def total_pulls(state, instance):
    return jnp.sum(state.counts)


STUDY = Study(
    problem=partial(cascade, list_len=2),
    policies={"F": policies.first_ldp_ucb1, "ucb": policies.cascade_ucb1, "ref": policies.first_ucb1},
    grid={"epsilon": [0.5, 2.0], "means": {"linear": linear(6), "two-level": two_level(6, 2)}},
    seeds=40,
    horizon=500,
    metrics={"pulls": pulls, "total_pulls": total_pulls},
)


@pytest.fixture(scope="module")
def dataset():
    return run(STUDY, progress=False)


def test_labels(dataset):
    assert dataset["regret"].dims == ("policy", "epsilon", "means", "seed", "round")
    assert dataset["regret"].dtype == np.float64
    assert dataset["policy"].values.tolist() == ["F", "ucb", "ref"]
    assert dataset["epsilon"].values.tolist() == [0.5, 2.0]
    assert dataset["means"].values.tolist() == ["linear", "two-level"]
    assert dataset["round"].values.tolist() == list(STUDY.rounds)
    assert json.loads(dataset.attrs["study"]) == json.loads(json.dumps(STUDY.describe()))
    assert set(json.loads(dataset.attrs["versions"])) >= {"jax", "jaxlib"}
    assert np.isfinite(dataset["regret"]).all()


def test_claims(dataset):
    assert dataset["claim"].sel(policy="F", epsilon=2.0, means="linear") == "2-LDP"
    assert (dataset["claim"].sel(policy="ucb") == "non-private").all()
    claims = json.loads(dataset.attrs["claims"])
    assert claims["F"][0]["epsilon"] == 0.5
    flawed = Study(
        problem=partial(cascade, means=linear(6), list_len=2),
        policies={"p": partial(policies.laplace_ucb, epsilon=1.0)},
        seeds=1,
        horizon=5,
    )
    (claim,) = json.loads(run(flawed, progress=False).attrs["claims"])["p"]
    assert "epsilon" not in claim
    assert claim["nominal_epsilon"] == 1.0
    assert claim["flaw"]


def test_policies_are_constant_along_axes_they_do_not_have(dataset):
    np.testing.assert_array_equal(dataset["regret"].sel(policy="ucb", epsilon=0.5), dataset["regret"].sel(policy="ucb", epsilon=2.0))


def test_metrics(dataset):
    counts = dataset["pulls"].sel(policy="F")
    assert counts.dims == ("epsilon", "means", "seed", "round", "pulls_0")
    assert (counts.sum("pulls_0") == dataset["round"]).all()  # one observation a round
    assert (dataset["total_pulls"].sel(policy="F") == dataset["round"]).all()
    means = dataset["pulls"].sel(policy="ucb", means="linear", epsilon=2.0).isel(round=-1).mean("seed").values
    assert means[:2].min() > means[3:].max(), "labels must bring the better items to the front"


def test_regret_grows_from_the_gap_of_the_first_list(dataset):
    assert (dataset["regret"].diff("round") >= 0).all()
    assert (dataset["regret"].isel(round=0) <= 1).all()


def test_nan_never_reaches_a_result():
    def broken(*, num_items, list_len, epsilon):
        policy = policies.first_ldp_ucb1(num_items=num_items, list_len=list_len, epsilon=epsilon)
        return policy._replace(init=lambda preview: policy.init(preview))

    def nan(state, instance):
        return jnp.where(state.counts[0] > 3, jnp.nan, 0.0)

    study = Study(
        problem=partial(cascade, means=linear(3), list_len=1),
        policies={"broken": broken},
        grid={"epsilon": [1.0]},
        metrics={"nan": nan},
        horizon=100,
        seeds=2,
    )
    with pytest.raises(FloatingPointError, match=r"nan of policy 'broken' is NaN at grid point {'epsilon': 1.0}, seed"):
        run(study, progress=False)


def test_not_a_study():
    with pytest.raises(ValueError, match="study must be a Study; got 3"):
        run(3)


def test_progress_does_not_change_results(dataset, capsys):
    shown = run(STUDY)
    np.testing.assert_array_equal(shown["regret"], dataset["regret"])
    assert "round" in capsys.readouterr().err


def test_other_processes(dataset):
    context = multiprocessing.get_context("spawn")
    small = Study(
        **{
            **{f: getattr(STUDY, f) for f in ("problem", "grid", "horizon", "metrics")},
            "policies": {"F": policies.first_ldp_ucb1},
            "seeds": 20,
        }
    )
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        there = run(small, executor=executor, max_tile=48, progress=False)
    np.testing.assert_array_equal(there["regret"].sel(policy="F"), dataset["regret"].sel(policy="F").isel(seed=slice(20)))
