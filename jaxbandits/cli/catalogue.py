"""The policies and problems by the names they have on the command line."""

import dataclasses
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import tyro

from jaxbandits import domains, links, networks, oracles, policies, problems
from jaxbandits.cli import papers
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


PROBLEMS = {
    "cascade": problems.cascade,
    "armed": problems.armed,
    "semi_bandit": problems.semi_bandit,
    "contextual": problems.contextual,
    "one_point": problems.one_point,
    "two_point": problems.two_point,
    "federated": problems.federated,
}
"""The problem of each family."""


@dataclasses.dataclass(frozen=True)
class List:
    """Lists policies with what they claim at epsilon 1, delta 1e-3; problems; or figures of papers with what their curves claim."""

    what: Annotated[Literal["policies", "problems", "figures"], tyro.conf.Positional] = "policies"
    """What to list."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print JSON, with what does not fit into a line: the arguments of policies, and why some have no guarantee."""

    def __call__(self) -> None:
        """Prints the list."""
        rows, shown = LISTS[self.what]()
        if self.json:
            print(json.dumps(rows, indent=1))
            return
        *columns, last = shown
        rows.insert(0, {name: name for name in shown})
        wide = {name: max(len(str(row[name])) for row in rows) for name in columns}
        for row in rows:
            print("  ".join([*(f"{row[name]!s:{wide[name]}}" for name in columns), str(row[last])]))


def _policies() -> tuple[list[dict[str, Any]], Sequence[str]]:
    return [_describe(name, factory) for name, factory in POLICIES.items()], ("policy", "family", "claim", "summary")


def _problems() -> tuple[list[dict[str, Any]], Sequence[str]]:
    rows = []
    for family, factory in PROBLEMS.items():
        played = [name for name in POLICIES if FAMILY[name] == family]
        shared = {"family": family, "policies": len(played), "summary": _first_line(factory)}
        rows.append({**shared, "arguments": list(inspect.signature(factory).parameters), "played_by": played})
    return rows, ("family", "policies", "summary")


def _figures() -> tuple[list[dict[str, Any]], Sequence[str]]:
    rows = []
    for name, paper in papers.found("papers").PAPERS.items():
        for key, figure in paper.FIGURES.items():
            rows.append({"paper": name, "figure": key, "privacy": figure.privacy, "shows": figure.shows, "title": paper.TITLE})
    return rows, ("paper", "figure", "privacy", "shows")


LISTS: dict[str, Callable[[], tuple[list[dict[str, Any]], Sequence[str]]]] = {
    "policies": _policies,
    "problems": _problems,
    "figures": _figures,
}
"""What can be listed: rows, and the columns of a line."""


def _first_line(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").split("\n", 1)[0]


def _describe(name: str, factory: Callable[..., Policy]) -> dict[str, Any]:
    parameters = inspect.signature(factory).parameters
    shared = problems.one_point(domain=domains.ball(dim=2), losses=losses.quadratic(domain=domains.ball(dim=2))).shared
    sizes = {"num_items": 4, "list_len": 2, "num_arms": 4, "horizon": 1000, "oracle": oracles.top_k(num_base_arms=4, list_len=2)}
    sizes |= {"num_agents": 4, "network": networks.star(num_agents=4)}
    sizes |= {"dim": 2, "link": links.linear(), **shared}
    values = {k: v for k, v in {**sizes, "epsilon": 1.0, "delta": 1e-3}.items() if k in parameters}
    claim = factory(**values).claim
    return {
        "policy": name,
        "family": FAMILY[name],
        "arguments": list(parameters),
        "claim": claim.label(),
        "flaw": claim.flaw,
        "summary": _first_line(factory),
    }
