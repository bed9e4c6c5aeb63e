"""Sums over many rounds."""

import jax
import numpy as np
import pytest
from jax import lax

from jaxbandits.engine import sums

FORMS = {
    "settled": (lambda total: total, sums.add, lambda total: total),
    "running": (lambda total: lax.complex(total.high, total.low), sums.grown, sums.at_rest),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_million_small_terms_on_a_large_sum(form):
    start, term, rounds = np.float32(3e4), np.float32(7e-4), 1_000_000
    begin, add, end = FORMS[form]

    @jax.jit
    def accumulate(total):
        plain = total.high
        return lax.fori_loop(0, rounds, lambda _, c: (add(c[0], term), c[1] + term), (begin(total), plain))

    total, plain = accumulate(sums.Sum(high=np.full(16, start), low=np.zeros(16, np.float32)))
    exact = float(start) + rounds * float(term)
    np.testing.assert_allclose(sums.on_host(end(total)), exact, rtol=1e-7)
    assert np.all(np.abs(np.asarray(plain) - exact) > 100), "a plain float32 sum must fail this test"


def test_the_two_forms_are_the_same_sum():
    terms = np.random.default_rng(1).uniform(0, 1, (1000, 8)).astype(np.float32)
    settled, _ = lax.scan(lambda total, x: (sums.add(total, x), None), sums.zero((8,)), terms)
    running, _ = lax.scan(lambda total, x: (sums.grown(total, x), None), sums.running((8,)), terms)
    for one, other in zip(settled, sums.at_rest(running), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(sums.on_host(settled), terms.sum(axis=0, dtype=np.float64), rtol=1e-7)
