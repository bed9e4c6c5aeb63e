"""Tiles that were cut off inside their horizon: what each has played, in a file of its own, so that the next run goes on from there."""

import hashlib
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits import folder
from jaxbandits.engine.tiles import Played
from jaxbandits.jobs import Job


class Unfinished:
    """The files of a store."""

    def __init__(self, folder: pathlib.Path, stamps: Mapping[str, Any]):
        """Args: where the files are, and for each policy what a file must have been made with to be of use, as JSON types."""
        self._folder, self._stamps = folder, stamps

    def keep(self, job: Job, played: Played) -> None:
        """Writes what a job has played, in place of what was kept of it before: whole, or not at all."""
        self._folder.mkdir(exist_ok=True)
        arrays = {"point": job.point, "seed": job.seed, **{f"carry {i}": leaf for i, leaf in enumerate(played.carry)}}
        arrays |= {f"record {name}": value for name, value in played.records.items()}
        kinds = {name: value.dtype.name for name, value in arrays.items()}
        head = {"policy": job.policy, "stamp": self._stamps[job.policy], "size": job.size, "done": played.done, "kinds": kinds}
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
        path = self._path(job)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        partial.replace(path)

    def drop(self, job: Job) -> None:
        """Removes the file of a job, if there is one."""
        self._path(job).unlink(missing_ok=True)

    def read(self, *, repair: bool) -> list[Job]:
        """The jobs that can go on.

        Args:
          repair: removes a damaged file; its job starts again.

        Raises:
          ValueError: if a file is damaged and is to stay.
        """
        if self._folder.exists() and not self._folder.is_dir():
            self._damage(self._folder, "it is not a directory", repair)
        found = []
        for path in sorted(self._folder.glob("*.npz")):
            try:
                job = self._read(path)
            except Exception as error:  # whatever a damaged file makes the libraries raise
                self._damage(path, error, repair)
                continue
            if job is None:
                path.unlink()
            else:
                found.append(job)
        return found

    def _damage(self, place: pathlib.Path, error: Exception | str, repair: bool) -> None:
        if not repair:
            raise folder.damaged(place, error)
        folder.remove(place)

    def _read(self, path: pathlib.Path) -> Job | None:
        """The job of a file; None if it was made with something else."""
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(file["head"].tobytes())
            if head["stamp"] != self._stamps.get(head["policy"]):
                return None
            # The types of JAX that are none of NumPy's come back as bytes.
            arrays = {name: file[name].view(np.dtype(kind)) for name, kind in head["kinds"].items()}
        carry = tuple(arrays[f"carry {i}"] for i in range(sum(name.startswith("carry ") for name in arrays)))
        records = {name.removeprefix("record "): value for name, value in arrays.items() if name.startswith("record ")}
        return Job(head["policy"], arrays["point"], arrays["seed"], head["size"], Played(head["done"], carry, records))

    def _path(self, job: Job) -> pathlib.Path:
        lanes = hashlib.sha256(job.policy.encode() + job.point.tobytes() + job.seed.tobytes()).hexdigest()[:24]
        return self._folder / f"{lanes}.npz"
