"""One round of one lane, traced and not compiled: what is wrong with a policy shows before anything costs time."""

import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import Draws, Problem, Round
from jaxbandits.engine import leap
from jaxbandits.engine.draws import GENERATOR
from jaxbandits.engine.fence import unfenced
from jaxbandits.engine.scan import CHUNK, Lanes, Parameters, Program, first_lane
from jaxbandits.identity import fingerprint

Shape = tuple[int, ...]


class Rehearsal(NamedTuple):
    """What a rehearsal finds out.

    Attributes:
      lane_bytes: memory that one lane needs in the round loop.
      shapes: the shape of each metric.
      digest: of the traced round. It changes with any function or constant that the round depends on, wherever it is defined,
        and may change with the version of JAX.
    """

    lane_bytes: int
    shapes: dict[str, Shape]
    digest: str


class _Tracer:
    """Traces functions one by one, and keeps a digest of all of them."""

    def __init__(self):
        self._digest = hashlib.sha256(GENERATOR.encode())

    def __call__(self, what: str, function: Callable, *args: Any) -> Any:
        """The shapes of what a function returns; an error of its own becomes one that says which function it was."""
        try:
            traced, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        except Exception as error:  # of code that is not ours: whatever it is, it is reported, and chained
            known = [", ".join(a) or "none" for a in args if isinstance(a, dict)]
            hint = f"; the draws it is given are: {known[-1]}" if isinstance(error, KeyError) and known else ""
            raise ValueError(f"{what} failed with {type(error).__name__}: {error}{hint}") from error
        # Addresses differ from process to process, and notebooks have it in colour: neither is a part of what is computed.
        self._digest.update(re.sub(r"0x[0-9a-f]+|\x1b\[[0-9;]*m", "", f"{what}: {traced.jaxpr}").encode())
        self._constants(traced)
        return shapes

    def _constants(self, traced: Any) -> None:
        """The values that a trace only names, in it and in the traces inside of it."""
        for constant in traced.consts:
            self._digest.update(np.asarray(constant).tobytes())
        for equation in traced.jaxpr.eqns:
            for value in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda v: hasattr(v, "consts")):
                if hasattr(value, "consts") and hasattr(value, "jaxpr"):
                    self._constants(value)
                elif callable(value):
                    self._digest.update(json.dumps(fingerprint(value)).encode())

    def digest(self) -> str:
        return self._digest.hexdigest()[:16]


def _numbers(trace: _Tracer, draws: Draws) -> dict[str, Any]:
    """The shapes and types of some draws of one lane."""
    found = {}
    for name, draw in draws.items():
        values = trace(f"the law of {name!r}", draw.law, jax.ShapeDtypeStruct((draw.words,), jnp.uint32))
        found[name] = jax.ShapeDtypeStruct(draw.shape, values.dtype)
    return found


def _kinds(tree: Any) -> Any:
    return jax.tree.map(lambda x: f"{np.dtype(x.dtype).name}{list(x.shape)}", tree)


def rehearse(program: Program, lanes: Lanes) -> Rehearsal:
    """Checks that a round of one lane keeps to its shapes and types.

    Args:
      program: what would run.
      lanes: one lane or more.

    Raises:
      ValueError: naming the function that does not.
    """
    with jax.enable_x64(False), unfenced():  # 32 bits, as it is compiled
        return _rehearse(program, lanes)


def _rehearse(program: Program, lanes: Lanes) -> Rehearsal:
    problem, policy = first_lane(program.problem, lanes.problem), first_lane(program.policy, lanes.policy)
    if policy.claim.status == "sound" and policy.claim.trust == "local" and not policy.device_draws:
        raise ValueError("a policy that claims local privacy must have device draws; what it sends has no noise")
    of_problem, of_policy = _swept(lanes.problem), _swept(lanes.policy)
    trace = _Tracer()

    def ask(name: str, *args: Any) -> Any:
        return trace(name, lambda swept, *rest: getattr(program.problem(**swept), name)(*rest), of_problem, *args)

    def play(name: str, *args: Any) -> Any:
        return trace(name, lambda swept, *rest: getattr(program.policy(**swept), name)(*rest), of_policy, *args)

    users, device, server = (_numbers(trace, d) for d in (problem.draws, policy.device_draws, policy.server_draws))
    setup, t = _numbers(trace, problem.setup_draws), jax.ShapeDtypeStruct((), jnp.int32)
    instance = ask("setup", setup)
    state = play("init", ask("preview", instance, setup))
    round_ = Round(t=t, context=ask("context", instance, t, users))  # pyright: ignore[reportArgumentType]
    _check_state(state)
    action = play("act", state, round_, server)
    _check_action(problem, action)
    feedback = ask("respond", instance, round_, action, users)
    broadcast = () if policy.broadcast is None else play("broadcast", state)
    message = play("report", round_._replace(broadcast=broadcast), action, feedback, device)
    after = play("update", state, t, action, message, server)
    if jax.tree.structure(after) != jax.tree.structure(state) or _kinds(after) != _kinds(state):
        same = "a state of the same structure, shapes and types as init"
        raise ValueError(f"update must return {same}: {_kinds(state)}; got {_kinds(after)}")
    if policy.settle is not None and _kinds(play("settle", state)) != _kinds(state):
        raise ValueError(f"settle must return a state of the same shapes and types as init: {_kinds(state)}")
    losses = {"regret": ask("regret", instance, round_, action)}
    if problem.realised is not None:
        losses["realised_regret"] = ask("realised", instance, round_, action, users)
    for name, loss in losses.items():
        if _kinds(loss) != "float32[]":
            raise ValueError(f"{name} must return float32[]; got {_kinds(loss)}")
    if leap.leaps(problem, policy):
        state, words = _rehearse_stretch(trace, program, lanes, instance, ask("preview", instance, setup))
    else:
        words = 2 * CHUNK * _words(problem.draws, policy.device_draws, policy.server_draws)
    shapes = {name: _metric(trace, name, metric, state, instance) for name, metric in program.metrics}
    kept = sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in jax.tree.leaves((instance, state)))
    return Rehearsal(kept + 4 * words, shapes, trace.digest())


def _swept(arguments: Parameters) -> dict[str, Any]:
    """The shapes and types of swept arguments of one lane."""
    return {name: jax.ShapeDtypeStruct(value.shape[:-1], jnp.float32) for name, value in arguments.items()}


def _words(*groups: Draws) -> int:
    return sum(draw.words for group in groups for draw in group.values())


def _rehearse_stretch(trace: _Tracer, program: Program, lanes: Lanes, instance: Any, preview: Any) -> tuple[Any, int]:
    """The same of a stretch, as far as it is not a round: the shapes of its state, and its words of randomness."""
    problem, policy = leap.halves(first_lane(program.problem, lanes.problem), first_lane(program.policy, lanes.policy))

    def both(name: str, function: Callable, *args: Any) -> Any:
        def one(problem_args, policy_args, *rest):
            return function(*leap.halves(program.problem(**problem_args), program.policy(**policy_args)), *rest)

        return trace(name, one, _swept(lanes.problem), _swept(lanes.policy), *args)

    users, server = _numbers(trace, problem.draws), _numbers(trace, policy.draws)
    state = both("stretches.init", lambda problem, policy, preview: policy.init(preview), preview)
    stretch = both("stretches.plan", lambda problem, policy, state: policy.plan(state), state)
    for field in ("slots", "number"):
        if not hasattr(stretch, field) or _kinds(getattr(stretch, field)) != "int32[]":
            raise ValueError(f"stretches.plan must return a stretch with {field}, int32[]; got {_kinds(stretch)}")
    feedback = both("stretches.respond", lambda problem, policy, *rest: problem.respond(*rest), instance, stretch, users)
    after = both("stretches.update", lambda problem, policy, *rest: policy.update(*rest), state, stretch, feedback, server)
    if jax.tree.structure(after) != jax.tree.structure(state) or _kinds(after) != _kinds(state):
        raise ValueError(f"stretches.update must return a state like that of init: {_kinds(state)}; got {_kinds(after)}")
    loss = both("stretches.regret", lambda problem, policy, *rest: problem.regret(*rest), instance, stretch, stretch.slots)
    if _kinds(loss) != "float32[]":
        raise ValueError(f"stretches.regret must return float32[]; got {_kinds(loss)}")
    both("stretches.legal", lambda problem, policy, *rest: problem.legal(*rest), instance, stretch)
    return state, 2 * _words(problem.draws, policy.draws)


def _check_state(state: Any) -> None:
    """Refuses what cannot be kept between two processes as the bytes of an array."""
    for leaf in jax.tree.leaves(state):
        kept = hasattr(leaf, "dtype") and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended) and not str(leaf.dtype).endswith("int4")
        if not kept:
            raise ValueError(f"init must return arrays of numbers, of 8 bits or more; got {leaf}, for keys see jax.random.key_data")


def _check_action(problem: Problem, action: Any) -> None:
    """Refuses what is no action of the problem, by its shape and type."""
    if problem.action is not None:
        shape, dtype = problem.action
        if not hasattr(action, "dtype") or (action.shape, np.dtype(action.dtype).name) != (tuple(shape), dtype):
            raise ValueError(f"act must return {dtype}{list(shape)}, an action of the problem; got {_kinds(action)}")
        return
    length = problem.sizes.get("list_len", 1 if "num_arms" in problem.sizes else None)
    if not hasattr(action, "dtype") or action.dtype != jnp.int32 or (length is not None and action.shape != (length,)):
        wanted = "int32" if length is None else f"int32[{length}]"
        raise ValueError(f"act must return {wanted}, the items of the list; got {_kinds(action)}")


def _metric(trace: _Tracer, name: str, metric: Callable, state: Any, instance: Any) -> Shape:
    value = trace(f"metrics[{name!r}]", lambda s, i: jnp.asarray(metric(s, i)), state, instance)
    real = jnp.issubdtype(value.dtype, jnp.floating) or jnp.issubdtype(value.dtype, jnp.integer) or value.dtype == jnp.bool_
    if not real or not math.prod(value.shape):
        raise ValueError(f"metrics[{name!r}] must return a real number or an array of them; got {_kinds(value)}")
    return value.shape
