"""Contextual (generalised) linear bandits: every round offers actions with features, and pays by their product with one parameter.

The user picks action a of the round's features x_1, .., x_n and gets a reward of mean g(x_a' theta). The context is the features of all
actions, float32 [num_actions, dim]; the action is int32 [1]; the feedback is the reward, float32 (). Regret is the largest mean of the
round less that of the action.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import ActionKind, Problem, PyTree
from jaxbandits.engine import draws, lanes, linalg
from jaxbandits.links import Link, check, linear
from jaxbandits.problems.contexts import Contexts, check_contexts, of_users


class ContextualInstance(NamedTuple):
    """The parameter of one seed, and what its decision sets have in common.

    Attributes:
      theta: [dim], float32.
      common: as ``contexts.Contexts`` made it for the seed.
    """

    theta: Array
    common: PyTree


def contextual(*, contexts: Contexts, link: Link | None = None, theta: ArrayLike | None = None) -> Problem:
    """A contextual (generalised) linear bandit.

    Args:
      contexts: where decision sets come from, such as ``contexts.sphere(dim=2, num_actions=10)``.
      link: g, and how rewards scatter; by default ``links.linear()``. It is passed on to the policies of a study.
      theta: [dim], of length at most 1; by default drawn for each seed, uniform on the unit sphere.

    Raises:
      ValueError: if an argument is out of range.
    """
    contexts = check_contexts(contexts)
    if theta is not None:
        validate.table("theta", theta, (contexts.dim,), "finite numbers", np.isfinite)
        known = validate.vector("theta", theta)
        if known is not None and np.linalg.norm(known) > 1 + 1e-6:
            raise ValueError(f"theta must have length at most 1; got {validate.short(theta)}, of length {np.linalg.norm(known):g}")
    return _problem(contexts, linear() if link is None else link, theta)


def _problem(contexts: Contexts, link: Link, theta: ArrayLike | None) -> Problem:
    link = check(link)
    n, dim = contexts.num_actions, contexts.dim

    def setup(z):
        mine = linalg.normalised(z["theta"]) if theta is None else jnp.asarray(theta, jnp.float32)
        return ContextualInstance(theta=mine, common=contexts.setup(z))

    def respond(instance, round_, action, z):
        return link.sample(linalg.dot(linalg.row(round_.context, action[0]), instance.theta), z)

    def regret(instance, round_, action):
        value = linalg.times(round_.context, instance.theta)
        return link.mean(jnp.max(value)) - link.mean(lanes.take(value, action)[0])

    def context(instance, t, z):
        features = contexts.at(instance.common, t, z)
        if jnp.shape(features) != (n, dim) or jnp.result_type(features) != jnp.float32:
            found = f"{jnp.result_type(features)} {list(jnp.shape(features))}"
            raise ValueError(f"contexts.at must return float32 [{n}, {dim}], features of length at most 1; got {found}")
        return features

    own = {"theta": draws.normal((dim,))} if theta is None else {}
    for name in sorted({*contexts.draws} & {*link.draws} | {*own} & {*contexts.setup_draws}):
        raise ValueError(f"contexts must not have a draw named {name!r}: the link, or the problem, has one")
    return Problem(
        sizes={"num_actions": n, "dim": dim},
        setup_draws={**own, **contexts.setup_draws},
        draws={**contexts.draws, **link.draws},
        setup=setup,
        preview=lambda instance, z: (),
        context=context,
        respond=respond,
        regret=regret,
        legal=lambda instance, action: (action[0] >= 0) & (action[0] < n),
        shared={"link": link},
        action=ActionKind((1,), "int32"),
    )


def ratings(*, table: ArrayLike) -> Problem:
    """A contextual linear bandit made of a table of ratings: which of some items to show to the user who comes.

    With the singular value decomposition M = U S V' of M = 0.4 (ratings - 2.5), user i and item j have the features U_i V_j, coordinate
    by coordinate, and the reward M_ij: the parameter is S. Users come with equal chances. It is the recipe of the published experiment
    of arXiv 2006.00701 on MovieLens: an item without a rating counts as 0, so its reward is -1, and the length of the parameter is far
    above 1, against the assumptions of the policies.

    Args:
      table: [num_users, num_items], ratings from 1 to 5, and 0 where there is none; at least as many users as items. ``read_ratings``
        makes one of a file.

    Raises:
      ValueError: if it is not.
    """
    stars = validate.matrix("table", table, "an array [num_users, num_items] of ratings from 0 to 5", lambda r: (r >= 0) & (r <= 5))
    if len(stars) < stars.shape[1]:
        raise ValueError(f"table must have at least as many users as items; got one of shape {stars.shape}")
    users, sizes, items = np.linalg.svd(0.4 * (stars - 2.5), full_matrices=False)
    contexts = check_contexts(of_users(users, items.T))
    return _problem(contexts, linear(noise=0.0), sizes)
