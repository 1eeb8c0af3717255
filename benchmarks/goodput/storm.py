"""A retry storm: clients that put a new task for what they did not get in time.

A client waits for its patience, then asks again, a few times. Nobody withdraws what was put before:
the queue cannot tell a task that somebody waits for from one that nobody does.
"""

import random
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Final

from benchmarks.goodput.queue import PATIENCE, Policy, Queue, Start, arrivals
from benchmarks.goodput.results import Storm

CALM: Final = 0.7
"""Load before and after the burst, without repeats."""
BURST: Final = 3.0
REPEATS: Final = 3
"""At most, for one request; then its client gives up."""
BEGINS: Final = 100.0
ENDS: Final = 160.0
"""Of the burst."""
LAST: Final = 800.0
BUCKET: Final = 20.0


@dataclass(kw_only=True)
class _Request:
    service: float
    repeats_left: int = REPEATS


class _Run:
    def __init__(self, policy: Policy, seed: int) -> None:
        self.work = [0.0] * round(LAST / BUCKET)
        """In time, of each bucket."""
        self._waited_for: dict[str, _Request] = {}
        """By task; a client waits for the last that it put."""
        self._queue = Queue(policy, self._started)
        phases = ((BEGINS, CALM), (ENDS - BEGINS, BURST), (LAST - ENDS, CALM))
        begin = arrivals(phases, random.Random(seed))
        self._queue.feed(begin, lambda service: self._ask(_Request(service=service)))
        self._queue.run(LAST)

    def _ask(self, request: _Request) -> None:
        task_id = self._queue.put(request.service)
        self._waited_for[task_id] = request
        self._queue.at(self._queue.now + PATIENCE, partial(self._give_up, task_id))

    def _started(self, start: Start) -> None:
        if request := self._waited_for.pop(start.task_id, None):
            self.work[int(start.moment / BUCKET)] += request.service

    def _give_up(self, task_id: str) -> None:
        """The patience with this task is over."""
        if (request := self._waited_for.pop(task_id, None)) and request.repeats_left:
            request.repeats_left -= 1
            self._ask(request)


def storm(policy: Policy, *, seeds: int) -> Storm:
    """The mean of several."""
    runs = [_Run(policy, seed).work for seed in range(seeds)]
    named = f"{policy.name}, deadline {policy.deadline:g}"
    return Storm(
        policy=policy.name if "no deadline" in policy.name else named,
        goodput=[fmean(same) / BUCKET for same in zip(*runs, strict=True)],
    )
