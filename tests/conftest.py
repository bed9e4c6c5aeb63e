"""Tests run strict: no silent change of dtype or rank, and figures without a screen.

The same program is compiled once for all workers: most tests make their policies anew, and with them functions that JAX cannot know to be
those of another test. JAX tells programs apart by their code, the options they are compiled with, and the version and settings of the
compiler, so a test runs what it would have compiled.
"""

import tempfile

import jax
import matplotlib
import matplotlib.pyplot as plt
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
matplotlib.use("Agg")


def pytest_configure(config):
    """Keeps compiled programs in a folder that the workers share and that lives as long as the run: what one run kept, no other reads."""
    folder = getattr(config, "workerinput", {}).get("compiled")
    if folder is None:
        made = tempfile.TemporaryDirectory(prefix="jaxbandits-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(made.cleanup)
        folder = config.compiled = made.name
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # the many small ones add up
    # A worker that reads what another is writing gets a part of it, which does not decompress; JAX then says so and compiles.
    config.addinivalue_line("filterwarnings", "ignore:Error reading persistent compilation cache entry:UserWarning")


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_configure_node(node):
    """Tells a worker the folder."""
    node.workerinput["compiled"] = node.config.compiled


def pytest_collection_modifyitems(config, items):
    """Leaves out the full-size runs unless a marker expression was given."""
    if config.getoption("-m"):
        return
    full = [item for item in items if "full" in item.keywords]
    config.hook.pytest_deselected(items=full)
    items[:] = [item for item in items if "full" not in item.keywords]


@pytest.fixture
def ordinary_promotion():
    """A user's settings, not those of the tests."""
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    jax.config.update("jax_numpy_rank_promotion", "allow")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    plt.close("all")
