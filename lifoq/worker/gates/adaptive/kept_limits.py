"""Keeps what a process has found for its adaptive types, and begins with what the last one found.

Both go by the item in which workers note what they started: a new process reads it when its first
run begins, in place of the read before its first note, and each note takes along what was found.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from lifoq.health import found_limits
from lifoq.health.found_limits import FoundLimit
from lifoq.health.pressure import NOTE
from lifoq.items.change import Item
from lifoq.items.schema import Attribute
from lifoq.store.base import StoreBase
from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch


class KeptLimits:
    """A process's part of the workers' item: the limits that it has found, and those found before.

    Background calls use ``recall`` and ``attributes``; the thread of the run uses the rest.
    """

    def __init__(
        self,
        searches: Mapping[str, CapacitySearch],
        *,
        worker: str,
        lock: AbstractContextManager[object],
        on_more: Callable[[], None],
    ) -> None:
        """``searches``: by task type. ``worker``: the process's own name in the item. ``lock``:
        that of the gates, which ask the searches, too. ``on_more``: called once more tasks may
        start than before."""
        self._searches = searches
        self._worker = worker
        self._lock = lock
        self._on_more = on_more
        self._item: Item | None = None
        self.recalled = False
        """True once the process has begun with what was found before."""

    def recall(self, store: StoreBase) -> None:
        """Begin with what the last process found, or with a part of it beside others that are at
        work. Raises StoreUnavailable, and QueueMisconfigured."""
        self._item = store.table.get(NOTE)
        rows = found_limits.of(self._item)
        before = found_limits.to_begin_with(rows, now=store.now())
        with self._lock:
            for name, search in self._searches.items():
                if name in before:
                    search.begin_with(before[name])
        if before:
            self._on_more()
        self.recalled = True

    def found(self) -> dict[str, tuple[float, int]]:
        """Return, by task type, the tasks at a time that this process found, and the most that it
        may try. Types of which it has learned nothing are left out."""
        with self._lock:
            searches = self._searches.items()
            return {name: (one.found, one.most) for name, one in searches if one.has_learned}

    def take_item(self) -> Item | None:
        """Return the item as it was read, once: for the first note, which need not read it."""
        item, self._item = self._item, None
        return item

    def attributes(self, item: Item | None, *, now: int, ended: bool) -> Mapping[Attribute, Any]:
        """Return what the next note sets, beside what was started. ``item``: as it is now.
        ``ended``: True if the run is over."""
        rows = [
            FoundLimit(
                worker=self._worker,
                task_type=name,
                tasks=tasks,
                most=most,
                at=now,
                ended=ended,
            )
            for name, (tasks, most) in self.found().items()
        ]
        if not rows:
            return {}
        before = found_limits.of(item)
        return {Attribute.RESULT: found_limits.encoded(rows, before=before, now=now)}
