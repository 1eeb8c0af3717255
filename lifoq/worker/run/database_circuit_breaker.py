"""The circuit breaker of a run: after some seconds without an answer from the database, the run
claims no more."""

import logging
from typing import Final

from lifoq.basics.host import microseconds
from lifoq.errors import QueueMisconfigured, StoreUnavailable

log = logging.getLogger("lifoq.circuit_breaker")

OPENS_AFTER: Final = 10.0
"""Seconds of a database that does not answer, after which a run gives up; the sweep starts one."""


class CircuitBreaker:
    """Counts for how long calls have failed without one that was answered. All times are monotonic
    microseconds. Used by the thread of the run only."""

    def __init__(self) -> None:
        self._since: int | None = None
        self.error: StoreUnavailable | None = None
        """The latest failure; None once a later call was answered."""
        self.fatal: Exception | None = None
        """The first error that ends the run. It is raised once the run's tasks are settled."""
        self.hopeless = False
        """True if the run is to claim no more: the breaker is open."""

    def call_failed(self, error: Exception, now: int) -> None:
        """Note that a call has failed. StoreUnavailable opens the breaker once it has lasted; any
        other error opens it at once."""
        if not isinstance(error, StoreUnavailable):
            self.ends_the_run(error)
            return
        log.warning("%s", error)
        self.error = error
        self._since = now if self._since is None else self._since
        # Decided at a failure: a call that took long, and then was answered, is none.
        lasts = now - self._since >= microseconds(OPENS_AFTER)
        self.hopeless = self.hopeless or lasts

    def ends_the_run(self, error: Exception) -> None:
        """Open the breaker for good: waiting does not help, since the queue is misconfigured or the
        error is unexpected. Answers to other calls change nothing."""
        if isinstance(error, QueueMisconfigured):
            log.error("the run ends early: %s", error)
        else:
            log.error("the run ends early", exc_info=error)
        self.fatal = self.fatal or error
        self.hopeless = True

    def call_answered(self) -> None:
        """Note that a call was answered."""
        self.error = self._since = None
