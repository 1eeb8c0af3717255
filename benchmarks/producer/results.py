"""What the benchmark finds."""

from benchmarks.bare import Ratio
from benchmarks.record import Row


class Results(Row):
    ratios: list[Ratio]
