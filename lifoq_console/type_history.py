"""The last hour, day or week of one task type, from tasks that were read of the table. CloudWatch's
metrics do not know types."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq_console.traffic import PARTS, Series, parts_to_show

_SHARES: Final = {"median": 0.5, "p95": 0.95}


@dataclass(frozen=True, kw_only=True)
class TypeHistory:
    """Values for each of the last PARTS parts, oldest first; None where there is none."""

    step: int
    """Seconds that one part stands for."""
    starts: tuple[int, ...]
    """The beginnings of the parts, in epoch seconds."""
    ended: Mapping[str, Series]
    """Tasks in that part, by how they ended: ``done``, ``failed``, ``shed``."""
    waits: Mapping[str, Series]
    """Seconds from the put to the first attempt: ``median`` and ``p95`` of those that began."""
    runs: Mapping[str, Series]
    """Seconds of the last attempt: ``median`` and ``p95`` of those that were done."""
    tasks: int
    """Tasks of the type that were read."""

    @property
    def is_empty(self) -> bool:
        drawn = (*self.ended.values(), *self.waits.values())
        return all(value is None for series in drawn for value in series)

    def to_show(self) -> "TypeHistory":
        """Return the latest parts alone, where nothing is known of those before."""
        groups = (self.ended, self.waits, self.runs)
        parts = parts_to_show(values for group in groups for values in group.values())
        ended, waits, runs = (
            {name: values[-parts:] for name, values in group.items()} for group in groups
        )
        return replace(self, starts=self.starts[-parts:], ended=ended, waits=waits, runs=runs)


def type_history(tasks: Iterable[Task], task_type: str, *, now: int, step: int) -> TypeHistory:
    """Return what the tasks of a type tell of the PARTS parts before ``now`` (epoch
    microseconds)."""
    own = [task for task in tasks if task.task_type == task_type]
    end = now // MICROSECONDS // step * step + step
    starts = tuple(range(end - PARTS * step, end, step))
    waits = [
        (task.first_taken_at, task.first_taken_at - task.enqueued_at)
        for task in own
        if task.first_taken_at is not None
    ]
    runs = [
        (task.finished_at, task.finished_at - task.taken_at)
        for task in own
        if task.status is Status.SUCCESS and task.finished_at and task.taken_at
    ]
    return TypeHistory(
        step=step,
        starts=starts,
        ended={
            name: tuple(len(part) or None for part in _parts(times, starts, step))
            for name, times in _ends(own, now).items()
        },
        waits=_spread(waits, starts, step),
        runs=_spread(runs, starts, step),
        tasks=len(own),
    )


def _ends(tasks: list[Task], now: int) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {"done": [], "failed": [], "shed": []}
    names = {Status.SUCCESS: "done", Status.FAILURE: "failed"}
    for task in tasks:
        if task.status in names:
            found[names[task.status]].append((task.finished_at or task.task_updated, 1))
        elif task.waiting and task.expired(now):
            found["shed"].append((task.expires_at, 1))
    return found


def _spread(
    times: Iterable[tuple[int, int]], starts: tuple[int, ...], step: int
) -> dict[str, Series]:
    parts = [sorted(part) for part in _parts(times, starts, step)]
    return {
        name: tuple(
            max(0, part[math.ceil(share * len(part)) - 1]) / MICROSECONDS if part else None
            for part in parts
        )
        for name, share in _SHARES.items()
    }


def _parts(
    times: Iterable[tuple[int, int]], starts: tuple[int, ...], step: int
) -> Iterator[list[int]]:
    """Yield the values of each part; ``times``: each value with its time, in microseconds."""
    parts: dict[int, list[int]] = {start: [] for start in starts}
    for at, value in times:
        part = parts.get(at // MICROSECONDS // step * step)
        if part is not None:
            part.append(value)
    yield from parts.values()
