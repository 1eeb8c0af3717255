"""The results of the benchmark."""

from benchmarks.bare import Ratio
from benchmarks.processor.timeline import Step
from benchmarks.record import Row


class Results(Row):
    ratios: list[Ratio]
    timeline: list[Step]
    """The steps of a slot that has work, at four slots and tasks of 0.4 s."""
