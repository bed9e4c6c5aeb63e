"""The command line: ``jaxbandits list``, ``run``, ``plot``, ``audit``, ``privacy``, ``figures``, ``bench``.

The same factories as the library. An error of the library is one line; the exit status is 2.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

import tyro

from jaxbandits import __version__
from jaxbandits.cli import papers
from jaxbandits.cli.catalogue import POLICIES, List
from jaxbandits.cli.privacy import Audit, Privacy
from jaxbandits.cli.run import Plot, Run

__all__ = ["POLICIES", "main"]

COMMANDS = {
    "list": List,
    "run": Run,
    "plot": Plot,
    "audit": Audit,
    "privacy": Privacy,
    "figures": papers.Figures,
    "bench": papers.Bench,
}


def main() -> None:
    """Entry point of the ``jaxbandits`` command."""
    with ended_well():
        if sys.argv[1:] == ["--version"]:
            print(__version__)
        elif sys.argv[1:2] and sys.argv[1] in papers.HANDED_ON:
            papers.found(papers.HANDED_ON[sys.argv[1]]).main(sys.argv[2:], prog=f"jaxbandits {sys.argv[1]}")
        else:
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS, prog="jaxbandits", description="Bandit algorithms under differential privacy, simulated by the thousand."
            )()


@contextlib.contextmanager
def ended_well(name: str = "jaxbandits") -> Iterator[None]:
    """What goes wrong is one line and a status, also where the reader of a pipe has gone."""
    # A batch system says so before it kills: as Ctrl-C, tiles pause, and what they did is kept.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
        if sys.stdout is not None:  # a program without a console may have none
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{name}: interrupted; with a store, the same command goes on from here", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        # Python would flush what is left on its way out, and say that it cannot.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except (ValueError, FloatingPointError, OSError, ImportError, RuntimeError) as error:
        print(f"{name}: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        signal.signal(signal.SIGTERM, before)
