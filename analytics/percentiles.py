"""Exact percentiles at any size, in bounded memory.

The p-th percentile is the smallest value that at least p % of the values do not exceed, so it is
one that occurred. Two counting passes find it: the first counts values in bins of 2^20 (about a
second of microseconds), which tells the bin that holds the rank; the second counts the values in
that bin alone, of which there are at most 2^20 different ones, however many tasks there are.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

PERCENTS: Final = (50, 95, 99)
_BIN: Final = 1 << 20

Percentiles = dict[int, int]
"""The value of each of ``PERCENTS``."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Values whose percentiles are sought, separately for each group."""

    name: str
    value: Column
    """A whole number; null is no value."""
    group: Column
    """As text."""


def find(rows: DataFrame, measures: Sequence[Measure]) -> dict[str, dict[str, Percentiles]]:
    """By the measure's name and the group; where there are no values, there is no entry."""
    triples = sf.array(
        *(
            sf.struct(
                sf.lit(measure.name).alias("measure"),
                measure.group.cast("string").alias("group"),
                measure.value.cast("bigint").alias("value"),
            )
            for measure in measures
        )
    )
    values = (
        rows.select(sf.inline(triples))
        .where(sf.col("value").isNotNull())
        .withColumn("bin", sf.call_function("div", "value", sf.lit(_BIN)))
    )
    ranks = _ranks(values)
    key = ["measure", "group", "bin"]
    up_to = Window.partitionBy(*key).orderBy("value")
    found = (
        values.join(sf.broadcast(ranks.select(*key).distinct()), key, "left_semi")
        .groupBy(*key, "value")
        .agg(sf.count("value").alias("here"))
        .withColumn("up_to", sf.sum("here").over(up_to))
        .join(sf.broadcast(ranks), key)
        .where(sf.col("rank").between(sf.col("up_to") - sf.col("here") + 1, sf.col("up_to")))
        .select("measure", "group", "percent", "value")
        .collect()
    )
    result: dict[str, Any] = {measure.name: defaultdict(dict) for measure in measures}
    for row in found:
        result[row["measure"]][row["group"]][row["percent"]] = row["value"]
    return result


def _ranks(values: DataFrame) -> DataFrame:
    """For each percentile the bin that holds it, and its rank inside that bin, from 1."""
    all_bins = Window.partitionBy("measure", "group")
    bins = (
        values.groupBy("measure", "group", "bin")
        .agg(sf.count("value").alias("here"))
        .withColumn("up_to", sf.sum("here").over(all_bins.orderBy("bin")))
        .withColumn("all", sf.sum("here").over(all_bins))
        .withColumn("percent", sf.explode(sf.array(*(sf.lit(percent) for percent in PERCENTS))))
    )
    # ceil(all × percent / 100) in whole numbers
    rank = sf.call_function("div", sf.col("all") * sf.col("percent") + 99, sf.lit(100))
    before = sf.col("up_to") - sf.col("here")
    return (
        bins.withColumn("rank", rank - before)
        .where(sf.col("rank").between(1, sf.col("here")))
        .select("measure", "group", "bin", "percent", "rank")
    )
