"""The results of the benchmark: milliseconds."""

from typing import Annotated

from benchmarks.record import Row


class Way(Row):
    """The time from the put to the handler's start, by one way to wake the processor."""

    way: Annotated[str, "woken by"]
    p50: Annotated[float, "median, ms"]
    p95: Annotated[float, "95 %, ms"]


class Results(Row):
    tasks: int
    """The number of tasks of each way."""
    pause_ms: float
    """The pause between two reads of the stream."""
    ways: list[Way]
    """The two ways: without a kick, then with one."""

    @property
    def spared(self) -> float:
        """Return the milliseconds by which the median is shorter with a kick."""
        stream, kick = self.ways
        return stream.p50 - kick.p50
