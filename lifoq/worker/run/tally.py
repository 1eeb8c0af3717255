"""The counting of what a run does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.health.pressure import Starts
from lifoq.items.task import Task
from lifoq.worker.run.attempt_and_messages import Settled, Settlement
from lifoq.worker.run.report import RunReport

PROGRESS_EVERY: Final = 5.0
"""Seconds between two reports of progress."""


class Tally:
    """Counts what a run does, and reports it every few seconds and at the end. Used by the thread
    of the run only."""

    def __init__(
        self, on_progress: Callable[[RunReport], None], now: int, *, keeps_times: bool = True
    ) -> None:
        """``keeps_times``: True to keep each wait and service in the sum. A run without an end
        would gather them for ever."""
        self._on_progress = on_progress
        self._keeps_times = keeps_times
        self.report = RunReport()
        """The sum of all that was reported as progress."""
        self.of_now = RunReport()
        """The counts since the last report of progress."""
        self.tell_at = now + microseconds(PROGRESS_EVERY)
        self._since = now
        self._started = 0
        self._waits: list[float] = []
        """Waits of the tasks that were started since the last note (see ``to_note``), in
        seconds."""

    def claimed(self, task: Task) -> None:
        """Count a claim, and the wait of a task that was claimed for the first time."""
        self.of_now.claimed += 1
        self._started += 1
        if task.taken_at is not None and task.taken_at == task.first_taken_at:
            waited = (task.taken_at - task.enqueued_at) / MICROSECONDS
            self.of_now.waits.append(waited)
            self._waits.append(waited)

    def to_note(self, now: int, *, least: float) -> Starts | None:
        """Return the note for producers: the tasks started since the last note. None before
        ``least`` seconds have passed, or if none was started."""
        seconds, number = (now - self._since) / MICROSECONDS, self._started
        if seconds < least:
            return None
        wait = sum(self._waits) / len(self._waits) if self._waits else None
        self._since, self._started, self._waits = now, 0, []
        return Starts(seconds=seconds, number=number, wait=wait) if number else None

    def ended(self, settled: Settled, *, seconds: float) -> None:
        """Count the end of an attempt that took so many ``seconds``."""
        report = self.of_now
        match settled.how:
            case Settlement.SUCCEEDED:
                report.succeeded += 1
                report.services.append(seconds)
            case Settlement.FAILED:
                report.failed += 1
            case Settlement.RETRIED:
                report.retried += 1
            case Settlement.CANCELLED:
                report.cancelled += 1
            case Settlement.LEASE_LOST:
                report.leases_lost += 1
            case Settlement.UNSETTLED:
                report.unsettled += 1

    def tell(self, now: int) -> None:
        """Report what was done since the last report. Raises what the caller's function raises;
        the counts are up to date then, too."""
        told, self.of_now = self.of_now, RunReport()
        self.report.add(told if self._keeps_times else replace(told, waits=[], services=[]))
        self.tell_at = now + microseconds(PROGRESS_EVERY)
        self._on_progress(told)
