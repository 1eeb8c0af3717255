"""A queue in memory whose calls take virtual time, and which tells what is asked of it."""

from collections.abc import Callable
from typing import Final

from lab.virtual import START, VirtualHost
from lifoq import NewTask, Queue, Status, Store
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Change, Item
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute
from lifoq.tables.memory import MemoryTable
from lifoq.tables.table import Cursor, Page, Span

CALL: Final = 0.005
"""Seconds until a call is answered."""
A_DAY: Final = 86_400


class Table(MemoryTable):
    """Does at once what it is asked for; the answer takes its time."""

    def __init__(self, host: VirtualHost) -> None:
        super().__init__()
        self._host = host
        self.takes: Callable[[Change], float] = lambda _change: CALL
        """Seconds until a write is answered."""
        self.places: list[int] = []
        """For each claim, how many newer tasks waited."""
        self.rows_read = 0

    def update_and_get(self, task_id: str, change: Change) -> Item:
        item = super().update_and_get(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            self.places.append(self._newer(item))
        self._host.sleep(self.takes(change))
        return item

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        page = super().query(span, newest_first=newest_first, limit=limit, start=start)
        if (span.index, span.status) == (STATUS_CREATED_INDEX, Status.PENDING):
            self.rows_read += len(page.rows)
        self._host.sleep(CALL)
        return page

    def _newer(self, claimed: Item) -> int:
        return sum(
            item[Attribute.TASK_STATUS] == Status.PENDING
            and item[Attribute.TASK_CREATED] > claimed[Attribute.TASK_CREATED]
            for item in self.items()
        )


class World:
    def __init__(self) -> None:
        self.host = VirtualHost()
        self.host.end = START + A_DAY * MICROSECONDS
        self.table = Table(self.host)
        self.store = Store(self.table, host=self.host)
        self.queue = Queue(self.store, host=self.host)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return (self.host.time - START) / MICROSECONDS

    def fill(self, task_type: str, number: int) -> None:
        self.queue.put_many(NewTask(task_type=task_type) for _ in range(number))

    def repeat(self, work: Callable[[], object], *, every: float) -> None:
        """Beside the run, from ``every`` seconds on."""

        def over_and_over() -> None:
            while True:
                self.host.sleep(every)
                work()

        self.host.spawn(over_and_over, "repeat")
