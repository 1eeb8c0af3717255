"""Puts the page together: the template, the benchmarks' sections, their charts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks import record
from benchmarks.performance.charts import svg
from benchmarks.performance.section import Benchmark, Chart, Findings, Table
from benchmarks.performance.text import number, shown

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = "performance.md"
CHARTS: Final = "charts"


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
            f"{number(machine['memory_gib'])} GiB",
            *versions,
            f"load {shown(machine['load_before'])} before",
            f"took {number(document['seconds'])} s",
        )
        return cls(file=file.name, command=document["command"], made=" · ".join(parts))


_HARDWARE: Final = frozenset({"cores", "memory_gib", "processor", "load_before"})


@dataclass(frozen=True, kw_only=True)
class Section:
    """A benchmark with what its last run found; ``findings`` is None where it has not been run."""

    benchmark: Benchmark
    records: Sequence[Record] = ()
    findings: Findings | None = None

    @classmethod
    def of(cls, benchmark: Benchmark) -> "Section":
        if not record.path(benchmark.name).exists():
            return cls(benchmark=benchmark)
        variants = (None, benchmark.variant) if benchmark.variant else (None,)
        files = {variant: record.path(benchmark.name, variant) for variant in variants}
        documents = {
            variant: record.read(benchmark.name, variant)
            for variant, file in files.items()
            if file.exists()
        }
        results = dict(documents[None]["results"])
        if benchmark.variant:
            results[benchmark.variant] = documents.get(benchmark.variant, {}).get("results")
        return cls(
            benchmark=benchmark,
            records=[Record.of(files[v], document) for v, document in documents.items()],
            findings=benchmark.findings(results),
        )

    @property
    def name(self) -> str:
        return self.benchmark.name

    @property
    def title(self) -> str:
        return self.benchmark.title

    @property
    def question(self) -> str:
        return self.benchmark.question

    @property
    def command(self) -> str:
        return f"python -m benchmarks {self.name}"

    @property
    def anchor(self) -> str:
        """As GitHub makes it of the heading."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    @property
    def has_method(self) -> bool:
        return (record.path(self.name).parent / "README.md").exists()

    @property
    def blocks(self) -> list[str]:
        return [_markdown(block) for block in self.findings.blocks] if self.findings else []

    @property
    def charts(self) -> list[Chart]:
        blocks = self.findings.blocks if self.findings else ()
        return [block for block in blocks if isinstance(block, Chart)]


def sections(benchmarks: Sequence[Benchmark]) -> list[Section]:
    return [Section.of(benchmark) for benchmark in benchmarks]


def text(shown_sections: Sequence[Section]) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  (Markdown, of our own results)
        trim_blocks=True,
        lstrip_blocks=True,
    )
    goals = [
        (section, goal)
        for section in shown_sections
        if section.findings
        for goal in section.findings.goals
    ]
    template = environment.get_template("page.md.j2")
    page = template.render(sections=shown_sections, goals=goals)
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def write(benchmarks: Sequence[Benchmark], docs: Path = DOCS) -> None:
    """Write the page and its charts; charts that it shows no more are deleted."""
    made = sections(benchmarks)
    charts = {f"{chart.name}.svg": svg(chart) for section in made for chart in section.charts}
    folder = docs / CHARTS
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(folder.glob("*.svg")) - {folder / name for name in charts}:
        old.unlink()
    for name, drawing in charts.items():
        (folder / name).write_text(drawing)
    (docs / PAGE).write_text(text(made))


def _markdown(block: Table | Chart | str) -> str:
    match block:
        case Table():
            return f"**{block.title}**\n\n{block.markdown()}"
        case Chart():
            return f"**{block.title}**\n\n![{block.description}]({CHARTS}/{block.name}.svg)"
        case str():
            return block
