"""What papers say they found, beside what was measured."""

from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from jaxbandits import stats

Verdict = Literal["reproduced", "differs", "undecided", "not checkable"]


class Shown(NamedTuple):
    """What a figure shows, and what its curves claim of privacy."""

    shows: str
    privacy: str


class Finding(NamedTuple):
    """One published finding.

    Attributes:
      where: the figure or theorem.
      published: what the paper says.
      measured: the numbers that speak for it or against it, with 95 % intervals where they are means over seeds.
      verdict: whether they agree.
      why: what the verdict rests on, or why there is none.
    """

    where: str
    published: str
    measured: str
    verdict: Verdict
    why: str


def judged(where: str, published: str, measured: str, holds: bool, rule: str, otherwise: str = "", *, undecided: bool = False) -> Finding:
    """A finding that is reproduced if ``holds``.

    ``rule`` says when it would, ``otherwise`` why it does not; ``undecided`` is whether nothing speaks against it either.
    """
    if holds:
        return Finding(where, published, measured, "reproduced", rule)
    return Finding(where, published, measured, "undecided" if undecided else "differs", otherwise or f"this does not hold: {rule}")


def unchecked(where: str, published: str, why: str) -> Finding:
    """A finding that cannot be checked."""
    return Finding(where, published, "", "not checkable", why)


class Interval(NamedTuple):
    """A number with its interval."""

    low: float
    mean: float
    high: float

    def __str__(self) -> str:
        decimals = 0 if abs(self.mean) >= 100 else 2
        return f"{self.mean:,.{decimals}f} ({self.low:,.{decimals}f} to {self.high:,.{decimals}f})"


def interval(band: xr.Dataset) -> Interval:
    """That of a band at one point."""
    return Interval(*(float(band[part]) for part in Interval._fields))


def ratio(dataset: xr.Dataset, first: str, second: str) -> Interval:
    """The ratio of final regrets, at a point of the grid."""
    return interval(stats.ratio(dataset.isel(round=-1), first, second))


def difference(dataset: xr.Dataset, first: str, second: str) -> Interval:
    """First minus second, of final regrets in the same seeds, at a point of the grid."""
    return interval(stats.paired_difference(dataset.isel(round=-1), first, second))


def listed(values: dict[str, Interval]) -> str:
    """Several numbers in a line."""
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def falls(values: list[float]) -> bool:
    """Whether each number is below the one before."""
    return bool((np.diff(values) < 0).all())


def late_growth(regret: xr.DataArray) -> Interval:
    """Regret of the last half of the horizon over that of the quarter before: 1 if regret grows as log t, 2 if it grows as t."""
    last = float(regret["round"][-1])
    whole, half, quarter = (regret.interp(round=last / part) for part in (1, 2, 4))
    pair = xr.concat([whole - half, half - quarter], dim="policy").assign_coords(policy=["last", "before"])
    return interval(stats.ratio(xr.Dataset({"regret": pair}), "last", "before"))
