"""How a value or a running sum is kept private: local randomisers, counters, and how much noise that takes."""

from jaxbandits.mechanisms import calibrate, categorical, counters, noise, regression, shares, tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, clipped, gaussian, laplace, squashed
from jaxbandits.mechanisms.sphere import ball_to_sphere

__all__ = [
    "Randomiser",
    "ball_to_sphere",
    "bernoulli",
    "calibrate",
    "categorical",
    "clipped",
    "counters",
    "gaussian",
    "laplace",
    "noise",
    "regression",
    "shares",
    "squashed",
    "tails",
]
