"""Random histories of a queue's table: what was written when, and exports of it.

A history is made step by step, as producers, workers, the sweep, operators and TTL would; the
truth about it is told from the steps (see ``truth``), the exports from the items.

What exports cannot show is left out: no task is claimed, finished or put in the same window that
its deletion falls into (windows are no longer than ``LONGEST_WINDOW``).
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifoq.items.schema import Status
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
    """Writes one life; every choice comes from ``rng``."""

    def __init__(self, rng: random.Random, *, task_id: str, task_type: str, put_at: int) -> None:
        self._rng = rng
        self._now = put_at
        delay = rng.choice([0, 0, 0, 0, self._span(600)])
        enqueued = put_at + delay
        self.life = Life(task_id=task_id, task_type=task_type, enqueued_at=enqueued)
        deadline = SHORTEST_DEADLINE + self._span(900)
        self._item: dict[str, Any] = {
            "taskId": task_id,
            "taskType": task_type,
            "enqueuedAt": enqueued,
            "expiresAt": enqueued + deadline,
            "payload": '{"n": 1, "text": "\\"taskId\\": {\\"S\\": \\"x\\"} </script> ünï"}',
            "attempts": 0,
        }
        ahead = rng.choice([0, self._span(300)])  # its place is nobody's age
        if ahead:
            self._item["headStart"] = ahead
        if delay:
            self._write(Status.DELAYED, dueAt=enqueued)
        else:
            self._write(Status.PENDING, taskCreated=put_at + ahead)

    def write(self, *, steps: int) -> Life:
        while len(self.life.steps) < steps and self._next():
            pass
        return self.life

    def _next(self) -> bool:
        """One more step; False when nothing more happens."""
        status = self.life.steps[-1].status
        if self._rng.random() < 0.02:
            return self._operator_deletes()
        choices = {
            Status.PENDING: [self._claim, self._claim, self._cancel, self._expire],
            Status.DELAYED: [self._promote, self._promote, self._cancel, self._expire],
            Status.TAKEN: [*[self._succeed] * 3, *[self._fail, self._retry] * 2, self._stop],
            Status.SUCCESS: [self._retire],
            Status.FAILURE: [self._redrive, self._retire],
            Status.CANCELLED: [self._retire],
        }
        return status is not None and self._rng.choice(choices[status])()

    def _claim(self) -> bool:
        self._pass(self._rng.choice([5, 60, 600]))
        if self._now >= self._deadline:
            return self._expire()
        self._item.setdefault("firstTakenAt", self._now)
        self._item["attempts"] = self._item["attempts"] + 1
        self._write(Status.TAKEN, takenAt=self._now, claimId=f"c{self._rng.random()}")
        return True

    def _succeed(self) -> bool:
        self._pass(30)
        self._write(Status.SUCCESS, finishedAt=self._now, result="{}")
        return True

    def _fail(self) -> bool:
        self._pass(30)
        self._write(
            Status.FAILURE,
            finishedAt=self._now,
            error=self._rng.choice(
                ['{"type":"Timeout","message":"slow"}', '{"type":"ValueError","message":"bad"}']
            ),
        )
        return True

    def _retry(self) -> bool:
        self._pass(30)
        self._item["history"] = [*self._item.get("history", ()), {"how": "RETRIED", "type": "E"}]
        status = self._rng.choice([Status.DELAYED, Status.PENDING])
        self._write(status, dueAt=self._now + self._span(60))
        return True

    def _promote(self) -> bool:
        self._now = max(self._now, self._item.get("dueAt", 0))
        self._pass(60)
        if self._now >= self._deadline:
            return self._expire()
        self._write(Status.PENDING)
        return True

    def _cancel(self) -> bool:
        self._pass(300)
        if self._now >= self._deadline:
            return self._expire()
        self._write(Status.CANCELLED, finishedAt=self._now)
        return True

    def _stop(self) -> bool:
        """It was cancelled while it ran."""
        self._pass(30)
        self._write(Status.CANCELLED, finishedAt=self._now, cancelAsked=self._now)
        return True

    def _redrive(self) -> bool:
        self._pass(600)
        self._item["expiresAt"] = self._now + SHORTEST_DEADLINE
        self._item["attempts"] = 0
        for name in ("finishedAt", "error"):
            self._item.pop(name, None)
        self._write(Status.PENDING)
        return True

    def _expire(self) -> bool:
        """TTL deletes, some time after the deadline; or has not come round to it yet."""
        self._now = max(self._now, self._deadline)
        if "firstTakenAt" in self._item:
            self._now += LONGEST_WINDOW
        self._pass(1800)
        return self._delete()

    def _retire(self) -> bool:
        self._now += SHORTEST_RETENTION
        self._pass(1800)
        return self._delete()

    def _operator_deletes(self) -> bool:
        if self.life.steps[-1].status is None:
            return False
        self._now += LONGEST_WINDOW
        self._pass(60)
        return self._delete()

    def _delete(self) -> bool:
        self._append(None, None)
        return False

    @property
    def _deadline(self) -> int:
        return self._item["expiresAt"]

    def _span(self, seconds: int) -> int:
        """Up to so many seconds; often whole ones, so that events meet bucket edges."""
        micros = self._rng.randrange(1, seconds * SECOND)
        return self._rng.choice([micros, -(-micros // SECOND) * SECOND])

    def _pass(self, seconds: int) -> None:
        self._now += self._span(seconds)
        if self._rng.random() < 0.2:
            self._now = -(-self._now // (60 * SECOND)) * 60 * SECOND

    def _write(self, status: Status, **attributes: int | str) -> None:
        self._item.update(attributes, taskStatus=status.value, taskUpdated=self._now)
        self._append(status, dict(self._item))

    def _append(self, status: Status | None, item: Item | None) -> None:
        latency = self._rng.choice([0, 1, self._rng.randrange(50_000)])
        earliest = self.life.steps[-1].at + 1 if self.life.steps else 0
        at = max(self._now + latency, earliest)
        self.life.steps.append(Step(now=self._now, at=at, status=status, item=item))
        self.life.deadlines.append(self._item["expiresAt"])
        self._now = at


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
