"""How one value or one running sum is kept private: one file a mechanism; ``calibrate`` and ``tails`` say how much noise."""

from jaxbandits.mechanisms import calibrate, tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, gaussian, laplace

__all__ = ["Randomiser", "bernoulli", "calibrate", "gaussian", "laplace", "tails"]
