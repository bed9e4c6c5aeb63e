"""An audit of the policy that was run: a lower bound on its epsilon, from transcripts of neighbouring users.

On half of the runs an event is chosen that tells the users apart; on the other half its probabilities are bounded by Clopper and Pearson.
An epsilon that exceeds the one claimed is a violation, at the confidence asked for. The reverse proves nothing: an audit finds leaks, and
cannot show that there is none. Its events add up what each number of a transcript tells on its own, so a leak that shows only in several
together, such as a bit hidden in the exclusive or of two, is missed. So is the
sign of a reward times features that are random and symmetric: audit a contextual policy with ``contexts.fixed``. The features of a
round are those of the problem in both worlds; only replies differ. Jagielski, Ullman, Oprea: Auditing Differentially Private Machine
Learning, 2020.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxbandits import validate
from jaxbandits.core import Claim, Policy, Problem, PyTree
from jaxbandits.privacy import events
from jaxbandits.privacy.transcripts import Transcripts, transcripts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes:
      claim: what the policy says.
      epsilon: lower bound on the true epsilon at ``delta``, 0 or more; holds with probability ``confidence``.
      delta: at which it is.
      confidence: of the bound.
      runs: for each of the users, half of them to choose the event and half to bound it.
      users: the two replies that the event tells apart.
      probabilities: of the event, as it occurred in the second half, under the first and under the second user.
      event: what it looks at, in words; ``action[1, 0]`` is the first place of the second action after the user's round.
      most: the largest bound that so many runs can show, which an event that is certain with one user and absent with the other reaches.
      hint: what else to audit, or nothing.
    """

    claim: Claim
    epsilon: float
    delta: float
    confidence: float
    runs: int
    users: tuple[Any, Any]
    probabilities: tuple[float, float]
    event: str
    most: float
    hint: str = ""

    @property
    def violated(self) -> bool:
        """Whether the true epsilon is above the one claimed or named, at the confidence of the audit.

        Never at a delta below that of the claim, of which the claim says nothing.
        """
        return self.delta >= float(self.claim.delta) and self.epsilon > float(self.claim.epsilon)

    def __str__(self) -> str:
        full = f", the most that {self.runs:,} runs can show" if self.epsilon > 0.99 * self.most else ""
        found = f"epsilon >= {self.epsilon:.3g}{full} at delta {self.delta:g}, {100 * self.confidence:g} % confidence"
        nominal = float(self.claim.epsilon)
        against = self.claim.label() if self.claim.guaranteed or not np.isfinite(nominal) else f"no guarantee, nominal {nominal:g}"
        silent = ", which says nothing of this delta" if self.delta < float(self.claim.delta) else ""
        verdict = (": REFUTED" if self.claim.guaranteed else " is exceeded") if self.violated else ""
        return f"{found}; {against}{silent}{verdict}{f'; {self.hint}' if self.hint else ''}"


def audit(
    policy: Callable[..., Policy],
    problem: Callable[..., Problem],
    *,
    users: Sequence[PyTree] | None = None,
    present: int = 1,
    horizon: int = 3,
    runs: int = 2**18,
    delta: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Bounds the true epsilon of a policy from below, by running it.

    Each run is played by users of the problem, but for one who takes part in one round, and who is another one in each world. The bound is
    sharpest if the user comes early, since later users add nothing but noise. Every world has the same number of runs, and the numbers of
    one are independent of those of another. Memory: runs times the numbers of a transcript.

    Args:
      policy: factory of the policy, as a study takes it, with all arguments but sizes fixed.
      problem: factory of the problem.
      users: two or more different replies, one for each world: raw feedback as the policy's ``report`` gets it, ``[0, list_len]`` for a
        click in front and none, ``[0, 1]`` for rewards, ``[[0, 0], [1, 1]]`` for the bits of a super arm; with ``present`` 0 a bit for
        each item or arm. By default a few that tend to be far apart.
      present: the round in which the audited user takes part; 0 is the user whose preview, a raw bit for each item or arm, some printed
        algorithms start from.
      horizon: rounds of a run, at least ``present``.
      runs: in each world; half of them choose the event, half bound its probabilities.
      delta: of the bound; by default that of the claim.
      confidence: of the bound.
      seed: of the runs.

    Raises:
      ValueError: if an argument is out of range, or the policy does not play the problem.
    """
    validate.scalar("confidence", confidence, "above 0 and below 1", lambda c: 0 < c < 1)
    if delta is not None:
        validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)
    seen = transcripts(policy, problem, users=users, present=present, horizon=horizon, runs=runs, seed=seed)
    return judge(seen, delta=delta, confidence=confidence)


def judge(seen: Transcripts, *, delta: float | None = None, confidence: float = 0.95) -> Audit:
    """The audit of transcripts that were made already; ``audit`` makes and judges them.

    Args:
      seen: what ``transcripts`` returned.
      delta: of the bound; by default that of the claim.
      confidence: of the bound.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scalar("confidence", confidence, "above 0 and below 1", lambda c: 0 < c < 1)
    if not isinstance(seen, Transcripts):
        raise ValueError(f"seen must be what transcripts returned; got {seen!r}")
    lengths = {np.shape(world) for world in seen.worlds}
    if len(seen.worlds) < 2 or len(lengths) != 1 or min(lengths)[0] < 2:
        raise ValueError(f"seen must have two worlds or more of the same number of runs, at least 2; got shapes {sorted(lengths)}")
    if any(np.isnan(world).any() for world in seen.worlds):
        raise ValueError("seen must be numbers; a transcript has NaN")
    wanted = seen.claim.delta if delta is None else delta
    validate.scalar("delta", wanted, "at least 0 and below 1", lambda d: 0 <= d < 1)
    delta = float(wanted)
    runs = len(seen.worlds[0])
    half = runs // 2
    event = events.choose([world[:half] for world in seen.worlds], delta)
    found, probabilities, pair, words = 0.0, (0.0, 0.0), (0, 1), "no event was found"
    if event is not None:
        pair, left = (event.first, event.second), runs - half
        hits = [int(event.holds(seen.worlds[world][half:]).sum()) for world in pair]
        found = float(events.epsilon_bound(np.asarray(hits[0]), np.asarray(hits[1]), left, delta, confidence))
        probabilities = hits[0] / left, hits[1] / left
        words = f"a score of {', '.join(seen.names[i] for i in event.numbers)}"
    return Audit(
        claim=seen.claim,
        epsilon=found,
        delta=delta,
        confidence=confidence,
        runs=runs,
        users=(seen.users[pair[0]], seen.users[pair[1]]),
        probabilities=probabilities,
        event=words,
        most=float(events.epsilon_bound(np.asarray(runs - half), np.asarray(0), runs - half, delta, confidence)),
        hint=_hint(seen),
    )


def _hint(seen: Transcripts) -> str:
    if all(np.ptp(world, axis=0).max(initial=0.0) == 0 for world in seen.worlds) and np.array_equal(seen.worlds[0][0], seen.worlds[1][0]):
        return "nothing that was seen ever varies: a longer horizon may show more"
    if seen.present == 0:
        return "" if seen.starts_raw else "it reads no preview, so that present=0 tests nothing"
    return "it starts from a raw reply: audit present=0 too" if seen.starts_raw else ""
