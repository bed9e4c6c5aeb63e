"""What is special about contextual policies: eigenvalues, coverage, projections, cuts, sigma."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, links, privacy, problems, run
from jaxbandits.core import Round, told
from jaxbandits.engine import factor, linalg, sums
from jaxbandits.mechanisms import calibrate, regression
from jaxbandits.policies import armed
from jaxbandits.policies import contextual as policies
from jaxbandits.policies.contextual import assemble
from jaxbandits.problems import contexts

DIM, HORIZON, FAIL = 4, 400, 0.1
LINK = links.linear()


def problem(dim=DIM, link=LINK, **fixed):
    return partial(problems.contextual, contexts=contexts.sphere(dim=dim, num_actions=6), link=link, **fixed)


def played(policy, metric, *, dim=DIM, link=LINK, seeds=100, horizon=HORIZON, checkpoints=(1, 10, 100, 400), **grid):
    study = Study(
        problem=problem(dim, link),
        policies={"p": policy},
        grid=grid,
        seeds=seeds,
        horizon=horizon,
        checkpoints=checkpoints,
        metrics={"found": metric},
    )
    return run(study, progress=False)["found"].sel(policy="p")


def with_exact(factory):
    """The policy with the sum of the users' own x x' beside its state, to see the noise alone."""

    def made(**arguments):
        inner = factory(**arguments)

        def report(round_, action, reward, z):
            x = linalg.within(linalg.row(round_.context, action[0]))
            return inner.report(round_, action, reward, z), linalg.outer(x)

        return inner._replace(
            init=lambda preview: (inner.init(preview), jnp.zeros(linalg.packed_size(DIM))),
            act=lambda state, round_, z: inner.act(state[0], round_, z),
            report=report,
            update=lambda state, t, action, message, z: (inner.update(state[0], t, action, message[0], z), state[1] + message[1]),
            settle=None,
        )

    return made


def whole(state, instance):
    return jnp.stack([assemble.matrix_of(state[0].sums), state[1]])


def sound(dim, link, horizon, epsilon):
    return policies.ldp_linucb(dim=dim, link=link, horizon=horizon, epsilon=epsilon, delta=1e-2, fail_prob=FAIL)


def test_eigenvalues_of_the_noise_and_ridge():
    """A8: sum of B + c_t I has its eigenvalues in [Gamma_t, 3 Gamma_t] in all rounds, but for a chance of alpha."""
    checkpoints = (1, 10, 100, 400)
    factory = partial(with_exact(policies.ldp_linucb), dim=DIM, link=LINK, horizon=HORIZON, epsilon=1.0, delta=1e-2, fail_prob=FAIL)
    found = played(factory, whole, checkpoints=checkpoints).values  # [seed, round, 2, packed]
    sigma = calibrate.analytic_sigma(1.0, 1e-2, regression.joint_sensitivity(1.0))
    gamma = sigma * np.sqrt(checkpoints) * (4 * DIM**0.5 + 2 * math.log(2 * HORIZON / FAIL))
    found = np.moveaxis(found, [found.shape.index(2), found.shape.index(linalg.packed_size(DIM))], [-2, -1])
    noise = np.asarray(linalg.unpacked(np.moveaxis(found[..., 0, :] - found[..., 1, :], -1, 0), DIM))
    noise = np.moveaxis(noise, [0, 1], [-2, -1])  # [seed, round, dim, dim]
    values = np.linalg.eigvalsh(noise + 2 * gamma[:, None, None] * np.eye(DIM))
    inside = (values >= gamma[:, None]).all(axis=-1) & (values <= 3 * gamma[:, None]).all(axis=-1)
    assert inside.all(axis=1).mean() >= 1 - FAIL
    spread = noise[:, -1, 0, 1].std() / np.sqrt(checkpoints[-1])
    assert spread == pytest.approx(sigma, rel=0.25)  # 100 seeds; without noise, or with that of another sigma, it would not be


def distance(state, instance):
    """Of the parameter from the estimate, in the norm of the matrix, at the ridge of round 401; and the width."""
    matrix, vector = assemble.matrix_of(state.sums), assemble.vector_of(state.sums)
    sigma = calibrate.analytic_sigma(1.0, 1e-2, regression.joint_sensitivity(1.0))
    gamma = jnp.float32(sigma * math.sqrt(HORIZON) * (4 * DIM**0.5 + 2 * math.log(2 * HORIZON / FAIL)))
    gap = instance.theta - factor.solve(matrix, 2 * gamma, vector)
    rows = linalg.unpacked(matrix, DIM) + 2 * gamma * jnp.eye(DIM)
    return jnp.sqrt(gap @ rows @ gap)


def test_width_covers_the_parameter():
    found = played(
        partial(policies.ldp_linucb, epsilon=1.0, delta=1e-2, fail_prob=FAIL), distance, seeds=200, checkpoints=(HORIZON,)
    ).values
    sigma = calibrate.analytic_sigma(1.0, 1e-2, regression.joint_sensitivity(1.0))
    gamma = sigma * math.sqrt(HORIZON) * (4 * DIM**0.5 + 2 * math.log(2 * HORIZON / FAIL))
    log = math.log(HORIZON / FAIL)
    width = 0.1 * math.sqrt(2 * log + DIM * math.log1p(HORIZON / (DIM * gamma))) + math.sqrt(3 * gamma)
    width += sigma * math.sqrt(HORIZON) * (math.sqrt(DIM) + math.sqrt(2 * log)) / math.sqrt(gamma)
    assert (found <= width).mean() >= 1 - 3 * FAIL
    assert np.median(found) > width / 10


@pytest.mark.parametrize("link", [links.logistic(), links.linear(), links.poisson()], ids=["logistic", "linear", "poisson"])
def test_online_estimate_stays_in_the_ball(link):
    """P11, with noise so large that the steps would leave it at once."""
    factory = partial(policies.ldp_glm, epsilon=0.1, delta=1e-2)
    found = played(
        factory,
        lambda state, instance: jnp.sqrt(linalg.dot(state.estimate, state.estimate)),
        link=link,
        checkpoints=range(1, 41),
        horizon=40,
    ).values
    assert found.max() <= 1 + 1e-6
    assert found.max() > 0.99


@pytest.mark.parametrize("name", ["ldp_linucb", "ldp_glm", "ldp_ols", "ldp_sgd"])
def test_messages_of_sound_policies_are_made_of_cut_records(name):
    """Features and rewards far outside leave the device as their nearest ones inside: claims rest on that."""
    factory = getattr(policies, name)
    given = {"horizon": 100, "delta": 1e-2} if name != "ldp_sgd" else {}
    policy = factory(dim=2, link=LINK, epsilon=1.0, **given)
    z = {n: jnp.full(d.shape, 0.3) for n, d in policy.device_draws.items()}
    state, action = policy.init(()), jnp.array([0], jnp.int32)

    def sent(x, reward):
        round_ = Round(jnp.int32(1), jnp.asarray([x, [0.0, 0.0]], jnp.float32), told(policy, state))
        return policy.report(round_, action, jnp.float32(reward), z)

    near, far = sent([0.6, 0.8], 1.0), sent([60.0, 80.0], 1e6)
    for a, b in zip(jax.tree.leaves(near), jax.tree.leaves(far), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (policies.ldp_linucb_paper, 6 * math.sqrt(2 * math.log(2.5 / 1e-2)) / 2),
        (policies.ldp_linucb_author_code, 4 * math.sqrt(math.log(1.25 / 1e-2)) / 2),
        (policies.ldp_linucb, calibrate.analytic_sigma(2.0, 1e-2, 2.12132)),
        (policies.ldp_glm_paper, 6 * math.sqrt(2 * math.log(3.75 / 1e-2)) / 2),
        (policies.ldp_ols, calibrate.analytic_sigma(2.0, 1e-2, 2.12132)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_deviation_of_what_is_sent(make, wanted):
    policy = make(dim=2, link=LINK, horizon=100, epsilon=2.0, delta=1e-2)
    round_ = Round(jnp.int32(1), jnp.zeros((2, 2)), told(policy, policy.init(())))
    nothing, ones = ({n: jnp.full(d.shape, v) for n, d in policy.device_draws.items()} for v in (0.0, 1.0))
    gaps = [
        np.asarray(b - a)
        for a, b in zip(
            *(jax.tree.leaves(policy.report(round_, jnp.array([0], jnp.int32), jnp.float32(0.5), z)) for z in (nothing, ones)), strict=True
        )
    ]
    for gap in gaps:
        np.testing.assert_allclose(gap, wanted, rtol=1e-5)


def test_glm_sigma_covers_its_residual():
    far = links.residual(links.logistic())
    policy = policies.ldp_glm(dim=2, link=links.logistic(), horizon=100, epsilon=1.0, delta=1e-2)
    wanted = calibrate.analytic_sigma(1.0, 1e-2, math.sqrt(2) * (1 + (1 + far**2) / 2))
    assert policy.derived["sigma"] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", ["ldp_linucb", "ldp_glm", "ldp_ols", "joint_dp_linucb"])
def test_a_sigma_too_small_for_the_claim_is_refused(name):
    with pytest.raises(ValueError, match="sigma must be at least"):
        getattr(policies, name)(dim=2, link=LINK, horizon=100, epsilon=1.0, delta=1e-2, sigma=1.0)


def test_joint_tree_keeps_the_noise_of_its_nodes():
    """After round t the noise is that of the nodes of the set bits of t, each drawn once."""
    policy = policies.joint_dp_linucb(dim=2, link=LINK, horizon=16, epsilon=1.0, delta=1e-2)
    sigma, state, drawn = policy.derived["sigma"], policy.init(()), {}
    raw = assemble.Record(features=jnp.zeros(2), reward=jnp.float32(0.0))
    for t in range(1, 17):
        fresh = jnp.full(6, float(t))
        state = policy.update(state, jnp.int32(t), jnp.array([0], jnp.int32), raw, {"node": fresh})
        lowest = (t & -t).bit_length() - 1
        drawn = {level: value for level, value in drawn.items() if level > lowest} | {lowest: t}
        np.testing.assert_allclose(policy.released(state), sigma * sum(drawn.values()), rtol=1e-5)
        assert sorted(drawn) == [level for level in range(5) if t >> level & 1]


def test_joint_policy_looks_at_releases_only():
    """What a record adds can be hidden in the noise of the nodes that it is in: then actions and releases are the same for ever."""
    policy = policies.joint_dp_linucb(dim=2, link=LINK, horizon=16, epsilon=1.0, delta=1e-2)
    rng, change = np.random.default_rng(0), np.array([0.3, -0.2, 0.1, 0.4, 0.0, -0.3], np.float32)
    states, hidden = [policy.init(()), policy.init(())], 0
    for t in range(1, 17):
        features = jnp.asarray(rng.normal(size=(5, 2)) / 3, jnp.float32)
        actions = [policy.act(state, Round(jnp.int32(t), features), {}) for state in states]
        assert actions[0] == actions[1]
        raw = assemble.Record(features=features[0], reward=jnp.float32(rng.normal()))
        fresh, lowest = rng.normal(size=6).astype(np.float32), (t & -t)
        # The record of round 3 is in the node that ends in round t if 3 is among its rounds.
        inside = t - lowest < 3 <= t
        hidden += inside
        other = fresh - inside * change / np.float32(policy.derived["sigma"])
        states = [
            policy.update(state, jnp.int32(t), actions[0], raw, {"node": jnp.asarray(z)})
            for state, z in zip(states, (fresh, other), strict=True)
        ]
        if t == 3:  # the other user of that round
            states[1] = states[1]._replace(gram=states[1].gram + change)
        np.testing.assert_allclose(policy.released(states[0]), policy.released(states[1]), atol=2e-5)
    assert hidden <= 1 + math.ceil(math.log2(16))


def test_sums_are_moved_before_they_lose_small_terms():
    state = assemble.start(2)._replace(matrix=jnp.full(3, 2.0**24), vector=jnp.full(2, 2.0**24))
    moved = assemble.settle(state)
    assert (moved.matrix == 0).all()
    after = assemble.settle(assemble.added(moved, jnp.full(3, 0.25), jnp.full(2, 0.25)))
    for _ in range(7):
        after = assemble.settle(assemble.added(after, jnp.full(3, 0.25), jnp.full(2, 0.25)))
    np.testing.assert_array_equal(sums.on_host(after.folded_matrix), 2.0**24 + 2.0)
    np.testing.assert_array_equal(assemble.matrix_of(after), np.float32(2.0**24 + 2.0))


def test_families_are_told_apart():
    with pytest.raises(ValueError, match="plays problems that have dim"):
        Study(problem=partial(problems.armed, means=[0.1, 0.2]), policies={"p": policies.oful})
    with pytest.raises(ValueError, match="plays problems that have num_arms"):
        Study(problem=problem(), policies={"p": armed.ucb1})


def test_a_full_tree_takes_no_more_records():
    """Beyond its horizon no node has noise for a record: it stays out, and the noise in force stays."""
    policy = policies.joint_dp_linucb(dim=2, link=LINK, horizon=4, epsilon=1.0, delta=1e-2)
    state, one = policy.init(()), assemble.Record(features=jnp.array([0.5, 0.5]), reward=jnp.float32(1.0))
    for t in range(1, 5):
        state = policy.update(state, jnp.int32(t), jnp.array([0], jnp.int32), one, {"node": jnp.full(6, 0.3)})
    full = policy.released(state)
    for t in range(5, 10):
        state = policy.update(state, jnp.int32(t), jnp.array([0], jnp.int32), one, {"node": jnp.full(6, 0.3)})
        np.testing.assert_array_equal(policy.released(state), full)
        assert float(jnp.abs(state.noise).sum()) > 0


@pytest.mark.parametrize("factory", [policies.oful, partial(policies.ldp_linucb, epsilon=1e4, delta=1e-3)], ids=["raw", "private"])
def test_replies_that_are_no_numbers(factory):
    """A run that learns from them ends with an error; a private device sends what any other could have sent."""
    broken = LINK._replace(sample=lambda z, u: jnp.where(u["reward"] > 1.5, jnp.nan, z))
    study = Study(problem=problem(link=broken), policies={"p": factory}, seeds=4, horizon=200)
    if factory is policies.oful:
        with pytest.raises(FloatingPointError, match="state of policy 'p' is not a number"):
            run(study, progress=False)
    else:
        assert np.isfinite(run(study, progress=False)["regret"]).all()


def test_contexts_of_another_shape_are_refused():
    some = contexts.sphere(dim=2, num_actions=3)
    wrong = some._replace(at=lambda common, t, z: z["features"][:2])
    with pytest.raises(ValueError, match=r"contexts.at must return float32 \[3, 2\]"):
        run(Study(problem=partial(problems.contextual, contexts=wrong), policies={"p": policies.oful}, horizon=5), progress=False)


def test_the_audit_catches_a_message_that_is_not_cut():
    """The same policy without its cuts, at the epsilon that it would claim: rewards beyond their range show."""
    fixed = partial(problems.contextual, contexts=contexts.fixed([[1.0, 0.0], [0.8, 0.6]]), link=LINK)
    given = {"epsilon": 1.0, "delta": 1e-3}
    printed = privacy.audit(partial(policies.ldp_linucb_paper, **given), fixed, users=(-50.0, 50.0), runs=2**13)
    assert printed.violated, printed
    kept = privacy.audit(partial(policies.ldp_linucb, **given), fixed, users=(-50.0, 50.0), runs=2**13)
    assert not kept.violated, kept
