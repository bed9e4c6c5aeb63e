"""The test of the order of the means fails for a problem that does not relabel its items."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from jaxbandits import Study, run
from jaxbandits.policies.cascade import cascade_ucb1
from jaxbandits.problems import cascade, linear


def unlabelled_cascade(*, means, list_len):
    """A cascade whose items keep the order of the means."""
    problem = cascade(means=means, list_len=list_len)

    def setup(z):
        rank = jnp.arange(z["order"].shape[1], dtype=jnp.uint32)
        return problem.setup({**z, "order": jnp.stack([rank, rank])})

    return problem._replace(setup=setup)


def test_without_relabelling_the_order_shows():
    means = {"first": linear(8, 0.8, 0.1), "last": linear(8, 0.8, 0.1)[::-1]}
    study = Study(
        problem=partial(unlabelled_cascade, list_len=3),
        policies={"p": cascade_ucb1},
        grid={"means": means},
        seeds=2000,
        horizon=3,
        checkpoints=[1, 3],
    )
    regret = run(study, progress=False)["regret"].sel(policy="p")
    difference = regret.sel(means="first") - regret.sel(means="last")
    assert (abs(difference.mean("seed")) > 8 * difference.std("seed") / np.sqrt(2000)).all()
