"""Means, bands, paired differences and ratios, on numbers whose law is known."""

import re

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from jaxbandits import stats

SEEDS, POINTS = 12, 4000


def values(seed=0, mean=5.0, deviation=2.0, seeds=SEEDS):
    draws = np.random.default_rng(seed).normal(mean, deviation, size=(POINTS, seeds))
    return xr.DataArray(draws, dims=("point", "seed"))


def coverage(band, truth):
    return float(((band["low"] <= truth) & (truth <= band["high"])).mean())


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_normal_band_covers_the_mean(level):
    error = np.sqrt(level * (1 - level) / POINTS)
    assert abs(coverage(stats.normal_band(values(), level), 5.0) - level) < 4 * error
    z_half = stats.standard_error(values()) * 1.96
    narrow = xr.Dataset({"low": values().mean("seed") - z_half, "high": values().mean("seed") + z_half})
    assert abs(coverage(narrow, 5.0) - 0.95) > 4 * np.sqrt(0.05 * 0.95 / POINTS), "the normal quantile must fail at 12 seeds"


def test_quantile_band_holds_the_seeds():
    band = stats.quantile_band(values(seeds=1000).isel(point=slice(20)), 0.9)
    np.testing.assert_allclose(band["low"], 5 - 1.645 * 2, atol=0.5)
    np.testing.assert_allclose(band["high"], 5 + 1.645 * 2, atol=0.5)


def test_one_seed_has_no_band():
    band = stats.normal_band(values(seeds=1))
    assert np.isfinite(band["mean"]).all()
    assert np.isnan(band["low"]).all()


def test_a_seed_that_is_nan_is_not_left_out():
    """The mean of the other seeds, with the error of all, would look better than it is."""
    broken = values(seeds=5).isel(point=[0, 1]).copy()
    broken[0, 2] = np.nan
    for part in stats.normal_band(broken).values():
        np.testing.assert_array_equal(np.isnan(part), [True, False])
    np.testing.assert_array_equal(np.isnan(stats.standard_error(broken)), [True, False])
    both = xr.concat([broken, values(1, seeds=5).isel(point=[0, 1])], dim="policy").assign_coords(policy=["a", "b"])
    for order in (("a", "b"), ("b", "a")):
        assert np.isnan(stats.ratio(xr.Dataset({"regret": both}), *order)["mean"][0])


def pair(shared):
    """Two policies that share most of their randomness."""
    common, own = values(1, 0.0, shared), [values(s, m, 0.5) for s, m in ((2, 10.0), (3, 8.0))]
    data = xr.concat([common + o for o in own], dim="policy").assign_coords(policy=["a", "b"])
    return xr.Dataset({"regret": data})


def test_paired_difference_uses_the_pairs():
    band = stats.paired_difference(pair(5.0), "a", "b")
    assert abs(coverage(band, 2.0) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / POINTS)
    width = float((band["high"] - band["low"]).mean())
    apart = 2 * 2.2 * np.sqrt(2) * 5 / np.sqrt(SEEDS)
    assert width < apart / 4


def test_ratio_covers_the_ratio_of_means():
    band = stats.ratio(pair(0.5), "a", "b")
    assert abs(coverage(band, 1.25) - 0.95) < 0.015
    zero = xr.Dataset({"regret": pair(0.5)["regret"] * xr.DataArray([1.0, 0.0], dims="policy")})
    assert np.isnan(stats.ratio(zero, "a", "b")["mean"]).all()


def test_bad_input():
    with pytest.raises(ValueError, match="metric must be one of regret; got 'pulls'"):
        stats.quantity(pair(1.0), "pulls")
    with pytest.raises(ValueError, match="second must be one of a, b; got 'c'"):
        stats.paired_difference(pair(1.0), "a", "c")
    with pytest.raises(ValueError, match="values must have the dimension 'seed'"):
        stats.normal_band(values().mean("seed"))
    for level in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="level must be strictly between 0 and 1"):
            stats.normal_band(values(), level)


def test_log_slope_of_a_power_law():
    """The exponent itself without noise; with noise an interval that holds it, and not the next candidate."""
    x = np.array([100, 1000, 10_000])
    exact = xr.DataArray(2.0 * np.ones((5, 1)) * x**0.75, dims=["seed", "horizon"], coords={"horizon": x})
    assert float(stats.log_slope(exact, "horizon")["mean"]) == pytest.approx(0.75)
    noise = np.random.default_rng(0).lognormal(sigma=0.3, size=(200, 3))
    found = stats.log_slope(exact.isel(seed=0) * xr.DataArray(noise, dims=["seed", "horizon"]), "horizon")
    assert float(found["low"]) < 0.75 < float(found["high"])
    assert not float(found["low"]) < 2 / 3 < float(found["high"])
    with pytest.raises(ValueError, match="axis must be"):
        stats.log_slope(exact, "round")
    with pytest.raises(ValueError, match="must be positive"):
        stats.log_slope(exact - 1e6, "horizon")


def many(policies, grid, seeds, means, shared=5.0, seed=0):
    """Final values of policies that share most of their randomness, as of a run of one round."""
    random = np.random.default_rng(seed)
    common, own = random.normal(0, shared, (1, grid, seeds)), random.normal(0, 1, (policies, grid, seeds))
    regret = np.asarray(means).reshape(-1, 1, 1) + common + own
    coords = {"policy": [f"p{i}" for i in range(policies)], "epsilon": np.arange(grid, dtype=float), "round": [1]}
    claim = (("policy", "epsilon"), np.full((policies, grid), "non-private"))
    return xr.Dataset({"regret": (("policy", "epsilon", "seed", "round"), regret[..., None])}, coords={**coords, "claim": claim})


def test_paired_tests_find_what_unpaired_ones_do_not():
    table = stats.paired_tests(many(3, 2, 30, [0.0, 1.5, 0.0]), "p0").set_index(["policy", "epsilon"])
    assert table.index.tolist() == [("p1", 0.0), ("p1", 1.0), ("p2", 0.0), ("p2", 1.0)]
    assert (table.loc["p1", "adjusted"] < 1e-3).all()
    assert (table.loc["p2", "adjusted"] > 0.05).all()
    found = table.loc[("p1", 0.0)]
    assert found["low"] < found["difference"] < found["high"] < 3
    data = many(3, 2, 30, [0.0, 1.5, 0.0])["regret"].isel(round=0).sel(epsilon=0.0)
    apart = scipy.stats.ttest_ind(data.sel(policy="p1"), data.sel(policy="p0")).pvalue
    assert apart > 0.05
    ranks = stats.paired_tests(many(3, 2, 30, [0.0, 1.5, 0.0]), "p0", test=lambda d: scipy.stats.wilcoxon(d).pvalue)
    assert not np.allclose(ranks["p_value"], table["p_value"])


def test_corrections_by_hand():
    raw = np.array([0.04, 0.01, 0.03, 0.5])
    np.testing.assert_allclose(stats.holm(raw), [0.09, 0.04, 0.09, 0.5])
    np.testing.assert_allclose(stats.bonferroni(raw), [0.16, 0.04, 0.12, 1.0])
    np.testing.assert_allclose(stats.benjamini_hochberg(raw), [0.16 / 3, 0.04, 0.16 / 3, 0.5])


@pytest.mark.parametrize(("correction", "kept"), [(stats.holm, True), (stats.bonferroni, True), (lambda p: p, False)])
def test_a_family_of_true_nulls_is_rarely_rejected(correction, kept):
    """Of 150 families of 12 tests, at most 5 % and four standard errors; without a correction about half."""
    rejected = 0
    for family in range(150):
        table = stats.paired_tests(many(4, 4, 12, [0.0] * 4, seed=family), "p0", correction=correction)
        rejected += bool((table["adjusted"] < 0.05).any())
    assert (rejected / 150 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)) == kept, rejected


def test_differences_that_do_not_vary():
    same = many(2, 1, 5, [0.0, 0.0])
    same["regret"].values[1] = same["regret"].values[0]
    assert stats.paired_tests(same, "p0")["p_value"].tolist() == [1.0]
    same["regret"].values[1] += 0.25
    assert stats.paired_tests(same, "p0")["p_value"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (many(2, 1, 5, [0, 0]), {"reference": "nobody"}, "reference must be one of p0, p1; got 'nobody'"),
        (many(1, 1, 5, [0]), {"reference": "p0"}, "dataset must have two policies and two seeds or more; got 1 and 5"),
        (many(2, 1, 1, [0, 0]), {"reference": "p0"}, "two seeds or more; got 2 and 1"),
        (many(2, 1, 5, [0, 0]), {"reference": "p0", "test": lambda d: 2.0}, "test must give probabilities; got 2.0"),
        (many(2, 1, 5, [0, 0]), {"reference": "p0", "correction": lambda p: p - 1}, "correction must give probabilities"),
        (many(2, 1, 5, [0, 0]), {"reference": "p0", "correction": 3}, "correction must be a function that gives p-values; got 3"),
        (many(2, 1, 5, [0, 0]), {"reference": "p0", "metric": "cost"}, "name of the metric must be one of regret; got 'cost'"),
    ],
)
def test_bad_tests(data, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        stats.paired_tests(data, **arguments)
