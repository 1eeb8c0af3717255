"""The results of the benchmark. Times are in mean services."""

from typing import Annotated

from benchmarks.performance.text import percent
from benchmarks.record import Row


class Steady(Row):
    """One law on a downstream that does not change."""

    times: Annotated[str, "service times"]
    servers: Annotated[int, "servers"]
    law: Annotated[str, "law"]
    goodput: Annotated[float, "of the best", percent]
    """The goodput as a share of the best fixed number's."""
    time: Annotated[float, "time in the downstream"]


class Change(Row):
    """lifoq's law where the number of servers changes."""

    times: Annotated[str, "service times"]
    servers: Annotated[int, "servers"]
    change: Annotated[str, "they"]
    recovered: Annotated[float | None, "nine tenths after"]
    """Mean services until thirty of them had nine tenths of what the servers can do."""
    below_half: Annotated[float, "below half for"]


class Shared(Row):
    """Several workers on one downstream."""

    times: Annotated[str, "service times"]
    servers: Annotated[int, "servers"]
    workers: Annotated[int, "workers"]
    goodput: Annotated[float, "of the most", percent]
    time: Annotated[float, "time in the downstream"]
    fairness: Annotated[float, "Jain's index"]


class Results(Row):
    steady: list[Steady]
    changes: list[Change]
    shared: list[Shared]

    def of(self, law: str) -> list[Steady]:
        return [row for row in self.steady if row.law == law]

    def worst(self, law: str, *times: str) -> float:
        return min(row.goodput for row in self.of(law) if row.times in times)

    def longest(self, law: str, *times: str) -> float:
        return max(row.time for row in self.of(law) if row.times in times)
