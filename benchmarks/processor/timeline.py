"""Measure what a slot waits for between two tasks: each step from a handler's end to the next one's
beginning."""

import time
from collections.abc import Mapping
from statistics import median
from typing import Annotated, Final

from benchmarks.bare import Ground
from benchmarks.record import Row
from lifoq import Context, Processor, Registry, WorkerSettings

SLOTS: Final = 4
SERVICE: Final = 0.4
"""Seconds; with four slots, ten tasks are done a second."""


class Step(Row):
    what: Annotated[str, ""]
    ms: Annotated[float, "ms, median"]


def timeline(here: Ground, *, tasks: int) -> list[Step]:
    registry, begun, ended = Registry(), dict[str, float](), list[tuple[float, str]]()

    @registry.task("empty")
    def handle(_payload: object, context: Context) -> None:
        begun[context.task_id] = time.perf_counter()
        time.sleep(SERVICE)
        ended.append((time.perf_counter(), context.task_id))

    here.fill(tasks)
    store, calls = here.recorded()
    Processor(store, registry, WorkerSettings(in_flight=SLOTS, linger=0)).run()
    noted = [
        (operation, request.get("Key", {}).get("taskId", {}).get("S", ""), began, at)
        for operation, request, began, at in calls.noted
    ]
    return steps(noted, begun, ended)


def steps(
    calls: list[tuple[str, str, float, float]],
    begun: Mapping[str, float],
    ended: list[tuple[float, str]],
) -> list[Step]:
    polls = [(began, at) for name, _, began, at in calls if name == "Query"]
    writes: dict[str, list[tuple[float, float]]] = {}
    for name, task_id, began, at in sorted(calls, key=lambda call: call[2]):
        if name == "UpdateItem" and task_id in begun:
            writes.setdefault(task_id, []).append((began, at))
    found: list[tuple[float, ...]] = []
    order = sorted(begun, key=lambda task_id: begun[task_id])
    for (free, before), task_id in zip(ended, order[SLOTS:], strict=False):  # a slot for each end
        claim, settle = writes[task_id][0], writes[before][-1]
        poll = max((poll for poll in polls if poll[1] <= claim[0]), default=(free, free))
        found.append(
            (
                max(0.0, poll[0] - free),
                poll[1] - max(poll[0], free),
                claim[0] - poll[1],
                claim[1] - claim[0],
                begun[task_id] - claim[1],
                begun[task_id] - free,
                settle[1] - settle[0],
            )
        )
    names = (
        "the handler has returned: until the poll is sent",
        "the poll for the newest rows",
        "the newest is chosen: until its claim is sent",
        "its claim",
        "it is read: until its handler begins",
        "all of it: the slot was idle",
        "beside it: the first task's outcome is written",
    )
    return [
        Step(what=what, ms=round(1_000 * median(column), 2))
        for what, column in zip(names, zip(*found, strict=True), strict=True)
    ]
