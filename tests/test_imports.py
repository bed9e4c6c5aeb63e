"""Arrows between the rooms of the package go one way."""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import jaxbandits
from jaxbandits.cli.papers import PLACES

ROOT = pathlib.Path(jaxbandits.__file__).parent
# The rooms each room may enter. Files at the top level are rooms of their own.
ALLOWED = {
    "core": {"validate"},
    "identity": set(),
    "validate": set(),
    "engine": {"core", "identity", "validate"},
    "mechanisms": {"core", "validate", "engine"},
    "theory": {"validate", "mechanisms"},
    "metrics": {"core", "validate"},
    "turns": {"engine"},
    "networks": {"validate"},
    "recipes": {"identity"},
    "oracles": {"core", "validate", "engine"},
    "links": {"core", "validate", "engine", "recipes"},
    "domains": {"validate", "engine", "recipes"},
    "problems": {"core", "validate", "engine", "oracles", "links", "domains", "networks", "recipes", "turns"},
    "policies": {"core", "validate", "engine", "mechanisms", "theory", "oracles", "links", "domains", "networks", "turns"},
    "factories": {"core", "identity"},
    "privacy": {"core", "validate", "engine", "mechanisms", "factories", "identity"},
    "study": {"core", "validate", "factories", "identity"},
    "jobs": {"core", "engine", "study"},
    "folder": set(),
    "unfinished": {"engine", "folder", "jobs"},
    "store": {"folder", "jobs", "study", "unfinished"},
    "workers": {"engine"},
    "stats": {"validate"},
    "dataset": {"core", "study"},
    "run": {"validate", "engine", "study", "jobs", "store", "workers", "dataset"},
    "precision": {"validate", "study", "run", "stats"},
    "tables": {"core", "validate", "stats"},
    "plotted": {"core", "validate"},
    "plot": {"validate", "stats", "privacy", "plotted"},
}
OUTERMOST = {"cli", "__init__", "__main__"}


def rooms_entered(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "jaxbandits":
            parts = node.module.split(".")[1:]
            names = [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name.split(".")[1] for a in node.names if a.name.startswith("jaxbandits.")]
        yield from names


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_go_one_way(path):
    here = room(path)
    if here in OUTERMOST:
        return
    backwards = set(rooms_entered(path)) - ALLOWED[here] - {here}
    assert not backwards, f"{here} may not import {backwards}"


def test_only_what_draws_imports_matplotlib_at_the_top():
    for path in ROOT.rglob("*.py"):
        top = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
        found = [n for n in top if "matplotlib" in ast.unparse(n)]
        assert not found or room(path) in ("plot", "plotted"), path


def test_only_the_command_line_knows_of_the_experiments():
    found = {
        path
        for path in ROOT.rglob("*.py")
        if any(isinstance(n, ast.Constant) and n.value in PLACES for n in ast.walk(ast.parse(path.read_text())))
    }
    assert found == {ROOT / "cli" / "papers.py"}
    assert not [path for path in ROOT.rglob("*.py") if "import experiments" in path.read_text() or "from experiments" in path.read_text()]


def test_no_file_is_long():
    long = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := len(p.read_text().splitlines())) > 300}
    assert not long


def test_importing_does_not_start_jax():
    """What JAX is set to before it starts, such as its number of devices, can be set after the import."""
    lines = (
        "import jax, jaxbandits, jaxbandits.plot, jaxbandits.cli",
        "jax.config.update('jax_num_cpu_devices', 3)",
        "print(jax.device_count())",
    )
    script = "; ".join(lines)
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True)
    assert done.stdout.strip() == "3", done.stderr
