"""Tests run strict: no silent change of dtype or rank, and figures without a screen."""

import jax
import matplotlib

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
matplotlib.use("Agg")


def pytest_collection_modifyitems(config, items):
    """Leaves out the full-size runs unless a marker expression was given."""
    if config.getoption("-m"):
        return
    full = [item for item in items if "full" in item.keywords]
    config.hook.pytest_deselected(items=full)
    items[:] = [item for item in items if "full" not in item.keywords]
