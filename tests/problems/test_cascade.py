"""The cascade: clicks, regret and labels."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.engine import draws
from jaxbandits.problems import cascade, linear, two_level, uniform_cascade
from tests.helpers import ROUND

SEEDS = 4000


def instances(problem, seeds=SEEDS):
    """The instance and the preview of many seeds, lanes last."""
    plan = draws.layout({draws.SETUP: problem.setup_draws})
    z = draws.generate(plan, jnp.uint32(0), jnp.arange(seeds, dtype=jnp.uint32), jnp.zeros(1, jnp.int32))[draws.SETUP]
    z = {name: value[0] for name, value in z.items()}

    def one(z):
        instance = problem.setup(z)
        return instance, problem.preview(instance, z)

    return jax.jit(jax.vmap(one, in_axes=-1, out_axes=-1))(z)


def test_labels_are_uniform_permutations():
    instance, _ = instances(cascade(means=linear(4), list_len=2))
    labels = np.asarray(instance.labels)
    assert (np.sort(labels, axis=0) == np.arange(4)[:, None]).all()
    _, counts = np.unique(labels, axis=1, return_counts=True)
    assert len(counts) == 24
    expected = SEEDS / 24
    assert ((counts - expected) ** 2 / expected).sum() < 23 + 4.5 * np.sqrt(2 * 23)  # chi square
    np.testing.assert_allclose(1 - instance.skip, linear(4).astype(np.float32)[labels], atol=1e-7)


def test_preview_has_the_means():
    instance, preview = instances(cascade(means=[0.1, 0.5, 0.9], list_len=1))
    seen = [np.asarray(preview)[np.asarray(instance.labels) == e].mean() for e in range(3)]
    error = np.sqrt(np.array([0.09, 0.25, 0.09]) / SEEDS)
    assert (abs(seen - np.array([0.1, 0.5, 0.9])) < 4.5 * error).all()


def test_click_law_by_inversion_of_the_uniform():
    """A click at k has probability w(a_k) prod_{j<k} (1 - w(a_j)); none has the rest."""
    problem = cascade(means=[0.2, 0.5, 0.7], list_len=3)
    instance = jax.tree.map(lambda x: x[..., 0], instances(problem)[0])
    w = 1 - np.asarray(instance.skip, np.float64)
    grid = jnp.asarray((np.arange(100_000) + 0.5) / 100_000, jnp.float32)
    for action in itertools.permutations(range(3)):
        action = jnp.array(action, jnp.int32)
        clicks = jax.vmap(lambda u, action=action: problem.respond(instance, ROUND, action, {"click": u}))(grid)
        passed = np.cumprod([1.0, *(1 - w[list(action)])])
        expected = [*(w[list(action)] * passed[:-1]), passed[-1]]
        np.testing.assert_allclose(np.bincount(clicks, minlength=4) / 100_000, expected, atol=3e-5)


def test_regret_is_that_of_the_set_and_not_of_its_order():
    problem = cascade(means=[0.2, 0.5, 0.7, 0.1], list_len=2)
    instance = jax.tree.map(lambda x: x[..., 1], instances(problem)[0])
    w = 1 - np.asarray(instance.skip, np.float64)
    for action in itertools.permutations(range(4), 2):
        expected = np.prod(1 - w[list(action)]) - 0.5 * 0.3
        np.testing.assert_allclose(problem.regret(instance, ROUND, jnp.array(action, jnp.int32)), expected, atol=1e-7)


def test_regret_of_every_best_list_is_exactly_zero():
    means = [0.31, 0.77, 0.53, 0.53, 0.53, 0.12]  # three items tie for two places
    problem = cascade(means=means, list_len=3)
    problem = problem._replace(regret=jax.jit(problem.regret))  # as it runs, and 120 times
    instance = jax.tree.map(lambda x: x[..., 2], instances(problem)[0])
    w = 1 - np.asarray(instance.skip, np.float64)
    for action in itertools.permutations(range(6), 3):
        best = sorted(np.round(w[list(action)], 4)) == [0.53, 0.53, 0.77]
        regret = float(problem.regret(instance, ROUND, jnp.array(action, jnp.int32)))
        assert (regret == 0.0) == best
        assert regret >= 0


def test_uniform_cascade_draws_new_means_for_each_seed():
    instance, _ = instances(uniform_cascade(num_items=5, list_len=2))
    skip = np.asarray(instance.skip)
    assert len(np.unique(skip[0])) > 0.99 * SEEDS
    assert abs(skip.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / skip.size)


@pytest.mark.parametrize(
    ("means", "list_len", "message"),
    [
        ([0.1, 1.2], 1, r"means must be a vector of numbers in \[0, 1\]; got \[0.1, 1.2\]"),
        ([0.1, -0.2], 1, "means must be"),
        ([0.1, float("nan")], 1, "means must be"),
        ([], 1, "means must be"),
        (0.5, 1, "means must be"),
        ([[0.5]], 1, "means must be"),
        (["a"], 1, "means must be"),
        ([0.1, 0.2], 3, "list_len must be an integer from 1 to 2; got 3"),
        ([0.1, 0.2], 0, "list_len"),
        ([0.1, 0.2], 1.0, "list_len"),
        ([0.1, 0.2], True, "list_len"),
    ],
)
def test_bad_input(means, list_len, message):
    with pytest.raises(ValueError, match=message):
        cascade(means=means, list_len=list_len)


def test_instances_are_as_named():
    np.testing.assert_allclose(two_level(5, 2, 0.2, 0.15), [0.2, 0.2, 0.05, 0.05, 0.05])
    np.testing.assert_allclose(linear(3, 0.5, 0.1), [0.5, 0.3, 0.1])
    for bad in ({"gap": 0.3}, {"num_good": 30}, {"base_prob": 1.5}, {"num_items": 0}):
        with pytest.raises(ValueError, match=next(iter(bad)).replace("gap", "gap must be from 0 to base_prob")):
            two_level(**bad)
    with pytest.raises(ValueError, match="low must be from 0 to high"):
        linear(5, 0.2, 0.3)
