"""The benchmarks, in the order in which they run and are shown."""

from typing import Final

from benchmarks.performance import cells
from benchmarks.performance.section import Benchmark

BENCHMARKS: Final[tuple[Benchmark, ...]] = (cells.BENCHMARK,)
