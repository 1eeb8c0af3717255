"""The performance page says what the results on disk say, and a reader can follow it to them."""

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.__main__ import NAMES, in_a_process, run_all
from benchmarks.performance import page
from benchmarks.performance.catalogue import BENCHMARKS, Benchmark
from benchmarks.performance.charts import INK
from benchmarks.performance.drawings import DRAWINGS
from benchmarks.performance.text import number, percent, seconds

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = (page.DOCS / page.PAGE).read_text()
SECTIONS = [page.Section.of(benchmark) for benchmark in BENCHMARKS]
DRAWN = {name: svg for section in SECTIONS for name, svg in section.drawn().items()}


def test_the_committed_page_is_what_the_committed_results_say():
    assert page.text(SECTIONS) == COMMITTED, "run `python -m benchmarks.performance`"


def test_every_chart_is_there_and_none_is_left_over():
    shown = set(re.findall(r"\]\(charts/(.+?\.svg)\)", COMMITTED))
    assert shown == {f"{name}.svg" for name in DRAWINGS}
    assert shown == {file.name for file in (page.DOCS / page.CHARTS).iterdir()}


def test_every_benchmark_that_was_run_leads_to_its_results_and_its_method():
    for section in SECTIONS:
        for record in section.records:
            assert f"(../benchmarks/{section.benchmark.name}/{record.file})" in COMMITTED
            assert f"(../benchmarks/{section.benchmark.name}/README.md)" in COMMITTED


def test_every_benchmark_can_be_run_and_is_shown():
    runnable = {file.parent.name for file in (ROOT / "benchmarks").glob("*/__main__.py")}
    assert runnable - {"performance"} == set(NAMES)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_chart_is_readable_on_a_white_and_on_a_dark_page(name):
    """No background, and no letter in black or white."""
    drawing = DRAWN[name]
    letters = set(re.findall(r'<text [^>]*fill="([^"]+)"', drawing))
    assert letters == {INK}
    assert not re.search(r'fill="(white|black|#fff|#000|#ffffff|#000000)"', drawing)


def test_a_benchmark_without_results_is_said_to_be_not_run():
    never = Benchmark(name="never", title="Never", question="What was never asked?")
    text = page.text([page.Section.of(never)])
    assert "**Not run:**" in text
    assert "python -m benchmarks never" in text


@pytest.mark.parametrize("name", ["analytics", "backlog", "limits"])
def test_a_page_is_whole_without_the_run_that_takes_too_long_for_every_day(name):
    benchmark = BENCHMARKS[NAMES.index(name)]
    results = {**SECTIONS[NAMES.index(name)].results, benchmark.variant: None}
    section = page.Section(benchmark=benchmark, results=results)
    section.fill(page.ENVIRONMENT.get_template(f"{name}.md.j2"))
    assert section.goals
    assert section.body
    assert all("<svg" in drawing for drawing in section.drawn().values())


def test_a_missed_goal_is_said_to_be_missed_and_numbers_have_three_digits():
    section = page.Section(benchmark=BENCHMARKS[0], results={"speed": 12_345.6, "way": None})
    section.fill(
        page.ENVIRONMENT.from_string(
            '{{ goal("as fast as light", results.speed, met=False) }}\n'
            '{{ goal("at all", "so", met=True) }}\n'
            "| {{ results.speed }} | {{ results.way }} |"
        )
    )
    text = page.text([section])
    assert "- Goal: as fast as light. **Not met**: 12,346." in text
    assert "- Goal: at all. Met: so." in text
    assert "| 12,346 | – |" in text
    first = BENCHMARKS[0]
    assert f"| [{first.title}](#{first.anchor}) | as fast as light | 12,346 | **no** |" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (1234.5, "1,234"), (99.96, "100"), (0.00012345, "0.000123"), (-2.5, "-2.5")],
)
def test_numbers_have_three_significant_digits_and_all_before_the_point(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (1, "100 %"), (0.0002, "< 0.1 %"), (0.9999, "> 99.9 %"), (0.4567, "45.7 %")],
)
def test_a_share_that_is_not_quite_all_or_nothing_does_not_look_like_it(share, shown):
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0000123, "12.3 µs"), (0.0456, "45.6 ms"), (3.0, "3 s"), (0.0, "0 s")]
)
def test_a_duration_is_shown_in_its_unit(value, shown):
    assert seconds(value) == shown


def test_one_failing_benchmark_is_named_and_the_others_still_run(tmp_path):
    ran = []

    def run(name: str, log: Path) -> int:
        ran.append(name)
        log.write_text(f"{name} said this")
        return int(name == "second")

    output = StringIO()
    names = ["first", "second", "third"]
    failed = run_all(names, Console(file=output, width=200), run=run, logs=tmp_path)
    assert ran == names
    assert failed == ["second"]
    assert "second said this" in output.getvalue()
    assert "third said this" not in output.getvalue()


def test_a_benchmark_runs_in_a_process_of_its_own_and_its_output_is_kept(tmp_path):
    log = tmp_path / "log"
    assert in_a_process("not_there", log) == 1
    assert "No module named benchmarks.not_there" in log.read_text()
    assert "benchmarks.not_there" not in sys.modules
