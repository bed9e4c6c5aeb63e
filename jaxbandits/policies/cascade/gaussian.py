"""Algorithm 3 of the cascade paper: Gaussian noise on every examined position, under local privacy.

Cascading Bandit under Differential Privacy, arXiv 2105.11126, Algorithm 3, Theorems 5 and 6. The paper claims
(epsilon, delta)-LDP. That is false for lists of two or more, as for Algorithm 2: the number of values sent shows the click.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import gaussian
from jaxbandits.policies import index as indices
from jaxbandits.policies.cascade.assemble import flawed_claim, noisy_prefix_policy


def _policy(status, calibrated_sigma, num_items, list_len, epsilon, delta, noise_scale, radius_scale, sigma) -> Policy:
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.scale("radius_scale", radius_scale)
    sensitivity = list_len**0.5
    if sigma is None:
        sigma = calibrated_sigma(epsilon, delta, sensitivity)
    noise = gaussian(shape=(list_len,), sensitivity=sensitivity, sigma=sigma, epsilon=epsilon, delta=delta, noise_scale=noise_scale)

    def index(t: Array, mean: Array, count: Array) -> Array:
        # log(2 t^3) taken apart, since t^3 leaves the range of int32
        width = indices.ucb1_width(t) + radius_scale * sigma * jnp.sqrt(2.0 * (jnp.log(2.0) + 3.0 * indices.log_round(t)))
        return mean + width * indices.inverse_root(count)

    return noisy_prefix_policy(
        num_items=num_items,
        list_len=list_len,
        randomiser=noise,
        index=index,
        claim=flawed_claim(noise.claim, status, list_len),
        derived={"sigma": sigma},
    )


def gaussian_ucb(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 3 as printed. No guarantee.

    Each examined position sends 1[clicked] + N(0, sigma^2), sigma = (1 / epsilon) sqrt(2 K log(1.25 / delta)). Index
    mean + sqrt(1.5 log t / T) + sigma sqrt(2 log(2 t^3) / T). The classic sigma is proved for epsilon <= 1 only; the paper also
    uses it at 2.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      noise_scale: factor on the noise. The paper's figures use 0.01.
      radius_scale: factor on the noise part of the radius.
      sigma: derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy("paper", calibrate.classic_sigma, num_items, list_len, epsilon, delta, noise_scale, radius_scale, sigma)


def gaussian_ucb_calibrated(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    sigma: ArrayLike | None = None,
) -> Policy:
    """Algorithm 3 with the analytic sigma at the L2 sensitivity sqrt(K) that the paper charges.

    The privacy is not repaired: no guarantee.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.
      sigma: derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy("calibrated", calibrate.analytic_sigma, num_items, list_len, epsilon, delta, noise_scale, radius_scale, sigma)
