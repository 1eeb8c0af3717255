"""The benchmarks, in the order in which they run and are shown."""

from typing import Final

from benchmarks.performance import (
    analytics,
    backlog,
    beside_others,
    cells,
    coldstart,
    cost,
    fairness,
    freshness,
    goodput,
    latency,
    limits,
    processor,
    producer,
    reports,
)
from benchmarks.performance.section import Benchmark

BENCHMARKS: Final[tuple[Benchmark, ...]] = (
    goodput.BENCHMARK,
    fairness.BENCHMARK,
    beside_others.BENCHMARK,
    freshness.BENCHMARK,
    latency.BENCHMARK,
    limits.BENCHMARK,
    processor.BENCHMARK,
    producer.BENCHMARK,
    backlog.BENCHMARK,
    coldstart.BENCHMARK,
    cost.BENCHMARK,
    reports.BENCHMARK,
    cells.BENCHMARK,
    analytics.BENCHMARK,
)
