"""What is special about convex policies and reductions: noise, unbiased gradients, slopes, black boxes, optimisers."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

from jaxbandits import Study, domains, problems, run, stats
from jaxbandits.core import Round
from jaxbandits.mechanisms import calibrate
from jaxbandits.policies import armed, cascade, convex, reduction
from jaxbandits.problems import losses
from tests.helpers import numbers, takes

DISC = domains.ball(dim=2)
LAW = losses.quadratic(domain=DISC)
KNOWN = {"domain": DISC, "loss_bound": LAW.bound, "lipschitz": LAW.lipschitz}
RUNS = 40_000
FIRST = Round(jnp.int32(1), ())


def two_points(**given):
    return convex.gaussian_two_point(domain=DISC, lipschitz=1.0, horizon=1000, epsilon=1.0, delta=1e-2, **given)


def test_noise_on_the_difference_of_two_points():
    """P10: the message times 2 rho has noise of deviation 2 rho sigma; one of sigma, or of 2 sigma, would not fit."""
    policy = two_points()
    rho = math.log(1000) / 1000
    sigma = 2 * math.sqrt(2 * math.log(1.25 / 1e-2))
    z = numbers(policy.device_draws, RUNS)
    sent = jax.vmap(lambda z: policy.report(FIRST, jnp.zeros((2, 2)), jnp.array([0.3, 0.3]), z), in_axes=-1)(z)
    assert float(jnp.std(sent)) * 2 * rho == pytest.approx(2 * rho * sigma, rel=4 / math.sqrt(2 * RUNS))


def test_two_point_gradients_are_unbiased():
    """P10: for a linear loss the estimate is the gradient itself on average, noise or not."""
    policy = two_points(optimiser=lambda rate: optax.identity())  # a step is the estimate
    slope = jnp.array([0.5, -0.3])
    z = {**numbers({**policy.server_draws, **policy.device_draws}, RUNS)}

    def step(z):
        server, device = {"direction": z["direction"]}, {"noise": z["noise"]}
        state = policy.init(())
        pair = policy.act(state, FIRST, server)
        message = policy.report(FIRST, pair, pair @ slope, device)
        direction = z["direction"] / jnp.linalg.norm(z["direction"])
        return 2.0 * message * direction

    found = np.asarray(jax.jit(jax.vmap(step, in_axes=-1))(z))
    error = found.std(axis=0) / math.sqrt(RUNS)
    assert (np.abs(found.mean(axis=0) - slope) <= 4 * error).all()
    state = policy.init(())
    one = {name: value[..., 0] for name, value in z.items()}
    after = policy.update(state, jnp.int32(1), jnp.zeros((2, 2)), jnp.float32(0.01), {"direction": one["direction"]})
    wanted = 2 * 0.01 * one["direction"] / jnp.linalg.norm(one["direction"])
    np.testing.assert_allclose(after.point, wanted, rtol=1e-4)  # what the identity adds is the estimate that was averaged above


@pytest.mark.parametrize("name", ["fkm", "saha_tewari", "hazan_levy"])
def test_points_stay_in_the_domain(name):
    """The action of every checkpoint is legal; a run would not end otherwise. Domains with corners are the hard ones."""
    for domain in (domains.box(dim=2, low=-1.0, high=2.0), domains.simplex(dim=3)):
        law = losses.linear(domain=domain, path=losses.alternating(period=10))
        known = {"smoothness": 1.0, "strong_convexity": 1.0}
        factory = getattr(convex, name)
        fixed = {k: v for k, v in known.items() if takes(factory, k)}
        study = Study(
            problem=partial(problems.one_point, domain=domain, losses=law),
            policies={"p": partial(factory, **fixed)},
            seeds=16,
            horizon=60,
            checkpoints=range(1, 61),
        )
        assert np.isfinite(run(study, progress=False)["regret"]).all()


def final_regret(policies, problem, horizons, seeds):
    last = []
    for horizon in horizons:
        study = Study(
            problem=partial(problem, domain=DISC, losses=LAW), policies=policies, seeds=seeds, horizon=horizon, checkpoints=(horizon,)
        )
        last.append(run(study, progress=False)["regret"].isel(round=-1, drop=True))
    return xr.concat(last, xr.IndexVariable("horizon", list(horizons)))


WANTED = {"fkm": 3 / 4, "saha_tewari": 2 / 3, "hazan_levy": 1 / 2}


def check_slopes(horizons, seeds, within):
    regret = final_regret({name: getattr(convex, name) for name in WANTED}, problems.one_point, horizons, seeds)
    for name, wanted in WANTED.items():
        assert float(stats.log_slope(regret.sel(policy=name), "horizon")["mean"]) == pytest.approx(wanted, abs=within), name
    two = {"half": convex.two_point, "log": partial(convex.two_point, rate=convex.falling_rate)}
    regret = final_regret(two, problems.two_point, horizons, seeds)
    assert float(stats.log_slope(regret.sel(policy="half"), "horizon")["mean"]) == pytest.approx(1 / 2, abs=within)
    assert float(stats.log_slope(regret.sel(policy="log"), "horizon")["mean"]) == pytest.approx(0.0, abs=within)


def test_slopes_of_the_regret():
    """A12 on a shorter decade; the next slope is at least 0.08 away from each."""
    check_slopes((10_000, 100_000), seeds=10, within=0.08)


@pytest.mark.full
def test_slopes_of_the_regret_on_the_last_decade():
    """A12."""
    check_slopes((100_000, 1_000_000), seeds=50, within=0.08)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (partial(convex.gaussian_one_point, delta=1e-2), 2 * LAW.bound * math.sqrt(2 * math.log(125))),
        (partial(convex.ldp_gaussian_one_point, delta=1e-2), calibrate.analytic_sigma(1.0, 1e-2, 2 * LAW.bound)),
        (convex.ldp_laplace_one_point, 2 * LAW.bound),
    ],
    ids=["printed", "analytic", "laplace"],
)
def test_noise_of_the_one_point_reduction(make, wanted):
    policy = make(**KNOWN, horizon=1000, epsilon=1.0)

    def sent(loss, noise):
        return float(policy.report(FIRST, jnp.zeros(2), jnp.float32(loss), {"noise": jnp.float32(noise)}))

    assert sent(0.5, 1.0) - sent(0.5, 0.0) == pytest.approx(wanted, rel=1e-5)
    assert sent(100 * LAW.bound, 0.0) == pytest.approx(LAW.bound)  # cut: the claim rests on it
    assert sent(-100 * LAW.bound, 0.0) == pytest.approx(-LAW.bound)


def test_black_box_is_told_the_larger_bound():
    told = {}

    def black_box(*, domain, horizon, loss_bound, lipschitz):
        told.update(loss_bound=float(loss_bound), horizon=horizon)
        return convex.fkm(domain=domain, horizon=horizon, loss_bound=loss_bound, lipschitz=lipschitz)

    convex.ldp_gaussian_one_point(**KNOWN, horizon=1000, epsilon=1.0, delta=1e-2, black_box=black_box)
    sigma = calibrate.analytic_sigma(1.0, 1e-2, 2 * LAW.bound)
    assert told["loss_bound"] == pytest.approx(LAW.bound + sigma * math.sqrt(2 * math.log(2 * 1000**2)), rel=1e-5)
    convex.ldp_gaussian_one_point(**KNOWN, horizon=1000, epsilon=math.inf, delta=1e-2, black_box=black_box)
    assert told["loss_bound"] == pytest.approx(LAW.bound)


def test_tails_hold_in_all_rounds():
    """P(noise beyond the tail in one of T rounds) is at most 1 / T: at T = 100 about 2 T P(one)."""
    from scipy import stats as laws

    horizon = 100
    assert 2 * horizon * laws.norm.sf(float(reduction.normal_tail(1.0, horizon))) <= 1 / horizon
    assert 2 * horizon * laws.laplace.sf(float(reduction.laplace_tail(1.0, horizon))) <= 1 / horizon
    assert 2 * horizon * laws.norm.sf(0.8 * float(reduction.normal_tail(1.0, horizon))) > 1 / horizon


@pytest.mark.parametrize(
    "make", [convex.ldp_gaussian_one_point, partial(armed.ldp_gaussian_reduction, num_arms=3)], ids=["convex", "armed"]
)
def test_a_black_box_must_be_one(make):
    known = KNOWN if make is convex.ldp_gaussian_one_point else {}
    for black_box in (None, "fkm", lambda **arguments: 3, partial(armed.ldp_kl_ucb, num_arms=3, epsilon=1.0)):
        with pytest.raises(ValueError, match="black_box must be"):
            make(**known, horizon=100, epsilon=1.0, delta=1e-2, black_box=black_box)


def test_arms_behind_noise_are_told_the_range():
    told = {}

    def black_box(*, num_arms, low, high):
        told.update(low=float(low), high=float(high))
        return armed.tsallis_inf(num_arms=num_arms, low=low, high=high)

    armed.ldp_laplace_reduction(num_arms=3, horizon=100, epsilon=2.0, black_box=black_box)
    assert told["high"] - 1 == pytest.approx(-told["low"]) == pytest.approx(0.5 * math.log(2 * 100**2), rel=1e-5)


def test_a_black_box_with_arguments_of_its_own():
    factory = partial(armed.ldp_laplace_reduction, epsilon=1.0, black_box=partial(armed.exp3, low=-30.0, high=31.0))
    study = Study(problem=partial(problems.armed, means=[0.2, 0.8]), policies={"p": factory}, seeds=3, horizon=50)
    assert np.isfinite(run(study, progress=False)["regret"]).all()


def test_the_optimiser_can_be_swapped():
    study = Study(
        problem=partial(problems.two_point, domain=DISC, losses=LAW),
        policies={
            "sgd": partial(convex.ldp_gaussian_two_point, delta=1e-2),
            "momentum": partial(convex.ldp_gaussian_two_point, delta=1e-2, optimiser=partial(optax.sgd, momentum=0.5)),
            "adam": partial(convex.ldp_gaussian_two_point, delta=1e-2, optimiser=optax.adam),
        },
        grid={"epsilon": [1.0, math.inf]},
        seeds=5,
        horizon=500,
    )
    final = run(study, progress=False)["regret"].isel(round=-1).mean("seed")
    assert np.isfinite(final).all()
    assert len(set(final.sel(epsilon=1.0).values.tolist())) == 3


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: convex.fkm(domain="ball", horizon=10, loss_bound=1.0, lipschitz=1.0), "domain"),
        (lambda: convex.fkm(domain=DISC, horizon=10, loss_bound=0.0, lipschitz=1.0), "loss_bound"),
        (lambda: convex.fkm(domain=DISC, horizon=10, loss_bound=1.0, lipschitz=1.0, optimiser=3), "optimiser"),
        (lambda: convex.fkm(domain=DISC, horizon=10, loss_bound=1.0, lipschitz=1.0, optimiser=lambda rate: rate), "optimiser"),
        (lambda: convex.saha_tewari(domain=DISC, horizon=10, loss_bound=1.0, smoothness=math.inf), "smoothness"),
        (lambda: convex.hazan_levy(domain=DISC, horizon=10, loss_bound=1.0, smoothness=1.0, strong_convexity=0.0), "strong_convexity"),
        (lambda: convex.two_point(domain=DISC, horizon=10, lipschitz=1.0, rate="falling"), "rate"),
        (lambda: convex.two_point(domain=DISC, horizon=10, lipschitz=1.0, rate=convex.falling_rate), "strong_convexity"),
        (lambda: convex.ldp_gaussian_two_point(domain=DISC, horizon=10, lipschitz=1.0, epsilon=1.0, delta=0.1, sigma=0.1), "sigma"),
        (lambda: armed.exp3(num_arms=2, horizon=10, low=1.0, high=math.inf), "high"),
        (lambda: armed.exp3(num_arms=2, horizon=10, low=1.0, high=0.5), "high"),
    ],
)
def test_bad_input(make, named):
    with pytest.raises(ValueError, match=f"{named} must"):
        make()


def test_one_point_policies_do_not_play_two():
    with pytest.raises(ValueError, match="act must return float32"):
        run(Study(problem=partial(problems.two_point, domain=DISC, losses=LAW), policies={"p": convex.fkm}, horizon=10), progress=False)
    with pytest.raises(ValueError, match="plays problems that have num_items"):
        Study(problem=partial(problems.one_point, domain=DISC, losses=LAW), policies={"p": cascade.cascade_ucb1})


def test_a_black_box_does_not_see_the_preview():
    def peeking(*, num_arms):
        return armed.ucb1(num_arms=num_arms)._replace(
            init=lambda preview: preview, act=lambda state, round_, z: jnp.argmax(state)[None].astype(jnp.int32)
        )

    policy = armed.ldp_laplace_reduction(num_arms=3, horizon=10, epsilon=1.0, black_box=peeking)
    np.testing.assert_array_equal(policy.init(jnp.array([0, 1, 0])), 0)


def test_losses_must_be_one_number():
    """Two numbers under noise for one would leave with their difference as it is."""
    wide = LAW._replace(loss=lambda target, t, point, z: point)
    study = Study(problem=partial(problems.one_point, domain=DISC, losses=wide), policies={"p": convex.fkm}, horizon=10)
    with pytest.raises(ValueError, match=r"losses.loss must return float32 \(\)"):
        run(study, progress=False)


def test_halving_adds_up_long_phases():
    """A float32 sum would stop at 2^24."""
    policy = armed.sequential_halving(num_arms=2, horizon=10)
    state = policy.init(None)._replace(total=jnp.full(2, 2.0**24))
    for _ in range(4):
        state = policy.settle(policy.update(state, jnp.int32(3), jnp.array([1], jnp.int32), jnp.float32(1.0), {}))
    assert float(state.folded.high[1] - state.folded.high[0]) == 4.0
