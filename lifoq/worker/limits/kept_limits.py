"""Keeps what a process has found for its adaptive types, and begins with what the last one found.

Both go by the item in which workers note what they started: a new process reads it when its first
run begins, in place of the read before its first note, and each note takes along what was found.
"""

from collections.abc import Mapping
from typing import Any

from lifoq.health import found_limits
from lifoq.health.found_limits import FoundLimit
from lifoq.health.pressure import NOTE
from lifoq.items.change import Item
from lifoq.items.schema import Attribute
from lifoq.store.base import StoreBase
from lifoq.worker.limits.limits import Limits


class KeptLimits:
    """A process's part of the workers' item: the limits that it has found, and those found before.

    Background calls use ``recall`` and ``attributes``; the thread of the run uses the rest.
    """

    def __init__(self, limits: Limits, *, worker: str) -> None:
        """``worker``: the process's own name in the item."""
        self._limits = limits
        self._worker = worker
        self._item: Item | None = None
        self.recalled = False
        """True once the process has begun with what was found before."""

    def recall(self, store: StoreBase) -> None:
        """Begin with what the last process found, or with a part of it beside others that are at
        work. Raises StoreUnavailable, and QueueMisconfigured."""
        self._item = store.table.get(NOTE)
        rows = found_limits.of(self._item)
        self._limits.begin_with(found_limits.to_begin_with(rows, now=store.now()))
        self.recalled = True

    def take_item(self) -> Item | None:
        """Return the item as it was read, once: for the first note, which need not read it."""
        item, self._item = self._item, None
        return item

    def attributes(self, item: Item | None, *, now: int, ended: bool) -> Mapping[Attribute, Any]:
        """Return what the next note sets, beside what was started. ``item``: as it is now.
        ``ended``: True if the run is over."""
        rows = [
            FoundLimit(
                worker=self._worker, task_type=name, tasks=tasks, most=most, at=now, ended=ended
            )
            for name, (tasks, most) in self._limits.found().items()
        ]
        if not rows:
            return {}
        before = found_limits.of(item)
        return {Attribute.RESULT: found_limits.encoded(rows, before=before, now=now)}
