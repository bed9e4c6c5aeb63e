"""What can be believed: the audit, and the privacy table of a study."""

import dataclasses
import functools
import inspect
import json
import pathlib
from typing import Annotated

import numpy as np
import tyro

from jaxbandits import privacy
from jaxbandits.cli.chosen import Chosen
from jaxbandits.cli.run import saved


@dataclasses.dataclass(frozen=True)
class Audit(Chosen):
    """Audits policies of one family: a lower bound on epsilon, by running them with neighbouring users.

    The exit status is 1 if a guarantee is refuted; a policy without one does not change it.

    Example: jaxbandits audit --policies laplace_ucb first_ldp_ucb1 --epsilon 1
    """

    epsilon: Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="")] = None
    """Privacy level, for the policies that have one."""
    present: int = 1
    """The round in which the audited user takes part; 0 is the user whose raw reply a policy may start from."""
    horizon: int = 3
    """Rounds of a run."""
    runs: int = 2**17
    """Runs with each user."""
    confidence: float = 0.95
    """Of the bound."""

    def __call__(self) -> None:
        """Audits and prints."""
        problem, levels = self.problem(), () if self.epsilon is None else (self.epsilon,)
        found = {}
        for name, factory in self.factories(levels).items():
            fixed = factory.keywords | ({"epsilon": self.epsilon} if "epsilon" in inspect.signature(factory.func).parameters else {})
            found[name] = privacy.audit(
                functools.partial(factory.func, **fixed),
                problem,
                present=self.present,
                horizon=self.horizon,
                runs=self.runs,
                confidence=self.confidence,
                seed=self.seed,
            )
        if self.json:
            print(json.dumps([_row(name, audit) for name, audit in found.items()], indent=1))
        else:
            wide = max(map(len, found))
            for name, audit in found.items():
                print(f"{name:{wide}}  {audit}")
        if any(audit.claim.guaranteed and audit.violated for audit in found.values()):
            raise SystemExit(1)


def _row(name: str, audit: privacy.Audit) -> dict:
    fields = "epsilon", "delta", "confidence", "runs", "most", "probabilities", "event", "violated", "hint"
    row = {field: getattr(audit, field) for field in fields}
    said = {"claim": audit.claim.label(), "nominal_epsilon": audit.claim.epsilon, "flaw": audit.claim.flaw}
    users = [np.asarray(user).tolist() for user in audit.users]
    return {"policy": name, **{k: v if v != float("inf") else "inf" for k, v in said.items()}, **row, "users": users}


@dataclasses.dataclass(frozen=True)
class Privacy:
    """Prints the privacy table of a Dataset that `jaxbandits run --save` wrote."""

    dataset: tyro.conf.Positional[pathlib.Path]
    """The NetCDF file."""
    rounds: int = 1
    """Rounds in which a user takes part."""
    delta: Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="")] = None
    """Of all these rounds together, for the policies under local privacy; by default epsilons add up."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print JSON."""

    def __call__(self) -> None:
        """Prints the table."""
        frame = privacy.table(saved(self.dataset), rounds=self.rounds, delta=self.delta)
        if self.json:
            print(frame.to_json(orient="records", indent=1))
            return
        shown = frame.drop(columns=["status", "relation", "sensitivity"])
        print(shown.to_string(index=False, na_rep="-", float_format=lambda x: f"{x:g}"))
