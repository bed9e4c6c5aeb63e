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
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from jax import Array

from jaxbandits import validate

PyTree = Any
"""An array, or a tuple, a mapping or the like of several."""


class Draw(NamedTuple):
    """One declared random quantity of a round. ``engine.draws`` makes them: ``draws.uniform((3,))``, ``laplace``, ``normal``, ``bits``.

    Attributes:
      law: turns ``words`` uniform 32-bit words into values, on axis 0: uint32[words, ...] -> [size, ...], size at least the product of
        ``shape``: the first are used. Trailing axes are carried along. A law is pure, so a reference implementation can be fed the same.
      shape: of the numbers of one lane.
      words: how many 32-bit words they take.
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
    """What an action looks like.

    Attributes:
      shape: of the action.
      dtype: its type, by name.
    """

    shape: tuple[int, ...]
    dtype: str


class StretchProblem(NamedTuple):
    """A problem met a stretch at a time: many slots, in which what is pulled does not look at what comes in.

    What a stretch is, is between the problem and its policies; the engine only looks at its ``slots`` and its ``number``.

    Attributes:
      draws: what respond needs, drawn once for each stretch.
      respond: (instance, stretch, draws) -> the raw feedback of the whole stretch, such as sums, of the same law as slot by slot.
      regret: (instance, stretch, slots int32 ()) -> expected regret of its first slots, float32 ().
      legal: (instance, stretch) -> bool ().
    """

    draws: Draws
    respond: Callable[[PyTree, PyTree, Mapping[str, Array]], PyTree]
    regret: Callable[[PyTree, PyTree, Array], Array]
    legal: Callable[[PyTree, PyTree], Array]


class StretchPolicy(NamedTuple):
    """A policy that decides a stretch at a time. ``Policy.settle`` is not called: a state that changes so seldom must do without.

    Attributes:
      draws: what update needs, drawn once for each stretch.
      init: (preview) -> state.
      plan: (state) -> the next stretch, with ``slots``, int32 (), how long it is, from 1 on, and ``number``, int32 (), from 1 on, which
        of the draws it gets. Stretches of one number get the same draws, so no two that look at theirs may share it.
      update: (state, stretch, feedback, draws) -> the next state, of the same shapes and types.
    """

    draws: Draws
    init: Callable[[PyTree], PyTree]
    plan: Callable[[PyTree], Any]
    update: Callable[[PyTree, PyTree, PyTree, Mapping[str, Array]], PyTree]


class Problem(NamedTuple):
    """Where users come from. Nothing of its randomness depends on what the policy does.

    Actions and feedback are those of the family of its policies, which ``Policy`` lists. The arguments of every function are for one
    lane, and draws come as arrays of their declared shapes, by name; those of different names are independent. ``help(jb.problems)`` has
    an example.

    Attributes:
      sizes: the static sizes (num_items, list_len, ...) that policy factories of the same family take as arguments, by name; a
        study fills them in. They tell families apart: num_arms alone is a K-armed bandit, num_items and list_len are a cascade.
      setup_draws: what setup and preview need, drawn once for each seed.
      draws: what context and respond need, drawn in each round.
      setup: (setup draws) -> instance: what this seed meets.
      preview: (instance, setup draws) -> one user's raw reply about everything, such as a bit for each item or arm, int32, which some
        published algorithms start from.
      context: (instance, t, draws) -> context of round t; () if there is none.
      respond: (instance, round, action, draws) -> the user's raw feedback.
      regret: (instance, round, action) -> expected regret of the round, float32 (). The engine adds the rounds up.
      legal: (instance, action) -> bool (): whether the action is one of the problem's at all. Looked at at checkpoints.
      shared: what else policies of the family take as arguments, by name, such as the oracle of a semi-bandit; a study fills it in.
      realised: (instance, round, action, draws) -> what the round lost by its draws, float32 (), to be recorded beside the expected regret
        as ``realised_regret``; None, as usual, for no such record.
      action: shape and type of an action, such as ``ActionKind((2,), "float32")``; None for a list of items, int32
        [list_len], or of one arm, int32 [1].
      stretches: how to play it a stretch at a time, with policies that can; None if it is only played round by round. The law of every
        result is the same, and the cost does not grow with the horizon.
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
    stretches: StretchProblem | None = None


LOSSES = ("regret", "realised_regret")
"""What is added up over the rounds: the expected regret, and the realised one if the problem has it."""

Status = Literal["sound", "calibrated", "paper", "non-private"]
Trust = Literal["local", "agent", "central", "joint", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """What a policy says about privacy, and whether it may say so.

    Only a ``sound`` claim with ``noise_scale`` 1 and a finite epsilon is a guarantee; the parameters of any other are nominal.
    A claim that is not sound names its flaw. Values may be traced; then only the static fields may be read.

    Attributes:
      status: ``sound`` has a proof; ``calibrated`` has its confidence radius repaired and its privacy not; ``paper`` is the
        algorithm as printed; ``non-private`` claims nothing.
      trust: who must be trusted: nobody but the user's own device (``local``), the agent that serves the user but neither server nor
        other agents (``agent``), the server (``central``), the server where a user's own action is not protected (``joint``), or ``none``
        when nothing is claimed.
      relation: the neighbouring relation, in words.
      sensitivity: norm and value of the sensitivity that the noise is scaled to, such as ``"L1 4"``.
      epsilon, delta: the privacy parameters, for one round of one user.
      noise_scale: the factor on the noise; a guarantee needs 1.
      flaw: why there is no guarantee; empty for a sound claim.
    """

    status: Status
    trust: Trust = "none"
    relation: str = ""
    sensitivity: str = ""
    epsilon: Any = math.inf
    delta: Any = 0.0
    noise_scale: Any = 1.0
    flaw: str = ""

    def __post_init__(self):
        validate.one_of("status", self.status, get_args(Status))
        validate.one_of("trust", self.trust, get_args(Trust))
        for name in ("relation", "sensitivity", "flaw"):
            validate.instance(name, getattr(self, name), str, "a text")
        validate.scalar("epsilon", self.epsilon, "a number, at least 0", lambda e: e >= 0)
        validate.scalar("delta", self.delta, "from 0 to 1", lambda d: 0 <= d <= 1)
        validate.scale("noise_scale", self.noise_scale)
        if (self.status == "sound") == bool(self.flaw):
            raise ValueError(f"flaw must be empty for a sound claim and named otherwise; got status={self.status!r}, flaw={self.flaw!r}")
        if self.status == "sound" and self.trust == "none":
            raise ValueError("trust must be 'local', 'agent', 'central' or 'joint' for a sound claim; got 'none'")

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
        return f"{'joint ' if self.trust == 'joint' else ''}{bound}-{'LDP' if self.trust == 'local' else 'DP'}"


def without_epsilon(label: str) -> str:
    """A label whose epsilon is said elsewhere: "(1, 0.01)-LDP" is "LDP, delta 0.01"."""
    if not label.endswith("DP"):
        return label
    level, _, kind = label.rpartition("-")
    kind = f"joint {kind}" if level.startswith("joint ") else kind
    return f"{kind}, delta {level.rpartition('(')[2].strip(')').split(', ')[1]}" if "," in level else kind


NON_PRIVATE = Claim(status="non-private", flaw="the server sees the raw feedback")
"""The claim of a policy that does not protect anything."""


class Policy(NamedTuple):
    """One algorithm for one lane, that is one seed at one grid point, as a factory returns it.

    ``report`` gets only the device's draws and ``act`` and ``update`` only the server's, so neither side knows the noise of the
    other. Noise of a central policy is drawn on the server and added in ``update``. What actions and feedback are depends on the family:

    | family | action | feedback |
    |---|---|---|
    | cascade | int32 [list_len], the items from the top | int32 (), the position of the click, from 0; list_len if there is none |
    | K-armed | int32 [1], a list of one arm | the reward, int32 () for bits and float32 () otherwise |
    | semi-bandit | int32 [list_len], a place without an arm holding num_base_arms | int32 [list_len], the bit of each place |
    | contextual | int32 [1], which row of the context, float32 [num_actions, dim], features | float32 (), the reward |
    | convex | float32 [dim], a point, or [2, dim], two | float32 (), its loss, or [2], both |
    | federated | int32 [num_agents], the arm of each | int32 [num_agents], the reward of each |

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
      released: state -> what the noise of a trusted server or agent has let out so far, beside the actions: what the claim of such a
        policy covers, and what an audit looks at; None for the actions alone.
      broadcast: state -> what the server tells all devices in each round, which ``report`` finds in ``round.broadcast``; None for nothing.
        It is made of messages, so it is as private as they are.
      derived: arguments that the factory worked out itself on the host in float64, such as a calibrated sigma, by name. A sweep
        hands them back to the factory, so that nothing costly or delicate is traced; they default to None in its signature.
      stretches: the same algorithm a stretch at a time, for problems that can be played so; None if it decides round by round.
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
    stretches: StretchPolicy | None = None


def told(policy: Policy, state: PyTree) -> PyTree:
    """What the server tells all devices; () if nothing."""
    return () if policy.broadcast is None else policy.broadcast(state)
