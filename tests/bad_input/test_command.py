"""Every option of every command with bad values: exit status 2, one line or the parser's own usage error, no traceback."""

import dataclasses
import math
import pathlib
import types
import typing

import pytest

from jaxbandits.cli.catalogue import List
from jaxbandits.cli.privacy import Audit, Privacy
from jaxbandits.cli.run import Plot, Run
from tests.bad_input import public
from tests.helpers import command_line

COMMANDS = {"list": List, "run": Run, "plot": Plot, "audit": Audit, "privacy": Privacy}
NOT_WHOLE = ("x", "1.5", "", "nan", "inf", "1e3", "9" * 30, "-1")
NOT_NUMBERS = ("x", "", "1,5", "nan", "-1", "1e400")
BAD = {int: NOT_WHOLE, float: NOT_NUMBERS, bool: ("maybe",), str: ("nope", ""), pathlib.Path: ("nowhere/file.foo", "")}
ALLOWED = {("epsilon", "1e400"), ("store", "nowhere/file.foo"), ("compiled", "nowhere/file.foo"), ("compiled", "")}
"""An epsilon of infinity is none; what a store is called is free."""
PLAYED = {
    "means": ["ldp_ucb_bernoulli"],
    "oracle": ["cucb_ldp1"],
    "dim": ["ldp_glm"],
    "num_actions": ["ldp_glm"],
    "link": ["ldp_glm"],
    "domain": ["ldp_gaussian_two_point"],
    "losses": ["ldp_gaussian_two_point"],
    "num_agents": ["hdp_mab"],
    "network": ["hdp_mab"],
    "num_components": ["hdp_mab"],
    "delta": ["gaussian_ucb"],
}
"""Policies that look at an option; for the others one that displays lists."""


class CompiledError(Exception):
    """Something was about to be compiled."""


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    def stop(*args, **kwargs):
        raise CompiledError

    monkeypatch.setattr("jaxbandits.engine.tiles.compile_tile", stop)
    monkeypatch.chdir(tmp_path)
    public.results().to_netcdf(tmp_path / "run.nc", engine="scipy")
    (tmp_path / "text.nc").write_text("not a dataset")

    return command_line(monkeypatch, capsys)


def base(name, option=""):
    """Words that are right but for an option."""
    if name in ("run", "audit"):
        return [name, "--policies", *PLAYED.get(option, ["laplace_ucb"]), *([] if option == "epsilon" else ["--epsilon", "1"])]
    return {"list": ["list"], "plot": ["plot", "run.nc", "figure.png"], "privacy": ["privacy", "run.nc"]}[name]


def kind(hint):
    """The type of the values of an option, and the words that it may have, if they are a few."""
    if typing.get_origin(hint) is typing.Annotated:
        return kind(typing.get_args(hint)[0])
    if typing.get_origin(hint) is typing.Literal:
        return str
    inside = [t for t in typing.get_args(hint) if t not in (types.NoneType, Ellipsis)]
    return kind(inside[0]) if inside else hint


def faults():
    """(command, option, value): each option that a command has, with what it cannot be."""
    for name, options in COMMANDS.items():
        for option, hint in flat(options):
            for value in BAD[kind(hint)]:
                if (option, value) not in ALLOWED and option not in ("dataset", "out", "what"):
                    yield name, option, value


def flat(options):
    """The options with their types, those of groups too."""
    for option, hint in typing.get_type_hints(options, include_extras=True).items():
        group = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
        yield from flat(group) if dataclasses.is_dataclass(group) else [(option, hint)]


FAULTS = list(faults())


def said(status, out, err):
    """What is wrong with how bad words are refused; "" if nothing."""
    if status != 2 or out:
        return f"status {status}: {out}"
    if "Traceback" in err:
        return err
    usage = "For full helptext, " in err  # of the parser
    return "" if usage or (err.startswith("jaxbandits: ") and len(err.splitlines()) == 1) else err


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_options_are_refused_in_one_line(command, name):
    found = []
    for _, option, value in (fault for fault in FAULTS if fault[0] == name):
        flag = "--" + option.replace("_", "-")
        words = [f"{flag}={value}"] if value.startswith("-") else [flag, value]
        try:
            status, out, err = command(*base(name, option), *words)
        except Exception as error:  # any other is what a user should not see
            found.append(f"{words}: {type(error).__name__}: {error}")
            continue
        named = value == "maybe" or option.replace("_", "-") in err.replace("_", "-")
        wrong = said(status, out, err) or ("" if named else f"does not name it: {err}")
        found += [f"{words}: {wrong}"] if wrong else []
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["list", "--nonsense"],
        ["list", "nonsense"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--most-seeds", "50"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--precision", "0"],
        ["plot", "run.nc", "figure.png", "--against", "delta"],
        ["run"],
        ["run", "--policies"],
        ["run", "--policies", "laplace_ucb", "--epsilon"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--nonsense", "1"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "1"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "nan"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--means", "0.5", "2", "0.1", "0.1", "0.1"],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--means", "0.5", "0.1"],
        ["run", "--policies", "ldp_ucb_bernoulli", "--epsilon", "1", "--means", *["nan"] * 40],
        ["run", "--policies", "laplace_ucb", "--epsilon", "1", "--list-len", "21"],
        ["run", "--policies", "cdp_mab", "--epsilon", "1", "--num-agents", "0"],
        ["run", "--policies", "hdp_mab", "--epsilon", "1", "--num-agents", "0"],
        ["run", "--policies", "hdp_mab", "--epsilon", "1", "--num-agents", "5", "--num-components", "2"],
        ["run", "--policies", "ddp_mab", "--epsilon", "1", "--num-agents", "4", "--num-components", "2"],
        ["run", "--policies", "hdp_mab", "--epsilon", "1", "--num-agents", "5", "--network", "grid"],
        ["audit"],
        ["audit", "--policies", "laplace_ucb"],
        ["audit", "--policies", "laplace_ucb", "--epsilon", "1", "--present", "4"],
        ["audit", "--policies", "ldp_gaussian_two_point", "--epsilon", "1", "--runs", "1"],
        ["plot"],
        ["plot", "run.nc"],
        ["plot", "run.nc", "figure.foo"],
        ["plot", "run.nc", "nowhere/figure.png"],
        ["plot", "run.nc", ""],
        ["plot", "text.nc", "figure.png"],
        ["plot", "none.nc", "figure.png"],
        ["plot", ".", "figure.png"],
        ["privacy"],
        ["privacy", "text.nc"],
        ["privacy", "."],
        ["privacy", "run.nc", "--delta", "1"],
        ["privacy", "run.nc", "--rounds", "0"],
    ],
    ids=" ".join,
)
def test_bad_words_are_refused(command, words):
    assert not said(*command(*words))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_without_a_bad_one_are_right(command, name):
    try:
        assert command(*base(name))[0] == 0
    except CompiledError:
        assert name in ("run", "audit")


def test_faults_are_many():
    assert len(FAULTS) >= 150
    assert all(dataclasses.is_dataclass(options) for options in COMMANDS.values())
    assert math.isinf(float("1e400"))
