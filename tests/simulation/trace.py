"""The events of a run, in order: the schedule that a failing seed prints."""

from typing import Final

from lifoq.basics.host import MICROSECONDS
from tests.virtual.scheduler import Scheduler

SHOWN: Final = 60
"""Events before a violation that its schedule shows, beside those of the task in question."""

Event = tuple[int, str, str, str]
"""Time, strand, task id or "", text."""


class Trace:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.events: list[Event] = []

    def add(self, text: str, task_id: str = "") -> None:
        here = self._scheduler
        self.events.append((here.time, here.current.name, task_id, text))

    def schedule(self, task_id: str | None = None) -> list[str]:
        """The last events, and all that concern the task."""
        since = len(self.events) - SHOWN
        return [
            self._line(event)
            for place, event in enumerate(self.events)
            if place >= since or (task_id is not None and event[2] == task_id)
        ]

    def _line(self, event: Event) -> str:
        time, strand, task_id, text = event
        seconds = (time - self._scheduler.start) / MICROSECONDS
        return f"{seconds:12.6f}  {strand:<34}  {task_id:<14}  {text}"
