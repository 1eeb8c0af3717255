"""The results of the benchmark: milliseconds."""

from typing import Annotated

from benchmarks.record import Row


class Hop(Row):
    """A part of the way from the put to the handler's start."""

    hop: Annotated[str, "hop"]
    until: str
    warm_p50: Annotated[float, "warm, ms"]
    warm_p99: float
    cold_p50: Annotated[float, "cold, ms"]
    cold_p99: float


class Results(Row):
    warm_tasks: int
    cold_tasks: int
    hops: list[Hop]
    """The last is the whole."""
