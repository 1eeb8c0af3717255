"""The largest backlog at any moment, not only at the ends of buckets."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from analytics.buckets import LEFT, bucket_of


@dataclass(frozen=True, kw_only=True)
class Peak:
    backlog: int
    at: int | None
    """The first moment of it, in epoch microseconds; None if nothing ever waited."""


def find(tasks: DataFrame, buckets: DataFrame, *, size: int, as_of: int) -> Peak:
    """Sweep the events inside the buckets, side by side, each from the backlog at its start.

    ``buckets`` are those of all types together. Only buckets that can hold the maximum are swept:
    inside one, the backlog is at most that at its start plus its arrivals.
    """
    before = sf.col("backlog") - sf.col("arrivals") + sf.col(LEFT)
    known = buckets.agg(sf.max("backlog")).head()
    at_ends = known[0] if known is not None and known[0] is not None else 0
    swept = sf.broadcast(
        buckets.select("bucket", before.alias("before")).where(
            (before + sf.col("arrivals") >= at_ends) & (sf.col("arrivals") > 0)
        )
    )
    steps = sf.array(
        sf.struct(sf.col("enqueued_at").alias("at"), sf.lit(1).alias("step")),
        sf.struct(sf.col("left_at").alias("at"), sf.lit(-1).alias("step")),
    )
    # Steps of the same moment are peers of one frame: they count together.
    until_now = Window.partitionBy("bucket").orderBy("at")
    top = (
        tasks.select(sf.inline(steps))
        .where(sf.col("at") <= as_of)
        .withColumn("bucket", bucket_of(sf.col("at"), size))
        .join(swept, "bucket")
        .select("at", (sf.col("before") + sf.sum("step").over(until_now)).alias("backlog"))
        .orderBy(sf.desc("backlog"), "at")
        .head()
    )
    if top is None or top["backlog"] == 0:
        return Peak(backlog=0, at=None)
    return Peak(backlog=top["backlog"], at=top["at"])
