"""The tasks that a run holds or is claiming, and those it was just refused."""

from collections import Counter
from typing import Final, Generic, NamedTuple, TypeVar

from lifoq.basics.host import microseconds
from lifoq.store.candidate import Candidate

Attempt = TypeVar("Attempt")
"""The run's type of an attempt. TasksOfThisRun only keeps it."""
CLAIM_PATIENCE: Final = 0.1
"""Seconds for which the next poll waits for the answers to claims: before, it would be shown the
same rows again."""
CLAIM_REFUSED_FOR: Final = 0.5
"""Seconds for which a task whose claim was refused is not tried again: the index lags."""
MOST_REFUSED: Final = 1_000
"""Number of refusals at which those whose time is over are forgotten."""


class _Asked(NamedTuple):
    """A claim that was sent."""

    row: Candidate
    at: int


class TasksOfThisRun(Generic[Attempt]):
    """Keeps tasks by their ids. Times are monotonic microseconds. Written by the thread of the run
    only; ``nothing`` may be read by any thread."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        """Claims that are not answered yet."""
        self.in_flight: dict[str, Attempt] = {}
        """Attempts at tasks that are claimed and not settled."""
        self._row_of: dict[str, Candidate] = {}
        """The row by which each of them was claimed."""
        self._refused: dict[str, int] = {}
        """The end of the time for which each refusal is remembered."""
        self._claiming: Counter[tuple[str, str | None]] = Counter()
        """Tasks that are being claimed, by task type and key."""
        self._at_work: Counter[tuple[str, str | None]] = Counter()
        """Tasks that are claimed and not settled, by task type and key."""
        self._suspected_poison: str | None = None
        """The suspected poison that is being claimed or runs."""
        self._call_of: dict[str, int] = {}
        """The number of the call that each task shares with those that were claimed with it."""
        self._calls: Counter[int] = Counter()
        """The tasks that are left of each call."""
        self._number = 0
        """The number of the latest call."""

    def begins_call(self) -> None:
        """Begin another call: the tasks whose claims are sent from now on share it."""
        self._number += 1

    def begins_claim(self, row: Candidate, now: int) -> None:
        """Note that a thread is about to claim the task."""
        self._asked[row.task_id] = _Asked(row, now)
        self._claiming[row.task_type, row.key] += 1
        self._call_of[row.task_id] = self._number
        self._calls[self._number] += 1
        if row.suspected_poison:
            self._suspected_poison = row.task_id

    def started(self, task_id: str, attempt: Attempt) -> None:
        """Note that the claim was granted."""
        row = self._asked.pop(task_id).row
        self.in_flight[task_id] = attempt
        self._row_of[task_id] = row
        _take_one(self._claiming, row)
        self._at_work[row.task_type, row.key] += 1

    def not_started(self, task_id: str) -> None:
        """Note that the claim gave nothing to run."""
        _take_one(self._claiming, self._asked.pop(task_id).row)
        self._forget(task_id)

    def refused(self, task_id: str, now: int, *, until: int | None = None) -> None:
        """Note that the task's claim was refused: another worker was faster, or the index is
        behind. The task is not tried again ``until`` that moment; by default for CLAIM_REFUSED_FOR
        seconds."""
        self._refused[task_id] = until or now + microseconds(CLAIM_REFUSED_FOR)
        if len(self._refused) > MOST_REFUSED:
            self._refused = {i: until for i, until in self._refused.items() if until > now}

    def settled(self, task_id: str) -> None:
        """Note that the attempt has ended."""
        del self.in_flight[task_id]
        _take_one(self._at_work, self._row_of.pop(task_id))
        self._forget(task_id)

    def of_key(self, task_type: str, key: str | None) -> tuple[int, int]:
        """Return how many tasks of a key are being claimed, and how many are at work."""
        return self._claiming[task_type, key], self._at_work[task_type, key]

    def has(self, task_id: str, now: int) -> bool:
        """Return True if the run has this task, or was refused it a moment ago."""
        if task_id in self._asked or task_id in self.in_flight:
            return True
        if self._refused.get(task_id, now) <= now:
            self._refused.pop(task_id, None)
            return False
        return True

    def is_refused(self, task_id: str, now: int) -> bool:
        """Return True if the task's claim was just refused."""
        return self._refused.get(task_id, now) > now

    @property
    def nothing(self) -> bool:
        """True if no task is being claimed or in flight."""
        return not self._asked and not self.in_flight

    @property
    def calls_not_settled(self) -> int:
        """The calls of handlers whose tasks are not all settled."""
        return len(self._calls)

    @property
    def has_suspected_poison(self) -> bool:
        """True if a suspected poison is being claimed or runs. Only one may do so at a time: if it
        kills this worker too, no other suspected poison is blamed for it."""
        return self._suspected_poison is not None

    @property
    def answers_by(self) -> int:
        """The moment until which the next poll waits for the answers to claims."""
        latest = max((asked.at for asked in self._asked.values()), default=0)
        return latest + microseconds(CLAIM_PATIENCE)

    def _forget(self, task_id: str) -> None:
        number = self._call_of.pop(task_id)
        self._calls[number] -= 1
        if not self._calls[number]:
            del self._calls[number]
        if self._suspected_poison == task_id:
            self._suspected_poison = None


def _take_one(counts: Counter[tuple[str, str | None]], row: Candidate) -> None:
    keyed = row.task_type, row.key
    counts[keyed] -= 1
    if not counts[keyed]:
        del counts[keyed]
