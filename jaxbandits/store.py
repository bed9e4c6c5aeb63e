"""The Zarr store of a study: one group a policy, one array a quantity, written tile by tile.

What is missing is what is still NaN, so there is nothing else to keep in step: a run that dies loses only the tiles in flight,
and the next run finishes them. More seeds make the arrays longer. Zarr replaces a chunk's file whole, so a chunk is never half
written. One process writes at a time.
"""

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any, cast

import filelock
import numpy as np
import zarr

from jaxbandits.study import Plan, Study

_SEEDS_PER_CHUNK = 128
_LOCK = ".lock"


class _Refused(ValueError):
    """The store is sound, and not of these functions."""


class Store:
    """Results of one study on disk."""

    def __init__(self, path: str | os.PathLike, study: Study, digests: Mapping[str, str]):
        """Opens the store, or makes it, and keeps other runs out of it until ``close``.

        Args:
          path: a directory.
          study: the study it belongs to.
          digests: of each policy's traced round; results of another round are refused.

        Raises:
          ValueError: if it holds another study or something else, cannot be written, or is in use.
        """
        try:
            self.path = pathlib.Path(path).expanduser()
        except TypeError as error:
            raise ValueError(f"store must be the path of a directory; got {path!r}") from error
        self.study, self.digests = study, digests
        self._check_writable()
        self._lock = filelock.FileLock(self.path / _LOCK)
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise ValueError(f"store must be in use by one run at a time; {str(self.path)!r} is in use by another") from error
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets another run use the store."""
        self._lock.release()

    def _open(self) -> None:
        study = self.study
        if all(p.name == _LOCK for p in self.path.iterdir()):
            zarr.create_group(store=self.path, attributes={"study": _identity(study)})
        try:
            self.root = zarr.open_group(store=self.path, mode="r+")
            found = self.root.attrs["study"]
        except Exception as error:  # whatever a file that is no store makes the library raise
            raise ValueError(f"store must be empty or hold a study; got {str(self.path)!r}, which holds something else") from error
        if not isinstance(found, dict) or found != _identity(study):
            changed = next((k for k, v in _identity(study).items() if not isinstance(found, dict) or found.get(k) != v), "version")
            raise ValueError(
                f"store must belong to this study; got {str(self.path)!r}, which holds a study with another {changed}: "
                "choose another path, or remove the store"
            )

    def _check_writable(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ValueError(f"store must be a directory that can be written; got {str(self.path)!r}: {error.strerror}") from error

    def read(self, policy: str) -> dict[str, np.ndarray]:
        """What is there for a policy: each quantity, [points, seeds, ...], NaN where missing; empty if nothing is."""
        try:
            return self._read(policy) if policy in self.root else {}
        except _Refused:
            raise
        except Exception as error:  # whatever a damaged file makes the library raise
            place = str(self.path / policy)
            raise ValueError(f"store is damaged at {place!r}, remove that directory to run it again: {error}") from error

    def _read(self, policy: str) -> dict[str, np.ndarray]:
        plan, group = self.study.plans[policy], self._group(policy)
        if "regret" not in group:
            return {}
        if group.attrs.get("digest") != self.digests[policy]:
            raise _Refused(
                f"store must hold results of the same functions; in {str(self.path)!r} those of {policy!r} came from others, or from "
                "another version of jaxbandits or JAX: choose another path, or remove the store"
            )
        if any(name not in group for name in self.study.quantities):
            return {}
        return {name: self._wanted(plan, np.asarray(_array(group, name)[...])) for name in self.study.quantities}

    def _group(self, policy: str) -> zarr.Group:
        return cast(zarr.Group, self.root[policy])

    def _wanted(self, plan: Plan, values: np.ndarray) -> np.ndarray:
        """Flattens the grid axes, and cuts or pads the seeds to those of the study."""
        rest = values.shape[len(plan.shape) + 1 :]
        values = values.reshape((-1, values.shape[len(plan.shape)], *rest))[:, : self.study.seeds]
        missing = self.study.seeds - values.shape[1]
        return np.pad(values, [(0, 0), (0, missing)] + [(0, 0)] * len(rest), constant_values=np.nan)

    def prepare(self, policy: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Makes the arrays of a policy, or lengthens them to the seeds of the study.

        Args:
          policy: its name.
          shapes: for each quantity, the shape of one lane's record, rounds first.
        """
        plan, seeds = self.study.plans[policy], self.study.seeds
        group = self.root.require_group(policy)
        if "regret" not in group:
            group.attrs["digest"] = self.digests[policy]
        axes, lead = [*plan.axes, "seed"], len(plan.shape)
        for name, rest in shapes.items():
            if name not in group:
                group.create_array(
                    name,
                    shape=(*plan.shape, seeds, *rest),
                    chunks=(*(1,) * lead, min(_SEEDS_PER_CHUNK, max(seeds, 16)), *rest),
                    dtype="float64",
                    fill_value=float("nan"),
                    dimension_names=[*axes, "round", *(f"{name}_{i}" for i in range(len(rest) - 1))],
                )
            elif _array(group, name).shape[lead] < seeds:
                _array(group, name).resize((*plan.shape, seeds, *rest))
        self._coordinates(group, plan)

    def _coordinates(self, group: zarr.Group, plan: Plan) -> None:
        """Coordinate arrays, so that ``xarray.open_zarr(path, group=policy)`` reads the store."""
        wanted = {axis: np.asarray(list(self.study.axes[axis])) for axis in plan.axes}
        wanted |= {"round": np.asarray(self.study.rounds), "seed": np.arange(_array(group, "regret").shape[len(plan.shape)])}
        for name, values in wanted.items():
            if values.dtype.kind == "U":
                continue  # labels are in the study's description; Zarr's strings have no settled format
            if name not in group or _array(group, name).shape != values.shape:
                group.create_array(name, data=values, dimension_names=[name], overwrite=True)

    def write(self, policy: str, point: np.ndarray, seed: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Writes some lanes of a policy, the regret last: a lane counts as done when its regret is there.

        Args:
          policy: its name.
          point: int [lanes], row-major index of the grid point of each lane.
          seed: int [lanes].
          values: each quantity, [lanes, ...].
        """
        plan, group = self.study.plans[policy], self._group(policy)
        for name in sorted(values, key=lambda n: n == "regret"):
            for p in np.unique(point):
                lanes = np.flatnonzero(point == p)
                where = np.unravel_index(p, plan.shape) if plan.shape else ()
                seeds = seed[lanes]
                array = _array(group, name)
                if np.array_equal(seeds, np.arange(seeds[0], seeds[0] + len(seeds))):
                    array[(*where, slice(int(seeds[0]), int(seeds[0]) + len(seeds)))] = values[name][lanes]
                else:
                    for lane, s in zip(lanes, seeds, strict=True):
                        array[(*where, int(s))] = values[name][lane]


def _array(group: zarr.Group, name: str) -> zarr.Array:
    return cast(zarr.Array, group[name])


def _identity(study: Study) -> dict[str, Any]:
    """The description without the number of seeds, which may grow."""
    return json.loads(json.dumps({k: v for k, v in study.describe().items() if k != "seeds"}))
