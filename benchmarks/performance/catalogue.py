"""The benchmarks, in the order in which they run and are shown."""

from typing import Final

from benchmarks.performance import cells, coldstart, cost
from benchmarks.performance.section import Benchmark

BENCHMARKS: Final[tuple[Benchmark, ...]] = (
    cost.BENCHMARK,
    coldstart.BENCHMARK,
    cells.BENCHMARK,
)
