"""Keys whose tasks must wait: because no more of them may be TAKEN, or because they have had more
than their fair share.

A run knows which tasks it holds itself. It learns what other workers hold when a claim is refused.
From then on it leaves that key alone, until a task of the key has ended here or a pause is over.
The pause grows with each refusal.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import microseconds
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate

if TYPE_CHECKING:
    from lifoq.worker.backlog.fair_shares import FairShares
    from lifoq.worker.backlog.view import BacklogView

FIRST_KEY_PAUSE: Final = 0.5
"""Seconds for which a run leaves a key alone that other workers hold; it doubles each time."""
LONGEST_KEY_PAUSE: Final = 4.0
"""Seconds up to which that doubles: a refused claim costs units, and what others hold may end at
any time."""

Keyed = tuple[str, str | None]
"""A task type and a key."""


class BusyKeys:
    """Tells which keys are full, and which are beyond their fair share. All times are monotonic
    microseconds. Used by the thread of the run only."""

    def __init__(
        self,
        per_key: Callable[[str], int | None],
        fair_shares: "FairShares | None" = None,
        *,
        now: int = 0,
    ) -> None:
        """``per_key``: how many tasks of a key may be TAKEN at a time, by task type; None if the
        type has no limit. ``fair_shares``: the use of slots by key; None if slots are not shared
        out evenly. ``now``: the beginning of the run."""
        self._per_key = per_key
        self._fair_shares = fair_shares
        if fair_shares is not None:
            fair_shares.begin_run(now)
        self._here: Counter[Keyed] = Counter()
        """Tasks that this run has claimed or is claiming, for each limited key."""
        self._pauses: dict[Keyed, tuple[int, float]] = {}
        """The pause of each key that other workers hold: its end, and its length in seconds."""

    def limit(self, task: Candidate | Task) -> bool:
        """Return True if the task's type limits how many of the task's key are TAKEN."""
        return task.key is not None and self._per_key(task.task_type) is not None

    def that_matters(self, row: Candidate) -> str | None:
        """Return the row's key if rows of other keys may have to start before it, else None: then
        only the place in the queue counts."""
        return row.key if self._fair_shares is not None or self.limit(row) else None

    def asks(self, row: Candidate, now: int) -> None:
        """Note that a claim of this row is sent."""
        if self.limit(row):
            self._here[row.task_type, row.key] += 1
        if self._fair_shares is not None:
            self._fair_shares.begins(row.key, now)

    def not_started(self, row: Candidate, now: int) -> None:
        """Note that the claim gave nothing to run."""
        if self.limit(row):
            self._leave((row.task_type, row.key))
        if self._fair_shares is not None:
            self._fair_shares.ends(row.key, now, seconds=None)

    def refused(self, task: Candidate | Task, now: int) -> None:
        """Leave the task's key alone for a while: a claim was refused since others hold all that
        may be TAKEN, or an outcome was not confirmed and nobody knows if the key is free."""
        keyed = task.task_type, task.key
        _, last = self._pauses.get(keyed, (0, FIRST_KEY_PAUSE / 2))
        pause = min(LONGEST_KEY_PAUSE, last * 2)
        long_over = now - microseconds(LONGEST_KEY_PAUSE)
        self._pauses = {k: kept for k, kept in self._pauses.items() if kept[0] > long_over}
        self._pauses[keyed] = now + microseconds(pause), pause

    def ended(self, task: Task, now: int, *, seconds: float) -> None:
        """Note that the attempt is over after ``seconds``. Its key has a free place now."""
        if self._fair_shares is not None:
            self._fair_shares.ends(task.key, now, seconds=seconds)
        if self.limit(task):
            self._leave((task.task_type, task.key))
            self._pauses.pop((task.task_type, task.key), None)

    def full(self, task_type: str, key: str | None, now: int) -> bool:
        """Return True if no task of this type and key is to be claimed now."""
        most = None if key is None else self._per_key(task_type)
        if most is None:
            return False
        until, _ = self._pauses.get((task_type, key), (now, 0.0))
        return until > now or self._here[task_type, key] >= most

    def excess(self, view: "BacklogView", now: int) -> Mapping[str | None, float]:
        """Return the keys that have had more than their fair share of the slots, and by how many
        slot seconds. It is empty if slots are not shared out."""
        if self._fair_shares is None:
            return {}
        return self._fair_shares.excess(view.keys, now, unread=view.cursor is not None)

    def _leave(self, keyed: Keyed) -> None:
        self._here[keyed] -= 1
        if not self._here[keyed]:
            del self._here[keyed]
