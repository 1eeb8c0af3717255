"""One change for all tasks that match: previewed first, then made task by task in a thread."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lifoq.client.cells import Cells
from lifoq.client.listing import Wanted
from lifoq.client.queue import Queue
from lifoq.errors import DamagedTask, LifoqError, TaskNotFound, WrongStatus
from lifoq.items.schema import Status
from lifoq.items.task import Task

log = logging.getLogger(__name__)

SHOWN: Final = 20
COUNTED: Final = 1_000
"""Tasks that a preview counts at the most."""
_PAGE: Final = 100


class Action(StrEnum):
    """An action on a task."""

    RUN = "run"
    CANCEL = "cancel"
    REDRIVE = "redrive"
    DELETE = "delete"

    def apply(self, queue: Queue | Cells, task_id: str, *, running: bool) -> Task:
        """``running``: cancel also one that has started."""
        if self is Action.CANCEL:
            return queue.cancel(task_id, running=running)
        calls = {Action.RUN: queue.run_now, Action.REDRIVE: queue.redrive}
        return calls.get(self, queue.delete)(task_id)


ACTIONS: Final[Mapping[Status, tuple[Action, ...]]] = {
    Status.PENDING: (Action.CANCEL,),
    Status.DELAYED: (Action.RUN, Action.CANCEL),
    Status.TAKEN: (Action.CANCEL,),
    Status.FAILURE: (Action.REDRIVE, Action.DELETE),
    Status.SUCCESS: (Action.DELETE,),
    Status.CANCELLED: (Action.DELETE,),
}
"""The actions on tasks of each status."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    number: int
    more: bool
    """True if there are more tasks than were counted."""
    first: list[Task]


def preview(queue: Queue | Cells, wanted: Wanted) -> Preview:
    found = matching(queue, wanted)
    tasks = [task for task, _ in zip(found, range(COUNTED), strict=False)]
    return Preview(number=len(tasks), more=next(found, None) is not None, first=tasks[:SHOWN])


class Bulk:
    """A change under way, or over. Read by the pages while its own thread works."""

    def __init__(
        self,
        queue: Queue | Cells,
        ids: Iterable[str],
        action: Action,
        *,
        status: Status,
        per_second: float | None = None,
    ) -> None:
        """``ids``: of tasks of this status, which its thread looks up."""
        self.status = status
        self.action = action
        self.per_second = per_second
        self.matched = 0
        self.done = 0
        self.passed_over = 0
        """Tasks that were no longer what they were: claimed, ended, gone, or damaged."""
        self.problem: str | None = None
        """Why it stopped before its end."""
        self._queue = queue
        self._ids = ids
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Change no further task; what was changed stays so."""
        self._stop.set()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    @property
    def was_stopped(self) -> bool:
        return self._stop.is_set()

    def _run(self) -> None:
        try:
            # The ids first: a redriven task may fail again, and come by a second time.
            for task_id in list(self._counted()):
                if self._stop.is_set():
                    return
                self._change(task_id)
                if self.per_second:
                    self._stop.wait(1 / self.per_second)
        except LifoqError as error:
            self.problem = str(error)
        except Exception as error:
            log.exception("the bulk change stopped")
            self.problem = (
                f"{type(error).__name__}: {error}; the console's own terminal tells where."
            )

    def _counted(self) -> Iterator[str]:
        for task_id in self._ids:
            if self._stop.is_set():
                return
            self.matched += 1
            yield task_id

    def _change(self, task_id: str) -> None:
        try:
            running = self.status is Status.TAKEN
            self.action.apply(self._queue, task_id, running=running)
            self.done += 1
        except (WrongStatus, TaskNotFound, DamagedTask):
            self.passed_over += 1


def matching(queue: Queue | Cells, wanted: Wanted) -> Iterator[Task]:
    start = None
    while True:
        page = queue.search(wanted, limit=_PAGE, start=start)
        yield from page.tasks
        start = page.next
        if start is None:
            return
