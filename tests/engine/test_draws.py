"""Random numbers: the generator against published answers, the laws by statistics, the addressing bit by bit."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.engine import draws

SEED = 20210524
NUMBERS = 2**20
"""Numbers for a test of a law: enough that a scale 2 % off is rejected beyond doubt."""


def generate(streams, *, seed=SEED, replicas=3, rounds=4, first_replica=0, first_round=1):
    """The numbers of some consecutive replicas and rounds."""
    replica = jnp.arange(first_replica, first_replica + replicas, dtype=jnp.uint32)
    time = jnp.arange(first_round, first_round + rounds, dtype=jnp.int32)
    return draws.generate(draws.layout(streams), jnp.uint32(seed), replica, time)


# ---- the generator -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "counter", "answer"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers_of_random123(key, counter, answer):
    words = [jnp.uint32(w) for w in (*key, *counter)]
    assert tuple(int(w) for w in draws.threefry2x32(*words)) == answer
    assert tuple(int(w) for w in jax.jit(draws.threefry2x32)(*words)) == answer


def test_a_word_is_where_the_documentation_says():
    streams = {draws.USERS: {"click": draws.bits((3,))}, draws.SERVER: {"tie": draws.bits(), "more": draws.bits((2, 2))}}
    result = generate(streams, first_replica=5, first_round=7)
    users, server = result[draws.USERS]["click"], result[draws.SERVER]
    words = {draws.USERS: users, draws.SERVER: np.concatenate([server["tie"][:, None], server["more"].reshape(4, 4, 3)], axis=1)}
    for stream, found in words.items():
        i, w, j = np.indices(found.shape, dtype=np.uint32)
        block = draws.threefry2x32(np.full_like(i, SEED), 5 + j, (7 + i) // 2, stream * 2**24 + w)
        assert np.array_equal(found, np.where((7 + i) % 2 == 0, *block))


# ---- the laws, word by word --------------------------------------------------------------------------------------------

EXTREME = jnp.asarray([0, 1, 255, 256, 2**31 - 1, 2**31, 2**31 + 256, 2**32 - 257, 2**32 - 256, 2**32 - 1], jnp.uint32)


laplace_law, normal_law = jax.jit(draws.laplace_law), jax.jit(draws.normal_law)


def some_words(count):
    return jnp.asarray(np.random.default_rng(1).integers(0, 2**32, count, dtype=np.uint32))


def test_uniform_numbers_lie_inside_the_unit_interval():
    unit = np.asarray(draws.unit_law(EXTREME))
    assert np.all((unit > 0) & (unit < 1))


def test_uniform_numbers_are_the_midpoints_of_24_bits():
    words = np.concatenate([np.asarray(EXTREME), np.asarray(some_words(10_000))])
    exact = (np.floor(words / 256.0) + 0.5) / 2**24
    assert np.all(np.abs(np.asarray(draws.unit_law(jnp.asarray(words)), np.float64) - exact) <= 2.0**-25)


def test_laplace_numbers_have_the_exponential_magnitude_and_the_sign_of_their_word():
    words = np.asarray(some_words(10_000))
    exact = -np.log(np.asarray(draws.unit_law(jnp.asarray(words)), np.float64)) * np.where(words & 1, -1, 1)
    assert np.allclose(laplace_law(jnp.asarray(words)), exact, rtol=1e-6, atol=1e-7)
    assert np.all(np.abs(np.asarray(laplace_law(EXTREME))) < 17.4)


def test_normal_numbers_are_box_and_mullers():
    words = np.asarray(some_words(20_000))
    radius = np.sqrt(-2 * np.log(np.asarray(draws.unit_law(jnp.asarray(words[0::2])), np.float64)))
    # Two bits count quarter turns backwards; the next 23 give the place in a quarter turn around the angle 0.
    place = (np.floor(words[1::2] / 2.0**7) % 2**23 + 0.5) / 2**23 - 0.5
    angle = np.pi / 2 * (place - np.floor(words[1::2] / 2.0**30))
    pairs = np.asarray(normal_law(jnp.asarray(words)), np.float64).reshape(-1, 2)
    assert np.allclose(pairs, np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), rtol=0, atol=3e-6)
    ends = jnp.stack(jnp.meshgrid(EXTREME, EXTREME), axis=-1).reshape(-1)
    assert np.all(np.abs(np.asarray(normal_law(ends))) < 5.9)


# ---- the laws, by statistics -------------------------------------------------------------------------------------------

LAWS = {
    "uniform": (draws.uniform, stats.uniform, 0.5),
    "laplace": (draws.laplace, stats.laplace, 0.0),
    "normal": (draws.normal, stats.norm, 0.0),
}


@pytest.fixture(scope="module")
def sample():
    """Numbers of each law, [2^7 rounds, 2^5 slots, 2^8 replicas]."""
    streams = {draws.DEVICE: {name: make((32,)) for name, (make, _, _) in LAWS.items()}}
    result = generate(streams, replicas=256, rounds=128)[draws.DEVICE]
    return {name: np.asarray(values, np.float64) for name, values in result.items()}


def ks(values, law):
    """p value of the Kolmogorov-Smirnov test, by its limit law."""
    ordered = np.sort(values, axis=None)
    steps, cdf = np.arange(ordered.size + 1) / ordered.size, law.cdf(ordered)
    distance = max(np.max(steps[1:] - cdf), np.max(cdf - steps[:-1]))
    return stats.kstwobign.sf(distance * math.sqrt(ordered.size))


@pytest.mark.parametrize("name", LAWS)
def test_numbers_have_their_law_and_no_nearby_one(name, sample):
    _, law, centre = LAWS[name]
    assert sample[name].size == NUMBERS
    assert ks(sample[name], law()) > 1e-3
    for scale in (0.98, 1.02):
        assert ks(sample[name], law(loc=centre - centre * scale, scale=scale)) < 1e-6
    assert ks(sample[name], law(loc=0.01)) < 1e-6


def test_each_slot_round_and_replica_has_the_law(sample):
    for name, (_, law, _) in LAWS.items():
        for axis, picks in ((0, (0, 127)), (1, (0, 1, 31)), (2, (0, 255))):
            for pick in picks:
                assert ks(np.take(sample[name], pick, axis=axis), law()) > 1e-4


def scores(values, name):
    """Two functions of the numbers with mean 0 and variance 1: one sees their order, one their distance from the centre."""
    u = LAWS[name][1].cdf(values) - 0.5
    return math.sqrt(12) * u, math.sqrt(180) * (u**2 - 1 / 12)


def correlated(a, b):
    """Whether two standardised arrays are correlated by more than 4.5 standard errors."""
    return abs(np.mean(a * b)) > 4.5 / math.sqrt(a.size)


@pytest.mark.parametrize("name", LAWS)
def test_slots_rounds_and_replicas_are_independent(name, sample):
    for first, second in itertools.product(scores(sample[name], name), repeat=2):
        for lag in (1, 2, 3):
            assert not correlated(first[lag:], second[:-lag])
            assert not correlated(first[:, lag:], second[:, :-lag])
            assert not correlated(first[:, :, lag:], second[:, :, :-lag])
        assert not correlated(first[1:, :, 1:], second[:-1, :, :-1])
        assert not correlated(first[1:, :, :-1], second[:-1, :, 1:])


def test_the_test_of_independence_has_power(sample):
    first, _ = scores(sample["normal"], "normal")
    assert correlated(first[1:], 0.99 * first[:-1] + 0.01 * first[1:])
    # Laplace noise with the magnitude of the round before, its sign fresh, shows only in the distance from the centre.
    magnitude, sign = np.abs(sample["laplace"][:-1]), np.sign(sample["laplace"][1:])
    (order, distance), (_, before) = scores(magnitude * sign, "laplace"), scores(sample["laplace"][:-1], "laplace")
    assert correlated(distance, before)
    assert not correlated(order, before)


def test_the_draws_of_a_stream_are_independent_of_each_other(sample):
    for a, b in itertools.combinations(LAWS, 2):
        for first, second in itertools.product(scores(sample[a], a), scores(sample[b], b)):
            assert not correlated(first, second)


def test_streams_and_seeds_are_independent():
    noise = {"noise": draws.uniform((8,))}
    together = generate(dict.fromkeys(range(4), noise), replicas=128, rounds=64)
    arrays = [np.asarray(together[stream]["noise"], np.float64) for stream in range(4)]
    arrays.append(np.asarray(generate({0: noise}, replicas=128, rounds=64, seed=SEED + 1)[0]["noise"], np.float64))
    # Key and counter must not be interchangeable: seed with replica, round with slot.
    arrays.append(np.asarray(generate({0: noise}, replicas=128, rounds=64, seed=1, first_replica=SEED)[0]["noise"], np.float64))
    for a, b in itertools.combinations(arrays, 2):
        for first, second in itertools.product(scores(a, "uniform"), scores(b, "uniform")):
            assert not correlated(first, second)


def test_the_sign_of_a_laplace_number_is_independent_of_its_magnitude(sample):
    sign, (_, distance) = np.sign(sample["laplace"]), scores(sample["laplace"], "laplace")
    assert abs(sign.mean()) < 4.5 / math.sqrt(NUMBERS)
    assert not correlated(sign, distance)
    assert abs(np.mean(sign[:, 1:] * sign[:, :-1])) < 4.5 / math.sqrt(NUMBERS)


# ---- what a number does not depend on ----------------------------------------------------------------------------------

MIXED = {
    "bits": draws.bits((3,)),
    "uniform": draws.uniform(),
    "odd": draws.normal((3,)),
    "laplace": draws.laplace((2, 2)),
}


def same(a, b):
    return a.dtype == b.dtype and np.array_equal(np.asarray(a), np.asarray(b))


def test_numbers_do_not_depend_on_the_lanes_and_rounds_generated_with_them():
    whole = generate({draws.DEVICE: MIXED}, replicas=130, rounds=9)[draws.DEVICE]
    for replica, replicas, time, rounds in ((5, 1, 3, 4), (17, 64, 2, 8)):
        part = generate({draws.DEVICE: MIXED}, first_replica=replica, replicas=replicas, first_round=time, rounds=rounds)
        for name, values in part[draws.DEVICE].items():
            assert same(values, whole[name][time - 1 : time - 1 + rounds, ..., replica : replica + replicas])


def test_numbers_do_not_depend_on_compilation():
    plan = draws.layout({draws.DEVICE: MIXED})
    arguments = jnp.uint32(SEED), jnp.arange(5, dtype=jnp.uint32), jnp.arange(1, 4, dtype=jnp.int32)
    plain, compiled = draws.generate(plan, *arguments), jax.jit(lambda *a: draws.generate(plan, *a))(*arguments)
    for name in MIXED:
        assert same(plain[draws.DEVICE][name], compiled[draws.DEVICE][name])


def test_streams_laid_out_together_keep_their_numbers():
    users, device = {"click": draws.uniform((5,)), "tie": draws.bits()}, MIXED
    alone = {draws.USERS: generate({draws.USERS: users}), draws.DEVICE: generate({draws.DEVICE: device})}
    together = generate({draws.DEVICE: device, draws.USERS: users})
    for stream, declared in ((draws.USERS, users), (draws.DEVICE, device)):
        assert set(together[stream]) == set(declared)
        for name, values in together[stream].items():
            assert same(values, alone[stream][stream][name])


def test_a_draw_added_at_the_end_changes_nothing_before_it():
    longer = generate({draws.DEVICE: {**MIXED, "last": draws.bits((7,))}})[draws.DEVICE]
    for name, values in generate({draws.DEVICE: MIXED})[draws.DEVICE].items():
        assert same(values, longer[name])


def test_odd_numbers_of_normals_are_the_first_of_an_even_number():
    assert draws.normal((3,)).words == 4
    assert draws.normal().words == 2
    even = generate({0: {"z": draws.normal((4,))}})[0]["z"]
    odd = generate({0: {"z": draws.normal((3,)), "next": draws.bits()}})[0]
    assert same(odd["z"], even[:, :3])
    words = generate({0: {"all": draws.bits((5,))}})[0]["all"]
    assert same(odd["next"], words[:, 4])
    # A program of its own may round otherwise.
    shifted = generate({0: {"skip": draws.bits(), "z": draws.normal((3,))}})[0]["z"]
    assert np.allclose(shifted, jax.vmap(normal_law)(words[:, 1:])[:, :3], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_shapes_and_types(shape):
    declared = {name: make(shape) for name, make in (("u", draws.uniform), ("l", draws.laplace), ("n", draws.normal), ("b", draws.bits))}
    result = generate({2: declared}, replicas=5, rounds=6)[2]
    for name, values in result.items():
        assert values.shape == (6, *shape, 5)
        assert values.dtype == (jnp.uint32 if name == "b" else jnp.float32)


def test_nothing_declared_is_nothing_made():
    assert generate({}) == {}
    assert generate({draws.USERS: {}, draws.DEVICE: {}}) == {draws.USERS: {}, draws.DEVICE: {}}
    assert set(generate({draws.USERS: {}, draws.DEVICE: {"u": draws.uniform()}})[draws.DEVICE]) == {"u"}


def test_a_sample_is_what_the_server_would_get():
    declared = {"noise": draws.laplace((3,)), "coin": draws.uniform()}
    numbers = draws.generate(draws.layout({draws.SERVER: declared}), 4, jnp.array([7], jnp.uint32), jnp.array([9], jnp.int32))[draws.SERVER]
    found = draws.sample(declared, seed=4, replica=7, round=9)
    assert {name: x.shape for name, x in found.items()} == {"noise": (3,), "coin": ()}
    for name, x in found.items():
        np.testing.assert_array_equal(x, numbers[name][0, ..., 0])
