"""What the commands that run policies have in common: options that choose policies of one family, and a problem for them."""

import dataclasses
import difflib
import functools
import inspect
import pathlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from jaxbandits import problems, validate
from jaxbandits.cli.catalogue import FAMILY, INSTANCES, ORACLES, POLICIES, PROBLEMS
from jaxbandits.core import Policy


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Policies of one family, and a problem for them."""

    policies: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]")]
    """Policies, as `jaxbandits list` names them."""
    delta: float = 1e-3
    """Delta, for the policies that have one."""
    noise_scale: float = 1.0
    """Factor on the noise, for the policies that have one. Any other than 1 voids a guarantee."""
    radius_scale: float = 1.0
    """Factor on the noise part of the radius, for the policies that have one."""
    instance: Literal["two-level", "linear"] = "two-level"
    """Means: 0.2 for list_len items (one of K arms) and 0.05 for the others, or 0.5 down to 0.05."""
    means: tuple[float, ...] = ()
    """Means of the items or arms, instead of an instance."""
    clicks: pathlib.Path | None = None
    """A click log in CSV or Parquet, columns `shown` and `click`, to estimate the attraction probabilities from instead."""
    num_items: int = 20
    """Number of items, or arms, of the instance; that of the means if they are given."""
    list_len: int = 4
    """Length of the displayed list, or size of a super arm; not for K-armed bandits."""
    oracle: Literal["top-k", "cascade"] = "top-k"
    """What a super arm of a semi-bandit earns: the sum of its means, or the chance that one of its arms attracts."""
    seed: int = 0
    """Seed of the whole study."""
    json: bool = False
    """Print JSON."""

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
        return {name: functools.partial(POLICIES[name], **{k: v for k, v in fixed.items() if k in takers[name]}) for name in self.policies}

    def _check_names(self) -> None:
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
        if self.clicks:
            return problems.from_clicks(self.clicks).problem(self.list_len)
        list_len = 1 if family == "armed" else self.list_len
        validate.list_sizes(len(self.means) or self.num_items, list_len)
        good = {"num_good": list_len} if self.instance == "two-level" else {}
        means = np.asarray(self.means) if self.means else INSTANCES[self.instance](self.num_items, **good)
        return PROBLEMS[family](means, list_len, ORACLES[self.oracle])

    def _refuse_unused(self, family: str) -> None:
        """Refuses options that the problem would not look at."""
        unused = {
            "means": "not together with clicks" if self.clicks else "",
            "instance": "not together with means or clicks" if self.means or self.clicks else "",
            "num_items": "the number of means" if self.means and self.num_items != len(self.means) else "",
            "clicks": "for cascade policies only" if family != "cascade" else "",
            "list_len": "for lists and super arms only" if family == "armed" else "",
            "oracle": "for semi-bandit policies only" if family != "semi_bandit" else "",
        }
        for field in dataclasses.fields(self):
            value, why = getattr(self, field.name), unused.get(field.name)
            if why and value != field.default:
                raise ValueError(f"{field.name} is {why}; got {str(value)!r}")
