"""What the benchmark finds. Times are in mean service times."""

from statistics import fmean

from benchmarks.record import Row


class Outcome(Row):
    """A queue whose deadline is the patience of its clients, under a steady load."""

    policy: str
    load: float
    goodput: float
    """Share of the capacity that goes to tasks which start in time."""
    theory: float | None
    ci95: float
    shed: float | None
    """Share of the arrivals that never start."""
    wait_p50: float | None
    """Of those that start in time."""
    wait_p95: float | None

    @property
    def agrees(self) -> bool:
        """With theory, within 1 % or its own interval."""
        off = abs(self.goodput - (self.theory or 0.0))
        return self.theory is None or off <= max(0.01 * self.theory, self.ci95)


class Choice(Row):
    """The adaptive order beside the two that it chooses from: shares of the arrivals in time."""

    deadline: float
    """Of the queue; its clients' patience may be shorter."""
    load: float
    newest: float
    oldest: float
    adaptive: float
    better_by_points: float
    """Than the better of the two."""
    ci95_points: float


class Storm(Row):
    """A burst, and clients that ask again."""

    policy: str
    goodput: list[float]
    """Of each bucket of time."""

    @property
    def last_half(self) -> float:
        """Of the time after the burst: of 32 buckets the last 16."""
        return fmean(self.goodput[-16:])


class Results(Row):
    patience: float
    bucket: float
    burst_begins: float
    burst_ends: float
    by_load: list[Outcome]
    adaptive: list[Choice]
    storms: list[Storm]
