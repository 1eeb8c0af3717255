"""Environment variables of a function: their names, and the code for both ends.

Whoever deploys writes settings with ``of_queue`` and ``of_worker``; the function reads them back
with ``Environment``. Settings travel as JSON, field by field, so a new field needs nothing here.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from lifoq.errors import BadEnvironment
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
    """The bucket for large payloads; not set where they have to fit the item."""
    TASKS = "LIFOQ_TASKS"
    """The module of task code: importing it registers the task types."""
    PROCESS_TOPIC = "LIFOQ_PROCESS_TOPIC_ARN"
    """The topic of kicks for the processor."""
    TRIGGER_TOPIC = "LIFOQ_TRIGGER_TOPIC_ARN"
    """The topic to which the processor publishes its tail call."""
    TARGETS = "LIFOQ_TARGETS"
    """Task types that are configured, as JSON; not set where there is none."""
    EVENTS_TOPIC = "LIFOQ_EVENTS_TOPIC_ARN"
    """The topic to which the ends of tasks are published; not set where nobody asked for it."""
    DEAD_LETTERS = "LIFOQ_DEAD_LETTERS_URL"
    """The SQS queue in which messages are put aside that no task can be made of."""
    LONG_TASKS = "LIFOQ_LONG_TASKS"
    """Groups of long workers, as ``lifoq.health.open_tasks_of_worker_groups`` writes them; or not
    set."""
    DETAILED_METRICS = "LIFOQ_DETAILED_METRICS"
    """Set where metrics are sent that are 0, too."""
    INGEST_MAPPING = "LIFOQ_INGEST_MAPPING"
    """The places in a message at which the terms of its task stand, as JSON."""

    LIFETIMES = "LIFOQ_LIFETIMES"
    """The fields of ``Lifetimes``, as JSON."""
    WORKER = "LIFOQ_WORKER"
    """The fields of ``WorkerSettings``, as JSON."""
    TASK_TOKENS = "LIFOQ_TASK_TOKENS"
    """Set where Step Functions are answered."""
    DEPLOYED = "LIFOQ_DEPLOYED"
    """When a function that reads the table's stream was created, in ISO 8601; no update of it moves
    that."""


def of_queue(table_name: str, lifetimes: Lifetimes) -> dict[str, str]:
    """Return the variables of whoever works on the table: its name, and how long tasks live in
    it."""
    return {Variable.TABLE.value: table_name, Variable.LIFETIMES.value: _encoded(lifetimes)}


def of_worker(settings: "WorkerSettings") -> dict[str, str]:
    """Return the variables of the processor and the sweep, which end attempts, or judge how fast
    they should begin."""
    return {Variable.WORKER.value: _encoded(settings)}


@dataclass(frozen=True)
class Environment:
    """Reads variables on demand, so that a function needs only its own.

    Raises BadEnvironment where one is missing or makes no sense.
    """

    variables: Mapping[str, str]

    @classmethod
    def of_this_process(cls) -> "Environment":
        """Return the environment of the process that runs."""
        return cls(os.environ)

    @property
    def table_name(self) -> str:
        return self._text(Variable.TABLE)

    @property
    def bucket(self) -> str | None:
        """The bucket for large payloads; None where they have to fit the item."""
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
        """True if the environment has a worker's settings."""
        return Variable.WORKER in self.variables

    @property
    def task_tokens(self) -> bool:
        """True if Step Functions are answered."""
        return Variable.TASK_TOKENS in self.variables

    @property
    def detailed_metrics(self) -> bool:
        """True if metrics are sent that are 0, too."""
        return Variable.DETAILED_METRICS in self.variables

    @property
    def deployed(self) -> datetime:
        """When this function was created."""
        text = self._text(Variable.DEPLOYED)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise BadEnvironment(Variable.DEPLOYED, text, "must be a time in ISO 8601") from None

    @property
    def queue_name(self) -> str:
        return self._text(Variable.QUEUE)

    def lifetimes(self) -> Lifetimes:
        """Return the queue's lifetimes, as the deployment set them."""
        return self._built(Variable.LIFETIMES, Lifetimes)

    def worker(self) -> "WorkerSettings":
        """Return the processor's settings, as the deployment set them."""
        from lifoq.worker.handlers.backoff import Backoff  # noqa: PLC0415 - a cold start less to import
        from lifoq.worker.settings import WorkerSettings  # noqa: PLC0415

        def built(**terms: Any) -> WorkerSettings:
            backoff = _known(Backoff, terms.pop("backoff", {}))
            elsewhere = frozenset(terms.pop("types_elsewhere", ()))
            return WorkerSettings(**terms, backoff=Backoff(**backoff), types_elsewhere=elsewhere)

        return self._built(Variable.WORKER, WorkerSettings, built)

    def _built(
        self, variable: Variable, settings: type[T], build: Callable[..., T] | None = None
    ) -> T:
        """Build the settings; an error of theirs is told by the variable's name."""
        text = self._text(variable)
        try:
            return (build or settings)(**_known(settings, json.loads(text)))
        except (ValueError, TypeError, AttributeError) as error:
            problem = f"does not hold {settings.__name__}: {error}"
            raise BadEnvironment(variable, text, problem) from error

    def _text(self, variable: Variable) -> str:
        try:
            return self.variables[variable]
        except KeyError:
            raise BadEnvironment(variable, None, "is not set") from None


def _encoded(settings: Any) -> str:
    return json.dumps(_document(settings), separators=(",", ":"))


def _document(settings: Any) -> dict[str, Any]:
    """Return the settings by field. A setting that is off, and is off by default, is left out."""
    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    off = {one.name for one in fields(settings) if not one.default and not values[one.name]}
    return {name: _plain(value) for name, value in values.items() if name not in off}


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return _document(value) if hasattr(value, "__dataclass_fields__") else value


def _known(settings: type, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without fields that a later release may have added."""
    names = {one.name for one in fields(settings)}
    return {name: value for name, value in document.items() if name in names}
