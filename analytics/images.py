"""Export lines as observations of tasks: an explicit schema, no inference, bad lines told apart.

A line shows a task at some moment:

- a full export's ``Item``, alive at the export's moment;
- an incremental export's ``NewImage``, alive since its write;
- an ``OldImage`` alone: deleted by that write. It shows the task as it was before the export's
  window, hence "just before the window's start" is the moment that it is an image of.

Times are epoch microseconds.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from analytics import sources, times
from analytics.sources import Source
from analytics.storage import pattern
from lifoq.schema import ATTRIBUTE_TYPES, Attribute, Status

_READ: Final = (
    Attribute.TASK_ID,
    Attribute.TASK_STATUS,
    Attribute.TASK_TYPE,
    Attribute.ENQUEUED_AT,
    Attribute.FIRST_TAKEN_AT,
    Attribute.TAKEN_AT,
    Attribute.FINISHED_AT,
    Attribute.EXPIRES_AT,
    Attribute.ATTEMPTS,
    Attribute.ERROR,
)
"""The parser skips what nobody asks for: payloads, results, checkpoints."""

_IMAGE: Final = ", ".join(
    f"{attribute}: struct<{ATTRIBUTE_TYPES[attribute]}: string>" for attribute in _READ
)
_CORRUPT: Final = "corrupt"
_LINE: Final = (
    f"Item struct<{_IMAGE}>, NewImage struct<{_IMAGE}>, OldImage struct<{_IMAGE}>, "
    f"Metadata struct<WriteTimestampMicros: struct<N: string>>, {_CORRUPT} string"
)
_PARSING: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}

_LATEST_MICROS: Final = times.from_iso("9999-12-31T23:59:59.999999")

COLUMNS: Final = (
    "task_id",
    "task_status",
    "task_type",
    "enqueued_at",
    "first_taken_at",
    "taken_at",
    "finished_at",
    "expires_at",
    "attempts",
    "error",
    "image_order",
    "alive_at",
    "deleted_at",
)
"""An observation: the image's attributes; its place among the task's images; the moment at which
the task was seen alive; the moment of its deletion."""

ORDERS: Final = 4
"""``image_order`` is the moment that it is an image of, times this, plus a rank that decides
between images of one microsecond: 0 an OldImage, 1 an Item, 2 a NewImage. A full export's moment
may lie before or after a write of the same microsecond, but never after a later one."""


def read(spark: SparkSession, files: Sequence[Source]) -> DataFrame:
    """All lines of these files, as observations with ``file`` and ``reason``: what is wrong with
    the line, null where nothing is."""
    paths = [pattern(source.path) for source in files]
    if not paths:  # an empty table without partitions, or nothing that could be read
        lines = spark.createDataFrame([], f"{_LINE}, file string")
        return _observations(spark, lines, files)
    lines = spark.read.schema(_LINE).options(**_PARSING).json(paths)
    return _observations(spark, lines.withColumn("file", sf.col("_metadata.file_path")), files)


def quarantine(spark: SparkSession, files: Sequence[Source]) -> DataFrame:
    """The lines that cannot be used: ``file``, ``reason``, ``line``. Reads the files once more,
    as text, so that the first pass need not carry every line along."""
    text = spark.read.text([pattern(source.path) for source in files])
    lines = text.where(sf.trim("value") != "").select(
        sf.from_json("value", _LINE, _PARSING).alias("parsed"),
        sf.col("_metadata.file_path").alias("file"),
        sf.col("value").alias("line"),
    )
    judged = _observations(spark, lines.select("parsed.*", "file", "line"), files, "line")
    return judged.where(sf.col("reason").isNotNull()).select("file", "reason", "line")


def short_files(spark: SparkSession, files: Sequence[Source]) -> list[str]:
    """A sentence for each file with fewer lines than its manifest promises."""
    text = spark.read.text([pattern(source.path) for source in files])
    rows = text.groupBy(sf.col("_metadata.file_path").alias("file")).count().collect()
    lines = {row["file"]: row["count"] for row in rows}
    return [
        f"{source.path} is truncated: it has {lines.get(source.spelled, 0)} lines, "
        f"its manifest says {source.items}"
        for source in files
        if lines.get(source.spelled, 0) < (source.items or 0)
    ]


def _observations(
    spark: SparkSession, lines: DataFrame, files: Sequence[Source], *kept: str
) -> DataFrame:
    known = sf.broadcast(sources.table(spark, files))
    return lines.join(known, "file", "left").transform(_flattened, *kept).transform(_judged, *kept)


def _flattened(lines: DataFrame, *kept: str) -> DataFrame:
    image = sf.coalesce("Item", "NewImage", "OldImage")
    written = _micros(sf.col("Metadata.WriteTimestampMicros.N"))
    full = sf.col("Item").isNotNull()
    alive = full | sf.col("NewImage").isNotNull()
    seen = sf.when(full, sf.col("full_at")).otherwise(written)
    return lines.select(
        image[Attribute.TASK_ID]["S"].alias("task_id"),
        image[Attribute.TASK_STATUS]["S"].alias("task_status"),
        image[Attribute.TASK_TYPE]["S"].alias("task_type"),
        _micros(image[Attribute.ENQUEUED_AT]["N"]).alias("enqueued_at"),
        _micros(image[Attribute.FIRST_TAKEN_AT]["N"]).alias("first_taken_at"),
        _micros(image[Attribute.TAKEN_AT]["N"]).alias("taken_at"),
        _micros(image[Attribute.FINISHED_AT]["N"]).alias("finished_at"),
        _micros(image[Attribute.EXPIRES_AT]["N"]).alias("expires_at"),
        image[Attribute.ATTEMPTS]["N"].try_cast("int").alias("attempts"),
        image[Attribute.ERROR]["S"].alias("error"),
        sf.when(full, seen * ORDERS + 1)
        .when(alive, seen * ORDERS + 2)
        .when(seen.isNotNull(), (sf.col("window_from") - 1) * ORDERS)
        .alias("image_order"),
        sf.when(alive, seen).alias("alive_at"),
        sf.when(~alive, seen).alias("deleted_at"),
        image.isNotNull().alias("has_image"),
        _CORRUPT,
        "file",
        *kept,
    )


def _judged(lines: DataFrame, *kept: str) -> DataFrame:
    statuses = [status.value for status in Status]
    reason = (
        sf.when(sf.col(_CORRUPT).isNotNull(), "not a JSON object in DynamoDB's notation")
        .when(~sf.col("has_image"), "neither Item nor NewImage nor OldImage")
        .when(sf.col("image_order").isNull(), "no usable WriteTimestampMicros")
        .when(sf.coalesce("task_id", sf.lit("")) == "", f"no {Attribute.TASK_ID}")
        .when(sf.col("task_status").isNull(), f"no {Attribute.TASK_STATUS}")
        .when(~sf.col("task_status").isin(statuses), f"unknown {Attribute.TASK_STATUS}")
        .when(sf.col("enqueued_at").isNull(), f"no usable {Attribute.ENQUEUED_AT}")
        .when(sf.col("expires_at").isNull(), f"no usable {Attribute.EXPIRES_AT}")
    )
    return lines.select(*COLUMNS, "file", reason.alias("reason"), *kept)


def _micros(number: Column) -> Column:
    """A number as epoch microseconds; null where it is no time before the year 10000, which no
    clock gives and no calendar shows."""
    value = number.try_cast("bigint")
    return sf.when(value.between(0, _LATEST_MICROS), value)
