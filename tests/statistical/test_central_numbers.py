"""Policies under central privacy against independently simulated numbers, and the coverage of their indices.

20 items, lists of 4. A result must lie within 4 standard errors of the difference plus 3 % of the reference. The runs at T = 1e6
are behind the marker ``full``.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.engine import lanes
from jaxbandits.mechanisms import counters, randomiser
from jaxbandits.policies import cascade as policies
from jaxbandits.policies import central
from jaxbandits.policies import index as indices
from tests.statistical.test_reference_numbers import compare, results


def closed_form(*, num_streams, epsilon):
    """The hybrid counter with the closed-form tail sqrt(8 l) max(sqrt(sum b^2), b_max sqrt(2 l)) in place of the Chernoff bound."""

    @lanes.elementwise
    def tail(count, log_term):
        octave = 31 - jax.lax.clz(jnp.maximum(count, 1))
        blocks = jax.lax.population_count(count) - 1
        k, w = octave.astype(jnp.float32), blocks.astype(jnp.float32)
        largest = jnp.where(w > 0, 2 * k, 2.0)
        return jnp.sqrt(8 * log_term) * jnp.maximum(jnp.sqrt(4 * (k + 1 + w * k * k)), largest * jnp.sqrt(2 * log_term))

    return counters.hybrid(num_streams=num_streams, epsilon=epsilon)._replace(tail=tail)


CENTRAL = {
    "DP-F": policies.first_dp_ucb1,
    "DP-F, closed form": partial(policies.first_dp_ucb1, counter=closed_form),
    "DP-F-lazy": policies.first_dp_lazy_ucb1,
    "DP-F-KLUCB": policies.first_dp_kl_ucb,
    "DP-F-KLUCB, log t": partial(policies.first_dp_kl_ucb, exploration=indices.log_round),
}
NUMBERS = {  # (instance, policy, epsilon): T = 1e5, s.e., T = 1e6, s.e.
    ("linear", "DP-F", 2.0): (983, 23, None, None),
    ("linear", "DP-F", 0.5): (2401, 45, None, None),
    ("two-level", "DP-F", 2.0): (3551, 96, None, None),
    ("linear", "DP-F, closed form", 2.0): (1827, 41, 2310, 68),
    ("linear", "DP-F, closed form", 0.5): (5610, 145, 7269, 181),
    ("two-level", "DP-F, closed form", 2.0): (6434, 160, 8950, 160),
    ("linear", "DP-F-lazy", 2.0): (1086, 13, 1526, 15),
    ("linear", "DP-F-lazy", 0.5): (2332, 29, 3147, 68),
    ("two-level", "DP-F-lazy", 2.0): (4154, 82, 5867, 89),
    ("linear", "DP-F-KLUCB", 2.0): (255, 9, 350, 15),
    ("linear", "DP-F-KLUCB", 0.5): (442, 15, 556, 35),
    ("two-level", "DP-F-KLUCB", 2.0): (463, 12, 539, 15),
    ("linear", "DP-F-KLUCB, log t", 2.0): (175, 9, None, None),
    ("linear", "DP-F-KLUCB, log t", 0.5): (279, 14, None, None),
    ("two-level", "DP-F-KLUCB, log t", 2.0): (333, 16, None, None),
}


def test_central_policies():
    regret = results(CENTRAL, epsilons=[0.5, 2.0])
    assert compare(regret, NUMBERS, 0) == []
    swap = {"DP-F-lazy": "DP-F", "DP-F": "DP-F-lazy", "DP-F-KLUCB": "DP-F-KLUCB, log t", "DP-F-KLUCB, log t": "DP-F-KLUCB"}
    swapped = {(i, swap.get(p, p), e): row for (i, p, e), row in NUMBERS.items()}
    assert len(compare(regret, swapped, 0)) >= 7, "the test must tell the policies apart"


@pytest.mark.full
def test_central_policies_at_a_million_rounds():
    named = {name: CENTRAL[name] for name in ("DP-F, closed form", "DP-F-lazy", "DP-F-KLUCB")}
    rows = {key: row for key, row in NUMBERS.items() if key[1] in named}
    assert compare(results(named, epsilons=[0.5, 2.0], horizon=1_000_000, seeds=32), rows, 2) == []


# ---- coverage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exploration", "expected"),
    [(indices.log_round, (7.2, 30, 112)), (indices.exploration, (1.1, 2.1, 3.7))],
    ids=["log t", "log t + 3 log log t"],
)
def test_coverage_of_batches_that_add_up(exploration, expected):
    """t P(U < w) at epsilon 0.2, w = 0.2, n = 1024, so 11 draws, t = 1e2, 1e3, 1e4; 2e6 samples, within 15 % and 4 standard errors."""
    rng, number = np.random.default_rng(7), 2_000_000
    total = rng.binomial(1024, 0.2, size=number) + sum(rng.laplace(scale=5.0, size=number) for _ in range(11))
    for t, reference in zip((100, 1000, 10_000), expected, strict=True):
        upper = central.private_kl_index(
            jnp.asarray(total, jnp.float32), jnp.full(number, 1024, jnp.int32), jnp.int32(t), jnp.float32(0.2), exploration
        )
        failed = float(np.mean(np.asarray(upper) < 0.2))
        assert abs(t * failed - reference) <= 0.15 * reference + 4 * t * math.sqrt(failed / number)


@pytest.mark.parametrize("t", [100, 1000])
@pytest.mark.parametrize("mean", [0.05, 0.2, 0.5])
def test_indices_lie_above_the_mean_but_once_in_t(t, mean):
    """P(U < w) <= 1 / t for F and DP-F at several counts, epsilon 0.5; 1e5 samples, 4 standard errors."""
    rng, number, epsilon = np.random.default_rng(t), 100_000, 0.5
    allowed = 1 / t + 4 * math.sqrt(1 / t / number)
    factor, flip = float(randomiser.debias_factor(epsilon)), float(randomiser.flip_probability(epsilon))
    for count in (1, 7, 8, 50, t):
        bits = rng.binomial(count, mean * (1 - 2 * flip) + flip, size=number) / count
        upper = factor * (bits - flip + math.sqrt(1.5 * math.log(t) / count))
        assert np.mean(upper < mean) <= allowed, ("F", count)
        for make in (counters.hybrid, counters.merged_hybrid):
            counter = make(num_streams=1, epsilon=epsilon)
            law = counter.law(count)
            noise = sum(rng.laplace(scale=b, size=number) for b, n in zip(law.scales, law.counts, strict=True) for _ in range(n))
            released = jnp.asarray(rng.binomial(count, mean, size=number) + noise, jnp.float32)
            index = central.ucb1(counter)
            counts = jnp.full(number, count, jnp.int32)
            kept = index.keeping.costly(released, counts, jnp.int32(t), *index.keeping.given)
            upper = np.asarray(index.upper(counters.Release(released, counts, counts), kept, jnp.int32(t)))
            assert np.mean(upper < mean) <= allowed, (make.__name__, count)
            # Without the radius for the noise it fails far more often.
            bare = np.asarray(released) / count + math.sqrt(1.5 * math.log(t) / count)
            assert count < 7 or np.mean(bare < mean) > 4 * allowed
