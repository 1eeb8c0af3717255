"""The producer: it puts tasks at a constant rate, and keeps their ids."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass

import click
from account import MICROSECONDS, Account, equation

from lifoq import Queue, Status, Task

TELL_SECONDS = 5
"""Between two lines about what has become of the tasks; the rates in a line are of this time."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A time of constant load."""

    name: str
    tasks_per_second: float
    seconds: int


@dataclass(frozen=True, kw_only=True)
class Went:
    """A phase as it went. ``start``, ``end``: epoch microseconds."""

    name: str
    start: int
    end: int
    oldest_waiting_seconds: float
    """The greatest age that a waiting task was seen at."""


class Producer:
    """Puts the tasks of one phase after the other."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._ids: list[str] = []
        self._over: dict[str, Task] = {}
        """Tasks that ended or were shed, as they were last seen."""

    def account(self) -> Account:
        """Look at every task that was put."""
        ids = list(self._ids)
        return Account(put=len(ids), tasks=self._queue.store.read(ids), now=_now())

    def _look(self) -> Account:
        """Look at the tasks that were not over when they were last seen, so that a long overload
        is told of as fast as a short one."""
        ids = list(self._ids)
        seen = self._queue.store.read([one for one in ids if one not in self._over])
        now = _now()
        self._over |= {task.task_id: task for task in seen if _is_over(task, now)}
        open_ones = [task for task in seen if task.task_id not in self._over]
        return Account(put=len(ids), tasks=[*self._over.values(), *open_ones], now=now)

    def run(self, phase: Phase) -> Went:
        """Put the tasks of a phase, and tell every few seconds what has become of all tasks."""
        start, oldest = _now(), 0.0
        with self._putting(phase) as putting:
            while not putting.done():
                wait([putting], timeout=TELL_SECONDS)
                oldest = max(oldest, self._tell(phase.name, start).oldest_waiting_seconds)
            putting.result()
        return Went(name=phase.name, start=start, end=_now(), oldest_waiting_seconds=oldest)

    def drain(self, *, most_seconds: float) -> Went:
        """Wait until nothing waits and nothing is taken."""
        start, account = _now(), self._look()
        oldest = account.oldest_waiting_seconds
        while account.busy and _now() - start < most_seconds * MICROSECONDS:
            time.sleep(TELL_SECONDS / 2)
            account = self._tell("drain", start)
            oldest = max(oldest, account.oldest_waiting_seconds)
        return Went(name="drain", start=start, end=_now(), oldest_waiting_seconds=oldest)

    @contextmanager
    def _putting(self, phase: Phase) -> Iterator[Future[None]]:
        over = threading.Event()

        def put() -> None:
            begun = time.monotonic()
            for number in range(round(phase.tasks_per_second * phase.seconds)):
                due = begun + number / phase.tasks_per_second
                if over.wait(max(0.0, due - time.monotonic())):
                    return
                device = {"device": f"d-{len(self._ids)}"}
                self._ids.append(self._queue.put("device.check", device).task_id)

        with ThreadPoolExecutor(1) as thread:
            try:
                yield thread.submit(put)
            finally:
                over.set()

    def _tell(self, name: str, start: int) -> Account:
        account = self._look()
        lately = account.between(account.now - TELL_SECONDS * MICROSECONDS, account.now)
        click.echo(
            f"{name:<14} {(account.now - start) / MICROSECONDS:3.0f} s"
            f" | in {lately.arrivals / TELL_SECONDS:4.1f}/s,"
            f" out {lately.succeeded / TELL_SECONDS:4.1f}/s"
            f" | oldest waits {account.oldest_waiting_seconds:4.1f} s"
            f" | {equation(account.put, account.counts)}"
        )
        return account


def _is_over(task: Task, now: int) -> bool:
    if task.waiting:
        return task.expired(now)
    return task.status is not Status.TAKEN


def _now() -> int:
    return time.time_ns() // 1_000
