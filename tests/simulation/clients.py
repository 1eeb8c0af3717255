"""Producers and operators: put, cancel, redrive and read, at random, and check the answers."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lifoq.basics import jsontext
from lifoq.client.queue import Queue
from lifoq.errors import (
    DamagedTask,
    StoreUnavailable,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WrongStatus,
)
from lifoq.items.replacing import made_at
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskFailed
from tests.simulation.database import Database
from tests.simulation.history import Violation
from tests.simulation.keys import KEYS
from tests.simulation.machine import Machine
from tests.simulation.replacing import was_applied
from tests.simulation.weights import HEAVIEST

COMMON_IDS: Final = ("everybody's", "job-1", "job-2", "job-3")
"""Ids that several clients choose, again and again."""
OFTEN_PUT: Final = ("device-1", "device-2")
"""Ids for which the newest put counts alone."""


class Client:
    def __init__(
        self,
        machine: Machine,
        queue: Queue,
        database: Database,
        *,
        operations: int,
        pace: float,
        types: Sequence[str],
    ) -> None:
        self.left = operations
        self._machine = machine
        self._queue = queue
        self._database = database
        self._draw = database.draw
        self._timing = pace
        self._types = types
        self._longest = queue.store.lifetimes.deadline
        self._numbers = itertools.count()
        self._head_starts = self._draw.choice(((None,), (None, None, 0.5, 5.0, math.inf)))
        self._replacing = self._draw.choice((0, 4, 12))

    def work(self) -> None:
        actions: dict[Callable[[], None], int] = {
            self._put: 10,
            self._put_own_id: 4,
            self._put_newest: self._replacing,
            self._put_many: 3,
            self._cancel: 3,
            self._redrive: 3,
            self._redrive_many: 1,
            self._wait: 2,
            self._look_around: 1,
            self._purge: 0 if self._draw.random() < 0.8 else 1,
        }
        while self.left:
            self.left -= 1
            self._machine.sleep(self._draw.expovariate(1 / self._timing))
            action = self._draw.choices(list(actions), list(actions.values()))[0]
            try:
                action()
            except (StoreUnavailable, DamagedTask):
                continue  # this client does not insist
            except Violation as violation:
                if violation.task_id not in self._database.damaged:
                    raise

    @property
    def alive(self) -> bool:
        return self._machine.alive

    def _new(self, task_id: str | None = None) -> NewTask:
        draw = self._draw
        delay = draw.choice((None, None, None, 2.0, 15.0))
        deadline = draw.choice((None, None, None, 5.0, 20.0))
        ahead, most = draw.choice(self._head_starts), deadline or self._longest
        return NewTask(
            task_type=draw.choice(self._types),
            payload={"number": f"{self._machine.name} {next(self._numbers)}"},
            task_id=task_id,
            deadline=deadline,
            delay=delay,
            key=draw.choice(KEYS),
            weight=draw.randint(1, HEAVIEST),
            head_start=None if ahead is None else min(ahead, most),
            task_token=self._token(),
        )

    def _token(self) -> str | None:
        answers = self._queue.store.lifetimes.task_tokens
        return f"token {next(self._numbers)}" if answers and self._draw.random() < 0.3 else None

    def _put(self) -> None:
        new = self._new()
        self._assert_stored(self._queue.put(**vars(new)), new)

    def _put_own_id(self) -> None:
        """Repeats until it is confirmed, which is safe."""
        new = self._new(self._draw.choice(COMMON_IDS))
        if task := self._insist(new):
            self._assert_stored(task, new)

    def _put_newest(self) -> None:
        """A device reports, perhaps again and again, until each report is confirmed. Now and then
        the last is withdrawn."""
        task_id = self._draw.choice((*COMMON_IDS, *OFTEN_PUT))
        for _ in range(self._draw.choice((1, 1, 5))):
            new = replace(self._new(task_id), if_exists="replace", task_token=None)
            if self._draw.random() < 0.3:  # due again before who promotes the last one writes
                new = replace(new, delay=0.05)
            began = self._machine.now()
            if task := self._insist(new):
                self._assert_newest(task, new, began)
            self._machine.sleep(self._draw.uniform(0, 0.6))
        if self._draw.random() < 0.2:
            self._cancel(task_id)

    def _insist(self, new: NewTask) -> Task | None:
        for _ in range(3):
            try:
                return self._queue.put(**vars(new))
            except StoreUnavailable:
                self._machine.sleep(0.2)
        return None

    def _assert_newest(self, task: Task, new: NewTask, began: int) -> None:
        """It was applied, or a newer one was; ``began`` by this client's clock."""
        payload = jsontext.encode(new.payload, "")
        applied = was_applied(self._database.history, task.task_id, payload)
        if not applied and made_at(task.parked or task) < began:
            raise Violation("was confirmed, but never stored, and nothing newer", task.task_id)

    def _put_many(self) -> None:
        size = self._draw.choice((1, 3, 30))
        news = [self._new() for _ in range(size)]
        if self._draw.random() < 0.5:
            news.append(self._new(self._draw.choice(COMMON_IDS)))
        for new, outcome in zip(news, self._queue.put_many(news), strict=True):
            if outcome.task is not None:
                self._assert_stored(outcome.task, new)
            elif outcome.error is None:
                raise Violation("a task of put_many is neither stored nor refused")

    def _cancel(self, chosen: str | None = None) -> None:
        task_id = chosen or self._some_id()
        running = self._draw.random() < 0.7
        try:
            task = self._queue.cancel(task_id, running=running)
        except (TaskNotFound, WrongStatus):
            return
        if task.status is Status.TAKEN and task.parked is None:
            if running and task.cancel_asked is None:
                raise Violation("was said to be cancelled while it runs, and is not", task_id)
            return  # else only the put is withdrawn that waited for the end of the attempt
        if task.status is not Status.CANCELLED or not self._was(task_id, Status.CANCELLED):
            raise Violation("was said to be cancelled, and is not", task_id)

    def _redrive(self) -> None:
        failed = self._queue.peek(3, status=Status.FAILURE)
        for task in failed:
            try:
                self._queue.redrive(task.task_id)
            except (TaskNotFound, WrongStatus):
                continue

    def _redrive_many(self) -> None:
        self._queue.redrive_many(limit=5, per_second=self._draw.choice((None, 2.0)))

    def _wait(self) -> None:
        task_id = self._some_id()
        try:
            self._queue.wait(task_id, timeout=5)
        except TaskFailed:
            self._assert_was(task_id, Status.FAILURE)
        except TaskCancelled:
            self._assert_was(task_id, Status.CANCELLED)
        except (TaskNotFound, TaskShed, WaitTimeout):
            return
        else:
            self._assert_was(task_id, Status.SUCCESS)

    def _look_around(self) -> None:
        self._queue.stats()
        for status in (Status.PENDING, Status.DELAYED, Status.TAKEN):
            for task in self._queue.peek(5, status=status):
                if task.status is not status:
                    raise Violation(f"was shown as {status}, but is {task.status}", task.task_id)

    def _purge(self) -> None:
        self._queue.purge(confirm=lambda _: True)

    def _assert_stored(self, task: Task, new: NewTask) -> None:
        """The first put of an id counts; every put after it returns that task."""
        puts = [w for w in self._database.history.of_task[task.task_id] if w.was is None]
        if new.task_id not in (None, task.task_id) or not puts:
            raise Violation("was confirmed, but never stored", task.task_id)
        if task.task_id != new.task_id and task.payload != new.payload:
            raise Violation("was stored with another payload", task.task_id)

    def _assert_was(self, task_id: str, status: Status) -> None:
        if not self._was(task_id, status):
            raise Violation(f"was said to be {status}, and never was", task_id)

    def _was(self, task_id: str, status: Status) -> bool:
        return any(w.becomes is status for w in self._database.history.of_task[task_id])

    def _some_id(self) -> str:
        known = list(self._database.history.of_task)
        return self._draw.choice(known[-10:]) if known else "nobody's"
