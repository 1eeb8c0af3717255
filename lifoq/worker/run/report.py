"""The report of a run of the processor."""

from dataclasses import dataclass, field, fields
from typing import Any

from lifoq.errors import LifoqError
from lifoq.metrics import Metric


@dataclass(kw_only=True)
class RunReport:
    """Counts of what a run did. Durations are in seconds.

    Examples:
        >>> report = Processor(queue.store, Registry(), WorkerSettings(linger=0)).run()
        >>> report.claimed, report.remaining
        (0, False)
    """

    claimed: int = 0
    """Claims: attempts that were begun."""
    succeeded: int = 0
    """Tasks that ended in SUCCESS."""
    failed: int = 0
    """Tasks that ended in FAILURE."""
    retried: int = 0
    """Attempts that failed, of tasks that are tried again."""
    cancelled: int = 0
    """Attempts that ended because somebody cancelled the task while it ran."""
    timed_out: int = 0
    """Attempts that took longer than their timeout."""
    leases_lost: int = 0
    """Attempts that lost their lease."""
    unsettled: int = 0
    """Attempts whose outcome could not be written. Their leases run out, and the tasks run
    again."""
    promoted: int = 0
    """DELAYED tasks whose time had come, and which the run let into the queue."""
    dead_lettered: int = 0
    """Damaged items that the run put into FAILURE."""
    waits: list[float] = field(default_factory=list)
    """Seconds from the put to the first claim, for each task claimed for the first time."""
    services: list[float] = field(default_factory=list)
    """Seconds from the claim to the settlement, for each success."""
    limits: dict[str, float] = field(default_factory=dict)
    """Tasks at a time that the worker has found by now, by task type with adaptive concurrency."""
    remaining: bool = False
    """True if tasks still wait that could be claimed."""

    def add(self, more: "RunReport") -> None:
        """Add the counts of another part of the run.

        Args:
            more: The report of that part.
        """
        for field_ in fields(self):
            mine, other = getattr(self, field_.name), getattr(more, field_.name)
            setattr(self, field_.name, _sum(mine, other))

    def counts(self) -> dict[Metric, float]:
        """Return the counts as metrics. Waits and services are not among them: each is a metric of
        its own."""
        return {
            Metric.TASKS_CLAIMED: self.claimed,
            Metric.TASKS_SUCCEEDED: self.succeeded,
            Metric.TASKS_FAILED: self.failed + self.dead_lettered,
            Metric.TASKS_RETRIED: self.retried,
            Metric.TASKS_TIMED_OUT: self.timed_out,
            Metric.TASKS_UNSETTLED: self.unsettled,
            Metric.LEASES_LOST: self.leases_lost,
            Metric.TASKS_PROMOTED: self.promoted,
        }

    @property
    def needs_another_run(self) -> bool:
        """True if the run should call the next one (a tail call). That needs progress: if this run
        claimed nothing, the next would do no better, and a broken dependency would spin the
        loop."""
        return self.remaining and self.claimed > 0


def _sum(mine: Any, other: Any) -> Any:
    match mine:
        case bool():
            return mine or other
        case dict():
            return mine | other  # the latest
        case _:
            return mine + other


class ProcessUnusable(LifoqError):
    """Raised if this process can run no more tasks: it gets no threads, or handlers that hang take
    all slots of the process or of a task type. End it and start another. The tasks that it held run
    again elsewhere.

    Attributes:
        report: The counts of what the run did before.

    Examples:
        >>> try:
        ...     report = Processor(queue.store, REGISTRY, WorkerSettings(linger=0)).run()
        ... except ProcessUnusable as error:
        ...     raise SystemExit(f"{error.report.succeeded} done: {error}")
    """

    def __init__(self, reason: str, report: RunReport) -> None:
        """Tell why the process can go on no more.

        Args:
            reason: The beginning of the message.
            report: The counts of what the run did before.
        """
        self.report = report
        super().__init__(f"{reason}: end this process and start another")
