"""What every policy keeps to, found by discovery: no policy's name appears here."""

import functools
import inspect
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.core import Policy, told
from tests.helpers import POLICIES, VALUES, build, family, problem_of, swept, takes

# The tests of one policy run in one worker, where they share compilations.
EVERY = pytest.mark.parametrize("factory", [pytest.param(f, id=name, marks=pytest.mark.xdist_group(name)) for name, f in POLICIES.items()])
EPSILONS = [1e-6, 1.0, 1e3, float("inf")]


def numbers(draws, value=0.3):
    """One lane's draws, all alike."""
    return {name: jnp.full(d.shape, value, jnp.float32) for name, d in draws.items()}


class FirstRound(NamedTuple):
    """The pieces of a round from the initial state."""

    policy: Policy
    state: Any
    action: Any
    after: Any


@functools.cache
def first_round(factory):
    """One round of one lane, outside of the engine: 6 items, lists of 3, a click at position 1 or a reward of 1."""
    policy, played = build(factory, 6, 3), family(factory)
    state = policy.init(jnp.zeros(6, jnp.int32))
    round_ = played.round(6, 3)
    action = policy.act(state, round_, numbers(policy.server_draws))
    reply = np.asarray(played.feedbacks(3)[-1])
    feedback = jnp.asarray(np.minimum(reply, 1), jnp.int32 if reply.dtype.kind == "i" else jnp.float32)
    message = policy.report(round_._replace(broadcast=told(policy, state)), action, feedback, numbers(policy.device_draws))
    after = policy.update(state, jnp.int32(1), action, message, numbers(policy.server_draws))
    return FirstRound(policy, state, action, after)


@EVERY
def test_is_a_policy_with_keyword_arguments_only(factory):
    kinds = {p.kind for p in inspect.signature(factory).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert isinstance(build(factory, 6, 3), Policy)


@EVERY
def test_docstring_says_what_it_takes_and_raises(factory):
    text = inspect.getdoc(factory)
    for name in inspect.signature(factory).parameters:
        assert f"\n  {name}:" in text, name
    assert "Raises:" in text
    claim = build(factory, 6, 3).claim
    if claim.status == "sound":
        assert "Sound" in text
    else:
        assert "guarantee" in text or "Non-private" in text


@EVERY
def test_docstring_says_the_guarantee_that_is_claimed(factory):
    claim = build(factory, 6, 3).claim
    if claim.status == "sound":
        level = "(epsilon, delta)" if takes(factory, "delta") else "epsilon"
        assert f"{level}-{'LDP' if claim.trust == 'local' else 'DP'}" in " ".join(inspect.getdoc(factory).split())


@EVERY
def test_noise_is_drawn_where_the_claim_says(factory):
    """On the device under local privacy, and by whoever is trusted under another; of nobody where nothing is claimed."""
    policy = build(factory, 6, 3)
    assert bool(policy.device_draws) == (policy.claim.trust == "local")
    if policy.claim.trust in ("agent", "central", "joint"):
        assert policy.server_draws
        assert policy.released is not None, "what the noise has let out is what an audit looks at"


@EVERY
def test_sizes_are_checked(factory):
    for num_items, list_len, named in family(factory).bad_sizes:
        with pytest.raises(ValueError, match=named):
            build(factory, num_items, list_len)


@EVERY
@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), 1e-11, 1e11, True, "one", [1.0, 2.0]])
def test_epsilon_is_checked(factory, bad):
    if takes(factory, "epsilon"):
        with pytest.raises(ValueError, match=r"epsilon must be a positive number.*got"):
            build(factory, 6, 3, epsilon=bad)


@EVERY
@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, float("nan"), float("inf")])
def test_delta_is_checked(factory, bad):
    if takes(factory, "delta"):
        with pytest.raises(ValueError, match="delta must be strictly between 0 and 1; got"):
            build(factory, 6, 3, delta=bad)


@EVERY
@pytest.mark.parametrize("name", ["noise_scale", "radius_scale"])
@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf"), 1e11, True])
def test_scales_are_checked(factory, name, bad):
    if takes(factory, name):
        with pytest.raises(ValueError, match=f"{name} must be a finite number, at least 0 and at most 1e10; got"):
            build(factory, 6, 3, **{name: bad})


@EVERY
def test_claim_is_a_guarantee_only_if_sound_and_unscaled(factory):
    claim = build(factory, 6, 3).claim
    assert claim.guaranteed == (claim.status == "sound")
    if claim.guaranteed:
        assert claim.guarantee() == (VALUES["epsilon"], VALUES["delta"] if takes(factory, "delta") else 0.0)
        assert claim.relation
        assert claim.sensitivity
    else:
        with pytest.raises(ValueError, match="no privacy guarantee"):
            claim.guarantee()
        assert not any(character.isdigit() for character in claim.label())
    if takes(factory, "noise_scale"):
        assert not build(factory, 6, 3, noise_scale=0.01).claim.guaranteed


@EVERY
def test_a_sound_policy_ignores_the_preview(factory):
    policy = build(factory, 6, 3)
    before, after = (policy.init(jnp.full(6, value, jnp.int32)) for value in (0, 1))
    alike = jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), before, after))
    assert alike or policy.claim.status != "sound"


@EVERY
def test_action_is_one_of_the_problem(factory):
    action, problem = first_round(factory).action, problem_of(factory, 6, 3, **fixed_axis(factory, 6, 3))()
    shape, dtype = problem.action or ((problem.sizes.get("list_len", 1),), "int32")
    assert action.shape == tuple(shape)
    assert action.dtype == dtype
    if problem.action is None:  # a list of different items
        assert len(set(action.tolist())) == len(action)


@EVERY
def test_state_keeps_its_shapes_and_types(factory):
    _, state, _, after = first_round(factory)
    kinds = [jax.tree.map(lambda x: (x.shape, x.dtype), tree) for tree in (state, after)]
    assert kinds[0] == kinds[1]
    assert type(state) is type(after)


@EVERY
def test_settling_changes_no_decision(factory):
    policy, _, _, after = first_round(factory)
    if policy.settle is not None:
        settled = policy.settle(after)
        assert jax.tree.map(lambda x: (x.shape, x.dtype), settled) == jax.tree.map(lambda x: (x.shape, x.dtype), after)
        actions = [policy.act(state, family(factory).round(6, 3), numbers(policy.server_draws)) for state in (after, settled)]
        np.testing.assert_allclose(*actions, rtol=1e-6)


@EVERY
def test_counts_are_integers_and_only_observed_items_change(factory):
    if not family(factory).counts:
        return
    _, state, action, after = first_round(factory)
    counted = [(getattr(s, "seen", s).counts, s) for s in (state, after)]
    assert counted[0][0].dtype == jnp.int32
    changed = np.flatnonzero(np.asarray(counted[0][0] != counted[1][0]))
    shown = action.tolist()
    # The front item, or up to the click at position 1, or all that was shown; or streams that all grow in every round.
    assert set(changed) in ({shown[0]}, set(shown[:2]), set(shown), set(range(6)))
    assert np.all(np.asarray(counted[1][0] - counted[0][0])[changed] == 1)


def not_finite(state, instance):
    """How many numbers of a state are NaN or infinite."""
    numbers = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return sum((jnp.sum(~jnp.isfinite(leaf)).astype(jnp.int32) for leaf in numbers), jnp.int32(0))


def regrets(factory, num_items, list_len, values, seeds, checkpoints, epsilons, **changed):
    """Regret at the checkpoints, [values, epsilon, seed, round]; tiles of one size, so that runs of one size share a compilation.

    Every number of the states is finite on the way.
    """
    axis = family(factory).axis
    grid = {**({axis: values} if axis else {}), **({"epsilon": epsilons} if takes(factory, "epsilon") else {})}
    fixed = {k: v for k, v in swept(factory, **changed).items() if k not in grid}
    study = Study(
        problem=problem_of(factory, num_items, list_len),
        policies={"p": partial(factory, **fixed)},
        grid=grid,
        seeds=seeds,
        horizon=checkpoints[-1],
        checkpoints=checkpoints,
        metrics={"not_finite": not_finite},
    )
    dataset = run(study, progress=False, max_tile=16).sel(policy="p")
    assert (dataset["not_finite"] == 0).all()
    return dataset["regret"]


def fixed_axis(factory, num_items, list_len):
    """What tests vary of the problem, fixed at some value."""
    played = family(factory)
    return {played.axis: next(iter(played.turned(num_items, list_len).values()))} if played.axis else {}


@EVERY
@pytest.mark.parametrize("edge", range(3))
def test_edges_give_finite_regret(factory, edge):
    played = family(factory)
    if edge >= len(played.edges):
        return
    num_items, list_len, values = list(played.edges.values())[edge]
    regret = regrets(factory, num_items, list_len, values, 3, [1, 5, 40], EPSILONS)
    assert np.isfinite(regret).all()
    assert (regret.diff("round") >= 0).all()
    if played.only_one(num_items, list_len):
        assert (regret == 0).all()  # there is only one list: exactly, not up to rounding


@EVERY
def test_what_is_all_alike_gives_no_regret(factory):
    played = family(factory)
    if played.alike is not None:
        assert (regrets(factory, *played.size, played.alike(*played.size), 3, [1, 5, 40], EPSILONS) == 0).all()


@EVERY
def test_horizon_of_one(factory):
    if takes(factory, "horizon"):
        played = family(factory)
        values = played.turned(5, 2) if played.turned else {}
        regret = regrets(factory, 5, 2, values, 2, [1], EPSILONS, horizon=1)
        assert regret.sizes["round"] == 1
        assert np.isfinite(regret).all()


SEEDS = 2000


@functools.cache
def turned(factory):
    """Regret of many seeds with the good items first and last; once for all tests that look at it."""
    played = family(factory)
    return regrets(factory, *played.size, played.turned(*played.size), SEEDS, [1, 3, 30], [1.0])


@EVERY
def test_seeds_are_independent(factory):
    """Of a seed and the next, regrets are not correlated: 4 standard errors."""
    if family(factory).turned is None:
        return
    last = turned(factory).isel(round=-1).transpose("seed", ...).values.reshape(SEEDS, -1)
    for values in last.T:
        if np.ptp(values) > 0:
            assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) <= 4 / np.sqrt(SEEDS)


@EVERY
def test_the_order_carries_no_information(factory):
    """The good items first or last: mean regret agrees, early on too, where most indices are tied."""
    played = family(factory)
    if played.turned is None:
        return
    regret = turned(factory)
    # The two share their seeds, so the pairs are not independent; the law of the difference is what its spread says.
    values = dict(zip(("first", "last"), (regret.isel({played.axis: i}) for i in range(2)), strict=True))
    difference = values["first"] - values["last"]
    error = difference.std("seed") / np.sqrt(SEEDS)
    assert (abs(difference.mean("seed")) <= 4 * error + 1e-6).all()
