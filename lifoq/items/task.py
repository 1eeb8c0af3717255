"""A task: as the producer asks for it, as it stands in the table, and how it failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.basics.numbers import LONGEST
from lifoq.errors import DamagedTask, InvalidInput
from lifoq.items.packed import Large, unpack
from lifoq.items.put_terms import CARRIED, PREVIEWED, RULES, SHOWN, Rule, Term, Text, is_name
from lifoq.items.schema import (
    ATTRIBUTE_TYPES,
    IMPOSSIBLE,
    LARGE_DELAY,
    MAX_LARGE_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_TYPE_BYTES,
    OWN_PREFIX,
    WAITING,
    Attribute,
    Preview,
    Status,
)
from lifoq.items.task_error import TaskError

if TYPE_CHECKING:
    from lifoq.items.attempt_history import History  # not where no attempt has failed

_PLACES: Final = (*CARRIED, *PREVIEWED)
_PREVIEW: Final = tuple(place for _, _, place in PREVIEWED)
Duration = float | timedelta
"""Seconds, or a timedelta."""
IfExists = Literal["keep", "replace"]


@dataclass(frozen=True, kw_only=True)
class NewTask:
    """A task to be put, for ``Queue.put_many``, ``Queue.transaction_item`` and follow-up tasks. Its
    terms are those of ``Queue.put``.

    Examples:
        >>> from lifoq import NewTask
        >>> new = NewTask(task_type="device.check", payload={"device": "d-17"}, deadline=30)
        >>> len(queue.put_many([new, new]))
        2
    """

    task_type: str
    """The type of the task: which handler runs it."""
    payload: Any = None
    """The payload that the handler gets."""
    task_id: str | None = None
    """An id of your own: to put it again is safe, and returns the task that is there."""
    key: str | None = None
    """The person or thing that the task is for, such as a customer or a device."""
    if_exists: IfExists = "keep"
    """The rule for an id in use: keep that task, or let the newest put replace it."""
    deadline: Duration | datetime | None = None
    """When the task is shed, if it still waits. At most the queue's deadline."""
    delay: Duration | None = None
    """The time until the task enters the queue."""
    due_at: datetime | None = None
    """When the task enters the queue."""
    head_start: Duration | None = None
    """A priority: the task stands where it would if it had come so much later. At most its
    deadline."""
    max_attempts: int | None = None
    """The number of attempts that the task has, in place of its type's own number."""
    timeout: Duration | None = None
    """The time that one attempt may take, in place of its type's own time."""
    weight: int | None = None
    """The units that the task weighs, such as tokens: limits in units count them."""
    task_token: str | None = None
    """The token of a Step Functions state that waits for the task's end."""
    traceparent: str | None = None
    """The trace that the task belongs to, as the W3C writes it."""

    def within(self, trace: str | None) -> "NewTask":
        """Return this task, put into a trace unless it is in one already.

        Args:
            trace: A W3C traceparent; None leaves the task as it is.
        """
        if trace is None or self.traceparent is not None:
            return self
        return replace(self, traceparent=trace)


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """A new task that has passed every check at the door; times in epoch microseconds."""

    task_id: str | None
    task_type: str
    payload: str
    due_at: int | None
    deadline: int | None
    """Microseconds after it enters the queue; None: the queue's own."""
    replaces: bool
    head_start: int
    """Microseconds."""
    carried: Mapping[Attribute, Any]
    """Attributes that keep terms as they were given; durations in microseconds."""


def accept(
    task: NewTask,
    *,
    now: int,
    longest_deadline: int,
    task_tokens: bool = False,
    large_payloads: bool = False,
) -> Accepted:
    """Check a new task; InvalidInput names the field that is refused, the value and the remedy.
    ``large_payloads``: whether the queue has a bucket for what no item holds."""
    if not isinstance(task, NewTask):
        raise InvalidInput("task", task, "is no NewTask; give NewTask(task_type=…, payload=…)")
    _check_id(task)
    RULES["task_type"].kept("task_type", task.task_type)
    payload = jsontext.encode(task.payload, "payload")
    if task.task_token is not None:
        _check_token(task, answered=task_tokens)
    due_at = _due_at(task, now)
    soon = due_at is None or due_at - now <= microseconds(LARGE_DELAY)
    _check_size(payload, large_payloads=large_payloads, soon=soon)
    deadline = _deadline(task.deadline, enters=due_at or now, longest=longest_deadline)
    carried = _carried(task)
    preview = carried and {name: carried.pop(name) for name in _PREVIEW if name in carried}
    head_start = 0
    if preview:
        carried[Attribute.PREVIEW] = preview
        head_start = preview.get(Preview.HEAD_START, 0)
        if head_start > (most := deadline or longest_deadline):
            # What has waited for so long is before nobody who comes now.
            problem = f"is longer than the task's deadline of {most / 1e6:g} s; shorten it"
            raise InvalidInput("head_start", task.head_start, problem)
    return Accepted(
        task_id=task.task_id,
        task_type=task.task_type,
        payload=payload,
        due_at=due_at,
        deadline=deadline,
        replaces=task.if_exists == "replace",
        head_start=head_start,
        carried=carried,
    )


def _kept(task: NewTask, name: str) -> Any:
    """Check a term that is given, and return it as items keep it."""
    return RULES[name].kept(name, getattr(task, name))


def _carried(task: NewTask) -> dict[Any, Any]:
    """Check the terms that the item keeps, and return them by the attribute or the field of
    ``preview`` that does. A duration of 0 is left out."""
    given = vars(task)
    return {
        place: kept
        for name, rule, place in _PLACES
        if (value := given[name]) is not None and (kept := rule.kept(name, value))
    }


def _check_size(payload: str, *, large_payloads: bool, soon: bool) -> None:
    """``soon``: whether it enters the queue while the bucket would still hold it."""
    size = jsontext.size(payload)
    limit = MAX_LARGE_BYTES if large_payloads and soon else MAX_PAYLOAD_BYTES
    if size <= limit:
        return
    why, remedy = "", "put it in S3 and send its key"
    if not large_payloads:
        why = " (DynamoDB's items end at 400 KB)"
        remedy = f"deploy the queue with large_payloads and connect by its name, or {remedy}"
    elif not soon:
        why = f" where a task is delayed by more than {LARGE_DELAY / 86_400:g} days"
    problem = f"is {size:,} bytes of JSON, the limit is {limit:,}{why}; {remedy}"
    raise InvalidInput("payload", payload, problem)


def _check_id(task: NewTask) -> None:
    if task.task_id is not None:
        _kept(task, "task_id")
        if task.task_id.startswith(OWN_PREFIX):
            problem = f"begins with {OWN_PREFIX!r}, as the queue's own ids do; use another"
            raise InvalidInput("task_id", task.task_id, problem)
    if task.if_exists != "keep" and _kept(task, "if_exists") and task.task_id is None:
        problem = "says which put of a task_id counts; give a task_id of your own"
        raise InvalidInput("if_exists", task.if_exists, problem)


def _check_token(task: NewTask, *, answered: bool) -> None:
    token = task.task_token
    if task.if_exists == "replace":
        problem = "asks for the end of a put that a newer one may replace: leave if_exists out"
        raise InvalidInput("task_token", token, problem)
    if not answered:
        raise InvalidInput(
            "task_token",
            token,
            "would never be answered: deploy the queue with events=TaskEvents(step_functions=True)",
        )


def _due_at(task: NewTask, now: int) -> int | None:
    if task.delay is not None and task.due_at is not None:
        raise InvalidInput("delay", task.delay, "stands beside due_at; give one of the two")
    if task.due_at is not None:
        due = _kept(task, "due_at")
        if due > now + microseconds(LONGEST):
            raise InvalidInput("due_at", task.due_at, "is more than ten years ahead")
        return due if due > now else None
    delay = 0 if task.delay is None else _kept(task, "delay")
    return now + delay if delay else None


def _deadline(deadline: Duration | datetime | None, *, enters: int, longest: int) -> int | None:
    if deadline is None:
        return None
    length: int = RULES["deadline"].kept("deadline", deadline)
    if isinstance(deadline, datetime):
        length -= enters
    if length <= 0:
        raise InvalidInput(
            "deadline", deadline, "is not after the task enters the queue; it would never run"
        )
    if length > longest:
        raise InvalidInput(
            "deadline",
            deadline,
            f"is {length / 1e6:g} s after the task enters the queue, the queue's deadline is "
            f"{longest / 1e6:g} s; shorten it, or raise the deadline of the queue",
        )
    return length


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as it stands in the table. None stands for an attribute that the item does not have.

    Examples:
        >>> task = queue.put("device.check", {"device": "d-17"}, task_id="d-17", deadline=30)
        >>> task.task_id, task.status, task.attempts
        ('d-17', <Status.PENDING: 'PENDING'>, 0)
        >>> (task.expires_at - task.enqueued_at) / 1e6  # seconds
        30.0
    """

    task_id: str
    """The id: the producer's own, or one that was drawn."""
    status: Status
    """The task's place on the way from put to end."""
    task_type: str
    """The type: which handler runs it."""
    payload: Any
    """The payload. Payload, checkpoint and result are ``Large`` if they lie in the queue's bucket
    and were not read from there."""
    attempts: int
    """The number of claims so far."""
    enqueued_at: int
    """When the task entered the queue, in epoch microseconds; a delayed one: when it will."""
    task_updated: int
    """When the item was last written, in epoch microseconds."""
    expires_at: int
    """The deadline, in epoch microseconds: a task that still waits then is shed."""
    ttl: int
    """When DynamoDB may delete the item, in epoch seconds."""
    task_created: int | None = None
    """The place in the order, in epoch microseconds: the highest is next. Its head start is
    added."""
    first_taken_at: int | None = None
    """When the task was first claimed, in epoch microseconds."""
    taken_at: int | None = None
    """When it was last claimed, in epoch microseconds."""
    finished_at: int | None = None
    """When it ended, in epoch microseconds."""
    claim_id: str | None = None
    """The id of its latest claim."""
    lease_expires: int | None = None
    """When the lease of its claim ends, in epoch microseconds."""
    leases_lost: int = 0
    """The number of claims in a row, up to the latest that ended, whose lease was lost."""
    due_at: int | None = None
    """When a DELAYED task enters the queue, in epoch microseconds."""
    key: str | None = None
    """The person or thing that the task is for, as the producer said."""
    checkpoint: Any = None
    """The latest checkpoint."""
    result: Any = None
    """The value that its handler returned."""
    error: TaskError | None = None
    """The error of its latest attempt that failed."""
    task_token: str | None = None
    """The token of a Step Functions state that waits for its end."""
    traceparent: str | None = None
    """The trace that the task belongs to, as the W3C writes it."""
    history: "History" = ()
    """The latest ten attempts that did not bring the task to its end, the newest last."""
    put_at: int | None = None
    """When the put was made that the task stands for, in epoch microseconds; None if that was no
    replacing one."""
    replaced: int = 0
    """The number of puts that a newer one has replaced while they waited."""
    parked: "Task | None" = None
    """The newer put that waits for the end of this one's attempt, as the task that it then is."""
    cancel_asked: int | None = None
    """When somebody cancelled the task while it was TAKEN, in epoch microseconds."""
    head_start: int = 0
    """The head start, in microseconds: by so much ``task_created`` lies after the time when the
    task entered the queue."""
    max_attempts: int | None = None
    """The number of attempts in place of its type's own number."""
    timeout: int | None = None
    """The time of one attempt in place of its type's own time, in microseconds."""
    weight: int | None = None
    """The units that the task weighs, as its put said."""
    payload_bytes: int = 0
    """The size of the payload's JSON in the item, in bytes; 0 if it lies in the queue's bucket."""
    preview: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The attribute ``preview``, with fields that a newer release may have written; empty where the
    item has none."""

    @property
    def terms(self) -> "dict[Term, Any]":
        """The terms of its put that the task carries and that people see; durations in seconds."""
        return {term: term.rule.given(kept) for term in SHOWN if (kept := getattr(self, term.name))}

    @property
    def alone(self) -> bool:
        """True if the task shares no call of a handler with others: it has failed in one."""
        return bool(self.preview.get(Preview.ALONE))

    @property
    def waiting(self) -> bool:
        """True if the task is PENDING or DELAYED."""
        return self.status in WAITING

    def expired(self, now: int) -> bool:
        """Return True if the deadline has passed.

        Args:
            now: The present time in epoch microseconds.

        Examples:
            >>> task = queue.put("device.check", deadline=30)
            >>> task.expired(queue.store.now())
            False
        """
        return self.expires_at <= now

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "Task":
        """Read an item of the table.

        Args:
            item: The attributes of the item.

        Raises:
            DamagedTask: The item is no task; the reason names the attribute.
        """
        reader = _Reader(item)
        payload = reader.packed(Attribute.PAYLOAD)
        status, due_at = reader.status(), reader.optional_number(Attribute.DUE_AT)
        reader.optional_number(Attribute.WANTED_UNTIL)  # conditions read it: of a wrong type, never
        return cls(
            task_id=reader.task_id,
            status=status,
            task_type=reader.name(Attribute.TASK_TYPE, MAX_TYPE_BYTES),
            payload=reader.decoded(Attribute.PAYLOAD, payload),
            attempts=reader.number(Attribute.ATTEMPTS),
            enqueued_at=reader.number(Attribute.ENQUEUED_AT),
            task_updated=reader.number(Attribute.TASK_UPDATED),
            expires_at=reader.number(Attribute.EXPIRES_AT),
            ttl=reader.number(Attribute.TTL),
            task_created=reader.optional_number(Attribute.TASK_CREATED),
            first_taken_at=reader.optional_number(Attribute.FIRST_TAKEN_AT),
            taken_at=reader.optional_number(Attribute.TAKEN_AT),
            finished_at=reader.optional_number(Attribute.FINISHED_AT),
            claim_id=reader.optional_text(Attribute.CLAIM_ID),
            lease_expires=reader.optional_number(Attribute.LEASE_EXPIRES),
            leases_lost=reader.optional_number(Attribute.LEASES_LOST) or 0,
            due_at=due_at if status is Status.DELAYED else None,
            checkpoint=reader.optional_json(Attribute.CHECKPOINT),
            result=reader.optional_json(Attribute.RESULT),
            error=reader.error(),
            history=reader.history(),
            put_at=reader.optional_number(Attribute.PUT_AT),
            replaced=reader.optional_number(Attribute.REPLACED) or 0,
            parked=reader.parked(),
            cancel_asked=reader.optional_number(Attribute.CANCEL_ASKED),
            payload_bytes=0 if isinstance(payload, Large) else jsontext.size(payload),
            preview=reader.preview(),
            **reader.carried(),
        )


Present = TypeVar("Present", str, int)


class _Reader:
    """Reads attributes of an item, and says what is wrong with one."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        """Read an item's attributes. Raises DamagedTask where one of ours is NULL: for conditions,
        it is there."""
        self._item = item
        self.task_id = str(item.get(Attribute.TASK_ID))
        if None in item.values():
            for name in ATTRIBUTE_TYPES:
                if name in item and item[name] is None:
                    raise self._wrong_type(name, None)

    def status(self) -> Status:
        text = self.text(Attribute.TASK_STATUS)
        try:
            return Status(text)
        except ValueError:
            raise self._damaged(f"taskStatus is {text!r}, which is no status") from None

    def text(self, name: Attribute) -> str:
        return self._required(name, self.optional_text(name))

    def optional_text(self, name: Attribute) -> str | None:
        value = self._item.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong_type(name, value)
        return value

    def name(self, name: Attribute, limit: int) -> str:
        return self._of_size(name, self.text(name), limit)

    def _of_size(self, name: str, value: str, limit: int) -> str:
        if not is_name(value, limit):
            found = jsontext.size(value)
            raise self._damaged(f"{name} has {found:,} bytes, but must have 1 to {limit:,}")
        return value

    def number(self, name: Attribute) -> int:
        return self._required(name, self.optional_number(name))

    def optional_number(self, name: Attribute) -> int | None:
        value = self._item.get(name)
        return None if value is None else self._number(name, value)

    def _number(self, name: str, value: object, *, least: int = 0) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong_type(name, value)
        if not least <= value < IMPOSSIBLE:
            raise self._damaged(f"{name} is {value}, which is no such number")
        return value

    def packed(self, name: Attribute) -> str | Large:
        """Text that may be compressed, or lie elsewhere."""
        found = self._optional_packed(name)
        return found if isinstance(found, Large) else self._required(name, found)

    def optional_json(self, name: Attribute) -> Any:
        text = self._optional_packed(name)
        return None if text is None else self.decoded(name, text)

    def _optional_packed(self, name: Attribute) -> str | Large | None:
        value = self._item.get(name)
        if not isinstance(value, bytes | dict):
            return self.optional_text(name)
        try:
            if isinstance(value, bytes):
                return unpack(value)
            return Large.decode(value)
        except ValueError as error:
            raise self._damaged(f"{name} cannot be unpacked ({error})") from error

    def error(self) -> TaskError | None:
        text = self.optional_text(Attribute.ERROR)
        if text is None:
            return None
        try:
            return TaskError.from_json(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"error is not lifoq's JSON ({error})") from error

    def carried(self) -> dict[str, Any]:
        """Return the terms that the item has, by name."""
        found = {
            name: self._term(rule, attribute, self._item[attribute])
            for name, rule, attribute in CARRIED
            if attribute in self._item
        }
        preview = self.preview()
        for name, rule, place in PREVIEWED:
            if place in preview:
                found[name] = self._term(rule, place, preview[place])
        return found

    def preview(self) -> dict[str, Any]:
        preview = self._item.get(Attribute.PREVIEW)
        if preview is None:
            return {}
        if not isinstance(preview, dict):
            raise self._wrong_type(Attribute.PREVIEW, preview)
        if Preview.ALONE in preview:
            self._number(Preview.ALONE, preview[Preview.ALONE])
        return preview

    def _term(self, rule: Rule, place: str, value: object) -> Any:
        if rule.attribute_type == "N":
            return self._number(place, value, least=rule.least)
        if not isinstance(value, str):
            raise self._wrong_type(place, value)
        if isinstance(rule, Text):
            return self._of_size(place, value, rule.most)
        return rule.read(value)

    def history(self) -> "History":
        entries = self._item.get(Attribute.HISTORY)
        if entries is None:
            return ()
        if not isinstance(entries, list):
            raise self._wrong_type(Attribute.HISTORY, entries)
        from lifoq.items import attempt_history  # noqa: PLC0415 - a cold start less to import

        try:
            return attempt_history.read(entries)
        except ValueError as error:
            raise self._damaged(f"history is not lifoq's ({error})") from error

    def parked(self) -> Task | None:
        put, at = self._item.get(Attribute.PARKED), self.optional_number(Attribute.PARKED_AT)
        if put is None and at is None:
            return None
        if not isinstance(put, dict):
            raise self._wrong_type(Attribute.PARKED, put)
        if at != put.get(Attribute.PUT_AT):
            raise self._damaged("parked and parkedAt do not belong together")
        if Attribute.PARKED in put:
            raise self._damaged("parked: another put is parked in it")
        try:
            task = Task.from_item({**put, Attribute.TASK_ID: self.task_id})
        except DamagedTask as damage:
            raise self._damaged(f"parked: {damage.reason}") from damage
        place = {Status.PENDING: task.task_created, Status.DELAYED: task.due_at}
        if place.get(task.status) is None:
            raise self._damaged(f"parked: it is {task.status}, and no index would show it")
        return task

    def decoded(self, name: Attribute, text: str | Large) -> Any:
        if isinstance(text, Large):
            return text
        try:
            return jsontext.decode(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"{name} is not JSON ({error})") from error

    def _required(self, name: Attribute, value: Present | None) -> Present:
        if value is None:
            raise self._damaged(f"{name} is missing")
        return value

    def _wrong_type(self, name: str, value: object) -> DamagedTask:
        found = "NULL" if value is None else type(value).__name__
        # All fields of ``preview`` are numbers.
        wanted = ATTRIBUTE_TYPES[Attribute(name)] if name in ATTRIBUTE_TYPES else "N"
        return self._damaged(f"{name} is {found}, but must be of type {wanted}")

    def _damaged(self, reason: str) -> DamagedTask:
        return DamagedTask(self.task_id, reason)
