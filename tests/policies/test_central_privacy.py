"""Why the sound policies under central privacy are: what a neighbour changes, and all transcripts of a small run.

By discovery over every policy that claims a guarantee with a trusted server.
"""

import functools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core import Round
from jaxbandits.mechanisms import counters
from jaxbandits.policies import cascade
from tests.helpers import POLICIES, build, feedbacks, takes

SOUND = {
    name: f for name, f in POLICIES.items() if (c := build(f, 4, 2).claim).guaranteed and c.trust == "central" and not takes(f, "link")
}
"""Policies on counters; that under joint privacy keeps a tree of its own, and has its own test."""
SOUND["first_dp_ucb1, merged"] = partial(cascade.first_dp_ucb1, counter=counters.merged_hybrid)
RAW = ("total", "entered_total", "ones")
"""Fields of states that hold exact sums. A policy may add to them, and read them only to release them with noise."""


def leaves(state):
    """Every array of a state by the name of its field."""
    return [(path[-1].name, np.asarray(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(state)]


def numbers(draws, rng):
    """Random numbers for declared draws: Laplace for noise, uniform for uniforms."""
    return {
        name: np.asarray(rng.random(d.shape) if name == "uniform" else rng.laplace(size=d.shape), np.float32) for name, d in draws.items()
    }


@functools.cache
def halves(factory, horizon):
    """The first state of a policy, its draws, and its two halves of a round, compiled once for all runs: act, and report and update."""
    policy = build(factory, 4, 2, epsilon=0.3, horizon=horizon)

    def after(state, t, action, feedback, z):
        return policy.update(state, t, action, policy.report(Round(t=t, context=()), action, feedback, {}), z)

    act = jax.jit(lambda state, t, z: policy.act(state, Round(t=t, context=()), z))
    return policy.init(jnp.zeros(4, jnp.int32)), policy.server_draws, act, jax.jit(after)


def coupled(factory, feedback, changed_round, changed_to, horizon, seed):
    """Two neighbouring runs whose releases are made to be the same, as noise can make them.

    Args:
      factory: of the policy.
      feedback: (rng, action) -> raw feedback of a user.
      changed_round: the round whose user is another one in the second run.
      changed_to: the raw feedback of that user.
      horizon: number of rounds.
      seed: of the draws.

    Returns:
      the actions of both runs, and both states after the last round.
    """
    rng, (start, server_draws, act, after) = np.random.default_rng(seed), halves(factory, horizon)
    first = second = start
    actions = []
    for t in np.arange(1, horizon + 1, dtype=np.int32):
        z = numbers(server_draws, rng)
        action, other = act(first, t, z), act(second, t, z)
        actions.append((action.tolist(), other.tolist()))
        raw = np.asarray(feedback(rng, action), np.int32)
        other_raw = np.asarray(changed_to, np.int32) if t == changed_round else raw
        first, second = (after(s, t, action, r, z) for s, r in ((first, raw), (second, other_raw)))
        # Every float of a state is a release, or made of releases: the second run gets those of the first.
        second = jax.tree.map(lambda a, b: a if a.dtype == jnp.float32 else b, first, second)
    return actions, first, second


@pytest.mark.parametrize("name", SOUND)
def test_a_neighbour_changes_a_few_entries_and_no_public_number(name):
    """With equal releases both runs do the same in every round, and only exact sums differ: by 1, in as few places as claimed."""
    factory = SOUND[name]
    raw = feedbacks(factory, 2)
    for seed, changed_to in enumerate(raw):
        actions, first, second = coupled(factory, lambda rng, action: raw[rng.integers(len(raw))], 7, changed_to, 120, seed)
        assert all(a == b for a, b in actions)
        moved = 0.0
        for (field, a), (_, b) in zip(leaves(first), leaves(second), strict=True):
            if field in RAW:
                assert np.abs(a - b).max(initial=0) <= 1
                moved += np.abs(a - b).sum() if field == "total" else 0
            else:
                np.testing.assert_array_equal(a, b, err_msg=field)
        assert moved <= (2 + 1 if name == "all_dp_ucb1" else 1)  # two entries of clicks, list_len - 1 = 1 of examinations


def test_the_coupled_runs_tell_a_leak():
    """Under Algorithm 1 the counts of examined items differ."""
    _, first, second = coupled(cascade.hybrid_ucb, lambda rng, action: 2, 7, 0, 20, 0)
    assert np.any(first.seen.counts != second.seen.counts)


@pytest.mark.parametrize("list_len", [1, 2, 3, 5])
def test_entries_that_another_click_changes_under_dp_all(list_len):
    """All pairs of clicks: at most 2 click entries and list_len - 1 examination entries, and both numbers are reached."""
    policy = cascade.all_dp_ucb1(num_items=6, list_len=list_len, epsilon=1.0)
    action = jnp.arange(list_len, dtype=jnp.int32)
    sent = [policy.report(Round(jnp.int32(1), ()), action, jnp.int32(c), {}) for c in range(list_len + 1)]
    pairs = [(a, b) for a in sent for b in sent]
    clicks, examined = ([int(np.sum(np.asarray(a[i]) != np.asarray(b[i]))) for a, b in pairs] for i in (0, 1))
    assert max(clicks) == (2 if list_len > 1 else 1)
    assert max(examined) == list_len - 1
    assert all(int(s.examined[0]) == 1 for s in sent), "position 1 is always examined"
    assert (policy.init(jnp.zeros(6, jnp.int32)).examined is None) == (list_len == 1)


def test_the_budget_of_dp_all():
    half = {"epsilon": 1.0, "num_items": 6, "list_len": 3}
    assert cascade.all_dp_ucb1(**half, epsilon_click=0.25, epsilon_examined=0.25).claim.guarantee() == (1.0, 0.0)
    with pytest.raises(ValueError, match=r"2 epsilon_click \+ \(list_len - 1\) epsilon_examined must be at most epsilon, 1; got 1.2"):
        cascade.all_dp_ucb1(**half, epsilon_click=0.35, epsilon_examined=0.25)


# ---- all transcripts of a small adaptive run ----------------------------------------------------------------------------

EPSILON, ROUNDS, WIDEST = 0.7, 4, 5


def geometric(g):
    """The two-sided geometric law of ratio exp(-epsilon)."""
    r = math.exp(-EPSILON)
    return (1 - r) / (1 + r) * r ** np.abs(g)


@functools.cache
def player(factory):
    """A function from the users and the standard draws of every lane to what each lane shows and releases."""
    policy = factory(num_items=2, list_len=1, epsilon=EPSILON)

    @jax.jit
    def play(users, noise):  # [rounds, items], [rounds, lanes]
        def one(draws):
            state, seen = policy.init(jnp.zeros(2, jnp.int32)), []
            for t in range(1, ROUNDS + 1):
                z = {"noise": draws[t - 1][None]}
                action = policy.act(state, Round(t=jnp.int32(t), context=()), z)
                click = 1 - users[t - 1, action[0]]
                message = policy.report(Round(t=jnp.int32(t), context=()), action, click, {})
                state = policy.update(state, jnp.int32(t), action, message, z)
                seen += [action[0], state.seen.counts - state.seen.released_counts, jnp.round(state.seen.released).astype(jnp.int32)]
            return jnp.concatenate([jnp.atleast_1d(x) for x in seen])

        return jax.vmap(one, in_axes=1)(noise)

    return play


def transcripts(factory, users):
    """Every transcript of a run with given users, to its probability, for noise up to WIDEST.

    A transcript is what the policy shows and releases in each round; the noise is geometric, so the releases are integers.
    """
    grid = np.stack(np.meshgrid(*[np.arange(-WIDEST, WIDEST + 1)] * ROUNDS, indexing="ij")).reshape(ROUNDS, -1)
    rows = np.asarray(player(factory)(jnp.asarray(users, jnp.int32), jnp.asarray(grid * EPSILON, jnp.float32)))
    per_round = rows.reshape(len(rows), ROUNDS, 5)
    released = np.take_along_axis(per_round[..., 1:3], per_round[..., :1], axis=2)[..., 0] == 0
    # Noise that no release used is summed over: keep one value of it, with probability 1.
    kept = np.all(released | (grid.T == 0), axis=1)
    probability = np.prod(np.where(released, geometric(grid.T), 1.0), axis=1)
    return {tuple(row): p for row, p in zip(rows[kept].tolist(), probability[kept], strict=True)}


def test_the_largest_likelihood_ratio_of_a_small_run_is_that_of_epsilon():
    """2 items, 4 rounds, doubling batches: over all neighbours and all transcripts the ratio is e^0.7, reached and not passed."""
    all_users = [np.array([[u >> (2 * t) & 1, u >> (2 * t + 1) & 1] for t in range(ROUNDS)]) for u in range(4**ROUNDS)]
    rng, largest = np.random.default_rng(0), 0.0
    for i in rng.permutation(len(all_users))[:6]:
        users = all_users[i]
        here = transcripts(cascade.first_dp_kl_ucb, users)
        inside = (1 - 2 * math.exp(-EPSILON) ** (WIDEST + 1) / (1 + math.exp(-EPSILON))) ** ROUNDS
        assert inside - 1e-9 <= sum(here.values()) <= 1 + 1e-9, "probabilities of different transcripts"
        for t in range(ROUNDS):
            neighbour = users.copy()
            neighbour[t] = 1 - neighbour[t]
            there = transcripts(cascade.first_dp_kl_ucb, neighbour)
            common = here.keys() & there.keys()
            assert sum(here[k] for k in common) > 0.7 * sum(here.values())
            largest = max(largest, *(here[k] / there[k] for k in common))
    assert largest == pytest.approx(math.exp(EPSILON), rel=1e-9)
