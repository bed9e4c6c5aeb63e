"""How the rounds run fast. Knows no algorithm.

Policies and problems need two modules of it: ``draws`` for random numbers, which are declared, and ``lanes`` for arrays.
"""

from jaxbandits.engine import draws, lanes

__all__ = ["draws", "lanes"]
