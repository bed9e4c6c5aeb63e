"""The composition variant of the cascade paper: Laplace noise with the budget split by advanced composition.

Cascading Bandit under Differential Privacy, arXiv 2105.11126, Theorem 7; the paper prints no algorithm for it. It claims
(epsilon, delta)-LDP. That is false for lists of two or more, as for Algorithm 2: the number of values sent shows the click.
Its split is worse than epsilon / K for K <= 4 log(e + epsilon / delta), so for every K the paper shows.
"""

import dataclasses

from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import laplace
from jaxbandits.policies.cascade.assemble import flawed_claim, noisy_prefix_policy
from jaxbandits.policies.cascade.laplace import chernoff_index, printed_index


def _policy(status, split, index, num_items, list_len, epsilon, delta, noise_scale, radius_scale, epsilon_each) -> Policy:
    num_items, list_len = validate.list_sizes(num_items, list_len)
    validate.epsilon(epsilon)
    validate.delta(delta)
    validate.scale("radius_scale", radius_scale)
    if epsilon_each is None:
        epsilon_each = split(list_len, epsilon, delta)
    validate.epsilon(epsilon_each, "epsilon_each")
    noise = laplace(shape=(list_len,), sensitivity=1, epsilon=epsilon_each, noise_scale=noise_scale)
    nominal = dataclasses.replace(noise.claim, epsilon=epsilon, delta=delta, sensitivity=f"L1 1 for each of {list_len} values, composed")
    return noisy_prefix_policy(
        num_items=num_items,
        list_len=list_len,
        randomiser=noise,
        index=index(radius_scale / epsilon_each),
        claim=flawed_claim(nominal, status, list_len),
        derived={"epsilon_each": epsilon_each},
    )


def composition_ucb(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    epsilon_each: ArrayLike | None = None,
) -> Policy:
    """The composition variant as printed. No guarantee.

    Each examined position sends 1[clicked] + Lap(1 / e0), e0 = epsilon / sqrt(4 K log(e + epsilon / delta)). Index
    mean + sqrt(1.5 log t / T) + (1 / e0) sqrt(24 log t / T). The lemma it rests on is stated for epsilon <= 0.9.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.
      epsilon_each: e0, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy(
        "paper",
        calibrate.quoted_split_epsilon,
        printed_index,
        num_items,
        list_len,
        epsilon,
        delta,
        noise_scale,
        radius_scale,
        epsilon_each,
    )


def composition_ucb_calibrated(
    *,
    num_items: int,
    list_len: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    noise_scale: ArrayLike = 1.0,
    radius_scale: ArrayLike = 1.0,
    epsilon_each: ArrayLike | None = None,
) -> Policy:
    """The composition variant with the exact split and a radius that is valid at every count.

    e0 is the largest that exact composition allows; the radius is the Chernoff bound of T - 1 Laplace draws at 1 - t^-3, over T.
    The privacy is not repaired: no guarantee.

    Args:
      num_items: number of items.
      list_len: K, length of the list, from 1 to num_items.
      epsilon: nominal privacy level, positive.
      delta: nominal, strictly between 0 and 1.
      noise_scale: factor on the noise.
      radius_scale: factor on the noise part of the radius.
      epsilon_each: e0, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _policy(
        "calibrated",
        calibrate.split_epsilon,
        chernoff_index,
        num_items,
        list_len,
        epsilon,
        delta,
        noise_scale,
        radius_scale,
        epsilon_each,
    )
