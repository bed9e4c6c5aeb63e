"""Which differences between the two implementations are rounding, and which are not."""

import math

import numpy as np

NEAR = 1e-5
"""Relative distance of two indices that float32 may confuse."""

AS_GOOD_AS_ONE = 1 - 1e-6
"""Bounds on a mean above it, short of 1, are ordered by a distance from 1 that float32 does not hold, and float64 often not."""


def lost_in_one(index, some):
    """Whether the indices of some items, bounds on means, are all as good as 1."""
    return min(index[item] for item in some) > AS_GOOD_AS_ONE


def nudged(index, action, near=NEAR):
    """The indices, with those closer than ``near`` put in the order of a list.

    Exactly equal ones keep theirs: which of them comes first is a rule, not a matter of rounding. Unless they are next to 1, where
    bounds on means are equal because they were rounded.
    """
    place = {item: position for position, item in enumerate(action)}
    runs = []
    for item in sorted((item for item, value in enumerate(index) if math.isfinite(value)), key=lambda item: -index[item]):
        last = runs[-1][-1] if runs else item
        if runs and index[last] - index[item] <= near * max(abs(index[last]), abs(index[item])):
            runs[-1].append(item)
        else:
            runs.append([item])
    result = list(index)
    for run in runs:
        high, low = index[run[0]], index[run[-1]]
        if high > low or AS_GOOD_AS_ONE < low < 1:
            by_place = sorted(run, key=lambda item: (place.get(item, len(action)), item))
            for item, value in zip(by_place, np.linspace(high, low if low < high else high - 1e-9, len(run)), strict=True):
                result[item] = float(value)
    return result
