"""Non-private contextual policies: OFUL, and GLOC for generalised linear rewards."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import links, validate
from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.engine import factor, linalg, sums
from jaxbandits.engine.sums import Sum
from jaxbandits.links import Link
from jaxbandits.policies.contextual import assemble
from jaxbandits.policies.contextual.assemble import Confidence, Regressed


def oful(
    *,
    dim: int,
    link: Link,
    fail_prob: ArrayLike = 0.1,
    theta_bound: ArrayLike = 1.0,
    feature_bound: ArrayLike = 1.0,
    regulariser: ArrayLike = 1.0,
) -> Policy:
    """OFUL: an optimistic ridge regression. Non-private.

    Index x' theta + beta |x| in the norm of V^-1, V = lambda I + sum x x', beta = R sqrt(d log((1 + n L^2 / lambda) / alpha)) +
    sqrt(lambda) S after n rounds. Regret of order d sqrt(T). Abbasi-Yadkori, Pal, Szepesvari 2011, Theorem 2.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem; R is its scatter. Rewards that are not linear are taken as if they were.
      fail_prob: alpha: the parameter is covered in all rounds with probability at least 1 - alpha.
      theta_bound: S, what the length of the parameter is at most, positive.
      feature_bound: L, the same for features.
      regulariser: lambda, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = assemble.checked(dim, fail_prob, theta_bound=theta_bound, feature_bound=feature_bound, regulariser=regulariser)
    link = links.check(link)
    ridge = jnp.asarray(regulariser, jnp.float32)

    def confidence(t):
        seen = (t - 1).astype(jnp.float32)
        log = jnp.log1p(seen * feature_bound**2 / ridge) - jnp.log(jnp.asarray(fail_prob, jnp.float32))
        return Confidence(ridge=ridge, width=link.noise * jnp.sqrt(dim * log) + jnp.sqrt(ridge) * theta_bound)

    def act(state, round_, z):
        return assemble.choose(assemble.matrix_of(state.sums), assemble.vector_of(state.sums), round_.context, confidence(round_.t))

    def report(round_, action, reward, z):
        one = assemble.record(round_, action, reward)
        return assemble.statistics(one, one.reward)

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={},
        init=lambda preview: Regressed(assemble.start(dim)),
        act=act,
        report=report,
        update=lambda state, t, action, message, z: Regressed(assemble.added(state.sums, message.matrix, *message.vectors)),
        settle=assemble.settle_inside,
    )


class GlocState(NamedTuple):
    """GLOC: a regression on the online learner's own predictions, and the learner."""

    sums: assemble.Sums  # of x x' and zeta x
    estimate: Array  # [dim]: of the online learner, of length at most S
    squares: Array  # [2], float32: what the regression leaves of the squares of zeta, and the squared norms of the gradients
    folded: Sum  # [2]: those before the last settling


def gloc(
    *,
    dim: int,
    link: Link,
    fail_prob: ArrayLike = 0.1,
    theta_bound: float = 1.0,
    regulariser: ArrayLike = 1.0,
) -> Policy:
    """GLOC: an online Newton learner whose predictions make a generalised linear bandit a linear one. Non-private.

    The learner moves by V^-1 gradient / kappa and is projected onto the ball of radius S in the norm of V; zeta = x' estimate before the
    step; ridge regression on zeta, with index x' theta + r |x| in the norm of V^-1, r^2 = lambda S^2 + beta_t - (what the regression
    leaves of the squares of zeta). Regret of order d sqrt(T) / kappa. Jun, Bhargava, Nowak, Willett: Scalable Generalized Linear
    Bandits, 2017, Algorithm 1 and Theorem 1.

    Args:
      dim: number of features d; a study passes that of the problem.
      link: of the problem; R is its scatter, and kappa its least slope on [-S, S].
      fail_prob: alpha: the parameter is covered in all rounds with probability at least 1 - alpha.
      theta_bound: S, what the length of the parameter is at most, positive.
      regulariser: lambda, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    dim = assemble.checked(dim, fail_prob, theta_bound=theta_bound, regulariser=regulariser)
    link, most = links.check(link), validate.number("theta_bound", theta_bound)
    try:
        kappa, noise = link.slope(most), link.noise
        size = 4 * noise**4 / kappa**4
    except (ZeroDivisionError, OverflowError):
        kappa, noise, size = 0.0, 0.0, math.inf
    if not size <= 1e12:
        raise ValueError(f"theta_bound must leave a link of slope well above 0 relative to its noise; got {most:g}, where it is {kappa:g}")
    ridge, log_fail = jnp.asarray(regulariser, jnp.float32), jnp.log(jnp.asarray(fail_prob, jnp.float32))

    def radius(state):
        unexplained, steps = state.folded.high + state.squares
        spent = 2.0 * kappa * most**2 * ridge + steps * np.float32(0.5 / kappa)
        inside = 1.0 + 2.0 * spent / np.float32(kappa) + np.float32(size) * jnp.exp(-2.0 * log_fail)
        log = np.float32(np.log(2.0)) - log_fail + 0.5 * jnp.log(inside)
        beta = 1.0 + np.float32(4 / kappa) * spent + np.float32(8 * noise**2 / kappa**2) * log
        return jnp.sqrt(jnp.maximum(ridge * most**2 + beta - unexplained, 0.0))

    def act(state, round_, z):
        at = Confidence(ridge=ridge, width=radius(state))
        return assemble.choose(assemble.matrix_of(state.sums), assemble.vector_of(state.sums), round_.context, at)

    def update(state, t, action, message, z):
        x = message.features
        matrix, vector = assemble.matrix_of(state.sums), assemble.vector_of(state.sums)
        turned = factor.solve(matrix, ridge, x)  # V^-1 x, with V before this round
        square, predicted = linalg.dot(x, turned), linalg.dot(vector, turned)
        zeta = linalg.dot(x, state.estimate)
        residual = link.mean(zeta) - message.reward
        after = assemble.added(state.sums, linalg.outer(x), linalg.scaled(x, zeta))
        # (V + x x')^-1 x = V^-1 x / (1 + x' V^-1 x).
        estimate = linalg.along(state.estimate, turned, -residual / (np.float32(kappa) * (1.0 + square)))
        estimate = factor.project_in_norm(assemble.matrix_of(after), ridge, estimate, jnp.float32(most))
        return GlocState(
            sums=after,
            estimate=estimate,
            # The residual of a regression grows by the first with one more row; the difference of two large sums would lose it.
            squares=state.squares + jnp.stack([(zeta - predicted) ** 2, residual**2 * square]) / (1.0 + square),
            folded=state.folded,
        )

    def settle(state):
        return state._replace(
            sums=assemble.settle(state.sums), squares=jnp.zeros_like(state.squares), folded=sums.add(state.folded, state.squares)
        )

    return Policy(
        claim=NON_PRIVATE,
        device_draws={},
        server_draws={},
        init=lambda preview: GlocState(
            sums=assemble.start(dim), estimate=jnp.zeros(dim, jnp.float32), squares=jnp.zeros(2, jnp.float32), folded=sums.zero((2,))
        ),
        act=act,
        report=lambda round_, action, reward, z: assemble.record(round_, action, reward),
        update=update,
        settle=settle,
    )
