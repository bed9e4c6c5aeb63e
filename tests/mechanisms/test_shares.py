"""Noise in shares: the sum of all is Laplace, and a sum of fewer is not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.mechanisms import shares
from tests.helpers import numbers


def sums(num_shares, runs, added=None, scale=1.0):
    """Sums of shares, the first ``added`` of them."""
    law = shares.laplace(num_shares=num_shares)
    z = numbers(law.draws, runs * num_shares)
    each = jax.jit(jax.vmap(lambda z: law.make(scale, z), in_axes=-1))({k: jnp.asarray(v) for k, v in z.items()})
    return np.asarray(each, np.float64).reshape(runs, num_shares)[:, :added].sum(axis=1)


@pytest.mark.parametrize(("num_shares", "runs"), [(1, 100_000), (4, 60_000), (64, 8_000)])
def test_the_sum_is_laplace(num_shares, runs):
    found = sums(num_shares, runs, scale=0.5)
    assert stats.kstest(found, stats.laplace(scale=0.5).cdf).pvalue > 1e-4
    assert found.var() == pytest.approx(2 * 0.5**2, abs=4.5 * 0.5 * np.sqrt(5 / runs))


def test_other_laws_are_told_apart():
    assert stats.kstest(sums(4, 60_000, 3), stats.laplace.cdf).pvalue < 1e-6  # one has dropped out
    assert stats.kstest(sums(4, 60_000, 3), stats.laplace(scale=0.75**0.5).cdf).pvalue < 1e-6  # and it is no Laplace of less variance


@pytest.mark.parametrize("bad", [0, -1, 2.5, 5000, None])
def test_number_of_shares_is_checked(bad):
    with pytest.raises(ValueError, match="num_shares must be an integer from 1 to 4096; got"):
        shares.laplace(num_shares=bad)
