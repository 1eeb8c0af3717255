"""The gate of time: a task starts only if the run lasts for long enough to give it its whole time,
and to write its outcome."""

import math

from lifoq.basics.host import microseconds
from lifoq.basics.times import spoken
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.handlers.attempts_and_timeout_of_task import timeout_of
from lifoq.worker.handlers.registry import TaskType


class TimeLeft(Gate):
    """Asks, for a type, whether its usual time is left; before and after the claim, whether the
    task's own is."""

    def __init__(self, kind: TaskType, *, ends_at: int, longest: float, settle_time: float) -> None:
        """``ends_at``: the end of the run, in monotonic microseconds. ``longest`` attempt and
        ``settle_time``: seconds, of the worker's settings."""
        self._kind = kind
        self._longest = longest
        self._by = ends_at - microseconds(settle_time)
        self._latest_start = self._by - microseconds(self.seconds(None))

    def seconds(self, task: Task | Candidate | None) -> float:
        """Return how long an attempt may take; without a task, at any of the type."""
        return timeout_of(task, self._kind, longest=self._longest)

    def wait(self, row: Candidate, now: int) -> float:
        return 0.0 if now <= self._latest_start else math.inf

    def why(self, row: Candidate, now: int) -> str:
        takes = f"a task of type {self._kind.name} may take {spoken(self.seconds(None))}"
        return f"{takes}, and the run has less time left; the next run starts it"

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        task = row if claim is None else claim.task
        return now <= self._by - microseconds(self.seconds(task))


def make(setup: RunSetup, kind: TaskType) -> TimeLeft:
    """Make the gate of a task type."""
    settings = setup.process.settings
    return TimeLeft(
        kind,
        ends_at=setup.ends_at,
        longest=settings.task_timeout,
        settle_time=settings.settle_time,
    )
