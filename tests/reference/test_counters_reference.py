"""The library's counters against textbook ones, release by release on the same draws."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.engine import draws
from jaxbandits.mechanisms import counters

from . import counters as reference
from . import solvers
from .cascade import analytic_sigma

NUM_STREAMS = 3
HORIZON = 1000  # of one stream
ROUNDS = 1200
EPSILONS = (0.2, 2.0, math.inf)


class Case(NamedTuple):
    """A counter of the library and the one to compare with; both are functions of epsilon."""

    library: Callable
    reference: Callable
    tree: type = reference.Tree


def _trees(name, *horizon):
    """The plain counter and the one that Honaker's estimates make better."""
    library, textbook = getattr(counters, name), {"binary": reference.Binary, "hybrid": reference.Hybrid}.get(name, reference.MergedHybrid)
    arguments = {"num_streams": NUM_STREAMS} | dict(zip(["horizon"], horizon, strict=False))
    yield Case(functools.partial(library, **arguments), functools.partial(textbook, *horizon))
    honaker = functools.partial(textbook, *horizon, tree=reference.HonakerTree)
    yield Case(functools.partial(library, **arguments, nodes=counters.honaker), honaker, reference.HonakerTree)


def _square_root(epsilon):
    longest = math.sqrt(sum(f * f for f in reference.square_root_coefficients(HORIZON)))
    return reference.SquareRoot(HORIZON, analytic_sigma(epsilon, 1e-3, longest))


def _batches(name, textbook, **arguments):
    return Case(functools.partial(getattr(counters, name), num_streams=NUM_STREAMS, **arguments), textbook)


TREES = dict(zip(("binary", "binary, Honaker"), _trees("binary", HORIZON), strict=True))
TREES |= dict(zip(("hybrid", "hybrid, Honaker"), _trees("hybrid"), strict=True))
TREES |= dict(zip(("merged hybrid", "merged hybrid, Honaker"), _trees("merged_hybrid"), strict=True))
SELDOM = {
    "logarithmic": Case(functools.partial(counters.logarithmic, num_streams=NUM_STREAMS), reference.Logarithmic),
    "accumulating, ratio 2": _batches("accumulating", reference.Accumulating),
    "accumulating, ratio 1.5": _batches("accumulating", functools.partial(reference.Accumulating, ratio=1.5), ratio=1.5),
    "accumulating, ratio 1.1": _batches("accumulating", functools.partial(reference.Accumulating, ratio=1.1), ratio=1.1),
    "forgetting, lazy": _batches("forgetting", functools.partial(reference.Forgetting, rule="lazy"), next_size=counters.lazy_size),
    "forgetting, AdaP": _batches("forgetting", functools.partial(reference.Forgetting, rule="AdaP"), next_size=counters.adaptive_size),
}
SQUARE_ROOT = Case(functools.partial(counters.square_root, num_streams=NUM_STREAMS, horizon=HORIZON, delta=1e-3), _square_root)
CASES = {**TREES, **SELDOM}


class Played(NamedTuple):
    """What went in, and what the library released; rounds first, lanes last."""

    streams: np.ndarray  # [rounds, k, lanes]
    values: np.ndarray
    where: np.ndarray
    noise: np.ndarray  # [rounds, k, lanes] or [rounds, levels, k, lanes]
    total: np.ndarray  # [rounds, num_streams, lanes]
    counts: np.ndarray


def _insertions(rng, k, lanes):
    """Random items for random streams, some masked, the streams by no means equally often."""
    order = np.argsort(rng.random((ROUNDS, NUM_STREAMS, lanes)) * np.array([1.0, 1.5, 2.0])[:, None], axis=1)[:, :k]
    values = rng.random(order.shape) < 0.4
    return order.astype(np.int32), values.astype(np.int32), rng.random(order.shape) < 0.9


def _play(make, at_lane, k, seed):
    """The library in a compiled loop, all lanes at once on the last axis. ``make``: an entry of ``at_lane`` -> a counter."""
    rng = np.random.default_rng(seed)
    (name, declared), *others = make(at_lane[0]).draws(k).items()
    assert name == "noise"
    assert not others
    sample = {draws.laplace_law: rng.laplace, draws.normal_law: rng.standard_normal}[declared.law]
    streams, values, where = _insertions(rng, k, len(at_lane))
    noise = sample(size=(ROUNDS, *declared.shape, len(at_lane))).astype(np.float32)

    each_lane = functools.partial(jax.vmap, in_axes=-1, out_axes=-1)
    insert = each_lane(lambda at, state, streams, values, where, z: make(at).insert(state, streams, values, where, {"noise": z}))
    at_lane = jnp.asarray(at_lane, jnp.float32)

    @jax.jit
    def loop(at_lane, rounds):
        def one(state, now):
            state = insert(at_lane, state, *now)
            return state, each_lane(lambda at, state: make(at).read(state))(at_lane, state)

        return jax.lax.scan(one, each_lane(lambda at: make(at).init())(at_lane), rounds)[1]

    release = loop(at_lane, (streams, values, where, noise))
    assert (release.total.dtype, release.counts.dtype) == (jnp.float32, jnp.int32)
    return Played(streams, values, where, noise, np.asarray(release.total, np.float64), np.asarray(release.counts))


def _released(counter, played, lane):
    """What textbook counters show after each round of a lane: the sums, and how many items they cover."""
    of_stream = [counter() for _ in range(NUM_STREAMS)]
    for now in range(ROUNDS):
        for i, stream in enumerate(played.streams[now, :, lane]):
            if played.where[now, i, lane]:
                of_stream[stream].insert(float(played.values[now, i, lane]), played.noise[now, ..., i, lane].astype(np.float64))
        yield [each.released for each in of_stream], [each.count for each in of_stream]


def _agree(counter, played, lane, exact):
    total, counts = map(np.asarray, zip(*_released(counter, played, lane), strict=True))
    np.testing.assert_array_equal(played.counts[..., lane], counts)
    room = 0.0 if exact else 2e-6 * np.abs(total).max()
    np.testing.assert_allclose(played.total[..., lane], total, rtol=0.0, atol=room)


@pytest.mark.parametrize("name", CASES)
def test_same_releases(name):
    case = CASES[name]
    for k in (1, 2) if name in ("hybrid", "binary, Honaker", "accumulating, ratio 2") else (2,):
        played = _play(lambda epsilon: case.library(epsilon=epsilon), EPSILONS, k, seed=k)
        assert played.counts.max() <= HORIZON
        for lane, epsilon in enumerate(EPSILONS):
            _agree(functools.partial(case.reference, epsilon), played, lane, exact=math.isinf(epsilon))


def test_same_releases_of_the_square_root():
    counter = SQUARE_ROOT.library(epsilon=2.0)  # its noise is worked out on the host, so it is the same in all lanes
    played = _play(lambda _: counter, [0.0, 0.0], 2, seed=2)
    for lane in range(2):
        _agree(functools.partial(SQUARE_ROOT.reference, 2.0), played, lane, exact=False)


@pytest.mark.parametrize("name", ["binary", "binary, Honaker"])
@pytest.mark.parametrize("horizon", [1, 7, 8])
def test_a_stream_as_long_as_was_said(name, horizon):
    arguments = {"nodes": counters.honaker} if "Honaker" in name else {}
    library = counters.binary(num_streams=1, horizon=horizon, epsilon=1.0, **arguments)
    textbook = reference.Binary(horizon, 1.0, TREES[name].tree)
    rng, state, insert = np.random.default_rng(0), library.init(), jax.jit(library.insert)
    for _ in range(horizon):
        z = rng.laplace(size=library.draws(1)["noise"].shape).astype(np.float32)
        state = insert(state, jnp.zeros(1, jnp.int32), jnp.ones(1, jnp.int32), jnp.ones(1, bool), {"noise": jnp.asarray(z)})
        textbook.insert(1.0, z[..., 0].astype(np.float64))
        np.testing.assert_allclose(library.read(state).total[0], textbook.released, rtol=1e-5, atol=1e-5)


# ---- the laws of the noise ---------------------------------------------------------------------------------------------

COUNTS = (*range(71), 100, 127, 128, 129, 511, 512, 513, 777, 1000)


def _each(scales, how_many):
    return np.sort(np.repeat(np.asarray(scales, np.float64), np.asarray(how_many, np.int64)))


@pytest.mark.parametrize("name", CASES)
def test_same_law(name):
    case = CASES[name]
    library, laws = case.library(epsilon=0.5), reference.Laws(case.reference(0.5), case.tree)
    for count in COUNTS:
        if name in SELDOM and not _is_released(case, count):
            continue
        law, known = library.law(count), laws.at(count)
        mine = _each([scale for scale, _ in known], [many for _, many in known])
        theirs = _each(law.scales, law.counts)
        np.testing.assert_allclose(theirs[theirs > 0], mine, rtol=1e-6, err_msg=f"at a count of {count}")


def _is_released(case, count):
    counter = case.reference(1.0)
    while counter.count < count:
        counter.insert(0.0, 0.0)
    return counter.count == count


def _variance(laws, count):
    return 2 * sum(many * scale**2 for scale, many in laws.at(count))


@pytest.mark.parametrize("count", [1, 2, 3, 12, 100, 511, 512])
def test_laws_have_the_variances_in_the_books(count):
    k = int(math.log2(count))
    bits = reference.set_bits(count - 2**k)
    node = [2**h / (2 ** (h + 1) - 1) for h in range(k + 1)]  # what Honaker's estimate leaves of the variance at height h
    for tree, left in ((reference.Tree, [1.0] * (k + 1)), (reference.HonakerTree, node)):
        hybrid, merged = reference.Laws(reference.Hybrid(1.0, tree), tree), reference.Laws(reference.MergedHybrid(1.0, tree), tree)
        np.testing.assert_allclose(_variance(hybrid, count), 8 * (k + 1 + k**2 * sum(left[h] for h in bits)))
        roots = 1 + sum((j + 1) ** 2 * left[j] for j in range(k))
        np.testing.assert_allclose(_variance(merged, count), 2 * (roots + (k + 1) ** 2 * sum(left[h] for h in bits)))


@pytest.mark.parametrize(("count", "radius"), [(1_000, 17.5), (20_000, 1.30)])
def test_tail_of_the_hybrid(count, radius):
    laws = reference.Laws(reference.Hybrid(1 / 20))
    v = solvers.tail(laws.at(count), math.log(2) + 3 * math.log(1e5)) / count
    np.testing.assert_allclose(v, radius, rtol=5e-3)


@pytest.mark.parametrize("tail_log", [0.7, 5.0, 30.0])
def test_tail_is_the_least_of_chernoffs_bounds(tail_log):
    law = ((2.0, 10), (18.0, 3), (0.5, 1))
    theta = np.linspace(0, 1 / 18, 1_000_001)[1:-1]
    least = np.min((tail_log - sum(many * np.log1p(-((scale * theta) ** 2)) for scale, many in law)) / theta)
    np.testing.assert_allclose(solvers.tail(law, tail_log), least, rtol=1e-6)


def test_rounding_up_to_seven_digits():
    numbers = [t for t in range(1, 600) if solvers.rounded_up(t) == t]
    assert numbers == [t for t in range(1, 600) if t == (t >> max(0, t.bit_length() - 7)) << max(0, t.bit_length() - 7)]
    assert [solvers.rounded_up(t) for t in (128, 129, 255, 257)] == [128, 130, 256, 260]
