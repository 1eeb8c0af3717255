"""The performance page says what the results on disk say, missed goals first."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import NAMES
from benchmarks.__main__ import run_all
from benchmarks.performance import page
from benchmarks.record import HERE
from benchmarks.steps import StepError

COMMITTED = (page.DOCS / page.PAGE).read_text()


@pytest.fixture(scope="module")
def sections() -> list[page.Section]:
    return [page.Section.of(name) for name in NAMES]


@pytest.fixture(scope="module")
def charts(sections) -> dict[str, str]:
    return {name: chart for section in sections for name, chart in section.charts.items()}


@pytest.mark.prove
def test_the_committed_page_is_what_the_committed_results_say(sections):
    assert page.text(sections) == COMMITTED, "run `python -m benchmarks.performance`"


@pytest.mark.prove
def test_every_chart_is_there_and_none_is_left_over(charts):
    shown = set(re.findall(r"\]\(charts/(.+?\.svg)\)", COMMITTED))
    assert shown == {f"{name}.svg" for name in charts}
    assert shown == {file.name for file in (page.DOCS / page.CHARTS).iterdir()}


def test_every_benchmark_can_be_run_and_is_shown():
    runnable = {file.parent.name for file in HERE.glob("*/__main__.py")}
    assert runnable - {"performance"} == set(NAMES)


def test_a_missed_goal_is_said_on_the_first_screen_and_in_its_section():
    machine = {"cores": 2, "processor": "any"}
    run = {"machine": machine, "date": "2026-11-22", "commit": "abc", "command": "run it"}
    section = page.Section(name="speed", runs={"results.json": run})
    section.fill(
        '{% set title, question, meaning = "Speed", "How fast?", "Fast." %}\n'
        '{{ goal("as fast as light", results.speed, met=False) }}\n'
        '{{ goal("at all", "so", met=True) }}',
        {"results": {"speed": 12_345.6}},
    )
    first, _, rest = page.text([section]).partition("## Speed")
    assert "- Fast. ([speed](#speed))" in first
    assert "1 of 2 goals is missed" in first
    assert "- [Speed](#speed): as fast as light. Measured: 12,346." in first
    assert "- Goal: as fast as light. **Missed**: 12,346." in rest
    assert "- Goal: at all. Met: so." in rest
    assert "[results](../benchmarks/speed/results.json)" in rest


def test_a_benchmark_that_fails_is_named_and_the_others_still_run(tmp_path):
    ran = []

    def run(name: str, log: Path) -> None:
        ran.append(name)
        if name == "second":
            raise StepError(f"{name} said this in {log}")

    output = StringIO()
    names = ["first", "second", "third"]
    failed = run_all(names, Console(file=output, width=200), run=run, logs=tmp_path)
    assert (ran, failed) == (names, ["second"])
    assert "second said this" in output.getvalue()
    assert "third is done" in output.getvalue()
