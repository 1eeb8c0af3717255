"""The report of a run of the processor."""

from dataclasses import dataclass, field, fields

from lifoq.errors import LifoqError
from lifoq.metrics import Metric


@dataclass(kw_only=True)
class RunReport:
    """Counts of what a run did. Durations are in seconds."""

    claimed: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    cancelled: int = 0
    """Attempts that ended because somebody cancelled the task while it ran."""
    timed_out: int = 0
    leases_lost: int = 0
    unsettled: int = 0
    """Attempts whose outcome could not be written. Their leases run out, and the tasks run
    again."""
    promoted: int = 0
    dead_lettered: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds from the put to the first claim, for each task claimed for the first time."""
    services: list[float] = field(default_factory=list)
    """Seconds from the claim to the settlement, for each success."""
    remaining: bool = False
    """True if tasks still wait that could be claimed."""

    def add(self, more: "RunReport") -> None:
        """Add the counts of another part of the run."""
        for field_ in fields(self):
            mine, other = getattr(self, field_.name), getattr(more, field_.name)
            setattr(self, field_.name, mine or other if mine is False else mine + other)

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


class ProcessUnusable(LifoqError):
    """Raised if this process can run no more tasks: it gets no threads, or handlers that hang take
    all slots of the process or of a task type. End it and start another. The tasks that it held run
    again elsewhere."""

    def __init__(self, reason: str, report: RunReport) -> None:
        """``report``: the counts of what the run did before."""
        self.report = report
        super().__init__(f"{reason}: end this process and start another")
