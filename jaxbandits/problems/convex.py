"""Bandit convex optimisation: choose a point, see what it costs.

Losses are convex functions fixed in advance, see ``losses``. With one point a round the action is float32 [dim] and the feedback its loss,
float32 (); with two points, [2, dim] and [2], both of the same user. Regret is that of the point, or the mean of both, against
the best point of all rounds.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandits import validate
from jaxbandits.core import ActionKind, Problem, PyTree
from jaxbandits.domains import Domain, check
from jaxbandits.problems.losses import Losses, check_losses


class ConvexInstance(NamedTuple):
    """What the losses of one seed have in common, and their best point.

    Attributes:
      target: as ``losses.Losses`` made it for the seed.
      best: [dim], float32.
    """

    target: PyTree
    best: Array


def one_point(*, domain: Domain, losses: Losses, realised_regret: bool = False) -> Problem:
    """Bandit convex optimisation with one point a round.

    Args:
      domain: the set that points are chosen from; passed on to the policies of a study, as are the bounds on the losses.
      losses: such as ``losses.quadratic(domain=domain)``.
      realised_regret: record ``realised_regret`` too: the losses themselves, less those of the best point.

    Raises:
      ValueError: if an argument is out of range, or domain and losses have different dimensions.
    """
    return _problem(domain, losses, realised_regret, pair=False)


def two_point(*, domain: Domain, losses: Losses, realised_regret: bool = False) -> Problem:
    """Bandit convex optimisation with two points a round, which one user compares.

    Losses of close points are subtracted in float32: a difference is exact to 1e-7 of the losses.

    Args:
      domain: as for ``one_point``.
      losses: as for ``one_point``.
      realised_regret: as for ``one_point``.

    Raises:
      ValueError: if an argument is out of range, or domain and losses have different dimensions.
    """
    return _problem(domain, losses, realised_regret, pair=True)


def _number(name: str, value: Array) -> Array:
    """One number: a private policy has noise for one only."""
    if jnp.shape(value) or jnp.result_type(value) != jnp.float32:
        raise ValueError(f"losses.{name} must return float32 (); got {jnp.result_type(value)} {list(jnp.shape(value))}")
    return value


def _problem(domain: Domain, losses: Losses, realised_regret: bool, pair: bool) -> Problem:
    domain, losses = check(domain), check_losses(losses)
    validate.flag("realised_regret", realised_regret)
    if domain.dim != losses.dim:
        raise ValueError(f"losses must be of points of {domain.dim} coordinates, as the domain; got {losses.dim}")

    def points(action):
        return (action[0], action[1]) if pair else (action,)

    def setup(z):
        target = losses.setup(z)
        return ConvexInstance(target=target, best=losses.best(target))

    def respond(instance, round_, action, z):
        found = [_number("loss", losses.loss(instance.target, round_.t, point, z)) for point in points(action)]
        return jnp.stack(found) if pair else found[0]

    def regret(instance, round_, action):
        found = [_number("excess", losses.excess(instance.target, round_.t, point)) for point in points(action)]
        return 0.5 * (found[0] + found[1]) if pair else found[0]

    def realised(instance, round_, action, z):
        paid = respond(instance, round_, action, z)
        return (jnp.mean(paid) if pair else paid) - losses.loss(instance.target, round_.t, instance.best, z)

    def legal(instance, action):
        inside = [domain.contains(point) for point in points(action)]
        return inside[0] & inside[-1]

    return Problem(
        sizes={},
        setup_draws=losses.setup_draws,
        draws=losses.draws,
        setup=setup,
        preview=lambda instance, z: (),
        context=lambda instance, t, z: (),
        respond=respond,
        regret=regret,
        legal=legal,
        shared={
            "domain": domain,
            "loss_bound": losses.bound,
            "lipschitz": losses.lipschitz,
            "smoothness": losses.smoothness,
            "strong_convexity": losses.strong_convexity,
        },
        realised=realised if realised_regret else None,
        action=ActionKind((2, domain.dim) if pair else (domain.dim,), "float32"),
    )
