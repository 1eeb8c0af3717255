"""The results of the benchmark. Times are in mean services."""

from statistics import fmean
from typing import Annotated, Final

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
    found: Annotated[float, "at a time"]
    """The mean of the limit."""
    worst: float | None = None
    """The goodput of the worst trial; None in a row of a run that kept the mean alone."""


class Beyond(Row):
    """One law on a downstream that does something else than to queue beyond its capacity."""

    kind: Annotated[str, "beyond capacity it"]
    law: Annotated[str, "law"]
    goodput: Annotated[float, "of the best", percent]
    time: Annotated[float, "time in the downstream"]
    found: Annotated[float, "at a time"]


class Loaded(Row):
    """lifoq's law under a load, or on a downstream that gets slower."""

    what: Annotated[str, "what"]
    times: Annotated[str, "service times"]
    goodput: Annotated[float, "of the best", percent]
    time: Annotated[float, "time in the downstream"]
    found: Annotated[float, "at a time"]


class Change(Row):
    """lifoq's law where the number of servers changes."""

    times: Annotated[str, "service times"]
    change: Annotated[str, "servers"]
    recovered: Annotated[float | None, "nine tenths after"]
    """Mean services until thirty of them had nine tenths of what the servers can do."""
    below_half: Annotated[float, "below half for"]
    limits: list[float]
    """The limit, from a hundred mean services before the change on, each five of them."""


class Shared(Row):
    """Several workers, or task types, on one downstream."""

    times: Annotated[str, "service times"]
    servers: Annotated[int, "servers"]
    parts: Annotated[str, "shared by"]
    goodput: Annotated[float, "of the best", percent]
    time: Annotated[float, "time in the downstream"]
    fairness: Annotated[float, "Jain's index"]


class Kind(Row):
    """lifoq's law in front of one of three kinds of downstream, without the processor, over some
    trials. Nothing of the first search is counted."""

    kind: Annotated[str, "downstream"]
    times: Annotated[str, "service times"]
    capacity: int
    workers: int
    goodput: Annotated[float, "of the best, mean", percent]
    """The throughput as a share of the best fixed number's, on average over the trials."""
    worst: Annotated[float, "worst trial", percent]
    time: Annotated[float, "time in the downstream, mean"]
    """The mean time in the downstream, as a multiple of that alone, on average over the trials."""
    slowest: Annotated[float, "longest trial"]
    least: Annotated[float, "worst span", percent]
    """The least share of the best in one of the spans of a trial."""
    longest: Annotated[float, "longest span"]


class Group(Row):
    """The rows of one kind of downstream whose times vary alike, over all capacities."""

    workers: Annotated[int, "workers"]
    kind: Annotated[str, "downstream"]
    times: Annotated[str, "service times"]
    goodput: Annotated[float, "of the best, mean", percent]
    worst: Annotated[float, "worst trial", percent]
    time: Annotated[float, "time in the downstream, mean"]
    slowest: Annotated[float, "longest trial"]
    longest: Annotated[float, "longest span"]


EVEN: Final = ("fixed", "gamma", "exponential")
"""The laws of times that vary up to an exponential's."""


class Found(Row):
    """A number at a time that a worker found, in front of a real server."""

    seconds: float
    type: str
    tasks: float
    threads: int


class Results(Row):
    """The results of one run; the live one has ``live`` alone."""

    steady: tuple[Steady, ...] = ()
    beyond: tuple[Beyond, ...] = ()
    loaded: tuple[Loaded, ...] = ()
    changes: tuple[Change, ...] = ()
    shared: tuple[Shared, ...] = ()
    live: tuple[Found, ...] = ()
    kinds: tuple[Kind, ...] = ()

    def groups(self, workers: int) -> list[Group]:
        """Return the rows of so many workers by kind, and by how much times vary."""
        groups = dict[tuple[str, str], list[Kind]]()
        for row in self.kinds:
            if row.workers == workers:
                name = "up to exponential" if row.times in EVEN else "vary more"
                groups.setdefault((row.kind, name), []).append(row)
        return [
            Group(
                workers=workers,
                kind=kind,
                times=name,
                goodput=fmean(row.goodput for row in rows),
                worst=min(row.worst for row in rows),
                time=fmean(row.time for row in rows),
                slowest=max(row.slowest for row in rows),
                longest=max(row.longest for row in rows),
            )
            for (kind, name), rows in groups.items()
        ]

    def of(self, law: str) -> list[Steady]:
        return [row for row in self.steady if row.law == law]

    def worst(self, law: str, *times: str) -> float:
        return min(row.goodput for row in self.of(law) if row.times in times)

    def worst_trial(self, law: str, *times: str) -> float:
        found = [row.worst for row in self.of(law) if row.times in times]
        return min(each for each in found if each is not None)

    def longest(self, law: str, *times: str) -> float:
        return max(row.time for row in self.of(law) if row.times in times)

    def recovered(self, times: str) -> float | None:
        """Return the longest time until nine tenths; None if they never came."""
        found = [row.recovered for row in self.changes if row.times == times]
        return None if None in found else max(each for each in found if each is not None)
