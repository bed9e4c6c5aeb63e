"""Which differences between the two implementations are rounding, and which are not."""

import math

import numpy as np

NEAR = 1e-5
"""Relative distance of two indices that float32 may confuse."""


def nudged(index, action, near=NEAR):
    """The indices, with those closer than ``near`` put in the order of a list.

    Exactly equal ones keep theirs: which of them comes first is a rule, not a matter of rounding.
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
        if index[run[0]] > index[run[-1]]:
            by_place = sorted(run, key=lambda item: (place.get(item, len(action)), item))
            for item, value in zip(by_place, np.linspace(index[run[0]], index[run[-1]], len(run)), strict=True):
                result[item] = float(value)
    return result
