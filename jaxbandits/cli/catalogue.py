"""The policies and problems by the names they have on the command line."""

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any

from jaxbandits import domains, links, networks, oracles, policies, problems
from jaxbandits.core import Policy
from jaxbandits.problems import losses

MODULES = (policies.cascade, policies.armed, policies.semi_bandit, policies.contextual, policies.convex, policies.federated)
POLICIES: dict[str, Callable[..., Policy]] = {name: getattr(module, name) for module in MODULES for name in module.__all__}


def _family(name: str) -> str:
    """The family of problems that a policy plays: that of its module; a convex policy has one point or two."""
    module = next(module for module in MODULES if name in module.__all__)
    if module is not policies.convex:
        return module.__name__.rsplit(".", 1)[-1]
    return "one_point" if "loss_bound" in inspect.signature(POLICIES[name]).parameters else "two_point"


FAMILY = {name: _family(name) for name in POLICIES}
"""The family of problems that each policy plays, by the name it has on the command line."""

INSTANCES = {"two-level": problems.two_level, "linear": problems.linear}
ORACLES = {"top-k": oracles.top_k, "cascade": oracles.cascade}
LINKS = {"linear": links.linear, "logistic": links.logistic, "poisson": links.poisson}
DOMAINS = {"ball": domains.ball, "box": domains.box, "simplex": domains.simplex}
NETWORKS = {
    "complete": networks.complete,
    "star": networks.star,
    "ring": networks.ring,
    "path": networks.path,
    "grid": networks.grid,
}
LOSSES = {"quadratic": losses.quadratic, "linear": losses.linear, "logistic": losses.logistic, "absolute": losses.absolute}


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
    shared = problems.one_point(domain=domains.ball(dim=2), losses=losses.quadratic(domain=domains.ball(dim=2))).shared
    sizes = {"num_items": 4, "list_len": 2, "num_arms": 4, "horizon": 1000, "oracle": oracles.top_k(num_base_arms=4, list_len=2)}
    sizes |= {"num_agents": 4, "network": networks.star(num_agents=4)}
    sizes |= {"dim": 2, "link": links.linear(), **shared}
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
