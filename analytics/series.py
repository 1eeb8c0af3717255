"""What the page's charts show: few enough points to draw, however many tasks and buckets there are.

Each series is a list of JSON objects.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from analytics import times
from analytics.buckets import FLOWS, bucket_of
from analytics.percentiles import Measure, Percentiles
from analytics.tasks import Outcome
from analytics.times import MICROS

MOST_POINTS: Final = 300

RATES: Final = ("arrivals", "arrivals_shed", "first_claims", "shed")

Points = list[dict[str, Any]]

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
AGES: Final = (
    *(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
    *(_MINUTE, 3 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 12 * _HOUR, _DAY),
)
"""Seconds. The edges of the age distribution, about three to a decade."""


def width(number_of_buckets: int) -> int:
    """How many buckets one point stands for."""
    return -(-number_of_buckets // MOST_POINTS)


def over_time(buckets: DataFrame, *, size: int, width: int, start: int, as_of: int) -> Points:
    """Flows per second, and at the end of each point's time: how many tasks were in the queue, and
    the age of the oldest that waited.

    A point at either end that the report covers less than half of has no rates, which would be of
    a moment: they are None.
    """
    rows = (
        buckets.groupBy(bucket_of(sf.col("bucket"), width).alias("point"))
        .agg(
            *(sf.sum(name).alias(name) for name in FLOWS),
            *(sf.max_by(name, "bucket").alias(name) for name in ("backlog", "oldest_enqueued_at")),
        )
        .orderBy("point")
        .collect()
    )
    span = size * width
    points = []
    present = 0
    for row in rows:
        gone = row["succeeded"] + row["failed"] + row["cancelled"] + row["shed"]
        present += row["arrivals"] - gone
        begin, until = row["point"] * span, min((row["point"] + 1) * span, as_of)
        oldest = row["oldest_enqueued_at"]
        covered = until - max(begin, start) if len(rows) > 1 else span
        points.append(
            {
                "time": times.to_iso(begin),
                "until": times.to_iso(until),
                **{
                    name: row[name] * MICROS / covered if covered * 2 >= span else None
                    for name in RATES
                },
                "waiting": row["backlog"],
                "claimed": present - row["backlog"],
                "oldest_waiting_seconds": None if oldest is None else (until - oldest) / MICROS,
            }
        )
    return points


WAITS: Final = "wait_by_point"


def waits_measure(span: int) -> Measure:
    """The waits of those first claimed in each point's time, of ``span`` microseconds."""
    return Measure(
        name=WAITS,
        value=sf.col("wait_us"),
        group=bucket_of(sf.col("first_taken_at"), span),
    )


def waits(found: Mapping[str, Mapping[str, Percentiles]], *, span: int) -> Points:
    """Percentiles of the wait over time."""
    by_point = sorted((int(point), values) for point, values in found[WAITS].items())
    return [
        {
            "time": times.to_iso(point * span),
            **{f"p{percent}": value / MICROS for percent, value in sorted(values.items())},
        }
        for point, values in by_point
    ]


def ages(tasks: DataFrame, *, as_of: int) -> Points:
    """How long tasks waited: those claimed, those shed before a first claim, those that wait."""
    end = sf.coalesce("left_at", sf.lit(as_of))
    kind = (
        sf.when(sf.col("first_taken_at").isNotNull(), "claimed")
        .when(sf.col("outcome") == Outcome.SHED.value, "shed")
        .when(sf.col("outcome") == Outcome.WAITING.value, "waiting")
    )
    waited = (end - sf.col("enqueued_at")) / MICROS
    reached = sum(((waited >= edge).cast("int") for edge in AGES), sf.lit(0))
    rows = (
        tasks.where((sf.col("enqueued_at") <= as_of) & kind.isNotNull())
        .groupBy(kind.alias("kind"), reached.alias("bin"))
        .count()
        .orderBy("bin", "kind")
        .collect()
    )
    return [
        {"bin": row["bin"], "age": _label(row["bin"]), "kind": row["kind"], "tasks": row["count"]}
        for row in rows
    ]


def _label(reached: int) -> str:
    if reached == len(AGES):
        return f"≥ {_duration(AGES[-1])}"
    return f"< {_duration(AGES[reached])}"


def age_labels() -> Sequence[str]:
    """All labels of the age distribution, youngest first."""
    return [_label(reached) for reached in range(len(AGES) + 1)]


def _duration(seconds: float) -> str:
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s")):
        if seconds >= unit:
            return f"{seconds / unit:g} {name}"
    return f"{seconds * 1000:g} ms"
