"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Waits(Row):
    """Callers in one process, each waiting for a task that does not end meanwhile."""

    callers: Annotated[int, "callers"]
    way: Annotated[str, "way"]
    cpu_ms: Annotated[float, "CPU ms a caller"]
    """Processor time of the process, milliseconds for each caller."""
    read_units: Annotated[float, "read units a caller"]
    late: Annotated[float, "last one late by, s"]
    """Seconds after its time was over at which the last caller was told."""


class Results(Row):
    seconds: float
    waits: list[Waits]

    def most(self) -> list[Waits]:
        """Return the rows with the most callers: on one event loop, and in threads."""
        callers = max(row.callers for row in self.waits)
        return [row for row in self.waits if row.callers == callers]
