"""Every write that was applied, before and after: the truth that the rules are about."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from lifoq.items.change import Item
from lifoq.items.schema import TERMINAL, WAITING, Attribute, Status
from tests.simulation.machine import Role


class Violation(BaseException):
    """A rule of the queue was broken. No Exception, so that the queue's own code does not take it
    for an error of a task or of the database."""

    def __init__(self, rule: str, task_id: str | None = None) -> None:
        self.task_id = task_id
        super().__init__(rule if task_id is None else f"task {task_id}: {rule}")


@dataclass(frozen=True, kw_only=True)
class Write:
    """One item's change by one call."""

    time: int
    """When it was applied, by the true clock; epoch microseconds."""
    clock: int
    """The time of the writer's own clock when it sent the call."""
    machine: str
    role: Role
    claim: str | None
    """The claim that the task code works under which sent the call, if task code did."""
    call: int
    """Number of the call; the writes of a transaction share it."""
    before: Item | None
    after: Item | None

    @property
    def task_id(self) -> str:
        return str((self.before or self.after or {})[Attribute.TASK_ID])

    @property
    def was(self) -> Status | None:
        return status_of(self.before)

    @property
    def becomes(self) -> Status | None:
        return status_of(self.after)


def require(write: Write, holds: bool, rule: str) -> None:  # noqa: FBT001  (reads as a sentence)
    if not holds:
        raise Violation(rule, write.task_id)


def status_of(item: Item | None) -> Status | None:
    return None if item is None else Status(item[Attribute.TASK_STATUS])


class History:
    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.of_task: dict[str, list[Write]] = defaultdict(list)
        self.claims: dict[str, Write] = {}
        """The write that made each claim."""
        self.created = 0
        self.shed = 0
        self.retired = 0
        """Finished tasks whose retention was over."""

    def forget(self, task_id: str) -> None:
        """It is damaged: it counts no more."""
        del self.of_task[task_id]
        self.created -= 1

    def add(self, write: Write, *, sound: bool = True) -> None:
        """``sound``: whether its task is whole."""
        self.writes.append(write)
        if write.becomes is Status.TAKEN and write.was is Status.PENDING and write.after:
            self.claims[str(write.after[Attribute.CLAIM_ID])] = write
        if sound:
            self._count(write)

    def _count(self, write: Write) -> None:
        self.of_task[write.task_id].append(write)
        if write.was is None:
            self.created += 1
        elif write.becomes is None:
            self.shed += write.was in WAITING
            self.retired += write.was in TERMINAL

    def present(self) -> dict[str, Item]:
        """The items that the table must hold."""
        told = {task_id: writes for task_id, writes in self.of_task.items() if writes}
        last = {task_id: writes[-1].after for task_id, writes in told.items()}
        return {task_id: item for task_id, item in last.items() if item is not None}

    def assert_adds_up(self, items: list[Item]) -> None:
        """created = waiting + taken + succeeded + failed + cancelled + shed, at any moment."""
        by_status: Mapping[Status | None, int] = Counter(status_of(item) for item in items)
        accounted = sum(by_status.values()) + self.shed + self.retired
        if self.created != accounted:
            raise Violation(
                f"{self.created} tasks were created, {accounted} are accounted for: "
                f"{dict(by_status)}, {self.shed} shed, {self.retired} past their retention"
            )
