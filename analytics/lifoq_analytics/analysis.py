"""The steps of a run, in their order: from exports to tables and answers."""

import json
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
from pyspark import SparkContext

from lifoq_analytics import page, passes, storage
from lifoq_analytics.answers import (
    buckets,
    coverage,
    keys,
    outlook,
    peak,
    percentiles,
    rankings,
    series,
    summary,
)
from lifoq_analytics.answers.buckets import Buckets, Span
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.answers.percentiles import Percentiles
from lifoq_analytics.errors import DamagedExportError, OptionError
from lifoq_analytics.passes import Plan, Reading, Record, Tally
from lifoq_analytics.reading import attempts, exports, sources
from lifoq_analytics.reading.datafiles import LONGEST_LINE
from lifoq_analytics.reading.exports import Export
from lifoq_analytics.reading.intake import Intake, Stretch, by_cell
from lifoq_analytics.reading.state import State
from lifoq_analytics.times import MICROS

MOST_BUCKETS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    paths: Sequence[str]
    out: str
    bucket_seconds: int = 60
    as_of: int | None = None
    """Epoch microseconds; None for the newest export's time."""
    state: str | None = None
    """The folder that keeps what earlier runs have learnt; None to know only ``paths``."""
    slots: int | None = None
    """Tasks that the workers can serve at a time, if the user says it."""
    allow_missing: bool = False
    cells: bool = False
    """True if the exports' tables are cells of one queue."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the exports cannot tell, as ``lifoq_analytics.page.about`` reads them."""
    longest_line: int = LONGEST_LINE
    """Bytes of a line that can be a task; of a longer one only the beginning is kept."""


class Analysis:
    """One run. ``tell`` hears of each step."""

    def __init__(
        self, spark: SparkContext, request: Request, *, tell: Callable[[str], None]
    ) -> None:
        self._spark = spark
        self._request = request
        self._tell = tell
        self._state = None if request.state is None else State(request.state)

    def run(self) -> dict[str, Any]:
        """Write the report into ``request.out`` and return its summary.

        A folder without ``summary.json`` is not a finished report: it is removed first and
        written last. Raises ``ReportError`` for what the user can put right; where that is the
        input, nothing has been written.
        """
        self._tell("finding exports")
        cells = self._request.cells
        found = exports.find(self._request.paths, cells=cells)
        files, missing = sources.of_exports(found, cells=cells)
        own = Intake(
            stretches=tuple(Stretch.of(export, cells=cells) for export in found),
            files=len(files),
            missing=tuple(missing),
        )
        earlier = self._earlier(own)
        as_of = self._as_of([own, *earlier])
        kept = sources.of_state(self._state.files(earlier)) if self._state else []

        self._tell(f"reading {len(files)} files")
        reading = Reading(
            self._spark,
            [*files, *kept],
            as_of=as_of,
            longest_line=self._request.longest_line,
        )
        records = reading.records()
        own = self._taken_in(own, records)
        whole = Intake.together([own, *earlier])
        span = self._span(records, whole, as_of)

        self._tell("judging tasks")
        for name in ("summary.json", "report.html", "tasks.parquet", "quarantine.parquet"):
            storage.delete(self._out(name))
        plan = Plan(
            span=span,
            points=span.size * series.width(span.number),
            left_out=frozenset(record.source for record in records if record.complaint),
            tasks=self._out("tasks.parquet"),
            quarantine=self._out("quarantine.parquet"),
            state=self._state.begin(own) if self._state else None,
        )
        tally = reading.judge(plan)
        if self._state:
            self._state.complete(own, quarantine=plan.quarantine)
            self._state.add_quarantine(earlier, plan.quarantine)
        return self._answer(tally, plan, reading.partitions, whole, table_name=_table_name(found))

    def _earlier(self, own: Intake) -> list[Intake]:
        """Return what earlier runs have read. A run over the same window as this one is left out:
        it is made anew."""
        if self._state is None:
            return []
        return [intake for intake in self._state.intakes() if intake.name != own.name]

    def _as_of(self, intakes: Sequence[Intake]) -> int:
        if self._request.as_of is not None:
            return self._request.as_of
        stretches = (stretch for intake in intakes for stretch in intake.stretches)
        return min(max(stretch.end for stretch in cell) for cell in by_cell(stretches))

    def _taken_in(self, intake: Intake, records: Sequence[Record]) -> Intake:
        """The intake with its numbers of lines, and without the files that are damaged."""
        own = [record for record in records if record.source >= 0]
        complaints = [record.complaint for record in own if record.complaint]
        missing = (*intake.missing, *complaints)
        if missing and not self._request.allow_missing:
            raise DamagedExportError(missing)
        whole = [record for record in own if not record.complaint]
        return replace(
            intake,
            files=len(whole),
            rows=sum(record.rows for record in whole),
            bad_rows=sum(record.bad_rows for record in whole),
            missing=missing,
        )

    def _span(self, records: Sequence[Record], intake: Intake, as_of: int) -> Span:
        """Return the report's span: it begins with the first task that a line tells of, or else
        with the exports."""
        earliest = [
            record.earliest
            for record in records
            if record.earliest is not None and not record.complaint
        ]
        begin = min(as_of, *(stretch.start for stretch in intake.stretches))
        span = Span(
            size=self._request.bucket_seconds * MICROS,
            start=min(earliest, default=begin),
            as_of=as_of,
        )
        if span.number > MOST_BUCKETS:
            least = (as_of - span.start) // MICROS // MOST_BUCKETS + 1
            raise OptionError(
                "--width",
                self._request.bucket_seconds,
                f"that makes {span.number:,} buckets, more than {MOST_BUCKETS:,}; "
                f"use at least {least} seconds.",
            )
        return span

    def _answer(
        self, tally: Tally, plan: Plan, partitions: int, intake: Intake, *, table_name: str
    ) -> dict[str, Any]:
        span = plan.span
        everything = summary.total(tally.counts)
        in_total = self._write_buckets(tally, span)

        self._tell("looking closer")
        found, highest = self._look_closer(tally, plan, partitions, in_total)

        self._tell("drawing the page")
        answers = {
            "table": table_name,
            "about": dict(self._request.about),
            **summary.build(
                counted=tally.counts,
                found=found,
                peak=highest,
                window_from=span.start,
                as_of=span.as_of,
            ),
            "utilisation": outlook.utilisation(
                everything, window=span.as_of - span.start, slots=self._request.slots
            ),
            "forecast": outlook.forecast(in_total, span, backlog=everything["backlog"]),
            "cost": outlook.cost(everything),
            "failure_reasons": rankings.failure_reasons(tally.failures),
            "past_attempts": attempts.build(tally.attempts),
            "by_key": keys.build(tally.keys),
            "oldest_waiting": rankings.oldest_waiting(tally.oldest, as_of=span.as_of),
            "largest_sheddings": rankings.largest_sheddings(tally.flows, span),
            "coverage": coverage.of(intake.stretches, shortest_deadline=everything["min_deadline"]),
            "input": {
                "exports": len(intake.stretches),
                "files": intake.files,
                "rows": intake.rows,
                "bad_rows": intake.bad_rows,
                "missing": list(intake.missing),
            },
        }
        drawn = page.Series(
            over_time=series.over_time(in_total, span, width=plan.points // span.size),
            waits=series.waits(found, length=plan.points),
            ages=series.ages(tally.ages),
        )
        storage.write(self._out("report.html"), page.render(answers, drawn).encode())
        written = json.dumps(answers, indent=2) + "\n"
        storage.write(self._out("summary.json"), written.encode())
        return answers

    def _write_buckets(self, tally: Tally, span: Span) -> Buckets:
        """Write the tables over time; returns the one of all task types together."""
        for name in ("buckets", "buckets_by_type"):
            storage.delete(self._out(f"{name}.parquet"))
        in_total = buckets.total(tally.flows, tally.stays, span)
        storage.write_parquet(passes.part(self._out("buckets.parquet"), 0), in_total.table(span))
        with storage.parquet_writer(
            passes.part(self._out("buckets_by_type.parquet"), 0), buckets.BY_TYPE
        ) as writer:
            for task_type, its in buckets.by_type(tally.flows, tally.stays, span):
                writer.write_table(its.table(span, task_type=task_type).cast(buckets.BY_TYPE))
        return in_total

    def _look_closer(
        self, tally: Tally, plan: Plan, partitions: int, in_total: Buckets
    ) -> tuple[dict[str, dict[str, Percentiles]], Peak]:
        """The percentiles, and the largest backlog, which may take more than one look."""
        ranks: pa.Table | None = percentiles.ranks(tally.histogram)
        cells = peak.cells(in_total, plan.span)
        found: dict[str, dict[str, Percentiles]] = {}
        while ranks is not None or not cells.are_moments:
            values, events = passes.look_closer(self._spark, partitions, plan, ranks, cells)
            if ranks is not None and values is not None:
                found = percentiles.pick(ranks, values)
                ranks = None
            cells = peak.narrow(cells, events)
        return found, peak.highest(cells)

    def _out(self, name: str) -> str:
        return posixpath.join(self._request.out, name)


def _table_name(found: Sequence[Export]) -> str:
    """The table's name; those of all cells."""
    return ", ".join(sorted({export.table_name for export in found}))
