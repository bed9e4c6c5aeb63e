"""The Zarr store of a study: one group a policy, one array a quantity, written tile by tile.

What is missing is what is still NaN, so there is nothing else to keep in step: a run that dies loses what its tiles did since they last
paused, and the next run finishes them. More seeds make the arrays longer. Zarr replaces a chunk's file whole, so a chunk is never half
written, and each has a checksum, so a damaged one is found. One process writes at a time.
"""

import contextlib
import importlib.metadata
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from jaxbandits import folder
from jaxbandits.folder import StoreError, damaged
from jaxbandits.jobs import Job, Table
from jaxbandits.study import Plan, Study
from jaxbandits.unfinished import Unfinished

_SEEDS_PER_CHUNK = 128


class Store:
    """Results of one study on disk."""

    def __init__(
        self,
        path: str | os.PathLike,
        study: Study,
        digests: Mapping[str, str],
        shapes: Mapping[str, tuple[int, ...]],
        *,
        repair: bool = False,
    ):
        """Opens the store, or makes it, and keeps other runs out of it until ``close``.

        Args:
          path: a directory.
          study: the study it belongs to.
          digests: of each policy's traced round; results of another round are refused.
          shapes: of each metric of one lane at one checkpoint.
          repair: whether to remove what is found damaged, so that it is run again.

        Raises:
          ValueError: if it holds another study or something else, cannot be written, or is in use.
        """
        self.path = folder.located(path)
        self.study, self._digests, self._shapes, self._repair = study, digests, shapes, repair
        versions = [importlib.metadata.version(name) for name in ("jaxbandits", "jax")]
        stamps = {name: [digest, versions, _identity(study)] for name, digest in digests.items()}
        self._unfinished = Unfinished(self.path / folder.UNFINISHED, stamps)
        self._jobs: list[Job] | None = None
        self._prepared: set[str] = set()
        self._lock = folder.locked(self.path, study.plans)
        try:
            folder.sweep(self.path)
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets another run use the store."""
        self._lock.release()

    def _open(self) -> None:
        place, wanted = self.path / folder.ROOT, _identity(self.study)
        if not any(entry.name != folder.LOCK for entry in self.path.iterdir()):
            self._describe()
        try:
            self.root = zarr.open_group(store=self.path, mode="r+")
            found = self.root.attrs["study"]
            if self.root.attrs["mark"] != folder.mark(found):
                raise StoreError("it has been changed")
        except Exception as error:  # whatever a damaged file makes the library raise
            if not self._repair:
                raise damaged(place, error) from error
            self._vouch(error)
            folder.remove(place)
            self._describe()
            self.root, found = zarr.open_group(store=self.path, mode="r+"), wanted
        changed = folder.difference(found, wanted)
        if changed:
            raise StoreError(
                f"store must belong to this study; got {str(self.path)!r}, whose study differs in {changed}: "
                "undo the change, choose another path, or remove the store"
            )

    def _describe(self) -> None:
        """Writes which study it is."""
        identity = _identity(self.study)
        zarr.create_group(store=self.path, attributes={"study": identity, "mark": folder.mark(identity)})

    def _vouch(self, error: Exception) -> None:
        """Refuses to call it a store of this study unless the policies in it say that it is."""
        marks = []
        for policy in self.study.plans:
            with contextlib.suppress(Exception):
                marks.append(zarr.open_group(store=self.path, path=policy, mode="r").attrs["study"])
        if not marks or set(marks) != {folder.mark(_identity(self.study))}:
            raise StoreError(
                f"store is damaged at {str(self.path / folder.ROOT)!r}, which says what it holds, and what else is there does not say that "
                "it is this study: it cannot be repaired"
            ) from error

    def read(self, policy: str) -> Table:
        """What is there for a policy: each quantity, [points, seeds, ...], NaN where missing; empty if nothing is.

        Raises:
          ValueError: if it is damaged and not to be repaired, or came from other functions.
        """
        place = self.path / policy
        if not os.path.lexists(place):
            return {}
        try:
            table = self._read(policy)
        except StoreError:
            raise
        except Exception as error:  # whatever a damaged file makes the library raise
            if not self._repair:
                raise damaged(place, error) from error
            table = {}
        if not table:  # so that nothing of it is taken for what is to come
            folder.remove(place)
        return table

    def _read(self, policy: str) -> Table:
        plan, place = self.study.plans[policy], self.path / policy
        if place.is_dir() and not any(entry.is_file() for entry in place.rglob("*")):
            return {}  # it was begun
        group = self._group(policy)
        if group.attrs["digest"] != self._digests[policy]:
            raise StoreError(
                f"store must hold results of the same functions; in {str(self.path)!r} those of {policy!r} came from others, or from "
                "another version of jaxbandits or JAX: undo the change, choose another path, or remove the store"
            )
        if any(name not in group for name in self.study.quantities):
            return {}
        return {name: self._wanted(plan, self._values(plan, name, _array(group, name))) for name in self.study.quantities}

    def _values(self, plan: Plan, name: str, array: zarr.Array) -> np.ndarray:
        """All of an array; a chunk that cannot be read is named, or removed if it is to be repaired."""
        shape = (*plan.shape, array.shape[len(plan.shape)], len(self.study.rounds), *self._shapes.get(name, ()))
        if array.shape != shape or array.dtype != np.float64:
            raise TypeError(f"{name} must be float64{list(shape)}; it is {array.dtype}{list(array.shape)}")
        base = self.path / array.path
        chunks = {where: base / array.metadata.encode_chunk_key(where) for where in np.ndindex(array.cdata_shape)}
        for misplaced, why in folder.misplaced(base, chunks.values()):
            self._found(misplaced, why)
        try:
            return np.asarray(array[...])
        except Exception:  # whatever a damaged chunk makes the library raise
            for where, chunk in chunks.items():
                region = tuple(slice(i * n, (i + 1) * n) for i, n in zip(where, array.chunks, strict=True))
                try:
                    array[region]
                except Exception as error:
                    self._found(chunk, error)
            return np.asarray(array[...])

    def _found(self, place: pathlib.Path, error: Exception | str) -> None:
        """Names damage, or removes it if it is to be repaired."""
        if not self._repair:
            raise damaged(place, error)
        folder.remove(place)

    def unfinished(self, policy: str, gaps: np.ndarray) -> list[Job]:
        """The jobs of a policy that were cut off and can go on.

        Args:
          policy: its name.
          gaps: bool [points, seeds], the lanes that are missing. A job with seeds beyond them is left for a study that has them.

        Raises:
          ValueError: if a file is damaged and not to be repaired.
        """
        if self._jobs is None:
            self._jobs = self._unfinished.read(repair=self._repair)
        mine = [job for job in self._jobs if job.policy == policy and job.seed.max() < self.study.seeds]
        for job in mine:
            if not gaps[job.point, job.seed].any():
                self._unfinished.drop(job)  # it was finished, and killed before it could say so
        return [job for job in mine if gaps[job.point, job.seed].any()]

    def _group(self, policy: str) -> zarr.Group:
        return cast(zarr.Group, self.root[policy])

    def _wanted(self, plan: Plan, values: np.ndarray) -> np.ndarray:
        """Flattens the grid axes, and cuts or pads the seeds to those of the study."""
        rest = values.shape[len(plan.shape) + 1 :]
        values = values.reshape((-1, values.shape[len(plan.shape)], *rest))[:, : self.study.seeds]
        missing = self.study.seeds - values.shape[1]
        return np.pad(values, [(0, 0), (0, missing)] + [(0, 0)] * len(rest), constant_values=np.nan)

    def _prepare(self, policy: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Makes the arrays of a policy, or lengthens them to the seeds of the study.

        Args:
          policy: its name.
          shapes: for each quantity, the shape of one lane's record, rounds first.
        """
        plan, seeds = self.study.plans[policy], self.study.seeds
        if policy not in self.root:
            marks = {"digest": self._digests[policy], "study": folder.mark(_identity(self.study))}
            self.root.create_group(policy, attributes=marks)
        group = self._group(policy)
        axes, lead = [*plan.axes, "seed"], len(plan.shape)
        for name, rest in shapes.items():
            if name not in group:
                group.create_array(
                    name,
                    shape=(*plan.shape, seeds, *rest),
                    chunks=(*(1,) * lead, min(_SEEDS_PER_CHUNK, max(seeds, 16)), *rest),
                    dtype="float64",
                    compressors=(ZstdCodec(), Crc32cCodec()),
                    fill_value=float("nan"),
                    dimension_names=[*axes, "round", *(f"{name}_{i}" for i in range(len(rest) - 1))],
                )
            elif _array(group, name).shape[lead] < seeds:
                _array(group, name).resize((*plan.shape, seeds, *rest))
        self._coordinates(policy, plan)

    def _coordinates(self, policy: str, plan: Plan) -> None:
        """Coordinate arrays, so that ``xarray.open_zarr(path, group=policy)`` reads the store."""
        group = self._group(policy)
        wanted = {axis: np.asarray(list(self.study.axes[axis])) for axis in plan.axes}
        wanted |= {"round": np.asarray(self.study.rounds), "seed": np.arange(_array(group, "regret").shape[len(plan.shape)])}
        for name, values in wanted.items():
            if values.dtype.kind == "U":
                continue  # labels are in the study's description; Zarr's strings have no settled format
            with contextlib.suppress(Exception):  # damaged; it says nothing that is not known
                # One that was begun and not written reads as zeros.
                if np.array_equal(_array(group, name)[...], values):
                    continue
            folder.remove(self.path / policy / name)
            group.create_array(name, data=values, dimension_names=[name])

    def keep(self, job: Job) -> None:
        """Writes what a job has played that is to go on.

        Raises:
          OSError: if there is no room.
        """
        if job.before is not None:
            with self._writing():
                self._unfinished.keep(job, job.before)

    def write(self, job: Job, values: Mapping[str, np.ndarray]) -> None:
        """Writes the lanes of a finished job, the regret last: a lane counts as done when all is there.

        Args:
          job: what was run.
          values: each quantity, [lanes, ...].

        Raises:
          OSError: if there is no room.
        """
        with self._writing():
            if job.policy not in self._prepared:
                self._prepare(job.policy, {name: value.shape[1:] for name, value in values.items()})
                self._prepared.add(job.policy)
            plan, group = self.study.plans[job.policy], self._group(job.policy)
            for name in sorted(values, key=lambda n: n == "regret"):
                for p in np.unique(job.point):
                    lanes = np.flatnonzero(job.point == p)
                    where = np.unravel_index(p, plan.shape) if plan.shape else ()
                    seeds = job.seed[lanes]
                    array = _array(group, name)
                    if np.array_equal(seeds, np.arange(seeds[0], seeds[0] + len(seeds))):
                        array[(*where, slice(int(seeds[0]), int(seeds[0]) + len(seeds)))] = values[name][lanes]
                    else:
                        for lane, s in zip(lanes, seeds, strict=True):
                            array[(*where, int(s))] = values[name][lane]
            self._unfinished.drop(job)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"store {str(self.path)!r} cannot be written, what was finished before is kept: {error.strerror or error}"
            raise OSError(error.errno, what) from error


def _array(group: zarr.Group, name: str) -> zarr.Array:
    return cast(zarr.Array, group[name])


def _identity(study: Study) -> dict[str, Any]:
    """The description without the number of seeds, which may grow."""
    return json.loads(json.dumps({k: v for k, v in study.describe().items() if k != "seeds"}))
