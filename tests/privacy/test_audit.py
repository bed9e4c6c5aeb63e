"""The audit finds the leaks that are known, and does not accuse what is sound."""

import dataclasses
import math
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits import problems
from jaxbandits.mechanisms import randomiser
from jaxbandits.policies import armed, cascade, semi_bandit
from jaxbandits.privacy import audit, judge, transcripts
from tests.helpers import POLICIES, bind, build, family, problem_of, takes

MEANS = np.full(3, 0.5)
SOUND = {name: factory for name, factory in POLICIES.items() if build(factory, 3, 2).claim.guaranteed}
FEW = (
    "all_ldp_response_ucb1",
    "all_ldp_gaussian_ucb1",
    "first_ldp_kl_ucb",
    "first_dp_kl_ucb",
    "all_dp_ucb1",
    "ldp_ucb_laplace",
    "cucb_ldp1",
    "ldp_linucb",
    "joint_dp_linucb",
    "ldp_gaussian_two_point",
)
"""One policy of each kind of mechanism."""


def problem(factory, list_len=2):
    fixed = {"means": MEANS} if family(factory).axis == "means" else {}
    return problem_of(factory, 3, list_len, **fixed)


@pytest.mark.parametrize("name", [name if name in FEW else pytest.param(name, marks=pytest.mark.full) for name in SOUND])
def test_no_sound_policy_is_accused(name):
    """At 99.9 % confidence: of fifty policies none fails by chance."""
    found = audit(bind(SOUND[name]), problem(SOUND[name]), runs=2**15, confidence=0.999)
    assert not found.violated, found
    assert found.epsilon <= found.claim.epsilon


TIGHT = ["first_ldp_ucb1", "first_dp_lazy_ucb1", "cucb_ldp2", "ldp_ucb_laplace", "all_ldp_unary_ucb1"]


@pytest.mark.parametrize("name", TIGHT)
def test_the_bound_is_near_the_claim_where_the_claim_is_exact(name):
    found = audit(bind(SOUND[name]), problem(SOUND[name]), runs=2**16)
    assert 0.85 <= found.epsilon <= 1.0, found


LEAKS = ["laplace_ucb", "laplace_ucb_calibrated", "gaussian_ucb", "gaussian_ucb_calibrated", "hybrid_ucb", "hybrid_ucb_calibrated"]


@pytest.mark.parametrize("name", LEAKS)
def test_the_algorithms_of_the_cascade_paper_leak(name):
    """Algorithms 1 to 3, printed and with a repaired radius, at nominal epsilon 1: the click shows in lengths and counts."""
    factory = POLICIES[name]
    found = audit(bind(factory), problem(factory), runs=2**14)
    assert found.violated
    assert found.epsilon > 4


@pytest.mark.parametrize("name", ["laplace_ucb", "gaussian_ucb", "hybrid_ucb", "gaussian_cucb"])
def test_the_raw_start_leaks(name):
    """With lists of one there is no length to leak: what the first user sent as it is still shows in the first action."""
    factory = POLICIES[name]
    raw = audit(bind(factory), problem(factory, 1), present=0, runs=2**13)
    assert raw.epsilon > 4, raw
    assert raw.violated
    later = audit(bind(factory), problem(factory, 1), runs=2**13)
    assert not later.violated
    assert str(later).endswith("it starts from a raw reply: audit present=0 too")
    assert ", the most that 8,192 runs can show" in str(raw)


def test_a_sound_policy_does_not_look_at_the_preview():
    found = audit(bind(cascade.first_ldp_ucb1), problem(cascade.first_ldp_ucb1), present=0, runs=2**13)
    assert found.epsilon == 0.0
    assert str(found).endswith("it reads no preview, so that present=0 tests nothing")


def test_bits_of_a_super_arm_are_bits():
    for users in ([[0, 0], [50, 50]], [0, 1]):
        with pytest.raises(ValueError, match="users must reply"):
            audit(bind(semi_bandit.cucb_ldp1), problem(semi_bandit.cucb_ldp1), users=users)


def test_the_noise_of_the_paper_s_figures_is_none():
    found = audit(
        partial(semi_bandit.gaussian_cucb, epsilon=1.0, delta=1e-3, noise_scale=0.01), problem(semi_bandit.gaussian_cucb), runs=2**13
    )
    assert found.epsilon > 4
    assert "nominal 1 is exceeded" in str(found)


def noisy_arms(share):
    """LDP-UCB-L with a share of the noise that its claim needs."""

    def factory(*, num_arms):
        policy = armed.ldp_ucb_laplace(num_arms=num_arms, epsilon=1.0)
        noise = randomiser.clipped(randomiser.laplace(shape=(), sensitivity=1, epsilon=1.0, noise_scale=share))
        return policy._replace(report=lambda round_, action, reward, z: noise.send(reward, z))

    return factory


def test_two_thirds_of_the_noise_are_found():
    arms = partial(problems.armed, means=MEANS)
    found = audit(noisy_arms(2 / 3), arms, runs=2**16)
    assert found.violated, found
    assert 1.2 < found.epsilon <= 1.5
    assert not audit(noisy_arms(1.0), arms, runs=2**16).violated


def test_a_rare_raw_message_is_found():
    """A message as it is, once in 50 times, tells apart with certainty: a delta, however large epsilon."""

    def factory(*, num_arms):
        policy = armed.ldp_ucb_laplace(num_arms=num_arms, epsilon=1.0)

        def report(round_, action, reward, z):
            noisy = policy.report(round_, action, reward, z)
            return jnp.where(z["noise"] > math.log(25), 100.0 * reward.astype(jnp.float32), noisy)

        return policy._replace(report=report)

    arms = partial(problems.armed, means=MEANS)
    assert audit(factory, arms, runs=2**16).violated
    assert audit(factory, arms, runs=2**16, delta=0.01).violated
    assert not audit(factory, arms, runs=2**16, delta=0.5).violated


def test_a_leak_through_later_actions_is_found():
    """A server that is trusted, and whose actions depend on a raw sum."""

    def factory(*, num_arms):
        plain = armed.ucb1(num_arms=num_arms)
        claim = armed.dp_kl_ucb(num_arms=num_arms, epsilon=1.0).claim
        return plain._replace(claim=claim)

    found = audit(factory, partial(problems.armed, means=np.zeros(2)), horizon=12, runs=2**13)
    assert found.violated, found
    assert "action" in found.event
    assert "message" not in found.event


REPEATS = 200


def test_false_alarms_are_as_rare_as_they_should_be():
    """200 audits at 95 % of a policy whose claim is exact, and of one that has a tenth more: binomial law, 4 standard errors."""
    size = 2**12
    arms = partial(problems.armed, means=MEANS)
    for epsilon, accused in ((1.0, (0, 0.05 + 4 * math.sqrt(0.05 * 0.95 / REPEATS))), (1.25, (0.9, 1.0))):
        seen = transcripts(partial(armed.ldp_ucb_bernoulli, epsilon=epsilon), arms, runs=REPEATS * size, horizon=1)
        parts = [seen._replace(worlds=tuple(w[i * size : (i + 1) * size] for w in seen.worlds)) for i in range(REPEATS)]
        share = np.mean([judge(part, confidence=0.95).epsilon > 1.0 for part in parts])
        assert accused[0] <= share <= accused[1], f"{share:.3f} at epsilon {epsilon}"


def test_an_audit_does_not_depend_on_how_the_work_was_cut(monkeypatch):
    policy, cascades = bind(cascade.first_dp_lazy_ucb1), problem(cascade.first_dp_lazy_ucb1)
    whole = transcripts(policy, cascades, runs=500)
    monkeypatch.setattr("jaxbandits.engine.tiles._CACHE_BYTES", 16_000)
    for a, b in zip(whole.worlds, transcripts(policy, cascades, runs=500).worlds, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_an_observer_sees():
    local = transcripts(bind(cascade.all_ldp_unary_ucb1), problem(cascade.all_ldp_unary_ucb1), runs=128, horizon=3)
    assert local.names[:2] == ("action[0, 0]", "action[0, 1]")
    assert {"message[0]", "message[1]"} <= set(local.names)
    assert len(local.users) == 3
    central = transcripts(bind(cascade.first_dp_lazy_ucb1), problem(cascade.first_dp_lazy_ucb1), runs=128, present=2, horizon=3)
    assert not [n for n in central.names if n.startswith("message")]
    assert [n for n in central.names if n.startswith("released.total")] == [f"released.total[{t}, {i}]" for t in (0, 1) for i in range(3)]
    assert all(w.shape == (128, len(central.names)) for w in central.worlds)


def test_only_the_audited_user_differs():
    """Under a policy that sends everything, the worlds are one law but for the round of the user."""
    seen = transcripts(armed.ucb1, partial(problems.armed, means=[0.3]), users=(0, 1), runs=20_000, present=2, horizon=2)
    message = seen.names.index("message")
    assert [set(np.unique(world[:, message])) for world in seen.worlds] == [{0.0}, {1.0}]


def test_the_runs_are_independent_across_worlds():
    seen = transcripts(partial(armed.ldp_ucb_laplace, epsilon=1.0), partial(problems.armed, means=[0.3]), runs=20_000, horizon=1)
    noise = [world[:, seen.names.index("message")] - user for world, user in zip(seen.worlds, seen.users, strict=True)]
    assert abs(np.corrcoef(noise[0], noise[1])[0, 1]) < 4 / math.sqrt(20_000)
    for values in noise:
        assert stats.kstest(values, stats.laplace().cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"present": -1}, "present must be"),
        ({"present": 5, "horizon": 4}, "present must be an integer from 0 to 4; got 5"),
        ({"runs": 3}, "runs must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"users": [0]}, "users must be two replies or more"),
        ({"users": 5}, "users must be two replies or more"),
        ({"users": "ab"}, "users must be two replies or more"),
        ({"users": [0, [1, 2]]}, "users must reply int32"),
        ({"users": [0, "a"]}, "users must reply int32"),
        ({"users": [0, 0.7]}, "users must reply int32"),
        ({"users": [0, float("nan")]}, "users must reply int32"),
        ({"users": [0, 2**40]}, "users must reply int32"),
        ({"users": [0, 1, 1]}, "users must be different"),
        ({"users": [[1, 0, 0], [1, 0, float("inf")]], "present": 0}, "users must reply int32"),
        ({"users": [0, 1], "present": 0}, "users must reply int32"),
        ({"users": [0, 5]}, "users must reply bits, 0 or 1; got 5"),
        ({"runs": 10**12}, "runs must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit(partial(armed.ldp_ucb_bernoulli, epsilon=1.0), partial(problems.armed, means=MEANS), **arguments)


def test_a_policy_with_a_free_argument_is_refused():
    with pytest.raises(ValueError, match="policy needs 'epsilon'"):
        audit(armed.ldp_ucb_bernoulli, partial(problems.armed, means=MEANS))
    with pytest.raises(ValueError, match="num_items"):
        audit(bind(cascade.first_ldp_ucb1), partial(problems.armed, means=MEANS))


def test_an_audit_reads_well():
    found = audit(partial(armed.ldp_ucb_bernoulli, epsilon=1.0), partial(problems.armed, means=MEANS), runs=2**12)
    assert str(found).endswith("at delta 0, 95 % confidence; 1-LDP")
    assert dataclasses.asdict(found)["runs"] == 2**12
    assert takes(armed.ldp_ucb_bernoulli, "epsilon")


def test_a_click_beyond_the_list_is_refused():
    for users in ([0, 99], [0, -1]):
        with pytest.raises(ValueError, match="users must click at a position from 0 to 1, or 2 for none"):
            audit(bind(cascade.first_ldp_ucb1), problem(cascade.first_ldp_ucb1), users=users)


def test_a_claim_says_nothing_of_a_smaller_delta():
    policy = partial(cascade.all_ldp_gaussian_ucb1, epsilon=1.0, delta=0.1)
    small = audit(policy, problem(cascade.all_ldp_gaussian_ucb1), runs=2**14, delta=1e-3)
    assert small.epsilon > 1.2
    assert not small.violated
    assert str(small).endswith("which says nothing of this delta")
    large = audit(policy, problem(cascade.all_ldp_gaussian_ucb1), runs=2**14, delta=0.2)
    assert not large.violated
    assert large.epsilon < 1.0


def test_lists_that_are_none_are_refused():
    def factory(*, num_items, list_len):
        policy = cascade.first_ucb1(num_items=num_items, list_len=list_len)
        return policy._replace(act=lambda state, round_, z: jnp.full(list_len, 7, jnp.int32))

    with pytest.raises(ValueError, match="policy must choose legal actions"):
        audit(factory, problem(cascade.first_ucb1), runs=128)


def test_a_policy_of_which_nothing_is_seen():
    def factory(*, num_arms):
        return armed.dp_kl_ucb(num_arms=num_arms, epsilon=1.0)._replace(released=None)

    with pytest.raises(ValueError, match="horizon must be above present, 3"):
        audit(factory, partial(problems.armed, means=MEANS), present=3, horizon=3, runs=128)


def test_a_release_that_fails_is_named():
    def factory(*, num_arms):
        return armed.dp_kl_ucb(num_arms=num_arms, epsilon=1.0)._replace(released=lambda state: state.nothing)

    with pytest.raises(ValueError, match=r"policy\.released failed with AttributeError"):
        audit(factory, partial(problems.armed, means=MEANS), runs=128)


def test_a_claim_that_is_no_number_is_refused():
    def factory(*, num_arms):
        policy = armed.dp_kl_ucb(num_arms=num_arms, epsilon=1.0)
        return policy._replace(claim=dataclasses.replace(policy.claim, epsilon=float("nan")))

    with pytest.raises(ValueError, match="epsilon must be a number, at least 0; got nan"):
        audit(factory, partial(problems.armed, means=MEANS), runs=128)


def test_what_is_judged_must_be_transcripts():
    seen = transcripts(bind(cascade.first_ldp_ucb1), problem(cascade.first_ldp_ucb1), runs=200)
    with pytest.raises(ValueError, match="seen must be what transcripts returned"):
        judge("x")
    for worlds in (seen.worlds[:1], (seen.worlds[0][:1], seen.worlds[1][:1]), (seen.worlds[0], seen.worlds[1][:50])):
        with pytest.raises(ValueError, match="seen must have two worlds or more"):
            judge(seen._replace(worlds=worlds))
    with pytest.raises(ValueError, match="a transcript has NaN"):
        judge(seen._replace(worlds=tuple(np.where(np.arange(w.shape[1]) == 1, np.nan, w) for w in seen.worlds)))


def test_the_only_item_has_a_preview_too():
    """Of one item no action tells anything; the previews are different all the same."""
    found = audit(bind(cascade.laplace_ucb), problem_of(cascade.laplace_ucb, 1, 1, means=[0.5]), present=0, runs=200)
    assert not np.array_equal(*found.users)


def test_another_audit_compiles_nothing():
    from jaxbandits.engine import tiles

    policy, arms = partial(armed.ldp_ucb_bernoulli, epsilon=1.3), partial(problems.armed, means=MEANS)
    audit(policy, arms, runs=256)
    before = tiles._compile.cache_info().misses
    audit(policy, arms, runs=256, seed=5)
    assert tiles._compile.cache_info().misses == before
    audit(policy, arms, runs=256, users=[1, 0])
    assert tiles._compile.cache_info().misses == before + 1
