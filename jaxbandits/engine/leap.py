"""One tile of lanes through the horizon, a stretch at a time.

In a stretch what is pulled does not look at what comes in, so its feedback can be drawn at once, at its end, and its regret up to any
round is a formula. Every lane has its own clock. The randomness of a stretch is a function of its number, so that results do not depend on
the checkpoints, and the cost does not grow with the horizon.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandits.core import LOSSES, Policy, Problem, PyTree, StretchPolicy, StretchProblem
from jaxbandits.engine import draws, scan, sums
from jaxbandits.engine.fence import once
from jaxbandits.engine.scan import Lanes, Program

_FOREVER = np.int32(2**31 - 1)


class Carry(NamedTuple):
    """A tile between two checkpoints."""

    t: Array  # [lanes], int32: slots of all stretches that are over
    instance: PyTree
    state: PyTree
    next: Any  # the stretch that comes next
    lost: Array  # [lanes], running sum: regret of these slots


def leaps(problem: Problem, policy: Policy) -> bool:
    """Whether they are played a stretch at a time: if both can be."""
    return problem.stretches is not None and policy.stretches is not None


def possible(program: Program, lanes: Lanes) -> bool:
    """``leaps`` of a program, of which only the shapes of the lanes need be known."""
    found = []

    def look(lanes: Lanes) -> None:
        found.append(leaps(scan.first_lane(program.problem, lanes.problem), scan.first_lane(program.policy, lanes.policy)))

    jax.eval_shape(look, lanes)
    return found[0]


def halves(problem: Problem, policy: Policy) -> tuple[StretchProblem, StretchPolicy]:
    """What they say about stretches."""
    if problem.stretches is None or policy.stretches is None:
        raise ValueError("problem and policy must both have stretches")
    return problem.stretches, policy.stretches


class _Moves(NamedTuple):
    """The functions of a stretch over all lanes, and the layout of its draws."""

    plan: draws.Layout
    next: Any
    respond: Any
    update: Any
    regret: Any
    legal: Any


def _moves(program: Program, lanes: Lanes) -> _Moves:
    problem, policy = halves(scan.first_lane(program.problem, lanes.problem), scan.first_lane(program.policy, lanes.policy))

    def problem_of(args) -> Any:
        return program.problem(**args).stretches

    def policy_of(args) -> Any:
        return program.policy(**args).stretches

    return _Moves(
        plan=draws.layout({draws.USERS: problem.draws, draws.SERVER: policy.draws}),
        next=scan.each_lane(lanes, lambda args, state: policy_of(args).plan(state), -1),
        respond=scan.each_lane(lanes, lambda args, instance, stretch, z: problem_of(args).respond(instance, stretch, z), -1),
        update=scan.each_lane(lanes, lambda args, state, stretch, feedback, z: policy_of(args).update(state, stretch, feedback, z), -1),
        regret=scan.each_lane(lanes, lambda args, instance, stretch, slots: problem_of(args).regret(instance, stretch, slots), -1),
        legal=scan.each_lane(lanes, lambda args, instance, stretch: problem_of(args).legal(instance, stretch), -1),
    )


def start(program: Program, lanes: Lanes) -> Carry:
    """The tile before round 1."""

    def init(args, preview):
        return halves(scan.first_lane(program.problem, lanes.problem), program.policy(**args))[1].init(preview)

    instance, state = scan.begin(program, lanes, init)
    zero = jnp.zeros(jnp.shape(lanes.replica), jnp.int32)
    first = _moves(program, lanes).next(lanes.policy, state)
    return Carry(t=zero, instance=instance, state=state, next=first, lost=sums.running(zero.shape))


def advance(program: Program, lanes: Lanes, carry: Carry, checkpoints: Array) -> tuple[Carry, dict[str, PyTree]]:
    """Runs to the last checkpoint and records at each: as ``scan.advance``, with the regret only.

    A metric sees the state after the last stretch that is over.
    """
    moves = _moves(program, lanes)
    measure = scan.measures(program, lanes)

    def end(carry: Carry) -> Array:
        slots = jnp.maximum(carry.next.slots, 1)  # of a policy that gets on; one that does not is refused at the checkpoint
        return jnp.where(slots > _FOREVER - carry.t, _FOREVER, carry.t + slots)

    def play(carry: Carry, stop: Array) -> Carry:
        """One stretch of each lane in which it ends by then."""
        stretch, ends = carry.next, end(carry)
        closes = ends <= stop
        z = draws.generate_each(moves.plan, lanes.seed, lanes.replica, stretch.number)
        feedback = once(moves.respond(lanes.problem, carry.instance, stretch, z[draws.USERS]))
        state = moves.update(lanes.policy, carry.state, stretch, feedback, z[draws.SERVER])
        lost = sums.grown(carry.lost, moves.regret(lanes.problem, carry.instance, stretch, stretch.slots))
        state = jax.tree.map(lambda new, old: jnp.where(closes, new, old), state, carry.state)
        return Carry(
            t=jnp.where(closes, ends, carry.t),
            instance=carry.instance,
            state=state,
            next=once(moves.next(lanes.policy, state)),
            lost=jnp.where(closes, lost, carry.lost),
        )

    def to_checkpoint(carry: Carry, stop: Array):
        carry = lax.while_loop(lambda c: jnp.any(end(c) <= stop), lambda c: play(c, stop), carry)
        lost = sums.grown(carry.lost, moves.regret(lanes.problem, carry.instance, carry.next, stop - carry.t))
        checks = {scan.LEGAL: moves.legal(lanes.problem, carry.instance, carry.next) & (carry.next.slots > 0)}
        return carry, {LOSSES[0]: sums.at_rest(lost), **checks, **measure(carry)}

    return lax.scan(to_checkpoint, carry, checkpoints)
