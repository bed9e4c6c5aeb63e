"""The figures of the papers and the benchmark, which lie beside the library: commands that hand their words on."""

import dataclasses
import importlib
import importlib.util
import pathlib
from typing import Any

PLACES = ("jaxbandits.experiments", "experiments")
"""Where they are: in an installed package, and in a checkout."""
HOME = pathlib.Path(__file__).resolve().parents[1]
"""The directory of the package."""


def found(name: str) -> Any:
    """The module of the experiments that has this name.

    Raises:
      ImportError: if they are not there.
    """
    for place in PLACES:
        spec = importlib.util.find_spec(place)
        # Somebody else's experiments may be in the way; to ask for a module of theirs would run them.
        if spec is not None and spec.origin is not None and pathlib.Path(spec.origin).resolve().parent.parent in (HOME, HOME.parent):
            return importlib.import_module(f"{place}.{name}")
    raise ImportError("the experiments are not installed; they are in the package, and in a checkout of it")


@dataclasses.dataclass(frozen=True)
class Figures:
    """Draws the figures of the papers, and a page that sets their findings beside what was measured.

    `jaxbandits figures --help` has the options, `jaxbandits list figures` the figures.

    Example: jaxbandits figures cascading_dp
    """


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measures how fast the engine is on this machine.

    It needs the extra: pip install 'jaxbandits[bench]'. `jaxbandits bench --help` has the options.
    """


HANDED_ON = {"figures": "__main__", "bench": "benchmarks.__main__"}
"""Commands whose words another parser reads, and where it is."""
