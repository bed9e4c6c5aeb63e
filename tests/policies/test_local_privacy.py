"""Why the sound policies under local privacy are: the exact loss of what leaves the device, and that its shape tells nothing.

By discovery over every policy that claims a guarantee without a trusted server.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from jaxbandits.core import Round, told
from jaxbandits.policies import cascade
from tests.helpers import POLICIES, build, feedbacks, takes

ITEMS, LIST_LEN = 5, 3
SOUND = {name: f for name, f in POLICIES.items() if (c := build(f, ITEMS, LIST_LEN).claim).guaranteed and c.trust == "local"}
FINE = 2**18


def replies(factory):
    """Raw feedback of different users; numbers also beyond their bounds, which a policy must keep itself. With features it is a record."""
    if takes(factory, "link"):
        return [(np.float32(np.multiply(long, x)), np.float32(y)) for x, y in RECORDS for long in (1.0, 0.5, 9.0)]
    if takes(factory, "domain"):
        values = [-100.0, 0.0, 0.3, 100.0] if takes(factory, "loss_bound") else [[9.0, -9.0], [0.0, 0.0], [-9.0, 9.0]]
    else:
        values = [-30.0, 0.0, 0.3, 1.0, 30.0] if takes(factory, "num_arms") else feedbacks(factory, LIST_LEN)
    return list(np.float32(values) if isinstance(np.ravel(values)[0], np.floating) else np.int32(values))


_ANGLE = np.pi / 12
RECORDS = [
    ([np.cos(_ANGLE), np.sin(_ANGLE), 0.0], 1.0),  # these two are as far apart as records can be
    ([np.sin(_ANGLE), np.cos(_ANGLE), 0.0], -1.0),
    ([1.0, 0.0, 0.0], 1.0),
    ([1.0, 0.0, 0.0], -50.0),
    ([0.0, 0.0, 0.0], 1.0),
]
LOOSE = ("ldp_glm",)
"""Sound policies whose sensitivity is a bound that records at one estimate do not reach."""


def sender(policy, factory):
    """(raw feedback, draws of the device) -> message, in some round, for some action; compiled once for all feedback."""
    if takes(factory, "link"):
        told_all = told(policy, policy.init(()))

        @jax.jit
        def send(raw, z):
            features, reward = raw
            context = jnp.zeros((2, LIST_LEN)).at[1].set(features)
            one = jnp.array([1], jnp.int32)
            sent = policy.report(Round(jnp.int32(9), context, told_all), one, reward, z)
            return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(sent)])

        return send
    action = jnp.arange(1 if takes(factory, "num_arms") else LIST_LEN, dtype=jnp.int32)
    return jax.jit(lambda raw, z: policy.report(Round(t=jnp.int32(9), context=()), action, raw, z))


def filled(policy, value):
    return {name: jnp.full(d.shape, value, jnp.float32) for name, d in policy.device_draws.items()}


def losses(policy, factory):
    """The largest loss of privacy over all pairs of raw feedback, by the law of what is sent: epsilon, or delta at epsilon if normal."""
    send, raw = sender(policy, factory), replies(factory)
    if "other" in policy.device_draws:
        laws = frequencies(send, raw)
        return max(np.log(p / q).max() for p, q in itertools.permutations(laws, 2))
    if "bit" in policy.device_draws:
        u = (jnp.arange(FINE, dtype=jnp.float32) + 0.5) / FINE
        many = jax.jit(jax.vmap(lambda u, r: send(r, filled(policy, u)), (0, None)))
        ones = [np.atleast_2d(many(u, r).T).mean(axis=1) for r in raw]
        pairs = itertools.permutations(ones, 2)
        return max(np.sum(np.maximum(np.log(p / q), np.log((1 - p) / (1 - q)))) for p, q in pairs)
    if "half" in policy.device_draws:  # a point of a sphere, uniform on the half to which it leans
        u = (jnp.arange(FINE, dtype=jnp.float32) + 0.5) / FINE
        still = {**filled(policy, 1e-6), "direction": jnp.array([1.0, 0.0, 0.0])}
        many = jax.jit(jax.vmap(lambda u, r: send(r, {**still, "half": u})[0] > 0, (0, None)))
        ones = [np.mean(many(u, r)) for r in raw]
        return max(np.log(p / q) for p, q in itertools.permutations(ones, 2))
    at = [np.atleast_1d(send(r, filled(policy, 0.0))).astype(float) for r in raw]
    scales = [np.atleast_1d(send(r, filled(policy, 1.0))) - a for r, a in zip(raw, at, strict=True)]
    for scale in scales:
        np.testing.assert_allclose(scale, scales[0], rtol=1e-4, err_msg="noise of a size that depends on the value")
    apart = [np.abs(a - b) / scales[0] for a, b in itertools.permutations(at, 2)]
    if not policy.claim.delta:
        return max(np.sum(a) for a in apart)
    farthest, epsilon = max(np.sqrt(np.sum(a**2)) for a in apart), policy.claim.epsilon
    return norm.cdf(farthest / 2 - epsilon / farthest) - np.exp(epsilon) * norm.cdf(-farthest / 2 - epsilon / farthest)


def frequencies(send, raw):
    """The laws of a message of one of list_len + 1 values, by all its draws: a fine grid of one, the cells of the other."""
    keep, other = (jnp.arange(FINE, dtype=jnp.float32) + 0.5) / FINE, (jnp.arange(LIST_LEN + 1, dtype=jnp.float32) + 0.5) / (LIST_LEN + 1)
    many = jax.jit(jax.vmap(jax.vmap(lambda k, o, r: send(r, {"keep": k, "other": o}), (None, 0, None)), (0, None, None)))
    sent = [np.ravel(many(keep, other, r)) for r in raw]
    return [np.bincount(values, minlength=LIST_LEN + 1) / values.size for values in sent]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("name", SOUND)
def test_what_leaves_the_device_has_the_loss_that_is_claimed(name, epsilon):
    """Exactly, over all pairs of values: no more, and no less where 0 and 1 can be sent as they are."""
    factory = SOUND[name]
    policy = build(factory, ITEMS, LIST_LEN, epsilon=epsilon)
    claimed = policy.claim.delta or epsilon
    found = losses(policy, factory)
    assert found <= claimed * (1 + 1e-3)
    assert found >= claimed * (1 - 1e-3) or name in LOOSE


@pytest.mark.parametrize("name", SOUND)
def test_the_shape_of_a_message_tells_nothing(name):
    """The same arrays, and the same places that are not 0, whatever the user's values; values of a message of bits are bits."""
    factory = SOUND[name]
    policy = build(factory, ITEMS, LIST_LEN)
    send = sender(policy, factory)
    for value in (0.1, 0.9):
        sent = [jax.tree.leaves(send(r, filled(policy, value))) for r in replies(factory)]
        assert len({tuple((m.shape, str(m.dtype)) for m in leaves) for leaves in sent}) == 1
        if "other" in policy.device_draws:
            assert all((law > 0).all() for law in frequencies(send, replies(factory)))
        elif "bit" in policy.device_draws:
            assert all(set(np.unique(m)) <= {0, 1} for leaves in sent for m in leaves)
        else:
            assert len({tuple(np.asarray(m != 0).tobytes() for m in leaves) for leaves in sent}) == 1


def read_all(policy, list_len, messages):
    """What is added for the items of a list, in the order of the list, by each message: clicked and examined, [messages, list_len]."""
    action, start = jnp.arange(list_len, dtype=jnp.int32), policy.init(jnp.zeros(ITEMS, jnp.int32))
    state = jax.jit(jax.vmap(lambda m: policy.update(start, jnp.int32(1), action, m, {})))(jnp.asarray(messages, jnp.int32))
    return state.recent.clicked[:, :list_len], state.recent.examined[:, :list_len]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("list_len", [1, 2, 4])
@pytest.mark.parametrize("name", ["all_ldp_response_ucb1", "all_ldp_unary_ucb1"])
def test_what_is_read_of_a_position_is_unbiased(name, list_len, epsilon):
    """E[z_k - w o_k] = 0 at every position, over the clicks of a cascade and all messages, exactly; and no other w does."""
    attraction = np.random.default_rng(2).uniform(0.1, 0.9, list_len)
    policy = build(SOUND[name], ITEMS, list_len, epsilon=epsilon)
    passed = np.cumprod(np.concatenate([[1.0], 1 - attraction]))
    clicks = np.append(passed[:-1] * attraction, passed[-1])
    if name == "all_ldp_response_ucb1":
        q, messages = 1 / (np.exp(epsilon) + list_len), np.arange(list_len + 1)
        law = np.where(messages == np.arange(list_len + 1)[:, None], np.exp(epsilon) * q, q)
    else:
        q, messages = 1 / (np.exp(epsilon) + 1), np.array(list(itertools.product((0, 1), repeat=list_len)))
        one = np.where(np.arange(list_len) == np.arange(list_len + 1)[:, None], 0.5, q)[:, None]
        law = np.prod(np.where(messages, one, 1 - one), axis=-1)
    clicked, examined = (np.asarray(x) for x in read_all(policy, list_len, messages))
    clicked, examined = (clicks @ law @ x for x in (clicked, examined))
    np.testing.assert_allclose(clicked - attraction * examined, 0, atol=2e-6 * (1 + 1 / epsilon))
    np.testing.assert_allclose(examined, passed[:-1], atol=2e-6 * (1 + 1 / epsilon))
    assert np.all(np.abs(clicked - 1.1 * attraction * examined) > 1e-4)


def test_what_is_read_of_a_response_has_the_width_of_its_index():
    """z_k - w o_k of R lies in an interval of width 1 / D, for all messages, which is what its index takes."""
    epsilon, w = 0.7, 0.4
    policy = build(cascade.all_ldp_response_ucb1, ITEMS, LIST_LEN, epsilon=epsilon)
    clicked, examined = read_all(policy, LIST_LEN, np.arange(LIST_LEN + 1))
    values = np.asarray(clicked - w * examined)
    width = (np.exp(epsilon) + LIST_LEN) / (np.exp(epsilon) - 1)
    assert np.ptp(values, axis=0).max() == pytest.approx(width, rel=1e-4)


def test_the_check_tells_a_leak():
    """The noisy prefix of Algorithm 2 has other places for other clicks."""
    policy = build(cascade.laplace_ucb, ITEMS, LIST_LEN)
    send = sender(policy, cascade.laplace_ucb)
    sent = [send(click, filled(policy, 0.9)).value != 0 for click in replies(cascade.laplace_ucb)]
    assert len({np.asarray(m).tobytes() for m in sent}) > 1


def test_every_family_is_here():
    assert {
        "ldp_linucb",
        "ldp_sgd",
        "ldp_gaussian_two_point",
        "first_ldp_kl_ucb",
        "ldp_ucb_laplace",
        "ldp_kl_ucb",
        "ldp_gaussian_cucb",
        "cucb_ldp1",
        "cucb_ldp2_laplace",
    } <= set(SOUND)
