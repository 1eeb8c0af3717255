"""One row per task: the latest image wins, and what became of the task follows from it.

The definitions are the report's: a task **waits** from ``enqueued_at`` until the first of its first
claim, its shedding deadline and its cancellation; it is **shed** when it was never finished and
either was deleted or is still there, waiting, past its deadline. Times are epoch microseconds, a
moment of leaving is no longer one of waiting.
"""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from analytics.images import ORDERS
from lifoq.schema import TERMINAL, Status


class Outcome(StrEnum):
    """Where a task is at the report's moment; each task is at exactly one of these."""

    WAITING = "waiting"
    """PENDING or DELAYED: never claimed, not yet due, or between two attempts."""
    TAKEN = "taken"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SHED = "shed"


_FINISHED: Final = {
    Status.SUCCESS: Outcome.SUCCEEDED,
    Status.FAILURE: Outcome.FAILED,
    Status.CANCELLED: Outcome.CANCELLED,
}

_IMAGE: Final = (
    "task_status",
    "task_type",
    "enqueued_at",
    "first_taken_at",
    "taken_at",
    "finished_at",
    "expires_at",
    "attempts",
    "error",
)

NO_TYPE: Final = "(none)"
"""Stands for the type of a task that has none."""

_TIMES: Final = (
    "enqueued_at",
    "first_taken_at",
    "taken_at",
    "finished_at",
    "expires_at",
    "left_at",
    "shed_at",
    "deleted_at",
)

COLUMNS: Final = (
    "task_id",
    "task_type",
    "outcome",
    "task_status",
    *_TIMES,
    "attempts",
    "wait_us",
    "service_us",
    "sojourn_us",
    "error",
)
"""``tasks.parquet``. ``left_at`` is when the task stopped waiting for its first claim."""


def merge(observations: DataFrame) -> DataFrame:
    """The latest image of each task, with the last moments at which it was seen alive and deleted.

    Merging is associative and ignores repetition: merged rows can be merged again with new ones.
    """
    latest = sf.max_by(sf.struct(*_IMAGE), "image_order")
    return (
        observations.groupBy("task_id")
        .agg(
            latest.alias("image"),
            sf.max("image_order").alias("image_order"),
            sf.max("alive_at").alias("alive_at"),
            sf.max("deleted_at").alias("deleted_at"),
        )
        .select("task_id", "image.*", "image_order", "alive_at", "deleted_at")
    )


def judge(merged: DataFrame, *, as_of: int) -> DataFrame:
    """What became of each task by ``as_of``; tasks that entered the queue later are left out."""
    now = sf.lit(as_of)
    by_now = sf.col("image_order") < (as_of + 1) * ORDERS
    return (
        merged.where(by_now | (sf.col("enqueued_at") <= now))
        .withColumn("task_type", sf.coalesce("task_type", sf.lit(NO_TYPE)))
        .withColumn("outcome", _outcome(now, by_now))
        .withColumn("shed_at", _shed_at(now))
        .withColumn("first_taken_at", _past("first_taken_at", now, by_now))
        .withColumn("finished_at", _finished_at())
        .withColumn("left_at", _left_at())
        .withColumn("wait_us", sf.col("first_taken_at") - sf.col("enqueued_at"))
        .withColumn("service_us", _service())
        .withColumn("sojourn_us", _sojourn())
        .select(*COLUMNS)
    )


def _outcome(now: Column, by_now: Column) -> Column:
    status = sf.col("task_status")
    finished = status.isin([status.value for status in TERMINAL]) & (
        by_now | (sf.col("finished_at") <= now)
    )
    # An image from after `now` still tells when its task was first claimed.
    taken = sf.when(by_now, status == Status.TAKEN.value).otherwise(sf.col("first_taken_at") <= now)
    return (
        sf.when(
            finished,
            sf.element_at(
                sf.create_map(
                    *(sf.lit(value.value) for pair in _FINISHED.items() for value in pair)
                ),
                status,
            ),
        )
        .when(_is_deleted(now), Outcome.SHED.value)
        .when(taken, Outcome.TAKEN.value)
        .when(sf.col("expires_at") <= now, Outcome.SHED.value)
        .otherwise(Outcome.WAITING.value)
    )


def _is_deleted(now: Column) -> Column:
    return (sf.col("deleted_at") <= now) & (
        sf.col("alive_at").isNull() | (sf.col("deleted_at") >= sf.col("alive_at"))
    )


def _shed_at(now: Column) -> Column:
    """A task is shed at its deadline, not when DynamoDB got round to it. Only one that an operator
    deleted early, and whose deadline is still to come, is shed at its deletion."""
    deadline = sf.col("expires_at")
    return sf.when(
        sf.col("outcome") == Outcome.SHED.value,
        sf.when(deadline <= now, deadline).otherwise(sf.col("deleted_at")),
    )


def _finished_at() -> Column:
    finished = sf.col("outcome").isin([outcome.value for outcome in _FINISHED.values()])
    return sf.when(finished, sf.col("finished_at"))


def _past(name: str, now: Column, by_now: Column) -> Column:
    return sf.when(by_now | (sf.col(name) <= now), sf.col(name))


def _service() -> Column:
    served = sf.col("outcome").isin(Outcome.SUCCEEDED.value, Outcome.FAILED.value)
    return sf.when(served, sf.col("finished_at") - sf.col("taken_at"))


def _left_at() -> Column:
    """A delayed task that is cancelled before it falls due leaves as it arrives."""
    left = sf.least("first_taken_at", "finished_at", "shed_at")
    return sf.when(left.isNotNull(), sf.greatest(left, "enqueued_at"))


def _sojourn() -> Column:
    sojourn = sf.col("finished_at") - sf.col("enqueued_at")
    return sf.when(sojourn >= 0, sojourn)


def with_timestamps(tasks: DataFrame) -> DataFrame:
    """The table as users read it: times are timestamps."""
    return tasks.withColumns({name: sf.timestamp_micros(name) for name in _TIMES})


def with_micros(tasks: DataFrame) -> DataFrame:
    """The table as it is computed with: times are epoch microseconds."""
    return tasks.withColumns({name: sf.unix_micros(name) for name in _TIMES})
