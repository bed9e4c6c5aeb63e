"""The directory of a store: whether it is one, who uses it, what a killed process leaves in it, and how damage is told and removed."""

import hashlib
import json
import os
import pathlib
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import filelock

LOCK, ROOT, UNFINISHED = ".lock", "zarr.json", ".unfinished"
_LEFT = re.compile(r".+\.[0-9a-f]{32}\.partial")
"""What Zarr calls a file that is to take the place of another."""


class StoreError(ValueError):
    """What is wrong with a store."""


def damaged(place: pathlib.Path, error: Exception | str) -> StoreError:
    """The error that names damage which can be repaired."""
    said = "its checksum is wrong" if "checksum" in str(error) else str(error) or type(error).__name__
    return StoreError(f"store is damaged at {str(place)!r}, run with repair=True (--repair) to remove that and run it again: {said}")


def located(path: Any) -> pathlib.Path:
    """The directory of a path, wherever the process may go meanwhile.

    Raises:
      ValueError: if it is no path.
    """
    try:
        found = pathlib.Path(path).expanduser().absolute()
    except (TypeError, RuntimeError) as error:
        raise ValueError(f"store must be the path of a directory; got {path!r}") from error
    if not os.fspath(path):
        raise ValueError(f"store must be the path of a directory; got {path!r}")
    return found


def locked(path: pathlib.Path, policies: Collection[str]) -> filelock.BaseFileLock:
    """Makes a directory the caller's alone, if it is empty or a store, be it damaged.

    Args:
      path: the directory, made if it is not there.
      policies: by whose directories a store without a description is known.

    Raises:
      ValueError: if it is something else, which is not touched; if it cannot be written; or if another run has it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in path.iterdir()}
        begun = all(name == LOCK or (_LEFT.fullmatch(name) and name.startswith("zarr.")) for name in names)
        if not begun and not _is_store(path, names, policies):
            raise StoreError(f"store must be empty or hold a study; got {str(path)!r}, which holds something else")
        lock = filelock.FileLock(path / LOCK)
        lock.acquire(timeout=0)
    except filelock.Timeout as error:
        raise StoreError(f"store must be in use by one run at a time; {str(path)!r} is in use by another") from error
    except OSError as error:
        raise StoreError(f"store must be a directory that can be written; got {str(path)!r}: {error.strerror or error}") from error
    return lock


def _is_store(path: pathlib.Path, names: Collection[str], policies: Collection[str]) -> bool:
    if ROOT not in names:
        return LOCK in names and any(policy in names for policy in policies)
    try:
        found = json.loads((path / ROOT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return LOCK in names
    return isinstance(found, dict) and "study" in found.get("attributes", ())


def sweep(path: pathlib.Path) -> None:
    """Removes what a process that was killed while it wrote has left in a store."""
    for left in path.rglob("*.partial"):
        if left.is_file() and (_LEFT.fullmatch(left.name) or left.parent == path / UNFINISHED):
            left.unlink(missing_ok=True)


def misplaced(base: pathlib.Path, files: Iterable[pathlib.Path]) -> Iterator[tuple[pathlib.Path, str]]:
    """What stands where files below a directory, or their directories, should be."""
    files = list(files)
    for above in sorted({parent for file in files for parent in file.parents if base in parent.parents}):
        if above.exists() and not above.is_dir():
            yield above, "it is not a directory"
    for file in files:
        if file.exists() and not file.is_file():
            yield file, "it is not a file"


def remove(place: pathlib.Path) -> None:
    """Removes a file, a link or a directory with all that is in it."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def difference(found: Any, wanted: Mapping[str, Any]) -> str:
    """What tells two studies apart, in words; empty if nothing does."""
    if not isinstance(found, dict):
        return "everything"
    changed = next((part for part, value in wanted.items() if found.get(part) != value), "" if set(found) == set(wanted) else "version")
    before, now = found.get(changed), wanted.get(changed)
    if changed in ("policies", "metrics") and isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return f"{changed}: {', '.join(map(repr, names)) or 'their order'}"
    return changed


def mark(identity: Any) -> str:
    """By which a description is known to be whole."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
