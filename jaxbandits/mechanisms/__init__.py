"""How one value is kept private: the local randomisers, and ``calibrate`` and ``tails``, which say how much noise that takes."""

from jaxbandits.mechanisms import calibrate, tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, gaussian, laplace

__all__ = ["Randomiser", "bernoulli", "calibrate", "gaussian", "laplace", "tails"]
