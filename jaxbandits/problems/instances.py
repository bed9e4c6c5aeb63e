"""Named vectors of attraction probabilities. The cascade paper states none; these are the field's usual ones."""

import numpy as np

from jaxbandits import validate


def two_level(num_items: int = 20, num_good: int = 4, base_prob: float = 0.2, gap: float = 0.15) -> np.ndarray:
    """``base_prob`` for the good items and ``base_prob - gap`` for the others.

    The instance of Kveton et al. 2015, B_LB(L, K, p, Delta), on which the lower bounds are proved with num_good = list_len.

    Args:
      num_items: number of items.
      num_good: how many of them are good.
      base_prob: attraction probability of a good item.
      gap: how much less attractive the others are.

    Returns:
      float64 [num_items].

    Raises:
      ValueError: if a size or a resulting probability is out of range.
    """
    validate.size("num_items", num_items, 1, validate.MOST_ITEMS)
    validate.size("num_good", num_good, 1, num_items)
    validate.scalar("base_prob", base_prob, "in [0, 1]", lambda p: 0 <= p <= 1)
    validate.scalar("gap", gap, f"from 0 to base_prob, {base_prob}", lambda d: 0 <= d <= base_prob)
    means = np.full(num_items, float(base_prob) - float(gap))
    means[:num_good] = base_prob
    return means


def twenty_arms() -> np.ndarray:
    """One arm of 0.9, five each of 0.8, 0.7 and 0.6, and four of 0.5: the instance of arXiv 2007.03121; float64 [20]."""
    return np.repeat([0.9, 0.8, 0.7, 0.6, 0.5], [1, 5, 5, 5, 4])


def linear(num_items: int = 20, high: float = 0.5, low: float = 0.05) -> np.ndarray:
    """Equally spaced attraction probabilities from ``high`` down to ``low``.

    Args:
      num_items: number of items.
      high: the largest probability.
      low: the smallest probability.

    Returns:
      float64 [num_items].

    Raises:
      ValueError: if a size or a probability is out of range.
    """
    validate.size("num_items", num_items, 1, validate.MOST_ITEMS)
    validate.scalar("high", high, "in [0, 1]", lambda p: 0 <= p <= 1)
    validate.scalar("low", low, f"from 0 to high, {high}", lambda p: 0 <= p <= high)
    return np.linspace(float(high), float(low), num_items)
