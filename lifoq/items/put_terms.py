"""The terms of a put, each said once: name, rule, default, sentence, and the doors that have it.

Every door is made from ``TERMS``, or held against it by ``tests/contract/test_terms.py``, which
puts a task by each of them. Rules that compare a term with another, or with the queue's settings,
are in ``lifoq.items.task.accept``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Literal, TypeGuard

from lifoq.basics import jsontext
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.basics.numbers import LONGEST, MOST, check_count
from lifoq.basics.times import spoken
from lifoq.errors import InvalidInput
from lifoq.items.schema import (
    MAX_ID_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_TASK_KEY_BYTES,
    MAX_TOKEN_BYTES,
    MAX_TYPE_BYTES,
    Attribute,
    Preview,
)


def check_name(field: str, value: Any, limit: int) -> None:
    """Raise InvalidInput where the value is not text of 1 to ``limit`` bytes."""
    if isinstance(value, str) and value.isascii() and 0 < len(value) <= limit:
        return  # as most names are; of others, the bytes are counted
    if not isinstance(value, str) or not value:
        raise InvalidInput(field, value, "must be a string of at least one character")
    if not jsontext.is_text(value):
        raise InvalidInput(field, value, "holds half a surrogate pair; send valid Unicode")
    if (length := jsontext.size(value)) > limit:
        raise InvalidInput(
            field, value, f"is {length:,} bytes long, the limit is {limit:,}; shorten or hash it"
        )


def is_name(value: object, limit: int) -> TypeGuard[str]:
    """Return True for text of 1 to ``limit`` bytes, as ``check_name`` wants it."""
    return isinstance(value, str) and 0 < jsontext.size(value) <= limit


class Rule:
    """The type of a term's value, and what it must be like.

    ``kept`` checks a value that somebody gave, and returns it as the item keeps it. ``given`` is
    the way back. ``words`` tell people, and pages, what is accepted.
    """

    words: str
    attribute_type: Literal["S", "N"] = "S"
    """The type of the attribute that keeps the value."""
    least: int = 0
    """The smallest number that the item can keep."""

    def kept(self, _field: str, value: Any) -> Any:
        """Return the value as the item keeps it. Raises InvalidInput."""
        return value

    def read(self, text: str) -> str | None:
        """Return what the item's text stands for."""
        return text

    def given(self, kept: Any) -> Any:
        """Return a kept value in the unit in which it is put."""
        return kept

    def spoken(self, given: Any) -> str:
        """Return a value as people read it."""
        return str(given)


class Json(Rule):
    """Any JSON value."""

    words = f"any JSON value of at most {MAX_PAYLOAD_BYTES:,} bytes; more with `large_payloads`"


class Text(Rule):
    """Text of 1 to ``most`` bytes of UTF-8."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.words = f"text of 1 to {most:,} bytes"

    def kept(self, field: str, value: Any) -> str:
        """Check the length, and return the text."""
        check_name(field, value, self.most)
        return value  # type: ignore[no-any-return]  # it is text


class Trace(Rule):
    """A W3C traceparent."""

    words = "a W3C traceparent"

    def kept(self, _field: str, value: Any) -> str:
        """Check the traceparent, and return it."""
        from lifoq.items import traceparent  # noqa: PLC0415 - a cold start less to import

        traceparent.check(value)
        return str(value)

    def read(self, text: str) -> str | None:
        """Return None for text that is no traceparent: no task is lost for its trace."""
        from lifoq.items import traceparent  # noqa: PLC0415 - a cold start less to import

        return traceparent.if_one(text)


class Choice(Rule):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.choices = words
        self._told = " or ".join(repr(word) for word in words)
        self.words = " or ".join(f"`{word}`" for word in words)

    def kept(self, field: str, value: Any) -> str:
        """Check that it is one of the words, and return it."""
        if value not in self.choices:
            raise InvalidInput(field, value, f"must be {self._told}")
        return str(value)


class Count(Rule):
    """A whole number from 1 on."""

    words = f"a whole number from 1 to {MOST:,}"
    attribute_type = "N"
    least = 1

    def kept(self, field: str, value: Any) -> int:
        """Check the number, and return it."""
        check_count(field, value)
        return int(value)


class Seconds(Rule):
    """Seconds, or a timedelta; the item keeps microseconds."""

    attribute_type = "N"

    def __init__(self, *, below: str, zero: bool = True) -> None:
        """``zero``: True if 0 is accepted. ``below``: what is said of a value that is too small."""
        self.zero = zero
        self.least = 0 if zero else 1
        self._below = below
        self.words = "seconds, or a `timedelta`" + ("" if zero else ", above 0")

    def kept(self, field: str, value: Any) -> int:
        """Check the duration, and return it in microseconds."""
        micros = duration(field, value)
        if micros < self.least:
            raise InvalidInput(field, value, self._below)
        return micros

    def given(self, kept: int) -> float:
        """Return microseconds in seconds."""
        return kept / MICROSECONDS

    def spoken(self, given: float) -> str:
        """Return seconds in words such as ``2 min``."""
        return spoken(given)


class Moment(Rule):
    """A time with a zone."""

    words = "a `datetime` with a zone"

    def kept(self, field: str, value: Any) -> int:
        """Check that the time has a zone, and return it in epoch microseconds."""
        if not isinstance(value, datetime) or value.utcoffset() is None:
            raise InvalidInput(field, value, "must be a datetime with a time zone")
        return microseconds(value.timestamp())


class SecondsOrMoment(Rule):
    """Seconds, a timedelta, or a time with a zone."""

    words = "seconds, a `timedelta`, or a `datetime` with a zone"

    def kept(self, field: str, value: Any) -> int:
        """Return microseconds: a duration's, or since the epoch."""
        return (
            Moment().kept(field, value) if isinstance(value, datetime) else duration(field, value)
        )

    def spoken(self, given: Any) -> str:
        """Return seconds in words such as ``2 min``, and a time as it is."""
        return str(given) if isinstance(given, datetime) else spoken(given)


def duration(field: str, value: Any) -> int:
    """Microseconds of seconds or a timedelta; InvalidInput where it is neither."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidInput(field, value, "must be a number of seconds or a timedelta")
    if not -LONGEST <= seconds <= LONGEST:  # an integer may be too large for a float
        raise InvalidInput(field, value, "must be finite, and ten years at the most, in seconds")
    return microseconds(seconds)


class Door(StrEnum):
    """A way by which tasks are put."""

    LIBRARY = "library"
    """``put``, and ``NewTask`` for ``put_many`` and ``transaction_item``."""
    FOLLOW_UP = "follow-up"
    """``NewTask`` in ``Done(follow_ups=…)``."""
    HTTP = "HTTP"
    MESSAGE = "message"
    """A message of another service, by an ``IngestMapping``."""
    COMMAND = "command"
    CONSOLE = "console"
    RECURRING = "recurring task"
    """A ``RecurringTask``, or a schedule that a client makes: it says when a task comes, and gives
    it its id."""


EVERYWHERE: Final = frozenset(Door)
BY_HAND: Final = frozenset({Door.LIBRARY, Door.FOLLOW_UP, Door.COMMAND, Door.CONSOLE})
NOT_RECURRING: Final = EVERYWHERE - {Door.RECURRING}


@dataclass(frozen=True, kw_only=True, eq=False)
class Term:
    """A term of a put."""

    name: str
    """The name in the library, task code and JSON lines."""
    rule: Rule
    sentence: str
    """The meaning, for everybody who puts tasks."""
    limit: str = ""
    """Further rules for the value."""
    more: str = ""
    """Further sentences, for the page of the terms."""
    default: Any = None
    by_default: str = "none"
    """The default, as the page of the terms says it."""
    doors: frozenset[Door] = EVERYWHERE
    names: Mapping[Door, str] = field(default_factory=dict)
    """Names at doors that do not follow from its name."""
    attribute: Attribute | Preview | None = None
    """The attribute that keeps the value in the item; None if the item has what follows from it."""
    item_note: str = ""
    """A note for producers that write items themselves."""
    shown: bool = True
    """True if people see it wherever they look at a task that carries it."""

    @property
    def label(self) -> str:
        """The name, as people read it."""
        return self.name.replace("_", " ")

    @property
    def meaning(self) -> str:
        """The sentence, and what its value must be like."""
        return f"{self.sentence} {self.limit}".rstrip()

    def at(self, door: Door) -> str:
        """Return its name at a door: of a message, the JMESPath expression that finds it."""
        first, *others = self.name.split("_")
        camel = first + "".join(other.capitalize() for other in others)
        usual = {
            Door.HTTP: camel,
            Door.MESSAGE: f"attributes.{camel}",
            Door.COMMAND: f"--{'-'.join([first, *others])}",
            Door.RECURRING: camel,
        }
        return self.names.get(door) or usual.get(door, self.name)


TERMS: Final = (
    Term(
        name="task_type",
        rule=Text(MAX_TYPE_BYTES),
        sentence="The type of the task: which handler runs it.",
        by_default="must be given",
        names={
            Door.HTTP: "type",
            Door.MESSAGE: 'attributes.taskType || attributes."detail-type"',
            Door.COMMAND: "TYPE",
        },
    ),
    Term(
        name="payload",
        rule=Json(),
        sentence="The payload that the handler gets.",
        by_default="`null`",
        names={Door.MESSAGE: "body", Door.COMMAND: "PAYLOAD"},
    ),
    Term(
        name="task_id",
        rule=Text(MAX_ID_BYTES),
        sentence="An id of your own: to put it again is safe, and returns the task that is there.",
        more="It is free again once its task was shed, or its retention is over.",
        by_default="a random one; of a message, the message's own",
        names={Door.HTTP: "id", Door.COMMAND: "--id"},
    ),
    Term(
        name="key",
        rule=Text(MAX_TASK_KEY_BYTES),
        sentence="The person or thing that the task is for, such as a customer or a device.",
        more="Task types can limit how many of a key run at a time, and fair shares go by it. "
        "Task code finds it as `context.key`.",
        attribute=Attribute.TASK_KEY,
        names={Door.MESSAGE: "attributes.taskKey"},
    ),
    Term(
        name="if_exists",
        rule=Choice("keep", "replace"),
        sentence="The rule for an id in use: keep that task, or let the newest put replace it.",
        more="A recurring task or a schedule that replaces has its name as its id: the newest run "
        "counts.",
        default="keep",
        by_default="`keep`",
        doors=EVERYWHERE - {Door.FOLLOW_UP},
        names={Door.MESSAGE: "'keep'"},
    ),
    Term(
        name="deadline",
        rule=SecondsOrMoment(),
        sentence="When the task is shed, if it still waits.",
        limit="At most the queue's deadline.",
        more="Seconds count from when the task enters the queue.",
        by_default="the queue's",
    ),
    Term(
        name="delay",
        rule=Seconds(below="is negative; give seconds from now, or leave it out"),
        sentence="The time until the task enters the queue.",
        more="Within a second of it while a processor runs, else within a minute.",
        doors=NOT_RECURRING,
    ),
    Term(
        name="due_at",
        rule=Moment(),
        sentence="When the task enters the queue.",
        more="At once, where the time has passed; else as for `delay`. Give one of the two.",
        doors=BY_HAND,
    ),
    Term(
        name="head_start",
        rule=Seconds(below="is negative; to let a task start later, give delay or due_at"),
        sentence="A priority: the task stands where it would if it had come so much later.",
        limit="At most its deadline.",
        more="[How much?](how-to/head-start.md)",
        attribute=Preview.HEAD_START,
        item_note="It is added to `taskCreated`, to nothing else, and left out where it is 0.",
    ),
    Term(
        name="max_attempts",
        rule=Count(),
        sentence="The number of attempts that the task has, in place of its type's own number.",
        more="A lost lease counts as one. [Retries](how-to/retries.md).",
        by_default="the type's, or the queue's",
        attribute=Attribute.MAX_ATTEMPTS,
    ),
    Term(
        name="timeout",
        rule=Seconds(zero=False, below="must be above 0: it is the time of one attempt"),
        sentence="The time that one attempt may take, in place of its type's own time.",
        more="At most the worker's `task_timeout`: a longer time counts as that.",
        by_default="the type's, or the queue's",
        attribute=Preview.TIMEOUT,
    ),
    Term(
        name="weight",
        rule=Count(),
        sentence="The units that the task weighs, such as tokens: limits in units count them.",
        more="They count where its type has `weight`. [Weights](how-to/weights.md).",
        by_default="1",
        attribute=Preview.WEIGHT,
    ),
    Term(
        name="task_token",
        rule=Text(MAX_TOKEN_BYTES),
        sentence="The token of a Step Functions state that waits for the task's end.",
        more="[Answer Step Functions](task-events.md#answer-step-functions).",
        doors=BY_HAND,
        attribute=Attribute.TASK_TOKEN,
        item_note='Only where the settings have `"taskTokens": true`; elsewhere nobody answers it. '
        "A redrive takes it away.",
        shown=False,  # whoever has it can answer in the task's place
    ),
    Term(
        name="traceparent",
        rule=Trace(),
        sentence="The trace that the task belongs to, as the W3C writes it.",
        more="Task code finds it as `context.traceparent`, and follow-up tasks inherit it. "
        "[Traces](how-to/opentelemetry.md#what-carries-the-trace).",
        by_default="with OpenTelemetry, the put's span; else none; of a follow-up, its task's; "
        "over HTTP, the header's",
        doors=NOT_RECURRING,
        attribute=Attribute.TRACEPARENT,
        item_note="What is no W3C traceparent counts as none.",
    ),
)
"""All terms of a put, in the order in which pages and helps tell them."""

RULES: Final = {term.name: term.rule for term in TERMS}
CARRIED: Final = tuple(
    (term.name, term.rule, where)
    for term in TERMS
    if isinstance(where := term.attribute, Attribute)
)
"""Terms that an attribute keeps as they were given, with their rules."""
PREVIEWED: Final = tuple(
    (term.name, term.rule, where.value)
    for term in TERMS
    if isinstance(where := term.attribute, Preview)
)
"""Terms that a field of the attribute ``preview`` keeps: they are known before a task is
claimed."""
SHOWN: Final = tuple(term for term in TERMS if term.attribute is not None and term.shown)
"""Terms that people see wherever they look at a task."""


def at(door: Door) -> Sequence[Term]:
    """Return the terms that a door has."""
    return [term for term in TERMS if door in term.doors]
