"""What every policy keeps to, found by discovery: no policy's name appears here."""

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.core import Policy, Round
from jaxbandits.problems import cascade, linear
from tests.helpers import CASCADE, VALUES, bind, build, swept

EVERY = pytest.mark.parametrize("factory", CASCADE.values(), ids=CASCADE)
EDGES = {  # means by label, list length
    "one item": ({"one": np.array([0.3])}, 1),
    "list of one": ({"linear": linear(5)}, 1),
    "list of all": ({"linear": linear(4)}, 4),
    "all alike": ({"middle": np.full(6, 0.4), "zero": np.zeros(6), "one": np.ones(6)}, 2),
}


def numbers(draws, value=0.3):
    """One lane's draws, all alike."""
    return {name: jnp.full(d.shape, value, jnp.float32) for name, d in draws.items()}


def first_round(policy, num_items, click=1):
    """The pieces of a round from the initial state."""
    state = policy.init(jnp.zeros(num_items, jnp.int32))
    round_ = Round(t=jnp.int32(1), context=())
    action = policy.act(state, round_, numbers(policy.server_draws))
    message = policy.report(round_, action, jnp.int32(click), numbers(policy.device_draws))
    return state, round_, action, message


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
def test_sizes_are_checked(factory):
    for num_items, list_len, named in [(0, 1, "num_items"), (3, 4, "list_len"), (3, 0, "list_len"), (3.5, 1, "num_items")]:
        with pytest.raises(ValueError, match=named):
            build(factory, num_items, list_len)


@EVERY
@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), 1e-11, 1e11, True, "one", [1.0, 2.0]])
def test_epsilon_is_checked(factory, bad):
    if "epsilon" in inspect.signature(factory).parameters:
        with pytest.raises(ValueError, match=r"epsilon must be a positive number.*got"):
            build(factory, 6, 3, epsilon=bad)


@EVERY
@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, float("nan"), float("inf")])
def test_delta_is_checked(factory, bad):
    if "delta" in inspect.signature(factory).parameters:
        with pytest.raises(ValueError, match="delta must be strictly between 0 and 1; got"):
            build(factory, 6, 3, delta=bad)


@EVERY
@pytest.mark.parametrize("name", ["noise_scale", "radius_scale"])
@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf"), 1e11, True])
def test_scales_are_checked(factory, name, bad):
    if name in inspect.signature(factory).parameters:
        with pytest.raises(ValueError, match=f"{name} must be a finite number, at least 0 and at most 1e10; got"):
            build(factory, 6, 3, **{name: bad})


@EVERY
def test_claim_is_a_guarantee_only_if_sound_and_unscaled(factory):
    claim = build(factory, 6, 3).claim
    assert claim.guaranteed == (claim.status == "sound")
    if claim.guaranteed:
        assert claim.guarantee() == (VALUES["epsilon"], 0.0)
        assert claim.relation
        assert claim.sensitivity
    else:
        with pytest.raises(ValueError, match="no privacy guarantee"):
            claim.guarantee()
        assert not any(character.isdigit() for character in claim.label())
    if "noise_scale" in inspect.signature(factory).parameters:
        assert not build(factory, 6, 3, noise_scale=0.01).claim.guaranteed


@EVERY
def test_a_sound_policy_ignores_the_preview(factory):
    policy = build(factory, 6, 3)
    before, after = (policy.init(jnp.full(6, value, jnp.int32)) for value in (0, 1))
    alike = jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), before, after))
    assert alike or policy.claim.status != "sound"


@EVERY
def test_action_is_a_list_of_different_items(factory):
    _, _, action, _ = first_round(build(factory, 6, 3), 6)
    assert action.shape == (3,)
    assert action.dtype == jnp.int32
    assert len(set(action.tolist())) == 3


@EVERY
def test_state_keeps_its_shapes_and_types(factory):
    policy = build(factory, 6, 3)
    state, _, action, message = first_round(policy, 6)
    after = policy.update(state, jnp.int32(1), action, message, numbers(policy.server_draws))
    kinds = [jax.tree.map(lambda x: (x.shape, x.dtype), tree) for tree in (state, after)]
    assert kinds[0] == kinds[1]
    assert type(state) is type(after)


@EVERY
def test_counts_are_integers_and_only_observed_items_change(factory):
    policy = build(factory, 6, 3)
    state, _, action, message = first_round(policy, 6, click=1)
    after = policy.update(state, jnp.int32(1), action, message, numbers(policy.server_draws))
    counted = [(getattr(s, "seen", s).counts, s) for s in (state, after)]
    assert counted[0][0].dtype == jnp.int32
    changed = np.flatnonzero(np.asarray(counted[0][0] != counted[1][0]))
    assert set(changed) in ({int(action[0])}, {int(action[0]), int(action[1])})  # the front item, or up to the click at position 1
    assert np.all(np.asarray(counted[1][0] - counted[0][0])[changed] == 1)


@EVERY
@pytest.mark.parametrize("edge", EDGES)
def test_edges_give_finite_regret(factory, edge):
    means, list_len = EDGES[edge]
    grid = {"epsilon": [1e-6, 1.0, 1e3, float("inf")]} if "epsilon" in inspect.signature(factory).parameters else {}
    fixed = {k: v for k, v in swept(factory).items() if k not in grid}
    problem, policies = partial(cascade, list_len=list_len), {"p": partial(factory, **fixed)}
    study = Study(problem=problem, policies=policies, grid={**grid, "means": means}, seeds=3, horizon=40, checkpoints=[1, 5, 40])
    regret = run(study, progress=False)["regret"].values
    assert np.isfinite(regret).all()
    assert (np.diff(regret, axis=-1) >= 0).all()
    if edge != "list of one":
        assert (regret == 0).all()  # every list is as good as the best: exactly, not up to rounding


@EVERY
def test_horizon_of_one(factory):
    study = Study(problem=partial(cascade, means=linear(5), list_len=2), policies={"p": bind(factory)}, seeds=2, horizon=1)
    assert run(study, progress=False)["regret"].shape == (1, 2, 1)


@EVERY
def test_the_order_of_the_means_carries_no_information(factory):
    """The good items first or last: mean regret agrees, early on too, where most indices are tied."""
    means = {"first": linear(8, 0.8, 0.1), "last": linear(8, 0.8, 0.1)[::-1]}
    study = Study(
        problem=partial(cascade, list_len=3),
        policies={"p": bind(factory)},
        grid={"means": means},
        seeds=2000,
        horizon=30,
        checkpoints=[1, 3, 30],
    )
    regret = run(study, progress=False)["regret"].sel(policy="p")
    # The two share their seeds, so the pairs are not independent; the law of the difference is what its spread says.
    difference = regret.sel(means="first") - regret.sel(means="last")
    error = difference.std("seed") / np.sqrt(2000)
    assert (abs(difference.mean("seed")) <= 4 * error + 1e-6).all()
