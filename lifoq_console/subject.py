"""The queue that the console is about, and what else tells of it."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.errors import LifoqError
from lifoq.health.statistics import QueueStats
from lifoq.operating.processing import Switch, known_paused
from lifoq.operating.task_log import TaskLogs
from lifoq_console import traffic
from lifoq_console.traffic import Kept, Look, Traffic

_FRESH: Final = 20.0
"""Seconds for which what CloudWatch said is used again: it is asked for money, and has a new value
once a minute."""
_GLANCE: Final = 15.0
"""Seconds for which the numbers in the tabs are used again."""
_BETWEEN_TRIALS: Final = 5.0
"""Seconds between two trials to find a queue again."""
_LOOKS: Final = 720
"""An hour's, where one page is open."""


@dataclass(kw_only=True)
class Subject:
    name: str
    queue: Queue | Cells
    cloudwatch: Any = None
    """A boto3 client; None: there are no metrics."""
    processing: Switch | None = None
    logs: TaskLogs | None = None
    """Finds the log lines of a task; None: nobody knows where they are."""
    connect: Callable[[], "Subject"] | None = None
    """Looks the same queue up anew. It raises LifoqError."""
    problem: str | None = field(default=None, init=False)
    """Why there are no metrics."""
    looked: QueueStats | None = field(default=None, init=False)
    """The table's numbers at the latest reading."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[float, Kept | None]] = {}
        """The time when CloudWatch was asked, and what it said, by the length of its parts."""
        self._looks: deque[Look] = deque(maxlen=_LOOKS)
        self._looked_at = -_GLANCE
        self._tried_at = -_BETWEEN_TRIALS

    @property
    def is_paused(self) -> bool:
        return known_paused(self.processing)

    def look(self) -> QueueStats:
        """Read the table's numbers now."""
        self.looked = stats = self.queue.stats()
        self._looks.append(Look.of(stats, at=time.time()))
        self._looked_at = time.monotonic()
        return stats

    def glance(self) -> None:
        """Read the table's numbers if they are no longer fresh."""
        if time.monotonic() - self._looked_at >= _GLANCE:
            self.look()

    def finds_again(self) -> bool:
        """Look the queue up anew, and return True if it has become another: its local cloud was
        started anew, say. It is tried every few seconds at the most."""
        with self._lock:
            now = time.monotonic()
            if self.connect is None or now - self._tried_at < _BETWEEN_TRIALS:
                return False
            self._tried_at = now
            try:
                found = self.connect()
            except LifoqError:
                return False
            if _tables(found.queue) == _tables(self.queue):
                return False
            self.queue, self.cloudwatch = found.queue, found.cloudwatch
            self.processing, self.logs = found.processing, found.logs
            self._kept.clear()
            self._looks.clear()
            return True

    def traffic(self, step: int) -> Traffic | None:
        """Return the traffic in parts of so many seconds, with what the console saw itself; None
        where CloudWatch does not answer, and ``problem`` says why."""
        with self._lock:
            asked, found = self._kept.get(step, (-_FRESH, None))
            if self.cloudwatch is not None and time.monotonic() - asked >= _FRESH:
                try:
                    found = traffic.read(self.cloudwatch, self.name, time.time(), step)
                    self.problem = None
                except (BotoCoreError, ClientError) as error:
                    found, self.problem = None, str(error)
                self._kept[step] = time.monotonic(), found
            return None if found is None else found.with_looks(tuple(self._looks))


def _tables(queue: Queue | Cells) -> list[str]:
    cells = queue.queues.values() if isinstance(queue, Cells) else [queue]
    return [cell.store.table.name for cell in cells]
