"""The command line: ``jaxbandits list``, ``run``, ``plot``, ``audit``, ``privacy``.

The same factories as the library. An error of the library is one line; the exit status is 2.
"""

import signal
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
    # A batch system says so before it kills: as Ctrl-C, tiles pause, and what they did is kept.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        command()
    except KeyboardInterrupt:
        print("jaxbandits: interrupted; with a store, the same command goes on from here", file=sys.stderr)
        raise SystemExit(130) from None
    except (ValueError, FloatingPointError, OSError, ImportError, RuntimeError) as error:
        print(f"jaxbandits: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        signal.signal(signal.SIGTERM, before)
