"""The log lines of one task, from CloudWatch Logs (https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html)."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.host import microseconds
from lifoq.basics.shown import harmless
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account
from lifoq.worker.handlers.task_id_in_logs import FIELD

MOST_LINES: Final = 500
"""Lines that are returned, at the most."""
MOST_CALLS: Final = 20
"""Calls for one task, at the most: each looks through 1 MB of log, or less."""
BEFORE: Final = 2.0
"""Seconds before an attempt from which on its lines are looked for: clocks differ."""
AFTER: Final = 10.0
"""Seconds after an attempt until which its lines are looked for: some are late."""
_LONGEST_PHRASE: Final = 200
"""Characters of an id that a filter has, at the most."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/@#+-]+")
"""Text that is the same in an id, in JSON, and in a filter pattern."""
_OWN_PLACE: Final = re.compile(
    rf"level|message|timestamp|location|service|name|requestId|cold_start|function_.*|xray_.*|{FIELD}"
    "|exception|exception_name|stack_trace|sampling_rate"
)
"""Fields that stand at a place of their own, or say nothing about the task."""


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line of a log, with its time."""

    at: int
    """Epoch microseconds."""
    level: str
    """The level of the line; empty if it has none."""
    text: str
    traceback: str | None = None


@dataclass(frozen=True, kw_only=True)
class FoundLines:
    """The log lines that were found of a task."""

    lines: tuple[LogLine, ...]
    """The oldest first."""
    complete: bool
    """False if the search ended before it had looked through all."""


class TaskLogs:
    """Finds the log lines of tasks of one queue."""

    def __init__(self, account: Account, *, groups: Sequence[str]) -> None:
        """``groups``: the log groups that task code writes to."""
        self._account = account
        self._groups = groups

    @classmethod
    def connect(cls, name: str, **client_arguments: Any) -> "TaskLogs":
        """Return those of the queue of this name. ``client_arguments`` go to ``boto3.client``.

        Raises InvalidInput, QueueMisconfigured, StoreUnavailable.
        """
        deployed = deployment.read(name, **client_arguments)
        return cls(Account(**client_arguments), groups=deployed.log_groups)

    def of(self, task: Task, *, now: int) -> FoundLines:
        """Return the lines that carry the task's id, of the attempts that its item tells of.
        ``now``: epoch microseconds. Where there is too much to look through, it looks at the latest
        attempts.

        Raises QueueMisconfigured, StoreUnavailable.
        """
        found: list[LogLine] = []
        calls = MOST_CALLS
        for start, end in reversed(_windows(task, now)):
            for group in self._groups:
                token = None
                while calls > 0 and len(found) < MOST_LINES:
                    calls -= 1
                    answer = self._search(group, task.task_id, start, end, token)
                    found += _lines(answer["events"], task.task_id)
                    token = answer.get("nextToken")
                    if token is None:
                        break
                else:
                    return _told(found, complete=False)
        return _told(found, complete=True)

    def _search(
        self, group: str, task_id: str, start: int, end: int, token: str | None
    ) -> dict[str, Any]:
        more = {} if token is None else {"nextToken": token}
        return self._account.call(
            "logs",
            "filter_log_events",
            logGroupName=group,
            startTime=start // 1_000,
            endTime=end // 1_000,
            filterPattern=_pattern(task_id),
            **more,
        )


def _told(found: list[LogLine], *, complete: bool) -> FoundLines:
    lines = sorted(found, key=lambda line: line.at)
    return FoundLines(lines=tuple(lines[-MOST_LINES:]), complete=complete)


def _windows(task: Task, now: int) -> list[tuple[int, int]]:
    """Return the stretches in which the task was at work, the oldest first."""
    worked = [(past.taken_at or past.ended_at, past.ended_at) for past in task.history]
    if task.taken_at is not None and task.taken_at not in [start for start, _ in worked]:
        end = now if task.status is Status.TAKEN else task.finished_at or task.task_updated
        worked.append((task.taken_at, end))
    windows: list[tuple[int, int]] = []
    for began, ended in sorted(worked):
        start, end = began - microseconds(BEFORE), ended + microseconds(AFTER)
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(end, windows[-1][1])
        else:
            windows.append((start, end))
    return windows


def _pattern(task_id: str) -> str:
    """Return the filter for lines that may be the task's: the longest part of its id that needs no
    quoting, or whatever has a task's id."""
    parts = _PLAIN.findall(task_id)
    phrase = max(parts, key=len)[:_LONGEST_PHRASE] if parts else FIELD
    return f'"{phrase}"'


def _lines(events: Sequence[dict[str, Any]], task_id: str) -> Iterator[LogLine]:
    for event in events:
        line = _line(str(event["message"]), task_id, at=int(event["timestamp"]) * 1_000)
        if line is not None:
            yield line


def _line(text: str, task_id: str, *, at: int) -> LogLine | None:
    """Return a line of the log, if it is the task's or its batch's: JSON that carries its id, as in
    Lambda, or text that ends with it, as ``lifoq work`` writes it."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        said_by_task = _without_ids(text.rstrip(), harmless(task_id, lines=True))
        return None if said_by_task is None else LogLine(at=at, level="", text=said_by_task)
    if not _has_id(document.get(FIELD), task_id) or "_aws" in document:
        return None
    more = [
        f"{name}={value}"
        for name, value in document.items()
        if value is not None and not _OWN_PLACE.fullmatch(name)
    ]
    message = document.get("message", "")
    said = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    traceback = document.get("exception")
    return LogLine(
        at=at,
        level=str(document.get("level", "")),
        text=" ".join([said, *more]),
        traceback=traceback if isinstance(traceback, str) else None,
    )


def _has_id(carried: Any, task_id: str) -> bool:
    """Return True if a record carries the task's id, alone or among those of its batch."""
    return isinstance(carried, str) and f",{task_id}," in f",{carried},"


def _without_ids(line: str, task_id: str) -> str | None:
    """Return the line without the ids in brackets at its end; None if the task's is not there."""
    alone = f" ({task_id})"
    if line.endswith(alone):  # also an id that itself has a bracket
        return line.removesuffix(alone)
    said, _, carried = line.rpartition(" (")
    return said if line.endswith(")") and _has_id(carried[:-1], task_id) else None
