"""What the commands that run policies have in common: options that choose policies of one family, and a problem for them."""

import dataclasses
import difflib
import functools
import inspect
import pathlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import tyro

from jaxbandits import networks, problems, validate
from jaxbandits.cli.catalogue import DOMAINS, FAMILY, INSTANCES, LINKS, LOSSES, NETWORKS, ORACLES, POLICIES
from jaxbandits.core import Policy

T = TypeVar("T")
Option = Annotated[T, tyro.conf.OmitArgPrefixes]
"""Options that are shown as a group."""
NO_HINT = tyro.conf.arg(help_behavior_hint="")
"""An option that is not there unless it is given."""


@dataclasses.dataclass(frozen=True)
class Items:
    """Of lists, super arms and arms."""

    instance: Literal["two-level", "linear"] = "two-level"
    """Means: 0.2 for list_len items (one of K arms) and 0.05 for the others, or 0.5 down to 0.05."""
    means: Annotated[tuple[float, ...], NO_HINT] = ()
    """Means of the items or arms, instead of an instance."""
    clicks: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """A click log in CSV or Parquet, columns `shown` and `click`, to estimate the attraction probabilities from instead."""
    num_items: int = 20
    """Number of items, or arms, of the instance; that of the means if they are given."""
    list_len: int = 4
    """Length of the displayed list, or size of a super arm; not for K-armed bandits."""
    oracle: Literal["top-k", "cascade"] = "top-k"
    """What a super arm of a semi-bandit earns: the sum of its means, or the chance that one of its arms attracts."""


@dataclasses.dataclass(frozen=True)
class Space:
    """Of contextual and convex bandits."""

    dim: int = 2
    """Features of an action, or coordinates of a point."""
    num_actions: int = 10
    """Actions of a round, each uniform on the sphere; for contextual policies."""
    link: Literal["linear", "logistic", "poisson"] = "linear"
    """How a reward depends on the features; for contextual policies."""
    domain: Literal["ball", "box", "simplex"] = "ball"
    """The set of points: of radius 1, [-1, 1]^dim, or the solid simplex; for convex policies."""
    losses: Literal["quadratic", "linear", "logistic", "absolute"] = "quadratic"
    """What a point costs; for convex policies."""


@dataclasses.dataclass(frozen=True)
class Agents:
    """Of federated bandits."""

    num_agents: int = 16
    """How many."""
    network: Literal["complete", "star", "ring", "path", "grid"] = "star"
    """Who is linked to whom; for policies that talk over links."""
    num_components: int = 1
    """Parts of such a network that are alike and not linked to each other; more than one for hybrid policies only."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Policies of one family, and a problem for them."""

    policies: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]", help_behavior_hint="")]
    """Policies, as `jaxbandits list` names them."""
    delta: float = 1e-3
    """Delta, for the policies that have one."""
    noise_scale: float = 1.0
    """Factor on the noise, for the policies that have one. Any other than 1 voids a guarantee."""
    radius_scale: float = 1.0
    """Factor on the noise part of the radius, for the policies that have one."""
    seed: int = 0
    """Seed of the whole study."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print JSON."""
    items: Option[Items] = Items()
    space: Option[Space] = Space()
    agents: Option[Agents] = Agents()

    def factories(self, levels: Sequence[float]) -> dict[str, functools.partial[Policy]]:
        """The chosen policies with the fixed options that they take; ``levels`` is the epsilon given, if any."""
        self._check_names()
        takers = {name: set(inspect.signature(POLICIES[name]).parameters) for name in self.policies}
        needy = [name for name, parameters in takers.items() if "epsilon" in parameters]
        if needy and not levels:
            raise ValueError(f"epsilon is needed by {', '.join(needy)}: add, for example, --epsilon 1")
        if levels and not needy:
            raise ValueError(f"epsilon is an argument of none of these policies; got {' '.join(f'{e:g}' for e in levels)}")
        fixed = {"delta": self.delta, "noise_scale": self.noise_scale, "radius_scale": self.radius_scale}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        for option, value in fixed.items():
            if value != defaults[option] and not any(option in parameters for parameters in takers.values()):
                raise ValueError(f"{option} is an argument of none of these policies; got {value:g}")
        fixed = {**fixed, **({"network": self.parts()} if self._linked() else {})}
        return {name: functools.partial(POLICIES[name], **{k: v for k, v in fixed.items() if k in takers[name]}) for name in self.policies}

    def _check_names(self) -> None:
        if not self.policies:
            raise ValueError("policies must name at least one of `jaxbandits list`, such as --policies laplace_ucb; got none")
        for name in self.policies:
            if name not in POLICIES:
                close = difflib.get_close_matches(name, POLICIES, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise ValueError(f"policies must be those of `jaxbandits list`; got {name!r}. {hint}".strip())

    def problem(self) -> Callable[..., Any]:
        """The problem that the chosen policies play."""
        self._check_names()
        families = {FAMILY[name]: name for name in self.policies}
        if len(families) > 1:
            raise ValueError(f"policies must be of one family of problems; got {' and '.join(f'{n} ({f})' for f, n in families.items())}")
        family = next(iter(families))
        self._refuse_unused(family)
        return DESCRIBED[family](self)

    def contextual(self) -> Callable[..., Any]:
        """Actions on the sphere."""
        contexts = problems.contexts.sphere(dim=self.space.dim, num_actions=self.space.num_actions)
        return functools.partial(problems.contextual, contexts=contexts, link=LINKS[self.space.link]())

    def convex(self, points: Callable[..., Any]) -> Callable[..., Any]:
        """One point or two of the domain."""
        domain = DOMAINS[self.space.domain](dim=self.space.dim)
        return functools.partial(points, domain=domain, losses=LOSSES[self.space.losses](domain=domain))

    def cascade(self) -> Callable[..., Any]:
        """Lists of items, or of those of a click log."""
        if self.items.clicks:
            try:
                return problems.from_clicks(self.items.clicks).problem(self.items.list_len)
            except ValueError as error:
                raise ValueError(f"clicks: {error}") from error
        return functools.partial(problems.cascade, means=self.known_means(self.items.list_len), list_len=self.items.list_len)

    def armed(self) -> Callable[..., Any]:
        """Arms."""
        return functools.partial(problems.armed, means=self.known_means(1))

    def federated(self) -> Callable[..., Any]:
        """Arms, and agents that pull them."""
        return functools.partial(problems.federated, means=self.known_means(1), num_agents=self.agents.num_agents)

    def parts(self) -> networks.Network:
        """The network: so many alike, side by side."""
        agents = validate.size("num_agents", self.agents.num_agents, 1, validate.MOST_AGENTS)
        count = validate.size("num_components", self.agents.num_components, 1, agents)
        if self.agents.num_agents % count:
            raise ValueError(f"num_components must divide the number of agents, {self.agents.num_agents}; got {count}")
        return networks.disjoint(*[NETWORKS[self.agents.network](num_agents=self.agents.num_agents // count)] * count)

    def semi_bandit(self) -> Callable[..., Any]:
        """Super arms."""
        means = self.known_means(self.items.list_len)
        oracle = ORACLES[self.items.oracle](num_base_arms=len(means), list_len=self.items.list_len)
        return functools.partial(problems.semi_bandit, means=means, oracle=oracle)

    def known_means(self, list_len: int) -> np.ndarray:
        """Those given, or of the instance."""
        validate.list_sizes(len(self.items.means) or self.items.num_items, list_len)
        good = {"num_good": list_len} if self.items.instance == "two-level" else {}
        return np.asarray(self.items.means) if self.items.means else INSTANCES[self.items.instance](self.items.num_items, **good)

    def _linked(self) -> bool:
        return any("network" in inspect.signature(POLICIES[name]).parameters for name in self.policies)

    def _refuse_unused(self, family: str) -> None:
        """Refuses options that the problem would not look at."""
        listed, convex = family in ("cascade", "armed", "semi_bandit", "federated"), family in ("one_point", "two_point")
        items = "" if listed else "for policies that choose items or arms"
        linked = "" if self._linked() else "for federated policies that talk over links only"
        contextual = "" if family == "contextual" else "for contextual policies only"
        unused = {
            "means": items or ("not together with clicks" if self.items.clicks else ""),
            "instance": items or ("not together with means or clicks" if self.items.means or self.items.clicks else ""),
            "num_items": items or ("the number of means" if self.items.means and self.items.num_items != len(self.items.means) else ""),
            "clicks": "for cascade policies only" if family != "cascade" else "",
            "list_len": "" if family in ("cascade", "semi_bandit") else "for lists and super arms only",
            "oracle": "for semi-bandit policies only" if family != "semi_bandit" else "",
            "dim": "for contextual and convex policies only" if listed else "",
            "num_actions": contextual,
            "link": contextual,
            "num_agents": "" if family == "federated" else "for federated policies only",
            "network": linked,
            "num_components": linked,
            "domain": "" if convex else "for convex policies only",
            "losses": "" if convex else "for convex policies only",
        }
        for name, value in changed(self).items():
            if why := unused.get(name):
                raise ValueError(f"{name} is {why}; got {str(value)!r}")


def changed(options: Any) -> dict[str, Any]:
    """The options, those of groups too, that are not as they are by default."""
    found = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if dataclasses.is_dataclass(value):
            found |= changed(value)
        elif value != field.default:
            found[field.name] = value
    return found


DESCRIBED: dict[str, Callable[[Chosen], Callable[..., Any]]] = {
    "cascade": Chosen.cascade,
    "armed": Chosen.armed,
    "semi_bandit": Chosen.semi_bandit,
    "federated": Chosen.federated,
    "contextual": Chosen.contextual,
    "one_point": lambda chosen: chosen.convex(problems.one_point),
    "two_point": lambda chosen: chosen.convex(problems.two_point),
}
"""The problem that the options describe, for each family."""
