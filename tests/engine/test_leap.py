"""A stretch at a time is slot by slot: the same steps on the same sums, the same law, and no trace of how the work was cut."""

import functools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits import Study, metrics, networks, problems, run
from jaxbandits.engine import lanes
from jaxbandits.policies import federated as policies
from jaxbandits.turns import times_pulled
from tests.helpers import ROUND

MEANS = np.array([0.9, 0.8, 0.6, 0.5])
RING = networks.ring(num_agents=5)
PAIRS = networks.disjoint(networks.path(num_agents=3), networks.path(num_agents=2))
PLAYED = {
    "server": policies.cdp_mab,
    "secure": policies.cdp_mab_secure_sum,
    "graph": partial(policies.ddp_mab, network=RING),
    "printed graph": partial(policies.ddp_mab_paper, network=RING),
    "parts": partial(policies.hdp_mab, network=PAIRS),
}


def study(by_stretch, **changes):
    usual = {
        "problem": partial(problems.federated, means=MEANS, num_agents=5, by_stretch=by_stretch),
        "policies": PLAYED,
        "grid": {"epsilon": (0.3, 3.0)},
        "seeds": 200,
        "horizon": 6000,
        "checkpoints": (50, 700, 1500, 3000, 6000),
        "metrics": {"communications": metrics.communications},
    }
    return Study(**{**usual, **changes})


SAMPLED = ("secure", "printed graph")  # one with a single noise and no wait, one with all noises and waits


@functools.cache
def results(by_stretch):
    return run(study(by_stretch, policies={name: PLAYED[name] for name in SAMPLED}), progress=False)


@pytest.mark.parametrize("name", SAMPLED)
def test_law_is_that_of_slot_by_slot(name):
    """At every checkpoint means within 4 standard errors of the difference, the final law by Kolmogorov and Smirnov; but another
    epsilon has another law."""
    fast, slow = (results(by).sel(policy=name) for by in (True, False))
    for field in ("regret", "communications"):
        a, b = fast[field], slow[field]
        error = np.sqrt((a.var("seed") + b.var("seed")) / a.sizes["seed"])
        assert (abs(a.mean("seed") - b.mean("seed")) <= 4 * error + 1e-4 * b.mean("seed")).all(), field
    for epsilon in (0.3, 3.0):
        last = [found["regret"].sel(epsilon=epsilon).isel(round=-1).values.astype(np.float32) for found in (fast, slow)]
        assert stats.ks_2samp(*(np.round(values, 1) for values in last)).pvalue > 1e-4
    other = slow["regret"].sel(epsilon=3.0).isel(round=-1).values
    assert stats.ks_2samp(fast["regret"].sel(epsilon=0.3).isel(round=-1).values, other).pvalue < 1e-6


@pytest.mark.parametrize("name", PLAYED)
def test_the_same_sums_and_noise_lead_to_the_same_states(name):
    """Slots are played with some rewards and noise; the stretch gets their sums, and the noise of each arm's last slot."""
    policy = PLAYED[name](num_arms=4, num_agents=5, epsilon=1.0, horizon=6000)
    whole, rng = policy.stretches, np.random.default_rng(3)
    act, update, plan, leap = (jax.jit(f) for f in (policy.act, policy.update, whole.plan, whole.update))
    slow, fast = policy.init(()), whole.init(())
    played = 0
    for _ in range(6):
        stretch = plan(fast)
        if int(stretch.slots) > 6000:
            break
        ones, noise = np.zeros((5, 4), np.int32), np.zeros((policy.server_draws["noise"].shape[0], 4), np.float32)
        times = np.zeros((5, 4), int)
        for _ in range(int(stretch.slots)):
            z = rng.laplace(size=policy.server_draws["noise"].shape).astype(np.float32)
            action = np.asarray(act(slow, ROUND, {"noise": z}))
            rewards = (rng.random(5) < MEANS[action]).astype(np.int32)
            times[np.arange(5), action] += 1
            if not bool(stretch.waiting):
                ones[np.arange(5), action] += rewards
                noise[:, action[0]] = z
            slow = update(slow, jnp.int32(1), action, rewards, {"noise": z})
            played += 1
        if not bool(stretch.waiting):
            np.testing.assert_array_equal(times, np.broadcast_to(times_pulled(stretch, stretch.slots), (5, 4)))
        else:
            assert (times[np.arange(5), np.asarray(stretch.own)] == int(stretch.slots)).all()
        fast = leap(fast, stretch, jnp.asarray(ones), {"noise": jnp.asarray(noise)})
        for field in set(fast._fields) - {"slots"}:
            np.testing.assert_array_equal(getattr(slow, field), getattr(fast, field), err_msg=field)
    assert played > 500
    assert int(fast.communications) >= 1


def test_regret_within_a_stretch_is_that_of_its_slots():
    problem = problems.federated(means=MEANS, num_agents=5)
    policy = policies.cdp_mab(num_arms=4, num_agents=5, epsilon=1.0, horizon=6000)
    instance = problem.setup({"order": jnp.asarray(np.random.default_rng(0).integers(0, 2**32, (2, 4), dtype=np.uint32))})
    state = policy.stretches.init(())._replace(left=jnp.array([True, False, True, True]), own=jnp.array([0, 1, 2, 3, 3]))
    for waiting in (False, True):
        now = state._replace(waiting=jnp.bool_(waiting))
        stretch, slow, total = policy.stretches.plan(now), policy.init(()), 0.0
        slow = now._replace(slots=slow.slots)
        assert float(problem.stretches.regret(instance, stretch, jnp.int32(0))) == 0.0
        for slot in range(1, 12):
            action = policy.act(slow, ROUND, {})
            slow = slow._replace(slots=slow.slots._replace(slot=slow.slots.slot + 1))
            total += float(problem.regret(instance, ROUND, action))
            assert float(problem.stretches.regret(instance, stretch, jnp.int32(slot))) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("by_stretch", [True, False])
def test_results_do_not_depend_on_how_the_work_is_cut(by_stretch):
    small = {"seeds": 40, "horizon": 1500, "checkpoints": (700, 1500), "policies": {"graph": PLAYED["graph"]}}
    whole = run(study(by_stretch, **small), progress=False)
    in_tiles = run(study(by_stretch, **small), progress=False, max_tile=16)
    np.testing.assert_array_equal(whole["regret"], in_tiles["regret"])
    np.testing.assert_array_equal(whole["communications"], in_tiles["communications"])
    often = run(study(by_stretch, **{**small, "checkpoints": (1, 2, 3, 99, 700, 701, 1499, 1500)}), progress=False)
    np.testing.assert_array_equal(whole["regret"], often["regret"].sel(round=[700, 1500]))
    fewer = run(study(by_stretch, **{**small, "seeds": 16}), progress=False)
    np.testing.assert_array_equal(fewer["regret"], whole["regret"].isel(seed=slice(16)))


def test_a_run_of_two_thousand_million_slots():
    horizon = 2**31 - 2**10
    found = run(study(True, horizon=horizon, checkpoints=(10**6, horizon), seeds=8, policies={"server": policies.cdp_mab}), progress=False)
    regret = found["regret"].sel(policy="server")
    assert (regret.isel(round=0) == regret.isel(round=1)).all()  # the best arm alone, long before


def test_where_any():
    """The lanes where it holds get the function's value, the others keep theirs, and it runs only if it holds somewhere."""

    def function(state, factor):
        return {"a": state["a"] * factor, "b": state["b"] + 1}

    def one(condition, a, b, factor):
        return lanes.where_any(condition, function, {"a": a, "b": b}, factor)

    a, b, factor = (
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.arange(4, dtype=np.int32),
        np.float32(10) + np.arange(4, dtype=np.float32),
    )
    over = jax.jit(jax.vmap(one, in_axes=(0, -1, 0, 0), out_axes=-1))
    for condition in ([False] * 4, [True] * 4, [True, False, False, True]):
        found, holds = over(np.array(condition), a, b, factor), np.array(condition)
        np.testing.assert_array_equal(found["a"], np.where(holds, a * factor, a))
        np.testing.assert_array_equal(found["b"], np.where(holds, b + 1, b))
    alone = jax.jit(one)(jnp.bool_(True), a[:, 0], b[0], factor[0])
    np.testing.assert_array_equal(alone["a"], a[:, 0] * factor[0])
