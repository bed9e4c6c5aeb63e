"""The library's semi-bandit policies and oracles against a slow second implementation, action by action on the same draws."""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import oracles
from jaxbandits.identity import Bound
from jaxbandits.mechanisms import counters
from jaxbandits.policies import semi_bandit as policies
from jaxbandits.problems import semi_bandit as semi_bandit_problem

from . import semi_bandit as reference
from .compare import NEAR, nudged
from .counters import MergedHybrid
from .replay import numbers, replay

SEED = 20210511
CLOSE = 0.002
"""The part of the rounds in which rounding may decide."""


class Size(NamedTuple):
    """A problem, and how much of it to play."""

    means: tuple[float, ...]
    there: Any  # the oracle in the library
    here: Any  # and by our own formulas
    replicas: int = 2
    horizon: int = 300


def _size(name, means, replicas=2, horizon=300, **arguments):
    here = {"top_k": reference.TopK, "cascade": reference.Cascade}.get(name) or getattr(reference, name)
    return Size(tuple(means), getattr(oracles, name)(**arguments), here(**arguments), replicas, horizon)


SQUARE = list(itertools.product(range(3), "abc"))
SPARSE = [(0, "a"), (0, "b"), (1, "b"), (2, "b"), (2, "c"), (3, "a"), (3, "c")]  # one on the left stays alone
GRAPH = [("s", "t"), ("a", "t"), ("s", "a"), ("a", "b"), ("b", "t"), ("s", "b"), ("c", "b"), ("s", "c"), ("b", "d"), ("d", "t")]

SIZES = {
    "the best 3 of 8": _size("top_k", np.linspace(0.9, 0.2, 8), 2, 400, num_base_arms=8, list_len=3),
    "all 4": _size("top_k", (1.0, 0.5, 0.0, 0.25), num_base_arms=4, list_len=4),
    "the best of 5": _size("top_k", (0.8, 0.5, 0.45, 0.4, 0.1), num_base_arms=5, list_len=1),
    "one arm": _size("top_k", (0.3,), 1, 40, num_base_arms=1, list_len=1),
    "one good arm among 3 of 7": _size("cascade", np.linspace(0.6, 0.05, 7), num_base_arms=7, list_len=3),
    "one of each group": _size("partition", (0.9, 0.2, 0.5, 0.6, 0.4, 0.5, 0.1), groups=[0, 1, 0, 2, 1, 2, 2]),
    "3 pairs": _size("matching", (0.9, 0.8, 0.1, 0.7, 0.3, 0.2, 0.6, 0.5, 0.4), 2, 300, edges=SQUARE),
    "pairs that know each other": _size("matching", (0.9, 0.5, 0.6, 0.2, 0.7, 0.8, 0.3), edges=SPARSE),
    "paths of several lengths": _size("path", (0.1, 0.7, 0.9, 1.0, 0.8, 0.4, 0.9, 0.6, 0.5, 0.9), edges=GRAPH, source="s", target="t"),
}
FLIPPED = [(right, left) for left, right in SPARSE]
FIRST = next(iter(SIZES))

NOTHING = ({},)
PLAIN = tuple({"epsilon": epsilon} for epsilon in (0.5, 2.0, math.inf))
SCALED = (
    *({**parameters, "noise_scale": 1.0, "radius_scale": 1.0} for parameters in PLAIN),
    # The two scales apart, lest one stands in for the other.
    {"epsilon": 2.0, "noise_scale": 0.01, "radius_scale": 0.1},
    {"epsilon": 2.0, "noise_scale": 0.1, "radius_scale": 0.01},
)
APPROXIMATE = tuple({**parameters, "delta": delta} for parameters, delta in zip(SCALED, (1e-3, 1e-3, 1e-3, 1e-5, 0.1), strict=True))


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...] = PLAIN
    fixed: dict[str, Any] = {}  # noqa: RUF012  read only
    fixed_there: dict[str, Any] = {}  # noqa: RUF012  the same for the library

    def label(self, size):
        fixed = (getattr(value, "__name__", f"{name} {value}") for name, value in self.fixed.items())
        return ", ".join([self.name, *fixed, size])


def _refreshed(name, reference, every):
    return Case(name, reference, PLAIN, {"refresh_every": every}, {"refresh_every": every})


EVERY = (
    Case("cucb", reference.Cucb, NOTHING),
    Case("gaussian_cucb", reference.GaussianCucb, APPROXIMATE),
    Case("ldp_gaussian_cucb", reference.LdpGaussianCucb, APPROXIMATE),
    Case("ldp_laplace_cucb", reference.LdpLaplaceCucb, SCALED),
    Case("cucb_ldp1", reference.CucbLdp1),
)
FRONT = (
    Case("cucb_ldp2", reference.CucbLdp2),
    Case("cucb_ldp2_laplace", reference.CucbLdp2Laplace),
    _refreshed("cucb_ldp2_kl", reference.CucbLdp2Kl, 8),
    Case("cucb_dp", reference.CucbDp),
    _refreshed("cucb_dp_kl", reference.CucbDpKl, 8),
)
VARIANTS = (  # of the above, for the first size only
    Case("cucb_dp", reference.CucbDp, PLAIN, {"counter": MergedHybrid}, {"counter": counters.merged_hybrid}),
    _refreshed("cucb_ldp2_kl", reference.CucbLdp2Kl, 1),
    _refreshed("cucb_dp_kl", reference.CucbDpKl, 1),
)
WITH_EMPTY_PLACES = ("pairs that know each other", "paths of several lengths")
OTHERS = [name for name in SIZES if name != FIRST and name not in WITH_EMPTY_PLACES]
PLAYED = [
    *((case, FIRST) for case in (*EVERY, *FRONT, *VARIANTS)),
    *((case, WITH_EMPTY_PLACES[at % 2]) for at, case in enumerate(EVERY + FRONT)),
    # Every fourth policy: their rules know nothing of the sizes but the length of a super arm.
    *((case, name) for at, name in enumerate(OTHERS) for case in (EVERY + FRONT)[at % 4 :: 4]),
]


def judge(policy, t, theirs):
    """How much less the library's super arm is worth than the best, by our indices.

    Returns:
      Whether rounding must have decided.
    """
    oracle, index, ours = policy.oracle, policy.indices(t), policy.act(t)
    if ours == theirs:
        return False
    why = f"round {t}: {ours} here, {theirs} there; indices {index}, counts {policy.count}"
    if isinstance(oracle, reference.TopK):
        assert policy.arrange(oracle.solve(nudged(index, theirs))) == theirs, why
        return True
    assert frozenset(oracle.arms(theirs)) in oracle.by_arms, why
    places = oracle.by_arms[frozenset(oracle.arms(theirs))]
    assert policy.arrange(places) == theirs, why
    (most, best), (infinite, worth) = oracle.score(index, oracle.solve(index)), oracle.score(index, places)
    assert infinite == most, why
    size = sum(abs(value) for value in index if value < math.inf)
    assert best - worth <= NEAR * size, why
    return best - worth > 1e-12 * size


def play_reference(policy, played, lane, size):
    """Plays one lane beside the library's, and goes on with the library's action where rounding or a tie decided.

    Returns:
      The number of rounds where rounding did, and the regret.
    """
    labels = played.instance.labels[:, lane].tolist()
    assert (sorted(labels) if policy.oracle.shuffled else labels) == list(range(len(labels)))
    means = [float(value) for value in played.instance.means[:, lane]]
    np.testing.assert_array_equal(means, np.float32(size.means)[labels])
    policy.start(played.preview[:, lane])
    optimum = policy.oracle.optimum(means)
    close, lost = 0, 0.0
    for now, theirs in enumerate(played.action[:, :, lane].tolist()):
        t = now + 1
        close += judge(policy, t, theirs)
        reply = played.users["reply"][now, :, lane]
        bits = [int(arm < len(means) and u < means[arm]) for arm, u in zip(theirs, reply, strict=True)]
        assert bits == played.feedback[now, :, lane].tolist(), f"round {t}"
        policy.update(t, theirs, bits, {**numbers(played.device, now, lane), **numbers(played.server, now, lane)})
        lost += optimum - policy.oracle.reward(means, [arm for arm in theirs if arm < len(means)])
    return close, lost


@pytest.mark.parametrize(("case", "size_name"), PLAYED, ids=[case.label(name) for case, name in PLAYED])
def test_same_actions(case, size_name):
    size = SIZES[size_name]
    problem = semi_bandit_problem(means=size.means, oracle=size.there)
    factory = Bound(getattr(policies, case.name), {"oracle": size.there, **case.fixed_there})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    derived = {str(arguments): factory(**arguments).derived for arguments in case.swept}
    arguments = [{**swept, **derived[str(swept)]} for swept, _ in lanes]
    swept = {name: jnp.asarray([a[name] for a in arguments], jnp.float32) for name in arguments[0]}
    played = replay(problem, factory, swept, SEED, [replica for _, replica in lanes], size.horizon)
    assert played.feedback.dtype == np.int32
    orders = len(np.unique(played.instance.labels, axis=1).T)
    assert orders == (size.replicas if size.here.shuffled else 1)

    close = 0
    for lane, (parameters, _) in enumerate(lanes):
        rounds, lost = play_reference(case.reference(size.here, **case.fixed, **parameters), played, lane, size)
        close += rounds
        np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * size.horizon)
    assert close <= CLOSE * len(lanes) * size.horizon


ORACLES = {
    **{name: (size.there, size.here) for name, size in SIZES.items()},
    "fewer on the left": (oracles.matching(edges=FLIPPED), reference.matching(FLIPPED)),
}


def weights_to_try(rng, num_base_arms):
    """Weights of every kind: plain ones, negative ones, equal ones and infinite ones."""
    yield np.full(num_base_arms, np.inf)
    yield np.zeros(num_base_arms)
    for _ in range(60):
        weights = rng.choice([rng.normal(size=num_base_arms), rng.uniform(0, 3, num_base_arms), rng.integers(0, 3, num_base_arms)])
        yield np.where(rng.uniform(size=num_base_arms) < rng.choice([0, 0.2, 0.6]), np.inf, weights)


@pytest.mark.parametrize("name", ORACLES)
def test_same_super_arms(name):
    there, here = ORACLES[name]
    assert (there.num_base_arms, there.list_len) == (here.num_base_arms, here.list_len)
    solve, rng = jax.jit(there.exact), np.random.default_rng(SEED)
    for weights in weights_to_try(rng, here.num_base_arms):
        weights = np.float32(weights)
        theirs, weights = solve(weights).tolist(), weights.tolist()
        if isinstance(here, reference.TopK):
            assert theirs == here.solve(weights)
            continue
        places = here.by_arms[frozenset(here.arms(theirs))]
        assert theirs == places
        if frozenset() in here.by_arms:  # arms may be left out, and it is all the same to us whether those below 0 are
            weights = [max(weight, 0.0) for weight in weights]
        (most, best), (infinite, worth) = here.score(weights, here.solve(weights)), here.score(weights, places)
        assert infinite == most
        assert best - worth <= NEAR * max(1, sum(abs(weight) for weight in weights if weight < math.inf)), weights


@pytest.mark.parametrize("name", ORACLES)
def test_legal_super_arms_and_what_they_earn(name):
    there, here = ORACLES[name]
    m, means = here.num_base_arms, np.random.default_rng(SEED).uniform(size=here.num_base_arms)
    every = np.asarray(list(itertools.product(range(-1, m + 2), repeat=here.list_len)), np.int32)  # an arm too few, an arm too many
    legal = np.asarray(jax.jit(jax.vmap(there.legal))(every))
    some, values = [], []
    for places, says in zip(every.tolist(), legal.tolist(), strict=True):
        arms = [arm for arm in places if arm != m]
        if isinstance(here, reference.TopK):
            fine = len(arms) == here.list_len and set(arms) <= set(range(m))
        else:
            fine = len(arms) > 0 and frozenset(arms) in here.by_arms
        assert says == (fine and len(arms) == len(set(arms))), places
        if says:
            some.append(places)
            values.append(here.reward(means, arms))
    bits = np.append(means, 0.123)[some]  # what stands in an empty place must not matter
    earned = jax.vmap(there.reward)(jnp.asarray(bits, jnp.float32), jnp.asarray(some, jnp.int32))
    if name.startswith("paths"):  # a path earns what it saves, and what no path costs is a matter of taste
        earned, values = earned - earned[0], np.asarray(values) - values[0]
    np.testing.assert_allclose(earned, values, atol=1e-6)
