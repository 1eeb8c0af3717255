"""The results of the benchmark."""

from benchmarks.bare import Ratio
from benchmarks.record import Row


class Results(Row):
    ratios: list[Ratio]
