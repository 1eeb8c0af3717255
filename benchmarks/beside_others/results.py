"""The results of the benchmark."""

from typing import Annotated

from benchmarks.performance.text import percent
from benchmarks.record import Row


class Outcome(Row):
    """The outcome of one contender's load. Shares of time are of the four slots'."""

    queue: Annotated[str, "queue"]
    in_time: Annotated[float, "in time", percent]
    """The share of all puts that started in time."""
    busy: Annotated[float, "downstream busy", percent]
    useful: float
    """The share of the work that went to tasks that started in time."""
    idle_ms: Annotated[float, "idle a task, ms"]
    cpu_ms: Annotated[float, "CPU a task, ms"]
    server_cpu_ms: Annotated[float, "server's CPU, ms"]
    put: int
    ran: Annotated[int, "ran"]
    shed: Annotated[int, "known to be shed"]
    without_trace: Annotated[int, "without a trace"]


class Results(Row):
    puts_per_second: float
    seconds: float
    deadline_seconds: float
    patience_seconds: float
    outcomes: list[Outcome]
