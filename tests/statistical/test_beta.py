"""The Beta variables of Thompson sampling follow the Beta law, and not a nearby one."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from jaxbandits.mechanisms.gamma import TRIES
from jaxbandits.policies.armed.lazy import beta_log_odds

NUMBER = 200_000


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (1.0, 2.0), (3.5, 1.0), (40.0, 10.0), (3e5, 7e5)])
def test_beta_law(first, second):
    """Kolmogorov and Smirnov at 2e5 samples and level 1e-4; with one parameter 3 % larger it rejects."""
    rng = np.random.default_rng(11)
    normals = jnp.asarray(rng.normal(size=(TRIES, 2, NUMBER)), jnp.float32)
    uniforms = jnp.asarray(rng.random(size=(TRIES, 2, NUMBER)), jnp.float32)
    parameters = [jnp.full(NUMBER, p, jnp.float32) for p in (first, second)]
    sample = special.expit(np.asarray(beta_log_odds(*parameters, normals, uniforms), np.float64))
    assert stats.kstest(sample, stats.beta(first, second).cdf).pvalue > 1e-4
    assert stats.kstest(sample, stats.beta(first * 1.03, second).cdf).pvalue < 1e-4
