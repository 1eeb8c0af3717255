"""From exports to tables and answers: the steps of a run, in their order."""

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j brings no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from analytics import (
    buckets,
    coverage,
    exports,
    images,
    outlook,
    page,
    peak,
    percentiles,
    rankings,
    series,
    session,
    sources,
    summary,
    tasks,
)
from analytics.errors import DamagedExportError, OptionError
from analytics.exports import Export
from analytics.intake import Intake, Stretch
from analytics.sources import Check, Source
from analytics.state import State
from analytics.storage import Storage, without_scheme
from analytics.times import MICROS

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
    """How many tasks the workers can serve at a time, where the user says it."""
    allow_missing: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the exports cannot tell, as ``analytics.page.about`` reads it."""


class Analysis:
    """One run. ``tell`` hears of each step."""

    def __init__(
        self, spark: SparkSession, request: Request, *, tell: Callable[[str], None]
    ) -> None:
        self._spark = spark
        self._request = request
        self._tell = tell
        self._storage = Storage(spark)

    def run(self) -> dict[str, Any]:
        """Write the report into ``request.out`` and return its summary.

        A folder without ``summary.json`` is not a finished report: it is removed first and
        written last. Raises ``ReportError`` for what the user can put right.
        """
        self._tell("finding exports")
        found = exports.find(self._storage, self._request.paths)
        self._tell(f"checking the files of {len(found)} exports")
        checked = sources.check(self._spark, self._storage, found)
        if checked.complaints and not self._request.allow_missing:
            raise DamagedExportError(checked.complaints)
        session.prepare(
            self._spark,
            input_bytes=sum(source.length for source in checked.sources),
            skip_corrupt=self._request.allow_missing,
        )
        for name in ("summary.json", "report.html"):
            self._storage.delete(self._out(name))
        intake, as_of = self._take_in(found, checked)
        return self._answer(intake, as_of, table_name=found[0].table.rpartition("/")[2])

    def _take_in(self, found: Sequence[Export], checked: Check) -> tuple[Intake, int]:
        """Write ``tasks.parquet``; returns what it is from, and the report's moment."""
        self._tell(f"reading {len(checked.sources)} files")
        own = Intake(
            stretches=tuple(Stretch.of(export) for export in found),
            files=len(checked.sources),
            missing=checked.complaints,
        )
        state = None
        earlier: list[Intake] = []
        if self._request.state is not None:
            state = State(self._spark, self._storage, self._request.state)
            earlier = [intake for intake in state.intakes() if intake.name != own.name]
        as_of = self._request.as_of
        if as_of is None:
            as_of = max(stretch.end for one in (*earlier, own) for stretch in one.stretches)
        seen = Observation()
        observations = self._good_lines(checked.sources, seen).transform(tasks.merge)
        with _damage_named():
            if state is not None:
                state.write(own, observations)
                observations = state.read([*earlier, own]).transform(tasks.merge)
            facts = observations.transform(tasks.judge, as_of=as_of)
            facts.transform(tasks.with_timestamps).write.parquet(
                self._out("tasks.parquet"), "overwrite"
            )
        # Without a file nothing is observed, and ``get`` would wait for ever.
        counted = seen.get if checked.sources else {"rows": 0, "bad_rows": 0}
        own = self._counted(own, checked.sources, counted)
        self._set_aside(own, earlier, checked.sources, state)
        if state is not None:
            state.complete(own)
        return Intake.together([*earlier, own]), as_of

    def _good_lines(self, files: Sequence[Source], seen: Observation) -> DataFrame:
        lines = images.read(self._spark, files).observe(
            seen,
            sf.count(sf.lit(1)).alias("rows"),
            sf.count_if(sf.col("reason").isNotNull()).alias("bad_rows"),
        )
        return lines.where(sf.col("reason").isNull()).select(*images.COLUMNS)

    def _counted(self, intake: Intake, files: Sequence[Source], seen: dict[str, int]) -> Intake:
        """The intake with its numbers of lines. Fewer lines than the manifests promise are a
        damage that no checksum told of."""
        promised = sum(source.items or 0 for source in files)
        short = images.short_files(self._spark, files) if seen["rows"] < promised else []
        if short and not self._request.allow_missing:
            raise DamagedExportError(short)
        return replace(
            intake,
            rows=seen["rows"],
            bad_rows=seen["bad_rows"],
            missing=(*intake.missing, *short),
        )

    def _set_aside(
        self, own: Intake, earlier: Sequence[Intake], files: Sequence[Source], state: State | None
    ) -> None:
        """Write ``quarantine.parquet``, if any line of these runs is bad."""
        path = self._out("quarantine.parquet")
        self._storage.delete(path)
        if own.bad_rows:
            bad = images.quarantine(self._spark, files)
            if state is None:
                bad.write.parquet(path)
            else:
                state.write_quarantine(own, bad)
        spoilt = [intake for intake in (*earlier, own) if intake.bad_rows]
        if state is not None and spoilt:
            state.read_quarantine(spoilt).write.parquet(path)

    def _answer(self, intake: Intake, as_of: int, *, table_name: str) -> dict[str, Any]:
        facts = self._spark.read.parquet(self._out("tasks.parquet")).transform(tasks.with_micros)
        self._tell("counting")
        counts = summary.count(facts, as_of=as_of)
        everything = summary.total(counts.values())
        covered = coverage.of(intake.stretches, shortest_deadline=everything["min_deadline"])
        earliest = min(stretch.start for stretch in intake.stretches)
        first = everything["min_enqueued_at"]
        start = min(as_of, earliest) if first is None else first
        size = self._bucket_size(start, as_of)

        self._tell("sweeping the backlog")
        span = {"size": size, "start": start, "as_of": as_of}
        by_type = buckets.count(self._spark, facts, **span).persist()
        in_total = buckets.total(self._spark, by_type, **span).persist()
        for name, table in (("buckets_by_type", by_type), ("buckets", in_total)):
            shown = buckets.present(table, size=size, as_of=as_of)
            shown.coalesce(1).write.parquet(self._out(f"{name}.parquet"), "overwrite")
        highest = peak.find(facts, in_total, size=size, as_of=as_of)
        width = series.width(as_of // size - start // size + 1)
        points = series.over_time(in_total, size=size, width=width, start=start, as_of=as_of)

        self._tell("computing percentiles")
        found = percentiles.find(facts, [*summary.measures(), series.waits_measure(size * width)])
        answers = {
            "table": table_name,
            "about": dict(self._request.about),
            **summary.build(
                by_type=counts, found=found, peak=highest, window_from=start, as_of=as_of
            ),
            "utilisation": outlook.utilisation(
                everything, window=as_of - start, slots=self._request.slots
            ),
            "forecast": outlook.forecast(points, backlog=everything["backlog"]),
            "cost": outlook.cost(everything),
            "failure_reasons": rankings.failure_reasons(facts),
            "oldest_waiting": rankings.oldest_waiting(facts, as_of=as_of),
            "largest_sheddings": rankings.largest_sheddings(by_type, size=size),
            "coverage": covered,
            "input": {
                "exports": len(intake.stretches),
                "files": intake.files,
                "rows": intake.rows,
                "bad_rows": intake.bad_rows,
                "missing": list(intake.missing),
            },
        }

        self._tell("drawing the page")
        drawn = page.Series(
            over_time=points,
            waits=series.waits(found, span=size * width),
            ages=series.ages(facts, as_of=as_of),
        )
        self._storage.write(self._out("report.html"), page.render(answers, drawn))
        self._storage.write(self._out("summary.json"), json.dumps(answers, indent=2) + "\n")
        for table in (by_type, in_total):
            table.unpersist()
        return answers

    def _bucket_size(self, start: int, as_of: int) -> int:
        size = self._request.bucket_seconds * MICROS
        number = as_of // size - start // size + 1
        if number > MOST_BUCKETS:
            least = (as_of - start) // MICROS // MOST_BUCKETS + 1
            raise OptionError(
                "--bucket",
                self._request.bucket_seconds,
                f"that makes {number:,} buckets, more than {MOST_BUCKETS:,}; "
                f"use at least {least} seconds.",
            )
        return size

    def _out(self, name: str) -> str:
        return posixpath.join(self._request.out, name)


@contextmanager
def _damage_named() -> Iterator[None]:
    """A file that cannot be read although its checksum is right, or its manifest has none."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        unreadable = re.search(r"while reading file (\S+)\. ", str(error))
        if unreadable is None:
            raise
        path = without_scheme(unquote(unreadable[1]))
        raise DamagedExportError([f"{path} is truncated or not gzip"]) from error
