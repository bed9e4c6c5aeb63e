"""Algorithm 2 of the cascade paper: Laplace noise on every examined position, under local privacy.

Cascading Bandit under Differential Privacy, arXiv 2105.11126, Algorithm 2, Theorems 3 and 4. The paper claims epsilon-LDP.
That is false for lists of two or more: a user sends one noisy value for each examined position, and how many there are shows
the click exactly. All versions here reproduce that and carry no guarantee; ``first_ldp_ucb1`` and ``first_ldp_kl_ucb`` are
sound replacements.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.engine import lanes
from jaxbandits.mechanisms import tails
from jaxbandits.mechanisms.randomiser import laplace
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.assemble import flawed_claim, noisy_prefix_policy


def printed_index(scale: ArrayLike):
    """Mean + sqrt(1.5 log t / T) + scale sqrt(24 log t / T)."""

    def index(t: Array, mean: Array, count: Array) -> Array:
        width = indices.ucb1_width(t) + scale * jnp.sqrt(24.0 * indices.log_round(t))
        return mean + width * indices.inverse_root(count)

    return index


def _printed(list_len: int, epsilon: ArrayLike, radius_scale: ArrayLike):
    return printed_index(radius_scale * (list_len / epsilon))


def _policy(status, index, num_items, list_len, epsilon, noise_scale, radius_scale) -> Policy:
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.scale("radius_scale", radius_scale)
    noise = laplace(shape=(list_len,), sensitivity=list_len, epsilon=epsilon, noise_scale=noise_scale)
    return noisy_prefix_policy(
        num_items=num_items,
        list_len=list_len,
        randomiser=noise,
        index=index(list_len, epsilon, radius_scale),
        claim=flawed_claim(noise.claim, status, list_len),
    )


def laplace_ucb(
    *, num_items: int, list_len: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, radius_scale: ArrayLike = 1.0
) -> Policy:
    """Algorithm 2 as printed. No guarantee.

    Each examined position sends 1[clicked] + Lap(K / epsilon). Index mean + sqrt(1.5 log t / T) + (K / epsilon)
    sqrt(24 log t / T); its noise part is a valid radius only for T >= 3 log t.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      noise_scale: factor on the noise. The paper's figures use 0.01.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy("paper", _printed, num_items, list_len, epsilon, noise_scale, radius_scale)


def laplace_ucb_calibrated(
    *, num_items: int, list_len: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, radius_scale: ArrayLike = 1.0
) -> Policy:
    """Algorithm 2 with a radius that is valid at every count: the Chernoff bound of T - 1 Laplace draws at 1 - t^-3, over T.

    The privacy is not repaired: no guarantee.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """

    def chernoff(list_len, epsilon, radius_scale):
        return chernoff_index(radius_scale * (list_len / epsilon))

    return _policy("calibrated", chernoff, num_items, list_len, epsilon, noise_scale, radius_scale)


def chernoff_index(scale: ArrayLike):
    """Mean + sqrt(1.5 log t / T) + the Chernoff bound of T - 1 draws Lap(scale) at probability 1 - t^-3, over T."""

    def index(t: Array, mean: Array, count: Array) -> Array:
        root = indices.inverse_root(count)
        log_term = jnp.log(2.0) + 3.0 * indices.log_round(t)
        noise = tails.laplace_chernoff_unit((count - 1).astype(jnp.float32), log_term)
        return mean + indices.ucb1_width(t) * root + scale * noise * root * root

    return index


def laplace_ucb_forced(
    *, num_items: int, list_len: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, radius_scale: ArrayLike = 1.0
) -> Policy:
    """Algorithm 2 with its printed radius made valid by forced display.

    While the item with the fewest observations has at most 3 log t of them it is shown at position 1; elsewhere in the list it
    might not be examined. The privacy is not repaired: no guarantee.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.

    Raises:
      ValueError: if an argument is out of range.
    """

    def forced(list_len, epsilon, radius_scale):
        printed = _printed(list_len, epsilon, radius_scale)

        def index(t: Array, mean: Array, count: Array) -> Array:
            least = lanes.argmin(count)
            due = lanes.take(count, least[None])[0].astype(jnp.float32) <= 3.0 * indices.log_round(t)
            item = jnp.arange(num_items, dtype=jnp.int32)
            return jnp.where((item == least) & due, jnp.inf, printed(t, mean, count))

        return index

    return _policy("calibrated", forced, num_items, list_len, epsilon, noise_scale, radius_scale)
