"""The results of the benchmark."""

from typing import Annotated

from benchmarks.performance.text import percent
from benchmarks.record import Row


class Goodput(Row):
    """One way to call the downstream, under one load."""

    load: Annotated[float, "load"]
    """Tasks that come, as a multiple of what calls for one task can do."""
    way: Annotated[str, "way"]
    per_second: Annotated[float, "tasks a second"]
    share: Annotated[float, "of those that came", percent]
    wait_ms: Annotated[float, "mean wait, ms"]
    """The mean wait from the put to the call, of the tasks that were begun."""
    size: Annotated[float, "tasks a call"]


class Results(Row):
    goodput: list[Goodput]

    def at(self, load: float, way: str) -> Goodput:
        return next(row for row in self.goodput if (row.load, row.way) == (load, way))
