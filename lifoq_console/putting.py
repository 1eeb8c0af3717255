"""The form by which a task is put: a field for each term of a put."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from lifoq.client.cells import Cells
from lifoq.client.listing import Wanted
from lifoq.client.queue import Queue
from lifoq.errors import InvalidInput
from lifoq.items.packed import Large
from lifoq.items.put_terms import (
    Choice,
    Count,
    Door,
    Json,
    Moment,
    Seconds,
    SecondsOrMoment,
    Term,
    at,
)
from lifoq.items.schema import SMOKE_TYPE, Status
from lifoq.items.task import NewTask, Task
from lifoq_cli import moments
from lifoq_console import words
from lifoq_console.sample import sample

TERMS: Final = at(Door.CONSOLE)
LONGEST: Final = 500_000
"""Characters of a payload that can be edited on a page."""
_LOOKED_AT: Final = 500
"""Rows of a status in which the last payloads of a type are looked for."""
LAST: Final = 5
"""Payloads of a type that are offered."""
_READ: Final[dict[type, Callable[[str], Any]]] = {
    Json: json.loads,
    Count: int,
    Seconds: moments.duration,
    Moment: moments.moment,
    SecondsOrMoment: moments.duration_or_moment,
}
"""The way from a field's text to a value, by the term's rule; each may raise ValueError."""
_PROBLEMS: Final = {
    Json: 'is no JSON: write "text" in quotes, or {"name": 1}',
    Count: "is no whole number",
}


@dataclass(frozen=True)
class Form:
    """The texts of the fields, by the names of the terms. A term that is not given has an empty
    text."""

    texts: Mapping[str, str]

    @classmethod
    def empty(cls, task_type: str = "") -> "Form":
        return cls({"task_type": task_type, "payload": "null"})

    @classmethod
    def like(cls, task: Task) -> "Form":
        """The form of a put like that of a task, under another id. Its deadline counts anew; its
        trace and whom to tell of its end are its own."""
        if isinstance(task.payload, Large) or len(text := words.pretty(task.payload)) > LONGEST:
            problem = f"has a payload of more than {LONGEST:,} characters: put it by lifoq put"
            raise InvalidInput("from", task.task_id, problem)
        own = ("traceparent",)
        terms = {term.name: value for term, value in task.terms.items() if term.name not in own}
        return cls(
            {
                "task_type": task.task_type,
                "payload": text,
                **{name: _written(value) for name, value in terms.items()},
            }
        )

    @classmethod
    def sent(cls, fields: Mapping[str, list[str]]) -> "Form":
        """Return what a browser sent. A field ``NAME.quoted`` is exact; others come as a person
        wrote them, with the ends of lines that browsers make."""
        texts = {}
        for term in TERMS:
            quoted = fields.get(f"{term.name}.quoted")
            texts[term.name] = unquote(quoted[0]) if quoted else fields.get(term.name, [""])[0]
        return cls(texts)

    @property
    def quoted(self) -> list[tuple[str, str]]:
        """The fields, so that a browser sends them back as they are."""
        return [
            (f"{name}.quoted", quote(text, safe="")) for name, text in self.texts.items() if text
        ]

    def text(self, term: Term) -> str:
        return self.texts.get(term.name, "")

    def is_fixed(self, term: Term) -> bool:
        """True for a text of several lines, which a field of one line would change."""
        return not self.text(term).isprintable()

    def new_task(self) -> NewTask:
        """InvalidInput, for what no task could be; the queue checks the rest."""
        given = {term.name: _value(term, text) for term in TERMS if (text := self.text(term))}
        if "task_type" not in given:
            raise InvalidInput("task_type", "", "is missing: say which handler is to run it")
        return NewTask(**given)

    def with_id(self, task_id: str) -> "Form":
        """This form, with an id where it has none: put twice, it is one task."""
        return self if self.texts.get("task_id") else Form({**self.texts, "task_id": task_id})


def _written(value: Any) -> str:
    """Return a term's value as a person would write it; a duration in seconds."""
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value)


def _value(term: Term, text: str) -> Any:
    read = _READ.get(type(term.rule))
    if read is None:
        return text
    try:
        return read(text)
    except RecursionError:
        raise InvalidInput(term.name, text, "is nested too deeply") from None
    except ValueError as error:
        problem = _PROBLEMS.get(type(term.rule), str(error))
        if isinstance(error, json.JSONDecodeError):
            problem = f"{problem} (line {error.lineno}, column {error.colno}: {error.msg})"
        raise InvalidInput(term.name, text, problem) from error


def is_choice(term: Term) -> bool:
    return isinstance(term.rule, Choice)


def home(queue: Queue | Cells, task_id: str) -> Queue:
    """Return the queue that the id belongs to."""
    return queue.home(task_id) if isinstance(queue, Cells) else queue


def last_of(queue: Queue | Cells, task_type: str) -> list[Task]:
    """Return the newest tasks of a type, one for each payload that can be edited on a page: of what
    the index shows, else of a part of the table."""
    found: list[Task] = []
    for status in (Status.PENDING, Status.TAKEN, Status.FAILURE):
        wanted = Wanted(status=status, task_type=task_type)
        found += queue.search(wanted, limit=LAST, scan=_LOOKED_AT).tasks
    if len(found) < LAST and task_type != SMOKE_TYPE:
        found += [task for task in sample(queue).tasks if task.task_type == task_type]
    found.sort(key=lambda task: task.enqueued_at, reverse=True)
    by_payload: dict[str, Task] = {}
    for task in found:
        if (
            not isinstance(task.payload, Large)
            and len(text := words.pretty(task.payload)) <= LONGEST
        ):
            by_payload.setdefault(text, task)
    return list(by_payload.values())[:LAST]
