"""How a value or a running sum is kept private: local randomisers, counters, and how much noise that takes."""

from jaxbandits.mechanisms import calibrate, categorical, counters, noise, tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, clipped, gaussian, laplace, squashed

__all__ = [
    "Randomiser",
    "bernoulli",
    "calibrate",
    "categorical",
    "clipped",
    "counters",
    "gaussian",
    "laplace",
    "noise",
    "squashed",
    "tails",
]
