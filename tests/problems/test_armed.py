"""The K-armed bandit: rewards, regret, relabelling, and that policies of other problems do not play it."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.core import Round
from jaxbandits.engine import draws
from jaxbandits.policies import armed as policies
from jaxbandits.policies import cascade
from jaxbandits.problems import armed
from tests.helpers import ROUND

MEANS = (0.9, 0.5, 0.5, 0.1)


def instance(replica=0, means=MEANS):
    problem = armed(means=np.asarray(means))
    z = draws.generate(draws.layout({draws.SETUP: problem.setup_draws}), 0, jnp.array([replica], jnp.uint32), jnp.zeros(1, jnp.int32))
    z = {name: value[0, ..., 0] for name, value in z[draws.SETUP].items()}
    return problem, problem.setup(z), z


def test_rewards_follow_the_means():
    problem, arms, _ = instance()
    u = (np.arange(10_000, dtype=np.float32) + 0.5) / 10_000
    for arm in range(4):
        reward = jax.vmap(lambda u, arm=arm: problem.respond(arms, ROUND, jnp.array([arm], jnp.int32), {"reward": u}))(u)
        assert reward.dtype == jnp.int32
        assert reward.mean() == pytest.approx(float(arms.means[arm]), abs=1e-4)


def test_regret_is_the_gap_and_exactly_0_for_a_best_arm():
    problem, arms, _ = instance()
    lost = [float(problem.regret(arms, ROUND, jnp.array([a], jnp.int32))) for a in range(4)]
    assert sorted(lost) == pytest.approx([0.0, 0.4, 0.4, 0.8])
    assert min(lost) == 0.0
    assert [bool(problem.legal(arms, jnp.array([a], jnp.int32))) for a in (-1, 0, 3, 4)] == [False, True, True, False]


def test_arms_come_in_an_order_of_their_own():
    study = Study(
        problem=partial(armed, means=np.asarray(MEANS)),
        policies={"p": policies.ucb1},
        seeds=400,
        horizon=1,
        metrics={"labels": lambda state, instance: instance.labels},
    )
    labels = run(study, progress=False)["labels"].values.reshape(400, 4).astype(int)
    assert (np.sort(labels, axis=1) == np.arange(4)).all()
    share = (labels == 0).mean(axis=0)
    assert np.abs(share - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / 400)
    problem, arms, z = instance(7)
    np.testing.assert_allclose(arms.means, np.asarray(MEANS)[arms.labels])
    np.testing.assert_array_equal(problem.preview(arms, z), z["preview"] < arms.means)


@pytest.mark.parametrize("bad", [[0.5, 1.1], [-0.1], [float("nan")], [], [[0.1]], "means"])
def test_bad_means_are_named(bad):
    with pytest.raises(ValueError, match="means must be a vector"):
        armed(means=bad)


def test_policies_of_another_family_are_refused():
    with pytest.raises(ValueError, match="plays problems that have num_items; this one has num_arms"):
        Study(problem=partial(armed, means=np.asarray(MEANS)), policies={"F": cascade.first_ucb1})


def test_a_study_fills_in_the_horizon():
    problem = partial(armed, means=np.asarray(MEANS))
    filled, given = (
        Study(problem=problem, policies={"p": p}, grid={"epsilon": [1.0]}, horizon=300, seeds=4)
        for p in (policies.dp_se, partial(policies.dp_se, horizon=300))
    )
    assert filled == given
    np.testing.assert_array_equal(*(run(s, progress=False)["regret"] for s in (filled, given)))
    other = Study(problem=problem, policies={"p": partial(policies.dp_se, horizon=9)}, grid={"epsilon": [1.0]}, horizon=300, seeds=4)
    assert other != filled
    with pytest.raises(ValueError, match="grid axis 'horizon' is a static argument of dp_se"):
        Study(problem=problem, policies={"p": policies.dp_se}, grid={"horizon": [10, 20]})


# ---- what is special about single policies ----------------------------------------------------------------------------------


def test_an_episode_lasts_until_its_batch_is_full():
    """AdaP and DP-KLUCB: runs of one arm have the sizes of its batches."""
    for factory in (policies.adap_ucb, policies.dp_kl_ucb):
        study = Study(
            problem=partial(armed, means=np.asarray(MEANS)),
            policies={"p": partial(factory, epsilon=1.0)},
            horizon=400,
            checkpoints=range(1, 401),
            seeds=3,
            metrics={"arm": lambda state, instance: state.arm[0]},
        )
        arms = run(study, progress=False)["arm"].sel(policy="p").values
        for played in arms:
            pulls, t = np.zeros(4, int), 0
            while t < len(played):
                arm = int(played[t])
                size = max(1, pulls[arm])
                assert (played[t : t + size] == arm).all()
                pulls[arm] += size
                t += size


def test_dp_se_pulls_in_turn_and_drops_what_is_far_below():
    study = Study(
        problem=partial(armed, means=np.asarray([0.95, 0.05])),
        policies={"p": partial(policies.dp_se, epsilon=1.0)},
        horizon=20_000,
        seeds=20,
        metrics={"left": lambda state, instance: state.left.sum(), "counts": lambda state, instance: jnp.sort(state.counts)},
        checkpoints=[100, 20_000],
    )
    results = run(study, progress=False).sel(policy="p")
    assert (results["left"].isel(round=0) == 2).all()
    assert (results["counts"].isel(round=0).values == 50).all()
    assert (results["left"].isel(round=1) == 1).all()
    first = policies.elimination.epoch_lengths(2, 1.0, 20_000)[0, 1]
    assert (results["counts"].isel(round=1).values[:, 0] == first).all()
    exact = max(32 * math.log(8 * 2 * 20_000) / 0.25, 8 * math.log(4 * 2 * 20_000) / 0.5)
    assert first == math.ceil(exact) + 1


def test_only_the_pulled_arm_gets_its_reward_under_dp_ucb():
    policy = policies.dp_ucb(num_arms=3, epsilon=math.inf)
    state = policy.init(jnp.zeros(3, jnp.int32))
    for t, (arm, reward) in enumerate([(0, 1), (1, 0), (2, 1), (0, 1)], start=1):
        assert int(policy.act(state, Round(jnp.int32(t), ()), {})[0]) == arm or t > 3
        state = policy.update(state, jnp.int32(t), jnp.array([arm], jnp.int32), jnp.int32(reward), {"noise": jnp.zeros(3)})
    assert state.seen.counts.tolist() == [4, 4, 4]
    assert state.pulls.tolist() == [2, 1, 1]
    assert state.seen.released.tolist() == [2, 0, 1]
