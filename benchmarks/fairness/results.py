"""The results of the benchmark."""

from typing import Annotated

from benchmarks.performance.text import percent
from benchmarks.record import Row


class Flood(Row):
    """One key floods the queue, others ask for little."""

    fair_share: Annotated[bool, "fair share"]
    order: Annotated[str, "order"]
    most_waiting: Annotated[int, "waiting at most"]
    quiet_in_time: Annotated[float, "quiet keys: in time", percent]
    quiet_wait_p95: Annotated[float, "their wait, p95, s"]
    """Seconds, of those that started."""
    flood_per_second: Annotated[float, "flood: started a second"]
    slots_busy: float
    read_units_per_task: Annotated[float, "read units a task"]
    read_units_per_second: Annotated[float, "read units a second"]


class Results(Row):
    patience_seconds: float
    floods: list[Flood]
