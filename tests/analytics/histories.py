"""Random histories of a queue's table: what was written when, and exports of it.

A history is made step by step, as producers, workers, the sweep, operators and TTL would; the
truth about it is told from the steps (see ``truth``), the exports from the items.

What exports cannot show is left out: no task is claimed, finished or put in the same window that
its deletion falls into (windows are no longer than ``LONGEST_WINDOW``).
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.items.task_error import TaskError
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.analytics.exportfiles import Exporter, full_line, incremental_line

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
    enqueued_at: int = 0
    steps: list[Step] = field(default_factory=list)

    def before(self, moment: int) -> Step | None:
        """The last step that the database saw before the moment."""
        return next((step for step in reversed(self.steps) if step.at < moment), None)

    def until(self, moment: int) -> "Life":
        """The life as far as it is known at the moment."""
        return replace(self, steps=[step for step in self.steps if step.at < moment])


EXPIRE = (1, lambda: None)
RETIRE = (0, lambda: None)


class Author:
    """Writes one life, by the library, to a table of its own; every choice comes from ``rng``."""

    def __init__(self, rng: random.Random, *, task_id: str, task_type: str, put_at: int) -> None:
        self._rng = rng
        self._id = task_id
        self._host = ManualHost(put_at)
        self._table = MemoryTable()
        self._store = Store(self._table, lifetimes=Lifetimes(deadline=1200), host=self._host)
        self.life = Life(task_id=task_id, task_type=task_type)
        new = NewTask(
            task_type=task_type,
            payload={"n": 1, "text": '"taskId": {"S": "x"} </script> ünï'},
            task_id=task_id,
            delay=rng.choice([0, 0, 0, 0, self._span(600) / SECOND]),
            deadline=(SHORTEST_DEADLINE + self._span(900)) / SECOND,
            head_start=rng.choice([0, self._span(300) / SECOND]),  # its place is nobody's age
        )
        self.life.enqueued_at = self._store.put(new).enqueued_at
        self._append(self._item)

    def write(self, *, steps: int) -> Life:
        while len(self.life.steps) < steps and self._next():
            pass
        return self.life

    def _next(self) -> bool:
        """One more step; False when nothing more happens."""
        rng, store, name, task = self._rng, self._store, self._id, self._store.get(self._id)
        if self.life.steps[-1].status is None or task is None:
            return False
        if rng.random() < 0.02:
            return self._delete(LONGEST_WINDOW, 60)  # by an operator
        error = TaskError(type=rng.choice(["Timeout", "ValueError"]), message="bad")
        delay = rng.choice([0, self._span(60) / SECOND])
        claim = (rng.choice([5, 60, 600]), lambda: store.claim(name, claim_id="c", lease=30))
        promote = (60, lambda: store.promote(name))
        cancel = (300, lambda: store.cancel(name))
        succeed = (30, lambda: store.succeed(task, "{}"))
        fail = (30, lambda: store.fail(task, error))
        retry = (30, lambda: store.retry(task, error, delay=delay))
        stop = (30, lambda: (store.cancel(name), store.end_cancelled(task)))
        redrive = (600, lambda: store.redrive(name))
        choices: dict[Status, list[tuple[int, Callable[[], object]]]] = {
            Status.PENDING: [claim, claim, cancel, EXPIRE],
            Status.DELAYED: [promote, promote, cancel, EXPIRE],
            Status.TAKEN: [*[succeed] * 3, *[fail, retry] * 2, stop],
            Status.SUCCESS: [RETIRE],
            Status.FAILURE: [redrive, RETIRE],
            Status.CANCELLED: [RETIRE],
        }
        chosen = rng.choice(choices[task.status])
        if chosen is RETIRE:
            return self._delete(SHORTEST_RETENTION, 1800)
        if chosen is promote:
            self._host.time = max(self._host.time, self._item["dueAt"])
        seconds, action = chosen
        self._pass(seconds)
        if chosen is EXPIRE or (task.waiting and self._host.time >= task.expires_at):
            # TTL deletes, some time after the deadline; or has not come round to it yet.
            self._host.time = max(self._host.time, task.expires_at)
            return self._delete(LONGEST_WINDOW if task.first_taken_at else 0, 1800)
        action()
        self._append(self._item)
        return True

    def _delete(self, least: int, more: int) -> bool:
        self._host.time += least
        self._pass(more)
        self._append(None)
        return False

    @property
    def _item(self) -> Item:
        return self._table.get(self._id) or {}

    def _span(self, seconds: int) -> int:
        """Up to so many seconds; often whole ones, so that events meet bucket edges."""
        micros = self._rng.randrange(1, seconds * SECOND)
        return self._rng.choice([micros, -(-micros // SECOND) * SECOND])

    def _pass(self, seconds: int) -> None:
        self._host.time += self._span(seconds)
        if self._rng.random() < 0.2:
            self._host.time = -(-self._host.time // (60 * SECOND)) * 60 * SECOND

    def _append(self, item: Item | None) -> None:
        latency = self._rng.choice([0, 1, self._rng.randrange(50_000)])
        earliest = self.life.steps[-1].at + 1 if self.life.steps else 0
        at = max(self._host.time + latency, earliest)
        status = None if item is None else Status(item["taskStatus"])
        self.life.steps.append(Step(now=self._host.time, at=at, status=status, item=item))
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
