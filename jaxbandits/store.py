"""The Zarr store of a study: one group a policy, one array a quantity, written tile by tile.

What is missing is what is still NaN, so there is nothing else to keep in step: a run that dies loses what its tiles did since they last
paused, and the next run finishes them. More seeds make the arrays longer. Zarr replaces a chunk's file whole, so a chunk is never half
written, and each has a checksum, so a damaged one is found. One process writes at a time.
"""

import contextlib
import importlib.metadata
import itertools
import json
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, cast

import filelock
import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from jaxbandits.jobs import Job, Table
from jaxbandits.study import Plan, Study
from jaxbandits.unfinished import Unfinished

_SEEDS_PER_CHUNK = 128
_LOCK = ".lock"
_UNFINISHED = ".unfinished"
_LEFT_OVER = ("**/*.partial", ".probe-*")
"""What a process that is killed while it writes may leave."""


class _Refused(ValueError):
    """The store is sound, and not of these functions; or it says already what is damaged."""


class Store:
    """Results of one study on disk."""

    def __init__(self, path: str | os.PathLike, study: Study, digests: Mapping[str, str], *, repair: bool = False):
        """Opens the store, or makes it, and keeps other runs out of it until ``close``.

        Args:
          path: a directory.
          study: the study it belongs to.
          digests: of each policy's traced round; results of another round are refused.
          repair: whether to remove what is found damaged, so that it is run again.

        Raises:
          ValueError: if it holds another study or something else, cannot be written, or is in use.
        """
        try:
            self.path = pathlib.Path(path).expanduser()
        except TypeError as error:
            raise ValueError(f"store must be the path of a directory; got {path!r}") from error
        self.study, self.digests, self._repair = study, digests, repair
        versions = [importlib.metadata.version(name) for name in ("jaxbandits", "jax")]
        stamps = {name: [digest, versions, _identity(study)] for name, digest in digests.items()}
        self._unfinished = Unfinished(self.path / _UNFINISHED, stamps)
        self._jobs: list[Job] | None = None
        self._prepared: set[str] = set()
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
        for left in itertools.chain.from_iterable(self.path.glob(pattern) for pattern in _LEFT_OVER):
            left.unlink(missing_ok=True)
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
            probe.unlink(missing_ok=True)  # one that opens the store may have cleared it away
        except OSError as error:
            raise ValueError(f"store must be a directory that can be written; got {str(self.path)!r}: {error.strerror}") from error

    def read(self, policy: str) -> Table:
        """What is there for a policy: each quantity, [points, seeds, ...], NaN where missing; empty if nothing is.

        Raises:
          ValueError: if it is damaged and not to be repaired, or came from other functions.
        """
        try:
            return self._read(policy) if policy in self.root else {}
        except _Refused:
            raise
        except Exception as error:  # whatever a damaged file makes the library raise
            place = self.path / policy
            if not self._repair:
                raise _damaged(place, error) from error
            shutil.rmtree(place)
            return {}

    def _read(self, policy: str) -> Table:
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
        return {name: self._wanted(plan, self._values(_array(group, name))) for name in self.study.quantities}

    def _values(self, array: zarr.Array) -> np.ndarray:
        """All of an array; a chunk that cannot be read is named, or removed if it is to be repaired."""
        try:
            return np.asarray(array[...])
        except Exception:  # whatever a damaged chunk makes the library raise
            for where in itertools.product(*(range(n) for n in array.cdata_shape)):
                region = tuple(slice(i * n, (i + 1) * n) for i, n in zip(where, array.chunks, strict=True))
                try:
                    array[region]
                except Exception as error:
                    chunk = self.path / array.path / array.metadata.encode_chunk_key(where)
                    if not self._repair:
                        raise _damaged(chunk, error) from error
                    chunk.unlink()
            return np.asarray(array[...])

    def unfinished(self, policy: str) -> list[Job]:
        """The jobs of a policy that were cut off; those with seeds that the study does not have stay for one that does.

        Raises:
          ValueError: if a file is damaged and not to be repaired.
        """
        if self._jobs is None:
            self._jobs = self._unfinished.read(repair=self._repair)
        return [job for job in self._jobs if job.policy == policy and job.seed.max() < self.study.seeds]

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
                    compressors=(ZstdCodec(), Crc32cCodec()),
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
            # One that was begun and not written reads as zeros.
            if name not in group or not np.array_equal(_array(group, name)[...], values):
                group.create_array(name, data=values, dimension_names=[name], overwrite=True)

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


def _damaged(place: pathlib.Path, error: Exception) -> _Refused:
    said = str(error) or type(error).__name__
    return _Refused(f"store is damaged at {str(place)!r}, run with repair=True to remove that and run it again: {said}")
