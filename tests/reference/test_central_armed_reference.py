"""The library's K-armed policies against a slow second implementation, action by action on the same draws."""

import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.identity import Bound
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed as armed_problem

from . import central_armed as reference
from .compare import lost_in_one, nudged
from .replay import numbers, replay

SEED = 20210511
CLOSE = 0.002
"""The part of the rounds in which rounding may decide."""


class Size(NamedTuple):
    """A problem, and how much of it to play."""

    means: tuple[float, ...]
    replicas: int
    horizon: int


SIZES = {
    "5 arms": Size((0.75, 0.625, 0.5, 0.375, 0.25), 3, 600),
    "a sure arm and a hopeless one": Size((0.0, 1.0, 0.5), 2, 300),
    "one arm": Size((0.3,), 1, 40),
}
ELIMINATION = {
    "2 arms": Size((0.2, 0.8), 2, 9_000),
    "4 arms, 2 alike": Size((0.9, 0.1, 0.8, 0.1), 2, 9_000),
    "3 arms": Size((0.55, 0.5, 0.1), 2, 9_000),
}

FINITE = tuple({"epsilon": epsilon} for epsilon in (0.2, 2.0))
PLAIN = (*FINITE, {"epsilon": math.inf})
MANY = (*PLAIN, *({"epsilon": epsilon} for epsilon in (0.5, 1.0, 5.0, 20.0)))
"""For policies that seldom choose."""


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...] = PLAIN
    fixed: dict[str, Any] = {}  # noqa: RUF012  read only
    fixed_there: dict[str, Any] = {}  # noqa: RUF012  what the library gets instead

    def label(self, size):
        fixed = (getattr(value, "__name__", f"{name} {value}") for name, value in self.fixed.items())
        return ", ".join([self.name, *(name for name in self.swept[0] if name != "epsilon"), *fixed, size])


CASES = (
    Case("mishra_thakurta_ucb", reference.MishraThakurtaUcb, (*PLAIN, {"epsilon": 500.0}), {"horizon": 1_000}),
    Case("mishra_thakurta_ucb_split", reference.MishraThakurtaUcbSplit, (*PLAIN, {"epsilon": 500.0}), {"horizon": 777}),
    Case("dp_ucb_bound", reference.DpUcbBound, (*PLAIN, {"epsilon": 50.0})),
    Case("dp_ucb", reference.DpUcb),
    Case("dp_ucb_int", reference.DpUcbInt, (*FINITE, {"epsilon": 0.3})),
    Case("adap_ucb", reference.AdapUcb, MANY),
    Case("adap_kl_ucb", reference.AdapKlUcb, MANY),
    Case("dp_kl_ucb", reference.DpKlUcb, MANY),
    Case("dp_imed", reference.DpImed, MANY),
    Case("lazy_ucb", reference.LazyUcb),
    Case("lazy_dp_ts", reference.LazyDpTs),
)
TAILS = tuple({"epsilon": epsilon, "tail_prob": tail_prob} for epsilon, tail_prob in ((500.0, 0.5), (2.0, 0.01), (500.0, 0.001)))
RATES = tuple({"epsilon": epsilon, "rate": rate} for epsilon, rate in ((0.2, 1.1), (0.2, 1.5), (2.0, 1.3)))
VARIANTS = (  # of the above, for the first size only
    Case("mishra_thakurta_ucb", reference.MishraThakurtaUcb, TAILS, {"horizon": 777}),
    Case("dp_ucb_int", reference.DpUcbInt, RATES),
    Case("dp_kl_ucb", reference.DpKlUcb, PLAIN, {"exploration": math.log}, {"exploration": lambda t: jnp.log(t.astype(jnp.float32))}),
)
ELIMINATING = tuple(Case("dp_se", reference.DpSe, (*PLAIN, {"epsilon": 0.05}), {"horizon": horizon}) for horizon in (2, 9_000))


def play_reference(policy, played, lane):
    """Plays one lane beside the library's, and goes on with the library's action where rounding decided.

    Returns:
      The number of rounds where it did, and the regret.
    """
    means = [float(value) for value in played.instance.means[:, lane]]
    close, lost = 0, 0.0
    for now, (theirs,) in enumerate(played.action[:, :, lane].tolist()):
        t, z = now + 1, numbers(played.server, now, lane)
        ours = policy.act(t, z)
        if ours != theirs:
            index = policy.indices(t, z)
            close += not lost_in_one(index, (ours, theirs))
            explained = policy.choose(nudged(index, [theirs]), t)
            assert explained == theirs, f"round {t}: {ours} here, {theirs} there; indices {index}, pulls {policy.pulls}"
        reward = int(float(played.users["reward"][now, lane]) < means[theirs])
        assert reward == played.feedback[now, lane], f"round {t}"
        policy.update(t, theirs, reward, z)
        lost += max(means) - means[theirs]
    return close, lost


PLAYED = [(case, name) for name in SIZES for case in CASES] + [(case, next(iter(SIZES))) for case in VARIANTS]
PLAYED += zip(ELIMINATING * 2, ELIMINATION, strict=False)


@pytest.mark.parametrize(("case", "size_name"), PLAYED, ids=[case.label(name) for case, name in PLAYED])
def test_same_actions(case, size_name):
    size = {**SIZES, **ELIMINATION}[size_name]
    num_arms = len(size.means)
    factory = Bound(getattr(policies, case.name), {"num_arms": num_arms, **case.fixed, **case.fixed_there})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    derived = {str(arguments): factory(**arguments).derived for arguments in case.swept}
    arguments = [{**swept, **derived[str(swept)]} for swept, _ in lanes]
    swept = {name: jnp.asarray(np.stack([a[name] for a in arguments], axis=-1), jnp.float32) for name in arguments[0]}
    played = replay(armed_problem(means=size.means), factory, swept, SEED, [replica for _, replica in lanes], size.horizon)

    close = 0
    for lane, (parameters, _) in enumerate(lanes):
        rounds, lost = play_reference(case.reference(num_arms, **case.fixed, **parameters), played, lane)
        close += rounds
        np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * size.horizon)
    assert close <= CLOSE * len(lanes) * size.horizon


@pytest.mark.parametrize("alpha", [1.0, 1.7, 40.0])
def test_gamma_has_the_law_of_its_name(alpha):
    rng = np.random.default_rng(0)
    sample = [reference.gamma(alpha, rng.standard_normal(8), rng.random(8)) for _ in range(20_000)]
    np.testing.assert_allclose([np.mean(sample), np.var(sample)], alpha, rtol=0.05)
