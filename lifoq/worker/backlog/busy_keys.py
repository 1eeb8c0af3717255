"""What keys have to say about which task is the next, as far as a run knows: which of them have no
room for another of their tasks, and, with fair shares, which have had more than theirs.

It knows what it holds itself. Of the others it learns when a claim is refused; then it does not ask
for that key again until a task of it has ended here, or a pause is over, which grows.
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
"""Seconds for which a key is not asked for that others hold; it doubles each time."""
LONGEST_KEY_PAUSE: Final = 4.0
"""Seconds up to which that doubles: a refused claim costs units, and what others hold may end at
any time."""

Keyed = tuple[str, str | None]
"""A task type and a key."""


class BusyKeys:
    """All times are monotonic microseconds."""

    def __init__(
        self,
        per_key: Callable[[str], int | None],
        fair_shares: "FairShares | None" = None,
        *,
        now: int = 0,
    ) -> None:
        """``per_key``: of a task type, how many of a key may be TAKEN at a time; None: any.
        ``fair_shares``: where slots are shared out evenly among keys. ``now``: when the run
        begins."""
        self._per_key = per_key
        self._fair_shares = fair_shares
        if fair_shares is not None:
            fair_shares.begin_run(now)
        self._here: Counter[Keyed] = Counter()
        """Asked for or held by this run."""
        self._pauses: dict[Keyed, tuple[int, float]] = {}
        """Keys that others hold: until when they are left alone, and how many seconds that was."""

    def limit(self, task: Candidate | Task) -> bool:
        """Whether there may be no room for such a task."""
        return task.key is not None and self._per_key(task.task_type) is not None

    def that_matters(self, row: Candidate) -> str | None:
        """The row's key, if others of its type may start where it may not, or before it."""
        return row.key if self._fair_shares is not None or self.limit(row) else None

    def asks(self, row: Candidate, now: int) -> None:
        """A claim is sent."""
        if self.limit(row):
            self._here[row.task_type, row.key] += 1
        if self._fair_shares is not None:
            self._fair_shares.begins(row.key, now)

    def not_started(self, row: Candidate, now: int) -> None:
        """It gave nothing to run."""
        if self.limit(row):
            self._leave((row.task_type, row.key))
        if self._fair_shares is not None:
            self._fair_shares.ends(row.key, now, seconds=None)

    def refused(self, task: Candidate | Task, now: int) -> None:
        """Others hold all that may be TAKEN of its key, or nobody knows who does."""
        keyed = task.task_type, task.key
        _, last = self._pauses.get(keyed, (0, FIRST_KEY_PAUSE / 2))
        pause = min(LONGEST_KEY_PAUSE, last * 2)
        long_over = now - microseconds(LONGEST_KEY_PAUSE)
        self._pauses = {k: kept for k, kept in self._pauses.items() if kept[0] > long_over}
        self._pauses[keyed] = now + microseconds(pause), pause

    def ended(self, task: Task, now: int, *, seconds: float) -> None:
        """The attempt at it is over, after so long: there is room for another."""
        if self._fair_shares is not None:
            self._fair_shares.ends(task.key, now, seconds=seconds)
        if self.limit(task):
            self._leave((task.task_type, task.key))
            self._pauses.pop((task.task_type, task.key), None)

    def full(self, task_type: str, key: str | None, now: int) -> bool:
        """Whether to claim no task of this type and key now."""
        most = None if key is None else self._per_key(task_type)
        if most is None:
            return False
        until, _ = self._pauses.get((task_type, key), (now, 0.0))
        return until > now or self._here[task_type, key] >= most

    def excess(self, view: "BacklogView", now: int) -> Mapping[str | None, float]:
        """By how much keys have had more than their share; none where slots are not
        shared out."""
        if self._fair_shares is None:
            return {}
        return self._fair_shares.excess(view.keys, now, unread=view.cursor is not None)

    def _leave(self, keyed: Keyed) -> None:
        self._here[keyed] -= 1
        if not self._here[keyed]:
            del self._here[keyed]
