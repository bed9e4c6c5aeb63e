"""The library's central cascade policies against a slow second implementation, action by action on the same draws."""

import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.identity import Bound
from jaxbandits.mechanisms import counters
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade as cascade_problem

from . import cascade, solvers
from . import central_cascade as reference
from .compare import nudged
from .counters import Hybrid, MergedHybrid
from .replay import numbers, replay

SEED = 20210511
CLOSE = 0.002
"""The part of the rounds in which rounding may decide."""


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
    "8 items, lists of 3": Size(tuple(np.linspace(0.6, 0.05, 8)), 3, 3, 400),
    "all 4 items, sure and hopeless ones among them": Size((1.0, 0.5, 0.0, 0.25), 4, 2, 300),
    "5 items, lists of 1": Size((0.8, 0.5, 0.45, 0.4, 0.1), 1, 2, 300),
}

PLAIN = tuple({"epsilon": epsilon} for epsilon in (0.2, 2.0, math.inf))
MANY = (*PLAIN, *({"epsilon": epsilon} for epsilon in (0.5, 1.0, 5.0, 20.0)))
SCALED = (
    *({**epsilon, "noise_scale": 1.0, "radius_scale": 1.0} for epsilon in PLAIN),
    *({"epsilon": epsilon, "noise_scale": 0.01, "radius_scale": 0.01} for epsilon in (0.2, 2.0)),
    # The two scales apart, lest one stands in for the other.
    {"epsilon": 2.0, "noise_scale": 0.01, "radius_scale": 0.1},
    {"epsilon": 2.0, "noise_scale": 0.1, "radius_scale": 0.01},
)
ORDERED = tuple({**parameters, "order_constant": constant} for parameters, constant in zip(SCALED, (1, 1, 1, 1, 0.1, 3, 0.1), strict=True))


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...] = PLAIN
    fixed: dict[str, Any] = {}  # noqa: RUF012  read only
    fixed_there: dict[str, Any] = {}  # noqa: RUF012  the same for the library

    def label(self, size):
        fixed = (getattr(value, "__name__", f"{name} {value}") for name, value in self.fixed.items())
        return ", ".join([self.name, *(name for name in self.swept[0] if name.startswith("epsilon_")), *fixed, size])


def _refreshed(every):
    return Case("first_dp_kl_ucb", reference.FirstDpKlUcb, PLAIN, {"refresh_every": every}, {"refresh_every": every})


CASES = (
    Case("hybrid_ucb", reference.HybridUcb, ORDERED, {"horizon": 100_000}, {"horizon": 100_000}),
    Case("hybrid_ucb_calibrated", reference.HybridUcbCalibrated, SCALED),
    Case("first_dp_ucb1", reference.FirstDpUcb1, MANY, {"counter": Hybrid}),
    Case("first_dp_lazy_ucb1", reference.FirstDpLazyUcb1),
    _refreshed(8),
    Case("all_dp_ucb1", reference.AllDpUcb1),
)
VARIANTS = (  # of the above, for the first size only
    Case("hybrid_ucb_by_count", reference.HybridUcbByCount, ORDERED),
    Case("first_dp_ucb1", reference.FirstDpUcb1, PLAIN, {"counter": MergedHybrid}, {"counter": counters.merged_hybrid}),
    _refreshed(1),
    Case(
        "first_dp_kl_ucb",
        reference.FirstDpKlUcb,
        PLAIN,
        {"refresh_every": 1, "exploration": math.log},
        {"refresh_every": 1, "exploration": lambda t: jnp.log(t.astype(jnp.float32))},
    ),
    Case("all_dp_ucb1", reference.AllDpUcb1, ({"epsilon": 20.0, "epsilon_click": 3.0, "epsilon_examined": 7.0},)),
)


def play_reference(policy, played, lane):
    """Plays one lane beside the library's, and goes on with the library's action where rounding decided.

    Returns:
      The number of rounds where it did, and the regret.
    """
    skip = [float(value) for value in played.instance.skip[:, lane]]
    policy.start(played.preview[:, lane])
    close, lost = 0, 0.0
    for now, theirs in enumerate(played.action[:, :, lane].tolist()):
        t = now + 1
        ours = policy.act(t)
        if ours != theirs:
            close += 1
            index = policy.indices(t)
            explained = policy.arrange(nudged(index, theirs), t)
            assert explained == theirs, f"round {t}: {ours} here, {theirs} there; indices {index}, counts {policy.count}"
        click = cascade.click_position(skip, theirs, float(played.users["click"][now, lane]))
        assert click == played.feedback[now, lane], f"round {t}"
        policy.update(t, theirs, click, numbers(played.server, now, lane))
        lost += cascade.regret(skip, theirs)
    return close, lost


PLAYED = [(case, name) for name in SIZES for case in CASES] + [(case, next(iter(SIZES))) for case in VARIANTS]


@pytest.mark.parametrize(("case", "size_name"), PLAYED, ids=[case.label(name) for case, name in PLAYED])
def test_same_actions(case, size_name):
    size = SIZES[size_name]
    problem = cascade_problem(means=size.means, list_len=size.list_len)
    factory = Bound(getattr(policies, case.name), {"num_items": size.num_items, "list_len": size.list_len, **case.fixed_there})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    derived = {str(arguments): factory(**arguments).derived for arguments in case.swept}
    arguments = [{**swept, **derived[str(swept)]} for swept, _ in lanes]
    swept = {name: jnp.asarray(np.stack([a[name] for a in arguments], axis=-1), jnp.float32) for name in arguments[0]}
    played = replay(problem, factory, swept, SEED, [replica for _, replica in lanes], size.horizon)

    close = 0
    for lane, (parameters, _) in enumerate(lanes):
        policy = case.reference(size.num_items, size.list_len, **case.fixed, **parameters)
        rounds, lost = play_reference(policy, played, lane)
        close += rounds
        np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * size.horizon)
    assert close <= CLOSE * len(lanes) * size.horizon


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_divergence_is_the_least_of_its_definition(x, epsilon):
    for q in np.linspace(x, 1, 9)[1:-1]:
        if q < 1:
            least = min(epsilon * (z - x) + cascade.bernoulli_kl(z, q) for z in np.linspace(x, q, 2001))
            np.testing.assert_allclose(solvers.divergence(x, q, epsilon), least, atol=1e-5)
    np.testing.assert_allclose(solvers.divergence(x, 1.0, epsilon), epsilon * (1 - x))
