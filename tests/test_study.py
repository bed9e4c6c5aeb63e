"""Studies: what they accept, what they refuse, and when two are the same."""

import copy
import pickle
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, linear_checkpoints, log_checkpoints
from jaxbandits.core import NON_PRIVATE, Claim
from jaxbandits.engine import draws
from jaxbandits.identity import Bound, fingerprint
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade, linear, two_level

GOOD = {
    "problem": partial(cascade, means=linear(6), list_len=2),
    "policies": {"laplace": policies.laplace_ucb, "ucb": policies.cascade_ucb1},
    "grid": {"epsilon": [0.5, 1.0]},
    "seeds": 3,
    "horizon": 100,
}


def study(**changes):
    return Study(**{**GOOD, **changes})


def made(**fields):
    return policies.cascade_ucb1(num_items=6, list_len=2)._replace(**fields)


def pulls(state, instance):
    return state.counts


def half(state, instance):
    return state.counts[:2]


BAD = {
    "epsilon zero": ({"grid": {"epsilon": [0.0]}}, "policy 'laplace' at {'epsilon': 0.0}: epsilon must be a positive number.*got 0.0"),
    "epsilon negative": ({"grid": {"epsilon": [1.0, -1.0]}}, "epsilon must be a positive number.*got -1.0"),
    "epsilon NaN": ({"grid": {"epsilon": [float("nan")]}}, "grid\\['epsilon'\\] must be a sequence.*nan"),
    "epsilon twice": ({"grid": {"epsilon": [1.0, 1.0]}}, "grid\\['epsilon'\\] must be a sequence of numbers that differ"),
    "epsilon a word": ({"grid": {"epsilon": ["high"]}}, "grid\\['epsilon'\\] must be"),
    "epsilon a number": ({"grid": {"epsilon": 1.0}}, "grid\\['epsilon'\\] must be"),
    "epsilon empty": ({"grid": {"epsilon": []}}, "grid\\['epsilon'\\] must have at least one value"),
    "epsilon missing": ({"grid": {}}, "policy 'laplace' needs 'epsilon'"),
    "epsilon alike in float32": ({"grid": {"epsilon": [0.1, 0.1 + 1e-12]}}, "differ in float32"),
    "epsilon digits in words": ({"grid": {"epsilon": ["1", "2"]}}, "grid\\['epsilon'\\] must be"),
    "epsilon true": ({"grid": {"epsilon": [True]}}, "grid\\['epsilon'\\] must be"),
    "epsilon complex": ({"grid": {"epsilon": np.array([1 + 0j])}}, "grid\\['epsilon'\\] must be"),
    "epsilon unordered": ({"grid": {"epsilon": {1.0, 2.0}}}, "grid\\['epsilon'\\] must be"),
    "labels": ({"grid": {"epsilon": {1: 1.0}}}, "grid\\['epsilon'\\] must have strings as labels; got 1"),
    "labels a tuple": ({"grid": {"epsilon": {("a", "b"): 1.0}}}, "must have strings as labels"),
    "size of another problem": (
        {"policies": {"p": partial(policies.cascade_ucb1, list_len=3)}, "grid": {}},
        "fixes list_len to 3; it must be that",
    ),
    "metric named like an axis": ({"metrics": {"epsilon": pulls}}, "metrics must be named by identifiers other than"),
    "metric named claim": ({"metrics": {"claim": pulls}}, "metrics must be named by identifiers other than"),
    "axis unknown": ({"grid": {"epsilon": [1.0], "gamma": [1.0]}}, "grid axis 'gamma' is an argument of no policy"),
    "axis static": (
        {"grid": {"epsilon": [1.0], "list_len": [1, 2]}, "problem": partial(cascade, means=linear(6))},
        "'list_len' is a static",
    ),
    "axis reserved": ({"grid": {"epsilon": [1.0], "round": [1.0]}}, "grid must have argument names other than"),
    "axis shapes": (
        {"grid": {"epsilon": [1.0], "means": {"a": linear(6), "b": linear(7)}}, "problem": partial(cascade, list_len=2)},
        "grid\\['means'\\] must have values of one shape",
    ),
    "axis means out of range": (
        {"grid": {"epsilon": [1.0], "means": {"a": [0.5, 1.5]}}, "problem": partial(cascade, list_len=2)},
        "problem at.*means must be a vector of numbers in \\[0, 1\\]; got \\[0.5, 1.5\\]",
    ),
    "grid not a mapping": ({"grid": [1.0]}, "grid must be a mapping"),
    "delta": ({"policies": {"g": partial(policies.gaussian_ucb, delta=1.5)}}, "delta must be strictly between 0 and 1; got 1.5"),
    "list too long": ({"problem": partial(cascade, means=linear(3), list_len=4)}, "list_len must be an integer from 1 to 3; got 4"),
    "means": ({"problem": partial(cascade, means=[0.5, 2.0], list_len=1)}, "means must be a vector of numbers in \\[0, 1\\]"),
    "problem incomplete": ({"problem": partial(cascade, means=linear(3))}, "problem needs 'list_len'"),
    "problem not a factory": ({"problem": 3}, "problem must be a factory.*got 3"),
    "problem returns another": ({"problem": lambda: 3}, "problem must be a factory returning a Problem"),
    "problem positional": ({"problem": partial(cascade, linear(3))}, "problem must fix its arguments by keyword"),
    "problem unknown argument": ({"problem": partial(cascade, mean=[0.5])}, "problem fixes 'mean', which is not an argument"),
    "policies empty": ({"policies": {}}, "policies must be a non-empty mapping"),
    "policies a list": ({"policies": [policies.cascade_ucb1]}, "policies must be a non-empty mapping"),
    "policy name": ({"policies": {"a/b": policies.cascade_ucb1}}, "policies must have names of up to 100 characters.*; got 'a/b'"),
    "policy name hidden": ({"policies": {"_a": policies.cascade_ucb1}}, "policies must have names.*; got '_a'"),
    "policy name of mathematics": ({"policies": {"a$b": policies.cascade_ucb1}}, "policies must have names"),
    "means ragged": ({"problem": partial(cascade, means=[[0.1], [0.1, 0.2]], list_len=1)}, "means must be a vector of numbers"),
    "policy not a factory": ({"policies": {"a": None}}, "policies\\['a'\\] must be a factory"),
    "policy returns another": ({"policies": {"a": lambda: NON_PRIVATE}, "grid": {}}, "policy 'a' must be a factory returning a Policy"),
    "claim": ({"policies": {"a": lambda: made(claim=None)}, "grid": {}}, "policy 'a' must have a Claim as claim; got None"),
    "draws": (
        {"policies": {"a": lambda: made(server_draws={"coin": draws.uniform})}, "grid": {}},
        "policy 'a' must have a mapping from names to draws, such as draws.uniform\\(\\), as server_draws",
    ),
    "draws missing": ({"policies": {"a": lambda: made(device_draws=None)}, "grid": {}}, "as device_draws; got None"),
    "seeds": ({"seeds": 0}, "seeds must be an integer from 1 to 10000000; got 0"),
    "seeds a float": ({"seeds": 2.5}, "seeds must be an integer"),
    "horizon": ({"horizon": 0}, "horizon must be an integer from 1 to .*; got 0"),
    "horizon too long": ({"horizon": 2**31}, "horizon must be an integer from 1 to"),
    "seed": ({"seed": -1}, "seed must be an integer from 0 to 4294967295; got -1"),
    "checkpoints unsorted": (
        {"checkpoints": [10, 5]},
        "checkpoints must be increasing integers from 1 to the horizon, 100; got \\[10, 5\\]",
    ),
    "checkpoints equal": ({"checkpoints": [5, 5]}, "checkpoints must be increasing"),
    "checkpoints beyond": ({"checkpoints": [5, 101]}, "checkpoints must be increasing integers from 1 to the horizon, 100"),
    "checkpoints zero": ({"checkpoints": [0, 5]}, "checkpoints must be"),
    "checkpoints empty": ({"checkpoints": []}, "checkpoints must be"),
    "checkpoints a number": ({"checkpoints": 5}, "checkpoints must be"),
    "checkpoints floats": ({"checkpoints": [1.5]}, "checkpoints must be"),
    "metric unknown": ({"metrics": {"pulls": "pulls"}}, "metrics\\['pulls'\\] must be a function"),
    "metric name": ({"metrics": {"regret": pulls}}, "metrics must be named by identifiers other than"),
    "metrics a list": ({"metrics": ["pulls"]}, "metrics must be a mapping"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_anything_compiles(case, monkeypatch):
    monkeypatch.setattr("jax.jit", lambda *a, **k: pytest.fail("compiled"))
    changes, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        study(**changes)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array, jnp.int32])
def test_sizes_of_any_integer_kind(kind):
    made = study(seeds=kind(3), horizon=kind(100), seed=kind(0), problem=partial(cascade, means=linear(6), list_len=kind(2)))
    assert made == study()
    assert all(type(getattr(made, f)) is int for f in ("seeds", "horizon", "seed"))


def test_axes_go_where_they_are_taken():
    made = study(grid={"epsilon": [0.5, 1.0], "means": {"a": linear(6), "b": two_level(6, 2)}}, problem=partial(cascade, list_len=2))
    assert made.plans["laplace"].axes == ("epsilon", "means")
    assert made.plans["ucb"].axes == ("means",)
    assert made.plans["laplace"].arguments["epsilon"].tolist() == [0.5, 0.5, 1.0, 1.0]
    assert made.plans["laplace"].problem_arguments["means"].shape == (4, 6)


def test_a_fixed_argument_is_not_swept():
    made = study(policies={"fixed": partial(policies.laplace_ucb, epsilon=3.0), "swept": policies.laplace_ucb})
    assert made.plans["fixed"].axes == ()
    assert [c.epsilon for c in made.plans["fixed"].claims] == [3.0]


def test_derived_arguments_are_worked_out_at_each_point():
    made = study(policies={"g": partial(policies.gaussian_ucb_calibrated, delta=1e-3)})
    np.testing.assert_allclose(made.plans["g"].arguments["sigma"], np.sqrt(2) * np.array([4.6101, 2.5747]), rtol=1e-4)


def test_equal_by_content_and_picklable():
    assert study() == study()
    assert hash(study()) == hash(study())
    assert pickle.loads(pickle.dumps(study(metrics={"pulls": pulls}))) == study(metrics={"pulls": pulls})
    assert copy.deepcopy(study()) == study()
    for changes in ({"seeds": 4}, {"horizon": 99}, {"seed": 1}, {"grid": {"epsilon": [0.5]}}, {"metrics": {"pulls": half}}):
        assert study(**changes) != study()
    assert study(problem=partial(cascade, means=linear(6) + 1e-9, list_len=2)) != study()


def test_the_order_of_the_grid_matters():
    """Arrays are stored by position, so a study with another order of values or axes is another study."""
    assert study(grid={"epsilon": [0.5, 1.0]}) != study(grid={"epsilon": [1.0, 0.5]})
    named = {"laplace": policies.laplace_ucb}
    one = {"epsilon": [0.5, 1.0], "noise_scale": [0.1, 1.0]}
    assert study(policies=named, grid=one) != study(policies=named, grid=dict(reversed(one.items())))


def test_arrays_are_kept_as_they_were_given():
    means = linear(6)
    made = study(grid={"epsilon": [1.0], "means": {"a": means}}, problem=partial(cascade, list_len=2))
    before = made.describe()
    means[:] = 0.9
    assert made.describe() == before


def test_none_is_an_argument_left_out():
    assert "sigma" not in study(policies={"g": partial(policies.gaussian_ucb, delta=1e-3, sigma=None)}).plans["g"].factory.arguments


def test_functions_with_other_defaults_are_others():
    metrics = [{"m": lambda s, i, k=k: s.counts[k]} for k in (0, 1)]
    assert study(metrics=metrics[0]) != study(metrics=metrics[1])


def test_a_changed_definition_is_another_study():
    def make(shift):
        def first(state, instance):
            return state.counts[0] + shift

        return first

    assert study(metrics={"m": make(1)}) == study(metrics={"m": make(1)})
    assert study(metrics={"m": make(1)}) != study(metrics={"m": make(2)})
    assert Bound(make, {"shift": 1}) == Bound(make, {"shift": 1})
    assert Bound(make, {"shift": 1}) != Bound(make, {"shift": 2})


def test_claims():
    with pytest.raises(ValueError, match="trust must be 'local', 'agent', 'central' or 'joint' for a sound claim; got 'none'"):
        Claim(status="sound", epsilon=1.0)
    with pytest.raises(ValueError, match="flaw must be empty for a sound claim"):
        Claim(status="paper", epsilon=1.0)
    assert Claim(status="sound", trust="central", epsilon=2.0, delta=1e-3).label() == "(2, 0.001)-DP"
    assert Claim(status="sound", trust="joint", epsilon=2.0, delta=1e-3).label() == "joint (2, 0.001)-DP"
    unlimited = Claim(status="sound", trust="local", epsilon=float("inf"))
    assert unlimited.label() == "non-private"
    with pytest.raises(ValueError, match="no privacy guarantee: epsilon is inf"):
        unlimited.guarantee()


def test_frozen():
    with pytest.raises(AttributeError):
        study().seeds = 5


def test_checkpoints():
    assert log_checkpoints(1) == (1,)
    assert log_checkpoints(1000, 1) == (1, 10, 100, 1000)
    assert linear_checkpoints(10, 5) == (2, 4, 6, 8, 10)
    assert linear_checkpoints(3, 100) == (1, 2, 3)
    assert study(horizon=10).rounds == tuple(range(1, 11))
    for bad in (0, -1, 2.5):
        with pytest.raises(ValueError, match="horizon must be an integer from 1 to"):
            log_checkpoints(bad)


def test_a_factory_that_was_called_and_a_misspelt_axis_are_named():
    problem = partial(cascade, means=np.full(4, 0.3), list_len=2)
    with pytest.raises(ValueError, match="problem must be a factory, not the Problem it returns"):
        Study(problem=problem(), policies={"p": policies.cascade_ucb1})
    with pytest.raises(ValueError, match=r"policies\['p'\] must be a factory, not the Policy it returns"):
        Study(problem=problem, policies={"p": policies.cascade_ucb1(num_items=4, list_len=2)})
    with pytest.raises(ValueError, match=r"policy 'p' needs 'epsilon': .* put it in the grid, which has eps"):
        Study(problem=problem, policies={"p": policies.first_ldp_ucb1}, grid={"eps": [1.0]})


def test_a_policy_of_a_script_is_that_of_the_same_file_imported():
    source = "def mine(*, num_arms):\n    return num_arms\n"
    found = []
    for name in ("__main__", "mine"):
        names = {"__name__": name}
        exec(compile(source, "mine.py", "exec"), names)
        found.append(fingerprint(names["mine"]))
    other = {"__name__": "mine"}
    exec(compile(source.replace("return num_arms", "return num_arms + 1"), "mine.py", "exec"), other)
    assert found[0] == found[1] != fingerprint(other["mine"])
