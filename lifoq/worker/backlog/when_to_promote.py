"""When due tasks are promoted: once a second. Not before the last promotion is over, unless that
takes long. All times are monotonic microseconds."""

from dataclasses import dataclass, replace
from typing import Final

from lifoq.basics.host import microseconds

PROMOTE_EVERY: Final = 1.0
"""Seconds between two promotions of due tasks."""
PROMOTE_PATIENCE: Final = 5.0
"""Seconds after which due tasks are promoted again, though the last promotion was not answered."""
RETRY_LINGER: Final = 5.0
"""Seconds for which a run that has nothing else to do waits for a retry of its own: the first retry
of the default backoff is due in 3 at most. For a later one the sweep starts another run."""


@dataclass(frozen=True, kw_only=True)
class Promotions:
    """The facts about promotions. Each method returns the facts after one more thing has
    happened."""

    until: int
    """The run waits for no retry that is due later."""
    due_at: int
    """When the next promotion is due."""
    sent_at: int | None = None
    """When the promotion under way was sent; None if none is."""
    retry_at: int
    """When the last retry is due that the run waits for."""
    awaited_until: int
    """The moment at which the run has waited long enough for its retries."""

    @classmethod
    def of_start(cls, now: int, *, until: int) -> "Promotions":
        """Return the facts of a run that begins."""
        return cls(until=until, due_at=now, retry_at=now, awaited_until=now)

    @property
    def under_way(self) -> bool:
        """True if a promotion was sent, and is not over."""
        return self.sent_at is not None

    def delays(self, due_at: int, *, now: int) -> "Promotions":
        """A task of the run's own is to be retried at ``due_at``. The run waits for it if it is due
        soon."""
        if due_at > min(now + microseconds(RETRY_LINGER), self.until):
            return self
        retry_at = max(self.retry_at, due_at)
        # One until the next promotion is sent, and one for its answer.
        awaited = retry_at + 2 * microseconds(PROMOTE_EVERY)
        return replace(self, retry_at=retry_at, awaited_until=awaited)

    def sends(self, now: int) -> "Promotions":
        """A promotion is sent."""
        return replace(self, sent_at=now, due_at=now + microseconds(PROMOTE_PATIENCE))

    def done(self, now: int, *, failed: bool = False) -> "Promotions":
        """The promotion is over, or has ``failed``: then it may have brought nothing in."""
        if self.sent_at is None:
            return self
        due_at = max(now, self.sent_at + microseconds(PROMOTE_EVERY))
        brought_in = self.sent_at >= self.retry_at and not failed
        awaited = now if brought_in else self.awaited_until
        return replace(self, sent_at=None, due_at=due_at, awaited_until=awaited)
