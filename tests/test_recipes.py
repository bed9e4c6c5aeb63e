"""Values made of functions travel to other processes by their recipes."""

import pickle
from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, domains, links, problems
from jaxbandits.policies import contextual, convex
from jaxbandits.problems import contexts, losses

DISC = domains.ball(dim=2)
STUDIES = [
    Study(problem=partial(problems.one_point, domain=domain, losses=law), policies={"p": convex.fkm}, seeds=2, horizon=10)
    for domain, law in [
        (DISC, losses.quadratic(domain=DISC, path=losses.alternating())),
        (DISC, losses.noisy(losses.logistic(domain=DISC), deviation=0.1)),
        (DISC, losses.absolute(domain=DISC)),
        (domains.box(dim=1), losses.linear(domain=domains.box(dim=1), path=losses.independent)),
        (domains.simplex(dim=2), losses.linear(domain=domains.simplex(dim=2))),
    ]
] + [
    Study(problem=partial(problems.contextual, contexts=some, link=link), policies={"p": contextual.gloc}, seeds=2, horizon=10)
    for some, link in [(contexts.sphere(dim=2), links.logistic()), (contexts.fixed(np.eye(3) / 2), links.poisson(reward_bound=5.0))]
]


@pytest.mark.parametrize("study", STUDIES, ids=range(len(STUDIES)))
def test_studies_can_be_pickled(study):
    assert pickle.loads(pickle.dumps(study)) == study


def test_what_was_changed_is_not_made_as_it_was():
    changed = links.logistic()._replace(sample=lambda z, u: z)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(changed)
