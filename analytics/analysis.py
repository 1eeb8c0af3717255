"""From exports to tables and answers: the steps of a run, in their order."""

import json
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from analytics import (
    buckets,
    coverage,
    exports,
    images,
    page,
    peak,
    series,
    session,
    sources,
    summary,
    tasks,
)
from analytics.errors import DamagedExportError, OptionError
from analytics.sources import Source
from analytics.storage import Storage
from analytics.times import MICROS

MOST_BUCKETS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    paths: Sequence[str]
    out: str
    bucket_seconds: int
    as_of: int | None
    """Epoch microseconds; None for the newest export's time."""
    allow_missing: bool


def run(spark: SparkSession, request: Request, tell: Callable[[str], None]) -> dict[str, Any]:
    """Write the report into ``request.out`` and return its summary. ``tell`` hears of each step.

    A folder without ``summary.json`` is not a finished report: it is removed first and written
    last. Raises ``ReportError`` for what the user can put right.
    """
    storage = Storage(spark)
    tell("finding exports")
    found = exports.find(storage, request.paths)
    as_of = exports.newest(found) if request.as_of is None else request.as_of
    tell(f"checking the files of {len(found)} exports")
    checked = sources.check(spark, storage, found)
    if checked.complaints and not request.allow_missing:
        raise DamagedExportError(checked.complaints)
    session.size_shuffles(spark, sum(source.length for source in checked.sources))
    for name in ("summary.json", "report.html"):
        storage.delete(posixpath.join(request.out, name))

    tell(f"reading {len(checked.sources)} files")
    facts, rows, bad_rows = _facts(spark, storage, checked.sources, request.out, as_of)
    tell("counting")
    counts = summary.count(facts, as_of=as_of)
    everything = summary.total(counts.values())
    covered = coverage.of(found, shortest_deadline=everything["min_deadline"])
    first = everything["min_enqueued_at"]
    window_from = min(as_of, covered.covered.start) if first is None else first

    tell("sweeping the backlog")
    size = _bucket_size(request, window_from, as_of)
    by_type = buckets.count(spark, facts, size=size, start=window_from, as_of=as_of)
    by_type.persist()
    in_total = buckets.total(spark, by_type, size=size, start=window_from, as_of=as_of)
    for name, table in (("buckets_by_type", by_type), ("buckets", in_total)):
        shown = buckets.present(table, size=size, as_of=as_of)
        shown.coalesce(1).write.parquet(posixpath.join(request.out, f"{name}.parquet"), "overwrite")
    highest = peak.find(facts, in_total, size=size, as_of=as_of)

    tell("computing percentiles")
    answers = summary.build(
        by_type=counts,
        found=summary.percentiles_of(facts),
        peak=highest,
        window_from=window_from,
        as_of=as_of,
    )
    answers["input"] = {
        "exports": len(found),
        "files": len(checked.sources),
        "rows": rows,
        "bad_rows": bad_rows,
        "missing": list(checked.complaints),
    }
    answers["coverage"] = covered.to_json()

    tell("drawing the page")
    points = series.width(as_of // size - window_from // size + 1)
    drawn = page.Series(
        over_time=series.over_time(in_total, size=size, width=points),
        waits=series.waits_over_time(facts, size=size, width=points),
        ages=series.ages(facts, as_of=as_of),
    )
    storage.write(posixpath.join(request.out, "report.html"), page.render(answers, drawn))
    storage.write(posixpath.join(request.out, "summary.json"), json.dumps(answers, indent=2) + "\n")
    by_type.unpersist()
    return answers


def _facts(
    spark: SparkSession, storage: Storage, files: Sequence[Source], out: str, as_of: int
) -> tuple[DataFrame, int, int]:
    """The facts, written and read back; how many lines were read, and how many were bad."""
    seen = Observation()
    lines = images.read(spark, files).observe(
        seen,
        sf.count(sf.lit(1)).alias("rows"),
        sf.count_if(sf.col("reason").isNotNull()).alias("bad_rows"),
    )
    good = lines.where(sf.col("reason").isNull()).select(*images.COLUMNS)
    facts = good.transform(tasks.merge).transform(tasks.judge, as_of=as_of)
    path = posixpath.join(out, "tasks.parquet")
    facts.transform(tasks.with_timestamps).write.parquet(path, "overwrite")
    quarantine = posixpath.join(out, "quarantine.parquet")
    storage.delete(quarantine)
    counted = seen.get
    if counted["bad_rows"]:
        images.quarantine(spark, files).write.parquet(quarantine)
    written = spark.read.parquet(path).transform(tasks.with_micros)
    return written, counted["rows"], counted["bad_rows"]


def _bucket_size(request: Request, start: int, as_of: int) -> int:
    size = request.bucket_seconds * MICROS
    number = as_of // size - start // size + 1
    if number > MOST_BUCKETS:
        raise OptionError(
            "--bucket",
            request.bucket_seconds,
            f"that makes {number:,} buckets, more than {MOST_BUCKETS:,}; "
            f"use at least {-(-(as_of - start) // MICROS // MOST_BUCKETS) + 1} seconds.",
        )
    return size
