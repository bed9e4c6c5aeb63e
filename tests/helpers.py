"""What many tests need: every policy by discovery, with values for its arguments."""

import functools
import inspect

from jaxbandits import policies

CASCADE = {name: getattr(policies.cascade, name) for name in policies.cascade.__all__}
VALUES = {"epsilon": 1.0, "delta": 1e-3, "horizon": 1000}


def swept(factory, **values):
    """The values for those arguments that the factory has."""
    parameters = inspect.signature(factory).parameters
    return {k: v for k, v in {**VALUES, **values}.items() if k in parameters}


def build(factory, num_items, list_len, **values):
    """The policy with the usual values for what it needs."""
    return factory(num_items=num_items, list_len=list_len, **swept(factory, **values))


def bind(factory, **values):
    """The factory with the usual values fixed, for a study."""
    return functools.partial(factory, **swept(factory, **values))
