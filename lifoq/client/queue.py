"""The queue, as producers and operators see it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lifoq import telemetry
from lifoq.basics.host import SYSTEM, Host, microseconds
from lifoq.basics.numbers import check_count, check_rate, seconds
from lifoq.client.async_producer import AsyncProducer
from lifoq.client.listing import Listing, Wanted, look
from lifoq.client.waiting import Look, Unended, WaitOutcome, check_ids, outcomes, whole_tasks
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    QueueMisconfigured,
    TaskNotFound,
    WrongStatus,
)
from lifoq.health import pressure
from lifoq.health.pressure import Pressure
from lifoq.health.statistics import CAP, QueueStats, measure
from lifoq.items.change import Put
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.put_terms import check_name
from lifoq.items.schema import (
    MAX_KEY_BYTES,
    MAX_TABLE_NAME_BYTES,
    MAX_TYPE_BYTES,
    Attribute,
    Status,
)
from lifoq.items.task import Duration, NewTask, Task
from lifoq.store.puts import PutOutcome
from lifoq.store.store import Store
from lifoq.store.table_protocol import Count

if TYPE_CHECKING:
    from lifoq.client.connection import SharedLimits
    from lifoq.client.explanation import Explanation
    from lifoq.client.kicks import Kicks
    from lifoq.schedules.schedule import Group
    from lifoq.schedules.schedules import Schedules

PRESSURE_KEPT: Final = 5.0
"""Seconds for which ``pressure`` answers from memory: it may be asked before each put."""


class Queue(AsyncProducer):
    """A LIFO task queue: puts tasks, waits for their results, looks at them and repairs them.

    Every call may raise, beside what it names, ``StoreUnavailable`` (the database did not confirm;
    to repeat the call is safe, for a put with the same ``task_id``), ``QueueMisconfigured`` (the
    table, the region or the permissions are wrong; the message says which), and ``DamagedTask``
    (somebody wrote to the table past the library).

    Attributes:
        store: The operations on the queue's table, for ``Processor`` and ``Sweeper``.
        shared_limits: The limits that hold over all workers of the queue together, as its settings
            say; None without any.

    Examples:
        >>> from lifoq import Queue
        >>> queue = Queue.in_memory()  # on AWS: Queue.connect("prod")
        >>> queue.put("device.check", {"device": "d-17"}, task_id="d-17", deadline=30).status
        <Status.PENDING: 'PENDING'>
    """

    def __init__(
        self,
        store: Store,
        *,
        host: Host = SYSTEM,
        shared_limits: "SharedLimits | None" = None,
        schedule_group: "Group | None" = None,
        kicks: "Kicks | None" = None,
    ) -> None:
        """Make a client of a table that is known already; ``connect`` is the usual way.

        Args:
            store: The operations on the queue's table.
            host: The clock by which ``wait`` polls. Tests give one of their own.
            shared_limits: The limits that hold over all workers together, as the queue's settings
                say.
            schedule_group: The place that keeps the schedules which clients make; None if there is
                none.
            kicks: The way to wake the queue's processor; None if clients do not.
        """
        self.store = store
        self.shared_limits = shared_limits
        """The limits that hold over all workers of the queue together, as its settings say; None
        without any."""
        self._host = host
        self.schedule_group = schedule_group
        self.kicks = kicks
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
        """Return the queue of a name, by the settings that it wrote when it was deployed.

        Reads the SSM parameter ``/lifoq/<name>/queue``, which takes the permission
        ``ssm:GetParameter``. Where the table is named by hand, nothing is read.

        Args:
            name: The queue's name: the ``queue_name`` of a ``LifoQueue``, or a stage of this
                repository's application. Without it, the environment variable LIFOQ_QUEUE names it.
            table: The table's name or ARN, in place of the queue's name.
            lifetimes: The lifetimes that the queue was deployed with. Only beside ``table``.
            bucket: The name of the queue's bucket for large payloads. Only beside ``table``.
            client_arguments: Arguments of ``boto3.client``, such as ``region_name``,
                ``endpoint_url`` and ``config``.

        Raises:
            InvalidInput: Two of the arguments exclude each other, or a name is none.
            QueueMisconfigured: No queue has this name, or region, credentials or permissions lack.
            StoreUnavailable: AWS did not answer.

        Examples:
            >>> queue = Queue.connect("prod", region_name="eu-central-1")  # doctest: +SKIP
            >>> queue = Queue.connect(table="my-table", lifetimes=Lifetimes())  # doctest: +SKIP
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
        schedules = None
        if found.schedules is not None:
            from lifoq.schedules.eventbridge import SchedulerGroup  # noqa: PLC0415 - many have none

            schedules = SchedulerGroup(
                found.schedules, deadline=found.lifetimes.deadline, **client_arguments
            )
        kicks = None
        if "process" in found.topics:
            from lifoq.client.kicks import Kicks  # noqa: PLC0415 - not where a table is given

            kicks = Kicks(found.topics["process"], host=SYSTEM, **client_arguments)
        return cls(store, shared_limits=found.shared_limits, schedule_group=schedules, kicks=kicks)

    @classmethod
    def in_memory(
        cls,
        *,
        lifetimes: Lifetimes | None = None,
        host: Host = SYSTEM,
        large_payloads: bool = False,
    ) -> "Queue":
        """Return a queue in this process's memory, for tests of task code.

        Args:
            lifetimes: The lifetimes of tasks; by default those of ``Lifetimes``.
            host: The queue's clock. ``lifoq.testing.TurnableHost`` has one that a test can turn.
            large_payloads: True if values of more than 16 KB go to a bucket, here in memory, too.

        Examples:
            >>> queue = Queue.in_memory(lifetimes=Lifetimes(deadline=60))
        """
        from lifoq.schedules.memory import MemoryGroup  # noqa: PLC0415 - Lambda has no use for it
        from lifoq.store.memory_table import MemoryTable  # noqa: PLC0415 - as above

        large = None
        if large_payloads:
            from lifoq.store.large_values import LargeValues, MemoryBlobs  # noqa: PLC0415

            large = LargeValues(MemoryBlobs(), host=host)
        store = Store(MemoryTable(), lifetimes=lifetimes, host=host, large=large)
        return cls(store, host=host, schedule_group=MemoryGroup(host.now))

    @property
    def schedules(self) -> "Schedules":
        """The schedules that clients of the queue make, as ``Schedules``. Raises
        ``QueueMisconfigured`` if the queue takes none."""
        if self.schedule_group is None:
            raise QueueMisconfigured(
                "this queue takes no schedules: deploy it with schedules=True, and connect with it "
                "by its name"
            )
        from lifoq.schedules.schedules import Schedules  # noqa: PLC0415 - not where none is made

        return Schedules(self.schedule_group, store=self.store)

    def put_many(
        self, tasks: Iterable[NewTask], *, on_progress: Callable[[int], None] = lambda _: None
    ) -> list[PutOutcome]:
        """Put many tasks in batches, and return the outcome of each, in their order. The last is
        the newest.

        Args:
            tasks: The tasks to put.
            on_progress: Called after each batch with the number of tasks that are done. Its
                exceptions reach the caller.

        Raises:
            InvalidInput: A task is refused. The message names the first one; none was written.
            QueueMisconfigured: The table cannot be written to; none was written. Whatever goes
                wrong later is the ``error`` of the outcomes that it concerns.

        Examples:
            >>> tasks = [NewTask(task_type="device.check", payload=n) for n in range(100)]
            >>> sum(outcome.created for outcome in queue.put_many(tasks))
            100
        """
        if not isinstance(tasks, Iterable):
            raise InvalidInput("tasks", tasks, "must be an iterable of NewTask, such as a list")
        return telemetry.put_many(list(tasks), lambda new: self.store.put_many(new, on_progress))

    def transaction_item(self, task: NewTask) -> dict[str, Any]:
        """Return an entry for a TransactWriteItems of your own, so that a record of yours and its
        task are written together or not at all.

        The entry is for boto3's low-level client. Send it at once: place and deadline count from
        this call. DynamoDB refuses the whole transaction, with the reason ConditionalCheckFailed
        for this entry, if the ``task_id`` is in use by a task that was neither shed nor is past its
        retention. With ``if_exists="replace"`` this call looks at the task, and the transaction is
        refused if the task has moved on since.

        Args:
            task: The task to put.

        Raises:
            InvalidInput: The task is refused.

        Examples:
            >>> entry = queue.transaction_item(NewTask(task_type="order.ship", task_id="ship-7"))
            >>> client = boto3.client("dynamodb")  # doctest: +SKIP
            >>> client.transact_write_items(TransactItems=[mine, entry])  # doctest: +SKIP
        """
        # boto3 takes long to import, and not every process that imports lifoq connects.
        from lifoq.aws.dynamo_expressions import put_request, update_request  # noqa: PLC0415

        write, table = self.store.new_write(telemetry.in_current_trace(task)), self.store.table.name
        if isinstance(write, Put):
            return {"Put": put_request(table, write.item, over=write.over)}
        return {"Update": update_request(table, *write)}

    def get(self, task_id: str) -> Task | None:
        """Return a task with all its values, by a strongly consistent read; None if there is none,
        or no longer.

        Args:
            task_id: The id of the task.

        Examples:
            >>> queue.put("device.check", task_id="d-17").attempts
            0
            >>> queue.get("d-17").task_type
            'device.check'
            >>> queue.get("nobody") is None
            True
        """
        task = self.look(task_id)
        return None if task is None else self.store.whole(task)

    def get_many(self, task_ids: Iterable[str]) -> dict[str, Task | None]:
        """Return many tasks with all their values by their ids, in this order; None for an id that
        has no task, or no longer. A hundred are read by one call of DynamoDB, strongly consistent;
        values in the queue's bucket one after another.

        Args:
            task_ids: The ids of the tasks, 1,000 at the most.

        Raises:
            InvalidInput: An id is refused, or there are too many.

        Examples:
            >>> task = queue.put("device.check", task_id="d-17")
            >>> found = queue.get_many(["d-17", "nobody"])
            >>> found["d-17"].task_type, found["nobody"]
            ('device.check', None)
        """
        asked = check_ids(task_ids)
        return whole_tasks(asked, look=self._look_at, store_of=self._store_of)

    def look(self, task_id: str) -> Task | None:
        """Return a task without reading from the queue's bucket: a value that lies there is a
        ``Large``, as it is with all calls beside ``get``, ``wait`` and ``put``.

        Args:
            task_id: The id of the task.

        Examples:
            >>> queue = Queue.in_memory(large_payloads=True)
            >>> task = queue.put("report.render", "long " * 100_000, task_id="r-17")
            >>> queue.look("r-17").payload.size
            500002
        """
        return self.store.get(_id(task_id))

    def wait(self, task_id: str, *, timeout: Duration) -> Any:
        """Wait until a task has ended, and return its result. Polls, ever more slowly.

        Args:
            task_id: The id of the task.
            timeout: The longest time to wait, in seconds or as a timedelta; 0 looks once.

        Raises:
            TaskFailed: The task ended in FAILURE; the exception has its error.
            TaskCancelled: The task was cancelled.
            TaskShed: The deadline of the task passed while it waited.
            TaskNotFound: No task has this id.
            WaitTimeout: The task has not ended in time.

        Examples:
            >>> queue.put("device.check", {"device": "d-17"}, task_id="d-17").waiting
            True
            >>> queue.wait("d-17", timeout=0)
            Traceback (most recent call last):
            lifoq.errors.WaitTimeout: task 'd-17' has not ended within 0 s; it may still
        """
        timeout = seconds("timeout", timeout, zero=True)
        (outcome,) = self._outcomes(
            [task_id], timeout, look=self._look_at_one, unended=self._unended_one
        )
        return outcome.result()

    def wait_many(self, task_ids: Iterable[str], *, timeout: Duration) -> Iterator[WaitOutcome]:
        """Wait for many tasks together, and return the outcome of each as it ends; in the end, of
        those that have not ended in time. Polls those that are left, ever more slowly, a hundred by
        one call.

        Args:
            task_ids: The ids of the tasks, 1,000 at the most.
            timeout: The longest time to wait, in seconds or as a timedelta; 0 looks once.

        Returns:
            An iterator of one outcome for each id. It waits while it is asked for the next one.

        Raises:
            InvalidInput: An id is refused, or there are too many.

        Examples:
            >>> for device in ("d-17", "d-18"):
            ...     task = queue.put("device.check", task_id=device)
            >>> task = queue.cancel("d-17")
            >>> for outcome in queue.wait_many(["d-17", "d-18"], timeout=0):
            ...     print(outcome.error)  # or outcome.result(), where it is None
            task 'd-17' was cancelled
            task 'd-18' has not ended within 0 s; it may still
        """
        asked = check_ids(task_ids)
        timeout = seconds("timeout", timeout, zero=True)
        return self._outcomes(asked, timeout, look=self._look_at, unended=self.store.unended)

    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """Withdraw a task, and return it as it is then.

        A task that waits is CANCELLED from now on. If it is TAKEN, its handler is told at its next
        heartbeat: the task that this returns is still TAKEN, has the time in ``cancel_asked``, and
        never starts again. It ends as CANCELLED, or as SUCCESS if its work was done by then. A
        newer put that waits for the end of the attempt is withdrawn, too.

        Args:
            task_id: The id of the task.
            running: False leaves an attempt that runs alone, and withdraws only what waits.

        Raises:
            WrongStatus: The task has ended already; or it runs, and ``running`` is False.
            TaskNotFound: No task has this id.

        Examples:
            >>> queue.put("device.check", task_id="d-17").status
            <Status.PENDING: 'PENDING'>
            >>> queue.cancel("d-17").status
            <Status.CANCELLED: 'CANCELLED'>
        """
        return self.store.cancel(_id(task_id), running=running)

    def delete(self, task_id: str) -> Task:
        """Delete a task that has ended, before its retention is over, and return it as it was.
        Cancel a task that waits first.

        Args:
            task_id: The id of the task.

        Raises:
            WrongStatus: The task has not ended.
            TaskNotFound: No task has this id.

        Examples:
            >>> queue.put("device.check", task_id="d-17").waiting
            True
            >>> queue.cancel("d-17").waiting
            False
            >>> queue.delete("d-17").status
            <Status.CANCELLED: 'CANCELLED'>
        """
        return self.store.delete(_id(task_id))

    def run_now(self, task_id: str) -> Task:
        """Let a DELAYED task enter the queue at once, and return it. A delayed put gets its full
        deadline from now on; a retry gets its old place.

        Args:
            task_id: The id of the task.

        Raises:
            WrongStatus: The task is not DELAYED.
            TaskNotFound: No task has this id.

        Examples:
            >>> queue.put("device.check", task_id="d-17", delay=3600).status
            <Status.DELAYED: 'DELAYED'>
            >>> queue.run_now("d-17").status
            <Status.PENDING: 'PENDING'>
        """
        return self.store.run_now(_id(task_id))

    def redrive(self, task_id: str) -> Task:
        """Bring a task back from FAILURE: as the newest task, with all its attempts and a new
        deadline. Its ``error`` stays until it ends again, its ``history`` for good.

        Args:
            task_id: The id of the task.

        Raises:
            WrongStatus: The task is not in FAILURE.
            TaskNotFound: No task has this id.

        Examples:
            >>> queue.redrive("d-17").status  # doctest: +SKIP
            <Status.PENDING: 'PENDING'>
        """
        return self.store.redrive(_id(task_id))

    def redrive_many(
        self,
        *,
        task_type: str | None = None,
        error_type: str | None = None,
        limit: int | None = None,
        per_second: float | None = None,
    ) -> int:
        """Redrive the failed tasks that match, the newest first, and return how many were brought
        back. Damaged ones stay.

        Args:
            task_type: Only tasks of this type.
            error_type: Only tasks whose error is of this type, such as ``TimeoutError``.
            limit: The most tasks to bring back.
            per_second: The most tasks to bring back per second.

        Raises:
            InvalidInput: An argument is out of bounds.

        Examples:
            >>> queue.redrive_many(error_type="TimeoutError", limit=1_000, per_second=20)
            0
        """
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
        """Return the newest tasks of a status, without claiming them. Of PENDING tasks only those
        that have not expired, the next to be claimed first.

        Args:
            limit: The most tasks to return.
            status: Their status: PENDING, DELAYED, TAKEN or FAILURE.

        Raises:
            InvalidInput: The status is in no index, or the limit is none.

        Examples:
            >>> for device in ("d-1", "d-2"):
            ...     task = queue.put("device.check", task_id=device)
            >>> [task.task_id for task in queue.peek()]
            ['d-2', 'd-1']
        """
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
        """Return the tasks that match, newest first, a page at a time.

        Args:
            wanted: The status of the tasks, and what else they must match.
            limit: The most tasks of the page.
            start: The ``next`` of the page before; None for the first page.
            scan: The most rows of the index to read for this page, rounded up to hundreds.

        Raises:
            InvalidInput: An argument is out of bounds, or ``start`` is no place in this list.

        Examples:
            >>> task = queue.put("device.check", key="d-17")
            >>> page = queue.search(Wanted(status=Status.PENDING, key="d-17"))
            >>> [found.key for found in page.tasks], page.next
            (['d-17'], None)
        """
        check_count("limit", limit)
        check_count("scan", scan)
        return look(self.store, wanted, limit=limit, scan=scan, start=start)

    def explain(self, task_id: str | None = None, *, task_type: str | None = None) -> "Explanation":
        """Explain why a task waits: the reasons, the worst first. Or why tasks of a type wait, or,
        without an argument, those of the queue. A task that does not wait: what has become of it.

        It is read when it is asked, from the table alone: the item, the tasks before it (1,000 are
        counted at the most), and what workers, the sweep and operators noted there. A worker notes
        what holds tasks back every 20 seconds while it starts some. It takes ``grant_read``.

        Args:
            task_id: The id of the task.
            task_type: The task type to explain, in place of a task.

        Raises:
            InvalidInput: A name is refused, or both are given.

        Examples:
            >>> put = queue.put("device.check", task_id="d-17", delay=60)
            >>> queue.run_now("d-17").status
            <Status.PENDING: 'PENDING'>
            >>> queue.explain("d-17").reasons[0].says
            'no worker is at work, as far as the table tells: no worker has told of itself yet'
            >>> queue.explain("nobody").status is None
            True
            >>> queue.explain(task_type="report.render").summary
            'No task of type report.render waits.'
        """
        from lifoq.client import explaining  # noqa: PLC0415 - most clients never ask

        if task_id is None:
            if task_type is not None:
                check_name("task_type", task_type, MAX_TYPE_BYTES)
            return explaining.tasks(self.store, task_type, self.shared_limits)
        if task_type is not None:
            raise InvalidInput("task_type", task_type, "stands beside a task_id; leave one out")
        return explaining.task(self.store, _id(task_id), self.shared_limits)

    def stats(self, *, cap: int = CAP) -> QueueStats:
        """Return the numbers of tasks by status, and the ages of the newest and the oldest that
        waits.

        Args:
            cap: The most rows that each count reads.

        Raises:
            InvalidInput: The cap is no whole number above 0.

        Examples:
            >>> task = queue.put("device.check")
            >>> queue.stats().live
            Count(value=1, capped=False)
        """
        from lifoq.health import found_limits  # noqa: PLC0415 - not at the start of a function

        check_count("cap", cap)
        now = self.store.now()
        limits = found_limits.read(self.store, now=now)
        return replace(measure(self.store, now=now, cap=cap), adaptive_limits=limits)

    def pressure(self) -> Pressure:
        """Return how hard the queue is pressed, for a producer that decides whether to put. It is
        read at most once in ``PRESSURE_KEPT`` (5) seconds; in between, the latest reading is
        returned.

        Examples:
            >>> queue.pressure().shed_share
            0.0
        """
        now = self.store.now()
        if self._pressure is None or not 0 <= now - self._pressed_at < microseconds(PRESSURE_KEPT):
            self._pressure, self._pressed_at = pressure.measure(self.store, now=now), now
        return self._pressure

    def waiting(self) -> Count:
        """Count the tasks that wait, to be claimed or to fall due. Expired tasks that are still
        there count.

        Examples:
            >>> task = queue.put("device.check", delay=60)
            >>> str(queue.waiting())
            '1'
        """
        pending = self.store.count(Status.PENDING, cap=CAP)
        return pending + self.store.count(Status.DELAYED, cap=CAP)

    def purge(self, *, confirm: Callable[[Count], bool]) -> int:
        """Cancel every waiting task, after asking, and return how many were cancelled. They stay
        readable, and counted, for their retention.

        Args:
            confirm: Called with the number of waiting tasks. True goes on; False cancels none.

        Raises:
            InvalidInput: ``confirm`` is no function.

        Examples:
            >>> task = queue.put("device.check")
            >>> queue.purge(confirm=lambda count: count.value < 10)
            1
        """
        if not callable(confirm):
            problem = "must be a function that is told how many tasks wait, and says True or False"
            raise InvalidInput("confirm", confirm, problem)
        if not confirm(self.waiting()):
            return 0
        return sum(self._cancelled(task_id) for task_id in list(self._waiting_ids()))

    def check(self) -> None:
        """Check that the table is a queue's.

        Raises:
            QueueMisconfigured: The table is none of a queue's; the message says what is wrong.

        Examples:
            >>> queue.check()
        """
        self.store.table.check()

    def _put(self, new: NewTask) -> Task:
        return self.store.whole(self.store.put(new))

    def _kicks_of(self, _task_id: str) -> "Kicks | None":
        return self.kicks

    def _store_of(self, _task_id: str) -> Store:
        return self.store

    def _look_at(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        return self.store.read_each(task_ids)

    def _look_at_one(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        found = {task_id: self.look(task_id) for task_id in task_ids}
        return {task_id: task for task_id, task in found.items() if task is not None}

    def _unended_lately(self, task_ids: Sequence[str]) -> set[str]:
        return self.store.unended(task_ids, lately=True)

    def _unended_one(self, task_ids: Sequence[str]) -> list[str]:
        return [task_id for task_id in task_ids if self.store.has_not_ended(task_id)]

    def _outcomes(
        self, task_ids: Sequence[str], timeout: float, *, look: Look, unended: Unended
    ) -> Iterator[WaitOutcome]:
        return outcomes(
            task_ids,
            timeout=timeout,
            look=look,
            unended=unended,
            store_of=self._store_of,
            host=self._host,
        )

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
