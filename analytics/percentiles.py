"""Exact percentiles at any size, in bounded memory.

The p-th percentile is the smallest value that at least p % of the values do not exceed, so it is
one that occurred. Two counting passes find it: the first counts values in bins of 2^20 (about a
second of microseconds), which tells the bin that holds the rank; the second counts the values in
that bin alone, of which there are at most 2^20 different ones, however many tasks there are.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

PERCENTS: Final = (50, 95, 99)
_BIN: Final = 1 << 20

Percentiles = dict[int, int]
"""The value of each of ``PERCENTS``."""


def find(
    rows: DataFrame, measures: Mapping[str, Column], *, scope: Column
) -> dict[tuple[Any, str], Percentiles]:
    """The percentiles of each measure's values (whole numbers; null is no value) among the rows of
    each scope, by scope and measure. Where there are no values, there is no entry."""
    pairs = sf.array(
        *(
            sf.struct(sf.lit(name).alias("measure"), value.cast("bigint").alias("value"))
            for name, value in measures.items()
        )
    )
    values = (
        rows.select(scope.alias("scope"), sf.inline(pairs))
        .where(sf.col("value").isNotNull())
        .withColumn("bin", sf.call_function("div", "value", sf.lit(_BIN)))
    )
    ranks = _ranks(values)
    key = ["scope", "measure", "bin"]
    up_to = Window.partitionBy(*key).orderBy("value")
    found = (
        values.join(sf.broadcast(ranks.select(*key).distinct()), key, "left_semi")
        .groupBy(*key, "value")
        .agg(sf.count("value").alias("here"))
        .withColumn("up_to", sf.sum("here").over(up_to))
        .join(sf.broadcast(ranks), key)
        .where(sf.col("rank").between(sf.col("up_to") - sf.col("here") + 1, sf.col("up_to")))
        .select("scope", "measure", "percent", "value")
        .collect()
    )
    result: defaultdict[tuple[Any, str], Percentiles] = defaultdict(dict)
    for row in found:
        result[row["scope"], row["measure"]][row["percent"]] = row["value"]
    return dict(result)


def _ranks(values: DataFrame) -> DataFrame:
    """For each percentile the bin that holds it, and its rank inside that bin, from 1."""
    group = Window.partitionBy("scope", "measure")
    up_to = group.orderBy("bin")
    bins = (
        values.groupBy("scope", "measure", "bin")
        .agg(sf.count("value").alias("here"))
        .withColumn("up_to", sf.sum("here").over(up_to))
        .withColumn("all", sf.sum("here").over(group))
        .withColumn("percent", sf.explode(sf.array(*(sf.lit(percent) for percent in PERCENTS))))
    )
    # ceil(all × percent / 100) in whole numbers
    rank = sf.call_function("div", sf.col("all") * sf.col("percent") + 99, sf.lit(100))
    before = sf.col("up_to") - sf.col("here")
    return (
        bins.withColumn("rank", rank - before)
        .where(sf.col("rank").between(1, sf.col("here")))
        .select("scope", "measure", "bin", "percent", "rank")
    )
