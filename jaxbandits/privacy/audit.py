"""An audit of the policy that was run: a lower bound on its epsilon, from transcripts of neighbouring users.

Many runs differ in one user alone. What an observer sees of each is its transcript: under local privacy the message that leaves the
user's device, and the actions; under central privacy the actions, and what the server's noise lets out. On half of the runs an event
is chosen that tells the users apart; on the other half its probabilities are bounded by Clopper and Pearson. An epsilon that exceeds the
one claimed is a violation, at the confidence asked for. The reverse proves nothing: an audit finds leaks, and cannot show that there is
none. Jagielski, Ullman, Oprea: Auditing Differentially Private Machine Learning, 2020.
"""

import concurrent.futures
import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import factories, validate
from jaxbandits.core import Bound, Claim, Policy, Problem, PyTree, Round
from jaxbandits.engine import draws, rehearsal, scan, tiles
from jaxbandits.privacy import events

MOST_ROUNDS = 10_000
"""The longest run of an audit: its transcript is kept whole."""


class Seen(NamedTuple):
    """A policy's state, and the transcript of its run."""

    state: PyTree
    message: PyTree  # of the audited user; () under central privacy
    actions: Array  # [horizon, length of an action]
    released: PyTree  # each [horizon, ...]; () under local privacy


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
      event: what it looks at, in words.
    """

    claim: Claim
    epsilon: float
    delta: float
    confidence: float
    runs: int
    users: tuple[Any, Any]
    probabilities: tuple[float, float]
    event: str

    @property
    def violated(self) -> bool:
        """Whether the true epsilon is above the one claimed or named, at the confidence of the audit."""
        return self.epsilon > float(self.claim.epsilon)

    def __str__(self) -> str:
        found = f"epsilon >= {self.epsilon:.3g} at delta {self.delta:g}, {100 * self.confidence:g} % confidence"
        nominal = float(self.claim.epsilon)
        against = f"{self.claim.label()}, nominal {nominal:g}" if not self.claim.guaranteed else self.claim.label()
        return f"{found}; {against}{': VIOLATED' if self.violated else ''}"


def _one_of(world: Array, users: Sequence[PyTree], like: PyTree) -> PyTree:
    """The reply of the user of a world, in the types of a reply."""

    def pick(reply, *each):
        chosen = jnp.asarray(each[0], reply.dtype)
        for number, other in enumerate(each[1:], 1):
            chosen = jnp.where(world == number, jnp.asarray(other, reply.dtype), chosen)
        return jnp.broadcast_to(chosen, reply.shape)

    return jax.tree.map(pick, like, *users)


class _Watched:
    """A factory like that of the policy, whose states carry transcripts, and whose user of one round is another one in each world."""

    def __init__(self, policy: Bound, users: tuple[PyTree, ...], present: int, blank: Seen):
        self.policy, self.users, self.present, self.blank = policy, users, present, blank

    def __call__(self, *, world: Array) -> Policy:
        inner, at = self.policy(), self.present

        def init(preview):
            start = inner.init(_one_of(world, self.users, preview) if at == 0 else preview)
            return self.blank._replace(state=start)

        def report(round_, action, feedback, z):
            swapped = _one_of(world, self.users, feedback)
            mine = jax.tree.map(lambda a, b: jnp.where(round_.t == at, a, b), swapped, feedback) if at else feedback
            return inner.report(round_, action, mine, z)

        def update(seen, t, action, message, z):
            state = inner.update(seen.state, t, action, message, z)

            def write(table, row):
                return jax.lax.dynamic_update_index_in_dim(table, jnp.asarray(row, table.dtype), t - 1, 0)

            keep = seen.message
            return Seen(
                state=state,
                message=jax.tree.map(lambda old, new: jnp.where(t == at, new, old), keep, message) if jax.tree.leaves(keep) else keep,
                actions=write(seen.actions, action),
                released=jax.tree.map(write, seen.released, _released(inner, state)),
            )

        return inner._replace(
            init=init,
            act=lambda seen, round_, z: inner.act(seen.state, round_, z),
            report=report,
            update=update,
            settle=None if inner.settle is None else lambda seen: seen._replace(state=inner.settle(seen.state)),
        )


def _local(policy: Policy) -> bool:
    """Whether an observer sees messages: nobody is trusted with them, or nothing is claimed."""
    return policy.claim.trust != "central"


def _released(policy: Policy, state: PyTree) -> PyTree:
    return () if _local(policy) or policy.released is None else policy.released(state)


class _Shapes(NamedTuple):
    """What one round of one lane is made of, as shapes and types."""

    preview: PyTree
    feedback: PyTree
    message: PyTree
    action: Any
    released: PyTree


def _shapes(problem: Problem, policy: Policy) -> _Shapes:
    def play(z):
        instance = problem.setup(z["setup"])
        preview, round_ = problem.preview(instance, z["setup"]), Round(jnp.int32(1), problem.context(instance, z["users"]))
        state = policy.init(preview)
        action = policy.act(state, round_, z["server"])
        feedback = problem.respond(instance, action, z["users"])
        message = policy.report(round_, action, feedback, z["device"])
        return _Shapes(preview, feedback, message, action, _released(policy, policy.update(state, round_.t, action, message, z["server"])))

    declared = {"setup": problem.setup_draws, "users": problem.draws, "device": policy.device_draws, "server": policy.server_draws}
    return jax.eval_shape(lambda: play({name: draws.sample(given) for name, given in declared.items()}))


def transcript(seen: Seen, present: int) -> PyTree:
    """What an observer saw since the audited user came, by name."""
    since = slice(max(present - 1, 0), None)
    return {
        "message": seen.message,
        "action": seen.actions[present:],
        "released": jax.tree.map(lambda table: table[since], seen.released),
    }


def _names(tree: PyTree) -> list[str]:
    """The name of each number of a tree of shapes."""
    names = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        parts = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", "")))) for key in path]
        name = ".".join(part for part in parts if part)
        names += [f"{name}[{', '.join(map(str, place))}]" if place else name for place in np.ndindex(leaf.shape)]
    return names


def _default_users(shape: Any, problem: Problem, present: int) -> tuple[Any, ...]:
    """Replies that tend to be far apart."""
    if present == 0:
        ends = np.zeros((2, *shape.shape)).astype(shape.dtype)
        ends[0, 0], ends[1, -1] = 1, 1
        return tuple(ends)
    if shape.shape:
        return np.zeros(shape.shape, shape.dtype), np.ones(shape.shape, shape.dtype)
    last = problem.sizes.get("list_len", 1)
    return (0, 1, last) if last > 1 else (0, 1)


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
      users: two or more replies, one for each world: raw feedback as the policy's ``report`` gets it, such as the position of a click, or,
        with ``present`` 0, raw previews. By default a few that tend to be far apart.
      present: the round in which the audited user takes part; 0 is the user whose preview the policy may start from.
      horizon: rounds of a run, at least ``present``.
      runs: in each world; half of them choose the event, half bound its probabilities.
      delta: of the bound; by default that of the claim.
      confidence: of the bound.
      seed: of the runs.

    Raises:
      ValueError: if an argument is out of range, or the policy does not play the problem.
    """
    present = validate.size("present", present, 0)
    horizon = validate.size("horizon", horizon, max(present, 1), MOST_ROUNDS)
    runs = validate.size("runs", runs, 32)
    validate.scalar("confidence", confidence, "above 0 and below 1", lambda c: 0 < c < 1)
    source = factories.bound("problem", problem)
    factories.require("problem", source, {})
    played = factories.build("problem", source, {}, Problem)
    factory = factories.with_horizon(factories.for_problem("policy", factories.bound("policy", policy), played), horizon)
    factories.require("policy", factory, {})
    audited = factories.build("policy", factory, {}, Policy)
    fixed = {k: v for k, v in audited.derived.items() if k not in factory.arguments}
    factory = Bound(factory.function, {**factory.arguments, **fixed})
    claim = audited.claim
    delta = float(claim.delta) if delta is None else delta
    validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)

    shapes = _shapes(played, audited)
    reply = shapes.feedback if present else shapes.preview
    replies = _default_users(reply, played, present) if users is None else tuple(users)
    _check_replies(replies, reply)
    blank = Seen(
        state=(),
        message=jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes.message) if _local(audited) and present else (),
        actions=jnp.zeros((horizon, *shapes.action.shape), shapes.action.dtype),
        released=jax.tree.map(lambda s: jnp.zeros((horizon, *s.shape), s.dtype), shapes.released),
    )
    program = scan.Program(
        problem=source,
        policy=Bound(_Watched(factory, replies, present, blank), {}),
        metrics=(("transcript", functools.partial(_flat, present=present)),),
    )
    rows = _run(program, len(replies), runs, horizon, seed)
    half = runs // 2
    event = events.choose([row[:half] for row in rows], delta)
    if event is None:
        found, probabilities, pair, words = 0.0, (0.0, 0.0), (0, 1), "nothing tells the users apart"
    else:
        pair = event.first, event.second
        hits = [int(event.holds(rows[world][half:]).sum()) for world in pair]
        left = runs - half
        found = float(events.epsilon_bound(np.asarray(hits[0]), np.asarray(hits[1]), left, delta, confidence))
        probabilities = hits[0] / left, hits[1] / left
        names = _names(jax.eval_shape(functools.partial(transcript, present=present), blank))
        words = f"a score of {', '.join(names[i] for i in event.numbers)}"
    return Audit(
        claim=claim,
        epsilon=found,
        delta=delta,
        confidence=confidence,
        runs=runs,
        users=(replies[pair[0]], replies[pair[1]]),
        probabilities=probabilities,
        event=words,
    )


def _flat(seen: Seen, instance: PyTree, present: int) -> Array:
    leaves = jax.tree.leaves(transcript(seen, present))
    return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in leaves] or [jnp.zeros(0, jnp.float32)])


def _check_replies(replies: Sequence[PyTree], like: PyTree) -> None:
    if len(replies) < 2:
        raise ValueError(f"users must be two replies or more; got {replies!r}")
    for reply in replies:
        matches = jax.tree.structure(reply) == jax.tree.structure(like)
        if not matches or any(np.shape(a) not in ((), b.shape) for a, b in zip(jax.tree.leaves(reply), jax.tree.leaves(like), strict=True)):
            raise ValueError(f"users must be replies like {like}; got {reply!r}")


def _run(program: scan.Program, worlds: int, runs: int, horizon: int, seed: int) -> list[np.ndarray]:
    """The transcripts of each world, float32 [runs, numbers]."""
    replica = np.arange(worlds * runs, dtype=np.uint32)
    world = np.repeat(np.arange(worlds, dtype=np.float32), runs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def lanes(first: int, size: int) -> scan.Lanes:
        some = slice(first, first + size)
        return scan.Lanes(
            seed=np.uint32(seed),
            replica=np.resize(replica[some], size),
            policy={"world": np.resize(world[some], size)},
            problem={},
        )

    size = tiles.tile_size(len(world), rehearsal.rehearse(program, lanes(0, 1)).lane_bytes, cores)

    def play(first: int) -> np.ndarray:
        found = tiles.run_tile(program, lanes(first, size), np.asarray([horizon]))["transcript"][0]
        return found.T[: len(world) - first]

    with concurrent.futures.ThreadPoolExecutor(cores) as threads:
        rows = np.concatenate(list(threads.map(play, range(0, len(world), size))))
    return [rows[i * runs : (i + 1) * runs] for i in range(worlds)]
