"""The task code that is deployed: it tells when it started, in epoch microseconds."""

import time
from typing import Any

from lifoq import Context, task


@task("latency.new")
def new(_payload: Any, _context: Context) -> int:
    return time.time_ns() // 1_000
