"""Arguments that are good alone and bad together: the message names one of them and what it must be."""

import inspect

import pytest

from jaxbandits import domains, networks, problems
from tests.bad_input import public

TOGETHER = {
    ("num_items", "list_len"): lambda given: {"list_len": given["num_items"] + 1},
    ("num_base_arms", "list_len"): lambda given: {"list_len": given["num_base_arms"] + 1},
    ("means", "list_len"): lambda given: {"list_len": len(given["means"]) + 1},
    ("num_agents", "network"): lambda given: {"network": networks.path(num_agents=given["num_agents"] + 1)},
    ("num_agents", "num_hubs"): lambda given: {"num_hubs": given["num_agents"] + 1},
    ("num_items", "num_good"): lambda given: {"num_items": 3, "num_good": 4},
    ("oracle", "means"): lambda given: {"means": [0.5] * (given["oracle"].num_base_arms + 1)},
    ("base_prob", "gap"): lambda given: {"base_prob": 0.2, "gap": 0.3},
    ("low", "high"): lambda given: {"low": 0.5, "high": 0.4},
    ("domain", "losses"): lambda given: {"losses": problems.losses.quadratic(domain=domains.ball(dim=given["domain"].dim + 1))},
    ("contexts", "theta"): lambda given: {"theta": [0.1] * (given["contexts"].dim + 1)},
    ("users", "items"): lambda given: {"items": [[0.5]]},
    ("scales", "counts"): lambda given: {"counts": [1.0] * (len(given["scales"]) + 1)},
    ("present", "horizon"): lambda given: {"horizon": 2, "present": 3},
    ("rounds", "values"): lambda given: {"values": [1.0] * (len(given["rounds"]) + 1)},
    ("source", "target"): lambda given: {"target": given["source"]},
    ("smallest_gap", "num_comm_rounds"): lambda given: {"smallest_gap": 0.1},
}
"""Two arguments -> a change that makes a good call bad."""
CASES = {
    f"{name}-{'-'.join(pair)}": (name, pair, change)
    for name, function in public.functions().items()
    for pair, change in TOGETHER.items()
    if set(pair) <= set(public.parameters(function))
}


@pytest.mark.parametrize("case", CASES)
def test_values_that_do_not_go_together(case, monkeypatch):
    monkeypatch.setattr("jaxbandits.engine.tiles.compile_tile", lambda *args, **kwargs: pytest.fail("compiled"))
    name, pair, change = CASES[case]
    given = public.valid(name)
    with pytest.raises(ValueError, match=rf"(?<![a-z_])({'|'.join(pair)})(?![a-z_]).*(must|only)"):
        public.call(name, {**given, **change(given)})


NOISY = [name for name, f in public.functions().items() if "sigma too small" in (inspect.getdoc(f) or "")]


@pytest.mark.parametrize("name", NOISY)
def test_less_noise_than_a_claim_needs(name):
    with pytest.raises(ValueError, match=r"sigma must be at least .*; got 1e-06"):
        public.call(name, {**public.valid(name), "sigma": 1e-6})


def test_pairs_are_met():
    assert {pair for _, pair, _ in CASES.values()} == set(TOGETHER)
    assert len(CASES) >= 60
    assert len(NOISY) >= 5
