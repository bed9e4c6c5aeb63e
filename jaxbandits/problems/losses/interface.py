"""What a law of losses is."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jax import Array

from jaxbandits import validate
from jaxbandits.core import Draws, PyTree
from jaxbandits.engine import draws
from jaxbandits.recipes import Recipe, reduced, remembered


class Losses(NamedTuple):
    """A law of convex losses on a domain. Your own is a Losses with these fields.

    Attributes:
      dim: number of coordinates of a point.
      setup_draws: what setup needs, drawn once for each seed.
      draws: what a loss needs in each round.
      setup: setup draws -> target: what the losses of this seed have in common.
      loss: (target, t, point float32 [dim], draws) -> loss of the user of round t, float32 ().
      excess: (target, t, point) -> its expectation, less that at the best point, float32 ().
      best: target -> the best point, [dim].
      bound: B: losses are of size at most B; a private policy cuts them to that.
      lipschitz: G: they change by at most G times the distance.
      smoothness: largest curvature; inf if they have corners.
      strong_convexity: smallest curvature; 0 if there is none.
      recipe: for pickling; leave it out.
    """

    dim: int
    setup_draws: Draws
    draws: Draws
    setup: Callable[[Mapping[str, Array]], PyTree]
    loss: Callable[[PyTree, Array, Array, Mapping[str, Array]], Array]
    excess: Callable[[PyTree, Array, Array], Array]
    best: Callable[[PyTree], Array]
    bound: float
    lipschitz: float
    smoothness: float
    strong_convexity: float
    recipe: Recipe | None = None

    def __reduce__(self):
        """Pickled by its recipe."""
        return reduced(self)


def check_losses(losses: Any) -> Losses:
    """The losses, if they are Losses.

    Args:
      losses: what a user gave for them.

    Raises:
      ValueError: if not, or if a field has not the right kind or range.
    """
    if not isinstance(losses, Losses):
        raise ValueError(f"losses must be Losses, such as losses.quadratic(domain=domains.ball(dim=2)); got {losses!r}")
    for field in ("setup", "loss", "excess", "best"):
        validate.callable_(f"losses.{field}", getattr(losses, field), "a function")
    for field in ("bound", "lipschitz"):
        validate.positive(f"losses.{field}", getattr(losses, field))
    for field in ("smoothness", "strong_convexity"):
        validate.scalar(f"losses.{field}", getattr(losses, field), "a number, at least 0", lambda x: x >= 0)
    return losses


def share(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    validate.scalar(name, value, "a number in [0, 1]", lambda x: 0 <= x <= 1)
    return float(value)


@remembered
def noisy(losses: Losses, *, deviation: float) -> Losses:
    """Stochastic losses: every answer with normal noise added, before any for privacy.

    Args:
      losses: the losses without it.
      deviation: standard deviation, at least 0; the bound grows by four of them.

    Raises:
      ValueError: if an argument is out of range.
    """
    losses = check_losses(losses)
    validate.scale("deviation", deviation)
    size = np.float32(deviation)
    name = next(f"answer {i}" for i in range(len(losses.draws) + 1) if f"answer {i}" not in losses.draws)

    def loss(target, t, point, z):
        return losses.loss(target, t, point, z) + size * z[name]

    return losses._replace(draws={**losses.draws, name: draws.normal()}, loss=loss, bound=losses.bound + 4 * float(deviation))
