"""Contextual problems: decision sets, links, and the recipe for ratings."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from jaxbandits import links, problems
from jaxbandits.core import Round
from jaxbandits.problems import contexts
from tests.helpers import numbers

RUNS = 40_000
ACTION = jnp.array([1], jnp.int32)


def first(declared):
    return {name: value[..., 0] for name, value in numbers(declared, 1).items()}


def test_sphere_is_uniform():
    """Length one, mean zero, and covariance I / dim; a cube's corners would have other fourth moments."""
    it = contexts.sphere(dim=3, num_actions=4)
    z = numbers(it.draws, RUNS)
    x = np.asarray(jax.vmap(lambda z: it.at((), jnp.int32(1), z), in_axes=-1, out_axes=-1)(z))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)
    assert np.abs(x.mean(axis=-1)).max() < 5 / math.sqrt(3 * RUNS)
    moments = np.einsum("air,ajr->aij", x, x) / RUNS
    assert np.abs(moments - np.eye(3) / 3).max() < 5 * math.sqrt(1 / RUNS) / 3
    assert np.abs((x**4).mean(axis=-1) - 1 / 5).max() < 5 * 0.23 / math.sqrt(RUNS)


def test_regret_and_reward_of_a_round():
    problem = problems.contextual(contexts=contexts.sphere(dim=2, num_actions=5), theta=[0.6, 0.8])
    instance = problem.setup({})
    features = jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)) / 4, jnp.float32)
    value = np.asarray(features) @ [0.6, 0.8]
    round_ = Round(jnp.int32(1), features)
    assert float(problem.regret(instance, round_, ACTION)) == pytest.approx(value.max() - value[1], abs=1e-6)
    best = jnp.asarray([int(np.argmax(value))], jnp.int32)
    assert float(problem.regret(instance, round_, best)) == 0.0
    assert float(problem.respond(instance, round_, ACTION, {"reward": jnp.float32(2.0)})) == pytest.approx(value[1] + 0.2, abs=1e-6)
    assert [bool(problem.legal(instance, jnp.array([a], jnp.int32))) for a in (-1, 0, 4, 5)] == [False, True, True, False]


LINKS = {"linear": links.linear(noise=0.3), "logistic": links.logistic(), "poisson": links.poisson()}


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("value", [-1.0, 0.2, 1.0])
def test_rewards_have_the_mean_of_the_link(name, value):
    link = LINKS[name]
    z = numbers(link.draws, RUNS)
    reward = np.asarray(jax.vmap(lambda z: link.sample(jnp.float32(value), z), in_axes=-1)(z), np.float64)
    mean = link.value(value)
    variance = {"linear": 0.09, "logistic": mean * (1 - mean), "poisson": mean}[name]
    assert abs(reward.mean() - mean) < 4 * math.sqrt(variance / RUNS)
    assert reward.std() == pytest.approx(math.sqrt(variance), rel=0.03)
    assert float(link.mean(jnp.float32(value))) == pytest.approx(link.value(value), rel=1e-6)


@pytest.mark.parametrize("name", LINKS)
def test_slopes_and_residuals_of_links(name):
    link = LINKS[name]
    z = np.linspace(-1, 1, 201)
    slope = np.gradient([link.value(x) for x in z], z)
    assert link.slope(1.0) <= slope.min() * (1 + 1e-9)
    assert link.slope(1.0) == pytest.approx(slope.min(), rel=0.02)
    far = max(abs(link.value(x) - y) for x in z for y in (link.low, link.high))
    assert links.residual(link) == pytest.approx(far)


def test_fixed_actions_are_in_another_order_for_each_seed():
    features = np.eye(4)[:3] * 0.5
    it = contexts.fixed(features)
    common = [
        np.asarray(it.setup({"order": jnp.asarray(words, jnp.uint32)}))
        for words in np.random.default_rng(0).integers(0, 2**32, size=(20, 2, 3))
    ]
    assert all(sorted(map(tuple, c)) == sorted(map(tuple, features)) for c in common)
    assert len({tuple(map(tuple, c)) for c in common}) > 2


def test_ratings_recipe():
    """Features times parameter are the scaled ratings themselves, -1 where there is none."""
    frame = problems.simulate_ratings(num_users=30, num_items=6, seed=1)
    table = problems.read_ratings(frame, num_items=6)
    problem = problems.ratings(table=table)
    instance = problem.setup({})
    for user in (0, 7, len(table) - 1):
        z = {"user": jnp.float32((user + 0.5) / len(table)), "reward": jnp.float32(0.0)}
        features = problem.context(instance, jnp.int32(1), z)
        assert features.shape == (6, 6)
        np.testing.assert_allclose(features @ instance.theta, 0.4 * (table[user] - 2.5), atol=1e-5)
        reward = problem.respond(instance, Round(jnp.int32(1), features), ACTION, z)
        assert float(reward) == pytest.approx(0.4 * (table[user, 1] - 2.5), abs=1e-5)
    assert 0.4 * (0 - 2.5) == -1


def test_reading_ratings(tmp_path):
    """Tab-separated and without a header, as MovieLens has it: the first items, and the users who rated any."""
    path = tmp_path / "ua.base"
    path.write_text("1\t10\t5\t881\n1\t20\t1\t882\n2\t10\t3\t883\n3\t30\t4\t884\n2\t10\t4\t885\n")
    table = problems.read_ratings(path, num_items=2, user=0, item=1, rating=2, sep="\t", header=None)
    np.testing.assert_array_equal(table, [[5, 1], [4, 0]])  # the last rating counts, and user 3 rated neither


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: contexts.sphere(dim=0), "dim"),
        (lambda: contexts.sphere(dim=200), "dim"),
        (lambda: contexts.sphere(dim=2, num_actions=0), "num_actions"),
        (lambda: contexts.fixed([1.0, 2.0]), "features"),
        (lambda: contexts.fixed([[1.0, 1.0]]), "features"),
        (lambda: contexts.fixed([[float("nan"), 0.0]]), "features"),
        (lambda: problems.contextual(contexts="sphere"), "contexts"),
        (lambda: problems.contextual(contexts=contexts.sphere(dim=2), link="logistic"), "link"),
        (lambda: problems.contextual(contexts=contexts.sphere(dim=2), theta=[1.0, 1.0]), "theta"),
        (lambda: problems.contextual(contexts=contexts.sphere(dim=2), theta=[1.0]), "theta"),
        (lambda: links.linear(noise=-1.0), "noise"),
        (lambda: links.linear(reward_bound=0.0), "reward_bound"),
        (lambda: links.poisson(reward_bound=float("inf")), "reward_bound"),
        (lambda: problems.ratings(table=np.zeros((2, 3))), "table"),
        (lambda: problems.ratings(table=np.full((4, 3), 6.0)), "table"),
        (lambda: problems.read_ratings("nowhere.csv"), "source"),
        (lambda: problems.read_ratings(pd.DataFrame({"user": [1], "item": [1]})), "rating"),
        (lambda: problems.read_ratings(pd.DataFrame({"user": [1], "item": [1], "rating": [9]})), "rating"),
        (lambda: problems.read_ratings(pd.DataFrame({"user": [1], "item": [1], "rating": [5]}), num_items=2), "num_items"),
        (lambda: problems.read_ratings(pd.DataFrame({"user": [1.0, np.nan], "item": [1, 2], "rating": [5, 4]})), "user"),
        (
            lambda: problems.contextual(contexts=contexts.sphere(dim=2), link=links.linear()._replace(draws=contexts.sphere(dim=2).draws)),
            "contexts",
        ),
    ],
)
def test_bad_input(make, named):
    with pytest.raises(ValueError, match=f"{named} must"):
        make()
