"""The worst of each kind: what an operator looks at first."""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from analytics import times
from analytics.tasks import Outcome
from analytics.times import MICROS

LONGEST: Final = 10

Ranking = list[dict[str, Any]]


def failure_reasons(tasks: DataFrame) -> Ranking:
    """The commonest reasons of failures: the type of the error, else the beginning of its text."""
    # An error that is not JSON, which only other writers leave, has no path in it.
    kind = sf.get_json_object("error", "$.type")
    reason = sf.coalesce(kind, sf.substring("error", 1, 80), sf.lit("(none)"))
    rows = (
        tasks.where(sf.col("outcome") == Outcome.FAILED.value)
        .groupBy("task_type", reason.alias("reason"))
        .agg(sf.count("task_id").alias("tasks"))
        .orderBy(sf.desc("tasks"), "task_type", "reason")
        .limit(LONGEST)
        .collect()
    )
    return [row.asDict() for row in rows]


def oldest_waiting(tasks: DataFrame, *, as_of: int) -> Ranking:
    """The tasks at the far end of the line; those between two attempts stand in it too."""
    rows = (
        tasks.where((sf.col("outcome") == Outcome.WAITING.value) & (sf.col("enqueued_at") <= as_of))
        .orderBy("enqueued_at", "task_id")
        .select("task_id", "task_type", "enqueued_at", "attempts")
        .limit(LONGEST)
        .collect()
    )
    return [
        {
            "task_id": row["task_id"],
            "task_type": row["task_type"],
            "enqueued_at": times.to_iso(row["enqueued_at"]),
            "age_seconds": (as_of - row["enqueued_at"]) / MICROS,
            "attempts": row["attempts"],
        }
        for row in rows
    ]


def largest_sheddings(buckets_by_type: DataFrame, *, size: int) -> Ranking:
    """The buckets in which most tasks of a type were shed."""
    rows = (
        buckets_by_type.where(sf.col("shed") > 0)
        .orderBy(sf.desc("shed"), "bucket", "task_type")
        .select("task_type", "bucket", "shed")
        .limit(LONGEST)
        .collect()
    )
    return [
        {
            "task_type": row["task_type"],
            "bucket_start": times.to_iso(row["bucket"] * size),
            "shed": row["shed"],
        }
        for row in rows
    ]
