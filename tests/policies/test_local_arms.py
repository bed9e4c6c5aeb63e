"""What is special about the locally private K-armed policies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core import Round
from jaxbandits.policies import armed as policies


@pytest.mark.parametrize("author_code", [False, True])
def test_an_arm_is_pulled_by_index_only_if_none_is_due(author_code):
    """LDP-UCB-L: no arm has at most 4 log t pulls when one is pulled by its index; else the lowest of those that have is pulled."""
    policy = policies.ldp_ucb_laplace(num_arms=4, epsilon=0.5, author_code=author_code)
    act, update, rng = jax.jit(policy.act), jax.jit(policy.update), np.random.default_rng(1)
    state, by_index = policy.init(jnp.zeros(4, jnp.int32)), 0
    for t in range(1, 1200):
        arm = act(state, Round(t=jnp.int32(t), context=()), {})
        counts = np.asarray(state.counts)
        due = np.flatnonzero(counts <= 4 * np.log(t + 1 if author_code else t))
        if len(due) and (t > 4 or author_code):
            assert int(arm[0]) == due[0]
        elif t > 4:
            by_index += 1
            assert counts.min() > 4 * np.log(t)
        state = update(state, jnp.int32(t), arm, jnp.float32(rng.random() < 0.9 - 0.2 * int(arm[0])) + rng.laplace() / 0.5, {})
    assert by_index > 800
    assert int(state.counts.sum()) == 1199 + (4 if author_code else 0)
