"""The library's lanes, round by round: the beats of the engine in the engine's order, with the actions kept."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import Round, told
from jaxbandits.engine import draws
from jaxbandits.engine.fence import once


class Replay(NamedTuple):
    """What the library did and with which numbers, lanes on the last axis."""

    instance: object
    preview: np.ndarray  # [num_items, lanes]
    users: dict[str, np.ndarray]  # the draws, [horizon, *shape, lanes]
    device: dict[str, np.ndarray]
    server: dict[str, np.ndarray]
    action: np.ndarray  # [horizon, length of an action, lanes]
    context: object  # each [horizon, ..., lanes]
    feedback: np.ndarray  # [horizon, lanes]
    regret: np.ndarray  # [lanes], over all rounds


def numbers(stream, now, lane):
    """The draws of one round of one lane, both from 0, in float64."""
    return {name: value[now, ..., lane].astype(np.float64) for name, value in stream.items()}


def _each_lane(function, in_axes):
    return jax.vmap(function, in_axes=in_axes, out_axes=-1)


@functools.partial(jax.jit, static_argnames="streams")
def _numbers(streams, seed, replica, rounds):
    return draws.generate(draws.layout({stream: dict(declared) for stream, declared in streams}), seed, replica, rounds)


def _generate(streams, seed, replica, rounds):
    """The numbers of some streams. Policies that declare the same draws share a compilation, whatever their number of lanes."""
    streams = tuple((stream, tuple(declared.items())) for stream, declared in streams.items())
    once_each, lane = np.unique(np.asarray(replica, np.uint32), return_inverse=True)
    numbers = _numbers(streams, jnp.uint32(seed), once_each, jnp.asarray(rounds, jnp.int32))
    return jax.tree.map(lambda x: np.asarray(x)[..., lane], numbers)


def replay(problem, factory, swept, seed, replica, horizon):
    """Plays lanes.

    Args:
      problem: the problem of all lanes.
      factory: swept arguments of one lane -> its policy.
      swept: the swept arguments by name, float32 [lanes].
      seed: the seed of the study.
      replica: [lanes], which of its seeds each lane runs.
      horizon: number of rounds.
    """
    numbered = np.arange(1, horizon + 1, dtype=np.int32)
    policy = factory(**{name: value[..., 0] for name, value in swept.items()})

    def begin(args, z):
        instance = problem.setup(z)
        preview = problem.preview(instance, z)
        return instance, preview, factory(**args).init(preview)

    act = _each_lane(lambda args, state, t, context, z: factory(**args).act(state, Round(t, context), z), (-1, -1, None, -1, -1))
    report = _each_lane(
        lambda args, state, t, context, action, feedback, z: factory(**args).report(
            Round(t, context, told(factory(**args), state)), action, feedback, z
        ),
        (-1, -1, None, -1, -1, -1, -1),
    )
    update = _each_lane(
        lambda args, state, t, action, message, z: factory(**args).update(state, t, action, message, z), (-1, -1, None, -1, -1, -1)
    )
    see = _each_lane(problem.context, (-1, None, -1))
    respond = _each_lane(
        lambda instance, t, context, action, z: problem.respond(instance, Round(t, context), action, z), (-1, None, -1, -1, -1)
    )
    lose = _each_lane(lambda instance, t, context, action: problem.regret(instance, Round(t, context), action), (-1, None, -1, -1))

    @jax.jit
    def play(args, at_start, rounds):
        instance, preview, state = _each_lane(begin, -1)(args, at_start)

        def one(state, round_and_numbers):
            t, z = round_and_numbers
            context = see(instance, t, z[draws.USERS])
            action = act(args, state, t, context, z[draws.SERVER])
            feedback = once(respond(instance, t, context, action, z[draws.USERS]))
            message = report(args, state, t, context, action, feedback, z[draws.DEVICE])
            state = update(args, state, t, action, message, z[draws.SERVER])
            return state, (action, context, feedback, lose(instance, t, context, action))

        _, kept = jax.lax.scan(one, state, (numbered, rounds))
        return instance, preview, kept

    # Made outside the round loop, so that the reference gets the very numbers the loop read.
    at_start = _generate({draws.SETUP: problem.setup_draws}, seed, replica, [0])[draws.SETUP]
    streams = {draws.USERS: problem.draws, draws.DEVICE: policy.device_draws, draws.SERVER: policy.server_draws}
    rounds = _generate(streams, seed, replica, numbered)
    at_start = {name: value[0] for name, value in at_start.items()}
    instance, preview, (action, context, feedback, lost) = jax.tree.map(np.asarray, play(swept, at_start, rounds))
    return Replay(
        instance=instance,
        preview=preview,
        users=rounds[draws.USERS],
        device=rounds[draws.DEVICE],
        server=rounds[draws.SERVER],
        action=action,
        context=context,
        feedback=feedback,
        regret=lost.sum(axis=0, dtype=np.float64),
    )
