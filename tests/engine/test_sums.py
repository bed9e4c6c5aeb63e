"""Sums over many rounds."""

import jax
import numpy as np
from jax import lax

from jaxbandits.engine import sums


def test_a_million_small_terms_on_a_large_sum():
    start, term, rounds = np.float32(3e4), np.float32(7e-4), 1_000_000

    @jax.jit
    def accumulate(total):
        plain = total.high
        return lax.fori_loop(0, rounds, lambda _, c: (sums.add(c[0], term), c[1] + term), (total, plain))

    total, plain = accumulate(sums.Sum(high=np.full(16, start), low=np.zeros(16, np.float32)))
    exact = float(start) + rounds * float(term)
    np.testing.assert_allclose(sums.on_host(total), exact, rtol=1e-7)
    assert np.all(np.abs(np.asarray(plain) - exact) > 100), "a plain float32 sum must fail this test"
