"""What goes wrong in a run, and whether it can go on."""

import logging
from typing import Final

from lifoq.basics.host import microseconds
from lifoq.errors import QueueMisconfigured, StoreUnavailable

log = logging.getLogger("lifoq.circuit_breaker")

OPENS_AFTER: Final = 10.0
"""Seconds of a database that does not answer, after which a run gives up; the sweep starts one."""


class CircuitBreaker:
    """All times are monotonic microseconds."""

    def __init__(self) -> None:
        self._since: int | None = None
        self.error: StoreUnavailable | None = None
        """The latest that has not passed."""
        self.fatal: Exception | None = None
        """The first that ends the run, once its tasks are settled; then it is raised."""
        self.hopeless = False
        """Whether to claim no more."""

    def met(self, error: Exception, now: int) -> None:
        """A call failed."""
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
        """It does not pass by waiting: the queue is misconfigured, or nobody understands it. What
        other calls are answered meanwhile changes nothing."""
        if isinstance(error, QueueMisconfigured):
            log.error("the run ends early: %s", error)
        else:
            log.error("the run ends early", exc_info=error)
        self.fatal = self.fatal or error
        self.hopeless = True

    def passes(self) -> None:
        """A call was answered."""
        self.error = self._since = None
