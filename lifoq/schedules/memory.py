"""Schedules in memory, for tests of code that makes them."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from lifoq.basics.host import MICROSECONDS
from lifoq.errors import InvalidInput
from lifoq.items.task import NewTask
from lifoq.schedules.event import event_of, filled
from lifoq.schedules.expression import Expression, UnsupportedExpressionError, parse
from lifoq.schedules.schedule import Schedule
from lifoq.schedules.when import When


@dataclass
class _Kept:
    schedule: Schedule
    since: datetime
    last: datetime
    """The time up to which it has fired."""


class MemoryGroup:
    """Schedules in this process, that fire when they are asked to."""

    def __init__(self, now: Callable[[], int]) -> None:
        """``now`` tells the time in epoch microseconds."""
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def put(self, schedule: Schedule) -> None:
        """Keep a schedule. Raises InvalidInput for an expression that Scheduler alone
        understands."""
        _expression(schedule.when)
        now = self._now()
        with self._lock:
            kept = self._kept.get(schedule.name)
            if kept is None or _said(kept.schedule) != _said(schedule):
                since = _moment(now)
                self._kept[schedule.name] = _Kept(
                    schedule=replace(schedule, changed_at=now),
                    since=since,
                    last=since - timedelta(microseconds=1),  # a rate begins at once
                )

    def get(self, name: str) -> Schedule | None:
        """Return a schedule; None if there is none of this name."""
        with self._lock:
            return self._kept[name].schedule if name in self._kept else None

    def delete(self, name: str) -> bool:
        """Delete a schedule; False if there was none."""
        with self._lock:
            return self._kept.pop(name, None) is not None

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with ``prefix``, in their order."""
        with self._lock:
            found = sorted(name for name in self._kept if name.startswith(prefix))
        return iter(found)

    def fire(self) -> list[NewTask]:
        """Return a task of each schedule that is due. Of several times that have passed, the
        first: whoever turns a clock by a day asks for no day's tasks."""
        now = _moment(self._now())
        with self._lock:
            return [task for kept in list(self._kept.values()) for task in self._fired(kept, now)]

    def _fired(self, kept: _Kept, now: datetime) -> Iterator[NewTask]:
        schedule = kept.schedule
        due = _expression(schedule.when).following(kept.last, kept.since)
        if due is None or due > now:
            return
        kept.last = now
        if schedule.when.is_once:
            del self._kept[schedule.name]
        yield filled(schedule.task, scheduled=due)


def _said(schedule: Schedule) -> tuple[When, str]:
    """Return what a schedule says. As JSON, since to Python 1 is True."""
    return schedule.when, json.dumps(event_of(schedule.task), sort_keys=True)


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / MICROSECONDS, UTC)


def _expression(when: When) -> Expression:
    try:
        return parse(when.expression, when.time_zone)
    except UnsupportedExpressionError as error:
        problem = f"cannot fire in memory: {error} Test with another one"
        raise InvalidInput("when", str(when), problem) from error
