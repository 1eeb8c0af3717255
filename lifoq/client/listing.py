"""Tasks of a status, a page at a time, by what an operator looks for."""

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.host import microseconds
from lifoq.basics.jsontext import is_text
from lifoq.basics.numbers import seconds
from lifoq.errors import DamagedTask, InvalidInput
from lifoq.items.change import is_number
from lifoq.items.put_terms import check_name
from lifoq.items.schema import (
    MAX_ID_BYTES,
    MAX_TASK_KEY_BYTES,
    MAX_TYPE_BYTES,
    Attribute,
    Preview,
    Status,
)
from lifoq.items.task import Duration, Task
from lifoq.store.reads import Reads
from lifoq.store.table_protocol import Cursor

LISTED: Final = (Status.PENDING, Status.DELAYED, Status.TAKEN, Status.FAILURE)
"""Statuses that an index shows."""
LARGEST: Final = 10**38
"""DynamoDB's numbers have 38 digits."""
_ROWS: Final = 100
"""Rows of one query."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The tasks to search for: those of a status, and of them those that match all that is given.

    Raises:
        InvalidInput: The status is in no index, a name is too long, or an age is none.

    Examples:
        >>> from lifoq import Status, Wanted
        >>> wanted = Wanted(status=Status.FAILURE, error_type="TimeoutError", newer_than=3600)
    """

    status: Status
    """The tasks' status: PENDING, DELAYED, TAKEN or FAILURE. Tasks of the other statuses are in no
    index."""
    task_type: str | None = None
    """The tasks' type."""
    key: str | None = None
    """The tasks' key."""
    error_type: str | None = None
    """The type of their error, such as ``TimeoutError``."""
    text: str | None = None
    """A part of their id, their key, or their error's type or message."""
    error_shape: str | None = None
    """The shape of their error's message (see ``lifoq.client.failure_kind.shape``)."""
    older_than: Duration | None = None
    """The least age, in seconds or as a timedelta, since the task entered the queue. A task that
    waits with a head start is found once it is older by that, too. Not for DELAYED tasks, which
    have no age yet."""
    newer_than: Duration | None = None
    """The most age, in seconds or as a timedelta. Not for DELAYED tasks."""
    any_case: bool = False
    """True if capital and small letters are the same: for people who look, never for a change."""

    def __post_init__(self) -> None:
        if self.status not in LISTED:
            problem = f"is none of {', '.join(LISTED)}; what is in no index, get by its id"
            raise InvalidInput("status", str(self.status), problem)
        for field_, name, longest in (
            ("task_type", self.task_type, MAX_TYPE_BYTES),
            ("key", self.key, MAX_TASK_KEY_BYTES),
            ("error_type", self.error_type, MAX_TYPE_BYTES),
            ("text", self.text, MAX_ID_BYTES),
        ):
            if name is not None:
                check_name(field_, name, longest)
        for field_, age in (("older_than", self.older_than), ("newer_than", self.newer_than)):
            if age is not None:
                seconds(field_, age, zero=True)
                if self.status is Status.DELAYED:
                    problem = "asks for an age, and a DELAYED task has none yet; leave it out"
                    raise InvalidInput(field_, age, problem)

    def may_match(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row of the index may be of a wanted task. Rows of delayed tasks tell
        their ids alone."""
        named = ((Attribute.TASK_TYPE, self.task_type), (Attribute.TASK_KEY, self.key))
        return self.status is Status.DELAYED or all(
            self._same(name, row.get(attribute)) for attribute, name in named
        )

    def matches(self, task: Task | DamagedTask) -> bool:
        """Return True if the task's item is wanted. The index may be a moment behind it."""
        if isinstance(task, DamagedTask):
            named = (self.task_type, self.key, self.error_type) == (None, None, None)
            return named and self._has_text(task.task_id)
        return (
            task.status is self.status
            and self._same(self.task_type, task.task_type)
            and self._same(self.key, task.key)
            and self._same(self.error_type, task.error and task.error.type)
            and (self.error_shape is None or self._has_shape(task))
            and self.finds_text(task)
        )

    def finds_text(self, task: Task) -> bool:
        """Return True if the task has the text, or if no text is searched for."""
        error = task.error and (task.error.type, task.error.message)
        return self._has_text(task.task_id, task.key or "", *(error or ()))

    def _has_text(self, *places: str) -> bool:
        if self.text is None:
            return True
        if self.any_case:
            return any(self.text.casefold() in place.casefold() for place in places)
        return any(self.text in place for place in places)

    def _has_shape(self, task: Task) -> bool:
        from lifoq.client.failure_kind import Kind  # noqa: PLC0415 - not where tasks are only put

        return Kind.of(task).shape == self.error_shape

    def _same(self, wanted: str | None, found: object) -> bool:
        if wanted is None or not isinstance(found, str):
            return wanted is None
        return found == wanted or (self.any_case and found.casefold() == wanted.casefold())


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A page of the tasks that were searched for, newest first (DELAYED: latest due first).

    Examples:
        >>> page = queue.search(Wanted(status=Status.PENDING))
        >>> page.tasks, page.damaged, page.next
        ([], [], None)
    """

    found: Mapping[str, Task | DamagedTask]
    """Tasks and damaged items, by their places in the queue."""
    next: str | None = None
    """The ``start`` of the next page, also if this one is empty; None after the last page."""
    read: int = 0
    """The number of rows of the index that were read for the page."""

    @property
    def tasks(self) -> list[Task]:
        """The tasks of the page."""
        return [task for task in self.found.values() if isinstance(task, Task)]

    @property
    def damaged(self) -> list[DamagedTask]:
        """Items that are no task: somebody wrote to the table past the library."""
        return [task for task in self.found.values() if isinstance(task, DamagedTask)]


def look(store: Reads, wanted: Wanted, *, limit: int, scan: int, start: str | None) -> Listing:
    """Return at most ``limit`` tasks, and read at most ``scan`` rows of the index, rounded up to
    pages."""
    now = store.now()
    newest, oldest = (
        None if age is None else now - microseconds(seconds("age", age, zero=True))
        for age in (wanted.older_than, wanted.newer_than)
    )
    cursor = None if start is None else _cursor(start, wanted.status)
    found: dict[str, Task | DamagedTask] = {}
    read = 0
    while True:
        page = store.rows(
            wanted.status,
            live=True,
            first=oldest,
            last=newest,
            limit=_ROWS,
            start=cursor,
        )
        read += len(page.rows)
        scan -= _ROWS
        rows = {
            str(row[Attribute.TASK_ID]): row
            for row in page.rows
            if wanted.may_match(row) and (oldest is None or _since(row, wanted.status) >= oldest)
        }
        for task_id, task in store.read_each(list(rows)).items():
            if wanted.matches(task):
                found[_place(rows[task_id], wanted.status)] = task
            if len(found) == limit:
                return Listing(found=found, next=next(reversed(found)), read=read)
        cursor = page.next
        if cursor is None or scan <= 0:
            following = None if cursor is None else _place(cursor, wanted.status)
            return Listing(found=found, next=following, read=read)


def together(
    pages: Mapping[str, Listing], starts: Mapping[str, str | None], *, limit: int
) -> Listing:
    """One page from those of several cells, which began at ``starts``."""
    # A cell that has read all it may has shown nothing behind the place where it stopped.
    stops = [_decoded(page.next)[0] for page in pages.values() if page.next is not None]
    shown = sorted(
        ((_decoded(place)[0], name, place) for name, page in pages.items() for place in page.found),
        reverse=True,
    )
    shown = [each for each in shown if each[0] >= max(stops, default=0)][:limit]
    follow: dict[str, str | None] = {}
    for name, page in pages.items():
        mine = [place for _, cell, place in shown if cell == name]
        if len(mine) < len(page.found):
            follow[name] = mine[-1] if mine else starts[name]
        elif page.next is not None:
            follow[name] = page.next
    return Listing(
        found={_encoded([cell, place]): pages[cell].found[place] for _, cell, place in shown},
        next=_encoded(follow) if follow else None,
        read=sum(page.read for page in pages.values()),
    )


def starts(text: str, cells: Collection[str]) -> dict[str, str | None]:
    """Return the place from which each cell goes on, for the cells that have more to show. Raises
    InvalidInput."""
    try:
        found = _decoded(text)
        if not (isinstance(found, dict) and found.keys() <= set(cells)):
            raise ValueError("it is no place in these cells")  # noqa: TRY301 - one refusal for all
    except ValueError as error:
        raise _no_place(text) from error
    return found


def _since(row: Mapping[str, Any], status: Status) -> int:
    """A task that failed lies where it would without its head start."""
    preview = row.get(Attribute.PREVIEW)
    said = preview.get(Preview.HEAD_START) if isinstance(preview, dict) else None
    ahead = 0 if status is Status.FAILURE else said
    return int(row[Attribute.TASK_CREATED]) - (int(ahead) if is_number(ahead) else 0)


def _place(row: Mapping[str, Any], status: Status) -> str:
    return _encoded([int(row[_sort_key(status)]), row[Attribute.TASK_ID]])


def _cursor(place: str, status: Status) -> Cursor:
    try:
        number, task_id = _decoded(place)
        is_number = type(number) is int and abs(number) < LARGEST
        if not (is_number and isinstance(task_id, str) and task_id and is_text(task_id)):
            raise ValueError("it is no place")  # noqa: TRY301 - one refusal for all
    except (ValueError, TypeError) as error:
        raise _no_place(place) from error
    return {
        Attribute.TASK_ID: task_id,
        Attribute.TASK_STATUS: status.value,
        _sort_key(status): number,
    }


def _encoded(value: Any) -> str:
    """Return a value as text that goes into a URL."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _decoded(text: str) -> Any:
    """Read a place that was encoded. Raises ValueError where the text is none."""
    try:
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_place(text: str) -> InvalidInput:
    return InvalidInput("start", text, "is no place in this list; give the `next` of a listing")


def _sort_key(status: Status) -> Attribute:
    return Attribute.DUE_AT if status is Status.DELAYED else Attribute.TASK_CREATED
