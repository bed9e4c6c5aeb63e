"""The words everybody here speaks: draws, problems, policies, claims.

One round of a simulated bandit has four beats. Each is a pure function written for one lane, that is one seed at one grid
point; the engine makes thousands of lanes of it.

    act      server   the state of the policy -> the action
    respond  user     the action -> the user's raw feedback
    report   user     the raw feedback -> the message, the only thing that leaves the user's device
    update   server   the message -> the next state

The trust boundary is a function boundary: local privacy lives in ``report``, central privacy in ``update``.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from jax import Array

PyTree = Any


class Draw(NamedTuple):
    """One declared random quantity of a round.

    ``law`` turns ``words`` uniform 32-bit words into the values, on axis 0: uint32[words, ...] -> [size, ...] with size the
    product of ``shape``. Trailing axes are carried along. A law is a pure function, so a reference implementation can be fed
    the same values.
    """

    law: Callable[[Array], Array]
    shape: tuple[int, ...]
    words: int


Draws = Mapping[str, Draw]
"""The draws one round needs, by name."""


class Round(NamedTuple):
    """What is public before the action of a round.

    Attributes:
      t: int32 (), the number of the round, from 1.
      context: what the decision may look at; () if the problem has none.
      broadcast: what the server tells all devices in this round; only ``report`` gets it, and () if the policy has none.
    """

    t: Array
    context: PyTree
    broadcast: PyTree = ()


class ActionKind(NamedTuple):
    """What an action looks like: its shape, and its type by name."""

    shape: tuple[int, ...]
    dtype: str


class Problem(NamedTuple):
    """Where users come from. Nothing of its randomness depends on what the policy does.

    Attributes:
      sizes: the static sizes (num_items, list_len, ...) that policy factories of the same family take as arguments, by name; a
        study fills them in.
      setup_draws: what setup and preview need, drawn once for each seed.
      draws: what context and respond need, drawn in each round.
      setup: (setup draws) -> instance: what this seed meets.
      preview: (instance, setup draws) -> one user's raw reply about everything, which some published algorithms start from.
      context: (instance, t, draws) -> context of round t.
      respond: (instance, round, action, draws) -> the user's raw feedback.
      regret: (instance, round, action) -> expected regret of the round, float32 ().
      legal: (instance, action) -> bool (): whether the action is one of the problem's at all. Looked at at checkpoints.
      shared: what else policies of the family take as arguments, by name, such as the oracle of a semi-bandit; a study fills it in.
      realised: (instance, round, action, draws) -> what the round lost by its draws, float32 (), to be recorded beside the expected regret
        as ``realised_regret``; None, as usual, for no such record.
      action: shape and type of an action, such as ``ActionKind((2,), "float32")``; None for a list of items, int32 [list_len].
    """

    sizes: Mapping[str, int]
    setup_draws: Draws
    draws: Draws
    setup: Callable[[Mapping[str, Array]], PyTree]
    preview: Callable[[PyTree, Mapping[str, Array]], PyTree]
    context: Callable[[PyTree, Array, Mapping[str, Array]], PyTree]
    respond: Callable[[PyTree, Round, Array, Mapping[str, Array]], PyTree]
    regret: Callable[[PyTree, Round, Array], Array]
    legal: Callable[[PyTree, Array], Array]
    shared: Mapping[str, Any] = MappingProxyType({})
    realised: Callable[[PyTree, Round, Array, Mapping[str, Array]], Array] | None = None
    action: ActionKind | None = None


LOSSES = ("regret", "realised_regret")
"""What is added up over the rounds: the expected regret, and the realised one if the problem has it."""

Status = Literal["sound", "calibrated", "paper", "non-private"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """What a policy says about privacy, and whether it may say so.

    Only a ``sound`` claim with ``noise_scale`` 1 and a finite epsilon is a guarantee; the parameters of any other are nominal.
    A claim that is not sound names its flaw. Values may be traced; then only the static fields may be read.

    Attributes:
      status: ``sound`` has a proof; ``calibrated`` has its confidence radius repaired and its privacy not; ``paper`` is the
        algorithm as printed; ``non-private`` claims nothing.
      trust: who must be trusted: nobody but the user's own device (``local``), the server (``central``), or ``none`` when
        nothing is claimed.
      relation: the neighbouring relation, in words.
      sensitivity: norm and value of the sensitivity that the noise is scaled to, such as ``"L1 4"``.
      epsilon, delta: the privacy parameters, for one round of one user.
      noise_scale: the factor on the noise; a guarantee needs 1.
      flaw: why there is no guarantee; empty for a sound claim.
    """

    status: Status
    trust: Literal["local", "central", "none"] = "none"
    relation: str = ""
    sensitivity: str = ""
    epsilon: Any = math.inf
    delta: Any = 0.0
    noise_scale: Any = 1.0
    flaw: str = ""

    def __post_init__(self):
        if (self.status == "sound") == bool(self.flaw):
            raise ValueError(f"flaw must be empty for a sound claim and named otherwise; got status={self.status!r}, flaw={self.flaw!r}")
        if self.status == "sound" and self.trust == "none":
            raise ValueError("trust must be 'local' or 'central' for a sound claim; got 'none'")

    @property
    def guaranteed(self) -> bool:
        """True if the epsilon may be shown as a guarantee."""
        return self.status == "sound" and float(self.noise_scale) == 1.0 and math.isfinite(self.epsilon)

    def guarantee(self) -> tuple[float, float]:
        """(epsilon, delta) if they are a guarantee.

        Raises:
          ValueError: if they are not; the message says why.
        """
        if not self.guaranteed:
            scaled = f"noise_scale is {float(self.noise_scale):g}, a guarantee needs 1"
            why = self.flaw or (scaled if float(self.noise_scale) != 1.0 else f"epsilon is {float(self.epsilon):g}")
            raise ValueError(f"a {self.status} run has no privacy guarantee: {why}")
        return float(self.epsilon), float(self.delta)

    def label(self) -> str:
        """A few words for a legend: the guarantee, or that there is none."""
        if self.status == "non-private" or math.isinf(self.epsilon):
            return "non-private"
        if not self.guaranteed:
            return "no guarantee"
        epsilon, delta = self.guarantee()
        bound = f"{epsilon:g}" if delta == 0 else f"({epsilon:g}, {delta:g})"
        return f"{bound}-{'LDP' if self.trust == 'local' else 'DP'}"


NON_PRIVATE = Claim(status="non-private", flaw="the server sees the raw feedback")
"""The claim of a policy that does not protect anything."""


class Policy(NamedTuple):
    """One algorithm for one lane, that is one seed at one grid point, as a factory returns it.

    ``report`` gets only the device's draws and ``act`` and ``update`` only the server's, so neither side knows the noise of the
    other. Noise of a central policy is drawn on the server and added in ``update``. In a cascade the action is int32 [list_len],
    the items from the top; the feedback is the position of the click, int32 (), from 0, and list_len if there is none. In a K-armed
    bandit the action is int32 [1], a list of one arm, and the feedback the reward, int32 (). In a semi-bandit the action is a super arm,
    int32 [list_len], a place without an arm holding num_base_arms, and the feedback the bit of each place, int32 [list_len]. In a
    contextual bandit the context is the features of all actions, float32 [num_actions, dim], the action int32 [1], the number of one of
    them, and the feedback the reward, float32 (). In convex optimisation the action is a point, float32 [dim], and the feedback its loss,
    float32 (), or two points, [2, dim], and two losses, [2].

    Attributes:
      claim: what the policy says about privacy. It is the author's word: nothing here proves it.
      device_draws: the draws of report, by name.
      server_draws: the draws of act and update, by name.
      init: (preview) -> state. A sound policy ignores the preview: it is one user's raw data.
      act: (state, round, server draws) -> action.
      report: (round, action, feedback, device draws) -> message, all that leaves the user's device.
      update: (state, t, action, message, server draws) -> the next state, of the same shapes and types.
      settle: state -> state, every 4096 rounds, for what a state needs seldom, such as moving a float32 sum that would lose small
        terms into a compensated one; None if nothing.
      released: state -> what the noise of a trusted server has let out so far, beside the actions: what the claim of a central policy
        covers, and what an audit looks at; None for the actions alone.
      broadcast: state -> what the server tells all devices in each round, which ``report`` finds in ``round.broadcast``; None for nothing.
        It is made of messages, so it is as private as they are.
      derived: arguments that the factory worked out itself on the host in float64, such as a calibrated sigma, by name. A sweep
        hands them back to the factory, so that nothing costly or delicate is traced; they default to None in its signature.
    """

    claim: Claim
    device_draws: Draws
    server_draws: Draws
    init: Callable[[PyTree], PyTree]
    act: Callable[[PyTree, Round, Mapping[str, Array]], Array]
    report: Callable[[Round, Array, PyTree, Mapping[str, Array]], PyTree]
    update: Callable[[PyTree, Array, Array, PyTree, Mapping[str, Array]], PyTree]
    settle: Callable[[PyTree], PyTree] | None = None
    released: Callable[[PyTree], PyTree] | None = None
    broadcast: Callable[[PyTree], PyTree] | None = None
    derived: Mapping[str, Any] = MappingProxyType({})


def told(policy: Policy, state: PyTree) -> PyTree:
    """What the server tells all devices; () if nothing."""
    return () if policy.broadcast is None else policy.broadcast(state)


def fingerprint(value: Any) -> Any:
    """A description of a value made of JSON types: equal values give equal descriptions, in every process.

    Functions are described by name, those outside this package also by a digest of their source and of what they close over,
    so that a changed definition is a different value.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Bound):
        return {"function": fingerprint(value.function), "arguments": {k: fingerprint(v) for k, v in sorted(value.arguments.items())}}
    if isinstance(value, Mapping):
        return {str(k): fingerprint(v) for k, v in value.items()}
    if isinstance(value, functools.partial):
        return {"function": fingerprint(value.func), "arguments": [fingerprint(value.args), fingerprint(value.keywords)]}
    if isinstance(value, list | tuple):
        return [fingerprint(v) for v in value]
    if hasattr(value, "tolist"):  # NumPy and JAX arrays and scalars
        return fingerprint(value.tolist())
    if callable(value):
        return _function_fingerprint(value)
    return re.sub(r"0x[0-9a-f]+", "", repr(value))  # addresses differ from process to process


def _function_fingerprint(function: Callable) -> str:
    name = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    if name.startswith("jaxbandits."):
        return f"{name}{json.dumps(fingerprint(cells))}" if cells else name
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or not written in Python
        code = getattr(function, "__code__", None)
        source = re.sub(r"0x[0-9a-f]+", "", repr([getattr(code, part, b"") for part in ("co_code", "co_consts", "co_names")]))
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    inside = json.dumps([source, [fingerprint(c) for c in cells], fingerprint(defaults)])
    return f"{name}#{hashlib.sha256(inside.encode()).hexdigest()[:16]}"


def frozen(value: Any) -> Any:
    """The value, a NumPy array as a copy that cannot be written to: a study keeps what it was given."""
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.setflags(write=False)
    return copy


class Bound:
    """A factory with some of its arguments: what ``functools.partial`` makes, but compared and hashed by value."""

    def __init__(self, function: Callable, arguments: Mapping[str, Any]):
        """Args: the factory and keyword arguments for it."""
        self.function, self.arguments = function, {k: frozen(v) for k, v in arguments.items()}
        self._key = (function, json.dumps({k: fingerprint(v) for k, v in sorted(self.arguments.items())}))

    def __call__(self, **arguments: Any) -> Any:
        """The factory's result with these arguments too."""
        return self.function(**self.arguments, **arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
