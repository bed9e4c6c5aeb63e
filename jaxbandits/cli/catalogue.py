"""The policies and problems by the names they have on the command line."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

from jaxbandits import oracles, policies, problems
from jaxbandits.core import Policy, Problem

FAMILIES = {"cascade": policies.cascade, "armed": policies.armed, "semi_bandit": policies.semi_bandit}
FAMILY = {name: family for family, module in FAMILIES.items() for name in module.__all__}
"""The family of problems that each policy plays, by the name it has on the command line."""
POLICIES: dict[str, Callable[..., Policy]] = {name: getattr(FAMILIES[family], name) for name, family in FAMILY.items()}

INSTANCES = {"two-level": problems.two_level, "linear": problems.linear}
ORACLES = {"top-k": oracles.top_k, "cascade": oracles.cascade}
PROBLEMS: dict[str, Callable[..., Callable[..., Problem]]] = {
    "cascade": lambda means, list_len, oracle: functools.partial(problems.cascade, means=means, list_len=list_len),
    "armed": lambda means, list_len, oracle: functools.partial(problems.armed, means=means),
    "semi_bandit": lambda means, list_len, oracle: functools.partial(
        problems.semi_bandit, means=means, oracle=oracle(num_base_arms=len(means), list_len=list_len)
    ),
}
"""(means, length of a list, factory of an oracle) -> the problem, of each family."""


@dataclasses.dataclass(frozen=True)
class List:
    """Lists the policies and what they claim at epsilon 1, delta 1e-3; with --json also their arguments."""

    json: bool = False
    """Print JSON."""

    def __call__(self) -> None:
        """Prints the list."""
        rows = [_describe(name, factory) for name, factory in POLICIES.items()]
        if self.json:
            print(json.dumps(rows, indent=1))
            return
        wide = max(len(row["policy"]) for row in rows)
        for row in rows:
            print(f"{row['policy']:{wide}}  {row['family']:11}  {row['claim']:14}  {row['summary']}")


def _describe(name: str, factory: Callable[..., Policy]) -> dict[str, Any]:
    parameters = inspect.signature(factory).parameters
    sizes = {"num_items": 4, "list_len": 2, "num_arms": 4, "horizon": 1000, "oracle": oracles.top_k(num_base_arms=4, list_len=2)}
    values = {k: v for k, v in {**sizes, "epsilon": 1.0, "delta": 1e-3}.items() if k in parameters}
    claim = factory(**values).claim
    summary = (inspect.getdoc(factory) or "").split("\n", 1)[0]
    return {
        "policy": name,
        "family": FAMILY[name],
        "arguments": list(parameters),
        "claim": claim.label(),
        "flaw": claim.flaw,
        "summary": summary,
    }
