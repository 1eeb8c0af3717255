"""The schedules of a queue, as its clients see them."""

import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.basics.host import MICROSECONDS
from lifoq.basics.numbers import check_count
from lifoq.errors import InvalidInput
from lifoq.items.task import Duration, IfExists, NewTask
from lifoq.schedules.event import event_of, new_task, task_id
from lifoq.schedules.schedule import Group, Schedule
from lifoq.schedules.when import When, check, passed
from lifoq.store.store import Store

_NAME: Final = re.compile(r"[0-9a-zA-Z_.-]{1,64}")
MAX_EVENT_BYTES: Final = 256 * 1024
"""Bytes of JSON that EventBridge Scheduler hands to its target."""


class Schedules:
    """The schedules of a queue that its clients make at run time: ``queue.schedules``.

    They are schedules of EventBridge Scheduler, in a group of the queue's own. The queue must be
    deployed with ``schedules=True``. Every call may raise ``StoreUnavailable`` and
    ``QueueMisconfigured``, as those of ``Queue`` do. In memory, ``lifoq_run`` fires them.

    Examples:
        >>> from lifoq import every
        >>> schedule = queue.schedules.put("tenant-42", every(3600), "report.send", {"tenant": 42})
        >>> [schedule.name for schedule in queue.schedules.list()]
        ['tenant-42']
        >>> queue.schedules.delete("tenant-42")
        True
    """

    def __init__(self, group: Group, *, store: Store) -> None:
        """``store``: the queue's, which judges its tasks and tells its time."""
        self._group = group
        self._store = store

    def put(
        self,
        name: str,
        when: When,
        task_type: str,
        payload: Any = None,
        *,
        key: str | None = None,
        if_exists: IfExists = "keep",
        deadline: Duration | None = None,
        head_start: Duration | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        weight: int | None = None,
    ) -> Schedule:
        """Make a schedule, or change the one that has this name, and return it.

        A put that says what the schedule says already changes nothing, so a program may put its
        schedules whenever it starts. Each task has the id ``NAME-TIME``, with the time at which it
        was to come: a schedule that fires twice puts one task. With ``if_exists="replace"`` the id
        is the name alone, and the newest task replaces one that still waits.

        Args:
            name: The name of the schedule: 1 to 64 letters, digits, ``.``, ``_`` and ``-``.
            when: The times at which it fires: ``cron(…)``, ``every(…)`` or ``at(…)``.
            task_type: The type of the tasks: which handler runs them.
            payload: The payload that the handler gets. Any JSON value; with the terms at most 256
                KB.
            key: Whom or what the tasks are for, such as a device or a customer.
            if_exists: The rule for an id in use: keep that task, or let the newest put replace it.
            deadline: When a task is shed, if it still waits. At most the queue's deadline. Seconds
                from when it enters the queue, or a timedelta.
            head_start: A priority: a task stands where it would if it had come so much later. At
                most its deadline. Seconds, or a timedelta.
            max_attempts: The number of attempts that a task has, in place of its type's own number.
            timeout: The time that one attempt may take, in place of its type's own time. Seconds,
                or a timedelta.
            weight: The units that a task weighs, such as tokens: limits in units count them.

        Raises:
            InvalidInput: The name, the times or a term is refused, or the one time has passed. The
                message names it, its value and the remedy; no schedule was made or changed.

        Examples:
            >>> from lifoq import cron
            >>> daily = cron("0 8 * * ? *", time_zone="Europe/Berlin")
            >>> queue.schedules.put("tenant-42", daily, "report.send", {"tenant": 42}).name
            'tenant-42'
            >>> queue.schedules.put("clean", daily, "files.clean", if_exists="replace").task.task_id
            'clean'
        """
        _check_name(name)
        if isinstance(deadline, datetime):
            problem = "is one moment, and a schedule fires again and again: give seconds, or a"
            raise InvalidInput("deadline", deadline, f"{problem} timedelta")
        when = check(when)
        task = NewTask(
            task_type=task_type,
            payload=payload,
            task_id=task_id(name, if_exists),
            key=key,
            if_exists=if_exists,
            deadline=_seconds(deadline),
            head_start=_seconds(head_start),
            max_attempts=max_attempts,
            timeout=_seconds(timeout),
            weight=weight,
        )
        self._store.check_new(task)
        event = jsontext.encode(event_of(task), "payload")
        if (size := jsontext.size(event)) > MAX_EVENT_BYTES:
            problem = (
                f"is {size:,} bytes of JSON with its terms, and a schedule takes "
                f"{MAX_EVENT_BYTES:,}: keep it elsewhere, and name the place"
            )
            raise InvalidInput("payload", payload, problem)
        if passed(when, datetime.fromtimestamp(self._store.now() / MICROSECONDS, UTC)):
            raise InvalidInput("when", str(when), "has passed: put the task itself")
        # As it is read back: what the caller changes of the payload later, does not reach it.
        schedule = Schedule(name=name, when=when, task=new_task(jsontext.decode(event)))
        self._group.put(schedule)
        return schedule

    def get(self, name: str) -> Schedule | None:
        """Return a schedule; None if the queue has none of this name.

        Args:
            name: The name of the schedule.

        Examples:
            >>> queue.schedules.get("nobody") is None
            True
        """
        return self._group.get(_check_name(name))

    def delete(self, name: str) -> bool:
        """Delete a schedule, and return True if there was one. Tasks that it has put stay.

        Args:
            name: The name of the schedule.

        Examples:
            >>> queue.schedules.delete("nobody")
            False
        """
        return self._group.delete(_check_name(name))

    def list(self, prefix: str = "", *, limit: int = 100) -> list[Schedule]:
        """Return schedules, in the order in which EventBridge Scheduler lists them. Each is read by
        a call of its own.

        Args:
            prefix: Only schedules whose names begin with it.
            limit: The most schedules to return.

        Raises:
            InvalidInput: The limit is no whole number above 0, or no name begins so.

        Examples:
            >>> from lifoq import every
            >>> for tenant in (41, 42):
            ...     schedule = queue.schedules.put(f"tenant-{tenant}", every(3600), "report.send")
            >>> [schedule.name for schedule in queue.schedules.list("tenant-")]
            ['tenant-41', 'tenant-42']
        """
        check_count("limit", limit)
        if prefix:
            _check_name(prefix, "prefix")
        found = (self._group.get(name) for name in self._group.names(prefix))
        # One that was deleted in between is left out.
        return list(islice((one for one in found if one is not None), limit))


def _check_name(name: Any, field: str = "name") -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = "must be 1 to 64 letters of ASCII, digits, '.', '_' and '-', such as 'tenant-42'"
        raise InvalidInput(field, name, problem)
    return name


def _seconds(value: Any) -> Any:
    """Return a duration in seconds, the same one always in the same digits. The queue refuses what
    is none."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return int(seconds) if isinstance(seconds, float) and seconds.is_integer() else seconds
