"""Losses: expectations, bounds, sequences; convex problems made of them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Study, domains, problems, run
from jaxbandits.core import Round
from jaxbandits.engine import draws, linalg
from jaxbandits.policies import convex
from jaxbandits.problems import losses
from tests.helpers import numbers

BALL, BOX, SIMPLEX = domains.ball(dim=2), domains.box(dim=3, low=-1.0, high=2.0), domains.simplex(dim=2)
RUNS = 40_000
LAWS = {
    "quadratic": lambda domain: losses.quadratic(domain=domain),
    "quadratic, alternating": lambda domain: losses.quadratic(domain=domain, path=losses.alternating(period=4)),
    "linear": lambda domain: losses.linear(domain=domain),
    "linear, alternating": lambda domain: losses.linear(domain=domain, path=losses.alternating()),
    "logistic": lambda domain: losses.logistic(domain=domain, scale=2.0),
    "absolute": lambda domain: losses.absolute(domain=domain),
    "noisy": lambda domain: losses.noisy(losses.quadratic(domain=domain), deviation=0.2),
}


def target_of(law):
    return law.setup({name: value[..., 0] for name, value in numbers(law.setup_draws, 1).items()})


def inside(domain, count=6):
    x = np.random.default_rng(0).normal(size=(count, domain.dim)) * domain.outer_radius
    return [domain.project(jnp.asarray(p, jnp.float32)) for p in x]


@pytest.mark.parametrize("domain", [BALL, BOX, SIMPLEX], ids=["ball", "box", "simplex"])
@pytest.mark.parametrize("name", LAWS)
def test_excess_is_what_the_loss_is_on_average(name, domain):
    law = LAWS[name](domain)
    target, z = target_of(law), numbers(law.draws, RUNS)
    best = law.best(target)
    assert bool(domain.contains(best))
    paid = jax.jit(jax.vmap(lambda t, p, z: law.loss(target, t, p, z), in_axes=(None, None, -1), axis_size=RUNS))
    excess = jax.jit(law.excess)
    for t in (1, 2, 3):
        at_best = paid(jnp.int32(t), best, z)
        for point in inside(domain):
            here = paid(jnp.int32(t), point, z)
            difference = np.asarray(here - at_best, np.float64)
            error = difference.std() / np.sqrt(RUNS)
            assert abs(difference.mean() - float(excess(target, jnp.int32(t), point))) <= 4 * error + 2e-5
            limit = law.bound if name != "noisy" else law.bound + 1.0
            assert np.abs(here).max() <= limit * (1 + 1e-5)
            gap = float(jnp.linalg.norm(point - best))
            if name != "noisy":
                assert np.abs(difference).max() <= law.lipschitz * gap * (1 + 1e-4) + 1e-5


@pytest.mark.parametrize("name", LAWS)
def test_best_point_is_the_best(name):
    law = LAWS[name](BALL)
    target = target_of(law)
    excess, rounds = jax.jit(law.excess), range(1, 5)  # whole periods of the alternating ones
    for point in inside(BALL, 30):
        assert sum(float(excess(target, jnp.int32(t), point)) for t in rounds) >= -1e-6


def test_an_alternating_path_comes_back():
    path = losses.alternating(period=4)
    side = jnp.array([0.6, 0.8])
    found = [np.asarray(path.at(side, jnp.int32(t), {})) for t in range(1, 9)]
    np.testing.assert_allclose(found, np.outer([1, 1, -1, -1] * 2, side))


def test_curvatures_are_those_of_the_losses():
    law = losses.quadratic(domain=BALL, curvature=1.5)
    target = target_of(law)
    z = {name: value[..., 0] for name, value in numbers(law.draws, 1).items()}
    bend = jax.hessian(lambda p: jnp.sum((p - target.at) ** 2) * 1.5)(jnp.zeros(2))
    assert law.smoothness == law.strong_convexity == pytest.approx(float(np.linalg.eigvalsh(bend)[0]))
    assert float(law.loss(target, jnp.int32(1), target.at, z)) > 0


def test_two_points_cost_their_mean():
    law = losses.quadratic(domain=BALL)
    one, two = problems.one_point(domain=BALL, losses=law), problems.two_point(domain=BALL, losses=law, realised_regret=True)
    z = {name: value[..., 0] for name, value in numbers({**law.draws, **law.setup_draws}, 1).items()}
    instance, round_ = two.setup(z), Round(jnp.int32(1), ())
    a, b = jnp.array([0.1, 0.2]), jnp.array([-0.5, 0.3])
    both = jnp.stack([a, b])
    alone = [float(one.regret(instance, round_, x)) for x in (a, b)]
    assert float(two.regret(instance, round_, both)) == pytest.approx(np.mean(alone))
    paid = [float(one.respond(instance, round_, x, z)) for x in (a, b)]
    np.testing.assert_allclose(two.respond(instance, round_, both, z), paid, rtol=1e-6)
    at_best = float(one.respond(instance, round_, instance.best, z))
    assert float(two.realised(instance, round_, both, z)) == pytest.approx(np.mean(paid) - at_best, abs=1e-6)
    assert bool(two.legal(instance, both))
    assert not bool(two.legal(instance, jnp.stack([a, 3 * a + 1])))


def test_losses_of_your_own():
    def loss(target, t, point, z):
        return linalg.dot(point, point) + 0.1 * z["mine"]

    mine = losses.Losses(
        dim=2,
        setup_draws={},
        draws={"mine": draws.normal()},
        setup=lambda z: (),
        loss=loss,
        excess=lambda target, t, point: linalg.dot(point, point),
        best=lambda target: jnp.zeros(2),
        bound=1.5,
        lipschitz=2.0,
        smoothness=2.0,
        strong_convexity=2.0,
    )
    study = Study(problem=partial(problems.one_point, domain=BALL, losses=mine), policies={"p": convex.hazan_levy}, seeds=5, horizon=300)
    assert np.isfinite(run(study, progress=False)["regret"]).all()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: losses.quadratic(domain=None), "domain"),
        (lambda: losses.quadratic(domain=BALL, curvature=0.0), "curvature"),
        (lambda: losses.quadratic(domain=BALL, reach=0.9, spread=0.2), "reach and spread"),
        (lambda: losses.quadratic(domain=BALL, path="random"), "path"),
        (lambda: losses.alternating(period=3), "period"),
        (lambda: losses.linear(domain=BALL, slope=-1.0), "slope"),
        (lambda: losses.logistic(domain=BALL, num_users=0), "num_users"),
        (lambda: losses.absolute(domain=BALL, spread=0.0), "spread"),
        (lambda: losses.noisy(losses.linear(domain=BALL), deviation=-1.0), "deviation"),
        (lambda: problems.one_point(domain=BALL, losses=losses.linear(domain=BOX)), "losses"),
        (lambda: problems.one_point(domain=BALL, losses="quadratic"), "losses"),
    ],
)
def test_bad_input(make, named):
    with pytest.raises(ValueError, match=f"{named} must"):
        make()
