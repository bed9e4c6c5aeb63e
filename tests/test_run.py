"""Running a study: the Dataset, metrics, progress, other executors."""

import concurrent.futures
import json
import multiprocessing
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Claim, Study, run
from jaxbandits.engine import lanes, tiles
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

pytestmark = pytest.mark.xdist_group("run")  # in one worker, which makes the fixture once


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
    with pytest.raises(FloatingPointError, match=r"nan of policy 'broken' is not a number at grid point {'epsilon': 1.0}, seed"):
        run(study, progress=False)


def test_not_a_study():
    with pytest.raises(ValueError, match="study must be a Study; got 3"):
        run(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_tile": 0}, "max_tile must be an integer, at least 1; got 0"),
        ({"max_tile": "16"}, "max_tile must be"),
        (
            {"executor": concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))},
            "executor must start its processes with 'spawn'",
        ),
        ({"executor": "threads"}, "executor must be a concurrent.futures.Executor; got 'threads'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        run(STUDY, progress=False, **arguments)


def changed(**beats):
    """A policy of which some functions are replaced."""

    def factory(*, num_items, list_len):
        policy = policies.cascade_ucb1(num_items=num_items, list_len=list_len)
        return policy._replace(**{name: change(getattr(policy, name)) for name, change in beats.items()})

    return factory


WRONG = {
    "list too short": ({"act": lambda f: lambda s, r, z: f(s, r, z)[:1]}, {}, r"policy 'p': act must return int32\[2\].*got int32\[1\]"),
    "floats for items": ({"act": lambda f: lambda s, r, z: f(s, r, z).astype("float32")}, {}, r"act must return int32\[2\].*got float32"),
    "state of another type": (
        {"update": lambda f: lambda s, t, a, m, z: f(s, t, a, m, z)._replace(counts=s.counts.astype("float32"))},
        {},
        r"update must return a state of the same structure, shapes and types as init.*float32\[6\]",
    ),
    "state of another kind": ({"update": lambda f: lambda s, t, a, m, z: (s,)}, {}, "update must return a state of the same structure"),
    "error inside": ({"act": lambda f: lambda s, r, z: s.nothing}, {}, "policy 'p': act failed with AttributeError.*'nothing'"),
    "metric of nothing": ({}, {"m": lambda s, i: None}, r"metrics\['m'\] failed|metrics\['m'\] must return"),
    "metric empty": ({}, {"m": lambda s, i: s.counts[:0]}, r"metrics\['m'\] must return a real number or an array of them; got int32\[0\]"),
    "metric complex": ({}, {"m": lambda s, i: s.counts.astype("complex64")}, r"metrics\['m'\] must return a real number"),
    "metric with one argument": ({}, {"m": lambda s: s.counts}, r"metrics\['m'\] failed with TypeError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_keep_to_its_shapes_is_refused_before_anything_compiles(case, monkeypatch):
    beats, metrics, message = WRONG[case]
    study = Study(
        problem=partial(cascade, means=linear(6), list_len=2), policies={"p": changed(**beats)}, metrics=metrics, seeds=2, horizon=5
    )
    monkeypatch.setattr(tiles, "compile_tile", lambda *a: pytest.fail("compiled"))
    with pytest.raises(ValueError, match=message):
        run(study, progress=False)


ILLEGAL = {
    "repeated": lambda f: lambda s, r, z: jnp.zeros_like(f(s, r, z)),
    "unknown": lambda f: lambda s, r, z: f(s, r, z) + 6,
    "negative": lambda f: lambda s, r, z: -1 - f(s, r, z),
    "after a while": lambda f: lambda s, r, z: jnp.where(r.t > 15, 0, f(s, r, z)),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_lists_are_refused(case):
    named = {"p": changed(act=ILLEGAL[case])}
    study = Study(problem=partial(cascade, means=linear(6), list_len=2), policies=named, seeds=2, horizon=20)
    with pytest.raises(
        ValueError, match="policy 'p' must choose legal actions, lists of different items, or points of the domain; in round"
    ):
        run(study, progress=False)


def silent(*, num_items, list_len):
    claim = Claim(status="sound", trust="local", epsilon=1.0)
    return policies.cascade_ucb1(num_items=num_items, list_len=list_len)._replace(claim=claim)


def test_constants_inside_helpers_are_part_of_the_policy():
    """Two policies that differ only in an array that a helper closes over do not share a program."""

    def favourite(weight):
        def factory(*, num_items, list_len):
            score = lanes.elementwise(lambda c: c.astype(jnp.float32) * 0 + (weight[:, None] if c.ndim == 2 else weight))
            policy = policies.cascade_ucb1(num_items=num_items, list_len=list_len)
            return policy._replace(act=lambda s, r, z: lanes.top_k(score(s.counts), list_len))

        return factory

    weights = np.eye(6, dtype=np.float32)
    named = {f"item {i}": favourite(weights[i]) for i in (0, 3)}
    study = Study(problem=partial(cascade, means=linear(6), list_len=1), policies=named, metrics={"most": most}, seeds=2, horizon=9)
    assert run(study, progress=False)["most"].isel(seed=0, round=-1).values.tolist() == [0, 3]


def most(state, instance):
    return jnp.argmax(state.counts)


def test_a_local_claim_without_noise_is_refused():
    study = Study(problem=partial(cascade, means=linear(6), list_len=2), policies={"p": silent}, seeds=2, horizon=20)
    with pytest.raises(ValueError, match="policy 'p': a policy that claims local privacy must have device draws"):
        run(study, progress=False)


def test_metrics_have_one_shape_for_all_policies():
    def odd(state, instance):
        return state.counts if hasattr(state, "clicks") else state.counts[:2]

    named = {"a": policies.cascade_ucb1, "b": policies.first_ucb1}
    study = Study(problem=partial(cascade, means=linear(6), list_len=2), policies=named, metrics={"odd": odd}, seeds=2, horizon=5)
    with pytest.raises(ValueError, match=r"metrics\['odd'\] must have one shape for all policies; got \(6,\) and \(2,\)"):
        run(study, progress=False)


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
