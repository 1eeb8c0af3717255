"""Puts the page together: a section for each benchmark, filled with what its last run found."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks import NAMES, record
from benchmarks.performance import text as forms
from benchmarks.performance.charts import svg
from benchmarks.performance.drawings import DRAWINGS
from benchmarks.performance.table import table

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = "performance.md"
CHARTS: Final = "charts"


ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(record.HERE),
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701  (Markdown, of our own results)
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=forms.shown,
)
"""Templates write numbers as ``forms.shown`` does, unless a filter says otherwise."""
for form in (forms.number, forms.percent, forms.span):
    ENVIRONMENT.filters[form.__name__] = form
ENVIRONMENT.globals["table"] = table


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal, and what was measured."""

    text: str
    measured: str
    met: bool


@dataclass(kw_only=True)
class Section:
    """A benchmark's section of the page. Its template says ``title``, ``question`` and ``meaning``:
    a sentence for whoever has to decide, without the terms of the trade."""

    name: str
    title: str = ""
    question: str = ""
    meaning: str = ""
    body: str = ""
    runs: Mapping[str, Mapping[str, Any]]
    """The results on disk, by file: the last run, and beside it the one that takes long."""
    goals: list[Goal] = field(default_factory=list)
    charts: dict[str, str] = field(default_factory=dict)
    """The charts as SVG, by name."""

    @classmethod
    def of(cls, name: str) -> "Section":
        folder = record.HERE / name
        files = sorted(folder.glob("results*.json"), key=lambda file: len(file.name))
        section = cls(name=name, runs={file.name: record.load(file) for file in files})
        kind = import_module(f"benchmarks.{name}.results").Results
        # ``results.json`` is called ``results``, ``results-large.json`` ``large``.
        found = {
            Path(file).stem.removeprefix("results-"): kind(**run["results"])
            for file, run in section.runs.items()
        }
        section.fill((folder / "section.md.j2").read_text(), found)
        return section

    def fill(self, template: str, found: Mapping[str, Any]) -> None:
        """``found``: ``results``, and of the run that takes long what its file's name ends with."""
        module = ENVIRONMENT.from_string(template).make_module(
            {**found, "goal": self._goal, "chart": self._chart}
        )
        self.body = str(module)
        for said in ("title", "question", "meaning"):
            setattr(self, said, str(getattr(module, said)))

    @property
    def anchor(self) -> str:
        """The anchor that GitHub makes of the heading."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    def _goal(self, text: str, measured: Any, *, met: bool) -> str:
        self.goals.append(Goal(text=text, measured=forms.shown(measured), met=met))
        return f"- Goal: {text}. {'Met' if met else '**Missed**'}: {forms.shown(measured)}."

    def _chart(self, name: str, rows: Any, title: str, description: str) -> str:
        """``description``: for who cannot see it."""
        self.charts[name] = svg(DRAWINGS[name](rows), description)
        return f"**{title}**\n\n![{description}]({CHARTS}/{name}.svg)"


def made(run: Mapping[str, Any]) -> str:
    """When a run was, and of what."""
    return f"{date.fromisoformat(run['date']):%-d %B %Y}, commit {run['commit']}"


def text(sections: Sequence[Section]) -> str:
    """The page."""
    template = ENVIRONMENT.get_template("performance/page.md.j2")
    machine = next(run["machine"] for section in sections for run in section.runs.values())
    page = template.render(sections=sections, machine=machine, made=made)
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def write(docs: Path = DOCS) -> None:
    """Write the page and its charts; charts that it shows no more are deleted."""
    sections = [Section.of(name) for name in NAMES]
    folder = docs / CHARTS
    folder.mkdir(parents=True, exist_ok=True)
    charts = {name: chart for section in sections for name, chart in section.charts.items()}
    for old in set(folder.glob("*.svg")) - {folder / f"{name}.svg" for name in charts}:
        old.unlink()
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(chart)
    (docs / PAGE).write_text(text(sections))
