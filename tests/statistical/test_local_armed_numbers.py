"""K-armed policies under local privacy against independently simulated numbers: twenty arms, epsilon 2, expected regret.

50 seeds; a result must lie within 6 %. The runs at T = 1e6 are behind the marker ``full``.
"""

from functools import partial

import pytest

from jaxbandits import Study, run
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, rewards, twenty_arms

NAMED = {"UCB1": policies.ucb1, "B": policies.ldp_ucb_bernoulli, "L": policies.ldp_ucb_laplace}
NUMBERS = {  # variant, T: UCB1, LDP-UCB-B, LDP-UCB-L
    ("text, bits", 1_000): (177.6, 189.0, 212.9),
    ("text, bits", 10_000): (945.9, 1228.0, 1811.5),
    ("text, bits", 100_000): (1904, 3046, 10_079),
    ("text, bits", 1_000_000): (2663, 4452, 20_390),
    ("text, mixed", 100_000): (1914, 3077, 10_062),
    ("author's code, bits", 1_000): (172.8, 187.5, 211.8),
    ("author's code, bits", 10_000): (919.7, 1227.3, 1815.2),
    ("author's code, bits", 100_000): (1859, 3044, 10_046),
    ("author's code, bits", 1_000_000): (2576, 4346, 20_207),
}
LAWS = {"bits": rewards.bernoulli, "mixed": rewards.mixed()}


def finals(variant, rounds, named=NAMED):
    code, law = variant.split(", ")
    chosen = {name: partial(factory, author_code=code != "text") for name, factory in named.items()}
    study = Study(
        problem=partial(armed, means=twenty_arms(), rewards=LAWS[law]),
        policies=chosen,
        grid={"epsilon": [2.0]},
        seeds=50,
        horizon=rounds[-1],
        checkpoints=rounds,
    )
    return run(study, progress=False)["regret"].sel(epsilon=2.0).mean("seed")


def wrong(variant, rounds, swap=None):
    """The rows that disagree; ``swap`` renames policies."""
    found = finals(variant, rounds)
    swap = swap or {}
    rows = [
        (variant, t, name, float(found.sel(policy=swap.get(name, name), round=t)), reference)
        for t in rounds
        for name, reference in zip(NAMED, NUMBERS[variant, t], strict=True)
    ]
    return [row for row in rows if abs(row[3] - row[4]) > 0.06 * row[4]]


@pytest.mark.parametrize("variant", ["text, bits", "author's code, bits"])
def test_bits(variant):
    assert wrong(variant, [1_000, 10_000, 100_000]) == []


def test_mixed():
    assert wrong("text, mixed", [100_000]) == []
    assert len(wrong("text, mixed", [100_000], {"UCB1": "B", "B": "UCB1"})) == 2, "the test must tell the policies apart"


@pytest.mark.full
@pytest.mark.parametrize("variant", ["text, bits", "author's code, bits"])
def test_a_million_rounds(variant):
    assert wrong(variant, [1_000_000]) == []
