"""Everything public by inspection, with a valid call of each."""

import inspect
import types
import typing
from functools import cache, partial

import jax
import matplotlib.pyplot as plt
import networkx
import numpy as np

import jaxbandits
from jaxbandits import Study, dataset, domains, links, mechanisms, networks, oracles, policies, privacy, problems, theory
from jaxbandits.core import NON_PRIVATE
from jaxbandits.engine import draws
from jaxbandits.mechanisms import counters
from tests import helpers

OF_RESULTS = {
    "theory.cascade.rivals": "of ranked means, which ranked_means has checked",
    "theory.cascade.inverse_gaps": "the same",
    "theory.cascade.bernoulli_kl": "elementwise mathematics",
    "theory.armed_central.private_divergence": "elementwise mathematics",
    "mechanisms.regression.growth": "of sizes that a policy has checked",
    "mechanisms.regression.joint_sensitivity": "of a bound that a policy has checked",
    "theory.semi_bandit.attracts": "a reward for set_gaps",
    "links.residual": "of a link that check has seen",
    "links.bound": "the same",
    "plot.Arguments": "a type",
    "core.told": "of a policy that a study has rehearsed",
    "core.without_epsilon": "of the label of a claim",
    "engine.draws.layout": "of draws that a study has checked",
    "engine.lanes.elementwise": "of a function of arrays, inside of a compiled loop",
    "engine.lanes.lanes_last": "the same",
}
"""Public by name, but called by the package with what it has checked already."""


def rooms():
    """The package and its public modules, from ``__all__`` on."""
    found, new = [], [jaxbandits]
    while new:
        found.append(module := new.pop(0))
        inside = [getattr(module, name) for name in names(module)]
        new += [m for m in inside if isinstance(m, types.ModuleType) and m not in found + new]
    return found


def own(module):
    """The functions and classes that a module defines without an underscore."""
    return [k for k, v in vars(module).items() if not k.startswith("_") and getattr(v, "__module__", None) == module.__name__]


def names(module):
    """What is public of a module: its ``__all__``, and its own names where it has none."""
    return list(getattr(module, "__all__", None) or own(module))


def _traced(function):
    """Whether it is for the inside of a compiled loop: it takes or returns arrays of JAX."""
    signature = inspect.signature(function)
    return any(a is jax.Array for a in (signature.return_annotation, *(p.annotation for p in signature.parameters.values())))


@cache
def functions():
    """name -> each public function, and each class that checks its fields; containers of fields are checked where they are used."""
    found = {}
    for module in rooms():
        for name in names(module):
            value, full = getattr(module, name), f"{module.__name__}.{name}".removeprefix("jaxbandits.")
            if not callable(value) or typing.get_origin(value) or isinstance(value, tuple) or full in OF_RESULTS or value in found.values():
                continue
            if hasattr(value, "__post_init__") if inspect.isclass(value) else not _traced(value):
                found[full] = value
    return found


def _click_log():
    return problems.simulate_clicks([0.5, 0.3, 0.1], list_len=2, rows=40, seed=0)


@cache
def results():
    """What a run of two policies would return."""
    study = Study(
        problem=partial(problems.cascade, means=[0.6, 0.4, 0.2], list_len=2),
        policies={"a": policies.cascade.first_ldp_ucb1, "b": policies.cascade.cascade_ucb1},
        grid={"epsilon": [1.0, 2.0]},
        seeds=3,
        horizon=10,
        checkpoints=[5, 10],
    )
    lost = np.arange(12.0).reshape(2, 3, 2) + 1
    return dataset.assemble(study, {"a": {"regret": lost}, "b": {"regret": lost[:1]}})


def _transcripts():
    claim = policies.cascade.first_ldp_ucb1(num_items=3, list_len=2, epsilon=1.0).claim
    worlds = tuple(np.arange(4096, dtype=np.int64)[:, None] % 2 for _ in range(2))
    return privacy.Transcripts(worlds=worlds, names=("message",), users=(0, 1), claim=claim, present=1, starts_raw=False)


def _sigma(**_):
    return 5.0


DOMAIN = domains.ball(dim=3)
VALID = {
    "differences": lambda: [1.0, 2.0],
    "frame": lambda: jaxbandits.tables.summary(results()),
    "p_values": lambda: [0.5, 0.1],
    "reference": lambda: "a",
    "adjacency": lambda: [[0, 1], [1, 0]],
    "audits": lambda: {"p": privacy.judge(_transcripts())},
    "ax": lambda: plt.subplots()[1],
    "axis": lambda: "epsilon",
    "base_prob": lambda: 0.2,
    "budget": lambda: privacy.Budget(1.0),
    "budgets": lambda: privacy.Budget(1.0),
    "claim": lambda: policies.cascade.first_ldp_ucb1(num_items=3, list_len=2, epsilon=1.0).claim,
    "contexts": lambda: problems.contexts.sphere(dim=3),
    "counts": lambda: [1.0, 2.0],
    "dataset": results,
    "declared": lambda: {"u": draws.uniform()},
    "delta": lambda: 1e-3,
    "deviation": lambda: 0.5,
    "diameter": lambda: 2,
    "dim": lambda: 3,
    "domain": lambda: DOMAIN,
    "edges": lambda: [("s", "a"), ("a", "t"), ("s", "t")],
    "epsilon": lambda: 1.0,
    "epsilon_each": lambda: 0.5,
    "factory": lambda: counters.hybrid,
    "features": lambda: np.eye(3),
    "first": lambda: "a",
    "gap": lambda: 0.1,
    "gaps": lambda: theory.semi_bandit.set_gaps(means=[0.6, 0.4, 0.2], list_len=2),
    "graph": lambda: networkx.path_graph(3),
    "groups": lambda: [0, 0, 1],
    "high": lambda: 0.9,
    "horizon": lambda: 100,
    "label": lambda: "bound",
    "length": lambda: 3,
    "link": links.logistic,
    "link_prob": lambda: 0.9,
    "links_used": lambda: 3,
    "lipschitz": lambda: 1.0,
    "list_len": lambda: 2,
    "log": _click_log,
    "loss_bound": lambda: 1.0,
    "losses": lambda: problems.losses.quadratic(domain=DOMAIN),
    "low": lambda: 0.1,
    "means": lambda: [0.6, 0.4, 0.2],
    "name": lambda: "regret",
    "network": lambda: networks.path(num_agents=4),
    "networks": lambda: networks.path(num_agents=4),
    "num_agents": lambda: 4,
    "num_arms": lambda: 3,
    "num_base_arms": lambda: 3,
    "num_categories": lambda: 4,
    "num_components": lambda: 1,
    "num_hubs": lambda: 2,
    "num_items": lambda: 5,
    "num_links": lambda: 3,
    "num_queries": lambda: 4,
    "num_shares": lambda: 3,
    "num_streams": lambda: 3,
    "num_vectors": lambda: 1,
    "oracle": lambda: oracles.top_k(num_base_arms=3, list_len=2),
    "path": lambda: "figure.png",
    "per_round": lambda: 1.0,
    "policies": lambda: {"ucb": policies.cascade.cascade_ucb1},
    "policy": lambda: partial(policies.cascade.first_ldp_ucb1, epsilon=1.0),
    "power": lambda: 4.0,
    "problem": lambda: partial(problems.cascade, means=[0.6, 0.4, 0.2], list_len=2),
    "quantiles": lambda: [problems.rewards.bit_quantile],
    "radius": lambda: 1.0,
    "randomiser": lambda: mechanisms.bernoulli(epsilon=1.0),
    "records": lambda: 2,
    "rewards": lambda: [1.0, 0.5],
    "rho": lambda: 0.1,
    "rounds": lambda: [5, 10],
    "rows": lambda: 10,
    "scales": lambda: [1.0, 2.0],
    "second": lambda: "b",
    "seed": lambda: 0,
    "seen": _transcripts,
    "sensitivity": lambda: 1.0,
    "shape": lambda: (),
    "sigma": lambda: 5.0,
    "slack": lambda: 0.1,
    "slope": lambda: 0.5,
    "smallest_gap": lambda: 0.1,
    "smoothness": lambda: 2.0,
    "source": lambda: "s",
    "status": lambda: "paper",
    "strong_convexity": lambda: 1.0,
    "study": lambda: Study(problem=VALID["problem"](), policies=VALID["policies"](), horizon=5),
    "table": lambda: np.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 5.0], [1.0, 0.0, 2.0], [5.0, 4.0, 1.0], [2.0, 2.0, 3.0]]),
    "tail_prob": lambda: 0.1,
    "target": lambda: "t",
    "times": lambda: 3,
    "users": lambda: np.eye(3),
    "items": lambda: np.eye(3),
    "values": lambda: results()["regret"].sel(policy="a"),
    "xi": lambda: 0.1,
}
VALID_OF = {
    "run_to_precision": {"relative": lambda: 10.0},
    "oracles.matching": {"edges": lambda: [(0, 0), (0, 1), (1, 0)]},
    "problems.read_ratings": {"source": problems.simulate_ratings},
    "plot.bound": {"values": lambda: [1.0, 2.0]},
    "plot.slopes": {"values": lambda: results()["regret"].isel(round=-1)},
    "Claim": {"status": lambda: "non-private", "flaw": lambda: "raw"},
    "mechanisms.counters.made_by": {"arguments": lambda: {"num_streams": 3, "epsilon": 1.0}},
    "mechanisms.noise.checked": {"noise": lambda: mechanisms.noise.laplace},
    "plot.regret": {"dataset": lambda: results().sel(epsilon=1.0)},
}
"""Values of the arguments that a call needs: by name, and for the few that mean something else."""


def parameters(function):
    """The parameters that a call may give by name or one by one."""
    return {p.name: p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD}


@cache
def valid(name):
    """The arguments that a call needs, by name."""
    function = functions()[name]
    if name.startswith("policies."):
        sizes = {k: v for k, v in helpers.family(function).sizes(6, 3).items() if helpers.takes(function, k)}
        return {**sizes, **helpers.swept(function)}
    own = VALID_OF.get(name, {})
    needed = [p.name for p in parameters(function).values() if p.default is p.empty]
    return {p: {**VALID, **own}[p]() for p in {*needed, *own}}


def call(name, arguments):
    """The call with these arguments."""
    named, listed = dict(arguments), []
    for parameter in inspect.signature(functions()[name]).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            listed = [named.pop(parameter.name)]
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(parameter.name, {})
    return functions()[name](*listed, **named)


__all__ = ["NON_PRIVATE", "call", "functions", "names", "own", "parameters", "results", "rooms", "valid"]
