"""What the claims of all policies are worth: audits, and what privacy costs in regret.

Every policy is audited at epsilon 1 (delta 1e-3 where it has one): three items or arms of mean 1/2, lists of two, three rounds, the audited
user in the first; for contextual policies three actions with fixed features, for convex ones quadratic losses on the disc. A policy that
releases nothing so early shows nothing. Policies without a guarantee that show no leak there are audited for the user whose raw reply they
start from, and the larger bound is shown. Policies for unbounded rewards are audited with rewards of -30 and 30, and contextual policies
that do not cut rewards with -20 and 20. Federated policies play two arms that never pay with four agents; the audited reward is the last
of the first epoch, and is seen until the means have travelled.
"""

import concurrent.futures
import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from jaxbandits import Study, domains, log_checkpoints, networks, oracles, plot, policies, problems
from jaxbandits.cli.catalogue import FAMILY, POLICIES
from jaxbandits.policies import cascade
from jaxbandits.policies.federated.epochs import first_epoch
from jaxbandits.privacy import Audit, audit

from .published import Finding, Shown, judged

TITLE = "Claims of privacy, and audits of them"
FIGURES = {
    "claimed_and_audited": Shown("the epsilon that each policy claims or names, and the one that an audit found", "as the figure says"),
    "cost_of_privacy": Shown("cascade, 4 of 20 items: regret against the nominal epsilon, and against the one found", "as the figure says"),
}

EPSILON, DELTA, HORIZON = 1.0, 1e-3, 100_000
SWEEP = (0.2, 0.5, 1.0, 2.0, 4.0)
AUDITED = (0.2, 1.0, 4.0)
ALG1, ALG2, ALG3 = "Algorithm 1", "Algorithm 2", "Algorithm 3"
LOCAL, CENTRAL, REFERENCE = "F-KL", "DP-F-KLUCB", "first-position KL-UCB"
STYLES: dict[str, dict[str, Any]] = {
    ALG1: {"color": "#E69F00"},
    ALG2: {"color": "#D55E00"},
    ALG3: {"color": "#CC79A7"},
    LOCAL: {"color": "#0072B2"},
    CENTRAL: {"color": "#009E73"},
    REFERENCE: {"color": "#777777", "linestyle": ":"},
}
COMPARED = {
    ALG1: cascade.hybrid_ucb,
    ALG2: cascade.laplace_ucb,
    ALG3: partial(cascade.gaussian_ucb, delta=DELTA),
    LOCAL: cascade.first_ldp_kl_ucb,
    CENTRAL: cascade.first_dp_kl_ucb,
    REFERENCE: partial(cascade.first_ldp_kl_ucb, epsilon=math.inf),
}


Key = TypeVar("Key")


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 20
    runs: int = 2**16


QUICK = Scale()
FULL = Scale(seeds=200, runs=2**20)


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """The study of the cost of privacy."""
    problem = partial(problems.cascade, means=problems.two_level(), list_len=4)
    common = {"seeds": scale.seeds, "horizon": HORIZON, "checkpoints": log_checkpoints(HORIZON, 20)}
    return {"cost": Study(problem=problem, policies=COMPARED, grid={"epsilon": SWEEP}, **common)}


MEANS, AGENTS = np.full(3, 0.5), 4
DISC = domains.ball(dim=2)
LOSSES = problems.losses.quadratic(domain=DISC)
PROBLEMS = {
    "cascade": partial(problems.cascade, means=MEANS, list_len=2),
    "armed": partial(problems.armed, means=MEANS),
    "semi_bandit": partial(problems.semi_bandit, means=MEANS, oracle=oracles.top_k(num_base_arms=3, list_len=2)),
    "contextual": partial(problems.contextual, contexts=problems.contexts.fixed([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])),
    "one_point": partial(problems.one_point, domain=DISC, losses=LOSSES),
    "two_point": partial(problems.two_point, domain=DISC, losses=LOSSES),
    "federated": partial(problems.federated, means=np.zeros(2), num_agents=AGENTS, network=networks.star(num_agents=AGENTS)),
}
USERS = {
    "contextual": (-1.0, 1.0),
    "one_point": (-LOSSES.bound, LOSSES.bound),
    "two_point": ((LOSSES.bound, -LOSSES.bound), (-LOSSES.bound, LOSSES.bound)),
}
"""Replies at the ends of their range, where they are not the usual ones."""
UNBOUNDED = (policies.armed.sigmoid_ucb1, policies.armed.ldp_ucb_bernoulli_sigmoid, policies.armed.ldp_ucb_laplace_sigmoid)
"""Policies for rewards of any size."""
UNCUT = (policies.contextual.ldp_linucb_paper, policies.contextual.ldp_linucb_author_code, policies.contextual.ldp_glm_paper)
"""Printed policies that send records as they come."""


@functools.cache
def audits(scale: Scale = QUICK) -> dict[str, Audit]:
    """An audit of every policy of the package."""
    return _at_once({name: partial(_audit, factory, FAMILY[name], scale.runs) for name, factory in POLICIES.items()})


def _at_once(calls: Mapping[Key, Callable[[], Audit]]) -> dict[Key, Audit]:
    """The audits of several calls; most of their time is compiling, which goes on in threads."""
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return dict(zip(calls, threads.map(lambda call: call(), calls.values()), strict=True))


def _audit(factory: Callable[..., Any], family: str, runs: int) -> Audit:
    names, problem = inspect.signature(factory).parameters, PROBLEMS[family]
    fixed = partial(factory, **{k: v for k, v in {"epsilon": EPSILON, "delta": DELTA}.items() if k in names})
    if factory in UNBOUNDED:
        unbounded = functools.partial(problems.armed, means=MEANS, rewards=problems.rewards.gaussian())
        return audit(fixed, unbounded, users=(-30.0, 30.0), runs=runs)
    if family == "federated":
        # The run is cut short, not what the agents plan for: a first epoch that is over soon.
        short = {"horizon": 400, "num_comm_rounds": 1, "smallest_gap": 0.9}
        planned = partial(fixed, **{k: v for k, v in short.items() if k in names})
        present, last = _first_epoch(planned)
        return audit(planned, problem, present=present, horizon=last, runs=runs)
    users = USERS.get(family)
    if factory in UNCUT:
        users = (-20.0, 20.0)
    here = audit(fixed, problem, users=users, runs=runs)
    if family in USERS or here.violated or here.claim.status not in ("paper", "calibrated"):
        return here
    return max(here, audit(fixed, problem, present=0, runs=runs), key=lambda one: one.epsilon)


def _first_epoch(factory: Callable[..., Any]) -> tuple[int, int]:
    """The last slot of a federated policy's first epoch, and that in which its means have arrived; the usual ones without epochs."""
    sizes = {"num_arms": 2, "num_agents": AGENTS, "network": networks.star(num_agents=AGENTS)}
    policy = factory(**{k: v for k, v in sizes.items() if k in inspect.signature(factory).parameters})
    return first_epoch(policy) if "course" in policy.derived else (1, 3)


@functools.cache
def swept_audits(scale: Scale = QUICK) -> dict[tuple[str, float], Audit]:
    """Audits of the compared policies at every epsilon."""
    problem = PROBLEMS["cascade"]
    return _at_once(
        {
            (name, epsilon): partial(audit, partial(factory, epsilon=epsilon), problem, runs=scale.runs)
            for name, factory in COMPARED.items()
            for epsilon in AUDITED
            if name != REFERENCE
        }
    )


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure, by name, from the results of all studies, and the audits."""
    return {"claimed_and_audited": _claims(scale), "cost_of_privacy": _cost(results["cost"], scale)}


def _claims(scale: Scale) -> Figure:
    found = audits(scale)
    order = {"local": 0, "central": 1, "joint": 1, "agent": 2, "none": 3}

    def rank(name: str):
        claim = found[name].claim
        return not claim.guaranteed, order[claim.trust]

    claiming = [name for name in found if found[name].claim.status != "non-private"]
    ax = plot.audit({name: found[name] for name in sorted(claiming, key=rank)})
    ax.set_title(f"Claimed and audited epsilon\n{scale.runs:,} runs with each user", fontsize=10)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def _cost(dataset: xr.Dataset, scale: Scale) -> Figure:
    found = swept_audits(scale)
    with plot.styled():
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained", sharey=True)
        marked = {name: {**style, "marker": "" if name == REFERENCE else "o", "markersize": 3} for name, style in STYLES.items()}
        plot.regret_against(dataset, "epsilon", styles=marked, ax=left)
        _against_found(right, dataset, found)
        for ax in (left, right):
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
        left.set_xticks(SWEEP)
        right.set_xticks([0.2, 0.5, 1, 2, 5, 10])
        left.set_yscale("log")
        left.set_title("what is claimed, or named")
        right.set_title("what was found")
        left.get_legend().remove()
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(
            f"Cascading bandit, 4 of 20 items, two-level, honest noise, {scale.seeds} seeds, {HORIZON:,} rounds\n"
            "the epsilon of an algorithm that leaks is a lower bound that grows with the runs of the audit",
            fontsize=10,
        )
    return figure


def _against_found(ax: Axes, dataset: xr.Dataset, found: Mapping[tuple[str, float], Audit]) -> None:
    final = dataset["regret"].isel(round=-1).mean("seed")
    for name in COMPARED:
        if name != REFERENCE:
            x = [found[name, epsilon].epsilon for epsilon in AUDITED]
            y = [float(final.sel(policy=name, epsilon=epsilon)) for epsilon in AUDITED]
            ax.plot(x, y, marker="o", markersize=3, **STYLES[name])
    ax.axhline(float(final.sel(policy=REFERENCE, epsilon=SWEEP[0])), **STYLES[REFERENCE])
    ax.set_xlabel("epsilon, at least")


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Which claims were violated, and what the audited policies cost at one nominal epsilon."""
    found = audits(scale)
    lines = [f"{len(found)} policies audited at epsilon {EPSILON:g}, {scale.runs:,} runs with each user"]
    lines += [f"  {name:28}{one}" for name, one in found.items()]
    broken = [name for name, one in found.items() if one.claim.guaranteed and one.violated]
    lines.append(f"guarantees that do not hold: {', '.join(broken) or 'none'}")
    final = results["cost"]["regret"].isel(round=-1).mean("seed").sel(epsilon=EPSILON)
    swept = swept_audits(scale)
    for name in COMPARED:
        level = "non-private" if name == REFERENCE else f"epsilon at least {swept[name, EPSILON].epsilon:.2f}"
        lines.append(f"  {name:24} regret {float(final.sel(policy=name)):10,.0f}  {level}")
    return lines


CLAIMED = {
    "2105.11126, Algorithm 1": ("epsilon-DP", 1.0, ("hybrid_ucb",)),
    "2105.11126, Algorithms 2 and 3": ("epsilon-LDP and (epsilon, delta)-LDP", 1.0, ("laplace_ucb", "gaussian_ucb")),
    "2105.11126, Algorithm 4": ("(epsilon, delta)-LDP", 1.0, ("gaussian_cucb",)),
    "2007.03121": (
        "epsilon-LDP",
        1.0,
        ("ldp_ucb_bernoulli", "ldp_ucb_laplace", "ldp_ucb_bernoulli_sigmoid", "ldp_ucb_laplace_sigmoid"),
    ),
    "2006.00701, LDP-LinUCB and LDP-GLM": ("(epsilon, delta)-LDP", 1.0, ("ldp_linucb_paper", "ldp_glm_paper")),
    "2006.00701, Algorithm 1": ("(epsilon, delta)-LDP", 1.0, ("gaussian_one_point",)),
    "2006.00701, Algorithm 2": ("(epsilon, delta)-LDP", 1.0, ("gaussian_two_point",)),
    "2111.01570, CDP-MAB": ("an upload is M epsilon private, for M agents", float(AGENTS), ("cdp_mab_paper",)),
}
"""What the papers claim, in words and as a multiple of epsilon, and the policies that are as printed."""


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the papers claim of privacy, beside what the audits found."""
    found = audits(scale)
    rows = []
    for where, (claimed, times, names) in CLAIMED.items():
        flaws = {found[name].claim.flaw for name in names} - {""}
        broken = any(found[name].epsilon > times * EPSILON for name in names)
        why = f"{'; '.join(sorted(flaws))}" if flaws else "an audit shows more than the claim"
        rows.append(
            judged(
                where,
                claimed,
                "; ".join(f"{name}: at least {found[name].epsilon:.2f}" for name in names) + f", where {times * EPSILON:g} is claimed",
                not broken,
                "no audit shows more than is claimed, which is no proof" + (f"; {'; '.join(sorted(flaws))}" if flaws else ""),
                why,
            )
        )
    return rows
