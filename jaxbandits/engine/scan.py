"""One tile of lanes through the horizon.

The round loop runs in chunks: the numbers of a chunk of rounds are made together, then its rounds run one by one. Records are
made at the checkpoints only, so nothing of the size of the horizon is ever stored, and the checkpoints are an argument, so
their spacing and the horizon need no new compilation.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandits.core import LOSSES, PyTree, Round, told
from jaxbandits.engine import draws, sums
from jaxbandits.engine.fence import once
from jaxbandits.identity import Bound

CHUNK = 2
"""Pairs of rounds whose numbers are made together. Results do not depend on it."""

SETTLE_EVERY = 4096
"""Rounds between two calls of a policy's ``settle``. They are fixed rounds, so results do not depend on checkpoints."""

LEGAL = "legal action"
"""The record that tells whether the action before a checkpoint was legal; no metric can have this name."""

Parameters = Mapping[str, Any]
"""The swept arguments of a factory, by name, each with lanes on the last axis."""


NUMBERS = "state of numbers"
"""The record that tells whether the state at a checkpoint is free of NaN, which a policy may not show in its actions."""


def _of_numbers(state: PyTree) -> Array:
    clean = [jnp.all(~jnp.isnan(leaf)) for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return functools.reduce(jnp.logical_and, clean, jnp.bool_(True))


class Lanes(NamedTuple):
    """What tells the lanes of a tile apart."""

    seed: Any  # (), uint32: the seed of the study
    replica: Any  # [lanes], uint32: which of the study's seeds each lane runs
    policy: Parameters
    problem: Parameters


class Carry(NamedTuple):
    """A tile between two rounds."""

    t: Array  # (), int32: rounds done
    instance: PyTree
    state: PyTree
    lost: dict[str, Array]  # running sums: regret so far, and the realised one if the problem has it
    action: Array  # of the last round


@dataclasses.dataclass(frozen=True)
class Program:
    """What is compiled: factories for one lane, called with the swept arguments, and what to record beside the regret."""

    problem: Bound
    policy: Bound
    metrics: tuple[tuple[str, Callable[[PyTree, PyTree], Array]], ...] = ()  # name, (state, instance) -> values of one lane
    digest: str = ""  # of the traced round: a function that changed under the same name is another program


def each_lane(lanes: Lanes, function: Callable, in_axes: Any) -> Callable:
    """A function of one lane for all of a tile, lanes last."""
    # The size is said, because a round need not have an array to tell it.
    return jax.vmap(function, in_axes=in_axes, out_axes=-1, axis_size=jnp.shape(lanes.replica)[-1])


def first_lane(factory: Bound, swept: Parameters) -> Any:
    """What the factory returns for the first lane: enough to read its declarations."""
    return factory(**{name: value[..., 0] for name, value in swept.items()})


class _Beats(NamedTuple):
    """The functions of a round over all lanes, and the layout of its draws."""

    plan: draws.Layout
    see: Callable  # context
    act: Callable
    respond: Callable
    report: Callable
    update: Callable
    losses: dict[str, Callable]  # what is added up: (arguments, instance, t, context, action, draws) -> loss of the round
    legal: Callable
    settle: Callable | None


def _beats(program: Program, lanes: Lanes) -> _Beats:
    problem, policy = first_lane(program.problem, lanes.problem), first_lane(program.policy, lanes.policy)

    def see(args, instance, t, z):
        return program.problem(**args).context(instance, t, z)

    def respond(args, instance, t, context, action, z):
        return program.problem(**args).respond(instance, Round(t=t, context=context), action, z)

    def expected(args, instance, t, context, action, z):
        return program.problem(**args).regret(instance, Round(t=t, context=context), action)

    def realised(args, instance, t, context, action, z):
        return program.problem(**args).realised(instance, Round(t=t, context=context), action, z)

    def legal(args, instance, action):
        return program.problem(**args).legal(instance, action)

    in_round = (-1, -1, None, -1, -1, -1)
    losses = dict(zip(LOSSES, (expected,) if problem.realised is None else (expected, realised), strict=False))

    def act(args, state, t, context, z):
        return program.policy(**args).act(state, Round(t=t, context=context), z)

    def report(args, state, t, context, action, feedback, z):
        policy = program.policy(**args)
        return policy.report(Round(t=t, context=context, broadcast=told(policy, state)), action, feedback, z)

    def update(args, state, t, action, message, z):
        return program.policy(**args).update(state, t, action, message, z)

    return _Beats(
        plan=draws.layout({draws.USERS: problem.draws, draws.DEVICE: policy.device_draws, draws.SERVER: policy.server_draws}),
        see=each_lane(lanes, see, (-1, -1, None, -1)),
        act=each_lane(lanes, act, (-1, -1, None, -1, -1)),
        respond=each_lane(lanes, respond, in_round),
        report=each_lane(lanes, report, (-1, -1, None, -1, -1, -1, -1)),
        update=each_lane(lanes, update, (-1, -1, None, -1, -1, -1)),
        losses={name: each_lane(lanes, loss, in_round) for name, loss in losses.items()},
        legal=each_lane(lanes, legal, -1),
        settle=None if policy.settle is None else each_lane(lanes, lambda args, state: program.policy(**args).settle(state), -1),
    )


def begin(program: Program, lanes: Lanes, init: Callable) -> tuple[PyTree, PyTree]:
    """What each lane meets, and the state that ``init``, (arguments of the policy, preview) -> state, makes of it."""
    plan = draws.layout({draws.SETUP: first_lane(program.problem, lanes.problem).setup_draws})
    setup = {
        name: value[0] for name, value in draws.generate(plan, lanes.seed, lanes.replica, jnp.zeros((1,), jnp.int32))[draws.SETUP].items()
    }

    def one(problem_args, policy_args, z):
        problem = program.problem(**problem_args)
        instance = problem.setup(z)
        return instance, init(policy_args, problem.preview(instance, z))

    return each_lane(lanes, one, -1)(lanes.problem, lanes.policy, setup)


def start(program: Program, lanes: Lanes) -> Carry:
    """The tile before round 1."""
    instance, state = begin(program, lanes, lambda args, preview: program.policy(**args).init(preview))
    beats = _beats(program, lanes)

    def first_action():
        z = jax.tree.map(lambda x: x[0], draws.generate(beats.plan, lanes.seed, lanes.replica, jnp.ones((1,), jnp.int32)))
        context = beats.see(lanes.problem, instance, jnp.int32(1), z[draws.USERS])
        return beats.act(lanes.policy, state, jnp.int32(1), context, z[draws.SERVER])

    shape = jax.eval_shape(first_action)
    return Carry(
        t=jnp.zeros((), jnp.int32),
        instance=instance,
        state=state,
        lost={name: sums.running(jnp.shape(lanes.replica)) for name in beats.losses},
        action=jnp.zeros(shape.shape, shape.dtype),
    )


def measures(program: Program, lanes: Lanes) -> Callable[[Any], dict[str, PyTree]]:
    """(carry) -> each metric, and ``NUMBERS``."""
    metrics = {name: each_lane(lanes, lambda s, i, metric=metric: jnp.asarray(metric(s, i)), -1) for name, metric in program.metrics}
    clean = each_lane(lanes, _of_numbers, -1)
    return lambda carry: {
        NUMBERS: clean(carry.state),
        **{name: metric(carry.state, carry.instance) for name, metric in metrics.items()},
    }


def advance(program: Program, lanes: Lanes, carry: Carry, checkpoints: Array, chunk: int = CHUNK) -> tuple[Carry, dict[str, PyTree]]:
    """Runs to the last checkpoint and records at each.

    Args:
      program: what to run.
      lanes: whom to run it for.
      carry: the tile so far.
      checkpoints: int32 [n], rounds, not decreasing, the first at least the rounds done.
      chunk: pairs of rounds whose numbers are made together.

    Returns:
      the tile at the last checkpoint, and the records: those of ``LOSSES`` that the problem has, a Sum of [n, lanes], ``LEGAL`` and
      ``NUMBERS``, bool [n, lanes], and each metric as [n, ..., lanes].
    """
    beats = _beats(program, lanes)

    def play(carry: Carry, z) -> Carry:
        t = carry.t + 1
        users, device, server = z[draws.USERS], z[draws.DEVICE], z[draws.SERVER]
        context = beats.see(lanes.problem, carry.instance, t, users)
        action = beats.act(lanes.policy, carry.state, t, context, server)
        feedback = once(beats.respond(lanes.problem, carry.instance, t, context, action, users))
        message = beats.report(lanes.policy, carry.state, t, context, action, feedback, device)
        state = beats.update(lanes.policy, carry.state, t, action, message, server)
        lost = {
            name: sums.grown(total, beats.losses[name](lanes.problem, carry.instance, t, context, action, users))
            for name, total in carry.lost.items()
        }
        return Carry(t=t, instance=carry.instance, state=state, lost=lost, action=action)

    def play_chunk(stop, carry: Carry) -> Carry:
        first = (carry.t + 1) >> 1
        numbers = draws.generate_pairs(beats.plan, lanes.seed, lanes.replica, first + jnp.arange(chunk, dtype=jnp.int32))

        def step(t, carry):
            return play(carry, jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, t - 2 * first, keepdims=False), numbers))

        return lax.fori_loop(carry.t + 1, jnp.minimum(2 * (first + chunk), stop + 1), step, carry)

    measure = measures(program, lanes)

    def play_span(stop, carry: Carry) -> Carry:
        """To the next settling or the checkpoint, whichever is first."""
        end = jnp.minimum(stop, (carry.t // SETTLE_EVERY + 1) * SETTLE_EVERY)
        carry = lax.while_loop(lambda c: c.t < end, functools.partial(play_chunk, end), carry)
        if beats.settle is None:
            return carry
        state = lax.cond(carry.t % SETTLE_EVERY == 0, beats.settle, lambda args, state: state, lanes.policy, carry.state)
        return carry._replace(state=state)

    def to_checkpoint(carry: Carry, stop):
        carry = lax.while_loop(lambda c: c.t < stop, functools.partial(play_span, stop), carry)
        lost = {name: sums.at_rest(total) for name, total in carry.lost.items()}
        legal = beats.legal(lanes.problem, carry.instance, carry.action)
        return carry, {**lost, LEGAL: legal, **measure(carry)}

    return lax.scan(to_checkpoint, carry, checkpoints)
