"""A task's life as stretches of time: what it waited for, each attempt, and how each ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lifoq.items import attempt_history
from lifoq.items.attempt_history import Ended, PastAttempt
from lifoq.items.schema import Status
from lifoq.items.task import Task

WIDTH: Final = 1_000
"""The units of the whole life, in a drawing."""
_LEAST: Final = 5
"""The units of a stretch that is too short to be seen."""

_ENDED: Final = {
    Ended.RETRIED: ("shed", "failed, to be tried again"),
    Ended.FAILED: ("failed", "failed for good"),
    Ended.SUCCEEDED: ("done", "succeeded, for a put that was replaced"),
    Ended.NOT_COUNTED: ("backoff", "did not count"),
    Ended.LEASE_EXPIRED: ("failed", "its worker was lost"),
    Ended.CANCELLED: ("backoff", "ended, the task being cancelled"),
}
"""The colour (a class of the style sheet) and the words of an attempt that ended."""
_LAST: Final = {
    Status.SUCCESS: ("done", "succeeded"),
    Status.FAILURE: ("failed", "failed for good"),
    Status.CANCELLED: ("backoff", "ended, the task being cancelled"),
}
"""The same, for an attempt that brought the task to its end."""
_AFTER: Final = {
    Ended.RETRIED: ("backoff", "backs off, and waits"),
    Ended.FAILED: ("backoff", "in FAILURE, then redriven"),
}
"""The colour and the words of the time between an attempt and the next."""
_WAITS: Final = ("waiting", "waits")


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A stretch of a task's life, in epoch microseconds."""

    shows: str
    """Its colour: a class of the style sheet."""
    title: str
    """The words for it: ``waits``, ``attempt 2``."""
    start: int
    end: int
    outcome: str = ""
    """The words for its end."""
    error_type: str | None = None
    message: str | None = None
    is_cut: bool = False
    """True if the message may have been longer."""
    lasts: bool = False
    """True if it has not ended yet."""

    @property
    def seconds(self) -> float:
        return max(0, self.end - self.start) / 1e6


@dataclass(frozen=True, kw_only=True)
class Life:
    stretches: tuple[Stretch, ...]

    @property
    def start(self) -> int:
        return min((one.start for one in self.stretches), default=0)

    @property
    def end(self) -> int:
        return max((one.end for one in self.stretches), default=0)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e6

    def bar(self, stretch: Stretch) -> tuple[float, float]:
        """Return where the bar of a stretch begins, and its width, in ``WIDTH`` units."""
        units = WIDTH / max(1, self.end - self.start)
        width = max(_LEAST, (stretch.end - stretch.start) * units)
        return round(min((stretch.start - self.start) * units, WIDTH - width), 1), round(width, 1)


def life(task: Task, *, now: int) -> Life:
    """Return the life of a task up to ``now``; one that is DELAYED, until it is due."""
    attempts = list(_attempts(task, now))
    return Life(stretches=tuple(_between(task, attempts, now)))


def _attempts(task: Task, now: int) -> Iterator[tuple[Stretch, Ended | None]]:
    """Yield each attempt that is known, and how it ended as the item's history has it."""
    for past in task.history:
        yield _past(past), past.ended
    if task.taken_at is None or task.taken_at in [past.taken_at for past in task.history]:
        return
    latest = Stretch(
        shows="taken", title=f"attempt {task.attempts}", start=task.taken_at, end=now, lasts=True
    )
    if task.status is Status.TAKEN:
        yield replace(latest, outcome="at work"), None
    elif task.finished_at is not None and task.status in _LAST:
        shows, outcome = _LAST[task.status]
        yield replace(latest, shows=shows, outcome=outcome, end=task.finished_at, lasts=False), None


def _past(past: PastAttempt) -> Stretch:
    shows, outcome = _ENDED[past.ended]
    kept = len(f"{past.error_type}{past.message}".encode())
    return Stretch(
        shows=shows,
        title=f"attempt {past.attempt}",
        start=past.ended_at if past.taken_at is None else past.taken_at,
        end=past.ended_at,
        outcome=outcome,
        error_type=past.error_type,
        message=past.message,
        is_cut=kept
        > attempt_history.MAX_ERROR_BYTES - 4,  # a character more may have had four bytes
    )


def _between(
    task: Task, attempts: Sequence[tuple[Stretch, Ended | None]], now: int
) -> Iterator[Stretch]:
    """Yield attempts, and before, between and after them the waits."""
    at, ended = task.enqueued_at, None
    if len(task.history) == attempt_history.MOST and at < attempts[0][0].start:
        forgotten = "waits, and attempts that are no longer kept"
        yield Stretch(shows="backoff", title=forgotten, start=at, end=attempts[0][0].start)
        at = attempts[0][0].start
    for attempt, how in attempts:
        yield from _waits(task, at, attempt.start, after=ended)
        yield attempt
        at, ended = attempt.end, how
    if task.status is Status.DELAYED:
        start = at if attempts else min(now, task.task_updated)
        yield Stretch(
            shows="backoff",
            title="backs off" if attempts else "is delayed",
            start=start,
            end=max(start, task.due_at or now),
            outcome="until it is due",
            lasts=True,
        )
    elif task.status is Status.PENDING:
        until = min(now, task.expires_at)
        *before, last = _waits(task, at, until, after=ended, even_if_short=True)
        yield from before
        outcome = "shed at its deadline" if task.expired(now) else ""
        yield replace(last, outcome=outcome, lasts=not task.expired(now))
    elif task.finished_at is not None and not (attempts and task.finished_at <= at):
        *before, last = _waits(task, at, task.finished_at, after=ended, even_if_short=True)
        yield from before
        yield replace(last, outcome=f"ended as {task.status}")


def _waits(
    task: Task, start: int, end: int, *, after: Ended | None, even_if_short: bool = False
) -> Iterator[Stretch]:
    """Yield the wait between two moments; ``after``: how the attempt before it ended. What is known
    of a redrive, or of the end of a backoff, divides it."""
    if end <= start and not even_if_short:
        return
    turn = _entered_again(task, after)
    if turn is not None and start < turn < end:
        titles = {Ended.FAILED: "in FAILURE", Ended.RETRIED: "backs off"}
        title = titles.get(after, "ended") if after else "ended"
        yield Stretch(shows="backoff", title=title, start=start, end=turn)
        start, after = turn, None
    shows, title = _WAITS if after is None else _AFTER.get(after, _WAITS)
    yield Stretch(shows=shows, title=title, start=start, end=max(start, end))


def _entered_again(task: Task, after: Ended | None) -> int | None:
    """Return when the task entered the line after an attempt, where its item still tells."""
    if after is Ended.RETRIED:
        return task.task_updated if task.status is Status.PENDING else None
    if after is Ended.FAILED and task.task_created is not None:
        return task.task_created - task.head_start  # of a redrive
    return task.enqueued_at if after else None  # of a put that replaced it
