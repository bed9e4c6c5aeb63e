"""Federated policies: limits, equalities between them, what is uploaded and how noisy, and arguments."""

import math
import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, metrics, networks, problems, run
from jaxbandits.core import Round
from jaxbandits.policies import armed
from jaxbandits.policies import federated as policies
from jaxbandits.policies.federated.alone import each_agent
from jaxbandits.policies.federated.epochs import first_epoch
from jaxbandits.privacy import audit
from tests.helpers import ROUND

MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
SIZES = {"num_arms": 5, "num_agents": 8}
ALL = {name: getattr(policies, name) for name in policies.__all__}
ALONE = networks.from_adjacency(np.zeros((8, 8)))
STAR, RING = networks.star(num_agents=8), networks.ring(num_agents=8)


def result(played, seeds=24, horizon=200_000, **changes):
    problem = partial(problems.federated, means=MEANS, num_agents=8, network=STAR)
    record = {"communications": metrics.communications}
    return run(Study(problem=problem, policies=played, seeds=seeds, horizon=horizon, metrics=record, **changes), progress=False)


def test_limits_are_the_same_runs():
    """Components of one agent are the server; without noise all modes are one, and so is the policy that has none; a share of 1 is all."""
    found = result(
        {
            "server": policies.cdp_mab,
            "components of one": partial(policies.hdp_mab, network=ALONE),
            "all send": partial(policies.cdp_mab, participation=1.0),
            "printed": policies.cdp_mab_paper,
            "calibrated": policies.cdp_mab_calibrated,
            "secure": policies.cdp_mab_secure_sum,
            "non-private": policies.federated_elimination,
        },
        grid={"epsilon": (0.5, math.inf)},
    )["regret"]
    private, none = (found.sel(epsilon=epsilon) for epsilon in (0.5, math.inf))
    for name in ("components of one", "all send"):
        np.testing.assert_array_equal(private.sel(policy=name), private.sel(policy="server"), err_msg=name)
    for name in found["policy"].values:
        np.testing.assert_array_equal(none.sel(policy=name), none.sel(policy="non-private"), err_msg=name)
    assert private.sel(policy="server").mean() > 2 * private.sel(policy="non-private").mean()


@pytest.mark.parametrize("mode", ["", "_paper", "_calibrated"])
def test_radii_are_half_of_what_an_epoch_looks_for(mode):
    for options in ({}, {"num_comm_rounds": 6, "smallest_gap": 0.02}, *([{"newest_epoch": True}] if not mode else [])):
        for epsilon in (1e-3, 0.1, 10.0, math.inf):
            course = ALL[f"cdp_mab{mode}"](**SIZES, epsilon=epsilon, horizon=10**6, **options).derived["course"]
            lengths, radii = course[:64], course[65:129]
            r = np.arange(1, 65)
            guesses = 0.02 ** (r / 6) if "smallest_gap" in options else 2.0**-r
            reached = np.cumsum(lengths) if "newest_epoch" not in options else lengths
            used = (lengths > 0) & (reached < 2**29)
            assert used.sum() >= 2
            assert (radii[used] <= guesses[used] / 2 * (1 + 1e-6)).all()
            assert (radii[used] > 0).all()


def test_sizes_of_noise_are_those_of_the_claims():
    """One reward moves an agent's sum by 1; with noise of scale b that is 1/b-DP: M epsilon as printed, epsilon where it is sound."""
    for name, factory in ALL.items():
        if not name.startswith(("cdp", "ddp", "hdp")):
            continue
        network = {} if name.startswith("cdp") else {"network": RING}
        policy = factory(**SIZES, epsilon=0.25, horizon=10_000, **network)
        whole = policy.stretches
        state = whole.init(())
        stretch, ones = whole.plan(state), jnp.zeros((8, 5), jnp.int32)
        shape = whole.draws["noise"].shape
        uploads = [policy.released(whole.update(state, stretch, ones, {"noise": jnp.full(shape, z, jnp.float32)}))[1] for z in (0.0, 1.0)]
        scale = np.asarray(uploads[1] - uploads[0])
        moved = policy.released(whole.update(state, stretch, ones.at[0, 0].set(1), {"noise": jnp.zeros(shape)}))[1] - uploads[0]
        assert float(jnp.sum(jnp.abs(moved))) == 1.0
        expected = 1 / 0.25 if policy.claim.status == "sound" else 1 / (8 * 0.25)
        np.testing.assert_allclose(scale, expected, rtol=1e-6)
        assert policy.claim.guaranteed == (policy.claim.status == "sound")
        assert policy.claim.trust == "agent"
        if policy.claim.status != "sound":
            assert "number of agents times epsilon" in policy.claim.flaw
            assert ("raw means" in policy.claim.flaw) == (not name.startswith("cdp"))


def test_only_a_share_sends():
    policy = policies.cdp_mab(**SIZES, epsilon=1.0, horizon=10_000, participation=0.4)
    assert float(policy.derived["course"][-1]) == 3.0
    whole = policy.stretches
    state = whole.init(())
    ones = jnp.asarray(np.arange(40).reshape(8, 5), jnp.int32)
    after = whole.update(state, whole.plan(state), ones, {"noise": jnp.ones((8, 5))})
    np.testing.assert_array_equal(policy.released(after)[1], np.where(np.arange(8)[:, None] < 3, np.arange(40).reshape(8, 5) + 1.0, 0.0))


def test_trade_offs_go_the_way_they_should():
    """Less participation and fewer rounds of communication cost regret, in a grid of both."""
    found = result(
        {"p": partial(policies.cdp_mab_calibrated, epsilon=0.5, smallest_gap=0.05)},
        grid={"participation": (0.25, 1.0), "num_comm_rounds": (1, 2, 8)},
        seeds=100,
        horizon=10**6,
    ).sel(policy="p")
    final = found["regret"].isel(round=-1).mean("seed")
    assert (final.sel(participation=0.25) > 1.5 * final.sel(participation=1.0)).all()
    assert float(final.sel(participation=1.0, num_comm_rounds=1)) > 2 * float(final.sel(participation=1.0, num_comm_rounds=8))
    assert (found["communications"].isel(round=-1).max("seed") <= found["num_comm_rounds"]).all()


def test_delays_cost_what_waiting_costs():
    """On longer paths agents wait longer, and lose more; with flooding through a star nearly nothing."""
    played = {
        "server": policies.cdp_mab_paper,
        "star": policies.ddp_mab_paper,
        "path": partial(policies.ddp_mab_paper, network=networks.path(num_agents=8)),
    }
    final = result(played, seeds=300, grid={"epsilon": (0.5,)})["regret"].isel(round=-1, epsilon=0)
    mean, error = final.mean("seed"), final.std("seed") / np.sqrt(300)
    server, star, path = (float(mean.sel(policy=name)) for name in played)
    assert server - 4 * float(error.max()) < star < path
    assert path < server + 3 * 8 * 7 + 4 * float(error.max()) * 2  # 3 M d, from the largest gaps of arms that may be left


def test_independent_agents_are_single_agents():
    alone = run(
        Study(
            problem=partial(problems.armed, means=MEANS),
            policies={"se": partial(armed.dp_se, epsilon=1.0), "ucb": armed.ucb1},
            seeds=800,
            horizon=3000,
            checkpoints=(100, 3000),
        ),
        progress=False,
    )["regret"]
    together = result(
        {"se": partial(policies.independent_dp_se, epsilon=1.0), "ucb": policies.independent_ucb1},
        seeds=100,
        horizon=3000,
        checkpoints=(100, 3000),
    )["regret"]
    error = np.sqrt(64 * alone.var("seed") / 800 + together.var("seed") / 100)
    assert (abs(8 * alone.mean("seed") - together.mean("seed")) <= 4 * error + 1e-3).all()
    one, many = (float(x.sel(policy="ucb").isel(round=-1).var("seed")) for x in (alone, together))
    assert 5 < many / one < 12  # independent: variances add up


def test_each_agent_of_a_local_policy_keeps_its_claim():
    one = armed.ldp_ucb_laplace(num_arms=3, epsilon=1.0)
    many = each_agent(one, 4)
    assert many.claim == one.claim
    assert each_agent(armed.dp_se(num_arms=3, epsilon=1.0, horizon=100), 4).claim.trust == "agent"
    state, rng = many.init(jnp.zeros(3, jnp.int32)), np.random.default_rng(0)
    for t in range(1, 8):
        z = {name: rng.random(d.shape).astype(np.float32) for name, d in many.device_draws.items()}
        s = {name: rng.random(d.shape).astype(np.float32) for name, d in many.server_draws.items()}
        round_ = Round(jnp.int32(t), ())
        action = many.act(state, round_, s)
        rewards = jnp.asarray(rng.integers(0, 2, 4), jnp.int32)
        message = many.report(round_, action, rewards, z)
        after = many.update(state, jnp.int32(t), action, message, s)
        for agent in range(4):
            own, of_agent = jax.tree.map(lambda x, agent=agent: x[agent], state), lambda d, agent=agent: {k: v[agent] for k, v in d.items()}
            arm = one.act(own, round_, of_agent(s))
            assert int(arm[0]) == int(action[agent])
            said = one.report(round_, arm, rewards[agent], of_agent(z))
            np.testing.assert_allclose(said, message[agent])
        state = after


# All other rewards are 0: of random ones the sum would hide the one that is audited, which a claim may not count on.
SMALL = partial(problems.federated, means=np.zeros(2), num_agents=8)


def audited(policy, network=None, wait=0, runs=2**13, users=None):
    """An agent's reward in the last slot of a short first epoch, seen until its end or that of the wait after it."""
    policy = partial(policy, horizon=400, num_comm_rounds=1, smallest_gap=0.9, **({"network": network} if network else {}))
    present, last = first_epoch(policy(num_arms=2, num_agents=8))
    assert last == present + wait
    return audit(policy, SMALL, present=present, horizon=last, runs=runs, confidence=0.99, users=users)


def test_audits_find_what_the_printed_noise_gives_away():
    """Nominal epsilon 0.25 and eight agents: an upload is 2-DP."""
    printed = audited(partial(policies.cdp_mab_paper, epsilon=0.25))
    assert printed.violated
    assert 1.4 < printed.epsilon <= 2.0
    sound = audited(partial(policies.cdp_mab, epsilon=1.0), users=[[0] * 8, [0] * 7 + [1]])
    assert not sound.violated
    assert 0.6 < sound.epsilon <= 1.0
    secure = audited(partial(policies.cdp_mab_secure_sum, epsilon=1.0))
    assert not secure.violated
    assert 0.6 < secure.epsilon <= 1.0


def test_audits_see_agents_that_wait():
    """Where agents wait they pull the arm of their best raw mean, which is the audited reward and nothing else: no epsilon is enough."""
    star = networks.star(num_agents=8)
    policy = partial(policies.ddp_mab_calibrated, epsilon=1.0)
    found = audited(policy, network=star, wait=2)
    assert found.violated
    assert found.epsilon > 0.99 * found.most
    sound = audited(partial(policies.ddp_mab, epsilon=1.0), network=star, wait=2)
    assert not sound.violated, sound


def test_users_of_an_audit_differ_in_one_agent():
    with pytest.raises(ValueError, match="users must differ in the reward of one agent"):
        audit(partial(policies.cdp_mab, epsilon=1.0), SMALL, users=[[0] * 8, [1] * 8], runs=1000)


@pytest.mark.parametrize(
    ("factory", "changes", "message"),
    [
        ("ddp_mab", {"network": networks.star(num_agents=5)}, "network must have the num_agents of the problem, 8; got 5"),
        ("ddp_mab", {"network": ALONE}, "network must be connected; it has 8 components"),
        ("ddp_mab", {"network": "star"}, "network must be a Network"),
        ("hdp_mab", {"network": None}, "network must be a Network"),
        ("cdp_mab", {"participation": 0.0}, "participation must be from 1e-6 to 1; got 0.0"),
        ("cdp_mab", {"participation": 1.1}, "participation must be from 1e-6 to 1; got 1.1"),
        ("cdp_mab", {"num_comm_rounds": 0}, "num_comm_rounds must be a whole number from 1 to 64, or inf; got 0"),
        ("cdp_mab", {"num_comm_rounds": 65}, "num_comm_rounds must be a whole number from 1 to 64, or inf; got 65"),
        ("cdp_mab", {"num_comm_rounds": 2.5}, "num_comm_rounds must be a whole number from 1 to 64, or inf; got 2.5"),
        ("cdp_mab", {"smallest_gap": 0.1}, "smallest_gap is for num_comm_rounds only"),
        ("cdp_mab", {"num_comm_rounds": 3, "smallest_gap": 1.0}, "smallest_gap must be from 1e-9 to 0.999; got 1.0"),
        ("cdp_mab", {"newest_epoch": 1}, "newest_epoch must be"),
        ("cdp_mab", {"horizon": 0}, "horizon must be"),
        ("cdp_mab", {"num_agents": 5000}, "num_agents must be an integer from 1 to 4096; got 5000"),
        ("cdp_mab", {"course": np.zeros(3)}, "course must be an array of shape"),
        ("independent_dp_se", {"num_agents": 0}, "num_agents must be an integer from 1 to 4096; got 0"),
    ],
)
def test_bad_arguments(factory, changes, message):
    usual = {**SIZES, "epsilon": 1.0, "horizon": 1000}
    with pytest.raises(ValueError, match=message):
        ALL[factory](**{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"means": [0.5, 1.5]}, "means must be"),
        ({"num_agents": 0}, "num_agents must be an integer from 1 to 4096; got 0"),
        ({"network": STAR, "num_agents": 3}, "network must have the num_agents of the problem, 3; got 8"),
        ({"by_stretch": 1}, "by_stretch must be"),
    ],
)
def test_bad_problems(changes, message):
    with pytest.raises(ValueError, match=message):
        problems.federated(**{"means": MEANS, "num_agents": 8, **changes})


def test_policies_of_one_agent_do_not_play_it():
    with pytest.raises(ValueError, match=r"act must return int32\[8\]"):
        result({"p": partial(armed.dp_se, epsilon=1.0)})
    with pytest.raises(ValueError, match="plays problems that have num_agents"):
        Study(problem=partial(problems.armed, means=MEANS), policies={"p": partial(policies.cdp_mab, epsilon=1.0)}, horizon=10)


def test_communication_is_counted_and_priced():
    per_round = networks.flood(RING).links_used
    found = run(
        Study(
            problem=partial(problems.federated, means=MEANS, num_agents=8, network=RING),
            policies={"graph": partial(policies.ddp_mab_calibrated, epsilon=1.0), "alone": policies.independent_ucb1},
            seeds=3,
            horizon=3000,
            metrics={"rounds": metrics.communications, "cost": metrics.communication_cost(0.5 * per_round)},
        ),
        progress=False,
    )
    np.testing.assert_array_equal(found["cost"], found["rounds"] * 0.5 * per_round)
    last = found["rounds"].isel(round=-1)
    assert (last.sel(policy="graph") >= 1).all()
    assert (last.sel(policy="alone") == 0).all()
    with pytest.raises(ValueError, match="per_round must be a finite number, at least 0 and at most 1e10; got -1"):
        metrics.communication_cost(-1)


def test_act_of_the_first_round():
    policy = policies.cdp_mab(**SIZES, epsilon=1.0, horizon=1000)
    np.testing.assert_array_equal(policy.act(policy.init(()), ROUND, {}), np.zeros(8))


def test_a_course_cannot_change_the_noise():
    """What was worked out for another epsilon, or made up, leaves the noise at that of the claim, or is refused."""
    quiet = policies.cdp_mab(**SIZES, epsilon=math.inf, horizon=1000).derived["course"]
    policy = policies.cdp_mab(**SIZES, epsilon=0.5, horizon=1000, course=quiet)
    whole = policy.stretches
    state, ones = whole.init(()), jnp.zeros((8, 5), jnp.int32)
    after = whole.update(state, whole.plan(state), ones, {"noise": jnp.ones((8, 5), jnp.float32)})
    np.testing.assert_allclose(policy.released(after)[1], 2.0)
    for place, value in ((0, 0.0), (0, 0.5), (3, 1e300), (70, -1.0), (70, math.inf), (-1, 2.5), (-1, 0.0), (-1, 9.0), (-2, 3.0)):
        wrong = quiet.copy()
        wrong[place] = value
        with pytest.raises(ValueError, match="course must be"):
            policies.cdp_mab(**SIZES, epsilon=0.5, horizon=1000, course=wrong)


def test_swept_trade_offs_are_refused_at_the_door():
    problem = partial(problems.federated, means=MEANS, num_agents=8)
    for axis, value in (("smallest_gap", 1 - 1e-9), ("smallest_gap", 1e-46), ("participation", 1e-46)):
        fixed = {"num_comm_rounds": 4} if axis == "smallest_gap" else {}
        with pytest.raises(ValueError, match=f"{axis} must be from"):
            Study(problem=problem, policies={"p": partial(policies.cdp_mab, epsilon=1.0, **fixed)}, grid={axis: [value, 0.5]}, horizon=50)


def test_what_a_server_tells_an_agent_stays_with_it():
    """Each agent has a server of its own, which tells it how many reports it got."""
    inner = armed.ucb1(num_arms=2)
    told = inner._replace(
        init=lambda preview: (inner.init(preview), jnp.int32(0)),
        act=lambda state, round_, z: inner.act(state[0], round_, z),
        report=lambda round_, arm, reward, z: (reward, round_.broadcast),
        update=lambda state, t, arm, message, z: (inner.update(state[0], t, arm, message[0], z), message[1] + 1),
        broadcast=lambda state: state[1],
        settle=None,
        released=None,
    )

    def each(*, num_arms: int, num_agents: int):
        return each_agent(told, num_agents)

    problem = partial(problems.federated, means=[0.9, 0.5], num_agents=4)
    study = Study(problem=problem, policies={"p": each}, seeds=2, horizon=8, checkpoints=(8,), metrics={"heard": lambda s, i: s[1]})
    assert (run(study, progress=False)["heard"] == 8).all()
    with pytest.raises(ValueError, match="policy must be a Policy"):
        each_agent(None, 3)  # pyright: ignore


def test_metrics_travel_and_stay_finite():
    cost = metrics.communication_cost(2.5)
    assert pickle.loads(pickle.dumps(cost)) == cost
    with pytest.raises(ValueError, match="per_round must be a finite number, at least 0 and at most 1e10; got 1e"):
        metrics.communication_cost(1e39)


def test_a_study_of_networks_travels():
    problem = partial(problems.federated, means=MEANS, num_agents=8, network=RING)
    study = Study(problem=problem, policies={"p": partial(policies.ddp_mab, epsilon=1.0)}, horizon=50)
    assert pickle.loads(pickle.dumps(study)) == study
    other = Study(problem=problem, policies={"p": partial(policies.ddp_mab, epsilon=1.0, network=STAR)}, horizon=50)
    assert other != study


def test_an_audit_that_saw_nothing_says_so():
    found = audit(partial(armed.dp_se, epsilon=1.0), partial(problems.armed, means=MEANS), runs=200)
    assert "a longer horizon may show more" in str(found)


def test_a_plan_that_does_not_get_on_is_refused():
    def stuck(*, num_arms: int, num_agents: int, horizon: int):
        policy = policies.cdp_mab(num_arms=num_arms, num_agents=num_agents, horizon=horizon, epsilon=1.0)
        whole = policy.stretches
        return policy._replace(stretches=whole._replace(plan=lambda state: whole.plan(state)._replace(slots=jnp.int32(0))))

    with pytest.raises(ValueError, match="must choose legal actions"):
        result({"p": stuck}, seeds=2, horizon=40)


def test_more_randomness_than_a_stream_has_is_refused():
    with pytest.raises(ValueError, match="draws must need at most 16,777,216 words of a stream in a round; rewards need 17,203,200"):
        run(
            Study(
                problem=partial(problems.federated, means=np.full(2100, 0.5), num_agents=4096),
                policies={"p": partial(policies.cdp_mab_secure_sum, epsilon=1.0)},
                seeds=1,
                horizon=10,
            ),
            progress=False,
        )


def test_no_limit_on_communication_is_a_point_of_a_grid():
    found = result({"p": policies.cdp_mab}, grid={"epsilon": (0.5,), "num_comm_rounds": (2, math.inf)}, horizon=20_000).sel(epsilon=0.5)
    plain = result({"p": policies.cdp_mab}, grid={"epsilon": (0.5,)}, horizon=20_000).sel(epsilon=0.5)
    np.testing.assert_array_equal(found["regret"].sel(num_comm_rounds=math.inf), plain["regret"])
    with pytest.raises(ValueError, match="policy must be one of the federated algorithms with epochs"):
        first_epoch(armed.ucb1(num_arms=2))


def test_a_network_that_is_missing_or_swept():
    problem = partial(problems.federated, means=MEANS, num_agents=8)
    with pytest.raises(ValueError, match=r"needs .network.: fix it with functools\.partial or give it to the problem"):
        Study(problem=problem, policies={"p": partial(policies.ddp_mab, epsilon=1.0)}, horizon=10)
    with pytest.raises(ValueError, match=r"grid\['network'\] must have numbers or arrays of numbers as values"):
        Study(
            problem=problem,
            policies={"p": partial(policies.ddp_mab, epsilon=1.0)},
            grid={"network": {"ring": RING, "star": STAR}},
            horizon=10,
        )
