"""Contextual (generalised) linear bandits: orders of the regret.

Zheng, Cai, Huang, Li, Wang: Locally Differentially Private (Contextual) Bandits Learning, arXiv 2006.00701, and the algorithms that it is
compared with. Constants are not known; these functions have the constant 1, and leave logarithms out unless they say otherwise. A
later paper, arXiv 2404.09413, has sqrt(T) under local privacy even for features that an adversary chooses, so T^(3/4) is not what
privacy costs. Strict privacy of the actions costs linear regret (Shariff, Sheffet 2018); messages are a weaker thing to protect.
"""

from typing import Any

import numpy as np

from jaxbandits import validate


def _rounds(horizon: Any) -> np.ndarray:
    return validate.rounds("horizon", horizon)


def ldp_linucb_printed(*, horizon: Any, dim: int, epsilon: float) -> np.ndarray:
    """(d T)^(3/4) / epsilon: LDP-LinUCB, as printed.

    Args:
      horizon: T, a number or an array of rounds.
      dim: d.
      epsilon: privacy level.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return (validate.size("dim", dim) * _rounds(horizon)) ** 0.75 / epsilon


def ldp_linucb_order(*, horizon: Any, dim: int, sigma: float) -> np.ndarray:
    """sqrt(sigma) (d T)^(3/4): ``ldp_linucb``, whose width is of that order; it falls with the root of epsilon only.

    Args:
      horizon: T, a number or an array of rounds.
      dim: d.
      sigma: standard deviation of the noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scale("sigma", sigma)
    return np.sqrt(sigma) * (validate.size("dim", dim) * _rounds(horizon)) ** 0.75


def ldp_glm_printed(*, horizon: Any, epsilon: float, slope: float) -> np.ndarray:
    """T^(3/4) / (epsilon mu): LDP-GLM, as printed.

    Args:
      horizon: T, a number or an array of rounds.
      epsilon: privacy level.
      slope: mu, the least slope of the link.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    validate.positive("slope", slope)
    return _rounds(horizon) ** 0.75 / (epsilon * slope)


def oful_order(*, horizon: Any, dim: int) -> np.ndarray:
    """Order d sqrt(T): OFUL and GLOC, non-private.

    Args:
      horizon: T, a number or an array of rounds.
      dim: d.

    Raises:
      ValueError: if an argument is out of range.
    """
    return validate.size("dim", dim) * np.sqrt(_rounds(horizon))


def joint_dp_order(*, horizon: Any, dim: int, epsilon: float) -> np.ndarray:
    """d^(3/4) sqrt(T / epsilon): LinUCB under joint privacy.

    Args:
      horizon: T, a number or an array of rounds.
      dim: d.
      epsilon: privacy level.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    return validate.size("dim", dim) ** 0.75 * np.sqrt(_rounds(horizon) / epsilon)
