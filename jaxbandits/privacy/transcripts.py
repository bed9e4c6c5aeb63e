"""Transcripts: what an observer sees of many runs that differ in one user alone.

Under local privacy an observer sees the message that leaves the user's device, and all actions after it; under central privacy the actions,
and what the noise of the server, or of an agent, has let out.
Runs are made by the engine, from a policy whose states carry their transcripts.
"""

import concurrent.futures
import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandits import factories, validate
from jaxbandits.core import Claim, Policy, Problem, PyTree, Round, told
from jaxbandits.engine import draws, rehearsal, scan, tiles
from jaxbandits.identity import Bound, fingerprint
from jaxbandits.privacy import replies

MOST_ROUNDS = 10_000
"""The longest run: its transcript is kept whole."""


class Seen(NamedTuple):
    """A policy's state, and the transcript of its run."""

    state: PyTree
    message: PyTree  # of the audited user; () under central privacy
    actions: Array  # [horizon, length of an action]
    released: PyTree  # each [horizon, ...]; () under local privacy


def _one_of(world: Array, users: Sequence[PyTree], like: PyTree) -> PyTree:
    """The reply of the user of a world, in the types of a reply."""

    def pick(reply, *each):
        chosen = jnp.asarray(each[0], reply.dtype)
        for number, other in enumerate(each[1:], 1):
            chosen = jnp.where(world == number, jnp.asarray(other, reply.dtype), chosen)
        return chosen

    return jax.tree.map(pick, like, *users)


class _Watched:
    """A factory like that of the policy, whose states carry transcripts, and whose user of one round is another one in each world."""

    def __init__(self, policy: Bound, users: tuple[PyTree, ...], present: int, blank: Seen):
        self.policy, self.users, self.present, self.blank = policy, users, present, blank
        shapes = jax.tree.map(lambda x: (x.shape, str(x.dtype)), blank)
        self._key = policy, present, json.dumps(fingerprint([jax.tree.leaves(user) for user in users])), str(shapes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watched) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, *, world: Array) -> Policy:
        inner, at = self.policy(), self.present

        def init(preview):
            start = inner.init(_one_of(world, self.users, preview) if at == 0 else preview)
            return self.blank._replace(state=start)

        def report(round_, action, feedback, z):
            if at:
                feedback = jax.tree.map(lambda a, b: jnp.where(round_.t == at, a, b), _one_of(world, self.users, feedback), feedback)
            return inner.report(round_, action, feedback, z)

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
            broadcast=None if inner.broadcast is None else lambda seen: told(inner, seen.state),
            settle=None if inner.settle is None else lambda seen: seen._replace(state=inner.settle(seen.state)),
            stretches=None,  # one round is another user's
        )


def _local(policy: Policy) -> bool:
    """Whether an observer sees messages: nobody is trusted with them, or nothing is claimed."""
    return policy.claim.trust not in ("agent", "central", "joint")


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
        preview, round_ = problem.preview(instance, z["setup"]), Round(jnp.int32(1), problem.context(instance, jnp.int32(1), z["users"]))
        state = policy.init(preview)
        action = policy.act(state, round_, z["server"])
        feedback = problem.respond(instance, round_, action, z["users"])
        message = policy.report(round_._replace(broadcast=told(policy, state)), action, feedback, z["device"])
        return _Shapes(preview, feedback, message, action, _released(policy, policy.update(state, round_.t, action, message, z["server"])))

    declared = {"setup": problem.setup_draws, "users": problem.draws, "device": policy.device_draws, "server": policy.server_draws}
    try:
        return jax.eval_shape(lambda: play({name: draws.sample(given) for name, given in declared.items()}))
    except Exception as error:  # of code that is not ours: all the rest of a round was rehearsed
        raise ValueError(f"policy.released failed with {type(error).__name__}: {error}") from error


def _transcript(seen: Seen, present: int) -> PyTree:
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


class Transcripts(NamedTuple):
    """Transcripts of runs in several worlds, which differ in one user.

    Attributes:
      worlds: of each world, float32 [runs, numbers].
      names: of the numbers.
      users: the reply of the user in each world.
      claim: of the policy.
      present: the round of the user.
      starts_raw: whether the policy starts from the preview, the raw reply of one user.
    """

    worlds: tuple[np.ndarray, ...]
    names: tuple[str, ...]
    users: tuple[PyTree, ...]
    claim: Claim
    present: int
    starts_raw: bool


def transcripts(
    policy: Callable[..., Policy],
    problem: Callable[..., Problem],
    *,
    users: Sequence[PyTree] | None = None,
    present: int = 1,
    horizon: int = 3,
    runs: int = 2**18,
    seed: int = 0,
) -> Transcripts:
    """Runs a policy with another user in one round of each world.

    All other users are those of the problem. Every world has the same number of runs, and the numbers of one run are independent of those
    of all others. What is seen is kept as float32, which holds whole numbers up to 2^24; memory is four bytes for each number of each run.

    Args:
      policy: factory of the policy, as a study takes it, with all arguments but sizes fixed.
      problem: factory of the problem.
      users: two or more different replies, one for each world: raw feedback as the policy's ``report`` gets it, ``[0, list_len]`` for a
        click in front and none, ``[0, 1]`` for rewards, ``[[0, 0], [1, 1]]`` for the bits of a super arm; with ``present`` 0 a bit for
        each item or arm. By default a few that tend to be far apart.
      present: the round in which the user takes part; 0 is the user whose preview, a raw bit for each item or arm, some printed algorithms
        start from.
      horizon: rounds of a run, at least ``present``.
      runs: in each world.
      seed: of the runs.

    Raises:
      ValueError: if an argument is out of range, or the policy does not play the problem.
      FloatingPointError: if a transcript is not a number.
    """
    horizon = validate.size("horizon", horizon, 1, MOST_ROUNDS)
    present = validate.size("present", present, 0, horizon)
    runs = validate.size("runs", runs, 100, 2**31 - 1)
    seed = validate.size("seed", seed, 0, 2**32 - 1)
    source = factories.bound("problem", problem)
    factories.require("problem", source, {})
    played = factories.build("problem", source, {}, Problem)
    factory = factories.with_horizon(factories.for_problem("policy", factories.bound("policy", policy), played), horizon)
    factories.require("policy", factory, {})
    watched = factories.build("policy", factory, {}, Policy)
    fixed = {k: v for k, v in watched.derived.items() if k not in factory.arguments}
    factory = Bound(factory.function, {**factory.arguments, **fixed})
    _check_claim(watched.claim)
    lane = scan.Lanes(seed=np.uint32(0), replica=np.zeros(1, np.uint32), policy={}, problem={})
    rehearsal.rehearse(scan.Program(source, factory), lane)  # for its messages: what follows takes a policy that runs
    shapes = _shapes(played, watched)
    reply = shapes.feedback if present else shapes.preview
    users = replies.checked(replies.default(reply, played, present) if users is None else users, reply, played, present)
    blank = Seen(
        state=(),
        message=jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes.message) if _local(watched) and present else (),
        actions=jnp.zeros((horizon, *shapes.action.shape), shapes.action.dtype),
        released=jax.tree.map(lambda s: jnp.zeros((horizon, *s.shape), s.dtype), shapes.released),
    )
    program = scan.Program(
        problem=source,
        policy=Bound(_Watched(factory, users, present, blank), {}),
        metrics=(("transcript", _Flat(present)),),
    )
    names = _names(jax.eval_shape(functools.partial(_transcript, present=present), blank))
    if not names:
        raise ValueError(f"horizon must be above present, {present}, for a policy that shows nothing but its actions; got {horizon}")
    worlds = _run(program, len(users), runs, horizon, seed)
    for i, name in enumerate(names):
        if any(np.isnan(world[:, i]).any() for world in worlds):
            raise FloatingPointError(f"{name} of a transcript is not a number")
    return Transcripts(tuple(worlds), tuple(names), users, watched.claim, present, _starts_raw(watched, shapes.preview))


@dataclasses.dataclass(frozen=True)
class _Flat:
    """The metric that holds a transcript."""

    present: int

    def __call__(self, seen: Seen, instance: PyTree) -> Array:
        leaves = jax.tree.leaves(_transcript(seen, self.present))
        return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in leaves])


def _starts_raw(policy: Policy, preview: PyTree) -> bool:
    """Whether the first state differs between previews of zeros and of ones."""
    states = [policy.init(jax.tree.map(lambda x, value=value: jnp.full(x.shape, value, x.dtype), preview)) for value in (0, 1)]
    return not jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), *states))


def _check_claim(claim: Claim) -> None:
    """Refuses a claim that no bound can be compared with."""
    validate.scalar("the epsilon of the policy's claim", claim.epsilon, "a number, at least 0", lambda e: e >= 0)
    validate.scalar("the delta of the policy's claim", claim.delta, "at least 0 and below 1", lambda d: 0 <= d < 1)


def _run(program: scan.Program, worlds: int, runs: int, horizon: int, seed: int) -> list[np.ndarray]:
    """The transcripts of each world, float32 [runs, numbers]."""
    replica = np.arange(worlds * runs, dtype=np.uint32)
    world = np.repeat(np.arange(worlds, dtype=np.float32), runs)
    cores = tiles.cores()

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
        record = tiles.run_tile(program, lanes(first, size), np.asarray([horizon]))
        if not record[scan.LEGAL].all():
            raise ValueError(f"policy must choose legal actions; in round {horizon} it did not")
        return record["transcript"][0].T[: len(world) - first]

    with concurrent.futures.ThreadPoolExecutor(cores) as threads:
        rows = np.concatenate(list(threads.map(play, range(0, len(world), size))))
    return [rows[i * runs : (i + 1) * runs] for i in range(worlds)]
