"""Every public function, each argument, each kind of bad value: a ValueError that says what was wrong, before anything compiles."""

import contextlib
import inspect
import re

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.bad_input import places, public

FAULTS = {
    name: {
        (argument, kind): strategy
        for argument, parameter in public.parameters(function).items()
        for kind, strategy in places.bad(name, argument, parameter.default is None).items()
    }
    for name, function in public.functions().items()
}
"""name -> (argument, kind of badness) -> bad values."""
EVERY = pytest.mark.parametrize("name", FAULTS)
# An example holds a value for every fault, so that a smaller one says no more and takes long to find.
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


class CompiledError(Exception):
    """Something was about to be compiled."""


@pytest.fixture(autouse=True)
def _nothing_compiles(monkeypatch, tmp_path):
    def stop(*args, **kwargs):
        raise CompiledError

    monkeypatch.setattr("jaxbandits.engine.tiles.compile_tile", stop)
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def shown(value):
    """What a message may show of a value: its beginning, a part of it, the number or array it is, its size, or what a function gave."""
    forms = [value, *(value if isinstance(value, list | tuple) else ()), *([*value, *value.values()] if isinstance(value, dict) else ())]
    forms += [float(v) for v in forms if isinstance(v, int | float | np.integer | np.floating)]
    if isinstance(value, np.ndarray) or (isinstance(value, list) and all(isinstance(v, float) for v in value)):
        forms += [np.asarray(value), *np.ravel(value).tolist()]
    texts = {" ".join(repr(form).split())[:100] for form in forms}
    texts |= {f"got {len(value)}", "got shapes (", f"shape {np.shape(value)}"} if isinstance(value, np.ndarray) and value.ndim else set()
    texts |= {f"got {len(value)}", "got shapes ("} if isinstance(value, list | tuple) else set()
    given = {f"{verb} {result}" for verb in ("got", "gave", "gives", "returned") for result in (None, 1.0)}
    return texts | ({*given, "failed with TypeError"} if callable(value) else set())


def wrong_with(name, argument, value):
    """What is wrong with how a bad value is refused; "" if nothing."""
    try:
        found = public.call(name, {**public.valid(name), argument: value})
    except ValueError as error:
        said = str(error)
        if not re.search(rf"(?<![A-Za-z_]){argument}(?![A-Za-z_])", said):
            return f"does not name it: {said}"
        if not any(form in said for form in shown(value)):
            return f"does not show it: {said}"
        return "" if " must " in said else f"does not say what is allowed: {said}"
    except Exception as error:  # any other is what a user should not see
        return f"{type(error).__name__}: {error}"
    return f"returned {found!r}"


def refused(name):
    """Draws a value of each bad kind for each argument, one at a time."""

    @given(st.fixed_dictionaries(FAULTS[name]))
    def check(values):
        found = {place: wrong for place, value in values.items() if (wrong := wrong_with(name, place[0], value))}
        said = (f"{name}({argument}={values[argument, kind]!r:.80}), {kind}: {found[argument, kind]:.300}" for argument, kind in found)
        assert not found, "\n".join(said)

    return check


@EVERY
def test_bad_values_are_refused(name):
    settings(derandomize=True, max_examples=1, **QUIET)(refused(name))()


@pytest.mark.full
@EVERY
def test_many_bad_values_are_refused(name):
    settings(max_examples=30, **QUIET)(refused(name))()


def test_faults_are_many():
    """Of kinds, for each argument of each function that was found; a function that is not found any more would be missed here."""
    assert len(FAULTS) >= 250
    assert sum(map(len, FAULTS.values())) >= 15_000
    assert {argument for faults in FAULTS.values() for argument, _ in faults} >= {
        "epsilon",
        "means",
        "oracle",
        "dataset",
        "network",
        "grid",
    }


@EVERY
def test_the_same_call_without_a_bad_value_is_valid(name):
    """Else another argument would have been refused."""
    try:
        public.call(name, public.valid(name))
    except CompiledError:
        assert name in ("run", "run_to_precision", "privacy.audit", "privacy.transcripts")


@EVERY
def test_numbers_of_any_kind_are_accepted(name):
    """Integers and numbers of NumPy and JAX, for those of Python."""
    arguments = public.valid(name)
    for argument, value in arguments.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            for kind in (np.asarray, jnp.asarray, np.int64 if isinstance(value, int) else np.float32):
                with contextlib.suppress(CompiledError):
                    public.call(name, {**arguments, argument: kind(value)})


@EVERY
def test_missing_and_unknown_arguments_are_python_errors(name):
    function, arguments = public.functions()[name], public.valid(name)
    kinds = inspect.signature(function).parameters.values()
    for parameter in kinds:
        if parameter.default is parameter.empty and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            with pytest.raises(TypeError, match=f"required .*argument.*'{parameter.name}'"):
                function(**{k: v for k, v in arguments.items() if k != parameter.name})
    if not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in kinds):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
            function(**arguments, nonsense=1)
