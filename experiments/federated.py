"""Privacy-Preserving Communication-Efficient Federated Multi-Armed Bandits, arXiv 2111.01570.

The figures of the paper and their settings are not in its available text. These follow its theorems, trade-offs and Table I: sixteen
agents, five arms of means 0.9 to 0.5, T = 1e6. Talking to the server costs c1 = 1 an agent, a link c2 = 1 a slot. Graphs are compared
with five rounds of communication allowed, down to a gap of 1/32: the first five epochs of the algorithm without a limit.
"""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter

from jaxbandits import Study, log_checkpoints, metrics, networks, plot, problems, stats
from jaxbandits.networks import Network
from jaxbandits.policies import armed
from jaxbandits.policies import federated as policies
from jaxbandits.theory import federated as theory

from .published import Finding, Shown, falls, judged, unchecked

TITLE = "Federated private bandits (arXiv 2111.01570)"
FIGURES = {
    "regret": Shown(
        "regret against the round, epsilon and the number of agents, in sum and for each",
        "DP for each agent, proved; no guarantee for what is printed",
    ),
    "graphs": Shown("Table I: cost and messages of a round of communication by graph, and what waiting costs", "DP for each agent, proved"),
    "trade_offs": Shown(
        "against the rounds of communication allowed and the share of agents that send; regret and cost together",
        "DP for each agent, proved; no guarantee for what is printed",
    ),
}

MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
AGENTS, HORIZON, GAP = 16, 1_000_000, 0.1
REACHED, COMPARED = 1 / 32, 5
EPSILON = 0.5
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
NUM_AGENTS = (1, 4, 16, 64)
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
RANDOM = "random, 30 % of links"
GRAPHS = {
    "complete": networks.complete(num_agents=AGENTS),
    "star": networks.star(num_agents=AGENTS),
    "multi-star, 4 hubs": networks.multi_star(num_agents=AGENTS, num_hubs=4),
    "grid": networks.grid(num_agents=AGENTS),
    RANDOM: networks.erdos_renyi(num_agents=AGENTS, link_prob=0.3, seed=1),
    "ring": networks.ring(num_agents=AGENTS),
    "path": networks.path(num_agents=AGENTS),
}
PARTS = networks.disjoint(*[networks.star(num_agents=4)] * 4)

CDP, CDP_PAPER, CDP_CALIBRATED, SECURE = "CDP-MAB", "CDP-MAB, printed", "CDP-MAB, calibrated", "CDP-MAB, secure sum"
HDP, ALONE, PLAIN = "HDP-MAB, 4 stars", "independent DP-SE", "no noise"
STYLES: dict[str, dict[str, Any]] = {
    CDP: {"color": "#0072B2"},
    CDP_PAPER: {"color": "#D55E00"},
    CDP_CALIBRATED: {"color": "#E69F00"},
    SECURE: {"color": "#009E73"},
    PLAIN: {"color": "#777777", "linestyle": ":"},
    ALONE: {"color": "#000000", "linestyle": "--"},
    HDP: {"color": "#CC79A7"},
    "DDP-MAB, complete": {"color": "#56B4E9"},
    "DDP-MAB, star": {"color": "#56B4E9", "linestyle": "--"},
    "DDP-MAB, path": {"color": "#56B4E9", "linestyle": "-."},
}
MODES = {
    CDP_PAPER: policies.cdp_mab_paper,
    CDP_CALIBRATED: policies.cdp_mab_calibrated,
    CDP: policies.cdp_mab,
    SECURE: policies.cdp_mab_secure_sum,
}
SERVER = {CDP: policies.cdp_mab, HDP: partial(policies.hdp_mab, network=PARTS)}
OVER_LINKS = {f"DDP-MAB, {name}": partial(policies.ddp_mab, network=network) for name, network in GRAPHS.items()}
COLOURS = {name: f"C{i}" for i, name in enumerate([CDP, HDP, *OVER_LINKS])}
OVER_TIME = (CDP, HDP, "DDP-MAB, complete", "DDP-MAB, star", "DDP-MAB, path")


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much to run."""

    seeds: int = 200
    alone: int = 20  # of agents that never talk


QUICK = Scale()
FULL = Scale(seeds=2000, alone=200)


class Price(NamedTuple):
    """What a round of communication costs, with c1 = c2 = 1."""

    printed: float
    counted: float


def price(name: str) -> Price:
    """The cost of a round of the policy of a name."""
    if name == CDP:
        cost = theory.server_cost(num_agents=AGENTS)
        return Price(cost, cost)
    if name == HDP:
        found = networks.collect(PARTS)
        cost = theory.hybrid_cost(num_components=len(found.sinks), links_used=found.links_used)
        return Price(cost, cost)
    network: Network = GRAPHS[name.removeprefix("DDP-MAB, ")]
    printed = theory.graph_cost_printed(diameter=network.diameter, num_links=len(network.links))
    return Price(printed, float(networks.flood(network).links_with_data))


def studies(scale: Scale = QUICK) -> dict[str, Study]:
    """Every study of these figures, by name."""

    def study(played: Mapping[str, Any], grid: Mapping[str, Any], seeds: int = scale.seeds, num_agents: int = AGENTS, **more: Any) -> Study:
        return Study(
            problem=partial(problems.federated, means=MEANS, num_agents=num_agents),
            policies=played,
            grid=grid,
            seeds=seeds,
            horizon=HORIZON,
            metrics={"communications": metrics.communications},
            **{"checkpoints": (HORIZON,), **more},
        )

    level = {"epsilon": (EPSILON,)}
    limited = {name: partial(policy, smallest_gap=REACHED) for name, policy in {**MODES, **SERVER, **OVER_LINKS}.items()}
    return {
        "rounds": study(limited, {**level, "num_comm_rounds": ROUNDS}, checkpoints=log_checkpoints(HORIZON, 20)),
        "no noise": study({PLAIN: policies.federated_elimination}, {}, checkpoints=log_checkpoints(HORIZON, 20)),
        "single agents": Study(
            problem=partial(problems.armed, means=MEANS),
            policies={ALONE: armed.dp_se},
            grid=level,
            seeds=AGENTS * scale.alone,
            horizon=HORIZON,
            checkpoints=log_checkpoints(HORIZON, 20),
        ),
        "epsilon": study(MODES, {"epsilon": EPSILONS}),
        **{f"agents-{m}": study(MODES, level, num_agents=m) for m in NUM_AGENTS if m != AGENTS},  # which are in the one above
        "participation": study(MODES, {**level, "participation": SHARES}),
    }


def figures(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> dict[str, Figure]:
    """Every figure, by name, from the results of all studies."""
    with plot.styled():
        return {"regret": _regret(results, scale), "graphs": _graphs(results, scale), "trade_offs": _trade_offs(results, scale)}


def _log(ax: Axes, ticks: tuple[float, ...] = ()) -> None:
    ax.set_xscale("log")
    if ticks:
        ax.set_xticks(ticks)
        ax.xaxis.set_major_formatter("{x:.3g}")
        ax.xaxis.set_minor_formatter(NullFormatter())


def _without_legend(*axes: Axes) -> None:
    for ax in axes:
        if (legend := ax.get_legend()) is not None:
            legend.remove()


def _in_sum(single: xr.Dataset) -> xr.Dataset:
    """Single agents, each group of so many as one run: agents that never talk are independent."""
    return single.assign_coords(seed=np.arange(single.sizes["seed"]) // AGENTS).groupby("seed").sum(keep_attrs=True)


def _compared(results: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The runs in which graphs are compared."""
    return results["rounds"].sel(epsilon=EPSILON, num_comm_rounds=COMPARED)


def _by_agents(results: Mapping[str, xr.Dataset]) -> xr.Dataset:
    agents = pd.Index(NUM_AGENTS, name="num_agents")
    parts = [results["epsilon" if m == AGENTS else f"agents-{m}"].sel(epsilon=EPSILON) for m in NUM_AGENTS]
    return xr.concat(parts, agents, data_vars="all", coords="minimal", compat="override", combine_attrs="override")


def _regret(results: Mapping[str, xr.Dataset], scale: Scale) -> Figure:
    figure, ((time, level), (total, each)) = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    for baseline in (_in_sum(results["single agents"]).sel(epsilon=EPSILON), results["no noise"]):
        plot.regret(baseline, styles=STYLES, ax=time)
    plot.regret(_compared(results), policies=OVER_TIME, styles=STYLES, ax=time)
    time.set_xlim(100, HORIZON)
    time.set_ylim(100, None)
    time.set_title(f"epsilon = {EPSILON:g}, {AGENTS} agents; all but two lie on each other")
    plot.regret_against(results["epsilon"], "epsilon", styles=STYLES, ax=level)
    level.axhline(float(results["no noise"]["regret"].isel(round=-1).mean()), **STYLES[PLAIN], label=PLAIN)
    level.set_title(f"{AGENTS} agents")
    _log(time)
    _log(level, EPSILONS)
    by_agents = _by_agents(results)
    plot.regret_against(by_agents, "num_agents", styles=STYLES, ax=total)
    plot.regret_against(by_agents.assign(regret=by_agents["regret"] / by_agents["num_agents"]), "num_agents", styles=STYLES, ax=each)
    each.set_ylabel(f"regret of an agent after {HORIZON:,} rounds")
    for ax in (total, each):
        _log(ax, NUM_AGENTS)
        ax.set_xlabel("agents")
        ax.set_title(f"nominal epsilon = {EPSILON:g}")
    for ax in (time, level, total, each):
        ax.set_yscale("log")
    time.legend(fontsize=7)
    entries = level.get_legend_handles_labels()
    _without_legend(level, total, each)
    figure.legend(*entries, loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(
        f"{TITLE}\nfive arms, regret in sum over the agents, {scale.seeds} seeds, {scale.alone} of single agents, mean with 95 % band",
        fontsize=10,
    )
    return figure


def _graphs(results: Mapping[str, xr.Dataset], scale: Scale) -> Figure:
    figure, (cost, kinds, regret) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
    names = [*OVER_LINKS, HDP, CDP]
    place = np.arange(len(names))
    prices = [price(name) for name in names]
    cost.barh(place + 0.2, [p.printed for p in prices], 0.38, color="#BBBBBB", label="formula of the paper")
    cost.barh(place - 0.2, [p.counted for p in prices], 0.38, color="#0072B2", label="links used, counted by the slot")
    cost.set_yticks(place, names)
    cost.invert_yaxis()
    cost.set_xlabel("cost of a round of communication, c1 = c2 = 1")
    left = np.zeros(len(names))
    for kind, colour in (("adv", "#56B4E9"), ("req", "#E69F00"), ("data", "#009E73")):
        counts = np.array([getattr(networks.flood(GRAPHS[n.removeprefix("DDP-MAB, ")]), kind) if n in OVER_LINKS else 0 for n in names])
        kinds.barh(place, counts, 0.6, left=left, color=colour, label=kind.upper())
        left += counts
    uploads = np.array([len(networks.collect(PARTS).sinks) if n == HDP else AGENTS if n == CDP else 0 for n in names])
    hops = np.array([networks.collect(PARTS).links_used if n == HDP else 0 for n in names])
    kinds.barh(place, hops, 0.6, color="#CC79A7", label="to a sink")
    kinds.barh(place, uploads, 0.6, left=hops, color="#777777", label="to the server")
    kinds.set_xlabel("messages of a round of communication")
    found = _extra(results)
    ends = [found[end].sel(policy=names) for end in ("low", "mean", "high")]
    regret.barh(place, ends[1], 0.6, color="#0072B2", label="measured")
    regret.errorbar(ends[1], place, xerr=[ends[1] - ends[0], ends[2] - ends[1]], fmt="none", color="black", capsize=2)
    regret.plot(_waiting(names), place, "|", color="#D55E00", markersize=12, markeredgewidth=2, label="upper bound")
    regret.set_xscale("symlog", linthresh=1)
    regret.set_xlabel("regret above that of CDP-MAB, same seeds")
    cost.legend(fontsize=8, loc="lower right")
    kinds.set_xlim(0, 1150)
    kinds.legend(fontsize=7, loc="lower right", labelspacing=0.2)
    regret.legend(fontsize=8, loc="lower right")
    figure.suptitle(
        f"{TITLE}\nTable I for {AGENTS} agents: cost, messages, and what waiting costs at epsilon = {EPSILON:g}, {scale.seeds} seeds, "
        f"T = {HORIZON:,}, 95 % bands",
        fontsize=10,
    )
    return figure


def _waiting(names: list[str]) -> list[float]:
    """What the upper bound on regret has for the slots in which means travel."""
    bound = partial(theory.cdp_mab, horizon=HORIZON, means=MEANS, num_agents=AGENTS, epsilon=EPSILON)
    return [float(bound(delay=_delay(name))) - float(bound()) for name in names]


def _delay(name: str) -> int:
    if name in OVER_LINKS:
        return networks.flood(GRAPHS[name.removeprefix("DDP-MAB, ")]).slots
    return networks.collect(PARTS).slots if name == HDP else 0


def _extra(results: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Final regret less that with a server, seed by seed."""
    final = _compared(results)["regret"].isel(round=-1)
    return stats.normal_band(final - final.sel(policy=CDP))


def _trade_offs(results: Mapping[str, xr.Dataset], scale: Scale) -> Figure:
    figure, (rounds, share, both) = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained")
    limited = results["rounds"].sel(epsilon=EPSILON)
    plot.regret_against(limited, "num_comm_rounds", policies=MODES, styles=STYLES, ax=rounds)
    rounds.set_xlabel("rounds of communication allowed, R")
    _log(rounds, ROUNDS)
    plot.regret_against(results["participation"].sel(epsilon=EPSILON), "participation", styles=STYLES, ax=share)
    share.set_xlabel("share of the agents that send, p")
    _log(share, SHARES)
    final = limited.isel(round=-1)
    for name, colour in COLOURS.items():
        one = final.sel(policy=name).mean("seed")
        line = "--" if name in (CDP, HDP) else "-"
        both.plot(one["communications"] * price(name).counted, one["regret"], line, marker="o", markersize=3, color=colour, label=name)
    both.set_xscale("log")
    both.set_xlabel("cost of communication, c1 = c2 = 1")
    both.set_ylabel(f"regret after {HORIZON:,} rounds")
    both.set_title(f"{EPSILON:g}-DP, R from {ROUNDS[0]} to {ROUNDS[-1]}")
    rounds.set_title(f"nominal epsilon = {EPSILON:g}, down to a gap of 1/32")
    share.set_title(f"nominal epsilon = {EPSILON:g}")
    for ax in (rounds, share, both):
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_yticks([2e3, 5e3, 1e4, 2e4, 5e4, 1e5])
        ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    entries = [a + b for a, b in zip(rounds.get_legend_handles_labels(), both.get_legend_handles_labels(), strict=True)]
    _without_legend(rounds, share, both)
    figure.legend(*entries, loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{TITLE}\n{AGENTS} agents, {scale.seeds} seeds, regret in sum over the agents, mean with 95 % band", fontsize=10)
    return figure


def findings(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[str]:
    """Table I, measured beside derived, and what epsilon, agents and trade-offs do; one line each."""
    extra, rounds = _extra(results), _compared(results)["communications"].isel(round=-1).mean("seed")
    lines = [
        f"Table I at {AGENTS} agents, epsilon {EPSILON:g}, {scale.seeds} seeds; the formula has "
        f"{theory.communication_rounds(GAP)} rounds of communication for a gap of {GAP:g}:",
        "  policy                          delay  links  cost/round printed  counted  rounds    cost  regret above CDP-MAB",
    ]
    for name in [*OVER_LINKS, HDP, CDP]:
        cost, network = price(name), PARTS if name == HDP else GRAPHS.get(name.removeprefix("DDP-MAB, "))
        above, error = float(extra["mean"].sel(policy=name)), float((extra["high"] - extra["low"]).sel(policy=name)) / 3.92
        count = float(rounds.sel(policy=name))
        lines.append(
            f"  {name:32}{_delay(name):5}{len(network.links) if network else 0:7}{cost.printed:20g}{cost.counted:9g}{count:8.2f}"
            f"{count * cost.counted:8.0f}{above:12.1f} ({error:.1f})"
        )
    by_epsilon = results["epsilon"]["regret"].isel(round=-1).mean("seed")
    lines.append("regret with a server, by epsilon " + "  ".join(f"{e:g}" for e in EPSILONS))
    lines += [f"  {name:24}" + "".join(f"{float(v):9,.0f}" for v in by_epsilon.sel(policy=name)) for name in MODES]
    by_agents = _by_agents(results)["regret"].isel(round=-1).mean("seed")
    lines.append(f"regret in sum over {', '.join(map(str, NUM_AGENTS))} agents, epsilon {EPSILON:g}")
    lines += [f"  {name:24}" + "".join(f"{float(v):9,.0f}" for v in by_agents.sel(policy=name)) for name in MODES]
    lost = max(float(results[key]["regret"].isel(round=-1).max()) for key in ("epsilon", "participation"))
    lines.append(f"largest regret of a run {lost:,.0f}; to lose the best arm costs {GAP * AGENTS * HORIZON:,.0f}")
    return lines


def published(results: Mapping[str, xr.Dataset], scale: Scale = QUICK) -> list[Finding]:
    """What the paper proves and discusses, beside what was measured; its figures are not in the available text."""
    by_epsilon = results["epsilon"]["regret"].isel(round=-1).mean("seed")
    by_agents = _by_agents(results)["regret"].isel(round=-1).mean("seed")
    plain = float(results["no noise"]["regret"].isel(round=-1).mean())
    printed = [float(v) for v in by_epsilon.sel(policy=CDP_PAPER)]
    more = {name: [float(v) for v in by_agents.sel(policy=name)] for name in (CDP_PAPER, CDP)}
    in_sum = {name: ", ".join(f"{v:,.0f}" for v in values) for name, values in more.items()}
    extra, waiting = _extra(results), dict(zip(OVER_LINKS, _waiting(list(OVER_LINKS)), strict=True))
    cost = {name: price(name).counted for name in OVER_LINKS}
    cheapest = sorted(cost, key=lambda name: cost[name])
    limited = results["rounds"]["regret"].sel(epsilon=EPSILON, policy=CDP).isel(round=-1).mean("seed")
    shares = results["participation"]["regret"].sel(epsilon=EPSILON, policy=CDP).isel(round=-1).mean("seed")
    loss = {share: float(shares.sel(participation=share)) / float(shares.sel(participation=1.0)) for share in SHARES}
    epochs = float(results["epsilon"]["communications"].isel(round=-1).sel(policy=CDP, epsilon=EPSILONS[-1]).mean())
    lost = max(float(results[key]["regret"].isel(round=-1).max()) for key in ("epsilon", "participation"))
    return [
        judged(
            "Theorem 1",
            "two regimes: regret falls as epsilon grows, until epsilon sqrt(M / log T) is above the gap, where it is that without noise",
            f"CDP-MAB as printed, epsilon {EPSILONS[0]:g} to {EPSILONS[-1]:g}: {', '.join(f'{v:,.0f}' for v in printed)}; "
            f"no noise {plain:,.0f}",
            printed[0] > 1.5 * printed[-1] and abs(printed[-1] / printed[-2] - 1) < 0.05,
            "falls by more than a third in all, and by less than 5 % over the last step",
        ),
        judged(
            "Theorem 1",
            "the term of privacy falls with the number of agents, as 1 / sqrt(M)",
            f"regret in sum over {', '.join(map(str, NUM_AGENTS))} agents, epsilon {EPSILON:g}: printed {in_sum[CDP_PAPER]}; "
            f"with the noise that one agent needs {in_sum[CDP]}",
            falls(more[CDP]),
            "regret falls with M at the same epsilon for each agent",
            "as printed an agent's upload has M epsilon, which is where the gain comes from; with noise for epsilon regret grows with M",
        ),
        judged(
            "Theorem on DDP-MAB",
            "over links regret is that with a server and a term of M times the diameter",
            "; ".join(
                f"{name.removeprefix('DDP-MAB, ')}: {float(extra['mean'].sel(policy=name)):,.0f} of {limit:,.0f}"
                for name, limit in waiting.items()
            ),
            all(float(extra["high"].sel(policy=name)) <= limit for name, limit in waiting.items()),
            "the regret above that with a server, in the same seeds, is below the bound on every graph",
        ),
        judged(
            "Table I",
            "star and multi-star graphs, with few edges and a small diameter, perform best",
            "cost of a round of communication, counted: " + "; ".join(f"{n.removeprefix('DDP-MAB, ')} {cost[n]:g}" for n in cheapest),
            cheapest[0].endswith("star") or "multi-star" in cheapest[0],
            "one of them has the lowest cost; regret hardly differs",
            "flooding over a path or a ring uses no more links than over a star: every mean must reach every agent once; they wait longer",
        ),
        judged(
            "Corollary on communication",
            "at most ceil(log(1 / gap) + 1) rounds of communication are needed, whatever T",
            f"{epochs:.1f} of {HORIZON:,} slots, at epsilon {EPSILONS[-1]:g}; the formula has {theory.communication_rounds(GAP)}",
            epochs <= theory.communication_rounds(GAP),
            "no more than the formula",
        ),
        judged(
            "Trade-off in R",
            "with R of the order of log T rounds of communication, regret is that without a limit",
            "; ".join(f"R = {r}: {float(limited.sel(num_comm_rounds=r)):,.0f}" for r in ROUNDS),
            float(limited.sel(num_comm_rounds=ROUNDS[-1])) < 1.25 * float(limited.min()) and float(limited[0]) > 2 * float(limited.min()),
            f"at R = {ROUNDS[-1]} within a quarter of the least, and at R = 1 more than twice that",
        ),
        judged(
            "Trade-off in p",
            "if a share p of the agents sends, regret is at most p^(-3/2) times that with all",
            "; ".join(f"p = {share:g}: {value:.2f} of {share**-1.5:.0f}" for share, value in loss.items()),
            all(value <= share**-1.5 + 1e-9 for share, value in loss.items()),
            "no ratio is above the bound",
        ),
        judged(
            "Theorem 1",
            "the best arm is kept with high probability",
            f"largest regret of a run {lost:,.0f}; to lose the best arm costs at least {GAP * AGENTS * HORIZON / 2:,.0f}",
            lost < GAP * AGENTS * HORIZON / 2,
            "no run lost it",
        ),
        unchecked("Figures", "curves over time and epsilon", "the figures and their settings are not in the available text"),
    ]
