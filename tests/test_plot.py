"""Figures: what the legend says of privacy, what is drawn, what is refused."""

import dataclasses
from functools import partial

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxbandits import Study, core, plot, run, stats
from jaxbandits.policies import cascade as policies
from jaxbandits.privacy import audit
from jaxbandits.problems import cascade, linear

pytestmark = pytest.mark.xdist_group("plot")  # in one worker, which makes the fixture once


@pytest.fixture(scope="module")
def dataset():
    study = Study(
        problem=partial(cascade, means=linear(6), list_len=2),
        policies={
            "F": policies.first_ldp_ucb1,
            "laplace": policies.laplace_ucb,
            "scaled": partial(policies.laplace_ucb, noise_scale=0.01),
            "ucb": policies.cascade_ucb1,
        },
        grid={"epsilon": [0.5, 2.0]},
        seeds=6,
        horizon=80,
    )
    return run(study, progress=False)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_legend_shows_epsilon_only_as_a_guarantee(dataset):
    expected = ["F (0.5-LDP)", "laplace (no guarantee)", "scaled (no guarantee)", "ucb (non-private)"]
    assert legend(plot.regret(dataset.sel(epsilon=0.5))) == expected
    swept = ["F (LDP)", "laplace (no guarantee)", "scaled (no guarantee)", "ucb (non-private)"]
    assert legend(plot.regret_against(dataset, "epsilon")) == swept


def test_lines_are_means_and_bands_are_around_them(dataset):
    ax = plot.regret(dataset.sel(epsilon=2.0), policies=["ucb"], band=stats.quantile_band)
    (line,), (band,) = ax.get_lines(), ax.collections
    mean = dataset["regret"].sel(policy="ucb", epsilon=2.0).mean("seed")
    np.testing.assert_allclose(line.get_ydata(), mean)
    np.testing.assert_array_equal(line.get_xdata(), dataset["round"])
    low, high = band.get_datalim(ax.transData).intervaly
    assert low <= mean.min() <= mean.max() <= high


def test_regret_against(dataset):
    ax = plot.regret_against(dataset, "epsilon", policies=["F"])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), dataset["regret"].sel(policy="F").isel(round=-1).mean("seed"))
    assert ax.get_ylabel() == "regret after 80 rounds"


def test_one_value_has_its_interval(dataset):
    ax = plot.regret_against(dataset.isel(epsilon=[0]), "epsilon", policies=["ucb"])
    band = stats.normal_band(stats.final(dataset["regret"].sel(policy="ucb", epsilon=0.5)))
    ((ends,),) = (collection.get_segments() for collection in ax.collections)
    np.testing.assert_allclose(ends, [[0.5, band["low"]], [0.5, band["high"]]])


def test_bound_is_dashed(dataset):
    ax = plot.regret(dataset.sel(epsilon=2.0), policies=["F"])
    plot.bound(ax, dataset["round"].values, np.log(dataset["round"].values), "log t")
    assert ax.get_lines()[-1].get_linestyle() == "--"
    assert legend(ax)[-1] == "log t"


def test_one_policy_selected(dataset):
    assert legend(plot.regret(dataset.sel(policy="F", epsilon=0.5))) == ["F (0.5-LDP)"]
    assert legend(plot.regret_against(dataset.sel(policy="laplace"), "epsilon")) == ["laplace (no guarantee)"]


def test_given_axes_are_used(dataset):
    ax = plt.subplots()[1]
    assert plot.regret(dataset.sel(epsilon=2.0), ax=ax) is ax


def test_bad_input(dataset):
    with pytest.raises(ValueError, match=r"dataset must have one value of 'epsilon' chosen, as by dataset.sel\(epsilon=0.5\)"):
        plot.regret(dataset)
    with pytest.raises(ValueError, match="policies must be one of F, laplace, scaled, ucb; got 'x'"):
        plot.regret(dataset.sel(epsilon=2.0), policies=["x"])
    with pytest.raises(ValueError, match="metric must be one of regret; got 'pulls'"):
        plot.regret(dataset.sel(epsilon=2.0), metric="pulls")
    with pytest.raises(ValueError, match="axis must be one of epsilon; got 'delta'"):
        plot.regret_against(dataset, "delta")


def test_audits_beside_what_is_claimed():
    problem = partial(cascade, means=np.full(3, 0.5), list_len=2)
    named = {"F": policies.first_ldp_ucb1, "laplace": policies.laplace_ucb, "ucb": policies.cascade_ucb1}
    audits = {name: audit(partial(f, epsilon=1.0) if name != "ucb" else f, problem, runs=1000, confidence=0.9) for name, f in named.items()}
    ax = plot.audit(audits)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(audits)
    named = ["guaranteed epsilon", "found, guarantee", "nominal epsilon, no guarantee", "found, no guarantee", "found, non-private"]
    assert legend(ax) == [*named, "the most that so many runs can show"]
    refuted = dataclasses.replace(audits["laplace"], claim=audits["F"].claim)
    assert "found, guarantee refuted" in legend(plot.audit({"liar": refuted}))
    dots = {float(line.get_xdata()[0]) for line in ax.get_lines() if line.get_marker() == "o"}
    assert dots == {found.epsilon for found in audits.values()}
    assert "90 % confidence" in ax.get_xlabel()
    for wrong in ({}, list(audits.values()), refuted):
        with pytest.raises(ValueError, match="audits must be a mapping"):
            plot.audit(wrong)


def test_slopes_say_the_exponent():
    x = np.array([100, 1000, 10_000])
    values = xr.DataArray(np.ones((2, 5, 1)) * x**0.5, dims=["policy", "seed", "horizon"], coords={"policy": ["a", "b"], "horizon": x})
    ax = plot.slopes(values, "horizon")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["a: 0.50 (within 0.00)", "b: 0.50 (within 0.00)"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_legends_keep_delta_when_epsilon_is_swept():
    assert core.without_epsilon("(1, 0.01)-LDP") == "LDP, delta 0.01"
    assert core.without_epsilon("1-LDP") == "LDP"
    assert core.without_epsilon("joint (1, 0.01)-DP") == "joint DP, delta 0.01"
    assert core.without_epsilon("no guarantee") == "no guarantee"


def test_a_figure_leaves_a_notebook_interactive(dataset, monkeypatch):
    def first(*args, **kwargs):  # as the backend of a notebook does when it is loaded
        matplotlib.interactive(True)
        return made(*args, **kwargs)

    made = plt.subplots
    monkeypatch.setattr(plt, "subplots", first)
    try:
        plot.regret(dataset.sel(epsilon=0.5))
        assert plt.isinteractive()
        assert plt.rcParams["legend.frameon"], "the style stays inside"
    finally:
        matplotlib.interactive(False)


def test_an_infinite_epsilon_is_a_line_across(dataset):
    beyond = dataset.assign_coords(epsilon=[0.5, np.inf])
    ax = plot.regret_against(beyond, "epsilon", policies=["F"])
    finite, across = ax.get_lines()
    np.testing.assert_array_equal(finite.get_xdata(), [0.5])
    mean = float(dataset["regret"].sel(policy="F").isel(epsilon=1, round=-1).mean())
    np.testing.assert_allclose(across.get_ydata(), [mean, mean])
    assert across.get_color() == finite.get_color()
    assert len(legend(ax)) == 1
    alone = plot.regret_against(beyond.isel(epsilon=[1]), "epsilon", policies=["F"])
    assert len(legend(alone)) == 1
