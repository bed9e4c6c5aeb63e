"""Results of policies with features or points are the same bits whatever the tile: roots and sums are where they would not be."""

from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, domains, problems, run
from jaxbandits.policies import contextual, convex
from jaxbandits.problems import contexts, losses

SEVERAL = {
    "glm": (problems.contextual, contextual.ldp_glm),
    "joint": (problems.contextual, contextual.joint_dp_linucb),
    "gloc": (problems.contextual, contextual.gloc),
    "sgd": (problems.contextual, contextual.ldp_sgd),
    "ball": (domains.ball, convex.hazan_levy),
    "box": (domains.box, convex.hazan_levy),
    "simplex": (domains.simplex, convex.hazan_levy),
    "projected": (domains.simplex, convex.fkm),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_tile(name):
    make, factory = SEVERAL[name]
    if make is problems.contextual:
        problem = partial(make, contexts=contexts.sphere(dim=5, num_actions=7))
        fixed = {"epsilon": 1.0, "delta": 1e-3} if factory is not contextual.gloc else {}
        fixed = {k: v for k, v in fixed.items() if k != "delta" or factory is not contextual.ldp_sgd}
    else:
        domain = make(dim=3)
        problem, fixed = partial(problems.one_point, domain=domain, losses=losses.quadratic(domain=domain)), {}
    study = Study(problem=problem, policies={"p": partial(factory, **fixed)}, seeds=70, horizon=60, checkpoints=(1, 10, 60))
    whole = run(study, progress=False)["regret"]
    for max_tile in (16, 32):
        np.testing.assert_array_equal(run(study, progress=False, max_tile=max_tile)["regret"], whole)
