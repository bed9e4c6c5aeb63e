"""What privacy adds up to, against the accountants of dp-accounting and OpenDP."""

import dataclasses
import math
from functools import partial

import jax
import numpy as np
import opendp.prelude as opendp
import pytest
from dp_accounting import dp_event, rdp
from dp_accounting.pld import common, privacy_loss_distribution

from jaxbandits import Claim, Study, problems, run
from jaxbandits.mechanisms import calibrate
from jaxbandits.policies import cascade
from jaxbandits.privacy import Budget, ledger, spent, table

opendp.enable_features("contrib")
pytestmark = pytest.mark.xdist_group("ledger")  # in one worker, which makes the fixture once
SOUND = {"status": "sound", "relation": "one round"}


@pytest.mark.parametrize(("each", "times", "delta"), [((0.1, 0.0), 100, 1e-5), ((1.0, 0.0), 10, 1e-6), ((0.5, 1e-6), 10, 1e-4)])
def test_exact_composition_is_that_of_a_privacy_loss_distribution(each, times, delta):
    loss = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(*each), value_discretization_interval=1e-3
    )
    theirs = loss.self_compose(times).get_epsilon_for_delta(delta)
    ours = ledger.composed(Budget(*each), times, delta).epsilon
    assert theirs <= ours <= theirs * (1 + 1e-6)
    assert ours <= times * each[0]
    assert abs(ledger.composed(Budget(each[0] * 1.01, each[1]), times, delta).epsilon / theirs - 1) > 1e-4, "tells another epsilon"


@pytest.mark.parametrize("times", [1, 2, 7, 65_536])
def test_composition_without_slack_is_basic(times):
    assert ledger.composed(Budget(0.3), times, 0.0).epsilon == pytest.approx(0.3 * times, rel=1e-9)
    assert ledger.basic(*[Budget(0.3, 1e-9)] * times) == pytest.approx((0.3 * times, 1e-9 * times))


def test_more_slack_buys_a_smaller_epsilon():
    levels = [ledger.composed(Budget(0.2), 200, delta).epsilon for delta in (0.0, 1e-12, 1e-8, 1e-4, 0.1, 0.9)]
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) == len(levels)
    for delta, level in zip((1e-12, 1e-8, 1e-4), levels[1:], strict=False):
        assert calibrate.composed_delta(200, 0.2, level) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("own", [0.0, 1e-9])
def test_what_is_said_of_more_rounds_than_can_be_summed_is_a_little_more(own):
    each = Budget(0.01, own)
    exact, loose = ledger.composed(each, calibrate.MOST_QUERIES, 1e-4), ledger._many(each, calibrate.MOST_QUERIES, 1e-4)
    assert exact.epsilon <= loose.epsilon <= 1.1 * exact.epsilon
    assert loose.delta == 1e-4


def test_less_delta_than_the_releases_have_is_refused():
    with pytest.raises(ValueError, match="delta must be at least 0"):
        ledger.composed(Budget(0.5, 1e-3), 10, 1e-3)


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-5), (10.0, 1e-6), (0.3, 1e-3)])
def test_concentrated_privacy_is_that_of_opendp(scale, delta):
    space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    gaussian = opendp.c.make_zCDP_to_approxDP(opendp.m.make_gaussian(*space, scale=scale))
    ours = ledger.of_concentrated(ledger.concentrated_gaussian(scale), delta).epsilon
    assert ours == pytest.approx(gaussian.map(1.0).epsilon(delta=delta), rel=1e-6)
    exact = calibrate.gaussian_delta(ours, scale)
    assert exact <= delta, "a conversion loses something against the exact delta of the same noise"


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-5), (1e-3, 1e-6), (10.0, 1e-3)])
def test_concentrated_privacy_is_not_above_that_of_an_accountant_with_few_orders(rho, delta):
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.ZCDpEvent(rho))
    theirs, ours = accountant.get_epsilon(delta), ledger.of_concentrated(rho, delta).epsilon
    assert 0.9 * theirs <= ours <= theirs * (1 + 1e-9)


def test_a_group_by_steps():
    """Record by record: from m to m + 1 records epsilons add, and delta becomes delta + e^epsilon times the one before."""
    each = Budget(0.7, 1e-7)
    epsilon, delta = 0.0, 0.0
    for m in range(1, 12):
        epsilon, delta = epsilon + each.epsilon, each.delta + math.exp(each.epsilon) * delta
        assert ledger.grouped(each, m) == pytest.approx((epsilon, delta))
    assert ledger.grouped(Budget(0.0, 0.1), 20) == (0.0, 1.0)
    assert ledger.grouped(Budget(500.0, 1e-300), 10) == (5000.0, 1.0)
    assert ledger.grouped(Budget(0.5), 4) == (2.0, 0.0)


def test_releases_about_different_users():
    assert ledger.parallel(Budget(0.1, 1e-6), Budget(2.0), Budget(0.5, 1e-5)) == (2.0, 1e-5)
    assert ledger.parallel() == (0.0, 0.0)


def test_what_is_spent_on_a_user_who_comes_again():
    local, central = (Claim(**SOUND, trust=trust, epsilon=0.5) for trust in ("local", "central"))
    assert spent(local, 8) == (4.0, 0.0)
    assert spent(local, 8, delta=1e-5) == ledger.composed(Budget(0.5), 8, 1e-5)
    assert spent(local, 100, delta=1e-5).epsilon < 50 * 0.65
    assert spent(central, 8) == (4.0, 0.0)
    assert spent(local, 10**6, delta=1e-5).epsilon <= 10**6 * 0.5
    small = Claim(**SOUND, trust="local", epsilon=1e-3)
    assert spent(small, 10**6, delta=1e-5).epsilon == pytest.approx(ledger.of_concentrated(10**6 * 0.5e-6, 1e-5).epsilon)
    many = Claim(**SOUND, trust="local", epsilon=1e-3, delta=1e-12)
    assert spent(many, 10**6, delta=1e-5).epsilon == pytest.approx(ledger.of_concentrated(10**6 * 0.5e-6, 9e-6).epsilon, rel=1e-5)
    assert spent(many, 10**6, delta=1e-6).epsilon > spent(many, 10**6, delta=1e-5).epsilon
    with pytest.raises(ValueError, match="delta must be at least 1e-06, what the deltas of 1000000 releases add up to"):
        spent(many, 10**6, delta=1e-7)
    with pytest.raises(ValueError, match="delta must be left out under central privacy"):
        spent(central, 8, delta=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spent(Claim(status="paper", trust="local", epsilon=1.0, flaw="it leaks")), "no privacy guarantee: it leaks"),
        (lambda: ledger.basic(Budget(-1.0)), "epsilon must be"),
        (lambda: ledger.parallel(Budget(1.0, 1.5)), "delta must be"),
        (lambda: ledger.grouped(Budget(1.0), 0), "records must be"),
        (lambda: ledger.composed(Budget(1.0), 0, 0.0), "times must be"),
        (lambda: ledger.composed(Budget(1.0), 2, 1.0), "delta must be"),
        (lambda: ledger.of_concentrated(-1.0, 1e-5), "rho must be"),
        (lambda: ledger.of_concentrated(1.0, 0.0), "delta must be"),
        (lambda: ledger.concentrated_pure(float("nan")), "epsilon must be"),
        (lambda: ledger.concentrated_gaussian(0.0), "sigma must be"),
        (lambda: ledger.basic(1.0), "budgets must be Budget"),
        (lambda: spent("x"), "claim must be a Claim"),
        (lambda: spent(Claim(**SOUND, trust="local", epsilon=1.0), 10**400), "rounds must be"),
        (lambda: table(None), "dataset must be what run returned"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def some_study():
    policies = {
        "local": cascade.first_ldp_ucb1,
        "central": cascade.first_dp_kl_ucb,
        "printed": partial(cascade.laplace_ucb, noise_scale=0.01),
        "plain": cascade.cascade_ucb1,
        "normal": partial(cascade.all_ldp_gaussian_ucb1, delta=1e-4),
    }
    problem = partial(problems.cascade, means=problems.linear(6), list_len=2)
    return Study(problem=problem, policies=policies, grid={"epsilon": [0.5, 1.0]}, seeds=2, horizon=20)


@pytest.fixture(scope="module")
def dataset():
    return run(some_study(), progress=False)


def test_the_table_of_a_study(dataset, tmp_path):
    frame = table(dataset, rounds=4).set_index(["policy", "epsilon"])
    assert len(frame) == 10
    assert frame.loc[("local", 0.5), ["guaranteed_epsilon", "user_epsilon", "claim"]].tolist() == [0.5, 2.0, "0.5-LDP"]
    assert frame.loc[("central", 1.0), ["guaranteed_epsilon", "user_epsilon", "trust"]].tolist() == [1.0, 4.0, "central"]
    assert frame.loc[("normal", 1.0), ["guaranteed_delta", "user_delta"]].tolist() == pytest.approx([1e-4, 4e-4])
    for policy in ("printed", "plain"):
        part = frame.loc[policy]
        assert part[["guaranteed_epsilon", "guaranteed_delta", "user_epsilon", "user_delta"]].isna().all(axis=None)
        assert (part["flaw"] != "").all()
    dataset.to_netcdf(tmp_path / "d.nc", engine="scipy")
    import xarray as xr

    assert table(xr.load_dataset(tmp_path / "d.nc", engine="scipy"), rounds=4).equals(frame.reset_index())


def test_the_table_of_a_part(dataset):
    assert len(table(dataset.sel(policy="local"))) == 2
    assert len(table(dataset.sel(epsilon=1.0))) == 5
    (row,) = table(dataset.sel(policy="central", epsilon=0.5)).to_dict("records")
    assert row["guaranteed_epsilon"] == row["user_epsilon"] == 0.5
    assert np.isnan(dataset["guaranteed_epsilon"].sel(policy="printed")).all()
    with pytest.raises(ValueError, match="dataset must be what run returned"):
        table(dataset.drop_attrs())


def test_the_largest_and_smallest_numbers():
    assert ledger.basic(Budget(1e308), Budget(1e308)) == (math.inf, 0.0)
    assert ledger.concentrated_pure(1e200) == math.inf
    assert ledger.composed(Budget(1e-320), 7, 0.0).epsilon == 7e-320
    for rho in (1e-12, 1.0, 1e9, 1e30):
        for delta in (1e-300, 1e-9, 0.999, 1 - 1e-15):
            assert 0 <= ledger.of_concentrated(rho, delta).epsilon < rho * 1.01 + math.sqrt(4 * rho * -math.log(delta)) + 1e-9
    claim = Claim(**SOUND, trust="local", epsilon=1.0)
    assert spent(claim, 70_000, 0.0) == (70_000.0, 0.0)


def test_the_table_reads_the_claim_of_each_point():
    """A custom policy whose claim varies along an axis, which has the name of a column."""

    def factory(*, num_items, list_len, epsilon, trust):
        policy = cascade.first_ldp_ucb1(num_items=num_items, list_len=list_len, epsilon=epsilon)
        central = not isinstance(trust, jax.core.Tracer) and trust > 1
        return policy._replace(claim=dataclasses.replace(policy.claim, trust="central")) if central else policy

    problem = partial(problems.cascade, means=problems.linear(4), list_len=2)
    study = Study(problem=problem, policies={"p": factory}, grid={"epsilon": [1.0], "trust": [1.0, 2.0]}, seeds=1, horizon=5)
    frame = table(run(study, progress=False), rounds=10, delta=0.1)
    assert frame["trust"].tolist() == ["local", "central"]
    assert frame["trust (grid)"].tolist() == [1.0, 2.0]
    assert frame["user_epsilon"].tolist() == [ledger.composed(Budget(1.0), 10, 0.1).epsilon, 10.0]


def test_arguments_of_the_table_are_checked_before_its_rows(dataset):
    for arguments in ({"rounds": 0}, {"rounds": "x"}, {"delta": 2.0}):
        with pytest.raises(ValueError, match="must be"):
            table(dataset.sel(policy=["plain"]), **arguments)


def test_a_delta_below_that_of_a_policy_is_infinite_for_it_alone(dataset):
    frame = table(dataset, rounds=5, delta=1e-6).set_index(["policy", "epsilon"])
    assert frame.loc[("normal", 1.0), "user_epsilon"] == math.inf
    assert frame.loc[("local", 1.0), "user_epsilon"] < 5.0
    many = table(dataset, rounds=10**6, delta=0.5).set_index(["policy", "epsilon"])
    assert many.loc[("normal", 1.0), "user_epsilon"] == math.inf
    assert many.loc[("local", 1.0), "user_epsilon"] <= 10**6
