"""Keys whose tasks must wait: because no more of them may be TAKEN, because one has just started,
or because they have had more than their fair share.

A run knows which tasks it holds itself. It learns what other workers do when a claim is refused.
From then on it leaves that key alone, until a task of the key has ended here or a pause is over.
The pause grows with each refusal.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.key_limit import KeyLimit
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate

if TYPE_CHECKING:
    from lifoq.store.key_starts import KeyStarts
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
    """Tells which keys must wait, and which are beyond their fair share. All times are monotonic
    microseconds. Used by the thread of the run only."""

    def __init__(
        self,
        limit_of: Callable[[str], KeyLimit | None],
        fair_shares: "FairShares | None" = None,
        *,
        starts: "KeyStarts | None" = None,
        now: int = 0,
    ) -> None:
        """``limit_of``: the limits of a key by task type; None if the type has none.
        ``fair_shares``: the use of slots by key; None if slots are not shared out evenly.
        ``starts``: the last starts that claims have seen. ``now``: the beginning of the run."""
        self._limit_of = limit_of
        self._starts = starts
        self._fair_shares = fair_shares
        if fair_shares is not None:
            fair_shares.begin_run(now)
        self._here: Counter[Keyed] = Counter()
        """Tasks that this run is claiming, for each limited key; and those that it has claimed if
        the number at a time is limited."""
        self._pauses: dict[Keyed, tuple[int, float]] = {}
        """The pause of each key that other workers hold or start: its end, and its length in
        seconds."""

    def limit(self, task: Candidate | Task) -> KeyLimit | None:
        """Return the limits that hold for the task's key; None if there are none."""
        return None if task.key is None else self._limit_of(task.task_type)

    def holds(self, task: Task) -> bool:
        """True if the task occupies one of its key's places: its type has ``per_key``, not only a
        rate."""
        limit = self.limit(task)
        return limit is not None and limit.per_key is not None

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

    def started(self, task: Task) -> None:
        """Note that the task is claimed. The next one of its key waits, if the key has a rate."""
        limit = self.limit(task)
        if limit is not None and limit.rate is not None:
            self._pauses.pop((task.task_type, task.key), None)
        if limit is not None and limit.per_key is None:
            self._leave((task.task_type, task.key))

    def refused(self, task: Candidate | Task, now: int) -> None:
        """Leave the task's key alone for a while: a claim was refused since others hold all that
        may be TAKEN or have just started one, or an outcome was not confirmed and nobody knows if
        the key is free."""
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
        if self.holds(task):
            self._leave((task.task_type, task.key))
            self._pauses.pop((task.task_type, task.key), None)

    def full(self, task_type: str, key: str | None, now: int) -> bool:
        """Return True if no task of this type and key is to be claimed now."""
        limit = None if key is None else self._limit_of(task_type)
        if limit is None:
            return False
        keyed = task_type, key
        return self._free_at(keyed) > now or self._here[keyed] >= (limit.per_key or 1)

    def wait(self, waiting: Iterable[Keyed], now: int) -> float:
        """Return the seconds until the first of those keys may start that must wait for a moment;
        inf if none must."""
        moments = (self._free_at(keyed) for keyed in waiting)
        return min(((at - now) / MICROSECONDS for at in moments if at > now), default=math.inf)

    def excess(self, view: "BacklogView", now: int) -> Mapping[str | None, float]:
        """Return the keys that have had more than their fair share of the slots, and by how many
        slot seconds. It is empty if slots are not shared out."""
        if self._fair_shares is None:
            return {}
        return self._fair_shares.excess(view.keys, now, unread=view.cursor is not None)

    def _free_at(self, keyed: Keyed) -> int:
        """Return the moment at which a key may be asked for."""
        until, _ = self._pauses.get(keyed, (0, 0.0))
        return until if self._starts is None else max(until, self._starts.free_at(keyed))

    def _leave(self, keyed: Keyed) -> None:
        self._here[keyed] -= 1
        if not self._here[keyed]:
            del self._here[keyed]
