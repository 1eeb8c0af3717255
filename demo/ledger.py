"""What the table showed, scan by scan: an account of every task, kept apart from the report.

A task lives for at least its deadline, and the table is looked at every second or so: none can
come and go unseen. So the ledger knows what was shed though DynamoDB deletes it, and the report's
numbers can be held against it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lifoq.items.schema import OWN_PREFIX, TERMINAL, WAITING, Attribute, Status

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MICROS = 1_000_000
RATE_SECONDS = 5
"""Rates are averages over this long."""

COLUMNS = (
    Attribute.TASK_ID,
    Attribute.TASK_STATUS,
    Attribute.ENQUEUED_AT,
    Attribute.FIRST_TAKEN_AT,
    Attribute.FINISHED_AT,
    Attribute.EXPIRES_AT,
)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as last seen. Times are epoch microseconds."""

    status: Status
    enqueued_at: int
    first_taken_at: int | None
    finished_at: int | None
    expires_at: int

    @classmethod
    def from_item(cls, item: Mapping[str, Mapping[str, Any]]) -> Self:
        """From DynamoDB JSON."""

        def number(name: Attribute) -> int | None:
            return int(item[name]["N"]) if name in item else None

        return cls(
            status=Status(item[Attribute.TASK_STATUS]["S"]),
            enqueued_at=int(item[Attribute.ENQUEUED_AT]["N"]),
            first_taken_at=number(Attribute.FIRST_TAKEN_AT),
            finished_at=number(Attribute.FINISHED_AT),
            expires_at=int(item[Attribute.EXPIRES_AT]["N"]),
        )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Every task that was ever put is in exactly one of these."""

    waiting: int
    taken: int
    succeeded: int
    failed: int
    cancelled: int
    shed: int

    @property
    def created(self) -> int:
        return self.waiting + self.taken + self.succeeded + self.failed + self.cancelled + self.shed


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The queue at one moment. Rates are per second, ages in seconds."""

    counts: Counts
    delayed: int
    """Those of the waiting tasks that are not due yet."""
    arrival_rate: float
    service_rate: float
    shed_rate: float
    newest_waiting: float | None
    oldest_waiting: float | None


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """What happened between two moments. Waits are in seconds, from put to first claim."""

    seconds: float
    arrivals: int
    succeeded: int
    first_claims: int
    shed: int
    waits: tuple[float, ...]

    @property
    def load(self) -> float:
        """ρ: how many tasks came in for each one that was done."""
        return self.arrivals / self.succeeded if self.succeeded else float("inf")

    @property
    def shedding_rate(self) -> float:
        left = self.shed + self.first_claims
        return self.shed / left if left else 0.0


class Ledger:
    """Fed with complete scans, in the order of time."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._present: frozenset[str] = frozenset()

    def observe(self, items: Iterable[Mapping[str, Mapping[str, Any]]]) -> None:
        """Take in a complete scan of the table, with the items that are the queue's own."""
        by_id = {item[Attribute.TASK_ID]["S"]: item for item in items}
        seen = {i: Task.from_item(one) for i, one in by_id.items() if not i.startswith(OWN_PREFIX)}
        self._tasks |= seen
        self._present = frozenset(seen)

    def snapshot(self, now: int) -> Snapshot:
        states = Counter[Status | None]()
        enqueued: list[int] = []
        for task_id, task in self._tasks.items():
            status = None if self._is_shed(task_id, now) else task.status
            states[status] += 1
            if status in WAITING:
                enqueued.append(task.enqueued_at)
        recently = self.between(now - RATE_SECONDS * MICROS, now)
        return Snapshot(
            counts=Counts(
                waiting=states[Status.PENDING] + states[Status.DELAYED],
                taken=states[Status.TAKEN],
                succeeded=states[Status.SUCCESS],
                failed=states[Status.FAILURE],
                cancelled=states[Status.CANCELLED],
                shed=states[None],
            ),
            delayed=states[Status.DELAYED],
            arrival_rate=recently.arrivals / RATE_SECONDS,
            service_rate=recently.succeeded / RATE_SECONDS,
            shed_rate=recently.shed / RATE_SECONDS,
            newest_waiting=(now - max(enqueued)) / MICROS if enqueued else None,
            oldest_waiting=(now - min(enqueued)) / MICROS if enqueued else None,
        )

    def between(self, start: int, end: int) -> Stretch:
        """What happened from ``start`` (inclusive) to ``end`` (exclusive), epoch microseconds."""

        def within(moment: int | None) -> bool:
            return moment is not None and start <= moment < end

        tasks = self._tasks.items()
        claimed = [task for _, task in tasks if within(task.first_taken_at)]
        return Stretch(
            seconds=(end - start) / MICROS,
            arrivals=sum(within(task.enqueued_at) for _, task in tasks),
            succeeded=sum(
                within(task.finished_at) and task.status is Status.SUCCESS for _, task in tasks
            ),
            first_claims=len(claimed),
            shed=sum(
                within(task.expires_at) and self._is_shed(task_id, end) for task_id, task in tasks
            ),
            waits=tuple(
                sorted(
                    (task.first_taken_at - task.enqueued_at) / MICROS
                    for task in claimed
                    if task.first_taken_at is not None
                )
            ),
        )

    def arrivals(self, *, since: int) -> tuple[int, int] | None:
        """When the first and the last task came in since a moment; None: none came."""
        moments = [t.enqueued_at for t in self._tasks.values() if t.enqueued_at >= since]
        return (min(moments), max(moments)) if moments else None

    def _is_shed(self, task_id: str, now: int) -> bool:
        """Whether it left by its deadline. One that is gone was waiting at its end: TTL deletes
        neither a task in flight nor, for days, an outcome."""
        task = self._tasks[task_id]
        if task_id not in self._present:
            return task.status not in TERMINAL
        return task.status in WAITING and task.expires_at <= now


def scan(dynamodb: "DynamoDBClient", table_name: str) -> list[dict[str, Any]]:
    """All items of the table, as DynamoDB JSON, with the ledger's columns."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table_name, ProjectionExpression=",".join(COLUMNS)
    )
    return [dict(item) for page in pages for item in page["Items"]]
