"""How large a sum of independent noise gets: bounds that hold with probability at least 1 - tail_prob.

Y is a sum of independent Laplace variables, ``count[i]`` of them with scale ``scale[i]``; l = log(2 / tail_prob).
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.engine import lanes


def _groups(scales: Sequence[float], counts: Sequence[float], tail_prob: float) -> tuple[np.ndarray, np.ndarray]:
    validate.scalar("tail_prob", tail_prob, "above 0 and at most 1", lambda g: 0 < g <= 1)
    scale, count = (validate.amounts(name, values) for name, values in (("scales", scales), ("counts", counts)))
    if scale.shape != count.shape:
        raise ValueError(f"scales and counts must have one length; got {len(scale)} and {len(count)}")
    used = (count > 0) & (scale > 0)
    return scale[used], count[used]


def laplace_closed(scales: Sequence[float], counts: Sequence[float], tail_prob: float) -> float:
    """sqrt(8 l) max(sqrt(sum b^2), b_max sqrt(l)), a bound on |Y|.

    From the lemma of Chan, Shi, Song 2011, at the smallest admissible nu. ``laplace_chernoff`` is two to three times smaller
    for the noise of a counter.

    Args:
      scales: [groups], Laplace scales, at least 0.
      counts: [groups], how many variables have each.
      tail_prob: probability that the bound is exceeded, above 0 and at most 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    scale, count = _groups(scales, counts, tail_prob)
    if not len(scale):
        return 0.0
    log_term = np.log(2 / tail_prob)
    return float(np.sqrt(8 * log_term) * max(np.sqrt(np.sum(count * scale**2)), scale.max() * np.sqrt(log_term)))


def laplace_chernoff(scales: Sequence[float], counts: Sequence[float], tail_prob: float) -> float:
    """Min over 0 < theta < 1 / b_max of (l - sum log(1 - b^2 theta^2)) / theta, a bound on |Y|.

    The Chernoff bound with the exact moment generating function. Any theta gives a valid bound, so the search need not be
    exact; 45 golden-section steps on the quasi-convex objective are.

    Args:
      scales: [groups], Laplace scales, at least 0.
      counts: [groups], how many variables have each.
      tail_prob: probability that the bound is exceeded, above 0 and at most 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    scale, count = _groups(scales, counts, tail_prob)
    if not len(scale):
        return 0.0
    log_term, top = np.log(2 / tail_prob), scale.max()

    def bound(x):  # x = theta b_max
        return (log_term - np.sum(count * np.log1p(-((scale / top * x) ** 2)))) / x * top

    ratio = (np.sqrt(5) - 1) / 2
    low, high = 0.0, 1.0
    for _ in range(45):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return float(bound((low + high) / 2))


def log1p(x: ArrayLike) -> Array:
    """log(1 + x) to float32 accuracy for x > -1, faster on CPU than the library's.

    Kahan's device: the rounding of w = 1 + x is the same in log(w) and in w - 1, so their ratio is right.
    """
    # The maximum changes no value. Without it XLA cancels (1 + x) - 1 to x, and the device with it.
    w = 1.0 + x
    w = lax.max(w, jnp.zeros_like(w))
    return jnp.where(w == 1.0, x, jnp.log(w) * (x / jnp.where(w == 1.0, 1.0, w - 1.0)))


def _best_unit(ratio: Any) -> Array:
    """The u with 2 u - log(1 + u) = ratio, to 1e-3: one Newton step from a start that is right for small and for large ratios."""
    u = ratio * (1.0 + 0.5 * ratio) / (1.0 + ratio)
    return u - (2.0 * u - log1p(u) - ratio) * (1.0 + u) / (1.0 + 2.0 * u)


@lanes.elementwise
def laplace_chernoff_unit(count: Array, log_term: ArrayLike) -> Array:
    """``laplace_chernoff`` for ``count`` variables of scale 1, in a form that is cheap inside the round loop.

    With theta^2 = u / (1 + u) the best u solves 2 u - log(1 + u) = r, r = l / count. It is r - r^2 / 2 for small r and r / 2 for
    large; one Newton step from a start that has both limits comes within 1e-5 of the best bound, and any u gives a valid one.

    Args:
      count: float32, number of variables, at least 0; the bound is 0 where it is 0.
      log_term: log(2 / tail_prob), positive.
    """
    n = jnp.maximum(count, 1.0)
    ratio = log_term / n
    u = _best_unit(ratio)
    bound = n * (ratio + log1p(u)) * jnp.sqrt(1.0 + 1.0 / u)
    return jnp.where(count > 0, bound, 0.0)


def laplace_chernoff_groups(groups: Sequence[tuple[Array, Array]], log_term: Array) -> Array:
    """``laplace_chernoff`` for a few variables of several scales, such as the noise of a counter. Elementwise, for the round loop.

    With rho_i = b_i / b_max, theta^2 b_max^2 = u / (1 + u) and q_i = (1 + u (1 - rho_i^2)) / (1 + u), the bound is
    b_max (l - sum n_i log q_i) sqrt(1 + 1 / u). The best u makes sum n_i (2 rho_i^2 u / (q_i (1 + u)) + log q_i) = l. One Newton
    step towards it from the answer for sum n_i rho_i^2 variables of the largest scale comes within 1e-5 of the best bound for the
    noise of a counter; any u gives a valid one.

    Args:
      groups: scale and number of the variables of each group, float32. A number may be a fraction, and a bool for 0 or 1, which
        is cheaper: those share one logarithm. A scale is not looked at where its number is 0.
      log_term: log(2 / tail_prob), positive.

    Returns:
      the bound; 0 where there is no variable.
    """
    present = [n if n.dtype == bool else n > 0 for _, n in groups]
    top = functools.reduce(jnp.maximum, [jnp.where(some, b, 0.0) for (b, _), some in zip(groups, present, strict=True)])
    per_top = 1.0 / jnp.where(top > 0, top, 1.0)
    squares = [jnp.where(some, b * per_top, 0.0) ** 2 for (b, _), some in zip(groups, present, strict=True)]
    numbers = [n.astype(jnp.float32) for _, n in groups]
    shared = [n.dtype == bool for _, n in groups]

    def over_groups(term):
        return functools.reduce(jnp.add, [n * term(square) for n, square in zip(numbers, squares, strict=True)])

    def logs(u):
        step = 1.0 / (1.0 + u)
        factors = [(1.0 + u * (1.0 - square)) * step for square in squares]
        apart = [n * jnp.log(q) for n, q, single in zip(numbers, factors, shared, strict=True) if not single]
        together = [jnp.where(some, q, 1.0) for some, q, single in zip(present, factors, shared, strict=True) if single]
        if together:
            apart.append(jnp.log(functools.reduce(jnp.multiply, together)))
        return functools.reduce(jnp.add, apart)

    u = _best_unit(log_term / jnp.maximum(over_groups(lambda square: square), 0.5))

    def slope(square):
        inverse = 1.0 / (1.0 + u * (1.0 - square))
        return (2.0 * square * inverse + (1.0 - square)) * inverse - 1.0 / (1.0 + u)

    excess = over_groups(lambda square: 2.0 * square * u / (1.0 + u * (1.0 - square))) + logs(u) - log_term
    u = jnp.maximum(u - excess / over_groups(slope), 0.25 * u)
    return jnp.where(top > 0, top * (log_term - logs(u)) * jnp.sqrt(1.0 + 1.0 / u), 0.0)
