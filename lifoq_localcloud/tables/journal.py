"""Every committed write of one table, in order: what its stream and its exports are read from."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

Image = dict[str, Any]
"""An item or a key in DynamoDB JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """One item's change. ``old`` is None for an insert, ``new`` for a deletion."""

    position: int
    micros: int
    """Epoch microseconds; strictly increasing within a table."""
    key: Image
    old: Image | None
    new: Image | None
    by_ttl: bool = False


@dataclass(kw_only=True, slots=True)
class _Staged:
    key: Image
    old: Image | None
    new: Image | None
    by_ttl: bool


@dataclass(slots=True)
class Journal:
    """Writes become visible when the request that made them commits, all at once or not at all."""

    committed: list[Write] = field(default_factory=list)
    _staged: list[_Staged] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def stage(
        self, *, key: Image, old: Image | None, new: Image | None, by_ttl: bool = False
    ) -> None:
        """Two changes of one item in one request are one write (an upsert is an insert)."""
        for earlier in self._staged:
            if earlier.key == key:
                earlier.new = new
                return
        self._staged.append(_Staged(key=key, old=old, new=new, by_ttl=by_ttl))

    def commit(self) -> list[Write]:
        """Publish what was staged. A write that changed nothing leaves no trace, as on AWS."""
        staged, self._staged = self._staged, []
        writes = []
        with self._changed:
            for change in staged:
                if change.old == change.new:
                    continue
                write = Write(
                    position=len(self.committed),
                    micros=self._next_micros(),
                    key=change.key,
                    old=change.old,
                    new=change.new,
                    by_ttl=change.by_ttl,
                )
                self.committed.append(write)
                writes.append(write)
            if writes:
                self._changed.notify_all()
        return writes

    def read(self, position: int, limit: int) -> list[Write]:
        return self.committed[position : position + limit]

    def between(self, start_micros: int, end_micros: int) -> list[Write]:
        """The writes of a window: its start is inclusive, its end exclusive."""
        return [write for write in self.committed if start_micros <= write.micros < end_micros]

    def wait(self, position: int, timeout_seconds: float) -> bool:
        """Wait until a write lies at the position, for at most so many seconds. Return True if one
        does."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.committed) > position, timeout_seconds)

    def _next_micros(self) -> int:
        now = time.time_ns() // 1000
        return max(now, self.committed[-1].micros + 1) if self.committed else now
