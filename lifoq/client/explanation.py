"""The answer to the question why a task waits, as its owner reads it."""

from dataclasses import dataclass

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.times import spoken
from lifoq.items.schema import Status


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One thing that holds a task back. Times are in epoch microseconds.

    Examples:
        >>> put = queue.put("device.check", task_id="d-17")
        >>> [reason.name for reason in queue.explain("d-17").reasons]
        ['no_worker']
    """

    name: str
    """The gate that holds it back, as the page *Why does my task wait?* has it; or ``paused``,
    ``no_worker``, ``unknown_type``, ``order``."""
    says: str
    """The reason in one sentence, without a full stop."""
    since: int | None = None
    """Since when it is known to hold the task back; None if nobody knows."""
    ends: str | None = None
    """The event that would end it; None if that goes without saying."""
    seen_by: str | None = None
    """The worker that told of it; None if the queue's table says it."""
    seen_at: int | None = None
    """Epoch microseconds at which that worker told of it."""

    def told(self, now: int) -> str:
        """Return the sentence with who saw it, and when.

        Args:
            now: The present time in epoch microseconds.
        """
        if self.seen_at is None:
            return self.says
        ago = spoken(max(0, now - self.seen_at) / MICROSECONDS)
        return f"{self.says} (as worker {self.seen_by} saw it {ago} ago)"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The reasons why a task waits, or the tasks of a type, or any task of the queue; or what has
    become of the task.

    Examples:
        >>> put = queue.put("device.check", task_id="d-17", delay=60)
        >>> queue.explain("d-17").status
        <Status.DELAYED: 'DELAYED'>
    """

    task_id: str | None = None
    """The id of the task; None if it is about a type or the queue."""
    task_type: str | None = None
    """The task type; None if it is not known, or about the queue."""
    status: Status | None = None
    """The status of the task; None if there is none that can be read."""
    summary: str
    """The answer in one sentence."""
    reasons: tuple[Reason, ...] = ()
    """The reasons why it waits, the worst first; empty if none is known, or if it does not wait."""
