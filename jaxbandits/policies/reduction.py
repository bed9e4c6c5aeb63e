"""From a policy to a private one: a black box that plays on noisy answers.

A user makes the one number of an answer private before the policy sees it. With noise of mean 0, regret on noisy losses is regret on the
losses themselves in expectation, so whatever a black box guarantees for losses of the larger size, the private policy has. Zheng et al.:
Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, Algorithm 1 and Theorem 3.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.core import Policy
from jaxbandits.mechanisms import calibrate
from jaxbandits.mechanisms.randomiser import Randomiser, inside


def play(name: str, black_box: Any, **arguments: Any) -> Policy:
    """The policy of a factory, called with those of the arguments that it takes and has not fixed.

    Raises:
      ValueError: if it is no factory of a policy, or its policy has noise of its own.
    """
    validate.callable_(name, black_box, "a factory, a function returning a Policy")
    fixed: dict[str, Any] = {}
    function = black_box
    while isinstance(function, functools.partial):
        fixed, function = {**function.keywords, **fixed}, function.func
    try:
        taken = inspect.signature(function).parameters
        policy = black_box(**{key: value for key, value in arguments.items() if key in taken and key not in fixed})
    except TypeError as error:  # it wants something else, or is no such function
        raise ValueError(
            f"{name} must be a factory that takes {', '.join(arguments)} or some of them; got {black_box!r}: {error}"
        ) from error
    if not isinstance(policy, Policy) or policy.device_draws or policy.claim.status == "sound":
        raise ValueError(f"{name} must be a factory of a policy that sends raw answers; got {black_box!r}")
    return policy


def behind(policy: Policy, randomiser: Randomiser, low: float, high: float) -> Policy:
    """The policy with answers, numbers (), cut to [low, high] and made private on the device."""

    def report(round_, action, answer, z):
        return policy.report(round_, action, randomiser.send(inside(answer, low, high), z), {})

    def init(preview):  # the raw data of a user: a black box may start from it, a private policy may not
        return policy.init(jax.tree.map(jnp.zeros_like, preview))

    return policy._replace(claim=randomiser.claim, device_draws=randomiser.draws, init=init, report=report)


def normal_tail(sigma: ArrayLike, horizon: int) -> Array:
    """What normal noise exceeds in no round with probability at least 1 - 1 / horizon; float32 ()."""
    return jnp.asarray(sigma, jnp.float32) * np.float32(math.sqrt(2 * math.log(2 * horizon**2)))


def laplace_tail(scale: ArrayLike, horizon: int) -> Array:
    """What Laplace noise exceeds in no round with probability at least 1 - 1 / horizon; float32 ()."""
    return jnp.asarray(scale, jnp.float32) * np.float32(math.log(2 * horizon**2))


def calibrated(by: Callable[..., float], sigma: ArrayLike | None, epsilon: ArrayLike, delta: ArrayLike, sensitivity: float) -> ArrayLike:
    """The sigma of a calibration, or the one given if it is large enough for the analytic one, which a claim rests on.

    Raises:
      ValueError: if it is not, or epsilon or delta is out of range.
    """
    if sigma is None:
        return by(epsilon, delta, sensitivity)
    if by is calibrate.analytic_sigma:
        validate.enough("sigma", sigma, lambda: by(epsilon, delta, sensitivity), epsilon, delta)
    return sigma
