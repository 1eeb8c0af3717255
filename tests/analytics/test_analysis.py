"""The decisions of a run before any task is judged: what it is about, and from when to when."""

from typing import Any

import pytest

from lifoq_analytics import passes
from lifoq_analytics.analysis import MOST_BUCKETS, Analysis, Request
from lifoq_analytics.answers import buckets, peak, percentiles
from lifoq_analytics.answers.buckets import Span
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.errors import DamagedExportError, OptionError
from lifoq_analytics.passes import Plan, Record, Tally
from lifoq_analytics.reading.intake import Intake, Stretch
from tests.analytics.exportfiles import full_line
from tests.analytics.items import BASE, at, item, judged, observed

SECOND = 1_000_000


def run(**options: Any) -> Analysis:
    """Return an analysis that needs no Spark yet."""
    nothing: Any = None
    request = Request(paths=[], out="out", bucket_seconds=1, **options)
    return Analysis(nothing, request, tell=lambda _step: None)


def record(source: int, *, earliest: int | None = None, complaint: str | None = None) -> Record:
    return Record(source=source, rows=10, bad_rows=2, complaint=complaint, earliest=earliest)


def intake(*stretches: Stretch, **of: Any) -> Intake:
    return Intake(stretches=stretches, files=3, **of)


WINDOW = Stretch(start=40, end=90, full=False)


@pytest.mark.parametrize(
    ("records", "as_of", "start"),
    [
        ([record(0, earliest=70), record(-1, earliest=60), record(2)], 100, 60),
        ([record(0, earliest=70), record(1, earliest=50, complaint="is truncated")], 100, 70),
        ([record(0)], 100, 40),
        ([record(0)], 30, 30),
        ([], 100, 40),
    ],
)
def test_a_report_begins_with_its_first_task_or_else_with_its_exports(records, as_of, start):
    later = Stretch(start=50, end=60, full=True)
    found = run()._span(records, intake(later, WINDOW), as_of)
    assert found == Span(size=SECOND, start=start, as_of=as_of)


def test_a_million_buckets_are_not_too_many_and_one_more_is_refused_with_a_width_that_does():
    last = MOST_BUCKETS * SECOND - 1
    whole = intake(Stretch(start=0, end=last, full=False))
    assert run()._span([record(0, earliest=0)], whole, last).number == MOST_BUCKETS
    for as_of, number, least in ((last + 1, "1,000,001", 2), (2 * last + 2, "2,000,001", 3)):
        with pytest.raises(OptionError) as refused:
            run()._span([record(0, earliest=0)], whole, as_of)
        told = f"that makes {number} buckets, more than 1,000,000; use at least {least} seconds."
        assert str(refused.value) == f"--width 1: {told}"


def test_a_report_is_as_of_the_newest_export_and_of_cells_as_long_as_all_are_known():
    cells = [
        Stretch(start=start, end=end, full=False, cell=cell)
        for cell, start, end in (("a", 0, 10), ("a", 10, 80), ("b", 0, 50), ("b", 20, 30))
    ]
    assert run()._as_of([intake(*cells)]) == 50
    assert run()._as_of([intake(WINDOW), intake(Stretch(start=0, end=70, full=False))]) == 90
    assert run(as_of=0)._as_of([intake(WINDOW)]) == 0


def test_damaged_files_are_refused_or_left_out_and_lines_of_earlier_runs_are_not_counted_again():
    records = [record(-1, complaint="is no parquet"), record(0), record(1, complaint="f is bad")]
    own = intake(WINDOW, missing=("g is missing",))
    with pytest.raises(DamagedExportError) as refused:
        run()._taken_in(own, records)
    assert refused.value.complaints == ("g is missing", "f is bad")
    assert run(allow_missing=True)._taken_in(own, records) == Intake(
        stretches=(WINDOW,), files=1, rows=10, bad_rows=2, missing=("g is missing", "f is bad")
    )
    with pytest.raises(DamagedExportError):
        run()._taken_in(own, [record(0)])
    two = run()._taken_in(intake(WINDOW), [record(0), record(1)])
    assert two == Intake(stretches=(WINDOW,), files=2, rows=20, bad_rows=4)


def test_of_many_complaints_five_are_told():
    six = [f"file {number}" for number in range(6)]
    told = str(DamagedExportError(six))
    assert told.startswith("file 0; file 1; file 2; file 3; file 4; and 1 more. Copy the export")
    assert str(DamagedExportError(six[:5])).startswith("file 0; file 1; file 2; file 3; file 4. C")


def test_the_largest_backlog_takes_several_looks_and_the_percentiles_one(monkeypatch):
    """There is room for few events and cells here, as if there were billions of them."""
    monkeypatch.setattr(peak, "_MOST_EVENTS", 0)
    monkeypatch.setattr(peak, "_MOST_CELLS", 2_000)
    lines = [
        full_line(item(f"{n}", "TAKEN", enqueuedAt=n, firstTakenAt=n + 5, takenAt=n + 5))
        for n in range(9)
    ]
    tasks = judged(observed(*lines, full=60))
    folders = {"tasks": "", "quarantine": "", "state": None}
    span = Span(size=10 * SECOND, start=BASE, as_of=at(60))
    plan = Plan(span=span, points=10 * SECOND, left_out=frozenset(), **folders)
    tally = Tally.together([Tally.of(tasks, plan)], span)
    in_total = buckets.total(tally.flows, tally.stays, span)
    looks = []

    def look_closer(_spark: Any, partitions: int, plan: Plan, ranks: Any, cells: Any) -> Any:
        looks.append((partitions, ranks is not None))
        measures = passes.measures(tasks, points=plan.points)
        values = None if ranks is None else percentiles.values_in(measures, ranks)
        return values, peak.count_events(tasks, cells, as_of=plan.span.as_of)

    monkeypatch.setattr(passes, "look_closer", look_closer)
    found, highest = run()._look_closer(tally, plan, 7, in_total)
    assert highest == Peak(backlog=5, at=at(4))
    assert found["wait"]["all"] == dict.fromkeys((50, 95, 99), 5 * SECOND)
    assert looks[:2] == [(7, True), (7, False)]
    assert {asked for _, asked in looks[1:]} == {False}
