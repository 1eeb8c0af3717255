"""The tasks that a run has to do with: asked for, in flight, or just refused to it."""

from typing import Final, Generic, TypeVar

from lifoq.basics.host import microseconds
from lifoq.store.candidate import Candidate

Attempt = TypeVar("Attempt")
"""The run's own type: this module only keeps it."""
CLAIM_PATIENCE: Final = 0.1
"""Seconds for which the next poll waits for the answers to claims: before, it would be shown the
same rows again."""
CLAIM_REFUSED_FOR: Final = 0.5
"""Seconds for which a task whose claim was refused is not tried again: the index lags."""
MOST_REFUSED: Final = 1_000
"""Refusals from which on those that are over are forgotten."""
CROWD: Final = 1.5
"""Tasks claimed and not settled, at the most, for each slot. More would take the processor and the
connections from one another."""


class HeldTasks(Generic[Attempt]):
    """Tasks by their ids. Times are monotonic microseconds."""

    def __init__(self, *, slots: int) -> None:
        self._crowd = CROWD * slots
        self._asked: dict[str, int] = {}
        """Claims that are not answered yet, and when they were sent."""
        self.in_flight: dict[str, Attempt] = {}
        """Claimed, and not settled."""
        self._refused: dict[str, int] = {}
        """Until when a refusal is remembered."""
        self._suspect: str | None = None

    def asks(self, row: Candidate, now: int) -> None:
        """The task's claim is sent."""
        self._asked[row.task_id] = now
        if row.suspect:
            self._suspect = row.task_id

    def started(self, task_id: str, attempt: Attempt) -> None:
        """The claim was granted."""
        del self._asked[task_id]
        self.in_flight[task_id] = attempt

    def not_started(self, task_id: str) -> None:
        """The claim gave nothing to run."""
        del self._asked[task_id]
        self._suspect_is_over(task_id)

    def refused(self, task_id: str, now: int) -> None:
        """Somebody was faster, or the index is behind."""
        self._refused[task_id] = now + microseconds(CLAIM_REFUSED_FOR)
        if len(self._refused) > MOST_REFUSED:
            self._refused = {i: until for i, until in self._refused.items() if until > now}

    def settled(self, task_id: str) -> None:
        """The attempt has ended."""
        del self.in_flight[task_id]
        self._suspect_is_over(task_id)

    def has(self, task_id: str, now: int) -> bool:
        """Whether the run has this task, or was refused it a moment ago."""
        if task_id in self._asked or task_id in self.in_flight:
            return True
        if self._refused.get(task_id, now) <= now:
            self._refused.pop(task_id, None)
            return False
        return True

    @property
    def nothing(self) -> bool:
        """Whether no task is asked for or in flight."""
        return not self._asked and not self.in_flight

    @property
    def crowded(self) -> bool:
        """Whether to claim no more: outcomes are written beside the handlers, but not ever more of
        them."""
        return len(self._asked) + len(self.in_flight) >= self._crowd

    @property
    def a_suspect(self) -> bool:
        """Whether a task is among them whose last worker was lost: one at a time, since it may
        have killed that worker."""
        return self._suspect is not None

    @property
    def answers_by(self) -> int:
        """Until when the next poll waits for the answers to claims."""
        return max(self._asked.values(), default=0) + microseconds(CLAIM_PATIENCE)

    def _suspect_is_over(self, task_id: str) -> None:
        if self._suspect == task_id:
            self._suspect = None
