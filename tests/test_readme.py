"""The README stays true: its Python runs, and it names what is there."""

import pathlib
import re

import pytest

from jaxbandits.mechanisms import counters
from jaxbandits.policies import armed, cascade, contextual, convex, federated, semi_bandit

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()


pytestmark = pytest.mark.usefixtures("ordinary_promotion")


def test_python_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 10
    names = {}
    for block in blocks:
        exec(
            compile(
                block.replace("seeds=50", "seeds=3")
                .replace("horizon=100_000", "horizon=2_000")
                .replace("horizon=20_000", "horizon=2_000")
                .replace("relative=0.1, most_seeds=500", "relative=1.0"),
                "README.md",
                "exec",
            ),
            names,
        )
    assert {p.name for p in tmp_path.iterdir()} == {
        "results",
        "regret.png",
        "regret.csv",
        "arms.png",
        "paths.png",
        "features.png",
        "points.png",
        "agents.png",
        "log.csv",
        "greedy.png",
    }
    printed = capsys.readouterr().out
    assert "F-KL" in printed
    assert "no guarantee, nominal 1 is exceeded" in printed


def test_every_policy_and_counter_is_in_the_tables():
    names = [
        *cascade.__all__,
        *armed.__all__,
        *semi_bandit.__all__,
        *federated.__all__,
        *contextual.__all__,
        *convex.__all__,
        *(name for name in counters.__all__ if name.islower()),
    ]
    helpers = {"made_by", "adaptive_size", "lazy_size", "own_draw", "square_root_factor"}
    assert [name for name in names if name not in helpers and f"`{name}`" not in README] == []


def test_pictures_exist():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (pathlib.Path(__file__).parent.parent / path).is_file(), path
