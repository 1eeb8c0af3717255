"""Random histories of a queue's table: what was written when, and exports of it.

A history is made step by step, as producers, workers, the sweep, operators and TTL would; the
truth about it is told from the steps (see ``truth``), the exports from the items.

What exports cannot show is left out: no task is claimed, finished or put in the same window that
its deletion falls into (windows are no longer than ``LONGEST_WINDOW``).
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.testing.hosts import ManualHost
from tests.analytics.exportfiles import Exporter, Item, full_line, incremental_line

SECOND = 1_000_000
START = 1_763_600_000 * SECOND
"""When the first tasks are put; on a minute's edge."""
LONGEST_WINDOW = 300 * SECOND
SHORTEST_DEADLINE = 300 * SECOND
SHORTEST_RETENTION = 900 * SECOND


@dataclass(frozen=True, kw_only=True)
class Step:
    """One write, or a deletion: ``status`` and ``item`` are None."""

    now: int
    """The writer's clock."""
    at: int
    """The database's clock, a little later."""
    status: Status | None
    item: Item | None


@dataclass(kw_only=True)
class Life:
    """All that happened to one task."""

    task_id: str
    task_type: str
    enqueued_at: int
    deadlines: list[int] = field(default_factory=list)
    """Epoch seconds, one per step: the deadline as it was after it."""
    steps: list[Step] = field(default_factory=list)

    def before(self, moment: int) -> Step | None:
        """The last step that the database saw before the moment."""
        return next((step for step in reversed(self.steps) if step.at < moment), None)

    def until(self, moment: int) -> "Life":
        """The life as far as it is known at the moment."""
        known = sum(step.at < moment for step in self.steps)
        return Life(
            task_id=self.task_id,
            task_type=self.task_type,
            enqueued_at=self.enqueued_at,
            deadlines=self.deadlines[:known],
            steps=self.steps[:known],
        )


class Author:
    """Writes one life, by the library, to a table of its own; every choice comes from ``rng``."""

    def __init__(self, rng: random.Random, *, task_id: str, task_type: str, put_at: int) -> None:
        self._rng = rng
        self._id = task_id
        self._host = ManualHost(put_at)
        self._table = MemoryTable()
        self._store = Store(self._table, lifetimes=Lifetimes(deadline=1200), host=self._host)
        self.life = Life(task_id=task_id, task_type=task_type, enqueued_at=0)
        new = NewTask(
            task_type=task_type,
            payload={"n": 1, "text": '"taskId": {"S": "x"} </script> ünï'},
            task_id=task_id,
            delay=rng.choice([0, 0, 0, 0, self._span(600) / SECOND]),
            deadline=(SHORTEST_DEADLINE + self._span(900)) / SECOND,
            head_start=rng.choice([0, self._span(300) / SECOND]),  # its place is nobody's age
        )
        self._store.put(new)
        self._write()
        self.life.enqueued_at = self._time("enqueuedAt")

    def write(self, *, steps: int) -> Life:
        while len(self.life.steps) < steps and self._next():
            pass
        return self.life

    def _next(self) -> bool:
        """One more step; False when nothing more happens."""
        status = self.life.steps[-1].status
        if status is None or self._rng.random() < 0.02:
            return status is not None and self._delete(LONGEST_WINDOW, 60)  # by an operator
        choices: dict[Status, list[Callable[[], bool]]] = {
            Status.PENDING: [self._claim, self._claim, self._cancel, self._expire],
            Status.DELAYED: [self._promote, self._promote, self._cancel, self._expire],
            Status.TAKEN: [*[self._succeed] * 3, *[self._fail, self._retry] * 2, self._stop],
            Status.SUCCESS: [self._retire],
            Status.FAILURE: [self._redrive, self._retire],
            Status.CANCELLED: [self._retire],
        }
        return self._rng.choice(choices[status])()

    def _claim(self) -> bool:
        claim = partial(self._store.claim, self._id, claim_id=f"c{self._rng.random()}", lease=30)
        return self._while_it_waits(self._rng.choice([5, 60, 600]), claim)

    def _promote(self) -> bool:
        self._host.time = max(self._host.time, self._time("dueAt"))
        return self._while_it_waits(60, partial(self._store.promote, self._id))

    def _cancel(self) -> bool:
        return self._while_it_waits(300, partial(self._store.cancel, self._id))

    def _while_it_waits(self, seconds: int, action: Callable[[], object]) -> bool:
        self._pass(seconds)
        if self._host.time >= self._time("expiresAt"):
            return self._expire()
        action()
        return self._write()

    def _succeed(self) -> bool:
        return self._settle(lambda task: self._store.succeed(task, "{}"))

    def _fail(self) -> bool:
        return self._settle(lambda task: self._store.fail(task, self._error()))

    def _retry(self) -> bool:
        delay = self._rng.choice([0, self._span(60) / SECOND])
        return self._settle(lambda task: self._store.retry(task, self._error(), delay=delay))

    def _stop(self) -> bool:
        """It was cancelled while it ran."""

        def stop(task: Task) -> None:
            self._store.cancel(self._id)
            self._store.end_cancelled(task)

        return self._settle(stop)

    def _settle(self, action: Callable[[Task], object]) -> bool:
        task = self._store.get(self._id)
        assert task is not None
        self._pass(30)
        action(task)
        return self._write()

    def _error(self) -> TaskError:
        return TaskError(type=self._rng.choice(["Timeout", "ValueError"]), message="bad")

    def _redrive(self) -> bool:
        self._pass(600)
        self._store.redrive(self._id)
        return self._write()

    def _expire(self) -> bool:
        """TTL deletes, some time after the deadline; or has not come round to it yet."""
        self._host.time = max(self._host.time, self._time("expiresAt"))
        return self._delete(LONGEST_WINDOW if "firstTakenAt" in self._item else 0, 1800)

    def _retire(self) -> bool:
        return self._delete(SHORTEST_RETENTION, 1800)

    def _delete(self, least: int, more: int) -> bool:
        self._host.time += least
        self._pass(more)
        self._append(None, None)
        return False

    @property
    def _item(self) -> Item:
        return self._table.get(self._id) or {}

    def _time(self, name: str) -> int:
        return int(self._item[name])

    def _span(self, seconds: int) -> int:
        """Up to so many seconds; often whole ones, so that events meet bucket edges."""
        micros = self._rng.randrange(1, seconds * SECOND)
        return self._rng.choice([micros, -(-micros // SECOND) * SECOND])

    def _pass(self, seconds: int) -> None:
        self._host.time += self._span(seconds)
        if self._rng.random() < 0.2:
            self._host.time = -(-self._host.time // (60 * SECOND)) * 60 * SECOND

    def _write(self) -> bool:
        self._append(Status(self._item["taskStatus"]), self._item)
        return True

    def _append(self, status: Status | None, item: Item | None) -> None:
        latency = self._rng.choice([0, 1, self._rng.randrange(50_000)])
        earliest = self.life.steps[-1].at + 1 if self.life.steps else 0
        at = max(self._host.time + latency, earliest)
        self.life.steps.append(Step(now=self._host.time, at=at, status=status, item=item))
        self.life.deadlines.append(self._time("expiresAt"))
        self._host.time = at


def write(
    rng: random.Random, exporter: Exporter, *, sizes: Mapping[str, int], end: int
) -> list[Life]:
    """Invent histories, one for each task type with so many tasks, and export them together, up to
    ``end``, in some way that misses nothing after its first export. Returns the lives that the
    exports can tell of, as far as they can."""
    lives = [
        Author(rng, task_id=f"{name}-{number}", task_type=name, put_at=_put_at(rng, end)).write(
            steps=rng.choice([2, 4, 8, 16])
        )
        for name, size in sizes.items()
        for number in range(size)
    ]
    windows = [] if rng.random() < 0.1 else list(_windows(rng, end))
    seen_from = windows[0][0] if windows else end
    exports = [("window", *window) for window in windows]
    if seen_from > START:
        exports.append(("full", seen_from, seen_from))
    if windows and rng.random() < 0.5:
        at = rng.randrange(seen_from, end)
        exports.append(("full", at, at))
    exports += [export for export in exports if rng.random() < 0.2]
    rng.shuffle(exports)
    for kind, begin, until in exports:
        files = rng.randint(1, 3)
        junk = rng.choice([[], ["junk"]])
        if kind == "full":
            exporter.full([*_full(lives, begin), *junk], at=begin, files=files)
        else:
            lines = [*_incremental(lives, begin, until), *junk]
            exporter.incremental(lines, start=begin, end=until, files=files)
    return [life.until(end) for life in lives if _is_seen(life, seen_from, end)]


def _put_at(rng: random.Random, end: int) -> int:
    return START + rng.choice([rng.randrange(end - START), 60 * SECOND * rng.randrange(20)])


def _is_seen(life: Life, seen_from: int, end: int) -> bool:
    there = life.before(seen_from)
    if there is not None and there.item is not None:
        return True
    return any(seen_from <= step.at < end for step in life.steps)


def _windows(rng: random.Random, end: int) -> Iterator[tuple[int, int]]:
    """Windows that together cover all from somewhere near the start to the end, and overlap."""
    begin = START - SECOND if rng.random() < 0.5 else START + rng.randrange(600) * SECOND
    while begin < end:
        until = min(end, begin + rng.randrange(30 * SECOND, LONGEST_WINDOW))
        yield begin, until
        begin = max(until - rng.choice([0, 0, rng.randrange(20 * SECOND)]), begin + SECOND)
        if until == end:
            return


def _full(lives: list[Life], at: int) -> Iterator[object]:
    for life in lives:
        step = life.before(at)
        if step is not None and step.item is not None:
            yield full_line(step.item)


def _incremental(lives: list[Life], begin: int, end: int) -> Iterator[object]:
    for life in lives:
        old, new = life.before(begin), life.before(end)
        before = None if old is None else old.item
        if new is None or new is old or (before is None and new.item is None):
            continue
        yield incremental_line(life.task_id, new.at, before, new.item)
