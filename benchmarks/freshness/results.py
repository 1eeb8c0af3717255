"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Waits(Row):
    """New tasks' waits on top of a deep backlog, milliseconds from the put to the start."""

    way: Annotated[str, "way"]
    load: Annotated[str, "load"]
    """Tasks in flight, and the service of each."""
    p50_ms: Annotated[float, "p50, ms"]
    longest_ms: Annotated[float, "longest"]
    bound_ms: Annotated[float, "bound"]
    """One service, and a settle, a query and a claim."""
    within_bound: Annotated[int, "within it"]
    new_tasks: Annotated[int, "of"]


class Results(Row):
    waits: list[Waits]
