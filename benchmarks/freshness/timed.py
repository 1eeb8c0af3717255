"""A store that tells how long its calls took."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lifoq.items.task import NewTask, Task
from lifoq.tables.store import Candidates, Store


class TimedStore(Store):
    """``seconds`` of each call of a worker, by name."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def candidates(self, **options: Any) -> Candidates:
        with self._timed("query"):
            return super().candidates(**options)

    def claim(self, task_id: str, **terms: Any) -> Task:
        with self._timed("claim"):
            return super().claim(task_id, **terms)

    def succeed(self, task: Task, result: str, follow_ups: Sequence[NewTask] = ()) -> None:
        with self._timed("settle"):
            super().succeed(task, result, follow_ups)

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[call].append(time.perf_counter() - began)
