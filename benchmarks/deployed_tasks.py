"""The task code of the queue that is deployed to the local cloud."""

import time
from typing import Any

from lifoq import Context, task


@task("when.started")
def when_started(_payload: Any, _context: Context) -> int:
    """Epoch microseconds."""
    return time.time_ns() // 1_000


@task("device.check")
def check(_payload: Any, _context: Context) -> dict[str, bool]:
    """Take a tenth of a second: with ten in flight, the default, that makes 100 tasks a second."""
    time.sleep(0.1)
    return {"done": True}
