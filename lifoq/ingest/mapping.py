"""The places in a message at which a task's type, id, payload and times stand."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Final

import jmespath
from jmespath.exceptions import JMESPathError

from lifoq.basics import jsontext
from lifoq.errors import InvalidInput
from lifoq.ingest.message import Message
from lifoq.items.put_terms import Count, Door, Seconds, SecondsOrMoment, Term, Text, Trace, at
from lifoq.items.task import NewTask
from lifoq.items.traceparent import if_one

SEEN: Final = "body, attributes and message"
"""The names that an expression can read."""


@dataclass(frozen=True, kw_only=True)
class IngestMapping:
    """The places in a message at which the terms of its task stand: JMESPath expressions over
    ``{"body": …, "attributes": {…}, "message": {"id": …}}``.

    A constant stands in quotes of its own. A term that is not found is left out, but for the type,
    which a task must have.

    Raises:
        InvalidInput: A field is no expression.

    Examples:
        >>> from lifoq.ingest.mapping import IngestMapping
        >>> mapping = IngestMapping(task_type="'order.created'", task_id="body.order.id")
    """

    task_type: str = 'attributes.taskType || attributes."detail-type"'
    """The type of the task."""
    payload: str = "body"
    """The payload that the handler gets."""
    task_id: str = "attributes.taskId"
    """The task's id; if nothing is found, the message's own."""
    key: str = "attributes.taskKey"
    """The person or thing that the task is for."""
    deadline: str = "attributes.deadline"
    """The deadline: seconds, or a time with a zone such as 2026-01-31T12:00:00Z."""
    delay: str = "attributes.delay"
    """The delay, in seconds."""
    head_start: str = "attributes.headStart"
    """The head start, in seconds."""
    max_attempts: str = "attributes.maxAttempts"
    """The number of attempts."""
    timeout: str = "attributes.timeout"
    """The time of one attempt, in seconds."""
    weight: str = "attributes.weight"
    """The units that the task weighs."""
    traceparent: str = "attributes.traceparent"
    """The trace. A text that is no W3C traceparent counts as none."""
    if_exists: str = "'keep'"
    """The fate of a task that has the id already: ``'keep'`` or ``'replace'``."""

    def __post_init__(self) -> None:
        for name, expression in asdict(self).items():
            jsontext.encode(expression, f"mapping.{name}")
            try:
                jmespath.compile(expression)
            except (JMESPathError, TypeError, AttributeError) as error:
                problem = f"is no JMESPath expression ({str(error).splitlines()[0]})"
                raise InvalidInput(f"mapping.{name}", expression, problem) from error

    @classmethod
    def decode(cls, text: str) -> "IngestMapping":
        """Return the mapping, of the text that the deployment wrote."""
        return cls(**jsontext.decode(text))

    @property
    def may_replace(self) -> bool:
        """True if a message can change a task that is there."""
        return self.if_exists != IngestMapping.if_exists

    def encode(self) -> str:
        """Compact JSON, without what has its default."""
        told = {
            one.name: value
            for one in fields(self)
            if (value := getattr(self, one.name)) != one.default
        }
        return jsontext.encode(told, "mapping")

    def new_task(self, message: Message) -> NewTask:
        """Return the task of a message. Raises InvalidInput, with the expression, where the message
        does not have what it asks for."""
        document = message.document()
        found = {name: self._found(name, document) for name in asdict(self)}
        if not isinstance(found["task_type"], str):
            raise self._refused("task_type", found["task_type"], "which is no task type")
        terms = {term.name: self._value(term, found[term.name]) for term in at(Door.MESSAGE)}
        return NewTask(**{**terms, "task_id": terms["task_id"] or message.id})

    def _value(self, term: Term, found: Any) -> Any:
        """Return what a message says of a term, as the library takes it. What no rule here makes
        of it, the put refuses."""
        match term.rule:
            case Text():
                return self._name(term.name, found)
            case SecondsOrMoment():
                return self._deadline(found)
            case Seconds():
                return self._number(term.name, found, float, "which are no seconds")
            case Count():
                return self._number(term.name, found, int, "which is no whole number")
            case Trace():
                return if_one(found)
        return term.default if found is None else found

    def _found(self, name: str, document: Mapping[str, Any]) -> Any:
        try:
            return jmespath.search(getattr(self, name), document)
        except (JMESPathError, TypeError, ValueError, RecursionError) as error:
            raise self._refused(name, None, f"since it cannot be applied ({error})") from error

    def _name(self, name: str, found: Any) -> str | None:
        """Numbers are as good as text for who is who."""
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if found is not None and not isinstance(found, str):
            raise self._refused(name, found, "which is no name")
        return found

    def _deadline(self, found: Any) -> float | datetime | None:
        if not isinstance(found, str):
            return found  # type: ignore[no-any-return]  # the put refuses what is no number
        with suppress(ValueError):
            return float(found)
        try:
            return datetime.fromisoformat(found)
        except ValueError:
            problem = "which is neither seconds nor a time such as 2026-01-31T12:00:00Z"
            raise self._refused("deadline", found, problem) from None

    def _number(self, name: str, found: Any, read: Callable[[str], Any], problem: str) -> Any:
        """Attributes of some services are always text."""
        try:
            return read(found) if isinstance(found, str) else found
        except ValueError:
            raise self._refused(name, found, problem) from None

    def _refused(self, name: str, found: Any, problem: str) -> InvalidInput:
        expression = getattr(self, name)
        return InvalidInput(
            name, found, f"is what {expression} finds in the message, {problem}; it sees {SEEN}"
        )
