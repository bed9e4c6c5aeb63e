"""The notebooks stay true: they run from top to bottom, at a smaller size, and draw what they say.

That on a cluster is the test that a notebook, where JAX prints in colour, and its workers agree on what code they have.
"""

import ast
import pathlib
import re

import nbclient
import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from traitlets import default

pytestmark = pytest.mark.xdist_group("notebooks")  # one after the other: each uses all cores

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "experiments" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SMALLER = {
    "auditing": {"RUNS": "2**12"},
    "cluster": {"SEEDS": "16", "HORIZON": "20_000"},
    "first_sweep": {"SEEDS": "3", "HORIZON": "1_000"},
    "own_click_log": {"SEEDS": "3", "HORIZON": "1_000"},
    "own_policy": {"SEEDS": "3", "HORIZON": "1_000", "RUNS": "2**14"},
    "private_or_not": {"SEEDS": "10", "HORIZON": "1_000"},
}
DRAWS = re.compile(
    r"^(?:ax|figure, ax)? ?=? ?(?:log_axes\()?(?:plot\.(?:regret|regret_against|audit|slopes)|plt\.subplots)\(", re.MULTILINE
)


class Kernel(AsyncKernelManager):
    """Of this Python, whatever kernels the user has."""

    @default("kernel_spec_manager")
    def _this_python(self):
        return KernelSpecManager(kernel_dirs=[])


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shrink(notebook, values):
    """Gives the variables at the top of a notebook other values."""
    for name, value in values.items():
        found = 0
        for cell in code(notebook):
            cell.source, times = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", cell.source)
            found += times
        assert found == 1, f"{name} must be assigned once"


def test_each_has_a_size():
    assert [path.stem for path in NOTEBOOKS] == sorted(SMALLER)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_outputs_and_named_in_the_readme(path):
    notebook = read(path)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert [cell.id for cell in code(notebook) if cell.outputs or cell.execution_count is not None] == []
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert f"experiments/notebooks/{path.name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):  # nothing of the user's
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    # Nearly all of the time is compiling, and how fast a notebook runs is not tested here.
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    here = {entry.name for entry in FOLDER.iterdir()}
    where = tmp_path / "cwd"
    where.mkdir()
    notebook = read(path)
    shrink(notebook, SMALLER[path.stem])
    resources = {"metadata": {"path": str(where)}}
    nbclient.NotebookClient(notebook, kernel_name="python3", kernel_manager_class=Kernel, timeout=300, resources=resources).execute()

    streams = [output for cell in code(notebook) for output in cell.outputs if output.output_type == "stream"]
    lines = [line for output in streams if output.name == "stderr" for line in output.text.splitlines() if "warn" in line.lower()]
    # On a busy machine a worker may take long to end, and Dask, which then kills it, says so.
    assert [line for line in lines if "Worker process still alive" not in line] == []
    assert [output.text for output in streams if ": False" in output.text or "too fast" in output.text] == []
    for cell in code(notebook):
        ast.parse(re.sub(r"(?m)^%.*$", "", cell.source))
        pictures = [output for output in cell.outputs if output.output_type == "display_data" and "image/png" in output.data]
        assert len(pictures) == len(DRAWS.findall(cell.source)), cell.id
    assert {entry.name for entry in FOLDER.iterdir()} == here
