"""The library's cascade policies that learn from all positions against a slow second implementation, on the same draws."""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core import Round
from jaxbandits.identity import Bound
from jaxbandits.policies import cascade as policies
from jaxbandits.problems import cascade as cascade_problem

from . import all_positions as reference
from . import cascade
from .compare import NEAR, nudged
from .replay import numbers, replay

SEED = 20210511
CLOSE = 0.005
"""The part of the rounds in which rounding may decide. Few different sums of bits are possible, so that ties are not rare."""
HUGE = 1e30
"""A ratio to a sum next to 0."""


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
    "8 items, lists of 3": Size(tuple(np.linspace(0.6, 0.05, 8)), 3, 2, 300),
    "all 4 items, sure and hopeless ones among them": Size((1.0, 0.5, 0.0, 0.25), 4, 2, 300),
    "5 items, lists of 1": Size((0.8, 0.5, 0.45, 0.4, 0.1), 1, 2, 300),
    "3 items, lists of 2": Size((0.3, 0.1, 0.05), 2, 2, 300),
}

EPSILONS = (0.2, 1.0, 3.0)
PURE = tuple({"epsilon": epsilon} for epsilon in (*EPSILONS, math.inf))
APPROXIMATE = (
    *({"epsilon": epsilon, "delta": 1e-3} for epsilon in EPSILONS),
    {"epsilon": 3.0, "delta": 0.1},
    {"epsilon": 20.0, "delta": 1e-5},
)


class Case(NamedTuple):
    """A policy and the parameters to try; those in ``swept`` vary from lane to lane."""

    name: str
    reference: type
    swept: tuple[dict[str, float], ...] = PURE
    fixed_there: dict[str, Any] = {}  # noqa: RUF012  read only
    times_longer: int = 1

    def label(self, size):
        return ", ".join([self.name, *self.fixed_there, size])


CASES = (
    Case("all_ldp_response_ucb1", reference.AllLdpResponseUcb1),
    # Upper bounds of O and G are 1, and tell no items apart, for as long as an item has few displays.
    Case("all_ldp_unary_ucb1", reference.AllLdpUnaryUcb1, times_longer=6),
    Case("all_ldp_unary_ucb1", reference.AllLdpUnarySimpleUcb1, fixed_there={"simple_index": True}),
    Case("all_ldp_gaussian_ucb1", reference.AllLdpGaussianUcb1, APPROXIMATE, times_longer=6),
    Case("all_ldp_laplace_ucb1", reference.AllLdpLaplaceUcb1),
)


@pytest.fixture(autouse=True)
def _strict():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


# ---- the library beside the reference ----------------------------------------------------------------------------------


def jittered(values):
    """Ties of sums, which float32 breaks at random, as near ones. Bounds of 1 are equal."""
    return [value if value == 1 or math.isinf(value) else value + 1e-9 * abs(value) * place for place, value in enumerate(values)]


def explained(policy, t, theirs, draws):
    """Whether float32 may have come to this list."""
    kept, ranked = policy.examinations, policy.ranked(theirs, draws)
    index = policy.indices(t)
    if isinstance(policy, reference.AllLdpVectorUcb1) and not isinstance(policy, reference.AllLdpUnarySimpleUcb1):
        # A bound that only just reaches 1 may fall short of it.
        index = [x - NEAR / 2 if x == 1 and not policy.may_be(t, item, 1 + NEAR) else x for item, x in enumerate(index)]
        doubtful = []
    else:
        # So may a sum that cancels reach 0, or fall short of it.
        terms = [n + abs(n - x) for n, x in zip(policy.displays, kept, strict=True)]
        doubtful = [item for item, x in enumerate(kept) if abs(x) < NEAR * terms[item]]
    size = 2 * max(abs(x) for x in kept)
    shown = [size - x for x in nudged(jittered([size - x for x in kept]), theirs)]
    for infinite in itertools.product((True, False), repeat=len(doubtful)):
        tried = list(index)
        for item, yes in zip(doubtful, infinite, strict=True):
            tried[item] = math.inf if yes else HUGE
        chosen = policy.chosen(nudged(jittered(tried), ranked), draws)
        policy.examinations = shown
        ordered = policy.ordered(chosen, draws)
        policy.examinations = kept
        if ordered == theirs:
            return True
    return False


def play_reference(policy, played, messages, lane):
    """Plays one lane beside the library's, and goes on with the library's action where rounding decided.

    Returns:
      The number of rounds where it did, and the regret.
    """
    skip = [float(value) for value in played.instance.skip[:, lane]]
    policy.start(played.preview[:, lane])
    close, lost = 0, 0.0
    for now, theirs in enumerate(played.action[:, :, lane].tolist()):
        t, draws = now + 1, numbers(played.server, now, lane)
        ours = policy.act(t, draws)
        if ours != theirs:
            close += 1
            seen = f"indices {policy.indices(t)}, examinations {policy.examinations}, displays {policy.displays}"
            assert explained(policy, t, theirs, draws), f"round {t}: {ours} here, {theirs} there; {seen}"
        click = cascade.click_position(skip, theirs, float(played.users["click"][now, lane]))
        assert click == played.feedback[now, lane], f"round {t}"
        message = policy.report(click, numbers(played.device, now, lane))
        there = messages[now, ..., lane]
        assert there.shape == np.shape(message), f"round {t}"
        # As assert_allclose has it, which takes longer than the round.
        assert (np.abs(there - message) <= 1e-6 + 1e-5 * np.abs(message)).all(), f"round {t}: {message} here, {there} there"
        policy.update(theirs, message)
        lost += cascade.regret(skip, theirs)
    return close, lost


def sent(factory, swept, played):
    """The messages of the library's lanes, [horizon, ..., lanes]."""

    def one(args, t, action, click, z):
        return factory(**args).report(Round(t, ()), action, click, z)

    rounds = jax.vmap(one, in_axes=(None, 0, 0, 0, 0))
    lanes = jax.jit(jax.vmap(rounds, in_axes=(-1, None, -1, -1, -1), out_axes=-1))
    t = jnp.arange(1, len(played.action) + 1, dtype=jnp.int32)
    (message,) = jax.tree.leaves(lanes(swept, t, played.action, played.feedback, played.device))
    return np.asarray(message)


PLAYED = [(case, name) for name in SIZES for case in CASES]


@pytest.mark.parametrize(("case", "size_name"), PLAYED, ids=[case.label(name) for case, name in PLAYED])
def test_same_messages_and_actions(case, size_name):
    size = SIZES[size_name]
    horizon = case.times_longer * size.horizon
    problem = cascade_problem(means=size.means, list_len=size.list_len)
    factory = Bound(getattr(policies, case.name), {"num_items": size.num_items, "list_len": size.list_len, **case.fixed_there})
    lanes = list(itertools.product(case.swept, range(size.replicas)))
    derived = {str(arguments): factory(**arguments).derived for arguments in case.swept}
    arguments = [{**swept, **derived[str(swept)]} for swept, _ in lanes]
    swept = {name: jnp.asarray([a[name] for a in arguments], jnp.float32) for name in arguments[0]}
    played = replay(problem, factory, swept, SEED, [replica for _, replica in lanes], horizon)
    messages = sent(factory, swept, played)

    close = 0
    for lane, (parameters, _) in enumerate(lanes):
        policy = case.reference(size.num_items, size.list_len, **parameters)
        rounds, lost = play_reference(policy, played, messages, lane)
        close += rounds
        np.testing.assert_allclose(played.regret[lane], lost, rtol=1e-5, atol=1e-6 * horizon)
    assert close <= CLOSE * len(lanes) * horizon


@pytest.mark.parametrize("list_len", [1, 2, 30])
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_same_gaussian_noise(epsilon, delta, list_len):
    arguments = {"num_items": 40, "list_len": list_len, "epsilon": epsilon, "delta": delta}
    (there,) = policies.all_ldp_gaussian_ucb1(**arguments).derived.values()
    # The library may leave room for the rounding to float32.
    np.testing.assert_allclose(float(there), reference.AllLdpGaussianUcb1(**arguments).sigma, rtol=5e-7)


# ---- the readings, by enumeration --------------------------------------------------------------------------------------

MEANS = (0.3, 0.0, 1.0, 0.55)
"""In this order every click is possible in the first three positions, and none behind the third."""


def clicks(means):
    """How likely each click is, the last entry being none."""
    passed = np.cumprod([1.0, *(1 - w for w in means)])
    return [*(passed[:-1] * means), passed[-1]]


def response_law(policy, click):
    """How likely each message is, from the draws that lead to it."""
    cells = policy.list_len + 1
    law = dict.fromkeys(range(cells), 0.0)
    for keep, part in ((policy.kept / 2, policy.kept), ((1 + policy.kept) / 2, 1 - policy.kept)):
        for cell in range(cells):
            law[policy.report(click, {"keep": keep, "other": (cell + 0.5) / cells})] += part / cells
    return law


def unary_law(policy, click):
    """The same; a bit's draw is below both thresholds, between them, or above both."""
    ends = (0.0, policy.bit_if_none, 0.5, 1.0)
    law = dict.fromkeys(itertools.product((0, 1), repeat=policy.list_len), 0.0)
    for draw in itertools.product(itertools.pairwise(ends), repeat=policy.list_len):
        message = policy.report(click, {"bit": [(low + high) / 2 for low, high in draw]})
        law[tuple(message)] += math.prod(high - low for low, high in draw)
    return law


LAWS = {reference.AllLdpResponseUcb1: response_law, reference.AllLdpUnaryUcb1: unary_law}
READ = list(itertools.product(LAWS, (1, 2, 4), EPSILONS))


@pytest.mark.parametrize(("policy", "list_len", "epsilon"), READ)
def test_readings_are_unbiased(policy, list_len, epsilon):
    user, law = policy(list_len, list_len, epsilon), LAWS[policy]
    for click in range(list_len + 1):
        chances = law(user, click)
        assert sum(chances.values()) == pytest.approx(1)
        clicked = np.array([user.read(message) for message in chances])
        examined = np.array([reference.examined(row) for row in clicked.tolist()])
        weights = np.array(list(chances.values()))
        np.testing.assert_allclose(weights @ clicked, reference.one_hot(click, list_len), atol=1e-12)
        np.testing.assert_allclose(weights @ examined, [k <= click for k in range(list_len)], atol=1e-12)


@pytest.mark.parametrize(("policy", "list_len", "epsilon"), READ)
def test_increments_have_mean_zero(policy, list_len, epsilon):
    user, law = policy(list_len, list_len, epsilon), LAWS[policy]
    for means in itertools.permutations(MEANS, list_len):
        mean = np.zeros(list_len)
        for click, how_likely in enumerate(clicks(means)):
            for message, chance in law(user, click).items():
                clicked = user.read(message)
                mean += how_likely * chance * (np.array(clicked) - np.array(means) * reference.examined(clicked))
        np.testing.assert_allclose(mean, 0, atol=1e-12)


@pytest.mark.parametrize(("policy", "list_len", "epsilon"), READ)
def test_whole_sums_are_sums_of_readings(policy, list_len, epsilon):
    rng = np.random.default_rng(0)
    whole, summed = policy(5, list_len, epsilon), policy(5, list_len, epsilon)
    for _ in range(50):
        action = rng.permutation(5)[:list_len].tolist()
        draws = {"keep": rng.random(), "other": rng.random(), "bit": rng.random(list_len)}
        message = whole.report(int(rng.integers(list_len + 1)), draws)
        whole.update(action, message)
        reference.AllPositions.update(summed, action, message)
        assert (whole.displays, whole.behind) == (summed.displays, summed.behind)
        np.testing.assert_allclose(whole.clicks, summed.clicks, atol=1e-9)
        np.testing.assert_allclose(whole.examinations, summed.examinations, atol=1e-9)


@pytest.mark.parametrize(("list_len", "epsilon"), [(1, 0.2), (4, 0.2), (4, 1.0), (4, 3.0), (4, math.inf)])
def test_increments_of_a_response_are_no_wider_than_charged(list_len, epsilon):
    user = reference.AllLdpResponseUcb1(list_len, list_len, epsilon)
    for attraction in (0.0, 0.3, 1.0):
        read = [np.array(user.read(message)) for message in range(list_len + 1)]
        increments = np.array([clicked - attraction * np.array(reference.examined(clicked.tolist())) for clicked in read])
        np.testing.assert_array_less(np.ptp(increments, axis=0), (1 + 1e-12) / user.kept)


@pytest.mark.parametrize(("policy", "list_len", "epsilon"), READ)
def test_messages_tell_clicks_apart_by_epsilon(policy, list_len, epsilon):
    user = policy(list_len, list_len, epsilon)
    chances = np.array([list(LAWS[policy](user, click).values()) for click in range(list_len + 1)])
    worst = math.log(np.max(chances.max(axis=0) / chances.min(axis=0)))
    if policy is reference.AllLdpUnaryUcb1 and list_len == 1:
        assert worst == pytest.approx(math.log(max((math.exp(epsilon) + 1) / 2, 2 / (1 + math.exp(-epsilon)))))
    else:
        assert worst == pytest.approx(epsilon)


@pytest.mark.parametrize("policy", [reference.AllLdpGaussianUcb1, reference.AllLdpLaplaceUcb1])
@pytest.mark.parametrize("list_len", [1, 4])
def test_noise_is_added_to_the_clicks(policy, list_len):
    arguments = {"epsilon": 1.0, **({"delta": 1e-3} if policy is reference.AllLdpGaussianUcb1 else {})}
    user = policy(list_len, list_len, **arguments)
    noise = np.linspace(-1, 2, list_len)
    for click in range(list_len + 1):
        # The noise is symmetric, so draws of the two signs stand for its mean.
        read = [user.read(user.report(click, {"noise": sign * noise})) for sign in (1, -1)]
        np.testing.assert_allclose(np.mean(read, axis=0), reference.one_hot(click, list_len), atol=1e-12)
        examined = [reference.examined(row) for row in read]
        np.testing.assert_allclose(np.mean(examined, axis=0), [k <= click for k in range(list_len)], atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_index_is_the_largest_possible_attraction(seed):
    rng = np.random.default_rng(seed)
    policy = reference.AllLdpUnaryUcb1(1, 4, 3.0)
    n = int(rng.integers(1, 3000))
    policy.displays, policy.behind = [n], [int(rng.integers(0, 3 * n + 1))]
    policy.examinations = [float(rng.normal(0.6, 0.3)) * n]
    policy.clicks = [float(rng.normal(0.2, 0.4)) * n]
    grid = np.linspace(0, 1, 2001)
    possible = grid[[policy.may_be(1000, 0, float(w)) for w in grid]]
    index = policy.index(1000, 0)
    assert possible.max(initial=0.0) <= index + 1e-12
    assert index - possible.max(initial=0.0) < 1 / 2000
    if index < 1:  # the search relies on it
        np.testing.assert_array_equal(possible, grid[: len(possible)])
