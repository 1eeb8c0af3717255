"""The queue over time, as a sweep over events: what happened in each bucket, and what waited at its
end. No task is compared with a bucket that nothing happened to it in.

A bucket holds the moments from its start up to, not including, its end; an event on an edge
belongs to the bucket that starts there. "At the bucket's end" is after all events of the bucket and
before any of the next, so that every row follows from the row before: backlog = previous backlog +
arrivals − those that left. The bucket that holds the report's moment ends there.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from analytics.tasks import Outcome
from analytics.times import MICROS

FLOWS: Final = (
    "arrivals",
    "arrivals_shed",
    "first_claims",
    "succeeded",
    "failed",
    "cancelled",
    "shed",
)
"""``arrivals_shed``: those of the arrivals that were shed, whenever that was. They tell when more
came in than could be served; ``shed`` tells it a deadline later."""
LEFT: Final = "left"
"""Those that stopped waiting: by a first claim, or shed or cancelled before one."""


def count(spark: SparkSession, tasks: DataFrame, *, size: int, start: int, as_of: int) -> DataFrame:
    """One row per task type and bucket of ``size`` microseconds, quiet ones included.

    ``tasks`` carries its times in microseconds; ``start`` and ``as_of`` lie in the first and last
    bucket.
    """
    flows = _flows(tasks, size=size, as_of=as_of)
    oldest = _oldest(tasks, size=size, as_of=as_of)
    every_bucket = _range(spark, size=size, start=start, as_of=as_of)
    spine = tasks.select("task_type").distinct().crossJoin(every_bucket)
    so_far = Window.partitionBy("task_type").orderBy("bucket")
    return (
        spine.join(flows, ["task_type", "bucket"], "left")
        .join(oldest, ["task_type", "bucket"], "left")
        .fillna(0, [*FLOWS, LEFT])
        .withColumn("backlog", sf.sum(sf.col("arrivals") - sf.col(LEFT)).over(so_far))
        .select("task_type", "bucket", *FLOWS, LEFT, "backlog", "oldest_enqueued_at")
    )


def total(
    spark: SparkSession, by_type: DataFrame, *, size: int, start: int, as_of: int
) -> DataFrame:
    """The same for all types together; there are rows even where there is no task."""
    sums = [sf.sum(name).alias(name) for name in (*FLOWS, LEFT, "backlog")]
    oldest = sf.min("oldest_enqueued_at").alias("oldest_enqueued_at")
    return (
        _range(spark, size=size, start=start, as_of=as_of)
        .join(by_type.groupBy("bucket").agg(*sums, oldest), "bucket", "left")
        .fillna(0, [*FLOWS, LEFT, "backlog"])
    )


def _range(spark: SparkSession, *, size: int, start: int, as_of: int) -> DataFrame:
    return spark.range(start // size, as_of // size + 1).withColumnRenamed("id", "bucket")


def present(counted: DataFrame, *, size: int, as_of: int) -> DataFrame:
    """The table as users read it: timestamps, and ages in seconds."""
    end = sf.least((sf.col("bucket") + 1) * size, sf.lit(as_of))
    hidden = ("bucket", LEFT, "oldest_enqueued_at")
    names = [name for name in counted.columns if name not in hidden]
    return counted.select(
        sf.timestamp_micros(sf.col("bucket") * size).alias("bucket_start"),
        *names,
        ((end - sf.col("oldest_enqueued_at")) / MICROS).alias("oldest_waiting_seconds"),
    ).orderBy(*(["task_type"] if "task_type" in names else []), "bucket_start")


def _flows(tasks: DataFrame, *, size: int, as_of: int) -> DataFrame:
    outcome = sf.col("outcome")
    moments: dict[str, Column] = {
        "arrivals": sf.col("enqueued_at"),
        "arrivals_shed": sf.when(outcome == Outcome.SHED.value, sf.col("enqueued_at")),
        "first_claims": sf.col("first_taken_at"),
        "succeeded": sf.when(outcome == Outcome.SUCCEEDED.value, sf.col("finished_at")),
        "failed": sf.when(outcome == Outcome.FAILED.value, sf.col("finished_at")),
        "cancelled": sf.when(outcome == Outcome.CANCELLED.value, sf.col("finished_at")),
        "shed": sf.col("shed_at"),
        LEFT: sf.col("left_at"),
    }
    events = sf.array(
        *(sf.struct(sf.lit(name).alias("flow"), at.alias("at")) for name, at in moments.items())
    )
    return (
        tasks.select("task_type", sf.inline(events))
        .where(sf.col("at") <= as_of)
        .groupBy("task_type", bucket_of(sf.col("at"), size).alias("bucket"))
        .pivot("flow", list(moments))
        .agg(sf.count("at"))
    )


def _oldest(tasks: DataFrame, *, size: int, as_of: int) -> DataFrame:
    """When the oldest task that waits at a bucket's end was enqueued.

    Tasks that come and go in the same two buckets are one: the oldest of them. In the order of
    their enqueuing, each is the oldest waiting one only where all before it have left, so the
    stretches do not overlap, and no more rows come out than there are buckets.
    """
    beyond = as_of // size + 1
    left = sf.when(sf.col("left_at") <= as_of, bucket_of(sf.col("left_at"), size))
    stays = (
        tasks.where(sf.col("enqueued_at") <= as_of)
        .select(
            "task_type",
            "enqueued_at",
            bucket_of(sf.col("enqueued_at"), size).alias("first"),
            sf.coalesce(left, sf.lit(beyond)).alias("beyond"),
        )
        .where(sf.col("first") < sf.col("beyond"))
        .groupBy("task_type", "first", "beyond")
        .agg(sf.min("enqueued_at").alias("oldest_enqueued_at"))
    )
    older = (
        Window.partitionBy("task_type")
        .orderBy("oldest_enqueued_at", "beyond")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    first = sf.greatest("first", sf.max("beyond").over(older))
    return (
        stays.withColumn("first", first)
        .where(sf.col("first") < sf.col("beyond"))
        .select(
            "task_type",
            sf.explode(sf.sequence("first", sf.col("beyond") - 1)).alias("bucket"),
            "oldest_enqueued_at",
        )
    )


def bucket_of(at: Column, size: int) -> Column:
    """The bucket's number, counted from the epoch; in whole numbers, hence exact at every edge."""
    return sf.call_function("div", at, sf.lit(size))
