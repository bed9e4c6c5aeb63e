"""The library's cascade policies against a slow second implementation, action by action on the same draws."""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.identity import Bound
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade as cascade_problem

from . import cascade as reference
from .compare import nudged
from .replay import numbers, replay

SEED = 20210511


class Size(NamedTuple):
    """A problem, and how much of it to play."""

    means: tuple[float, ...]
    list_len: int
    replicas: int
    horizon: int

    @property
    def num_items(self):
        return len(self.means)


SIZES = {
    "12 items, lists of 3": Size(tuple(np.linspace(0.6, 0.05, 12)), 3, 6, 400),
    "all 4 items, sure and hopeless ones among them": Size((1.0, 0.5, 0.0, 0.25), 4, 2, 150),
    "one item": Size((0.3,), 1, 1, 20),
    "5 items, lists of 1": Size((0.8, 0.5, 0.45, 0.4, 0.1), 1, 2, 150),
}

NOTHING = ({},)
LOCAL = tuple({"epsilon": epsilon} for epsilon in (0.2, 2.0, math.inf))
SCALED = tuple(
    {"epsilon": epsilon, "noise_scale": scale, "radius_scale": scale} for epsilon, scale in itertools.product((0.2, 2.0), (1.0, 0.01))
)
LAPLACE = (*SCALED, {"epsilon": math.inf, "noise_scale": 1.0, "radius_scale": 1.0})
# The two scales apart, lest one stands in for the other.
LAPLACE += ({"epsilon": 2.0, "noise_scale": 0.01, "radius_scale": 0.1}, {"epsilon": 2.0, "noise_scale": 0.1, "radius_scale": 0.01})
APPROXIMATE = (
    *({**parameters, "delta": 1e-3} for parameters in SCALED),
    {"epsilon": 2.0, "noise_scale": 0.01, "radius_scale": 0.1, "delta": 1e-5},
    {"epsilon": 2.0, "noise_scale": 0.1, "radius_scale": 0.01, "delta": 0.1},
)


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...]
    fixed: dict[str, Any] = {}  # noqa: RUF012  read only


CASES = (
    Case("cascade_ucb1", reference.CascadeUcb1, NOTHING),
    Case("cascade_kl_ucb", reference.CascadeKlUcb, NOTHING, {"refresh_every": 1}),
    Case("cascade_kl_ucb", reference.CascadeKlUcb, NOTHING, {"refresh_every": 8}),
    Case("first_ucb1", reference.FirstLdpUcb1, NOTHING),
    Case("first_kl_ucb", reference.FirstLdpKlUcb, NOTHING, {"refresh_every": 1}),
    Case("first_kl_ucb", reference.FirstLdpKlUcb, NOTHING, {"refresh_every": 8}),
    Case("laplace_ucb", reference.LaplaceUcb, LAPLACE),
    Case("laplace_ucb_calibrated", reference.LaplaceUcbCalibrated, LAPLACE),
    Case("laplace_ucb_forced", reference.LaplaceUcbForced, LAPLACE),
    Case("gaussian_ucb", reference.GaussianUcb, APPROXIMATE),
    Case("gaussian_ucb_calibrated", reference.GaussianUcbCalibrated, APPROXIMATE),
    Case("composition_ucb", reference.CompositionUcb, APPROXIMATE),
    Case("composition_ucb_calibrated", reference.CompositionUcbCalibrated, APPROXIMATE),
    Case("first_ldp_ucb1", reference.FirstLdpUcb1, LOCAL),
    Case("first_ldp_kl_ucb", reference.FirstLdpKlUcb, LOCAL, {"refresh_every": 1}),
    Case("first_ldp_kl_ucb", reference.FirstLdpKlUcb, LOCAL, {"refresh_every": 8}),
)


def label(case):
    return case.name + (f", every {case.fixed['refresh_every']}" if "refresh_every" in case.fixed else "")


@pytest.fixture(autouse=True)
def _strict():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


def play_reference(policy, played, lane):
    """Plays one lane beside the library's.

    Returns:
      The number of rounds with equal actions, and the regret if that is all of them.
    """
    skip = [float(value) for value in played.instance.skip[:, lane]]
    policy.start(played.preview[:, lane])
    lost = 0.0
    for now, theirs in enumerate(played.action[:, :, lane].tolist()):
        t = now + 1
        ours = policy.act(t)
        if ours != theirs:
            index = policy.indices(t)
            explained = policy.arrange(nudged(index, theirs), t)
            assert explained == theirs, f"round {t}: {ours} here, {theirs} there; indices {index}, counts {policy.count}"
            return now, None
        click = reference.click_position(skip, ours, float(played.users["click"][now, lane]))
        assert click == played.feedback[now, lane], f"round {t}"
        policy.update(t, ours, click, numbers(played.device, now, lane))
        lost += reference.regret(skip, ours)
    return len(played.action), lost


PLAYED = [
    pytest.param(case, size, id=f"{label(case)}, {name}")
    for name, size in SIZES.items()
    for case in CASES
    # Stale and fresh indices meet in the other interval, so compiling this one once is enough.
    if size.num_items > 5 or case.fixed.get("refresh_every") != 1
]


@pytest.mark.parametrize(("case", "size"), PLAYED)
def test_same_actions(case, size):
    problem = cascade_problem(means=size.means, list_len=size.list_len)
    factory = Bound(getattr(policies, case.name), {"num_items": size.num_items, "list_len": size.list_len, **case.fixed})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    derived = {str(arguments): factory(**arguments).derived for arguments in case.swept}
    arguments = [{**swept, **derived[str(swept)]} for swept, _ in lanes]
    swept = {name: jnp.asarray([a[name] for a in arguments], jnp.float32) for name in arguments[0]}
    played = replay(problem, factory, swept, SEED, [replica for _, replica in lanes], size.horizon)

    compared = 0
    for lane, (parameters, _) in enumerate(lanes):
        policy = case.reference(size.num_items, size.list_len, **case.fixed, **parameters)
        rounds, lost = play_reference(policy, played, lane)
        compared += rounds
        if lost is not None:
            np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * size.horizon)
    assert compared >= 0.8 * len(lanes) * size.horizon


def test_users_meet_the_means_in_an_order_of_their_own():
    size = SIZES["12 items, lists of 3"]
    problem = cascade_problem(means=size.means, list_len=size.list_len)
    factory = Bound(policies.cascade_ucb1, {"num_items": size.num_items, "list_len": size.list_len})
    instance = replay(problem, factory, {}, SEED, range(40), 1).instance
    np.testing.assert_array_equal(np.sort(instance.labels, axis=0), np.tile(np.arange(size.num_items)[:, None], 40))
    np.testing.assert_allclose(instance.skip, 1 - np.asarray(size.means)[instance.labels], atol=1e-7)
    assert len(np.unique(instance.labels, axis=1).T) == 40


@pytest.mark.parametrize("list_len", [1, 3, 30])
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_same_noise(epsilon, delta, list_len):
    arguments = {"num_items": 40, "list_len": list_len, "epsilon": epsilon, "delta": delta}

    def derived(name):
        return float(*getattr(policies, name)(**arguments).derived.values())

    for name, here in (
        ("gaussian_ucb", reference.GaussianUcb(**arguments).sigma),
        ("gaussian_ucb_calibrated", reference.GaussianUcbCalibrated(**arguments).sigma),
        ("composition_ucb", 1 / reference.CompositionUcb(**arguments).scale),
        ("composition_ucb_calibrated", 1 / reference.CompositionUcbCalibrated(**arguments).scale),
    ):
        # The library may leave room for the rounding to float32.
        np.testing.assert_allclose(derived(name), here, rtol=5e-7, err_msg=name)


@pytest.mark.parametrize(("count", "scale", "tail_log"), [(1, 15.0, 0.7), (1, 1.0, 30.0), (40, 2.0, 10.0), (100_000, 0.5, 35.0)])
def test_tail_is_the_least_of_chernoffs_bounds(count, scale, tail_log):
    x = np.linspace(0, 1, 1_000_001)[1:-1]
    least = np.min(scale * (tail_log - count * np.log1p(-x * x)) / x)
    np.testing.assert_allclose(reference.laplace_tail(count, scale, tail_log), least, rtol=1e-6)
