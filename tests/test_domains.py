"""Domains: projections, barriers and radii against a second implementation in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import domains
from tests.reference import convex as reference

BODIES = [pytest.param(domains.ball(dim=d, radius=2.0), reference.Ball(d, 2.0), id=f"ball {d}") for d in (1, 2, 5)] + [
    pytest.param(domains.box(dim=d, low=-1.0, high=3.0), reference.Box(d, -1.0, 3.0), id=f"box {d}") for d in (1, 2, 5)
]
BODIES += [pytest.param(domains.simplex(dim=d), reference.Simplex(d), id=f"simplex {d}") for d in (1, 2, 5)]
EVERY = pytest.mark.parametrize(("domain", "body"), BODIES)


def over_lanes(function, *args):
    return np.asarray(jax.jit(jax.vmap(function, in_axes=-1, out_axes=-1))(*(jnp.asarray(a.T, jnp.float32) for a in args))).T


def points(domain, count=20):
    return np.random.default_rng(0).normal(size=(count, domain.dim)) * 2 * domain.outer_radius


@EVERY
def test_sizes(domain, body):
    assert domain.barrier.parameter == pytest.approx(body.barrier_parameter)
    assert (domain.inner_radius, domain.outer_radius) == pytest.approx((body.inner_radius, body.outer_radius))
    inside = np.asarray([body.project(x) for x in points(domain, 500)])
    assert np.linalg.norm(inside, axis=1).max() <= domain.norm * (1 + 1e-9)


@EVERY
def test_projection_is_the_nearest_point(domain, body):
    x = points(domain)
    np.testing.assert_allclose(over_lanes(domain.project, x), [body.project(p) for p in x], atol=2e-6 * (1 + domain.norm))
    for shrink in (0.0, 0.3, 1.0):
        mine = over_lanes(lambda p, shrink: domains.shrunk(domain, p, shrink), x, np.full(len(x), shrink))
        theirs = [reference.project_shrunk(body, min(shrink, 1 - 1e-6), p) for p in x]
        np.testing.assert_allclose(mine, theirs, atol=3e-6 * (1 + domain.norm))


@EVERY
def test_contains_its_projections_and_not_what_is_outside(domain, body):
    x = points(domain)
    inside = over_lanes(lambda p: domain.contains(domain.project(p)), x)
    assert inside.all()
    far = np.asarray([np.linalg.norm(body.project(p) - p) > 0.01 * domain.outer_radius for p in x])
    assert far.any()
    assert not over_lanes(domain.contains, x)[far].any()


@EVERY
def test_best_point_of_a_linear_loss(domain, body):
    g = np.random.default_rng(1).normal(size=(10, domain.dim))
    best = over_lanes(domain.best, g)
    others = np.asarray([body.project(p) for p in points(domain, 300)])
    assert (np.sum(g * best, axis=1)[:, None] <= g @ others.T + 1e-5).all()


@EVERY
def test_barrier_has_its_least_point(domain, body):
    g = np.random.default_rng(2).normal(size=(12, domain.dim)) * np.logspace(-1, 4, 12)[:, None]
    q = np.array([0.0, 5.0, 100.0] * 4)[:, None]
    found = over_lanes(lambda g, q: domain.barrier.minimise(g, q[0]), g, q)
    wanted = [reference.argmin(body, a, float(b[0]), np.asarray(body.centre, float)) for a, b in zip(g, q, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=3e-5 * domain.outer_radius)


@EVERY
def test_barrier_root(domain, body):
    rng = np.random.default_rng(3)
    inside = np.asarray([reference.project_shrunk(body, 0.2, p) for p in points(domain, 8)])
    u = rng.normal(size=inside.shape)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    for ridge in (0.0, 0.7):
        both = over_lanes(lambda x, u, ridge: jnp.stack(domain.barrier.root(x, ridge, u)), inside, u, np.full(len(u), ridge))
        forward, back = np.moveaxis(both, -1, 0)
        for x, v, a, b in zip(inside, u, forward, back, strict=True):
            root = body.root(x, ridge)
            np.testing.assert_allclose(a, root @ v, rtol=2e-4, atol=1e-5)
            np.testing.assert_allclose(b, np.linalg.inv(root).T @ v, rtol=2e-4, atol=1e-4)
            assert np.linalg.norm(body.project(x + a) - (x + a)) < 1e-5  # the ellipsoid lies in the domain


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: domains.ball(dim=0), "dim"),
        (lambda: domains.ball(dim=2, radius=-1.0), "radius"),
        (lambda: domains.ball(dim=2, radius=float("nan")), "radius"),
        (lambda: domains.box(dim=2, low=1.0, high=1.0), "high"),
        (lambda: domains.box(dim=2, low=float("-inf")), "low"),
        (lambda: domains.simplex(dim=2.5), "dim"),
        (lambda: domains.check("ball"), "domain"),
    ],
)
def test_bad_input(make, named):
    with pytest.raises(ValueError, match=f"{named} must be"):
        make()
