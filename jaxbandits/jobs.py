"""From what is missing of a study to jobs, and from what a job has given to tables."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits.core import LOSSES
from jaxbandits.engine import rehearsal, scan, tiles
from jaxbandits.study import Plan, Study

Table = dict[str, np.ndarray]
"""Each quantity of a policy, [points, seeds, round, ...], NaN where it is missing."""


class Job(NamedTuple):
    """A tile of one policy."""

    policy: str
    point: np.ndarray  # int [lanes], row-major index of the grid point of each lane
    seed: np.ndarray  # int [lanes]
    size: int  # lanes with those that fill up the tile
    before: tiles.Played | None = None  # what has been played already
    losses: int = 0  # workers that have died over it since


def program(study: Study, plan: Plan, digest: str = "") -> scan.Program:
    """What the tiles of a policy run."""
    return scan.Program(problem=study.source, policy=plan.factory, metrics=tuple(study.metrics.items()), digest=digest)


def rehearse(study: Study) -> dict[str, rehearsal.Rehearsal]:
    """Traces one round of each policy for one lane, without compiling.

    Raises:
      ValueError: if a policy or a metric does not keep to its shapes and types.
    """
    found, shapes = {}, {}
    for name, plan in study.plans.items():
        one = Job(name, np.zeros(1, np.int64), np.zeros(1, np.int64), 1)
        try:
            found[name] = rehearsal.rehearse(program(study, plan), lanes(study, one))
        except ValueError as error:
            raise ValueError(f"policy {name!r}: {error}") from error
        for metric, shape in found[name].shapes.items():
            if shapes.setdefault(metric, shape) != shape:
                raise ValueError(f"metrics[{metric!r}] must have one shape for all policies; got {shapes[metric]} and {shape}")
    return found


def lanes(study: Study, job: Job) -> scan.Lanes:
    """Whom a job is run for: its lanes, the first of them again until the tile is full."""
    plan = study.plans[job.policy]
    point, replica = np.resize(job.point, job.size), np.resize(job.seed, job.size)

    def arguments(swept):
        return {k: np.moveaxis(v[point], 0, -1) for k, v in swept.items()}

    return scan.Lanes(
        seed=np.uint32(study.seed),
        replica=replica.astype(np.uint32),
        policy=arguments(plan.arguments),
        problem=arguments(plan.problem_arguments),
    )


# ---- what is missing ---------------------------------------------------------------------------------------------------


def empty(study: Study, plan: Plan) -> Table:
    """A table of nothing but gaps."""
    points = int(np.prod(plan.shape, dtype=np.int64))
    return {"regret": np.full((points, study.seeds, len(study.rounds)), np.nan)}


def gaps(table: Table) -> np.ndarray:
    """Which lanes are still to run, bool [points, seeds]."""
    gone = np.zeros(table["regret"].shape[:2], bool)
    for value in table.values():
        gone |= np.isnan(value).any(axis=tuple(range(2, value.ndim)))
    return gone


def missing(policy: str, table: Table, unfinished: Sequence[Job], lane_bytes: int, workers: int, most: int | None) -> Iterator[Job]:
    """The jobs that a policy still needs.

    Args:
      policy: its name.
      table: what is there.
      unfinished: jobs that were cut off.
      lane_bytes: what a lane keeps in the round loop.
      workers: how many tiles run at a time.
      most: lanes in a tile at most, if it matters.
    """
    gone = gaps(table)
    for job in unfinished:
        if gone[job.point, job.seed].any():
            gone[job.point, job.seed] = False
            yield job
    points, seeds = np.nonzero(gone)
    if not len(points):
        return
    size = tiles.tile_size(len(points), lane_bytes, workers, tiles.device_bytes())
    if most is not None:
        size = min(size, max(most // tiles.WIDTH, 1) * tiles.WIDTH)
    for first in range(0, len(points), size):
        yield Job(policy, points[first : first + size], seeds[first : first + size], size)


# ---- what a job has given ----------------------------------------------------------------------------------------------


def enter(study: Study, job: Job, records: dict[str, np.ndarray], table: Table) -> Table:
    """Puts what a finished job recorded into the table of its policy, once it is known to hold numbers only.

    Returns:
      the values of its lanes: each quantity, [lanes, round, ...].

    Raises:
      ValueError: if the policy chose what it may not choose.
      FloatingPointError: if a regret is not finite, or a metric or the state is NaN.
    """
    point, seed = job.point, job.seed
    checks = {check: records[check][:, : len(point)] for check in (scan.NUMBERS, scan.LEGAL)}
    for check, passed in checks.items():
        if passed.all():
            continue
        at, lane = (int(i) for i in np.argwhere(~passed)[0])
        where = f"round {study.rounds[at]} of seed {int(seed[lane])}"
        if check == scan.NUMBERS:
            raise FloatingPointError(
                f"the state of policy {job.policy!r} is not a number in {where}: look at what the problem replies, and at extremes"
            )
        raise ValueError(
            f"policy {job.policy!r} must choose legal actions, lists of different items, or points of the domain; in {where} it did not"
        )
    values = {k: np.moveaxis(v, -1, 0)[: len(point)].astype(np.float64) for k, v in records.items() if k not in checks}
    for quantity, value in values.items():
        bad = ~np.isfinite(value) if quantity in LOSSES else np.isnan(value)
        if bad.any():
            lane = int(np.argwhere(bad)[0][0])
            plan = study.plans[job.policy]
            where = np.unravel_index(point[lane], plan.shape) if plan.shape else ()
            at = {axis: list(study.axes[axis])[int(i)] for axis, i in zip(plan.axes, where, strict=True)}
            raise FloatingPointError(f"{quantity} of policy {job.policy!r} is not a number at grid point {at}, seed {int(seed[lane])}")
        if quantity not in table:
            table[quantity] = np.full((*table["regret"].shape[:2], *value.shape[1:]), np.nan)
        table[quantity][point, seed] = value
    return values
