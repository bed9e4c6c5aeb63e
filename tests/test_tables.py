"""Results as tables."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from jaxbandits import Study, problems, run, tables
from jaxbandits.policies import cascade


def counts(state, instance):
    return state.counts[:2]


@pytest.fixture(scope="module")
def dataset():
    study = Study(
        problem=partial(problems.cascade, means=problems.linear(6), list_len=2),
        policies={"F": cascade.first_ldp_ucb1, "G": partial(cascade.all_ldp_gaussian_ucb1, delta=0.01), "ucb": cascade.cascade_ucb1},
        grid={"epsilon": [0.5, 2.0]},
        seeds=4,
        horizon=40,
        checkpoints=[20, 40],
        metrics={"counts": counts},
    )
    return run(study, progress=False)


def test_tidy_has_every_number_in_a_row_of_its_own(dataset, tmp_path):
    frame = tables.tidy(dataset)
    assert len(frame) == 3 * 2 * 4 * 2
    recorded = ["regret", "counts_0", "counts_1"]
    assert list(frame.columns) == ["policy", "epsilon", "seed", "round", *recorded, "claim", "guaranteed_epsilon", "guaranteed_delta"]
    for row in frame.sample(8, random_state=0).itertuples():
        at = dataset.sel(policy=row.policy, epsilon=row.epsilon, seed=row.seed, round=row.round)
        assert row.regret == float(at["regret"])
        assert row.counts_1 == float(at["counts"][1])
        assert row.claim == str(at["claim"].values)
    tables.parquet(dataset, tmp_path / "all.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "all.parquet"), frame, check_dtype=False)


def test_tidy_of_a_selection(dataset):
    frame = tables.tidy(dataset.sel(epsilon=2.0, policy="F").isel(round=-1))
    assert frame["epsilon"].tolist() == [2.0] * 4
    assert frame["claim"].unique().tolist() == ["2-LDP"]
    assert len(tables.tidy(dataset.isel(policy=0, epsilon=0, seed=0, round=0))) == 1


def test_summary(dataset):
    frame = tables.summary(dataset).set_index(["policy", "epsilon"])
    values = dataset["regret"].isel(round=-1).sel(policy="F", epsilon=0.5).values
    assert frame.loc[("F", 0.5), "mean"] == pytest.approx(values.mean())
    assert frame.loc[("F", 0.5), "standard_error"] == pytest.approx(values.std(ddof=1) / 2)
    assert frame["claim"].tolist() == ["0.5-LDP", "2-LDP", "(0.5, 0.01)-LDP", "(2, 0.01)-LDP", "non-private", "non-private"]
    one = tables.summary(dataset.sel(policy="F").isel(seed=[0]))
    assert one["policy"].tolist() == ["F", "F"]
    assert one["standard_error"].isna().all()
    with pytest.raises(ValueError, match="metric must be a number, not an array; got 'counts'"):
        tables.summary(dataset, metric="counts")


def test_across_and_what_is_printed(dataset):
    frame = tables.across(dataset, "epsilon")
    assert list(frame.columns) == ["policy", "privacy", "epsilon 0.5", "epsilon 2"]
    assert frame["privacy"].tolist() == ["LDP", "LDP, delta 0.01", "non-private"]
    assert re.fullmatch(r"[\d.]+ \([\d.]+\)", frame["epsilon 2"][0])
    lines = tables.markdown(frame).splitlines()
    assert len(lines) == 5
    assert lines[2].startswith("| F ")
    printed = tables.latex(frame.assign(policy=["a_b", "50 %", "F"]))
    assert r"a\_b" in printed
    assert r"50 \%" in printed
    assert r"\toprule" in printed
    with pytest.raises(ValueError, match="axis must be one of epsilon; got 'delta'"):
        tables.across(dataset, "delta")
    wide = dataset.expand_dims(delta=[0.1, 0.2])
    wide["claim"] = wide["claim"].expand_dims(delta=[0.1, 0.2])
    with pytest.raises(ValueError, match=re.escape("dataset must have one value of 'delta' chosen, as by dataset.sel(delta=0.1)")):
        tables.across(wide.set_coords("claim"), "epsilon")


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (1318.4, 6.2, "1,318 (6)"),
        (0.01234, 0.0004, "0.0123 (0.0004)"),
        (9.996, np.nan, "10.00"),
        (0.0, 0.0, "0.00 (0.00)"),
        (-5.25, 0.5, "-5.25 (0.50)"),
    ],
)
def test_digits(dataset, mean, error, text):
    one = dataset.isel(epsilon=[0], policy=[2], seed=slice(2))
    one["regret"][...] = np.array([mean - error, mean + error] if error == error else [mean, mean]).reshape(1, 1, 2, 1)
    one = one if error == error else one.isel(seed=[0])
    assert tables.across(one, "epsilon")["epsilon 0.5"][0] == text


def test_what_is_no_number_is_shown_as_such(dataset):
    broken = dataset.isel(policy=[0]).copy(deep=True)
    broken["regret"][0, 0, 1, -1] = np.nan
    assert tables.across(broken, "epsilon")["epsilon 0.5"][0] == "nan"
    with pytest.raises(ValueError, match="values must have the dimension 'seed'"):
        tables.summary(dataset.isel(seed=0))
