"""The documentation of what is public: it is there, it renders, what it refers to exists, and its examples run."""

import ast
import functools
import html.parser
import importlib
import inspect
import pathlib
import pkgutil
import re
import types
import warnings

import numpy as np
import pdoc
import pytest

import jaxbandits
from jaxbandits import mechanisms, privacy, problems
from jaxbandits.mechanisms import counters
from tests import helpers
from tests.bad_input import public

ROOT = pathlib.Path(__file__).parent.parent
ROOMS = {module.__name__: module for module in public.rooms()}
LISTED = {f"{room}.{name}": getattr(module, name) for room, module in ROOMS.items() for name in public.names(module)}
"""Full name -> what is public there, found as the tests of bad input find it."""
WRITTEN = {name: value for name, value in LISTED.items() if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)}
"""What has a docstring of its own; a value is described where it is defined."""
UNLISTED = {"jaxbandits.privacy.ledger": ("covered", "spent_on")}
"""What a public module defines for another file of its folder, which calls it with what it has checked."""
SECTIONS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises", "Returns": "Returns", "Yields": "Yields"}
"""What pdoc makes of their headings."""


def sections(text):
    """section -> the names it describes, in the order written."""
    found = {}
    for name, inside in re.findall(r"^(\w+):\n((?:(?: .*)?\n)*)", f"{text}\n", re.MULTILINE):
        if name in SECTIONS:
            found[name] = [n.strip() for names in re.findall(r"^  (\w[\w., ]*):(?: |$)", inside, re.MULTILINE) for n in names.split(",")]
    return found


def arguments(value):
    """What a docstring has to describe: arguments of a function that checks them, fields of a class."""
    if inspect.isclass(value):
        given = getattr(value, "__dataclass_fields__", {}).items()
        return list(getattr(value, "_fields", ())) or [name for name, field in given if field.init]
    return list(inspect.signature(value).parameters) if value in public.functions().values() else []


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_public_says_what_it_is_and_takes(name):
    text = inspect.getdoc(WRITTEN[name])
    assert text
    assert text.splitlines()[0].strip()
    if not inspect.ismodule(WRITTEN[name]):
        told = sections(text)
        assert set(arguments(WRITTEN[name])) <= {*told.get("Args", ()), *told.get("Attributes", ())}


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_module_defines_without_an_underscore_is_public(room):
    assert set(public.own(ROOMS[room])) <= {*public.names(ROOMS[room]), *UNLISTED.get(room, ())}


def test_every_public_module_is_in_the_tables_of_the_readme():
    tables = re.search(r"## What is there\n(.*?)\n\*\*What a claim", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    rows = [line for line in tables.splitlines() if line.startswith("|")]
    named = {part for code in re.findall(r"`([\w.]+)", "\n".join(rows)) for part in code.split(".")}
    assert {room.rpartition(".")[2] for room in ROOMS} <= named


class Page(html.parser.HTMLParser):
    """What a page says of each name: headings, terms in front of a colon, and its text without code."""

    def __init__(self, source):
        super().__init__()
        self.inside, self.owner, self.open = [], [""], []
        self.said = {}
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("div", "section"):
            self.inside.append("docstring" in given.get("class", "").split() or (bool(self.inside) and self.inside[-1]))
            self.owner.append(given.get("id", self.owner[-1]))
        self.open.append(tag)
        if self.inside and self.inside[-1]:
            self.said.setdefault(self.owner[-1], {"h6": [], "strong": [], "tags": set(), "text": ""})["tags"].add(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass
        if tag in ("div", "section"):
            self.inside.pop()
            self.owner.pop()

    def handle_data(self, data):
        if self.inside and self.inside[-1]:
            said = self.said[self.owner[-1]]
            if self.open[-1] in ("h6", "strong"):
                said[self.open[-1]].append(data.rstrip(":"))
            if not {"code", "pre", "h6"} & set(self.open):
                said["text"] += data


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """module -> its page, of the documentation as the README builds it."""
    folder = tmp_path_factory.mktemp("docs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.render.configure(docformat="google", template_directory=ROOT / ".pdoc")
        pdoc.pdoc("jaxbandits", output_directory=folder)
    return {".".join(p.relative_to(folder).with_suffix("").parts): Page(p.read_text()) for p in folder.rglob("*.html")}


def documented(room):
    """name in the page of a module -> docstring, for the module, what is public in it and their methods."""
    found = {"": inspect.getdoc(ROOMS[room])}
    for name in public.names(ROOMS[room]):
        value = getattr(ROOMS[room], name)
        if f"{room}.{name}" in WRITTEN and not inspect.ismodule(value):
            found[name] = inspect.getdoc(value)
        if inspect.isclass(value):
            methods = {k: v for k, v in vars(value).items() if not k.startswith("_") and isinstance(v, types.FunctionType | property)}
            found |= {f"{name}.{k}": inspect.getdoc(v) for k, v in methods.items()}
    return found


@pytest.mark.xdist_group("docs")
def test_every_docstring_has_its_place_on_a_page(pages):
    assert set(ROOMS) <= set(pages)
    for room in ROOMS:
        assert set(documented(room)) <= set(pages[room].said), room
        assert all(said["text"].strip() for said in pages[room].said.values()), room


@pytest.mark.xdist_group("docs")
def test_every_section_renders_as_one(pages):
    wrong = {}
    for room in ROOMS:
        for name, text in documented(room).items():
            told, said = sections(text), pages[room].said[name]
            terms = [term.strip() for term in ",".join(said["strong"]).split(",")]
            headings = [SECTIONS[section] for section in told]
            if said["h6"] != headings or not {t for names in told.values() for t in names} <= set(terms):
                wrong[f"{room}.{name}"] = (headings, said["h6"], told, terms)
    assert not wrong


@pytest.mark.xdist_group("docs")
def test_no_markup_is_left_over_or_made_by_accident(pages):
    """Such as a code block that does not end, a heading in a paragraph, or a product of two stars that became an emphasis."""
    markup = re.compile(rf"``|~~~|\*\*[a-z]|\|---|\b(?:{'|'.join(SECTIONS)}):")
    left = {
        f"{room}.{name}": found[0] if (found := markup.search(said["text"])) else said["tags"] & {"em", "sub", "sup", "s", "del"}
        for room, page in pages.items()
        for name, said in page.said.items()
    }
    assert {name: found for name, found in left.items() if found} == {}


@functools.cache
def modules():
    """The name of a module -> the modules of that name, public or not."""
    found = {"jaxbandits": [jaxbandits], "jb": [jaxbandits]}
    for info in pkgutil.walk_packages(jaxbandits.__path__, "jaxbandits."):
        if not info.name.endswith("__main__"):
            found.setdefault(info.name.rpartition(".")[2], []).append(importlib.import_module(info.name))
    del found["dataset"]  # what docstrings call so is an argument
    return found


def resolves(reference):
    """Whether a dotted name that begins with a module leads to something, in one of the modules of that name, or a file is there."""
    if reference.endswith(".py"):
        return any((root / reference).is_file() for root in (ROOT, ROOT / "jaxbandits"))

    def leads(value, parts):
        for part in parts:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True

    first, *rest = reference.split(".")
    return any(leads(module, rest) for module in modules()[first])


def docstrings(path):
    """All texts in a file that describe something: docstrings, and those under an assignment."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def references(path):
    """The dotted names in backticks that begin with the name of a module, and the names of files."""
    for text in docstrings(path):
        for code in re.findall(r"``([^`]+)``|(?<!`)`([^`\n]+)`(?!`)", text):
            named = re.match(r"\w+/[\w/]+\.py$|([a-z]\w*)(?:\.(?!py\b)[A-Za-z_]\w*)+", code[0] or code[1])
            if named and (named[1] is None or named[1] in modules()):
                yield named[0]


FILES = sorted(pathlib.Path(jaxbandits.__file__).parent.rglob("*.py"))


def test_what_docstrings_refer_to_exists():
    found = [(str(path.relative_to(ROOT)), name) for path in FILES for name in references(path)]
    assert len(found) > 50
    assert [place for place in found if not resolves(place[1])] == []


def run_examples(module, capsys):
    """Runs the code of a module's docstring, as a reader who pastes it does; its names, and what it printed."""
    blocks = re.findall(r"```python\n(.*?)```", inspect.getdoc(module), re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, module.__name__, "exec"), names)
    return names, capsys.readouterr().out


def test_examples_in_docstrings_are_all_run():
    assert {room for room, module in ROOMS.items() if "```" in inspect.getdoc(module)} == {
        "jaxbandits.mechanisms",
        "jaxbandits.mechanisms.counters",
        "jaxbandits.problems",
    }


@pytest.mark.usefixtures("ordinary_promotion")
def test_a_counter_on_its_own_runs(capsys):
    assert len(run_examples(counters, capsys)[1].splitlines()) == 2


@pytest.mark.usefixtures("ordinary_promotion")
def test_the_mechanism_of_the_example_keeps_its_claim(capsys):
    names, printed = run_examples(mechanisms, capsys)
    assert "staircase" in printed
    assert "1-LDP" in printed
    assert "REFUTED" not in printed

    def half(*, num_arms):
        claimed = names["staircase_ucb"](num_arms=num_arms, epsilon=1.0).claim
        return names["staircase_ucb"](num_arms=num_arms, epsilon=2.0)._replace(claim=claimed)

    assert privacy.audit(half, names["problem"], runs=20_000).violated


@pytest.mark.usefixtures("ordinary_promotion")
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_noise_of_the_example_is_a_staircase(epsilon):
    defined = inspect.getdoc(mechanisms).partition("```python\n")[2].partition("\nproblem = ")[0]
    exec(compile(defined, "mechanisms", "exec"), names := {})
    noise, runs = names["staircase"](epsilon=epsilon), 400_000
    sent = np.asarray(noise.send(0.0, helpers.numbers(noise.draws, runs)), np.float64)
    width = 1 / (1 + np.exp(epsilon / 2))
    edges = np.ravel([[k, k + width] for k in range(5)])
    parts = np.histogram(sent, np.concatenate([-edges[:0:-1], edges]))[0]
    # The density at 0 that makes the whole of it 1: two sides, each a geometric series of a high part and one e^-epsilon as high.
    top = (1 - np.exp(-epsilon)) / (2 * (width + np.exp(-epsilon) * (1 - width)))
    side = top * np.exp(-epsilon * ((np.arange(9) + 1) // 2)) * np.diff(edges)
    expected = runs * np.concatenate([side[::-1], side])
    assert (abs(parts - expected) <= 5 * np.sqrt(expected) + 1).all()


@pytest.mark.usefixtures("ordinary_promotion")
def test_the_problem_of_the_example_is_one(capsys):
    names, printed = run_examples(problems, capsys)
    assert "Tsallis-INF" in printed
    regret = names["results"]["regret"]
    assert (regret.diff("round") >= 0).all()
    slow, fast = (regret.isel(round=-1).mean("seed").sel(period=p) for p in (100_000, 1_000))
    assert (slow < fast).all()
