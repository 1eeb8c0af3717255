"""An account of every task that was put, kept apart from the report: the producer knows the tasks'
ids, the queue their state, and the slow system which of them it served."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lifoq import Status, Task

MICROSECONDS = 1_000_000
PLACES = {
    Status.PENDING: "waiting",
    Status.DELAYED: "waiting",
    Status.TAKEN: "taken",
    Status.SUCCESS: "succeeded",
    Status.FAILURE: "failed",
    Status.CANCELLED: "cancelled",
}
SHED = "shed"


@dataclass(frozen=True, kw_only=True)
class Account:
    """Every task that was put, by the state that it has at epoch microseconds ``now``."""

    put: int
    """The number of tasks that the producer put."""
    tasks: Sequence[Task]
    """The tasks of them that are in the queue."""
    now: int

    @property
    def counts(self) -> dict[str, int]:
        """The tasks by where they are: each is in one place."""
        found = Counter(SHED if self._is_shed(task) else PLACES[task.status] for task in self.tasks)
        return {place: found[place] for place in (*dict.fromkeys(PLACES.values()), SHED)}

    @property
    def busy(self) -> bool:
        """True while a task waits or is taken."""
        return bool(self.counts["waiting"] or self.counts["taken"])

    @property
    def oldest_waiting_seconds(self) -> float:
        """The age of the oldest task that waits; 0 where none does."""
        waiting = (task.enqueued_at for task in self.tasks if self._waits(task))
        return (self.now - min(waiting, default=self.now)) / MICROSECONDS

    def between(self, start: int, end: int) -> "Stretch":
        """Tell what happened from ``start`` up to and without ``end``, epoch microseconds."""

        def within(moment: int | None) -> bool:
            return moment is not None and start <= moment < end

        waits = sorted(
            (task.first_taken_at - task.enqueued_at) / MICROSECONDS
            for task in self.tasks
            if task.first_taken_at is not None and within(task.first_taken_at)
        )
        return Stretch(
            seconds=(end - start) / MICROSECONDS,
            arrivals=sum(within(task.enqueued_at) for task in self.tasks),
            succeeded=sum(
                within(task.finished_at) and task.status is Status.SUCCESS for task in self.tasks
            ),
            shed=sum(within(task.expires_at) and self._is_shed(task) for task in self.tasks),
            waits=waits,
        )

    def contradictions(self, report: Mapping[str, int], served: Collection[str]) -> Iterator[str]:
        """Tell what does not add up, a sentence each. ``report``: what it tells of the tasks.
        ``served``: the ids of those that the slow system served."""
        if not self.put:
            yield "No task was put."
        if gone := self.put - len(self.tasks):
            yield f"{gone} of the {self.put} tasks that were put are gone."
        if report["created"] != self.put:
            yield f"The report says {report['created']} were created, but {self.put} were put."
        told = {place: report[place] for place in self.counts}
        if sum(told.values()) != report["created"]:
            yield f"The report's counts do not add up: {equation(report['created'], told)}."
        for place, number in self.counts.items():
            if told[place] != number:
                yield f"The report says {told[place]} {place}, the account has {number}."
        if self.busy:
            left = self.counts
            yield f"{left['waiting']} waiting and {left['taken']} taken tasks were left at the end."
        done = {task.task_id for task in self.tasks if task.status is Status.SUCCESS}
        if never := done - {*served}:
            yield f"{len(never)} tasks succeeded that the slow system did not serve."

    def _waits(self, task: Task) -> bool:
        return task.waiting and not task.expired(self.now)

    def _is_shed(self, task: Task) -> bool:
        return task.waiting and task.expired(self.now)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The events of a stretch of time. ``waits``: from put to first claim, in seconds, the
    shortest first."""

    seconds: float
    arrivals: int
    succeeded: int
    shed: int
    waits: Sequence[float]

    @property
    def load(self) -> float:
        """ρ: how many tasks came in for each one that was done."""
        return self.arrivals / self.succeeded if self.succeeded else math.inf

    @property
    def shedding_rate(self) -> float:
        """The share of the tasks which left the line that was shed."""
        left = self.shed + len(self.waits)
        return self.shed / left if left else 0.0

    def waited(self, share: float) -> float:
        """The shortest wait that at least ``share`` of the served tasks did not exceed; NaN where
        none was served."""
        return self.waits[math.ceil(share * len(self.waits)) - 1] if self.waits else math.nan


def equation(created: int, counts: Mapping[str, int]) -> str:
    """Return ``created 3 = waiting 0 + taken 1 + …``."""
    return f"created {created} = " + " + ".join(f"{place} {n}" for place, n in counts.items())
