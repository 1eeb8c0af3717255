"""What the benchmark finds. Times are in mean service times."""

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

    @property
    def behind(self) -> float:
        """The better of the two, in points."""
        return 100 * (max(self.newest, self.oldest) - self.adaptive)


class Results(Row):
    patience: float
    by_load: list[Outcome]
    adaptive: list[Choice]
