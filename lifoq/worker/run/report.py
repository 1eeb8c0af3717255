"""What a run of the processor did."""

from dataclasses import dataclass, field, fields

from lifoq.errors import LifoqError
from lifoq.metrics import Metric


@dataclass(kw_only=True)
class RunReport:
    """What a run did; durations in seconds."""

    claimed: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    cancelled: int = 0
    """Attempts that ended because somebody cancelled the task while it ran."""
    timed_out: int = 0
    leases_lost: int = 0
    unsettled: int = 0
    """Whose outcome could not be written; their leases run out, and they run again."""
    promoted: int = 0
    dead_lettered: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds from the put to the first claim, of each task claimed for the first time."""
    services: list[float] = field(default_factory=list)
    """Seconds from the claim to the settlement of each success."""
    remaining: bool = False
    """Whether tasks still wait that could be claimed."""

    def add(self, more: "RunReport") -> None:
        """Count what another part of the run did."""
        for field_ in fields(self):
            mine, other = getattr(self, field_.name), getattr(more, field_.name)
            setattr(self, field_.name, mine or other if mine is False else mine + other)

    def counts(self) -> dict[Metric, float]:
        """What is told as metrics; each wait and service is a metric of its own."""
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
        """A tail call needs progress: without a claim, the next run would do no better, and a
        broken dependency would spin the loop."""
        return self.remaining and self.claimed > 0


class ProcessUnusable(LifoqError):
    """This process can run no more tasks: it gets no threads, or handlers that hang take all slots
    of it or of a task type. End it, and start another; what it held runs again elsewhere."""

    def __init__(self, reason: str, report: RunReport) -> None:
        """``report``: what the run did all the same."""
        self.report = report
        super().__init__(f"{reason}: end this process and start another")
