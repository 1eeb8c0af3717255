"""The results of the benchmark. Times are in mean service times."""

from collections.abc import Mapping
from typing import Final

from benchmarks.record import Row

TOLD: Final = "told"
"""Exponential patience, of which each client tells the queue its own."""
SHOWN: Final = (0.95, 1.1, 2.0)
"""Loads of the table."""


class Outcome(Row):
    """An order under a steady load, judged by one law of patience."""

    patience: str
    order: str
    load: float
    in_time: float
    """Share of the arrivals that start while their clients wait."""
    ci95: float | None
    theory: float | None

    @property
    def agrees(self) -> bool:
        """True if the result agrees with theory, within 1 % or its own interval."""
        theory = self.theory or 0.0
        return abs(self.in_time - theory) <= max(0.01 * theory, self.ci95 or 0.0)


class Class(Row):
    """The outcome of one kind of tasks."""

    load: str
    tasks: str
    head_start: bool
    in_time: float


class Results(Row):
    by_load: list[Outcome]
    newest_spread: float
    """Points that a deadline of half to three times the mean patience costs at the most, where
    patience is exponential; by the closed form."""
    oldest_spread: float
    classes: list[Class]

    def class_in_time(self, load: str, tasks: str) -> list[float]:
        """Return the shares in time of some tasks, without the head start and with it."""
        return [c.in_time for c in self.classes if (c.load, c.tasks) == (load, tasks)]

    def of(self, patience: str, order: str) -> Mapping[float, float]:
        """Shares in time, by load."""
        return {
            o.load: o.in_time for o in self.by_load if (o.patience, o.order) == (patience, order)
        }

    def ahead(self, patience: str, order: str, other: str) -> list[float]:
        """Return the points by which one order has more in time than another, load by load."""
        ours, theirs = self.of(patience, order), self.of(patience, other)
        return [100 * (ours[load] - theirs[load]) for load in ours]

    def cell(self, patience: str, order: str) -> str:
        """The cell of a table: per cent in time at the loads that are shown."""
        found = self.of(patience, order)
        return " / ".join(f"{100 * found[load]:.0f}" for load in SHOWN) if found else "–"
