"""Puts the page together: a template for each benchmark, filled with what its last run found."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from analytics.passes import PARTITION_BYTES
from benchmarks import record
from benchmarks.performance import text as forms
from benchmarks.performance.catalogue import BENCHMARKS, Benchmark
from benchmarks.performance.charts import svg
from benchmarks.performance.drawings import DRAWINGS, Results

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = "performance.md"
CHARTS: Final = "charts"
_HARDWARE: Final = frozenset({"cores", "memory_gib", "processor", "load_before"})


def one(rows: Iterable[Mapping[str, Any]], **wanted: Any) -> Mapping[str, Any]:
    """The one row with these values; ValueError where it is none, or several."""
    (found,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return found


def _environment() -> Environment:
    """Templates write numbers as ``forms.shown`` does, unless a filter says otherwise."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  (Markdown, of our own results)
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=forms.shown,
    )
    for form in (forms.number, forms.percent, forms.points, forms.seconds, forms.span):
        made.filters[form.__name__] = form
    made.globals |= {
        "one": one,
        "PARTITION_BYTES": PARTITION_BYTES,
        "log": math.log,
        "policy": forms.policy,
        "deadline": forms.deadline,
        "kind": forms.kind,
    }
    return made


ENVIRONMENT: Final = _environment()


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run: its file, the command that repeats it, and when and on what it was made."""

    file: str
    command: str
    made: str

    @classmethod
    def of(cls, file: Path, document: dict[str, Any]) -> "Record":
        machine = document["machine"]
        versions = [
            f"{name} {version}" for name, version in machine.items() if name not in _HARDWARE
        ]
        parts = (
            f"{date.fromisoformat(document['date']):%-d %B %Y}",
            f"commit {document['commit']}",
            f"{machine['cores']} cores of {machine['processor']}",
            f"{forms.number(machine['memory_gib'])} GiB",
            *versions,
            f"load {forms.shown(machine['load_before'])} before",
            f"took {forms.number(document['seconds'])} s",
        )
        return cls(file=file.name, command=document["command"], made=" · ".join(parts))


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What was aimed at, and what was measured."""

    text: str
    measured: Any
    met: bool


@dataclass(kw_only=True)
class Section:
    """What the page shows of a benchmark; its ``body`` is None where it has not been run."""

    benchmark: Benchmark
    records: Sequence[Record] = ()
    body: str | None = None
    meaning: str | None = None
    """A sentence for whoever has to decide, without the terms of the trade."""
    goals: list[Goal] = field(default_factory=list)
    charts: dict[str, str] = field(default_factory=dict)
    """What each shows, for who cannot see it; by name."""
    results: Results = field(default_factory=dict)

    @classmethod
    def of(cls, benchmark: Benchmark) -> "Section":
        variants = (None, benchmark.variant) if benchmark.variant else (None,)
        files = {variant: record.path(benchmark.name, variant) for variant in variants}
        documents = {
            v: record.read(benchmark.name, v) for v, file in files.items() if file.exists()
        }
        if None not in documents:
            return cls(benchmark=benchmark)
        results = dict(documents[None]["results"])
        if benchmark.variant:
            results[benchmark.variant] = documents.get(benchmark.variant, {}).get("results")
        records = [Record.of(files[v], document) for v, document in documents.items()]
        section = cls(benchmark=benchmark, records=records, results=results)
        section.fill(ENVIRONMENT.get_template(f"{benchmark.name}.md.j2"))
        return section

    def fill(self, template: Template) -> None:
        """The template sets ``meaning``, and tells of goals and charts as it comes to them."""
        module = template.make_module(
            {"results": self.results, "goal": self._goal, "chart": self._chart}
        )
        self.body, self.meaning = str(module), getattr(module, "meaning", None)

    @property
    def has_method(self) -> bool:
        return (record.path(self.benchmark.name).parent / "README.md").exists()

    def drawn(self) -> dict[str, str]:
        """The charts as SVG, by name."""
        return {
            name: svg(DRAWINGS[name](self.results), description)
            for name, description in self.charts.items()
        }

    def _goal(self, text: str, measured: Any, *, met: bool) -> str:
        self.goals.append(Goal(text=text, measured=measured, met=met))
        return f"- Goal: {text}. {'Met' if met else '**Not met**'}: {forms.shown(measured)}."

    def _chart(self, name: str, title: str, description: str) -> str:
        self.charts[name] = description
        return f"**{title}**\n\n![{description}]({CHARTS}/{name}.svg)"


def text(sections: Sequence[Section]) -> str:
    """The page."""
    page = ENVIRONMENT.get_template("page.md.j2").render(sections=sections)
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def write(docs: Path = DOCS) -> None:
    """Write the page and its charts; charts that it shows no more are deleted."""
    sections = [Section.of(benchmark) for benchmark in BENCHMARKS]
    folder = docs / CHARTS
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {
        folder / f"{name}.svg": drawing
        for section in sections
        for name, drawing in section.drawn().items()
    }
    for old in set(folder.glob("*.svg")) - set(drawings):
        old.unlink()
    for file, drawing in drawings.items():
        file.write_text(drawing)
    (docs / PAGE).write_text(text(sections))
