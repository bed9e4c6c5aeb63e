"""Bad arguments of central policies and counters, found by trying to break them: each is named, and none gets a label it has not earned."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, run
from jaxbandits.mechanisms import counters
from jaxbandits.policies import armed, cascade
from jaxbandits.policies import index as indices
from jaxbandits.problems import armed as arms
from jaxbandits.problems import cascade as lists

LISTS, ARMS = {"num_items": 5, "list_len": 2, "epsilon": 1.0}, {"num_arms": 3, "epsilon": 1.0}

BAD = [
    (partial(cascade.first_dp_ucb1, counter=None), LISTS, "counter must be a factory of counters"),
    (partial(cascade.first_dp_ucb1, counter="hybrid"), LISTS, "counter must be a factory of counters"),
    (partial(cascade.first_dp_ucb1, counter=lambda **k: 5), LISTS, "counter must be a factory of counters.*it returned 5"),
    (partial(cascade.first_dp_kl_ucb, exploration=lambda t: -jnp.log(t.astype(jnp.float32))), LISTS, "exploration must be .*at round 2"),
    (partial(cascade.first_dp_kl_ucb, exploration=None), LISTS, "exploration must be"),
    (partial(cascade.first_dp_kl_ucb, exploration=lambda **k: 3), LISTS, "exploration must be .* it failed with TypeError"),
    (partial(armed.dp_kl_ucb, exploration=lambda t: jnp.float32(math.nan)), ARMS, "exploration must be"),
    (partial(armed.dp_kl_ucb, exploration=lambda t: jnp.ones(3)), ARMS, "exploration must be"),
    (partial(armed.dp_kl_ucb, exploration=lambda t: t), ARMS, "exploration must be"),
    (partial(armed.dp_se, horizon=10**12), ARMS, "horizon must be an integer from 1 to 2147483647"),
    (partial(armed.dp_se, horizon=10, lengths=np.ones(3)), ARMS, "lengths must be an array of shape"),
    (partial(armed.dp_se, horizon=10, lengths=np.full((16, 3), np.nan)), ARMS, "lengths must be an array of shape"),
    (partial(armed.dp_se, horizon=10, lengths="a"), ARMS, "lengths must be an array of shape"),
    (partial(armed.dp_ucb_int, interval=math.nan), ARMS, "interval must be"),
    (partial(armed.dp_ucb_int, interval=[1.0, 2.0]), ARMS, "interval must be"),
    (partial(armed.dp_ucb_int, rate=2.0), ARMS, "rate must be"),
    (partial(armed.mishra_thakurta_ucb, horizon=10, tail_prob=0.0), ARMS, "tail_prob must be"),
    (partial(cascade.hybrid_ucb, horizon=10, order_constant=-1.0), LISTS, "order_constant must be"),
    (partial(cascade.all_dp_ucb1, epsilon_click=0.0), LISTS, "epsilon_click must be"),
    (partial(counters.forgetting, next_size=None), {"num_streams": 2, "epsilon": 1.0}, "next_size must be"),
    (partial(counters.hybrid, nodes=None), {"num_streams": 2, "epsilon": 1.0}, "nodes must be"),
    (counters.hybrid, {"num_streams": 10**9, "epsilon": 1.0}, "num_streams must be"),
    (partial(counters.accumulating, ratio=1 + 1e-9), {"num_streams": 2, "epsilon": 1.0}, "ratio must be"),
    (partial(counters.square_root, horizon=65_536, delta=0.1), {"num_streams": 5000, "epsilon": 1.0}, "horizon must be"),
]


@pytest.mark.parametrize(("factory", "sizes", "message"), BAD)
def test_a_bad_argument_is_named(factory, sizes, message):
    with pytest.raises(ValueError, match=message):
        factory(**sizes)


def test_the_smallest_epsilon_of_a_policy_can_be_shared_out():
    for policy in (
        cascade.hybrid_ucb(num_items=20, list_len=4, epsilon=1e-10, horizon=10),
        cascade.all_dp_ucb1(num_items=20, list_len=4, epsilon=1e-10),
        armed.mishra_thakurta_ucb_split(num_arms=20, epsilon=1e-10, horizon=10),
    ):
        assert policy.claim.epsilon == 1e-10


def test_what_cannot_be_swept_is_said():
    problem = partial(lists, means=np.full(4, 0.3), list_len=2)
    with pytest.raises(ValueError, match="epsilon must be fixed"):
        jax.eval_shape(lambda e: counters.square_root(num_streams=1, horizon=9, epsilon=e, delta=0.1).init(), 1.0)
    with pytest.raises(ValueError, match=r"grid\['exploration'\] must have numbers or arrays of numbers"):
        Study(problem=problem, policies={"p": cascade.first_dp_kl_ucb}, grid={"exploration": {"a": indices.log_round}})


@pytest.mark.parametrize(
    ("problem", "policy", "message"),
    [
        (
            partial(lists, list_len=1),
            partial(armed.dp_kl_ucb, num_arms=4),
            "plays problems that have num_arms; this one has num_items, list_len",
        ),
        (arms, partial(cascade.first_dp_kl_ucb, num_items=4, list_len=1), "plays problems that have num_items; this one has num_arms"),
    ],
)
def test_a_policy_of_another_family_is_refused_even_with_its_sizes(problem, policy, message):
    with pytest.raises(ValueError, match=message):
        Study(problem=partial(problem, means=np.full(4, 0.3)), policies={"p": policy}, grid={"epsilon": [1.0]})


@pytest.mark.parametrize(
    "factory", [partial(counters.binary, horizon=5), partial(counters.square_root, horizon=5, delta=1e-3)], ids=["binary", "square root"]
)
def test_a_counter_ends_at_its_horizon(factory):
    """Entries beyond it would get less noise than promised, so they are left out, and the other streams are as before."""
    counter = factory(num_streams=2, epsilon=1.0)
    state, rng = counter.init(), np.random.default_rng(0)
    insert = jax.jit(lambda state, z: counter.insert(state, jnp.array([1], jnp.int32), jnp.ones(1, jnp.int32), jnp.ones(1, bool), z))
    for s in range(40):
        after = insert(state, {"noise": jnp.asarray(rng.laplace(size=1), jnp.float32)})
        if s >= 5:
            assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), state, after))
        state = after
    assert state.counts.tolist() == [0, 5]
    with pytest.raises(ValueError, match="count must be an integer from 0 to 5"):
        counter.law(6)
    policy = partial(armed.mishra_thakurta_ucb, horizon=5, epsilon=1.0)
    study = Study(problem=partial(arms, means=np.array([0.9, 0.1])), policies={"p": policy}, horizon=50, seeds=2)
    assert np.isfinite(run(study, progress=False)["regret"]).all()


def test_many_arms_do_not_unroll():
    """1,000 streams that all get an entry in a round, and a counter of as many."""
    policy = armed.dp_ucb(num_arms=1000, epsilon=1.0)
    z = {"noise": jnp.zeros(1000)}
    jaxpr = jax.make_jaxpr(lambda s: policy.update(s, jnp.int32(1), jnp.array([3], jnp.int32), jnp.int32(1), z))(
        policy.init(jnp.zeros(1000))
    )
    assert len(str(jaxpr)) < 100_000


def test_one_lane_runs_with_64_bits_enabled():
    with jax.enable_x64(True):
        policy = cascade.all_dp_ucb1(num_items=4, list_len=2, epsilon=1.0)
        state = policy.init(jnp.zeros(4, jnp.int32))
        message = policy.report(None, None, jnp.int32(0), {})
        z = {name: jnp.zeros(d.shape, jnp.float32) for name, d in policy.server_draws.items()}
        after = policy.update(state, jnp.int32(1), jnp.array([2, 1], jnp.int32), message, z)
        assert after.kept.dtype == jnp.float32
