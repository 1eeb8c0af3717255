"""What a function is told as environment variables: their names, and the code for both ends.

Whoever deploys writes settings with ``of_queue`` and ``of_worker``; the function reads them back
with ``Environment``. A field of the settings has its variable here, or it does not arrive.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lifoq.errors import BadEnvironment, InvalidInput
from lifoq.items.lifetimes import Lifetimes

if TYPE_CHECKING:
    from lifoq.worker.settings import WorkerSettings  # not where no task is run

T = TypeVar("T")


class Variable(StrEnum):
    """The name of an environment variable."""

    QUEUE = "LIFOQ_QUEUE"
    """The queue's name, for producers: ``Queue.connect()`` finds the rest by it."""
    TABLE = "LIFOQ_TABLE"
    BUCKET = "LIFOQ_BUCKET"
    """For large payloads; not set where they have to fit the item."""
    TASKS = "LIFOQ_TASKS"
    """The module of task code: importing it registers the task types."""
    PROCESS_TOPIC = "LIFOQ_PROCESS_TOPIC_ARN"
    """Where a kick for the processor is published."""
    TRIGGER_TOPIC = "LIFOQ_TRIGGER_TOPIC_ARN"
    """Where the processor publishes its tail call."""
    TARGETS = "LIFOQ_TARGETS"
    """Task types that are configured, as JSON; not set where there is none."""
    EVENTS_TOPIC = "LIFOQ_EVENTS_TOPIC_ARN"
    """Where the ends of tasks are published; not set where nobody asked for it."""
    DEAD_LETTERS = "LIFOQ_DEAD_LETTERS_URL"
    """Where messages are put aside that no task can be made of."""
    LONG_TASKS = "LIFOQ_LONG_TASKS"
    """Groups of long workers, as ``lifoq.tables.open_tasks`` writes them; or not set."""
    INGEST_MAPPING = "LIFOQ_INGEST_MAPPING"
    """Where in a message the terms of its task stand, as JSON."""

    DEADLINE = "LIFOQ_DEADLINE_SECONDS"
    SUCCESS_RETENTION = "LIFOQ_RETENTION_SUCCESS_SECONDS"
    FAILURE_RETENTION = "LIFOQ_RETENTION_FAILURE_SECONDS"
    SHED_AT_DEADLINE = "LIFOQ_SHED_AT_DEADLINE"
    TASK_TOKENS = "LIFOQ_TASK_TOKENS"
    DEPLOYED = "LIFOQ_DEPLOYED"
    """When the functions were created, in ISO 8601; no update of them moves it."""

    WINDOW = "LIFOQ_WINDOW_SECONDS"
    TASK_TIMEOUT = "LIFOQ_TASK_TIMEOUT_SECONDS"
    LEASE = "LIFOQ_LEASE_SECONDS"
    HEARTBEAT = "LIFOQ_HEARTBEAT_SECONDS"
    IN_FLIGHT = "LIFOQ_IN_FLIGHT"
    PAGE = "LIFOQ_PAGE"
    MAX_ATTEMPTS = "LIFOQ_MAX_ATTEMPTS"
    RATE_LIMIT = "LIFOQ_RATE_LIMIT"
    ADAPTIVE_THRESHOLD = "LIFOQ_ADAPTIVE_THRESHOLD_SECONDS"
    FAIR_SHARE = "LIFOQ_FAIR_SHARE"
    SHARED_LIMITS = "LIFOQ_SHARED_LIMITS"
    TOTAL_IN_FLIGHT = "LIFOQ_TOTAL_IN_FLIGHT"
    TYPES_ELSEWHERE = "LIFOQ_TYPES_ELSEWHERE"
    UNKNOWN_TYPES = "LIFOQ_UNKNOWN_TYPES"
    LINGER = "LIFOQ_LINGER_SECONDS"
    SETTLE_TIME = "LIFOQ_SETTLE_SECONDS"

    BACKOFF_MIN = "LIFOQ_BACKOFF_MIN_SECONDS"
    BACKOFF_MAX = "LIFOQ_BACKOFF_MAX_SECONDS"
    BACKOFF_GROWTH = "LIFOQ_BACKOFF_GROWTH"
    BACKOFF_IMMEDIATE = "LIFOQ_BACKOFF_IMMEDIATE"
    BACKOFF_PRE = "LIFOQ_BACKOFF_PRE"
    BACKOFF_POST = "LIFOQ_BACKOFF_POST"
    BACKOFF_JITTER = "LIFOQ_BACKOFF_JITTER"


def of_queue(table_name: str, lifetimes: Lifetimes) -> dict[str, str]:
    """For whoever works on the table: its name, and how long tasks live in it."""
    return {Variable.TABLE.value: table_name, **_encoded(lifetimes, _LIFETIMES)}


def of_worker(settings: "WorkerSettings") -> dict[str, str]:
    """For those that end attempts, or judge how fast they should begin: processor and sweep."""
    return {**_encoded(settings, _WORKER), **_encoded(settings.backoff, _BACKOFF)}


@dataclass(frozen=True)
class Environment:
    """Reads variables on demand, so that a function needs only its own.

    Raises BadEnvironment where one is missing or makes no sense.
    """

    variables: Mapping[str, str]

    @classmethod
    def of_this_process(cls) -> "Environment":
        return cls(os.environ)

    @property
    def table_name(self) -> str:
        return self._text(Variable.TABLE)

    @property
    def bucket(self) -> str | None:
        """For large payloads."""
        return self.variables.get(Variable.BUCKET)

    @property
    def tasks(self) -> str:
        """The module of task code."""
        return self._text(Variable.TASKS)

    @property
    def targets(self) -> str | None:
        """Task types that are configured, as ``lifoq.targets`` writes them."""
        return self.variables.get(Variable.TARGETS)

    @property
    def process_topic_arn(self) -> str:
        return self._text(Variable.PROCESS_TOPIC)

    @property
    def trigger_topic_arn(self) -> str:
        return self._text(Variable.TRIGGER_TOPIC)

    @property
    def long_tasks(self) -> str | None:
        return self.variables.get(Variable.LONG_TASKS)

    @property
    def events_topic_arn(self) -> str | None:
        return self.variables.get(Variable.EVENTS_TOPIC)

    @property
    def dead_letters_url(self) -> str:
        return self._text(Variable.DEAD_LETTERS)

    @property
    def ingest_mapping(self) -> str:
        return self._text(Variable.INGEST_MAPPING)

    @property
    def has_worker(self) -> bool:
        """Whether it says how a worker works."""
        return Variable.LEASE in self.variables

    @property
    def task_tokens(self) -> bool:
        """Whether Step Functions are answered."""
        return bool(self._decoded({"on": (Variable.TASK_TOKENS, _OPTION)}).get("on"))

    @property
    def deployed(self) -> datetime:
        """When the functions were created."""
        text = self._text(Variable.DEPLOYED)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise BadEnvironment(Variable.DEPLOYED, text, "must be a time in ISO 8601") from None

    @property
    def queue_name(self) -> str:
        return self._text(Variable.QUEUE)

    def lifetimes(self) -> Lifetimes:
        return Lifetimes(**self._decoded(_LIFETIMES))

    def worker(self) -> "WorkerSettings":
        from lifoq.worker.backoff import Backoff  # noqa: PLC0415 - a cold start less to import
        from lifoq.worker.settings import WorkerSettings  # noqa: PLC0415

        backoff = self._built(Backoff, _BACKOFF)
        return self._built(WorkerSettings, _WORKER, backoff=backoff)

    def _built(self, settings: Callable[..., T], fields: "_Fields", **more: Any) -> T:
        """The settings; what they refuse is told by the variable's name."""
        try:
            return settings(**self._decoded(fields), **more)
        except InvalidInput as refused:
            variable, _ = fields[refused.field]
            raise BadEnvironment(
                variable, self.variables.get(variable), refused.problem
            ) from refused

    def _decoded(self, fields: "_Fields") -> dict[str, Any]:
        return {
            field: kind.decode(variable, self._text(variable))
            for field, (variable, kind) in fields.items()
            if kind.required or variable in self.variables
        }

    def _text(self, variable: Variable) -> str:
        try:
            return self.variables[variable]
        except KeyError:
            raise BadEnvironment(variable, None, "is not set") from None


def _number(value: float) -> str:
    """Decimal, without an exponent and without a fraction that says nothing."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """How a value becomes text, and back."""

    expected: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    required: bool = True
    unset: Any = None
    """The value that no variable stands for."""

    def decode(self, variable: Variable, text: str) -> Any:
        try:
            return self.read(text)
        except (ValueError, KeyError):
            raise BadEnvironment(variable, text, f"must be {self.expected}") from None


_NUMBER: Final = _Kind(expected="a number", write=_number, read=_finite)
_OPTIONAL_NUMBER: Final = _Kind(
    expected="a number, or not set", write=_number, read=_finite, required=False
)
_WHOLE: Final = _Kind(expected="a whole number", write=str, read=int)
_OPTIONAL_WHOLE: Final = _Kind(
    expected="a whole number, or not set", write=str, read=int, required=False
)
_TEXT: Final = _Kind(expected="text", write=str, read=str)
_SWITCH: Final = _Kind(
    expected="true or false",
    write=lambda value: "true" if value else "false",
    read={"true": True, "false": False}.__getitem__,
)
_OPTION: Final = replace(_SWITCH, required=False, unset=False)

_NAMES: Final = _Kind(
    expected='a JSON list of names, such as ["video.encode"], or not set',
    write=lambda names: json.dumps(sorted(names)),
    read=lambda text: frozenset(json.loads(text)),
    required=False,
    unset=frozenset(),
)

_Fields = Mapping[str, tuple[Variable, _Kind]]

_LIFETIMES: Final[_Fields] = {
    "deadline": (Variable.DEADLINE, _NUMBER),
    "success_retention": (Variable.SUCCESS_RETENTION, _NUMBER),
    "failure_retention": (Variable.FAILURE_RETENTION, _NUMBER),
    "shed_at_deadline": (Variable.SHED_AT_DEADLINE, _OPTION),
    "task_tokens": (Variable.TASK_TOKENS, _OPTION),
}
_WORKER: Final[_Fields] = {
    "window": (Variable.WINDOW, _NUMBER),
    "task_timeout": (Variable.TASK_TIMEOUT, _NUMBER),
    "lease": (Variable.LEASE, _NUMBER),
    "heartbeat": (Variable.HEARTBEAT, _NUMBER),
    "in_flight": (Variable.IN_FLIGHT, _WHOLE),
    "page": (Variable.PAGE, _WHOLE),
    "max_attempts": (Variable.MAX_ATTEMPTS, _WHOLE),
    "rate_limit": (Variable.RATE_LIMIT, _OPTIONAL_NUMBER),
    "adaptive_threshold": (Variable.ADAPTIVE_THRESHOLD, _OPTIONAL_NUMBER),
    "fair_share": (Variable.FAIR_SHARE, _OPTION),
    "shared_limits": (Variable.SHARED_LIMITS, _OPTION),
    "total_in_flight": (Variable.TOTAL_IN_FLIGHT, _OPTIONAL_WHOLE),
    "types_elsewhere": (Variable.TYPES_ELSEWHERE, _NAMES),
    "unknown_types": (Variable.UNKNOWN_TYPES, replace(_TEXT, required=False, unset="wait")),
    "linger": (Variable.LINGER, _NUMBER),
    "settle_time": (Variable.SETTLE_TIME, _NUMBER),
}
_BACKOFF: Final[_Fields] = {
    "min_seconds": (Variable.BACKOFF_MIN, _NUMBER),
    "max_seconds": (Variable.BACKOFF_MAX, _NUMBER),
    "growth": (Variable.BACKOFF_GROWTH, _TEXT),
    "immediate": (Variable.BACKOFF_IMMEDIATE, _WHOLE),
    "pre_backoff": (Variable.BACKOFF_PRE, _WHOLE),
    "post_backoff": (Variable.BACKOFF_POST, _WHOLE),
    "jitter": (Variable.BACKOFF_JITTER, _SWITCH),
}


def _encoded(settings: Any, fields: _Fields) -> dict[str, str]:
    values = {field: getattr(settings, field) for field in fields}
    return {
        variable.value: kind.write(values[field])
        for field, (variable, kind) in fields.items()
        if values[field] != kind.unset
    }
