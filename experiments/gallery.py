"""The page of all figures: each paper's, and its findings beside what was measured."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from matplotlib.figure import Figure
from PIL import Image

from jaxbandits import plot

from .papers import PAPERS
from .published import Finding, Verdict

WIDTH = 1000
"""Pixels of a small picture."""


def keep(out: Path, name: str, figures: Mapping[str, Figure], found: Sequence[Finding], about: str) -> list[Path]:
    """Writes the figures of a paper, small ones for the page, and what the page says of them.

    Args:
      out: the directory.
      name: the paper.
      figures: by name.
      found: its findings.
      about: how much was run.

    Returns:
      the files of the figures.
    """
    pictures = out / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    written = []
    for key, figure in figures.items():
        path = out / f"{name}_{key}.png"
        plot.save(figure.axes[0], path)
        with Image.open(path) as image:
            small = image.convert("RGB").resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
            small.quantize(method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(pictures / path.name, optimize=True)
        written.append(path)
    kept = {"about": about, "figures": list(figures), "findings": [finding._asdict() for finding in found]}
    _write(pictures / f"{name}.json", json.dumps(kept, indent=1))
    return written


def page(out: Path) -> Path:
    """Writes the page from what was kept of each paper, of this run and of earlier ones."""
    kept = {}
    for name in PAPERS:
        file = out / "pictures" / f"{name}.json"
        if file.is_file():
            kept[name] = json.loads(file.read_text(encoding="utf-8"))
    lines = [*_HEAD, "", *_counts(kept)]
    for name, found in kept.items():
        lines += ["", f"## {PAPERS[name].TITLE}", "", *_paper(name, found)]
    path = out / "gallery.md"
    _write(path, "\n".join(lines) + "\n")
    return path


def _write(path: Path, text: str) -> None:
    """A file that is there whole or not at all: other papers' processes read and write it too."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


_HEAD = (
    "# Gallery",
    "",
    "Every figure, with bands, bounds, and what the curves claim: an epsilon only where it is proved. Published findings stand beside",
    "what was measured here. A finding is *reproduced* if the rule beside it holds; where it *differs*, the reason is given as far as it",
    "is known; *undecided* are those that so few seeds speak neither for nor against; *not checkable* are those whose settings or data",
    "are not there. `jaxbandits figures`, or `python -m experiments` in a checkout, draws this page anew.",
)


def _counts(kept: Mapping[str, Any]) -> list[str]:
    verdicts = [finding["verdict"] for found in kept.values() for finding in found["findings"]]
    said = (f"{verdict} {verdicts.count(verdict)}" for verdict in get_args(Verdict))
    return [f"{len(verdicts)} published findings: {', '.join(said)}."]


def _paper(name: str, found: Mapping[str, Any]) -> list[str]:
    lines = [f"{found['about']}. `jaxbandits figures {name}`."]
    if found["findings"]:
        lines += ["", "| where | published | measured | verdict |", "|---|---|---|---|"]
        for finding in found["findings"]:
            cells = (finding["where"], finding["published"], finding["measured"], f"**{finding['verdict']}**: {finding['why']}")
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    for key in found["figures"]:
        shown = next(figure for start, figure in PAPERS[name].FIGURES.items() if key.startswith(start))
        lines += ["", f"**{key}**: {shown.shows}. Privacy: {shown.privacy}.", "", f"![{shown.shows}](pictures/{name}_{key}.png)"]
    return lines
