"""The queue's metrics: names, units, meanings. Functions emit them; alarms, dashboard and documents
speak of them."""

from enum import StrEnum
from typing import Final, Self

NAMESPACE: Final = "lifoq"
DIMENSION: Final = "service"
"""The dimension that tells the metrics of one queue from another's; Powertools calls it so."""


OF_TYPE: Final = "task_type"
"""The second dimension of what is measured by task type."""


def service(queue_name: str) -> str:
    """The dimension's value for a queue."""
    return f"lifoq-{queue_name}"


class Unit(StrEnum):
    """CloudWatch's names."""

    COUNT = "Count"
    SECONDS = "Seconds"


class Metric(StrEnum):
    """A metric; its value is the name that CloudWatch knows.

    Those of an event are summed up; those of a moment (``gauge``) are the sweep's, once each time.
    """

    unit: Unit
    meaning: str
    gauge: bool

    def __new__(
        cls,
        name: str,
        meaning: str,
        unit: Unit = Unit.COUNT,
        gauge: bool = False,  # noqa: FBT001, FBT002
    ) -> Self:
        metric = str.__new__(cls, name)
        metric._value_ = name
        metric.unit = unit
        metric.meaning = meaning
        metric.gauge = gauge
        return metric

    @property
    def is_silent_at_zero(self) -> bool:
        """True if a value of 0 says no more than no value, so that it need not be sent: CloudWatch
        bills a metric by the hours in which it is. A duration counts, also if it is 0."""
        return self.gauge or self.unit is Unit.COUNT

    TASKS_CREATED = "TasksCreated", "tasks that the generator or the ingest function put"
    MESSAGES_REFUSED = (
        "MessagesRefused",
        "messages that the ingest function put into the dead letters, since they make no task",
    )
    TASKS_UNCONFIRMED = (
        "TasksUnconfirmed",
        "tasks that the generator put, without knowing whether they were stored",
    )
    TASKS_CLAIMED = "TasksClaimed", "attempts that began"
    TASKS_SUCCEEDED = "TasksSucceeded", "attempts that ended in SUCCESS"
    TASKS_FAILED = (
        "TasksFailed",
        "tasks that went to FAILURE: out of attempts, refused by their code, or damaged",
    )
    TASKS_RETRIED = "TasksRetried", "attempts after which another will follow"
    TASKS_TIMED_OUT = "TasksTimedOut", "attempts that took longer than their timeout"
    TASKS_UNSETTLED = (
        "TasksUnsettled",
        "attempts whose outcome could not be written; their lease runs out, and they run again",
    )
    TASKS_PROMOTED = "TasksPromoted", "delayed tasks and retries that fell due"
    TASKS_SHED = (
        "TasksShed",
        "tasks that waited until TTL or the sweep deleted them, or a put of their id began anew",
    )
    LEASES_LOST = "LeasesLost", "attempts that found their lease gone"
    LEASES_EXPIRED = "LeasesExpired", "tasks that the sweep took from a worker that had vanished"
    TAIL_CALLS = "TailCalls", "runs that ended with tasks left, and called the next"
    KICKS = "Kicks", "messages that wake the processor"

    WAIT = (
        "WaitSeconds",
        "first claim − enqueued, of tasks at their first claim",
        Unit.SECONDS,
    )
    SERVICE = "ServiceSeconds", "settled − claimed, of attempts that succeeded", Unit.SECONDS

    CONCURRENCY_FOUND = (
        "ConcurrencyFound",
        "tasks at a time that a worker found for a type with adaptive concurrency",
    )

    TASKS_PENDING = "TasksPending", "tasks that could be claimed", Unit.COUNT, True
    TASKS_DELAYED = "TasksDelayed", "tasks that wait for their due time", Unit.COUNT, True
    TASKS_TAKEN = "TasksTaken", "tasks that a worker holds", Unit.COUNT, True
    TASKS_OPEN = (
        "TasksOpen",
        "tasks of the types of long workers that could be claimed, or that a worker holds",
        Unit.COUNT,
        True,
    )
    TASKS_OF_UNKNOWN_TYPES = (
        "TasksOfUnknownTypes",
        "tasks that could be claimed, if a worker had their type",
        Unit.COUNT,
        True,
    )
    TASKS_IN_FAILURE = "TasksInFailure", "failed tasks that wait for a redrive", Unit.COUNT, True
    TASKS_EXPIRED_PRESENT = (
        "TasksExpiredPresent",
        "tasks past their deadline that TTL has not deleted yet",
        Unit.COUNT,
        True,
    )
    STALLED = (
        "Stalled",
        "1 where tasks wait and no claim was seen for five minutes, or longer with a rate limit",
        Unit.COUNT,
        True,
    )
    NEWEST_WAITING_AGE = (
        "NewestWaitingAgeSeconds",
        "age of the newest task that could be claimed; 0 where there is none",
        Unit.SECONDS,
        True,
    )
    OLDEST_WAITING_AGE = (
        "OldestWaitingAgeSeconds",
        "age of the oldest task that could be claimed; 0 where there is none",
        Unit.SECONDS,
        True,
    )
