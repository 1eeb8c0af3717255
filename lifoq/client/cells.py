"""Several queues as one, for more tasks than one queue can take: each id has one cell as its home.

The home is found by rendezvous hashing: every cell draws a number for the id, the highest wins. So
all clients agree without talking to each other, a cell that is added takes over only what it wins,
and one that is taken away leaves the homes of all other ids as they were.
"""

import heapq
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from hashlib import blake2b
from operator import add
from typing import TYPE_CHECKING, Any, Final

from lifoq import telemetry
from lifoq.basics.host import SYSTEM, Host
from lifoq.basics.numbers import seconds
from lifoq.client import listing
from lifoq.client.async_producer import AsyncProducer
from lifoq.client.listing import Listing, Wanted
from lifoq.client.queue import Queue
from lifoq.client.waiting import WaitOutcome, check_ids, outcomes, whole_tasks
from lifoq.errors import DamagedTask, InvalidInput, QueueMisconfigured
from lifoq.health import pressure
from lifoq.health.pressure import Pressure
from lifoq.health.statistics import CAP, QueueStats, together
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import Duration, NewTask, Task
from lifoq.store.puts import PutOutcome
from lifoq.store.store import Store
from lifoq.store.table_protocol import Count

if TYPE_CHECKING:
    from lifoq.client.explanation import Explanation
    from lifoq.client.kicks import Kicks

_PLACE: Final = {Status.DELAYED: "due_at"}
"""The attribute by which ``peek`` orders a status, if that is not the place in the queue."""


class Cells(AsyncProducer):
    """A client of several queues that share nothing, for more tasks than one queue can take. It
    takes the calls of ``Queue`` and raises what ``Queue`` raises: where a cell is down, the calls
    about its own ids, and those about all cells.

    A cell is known by its table's name; the order in which cells are given says nothing. All
    clients must have the same list. Follow-ups of a task stay in its cell, whatever their ids: find
    them through ``queues``.

    Attributes:
        queues: The queues by the names of their tables.

    Examples:
        >>> from lifoq import Cells
        >>> cells = Cells.connect("prod-0", "prod-1")  # doctest: +SKIP
        >>> task = cells.put("device.check", task_id="d-17")  # doctest: +SKIP
    """

    def __init__(self, queues: Iterable[Queue], *, host: Host = SYSTEM) -> None:
        """Make one client of several queues.

        Args:
            queues: The queues, one or more, with tables of different names.
            host: The source of the ids of tasks that bring none.

        Raises:
            InvalidInput: No queue is given, or two have a table of the same name.
        """
        given = list(queues)
        self.queues = {_name(queue): queue for queue in given}
        """The queues by the names of their tables."""
        if not given:
            raise InvalidInput("cells", given, "must be one or more queues")
        if len(self.queues) < len(given):
            names = [_name(queue) for queue in given]
            raise InvalidInput("cells", names, "must be tables of different names")
        self._host = host

    @classmethod
    def connect(
        cls,
        *names: str,
        tables: Sequence[str] = (),
        lifetimes: Lifetimes | None = None,
        **client_arguments: Any,
    ) -> "Cells":
        """Return the queues of these names, or of these tables, as one.

        Args:
            names: The queues' names, each as in ``Queue.connect``.
            tables: Names of tables, in place of queues' names.
            lifetimes: The lifetimes that the queues of ``tables`` were deployed with.
            client_arguments: Arguments of ``boto3.client``.

        Raises:
            InvalidInput: No queue is named, or one of them twice.
            QueueMisconfigured: A queue is not there, or region, credentials or permissions lack.
            StoreUnavailable: AWS did not answer.

        Examples:
            >>> cells = Cells.connect("prod-0", "prod-1")  # doctest: +SKIP
        """
        by_name = [Queue.connect(name, **client_arguments) for name in names]
        by_table = [
            Queue.connect(table=table, lifetimes=lifetimes, **client_arguments) for table in tables
        ]
        return cls([*by_name, *by_table])

    def home(self, task_id: str) -> Queue:
        """Return the queue that an id belongs to.

        Args:
            task_id: The id of a task.

        Examples:
            >>> cells = Cells([queue])
            >>> cells.home("d-17") is queue
            True
        """
        return self.queues[max(self.queues, key=lambda name: _draw(name, task_id))]

    def put_many(
        self, tasks: Iterable[NewTask], *, on_progress: Callable[[int], None] = lambda _: None
    ) -> list[PutOutcome]:
        """Put many tasks, in all cells at the same time; see ``Queue.put_many``. In each cell its
        last task is the newest. If a cell is down or misconfigured, the outcomes of its own tasks
        say so.

        Args:
            tasks: The tasks to put.
            on_progress: Called after each batch with the number of tasks that are done in all
                cells.

        Raises:
            InvalidInput: A task is refused; none was written.
        """
        return telemetry.put_many(list(tasks), lambda new: self._put_many(new, on_progress))

    def _put_many(self, new: list[NewTask], on_progress: Callable[[int], None]) -> list[PutOutcome]:
        ids = [self._id_of(task) for task in new]
        shares: dict[str, list[int]] = {name: [] for name in self.queues}
        for index, (task, task_id) in enumerate(zip(new, ids, strict=True)):
            home = self.home(task_id)
            home.store.accept_nth("tasks", index, task)
            shares[_name(home)].append(index)
        progress = _Progress(on_progress)
        outcomes: dict[int, PutOutcome] = {}

        def put_share(name: str) -> None:
            indexes = shares[name]
            drawn = (ids[index] for index in indexes if new[index].task_id is None)
            told = progress.part()
            try:
                found = self.queues[name].store.put_many(
                    [new[index] for index in indexes], told, new_id=drawn.__next__
                )
            except QueueMisconfigured as error:
                found = [PutOutcome(task=None, error=error)] * len(indexes)
            outcomes.update(zip(indexes, found, strict=True))

        busy = [name for name in shares if shares[name]]
        with ThreadPoolExecutor(max_workers=max(1, len(busy))) as pool:
            list(pool.map(put_share, busy))
        return [outcomes[index] for index in range(len(new))]

    def transaction_item(self, task: NewTask) -> dict[str, Any]:
        """Return the transaction item of a put, for the table of the task's own cell; see
        ``Queue.transaction_item``.

        Args:
            task: The task to put.
        """
        task_id = self._id_of(task)
        return self.home(task_id).transaction_item(replace(task, task_id=task_id))

    def get(self, task_id: str) -> Task | None:
        """Return a task by its id; see ``Queue.get``.

        Args:
            task_id: The id of the task.
        """
        return self.home(task_id).get(task_id)

    def get_many(self, task_ids: Iterable[str]) -> dict[str, Task | None]:
        """Return many tasks by their ids, cell by cell; see ``Queue.get_many``.

        Args:
            task_ids: The ids of the tasks, 1,000 at the most.
        """
        asked = check_ids(task_ids)
        return whole_tasks(asked, look=self._look_at, store_of=self._store_of)

    def look(self, task_id: str) -> Task | None:
        """Return a task without its large values; see ``Queue.look``.

        Args:
            task_id: The id of the task.
        """
        return self.home(task_id).look(task_id)

    def wait(self, task_id: str, *, timeout: Duration) -> Any:
        """Wait for a task's result; see ``Queue.wait``.

        Args:
            task_id: The id of the task.
            timeout: The longest time to wait, in seconds or as a timedelta.
        """
        return self.home(task_id).wait(task_id, timeout=timeout)

    def wait_many(self, task_ids: Iterable[str], *, timeout: Duration) -> Iterator[WaitOutcome]:
        """Wait for many tasks together, cell by cell; see ``Queue.wait_many``.

        Args:
            task_ids: The ids of the tasks, 1,000 at the most.
            timeout: The longest time to wait, in seconds or as a timedelta.
        """
        return outcomes(
            check_ids(task_ids),
            timeout=seconds("timeout", timeout, zero=True),
            look=self._look_at,
            unended=self._unended,
            store_of=self._store_of,
            host=self._host,
        )

    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """Cancel a task; see ``Queue.cancel``.

        Args:
            task_id: The id of the task.
            running: False leaves an attempt that runs alone.
        """
        return self.home(task_id).cancel(task_id, running=running)

    def delete(self, task_id: str) -> Task:
        """Delete a task that has ended; see ``Queue.delete``.

        Args:
            task_id: The id of the task.
        """
        return self.home(task_id).delete(task_id)

    def run_now(self, task_id: str) -> Task:
        """Bring a DELAYED task in now; see ``Queue.run_now``.

        Args:
            task_id: The id of the task.
        """
        return self.home(task_id).run_now(task_id)

    def redrive(self, task_id: str) -> Task:
        """Bring a failed task back; see ``Queue.redrive``.

        Args:
            task_id: The id of the task.
        """
        return self.home(task_id).redrive(task_id)

    def redrive_many(
        self,
        *,
        task_type: str | None = None,
        error_type: str | None = None,
        limit: int | None = None,
        per_second: float | None = None,
    ) -> int:
        """Bring failed tasks back, cell by cell; see ``Queue.redrive_many``.

        Args:
            task_type: Only tasks of this type.
            error_type: Only tasks whose error is of this type.
            limit: The most tasks to bring back, over all cells.
            per_second: The most tasks to bring back per second.
        """
        done = 0
        for queue in self.queues.values():
            if done == limit:
                break
            done += queue.redrive_many(
                task_type=task_type,
                error_type=error_type,
                limit=None if limit is None else limit - done,
                per_second=per_second,
            )
        return done

    def peek(self, limit: int = 10, *, status: Status = Status.PENDING) -> list[Task]:
        """Return the newest tasks of all cells; see ``Queue.peek``.

        Args:
            limit: The most tasks to return.
            status: Their status.
        """
        place = _PLACE.get(status, "task_created")
        found = [queue.peek(limit, status=status) for queue in self.queues.values()]
        merged = heapq.merge(*found, key=lambda task: getattr(task, place) or 0, reverse=True)
        return list(merged)[:limit]

    def search(
        self, wanted: Wanted, *, limit: int = 50, start: str | None = None, scan: int = 1_000
    ) -> Listing:
        """Search all cells; see ``Queue.search``.

        Args:
            wanted: The status of the tasks, and what else they must match.
            limit: The most tasks of the page.
            start: The ``next`` of the page before; None for the first page.
            scan: The most rows to read in each cell.
        """
        begin = listing.starts(start, self.queues) if start else dict.fromkeys(self.queues)
        pages = {
            name: self.queues[name].search(wanted, limit=limit, start=place, scan=scan)
            for name, place in begin.items()
        }
        return listing.together(pages, begin, limit=limit)

    def explain(self, task_id: str | None = None, *, task_type: str | None = None) -> "Explanation":
        """Explain why a task waits, by its own cell; or why those of a type or of all cells do; see
        ``Queue.explain``.

        Args:
            task_id: The id of the task.
            task_type: The task type to explain, in place of a task.
        """
        if task_id is not None:
            return self.home(task_id).explain(task_id, task_type=task_type)
        from lifoq.client import explaining  # noqa: PLC0415 - most clients never ask

        return explaining.together(
            {name: queue.explain(task_type=task_type) for name, queue in self.queues.items()}
        )

    def stats(self, *, cap: int = CAP) -> QueueStats:
        """Return the numbers of all cells together; see ``Queue.stats``.

        Args:
            cap: The most rows that each count reads in each cell.
        """
        return reduce(together, (queue.stats(cap=cap) for queue in self.queues.values()))

    def pressure(self) -> Pressure:
        """Return the pressure on all cells together; see ``Queue.pressure``."""
        return reduce(pressure.together, (queue.pressure() for queue in self.queues.values()))

    def waiting(self) -> Count:
        """Count the waiting tasks of all cells; see ``Queue.waiting``."""
        return reduce(add, (queue.waiting() for queue in self.queues.values()))

    def purge(self, *, confirm: Callable[[Count], bool]) -> int:
        """Cancel all waiting tasks; see ``Queue.purge``. It asks once, for all cells.

        Args:
            confirm: Called with the number of waiting tasks. True goes on; False cancels none.
        """
        if not confirm(self.waiting()):
            return 0
        return sum(queue.purge(confirm=lambda _: True) for queue in self.queues.values())

    def check(self) -> None:
        """Check every cell; see ``Queue.check``."""
        for queue in self.queues.values():
            queue.check()

    def _kicks_of(self, task_id: str) -> "Kicks | None":
        return self.home(task_id).kicks

    def _store_of(self, task_id: str) -> Store:
        return self.home(task_id).store

    def _look_at(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        found: dict[str, Task | DamagedTask] = {}
        for store, ids in self._shares(task_ids):
            found |= store.read_each(ids)
        return found

    def _unended(self, task_ids: Sequence[str]) -> set[str]:
        return set().union(*(store.unended(ids) for store, ids in self._shares(task_ids)))

    def _unended_lately(self, task_ids: Sequence[str]) -> set[str]:
        shares = self._shares(task_ids)
        return set().union(*(store.unended(ids, lately=True) for store, ids in shares))

    def _shares(self, task_ids: Sequence[str]) -> Iterator[tuple[Store, list[str]]]:
        """Yield the store of each cell with those of the ids that are at home there."""
        shares: dict[str, list[str]] = defaultdict(list)
        for task_id in task_ids:
            shares[_name(self.home(task_id))].append(task_id)
        for name, ids in shares.items():
            yield self.queues[name].store, ids

    def _put(self, new: NewTask) -> Task:
        """Put a task into its cell. A task without an id is given one, which finds its cell like
        any other. A put that is to replace a task must have an id: its queue says so."""
        task_id = self._id_of(new)
        home = self.home(task_id)
        return home.store.put(new if new.if_exists == "replace" else replace(new, task_id=task_id))

    def _id_of(self, new: NewTask) -> str:
        """Return the id of a task, or one that is drawn. A thing that is no task gets one as well,
        and then its queue's refusal."""
        own = new.task_id if isinstance(new, NewTask) else None
        return self._host.new_id() if own is None else own


class _Progress:
    """Adds up what the cells have done, and tells it in turn."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._done: list[int] = []
        self._lock = threading.Lock()

    def part(self) -> Callable[[int], None]:
        """Return the function by which one cell tells its progress."""
        with self._lock:
            mine = len(self._done)
            self._done.append(0)

        def told(done: int) -> None:
            with self._lock:
                self._done[mine] = done
                self._tell(sum(self._done))

        return told


def _name(queue: Queue) -> str:
    """The table's name, also where a client of another account gave its ARN."""
    return queue.store.table.name.rpartition("/")[2]


def _draw(cell: str, task_id: str) -> bytes:
    """The number of a cell for an id: the same in every process and release."""
    # An id that no queue would take finds a queue, which then says why not.
    text = f"{cell}\0{task_id}".encode(errors="surrogatepass")
    return blake2b(text, digest_size=8).digest()
