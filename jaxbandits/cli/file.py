"""Studies written in Python files."""

import importlib.util
import pathlib
import sys

import cloudpickle

from jaxbandits.study import Study


def study_in(place: str) -> Study:
    """The study of a file, ``studies.py``, or that of a name if there are several, ``studies.py:first``.

    Raises:
      ValueError: if there is none, or the file does not run.
    """
    head, _, tail = place.rpartition(":")
    file, name = (head, tail) if head and tail.isidentifier() else (place, "")
    path = pathlib.Path(file).expanduser()
    if path.suffix != ".py" or not path.is_file():
        why = "there is no such file" if path.suffix == ".py" else "it does not end in .py"
        raise ValueError(f"study must be a Python file with a study in it, such as studies.py or studies.py:first; got {place!r}: {why}")
    found = {key: value for key, value in _run(path).items() if isinstance(value, Study)}
    if (name and name not in found) or (not name and len(found) != 1):
        there = "one of " + ", ".join(f"{file}:{key}" for key in found) if found else "a name in a file with a jaxbandits.Study"
        raise ValueError(f"study must be {there}; got {place!r}")
    return found[name] if name else next(iter(found.values()))


def _run(path: pathlib.Path) -> dict:
    """The names that a file defines."""
    there = getattr(sys.modules.get(path.stem), "__file__", None)
    taken = path.stem in sys.stdlib_module_names or (path.stem in sys.modules and there != str(path))
    stem = f"study_{path.stem}" if taken else path.stem
    spec = importlib.util.spec_from_file_location(stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"study must be in a Python file; got {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    # Workers have no such file.
    cloudpickle.register_pickle_by_value(module)
    sys.path.insert(0, str(path.parent.absolute()))  # as `python studies.py` has it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # of code that is not ours
        raise ValueError(f"study must be in a file that runs; in {str(path)!r}: {type(error).__name__}: {error}") from error
    return vars(module)
