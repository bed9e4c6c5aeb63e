"""The command line: ``jaxbandits list``, ``run``, ``plot``, ``audit``, ``privacy``.

The same factories as the library. An error of the library is one line; the exit status is 2.
"""

import sys

import tyro

from jaxbandits import __version__
from jaxbandits.cli.catalogue import POLICIES, List
from jaxbandits.cli.privacy import Audit, Privacy
from jaxbandits.cli.run import Plot, Run

__all__ = ["POLICIES", "main"]


def main() -> None:
    """Entry point of the ``jaxbandits`` command."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    command = tyro.extras.subcommand_cli_from_dict(
        {"list": List, "run": Run, "plot": Plot, "audit": Audit, "privacy": Privacy},
        description="Bandit algorithms under differential privacy, simulated by the thousand.",
    )
    try:
        command()
    except KeyboardInterrupt:
        print("jaxbandits: interrupted; what was finished is kept if there is a store", file=sys.stderr)
        raise SystemExit(130) from None
    except (ValueError, FloatingPointError, OSError, ImportError) as error:
        print(f"jaxbandits: {error}", file=sys.stderr)
        raise SystemExit(2) from None
