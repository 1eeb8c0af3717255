"""The queue, as producers and operators see it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lifoq.basics.host import SYSTEM, Host, microseconds
from lifoq.basics.numbers import check_count, check_rate, seconds
from lifoq.client.listing import Listing, Wanted, look
from lifoq.client.producer import Producer
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WrongStatus,
)
from lifoq.health import pressure
from lifoq.health.pressure import Pressure
from lifoq.health.statistics import CAP, QueueStats, measure
from lifoq.items.change import Put
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import (
    MAX_KEY_BYTES,
    MAX_TABLE_NAME_BYTES,
    MAX_TYPE_BYTES,
    Attribute,
    Status,
)
from lifoq.items.task import Duration, NewTask, Task
from lifoq.items.task_error import TaskError, TaskFailed
from lifoq.items.terms import check_name
from lifoq.store.puts import PutOutcome
from lifoq.store.store import Store
from lifoq.store.table import Count

if TYPE_CHECKING:
    from lifoq.client.connection import SharedLimits

FIRST_POLL: Final = 0.1
"""Seconds between the first two polls of ``wait``; it grows by half each time."""
LAST_POLL: Final = 5.0
"""Seconds up to which that grows: each poll costs a read."""
PRESSURE_KEPT: Final = 5.0
"""Seconds for which ``pressure`` answers from memory: it may be asked before each put."""


class Queue(Producer):
    """A LIFO task queue.

    Calls may raise, beside what they name: StoreUnavailable (the database did not confirm; to
    repeat the call is safe, for a put with the same ``task_id``), QueueMisconfigured (table,
    region or permissions; the message says which), DamagedTask (somebody wrote to the table past
    the library).
    """

    def __init__(
        self, store: Store, *, host: Host = SYSTEM, shared_limits: "SharedLimits | None" = None
    ) -> None:
        self.store = store
        self.shared_limits = shared_limits
        """The limits that hold over all workers of the queue together, as its settings say; None
        without any."""
        self._host = host
        self._pressure: Pressure | None = None
        self._pressed_at = 0

    @classmethod
    def connect(
        cls,
        name: str | None = None,
        *,
        table: str | None = None,
        lifetimes: Lifetimes | None = None,
        bucket: str | None = None,
        **client_arguments: Any,
    ) -> "Queue":
        """The queue of this name, by the settings that it wrote when it was deployed; without a
        name, the one that the environment variable LIFOQ_QUEUE names. By hand: ``table``, and
        ``lifetimes``, which must be those the queue was deployed with, and ``bucket``, where it has
        one for large payloads. ``client_arguments`` (region_name, endpoint_url …) go to
        ``boto3.client``.

        Raises InvalidInput, QueueMisconfigured, StoreUnavailable.
        """
        if table is not None:
            if name is not None:
                raise InvalidInput("name", name, f"stands beside {table=}; leave one of them out")
            check_name("table", table, MAX_TABLE_NAME_BYTES)
            return cls(_store(table, lifetimes, bucket, **client_arguments))
        if lifetimes is not None:
            raise InvalidInput("lifetimes", lifetimes, "come with the queue; leave them out")
        if bucket is not None:
            raise InvalidInput("bucket", bucket, "comes with the queue; leave it out")
        from lifoq.client import connection  # noqa: PLC0415 - not where a table is given

        found = connection.read(name, **client_arguments)
        if found.region is not None:
            client_arguments = {"region_name": found.region, **client_arguments}
        store = _store(found.table, found.lifetimes, found.bucket, **client_arguments)
        return cls(store, shared_limits=found.shared_limits)

    @classmethod
    def in_memory(
        cls,
        *,
        lifetimes: Lifetimes | None = None,
        host: Host = SYSTEM,
        large_payloads: bool = False,
    ) -> "Queue":
        """A queue in this process's memory, for tests of task code."""
        from lifoq.store.memory import MemoryTable  # noqa: PLC0415 - Lambda has no use for it

        large = None
        if large_payloads:
            from lifoq.store.large_values import LargeValues, MemoryBlobs  # noqa: PLC0415

            large = LargeValues(MemoryBlobs(), host=host)
        return cls(Store(MemoryTable(), lifetimes=lifetimes, host=host, large=large), host=host)

    def put_many(
        self, tasks: Iterable[NewTask], *, on_progress: Callable[[int], None] = lambda _: None
    ) -> list[PutOutcome]:
        """Put many tasks in batches; the outcome of each, in their order. The last is the newest.

        Raises InvalidInput, which names the first task that is refused, and QueueMisconfigured:
        then none was written. Whatever goes wrong later is the ``error`` of the outcomes that it
        concerns. ``on_progress`` hears, after each batch, how many are done.
        """
        if not isinstance(tasks, Iterable):
            raise InvalidInput("tasks", tasks, "must be an iterable of NewTask, such as a list")
        return self.store.put_many(list(tasks), on_progress)

    def transaction_item(self, task: NewTask) -> dict[str, Any]:
        """An entry for your own TransactWriteItems, so that a record of yours and its task are
        written together or not at all: ``client.transact_write_items(TransactItems=[mine, it])``,
        with a low-level boto3 client. Send it at once: place and deadline count from this call.

        Where a ``task_id`` of your own is in use (by a task that was neither shed, nor is past its
        retention), the transaction is refused as a whole, with the
        reason ConditionalCheckFailed for this entry. With ``if_exists="replace"`` it is refused
        where the task has moved on since this call, which looks at it. Raises InvalidInput.
        """
        # boto3 takes long to import, and not every process that imports lifoq connects.
        from lifoq.aws.dynamo_expressions import put_request, update_request  # noqa: PLC0415

        write, table = self.store.new_write(task), self.store.table.name
        if isinstance(write, Put):
            return {"Put": put_request(table, write.item, over=write.over)}
        return {"Update": update_request(table, *write)}

    def get(self, task_id: str) -> Task | None:
        """The task, by a strongly consistent read; None where there is none (any more)."""
        task = self.look(task_id)
        return None if task is None else self.store.whole(task)

    def look(self, task_id: str) -> Task | None:
        """``get`` without reading from the queue's bucket: what lies there is ``Large``, as it is
        with all calls beside ``get``, ``wait`` and ``put``."""
        return self.store.get(_id(task_id))

    def wait(self, task_id: str, *, timeout: Duration) -> Any:
        """The task's result, once it has one; polls, ever more slowly, for ``timeout`` (seconds or
        timedelta).

        Raises TaskFailed (with the task's error), TaskCancelled, TaskShed, TaskNotFound,
        WaitTimeout.
        """
        timeout = seconds("timeout", timeout, zero=True)
        until = self._host.now() + microseconds(timeout)
        pause, seen = FIRST_POLL, False
        while True:
            task = self.look(task_id)
            if task is None:
                raise TaskShed(task_id) if seen else TaskNotFound(task_id)
            seen = True
            if task.status is Status.SUCCESS:
                return self.store.whole(task, "result").result
            self._raise_if_ended(task)
            left = (until - self._host.now()) / 1e6
            if left <= 0:
                raise WaitTimeout(task_id, timeout)
            self._host.sleep(min(pause, left))
            pause = min(LAST_POLL, pause * 1.5)

    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """Withdraw a task. One that waits is CANCELLED from now on. Of one that is TAKEN, the
        handler is told at its next heartbeat: the task that this returns is still TAKEN,
        ``cancel_asked`` from now on, and never starts again. It ends as CANCELLED, or as SUCCESS
        where its work was done by then. A newer put that waits for its end is withdrawn.

        ``running=False``: only what waits, an attempt that runs goes on. WrongStatus where it is
        too late, TaskNotFound."""
        return self.store.cancel(_id(task_id), running=running)

    def delete(self, task_id: str) -> Task:
        """Delete a task that has ended, before its retention is over; returns it as it was. Cancel
        one that waits first. WrongStatus, TaskNotFound."""
        return self.store.delete(_id(task_id))

    def run_now(self, task_id: str) -> Task:
        """Let a DELAYED task enter the queue at once. WrongStatus, TaskNotFound."""
        return self.store.run_now(_id(task_id))

    def redrive(self, task_id: str) -> Task:
        """Bring a FAILURE back: as the newest task, with all attempts and a new deadline.
        WrongStatus, TaskNotFound."""
        return self.store.redrive(_id(task_id))

    def redrive_many(
        self,
        *,
        task_type: str | None = None,
        error_type: str | None = None,
        limit: int | None = None,
        per_second: float | None = None,
    ) -> int:
        """Redrive FAILUREs, the newest first: those of a task type, those whose error has a type
        (such as ``TimeoutError``), ``limit`` at most, ``per_second`` at most. Damaged ones stay.
        Returns how many it brought back."""
        for field, name in (("task_type", task_type), ("error_type", error_type)):
            if name is not None:
                check_name(field, name, MAX_TYPE_BYTES)
        if limit is not None:
            check_count("limit", limit)
        if per_second is not None:
            check_rate("per_second", per_second)
        # The ids first: a redriven task may fail again and come by a second time.
        ids = [
            task_id
            for task_id, row in self.store.browse(Status.FAILURE)
            if task_type is None or row.get(Attribute.TASK_TYPE) == task_type
        ]
        redriven = (task_id for task_id in ids if self._redrive_matching(task_id, error_type))
        done = 0
        for _ in islice(redriven, limit):
            done += 1
            if per_second is not None:
                self._host.sleep(1 / per_second)
        return done

    def peek(self, limit: int = 10, *, status: Status = Status.PENDING) -> list[Task]:
        """The newest tasks of a status, at most ``limit``, without claiming them; of those that are
        PENDING only what has not expired, the next to be claimed first (newest first, that is)."""
        check_count("limit", limit)
        Wanted(status=status)
        ids = (task_id for task_id, _ in self.store.browse(Status(status), live=True, page=limit))
        found: list[Task] = []
        while asked := list(islice(ids, limit - len(found))):
            found += (task for task in self.store.read(asked) if task.status == status)
        return found

    def search(
        self, wanted: Wanted, *, limit: int = 50, start: str | None = None, scan: int = 1_000
    ) -> Listing:
        """The tasks that match, newest first, a page at a time: at most ``limit`` of them, from
        reading at most about ``scan`` rows. ``start`` is the ``next`` of the page before.

        Raises InvalidInput.
        """
        check_count("limit", limit)
        check_count("scan", scan)
        return look(self.store, wanted, limit=limit, scan=scan, start=start)

    def stats(self, *, cap: int = CAP) -> QueueStats:
        """Counts by status, each of at most ``cap`` rows read, and the ages of the newest and the
        oldest waiting task."""
        check_count("cap", cap)
        return measure(self.store, now=self.store.now(), cap=cap)

    def pressure(self) -> Pressure:
        """Return how hard the queue is pressed, for a producer that decides whether to put. It is
        read at most once in ``PRESSURE_KEPT`` seconds; in between, the latest reading is
        returned."""
        now = self.store.now()
        if self._pressure is None or not 0 <= now - self._pressed_at < microseconds(PRESSURE_KEPT):
            self._pressure, self._pressed_at = pressure.measure(self.store, now=now), now
        return self._pressure

    def waiting(self) -> Count:
        """Count the tasks that wait, to be claimed or to fall due. Expired tasks that are still
        there count."""
        pending = self.store.count(Status.PENDING, cap=CAP)
        return pending + self.store.count(Status.DELAYED, cap=CAP)

    def purge(self, *, confirm: Callable[[Count], bool]) -> int:
        """Cancel every waiting task, after ``confirm``, told how many there are, said True.
        Returns how many were cancelled; they stay readable, and counted, for their retention."""
        if not callable(confirm):
            problem = "must be a function that is told how many tasks wait, and says True or False"
            raise InvalidInput("confirm", confirm, problem)
        if not confirm(self.waiting()):
            return 0
        return sum(self._cancelled(task_id) for task_id in list(self._waiting_ids()))

    def check(self) -> None:
        """QueueMisconfigured, saying what is wrong, where the table is not a queue's."""
        self.store.table.check()

    def _put(self, new: NewTask) -> Task:
        return self.store.whole(self.store.put(new))

    def _raise_if_ended(self, task: Task) -> None:
        if task.status is Status.FAILURE:
            unknown = TaskError(type="Unknown", message="no error was kept")
            raise TaskFailed(task.task_id, task.error or unknown)
        if task.status is Status.CANCELLED:
            raise TaskCancelled(task.task_id)
        if task.waiting and task.expired(self.store.now()):
            raise TaskShed(task.task_id)

    def _redrive_matching(self, task_id: str, error_type: str | None) -> bool:
        task = self._readable(task_id)
        if task is None:
            return False
        if error_type is not None and (task.error is None or task.error.type != error_type):
            return False
        try:
            self.redrive(task_id)
        except (WrongStatus, TaskNotFound, DamagedTask):
            return False  # somebody else was faster, its retention is over, or it is full
        return True

    def _readable(self, task_id: str) -> Task | None:
        try:
            return self.look(task_id)
        except DamagedTask:
            return None

    def _waiting_ids(self) -> Iterator[str]:
        for status in (Status.PENDING, Status.DELAYED):
            for task_id, _ in self.store.browse(status):
                yield task_id

    def _cancelled(self, task_id: str) -> bool:
        try:
            self.cancel(task_id, running=False)
        except (WrongStatus, TaskNotFound, DamagedTask):
            return False  # it was claimed or has expired; a damaged one goes to FAILURE by itself
        return True


def _id(task_id: str) -> str:
    check_name("task_id", task_id, MAX_KEY_BYTES)
    return task_id


def _store(
    table: str, lifetimes: Lifetimes | None, bucket: str | None, **client_arguments: Any
) -> Store:
    # boto3 takes long to import, and not every process that imports lifoq connects.
    from lifoq.aws.dynamo_table import DynamoTable  # noqa: PLC0415

    large = None
    if bucket is not None:
        from lifoq.aws.bucket import in_bucket  # noqa: PLC0415

        large = in_bucket(bucket, **client_arguments)
    found = DynamoTable.connect(table, **client_arguments)
    return Store(found, lifetimes=lifetimes, large=large)
