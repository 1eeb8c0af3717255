"""A team's folder of task code."""

import os
from typing import Any

from lifoq import Context, task


@task("poster")
@task("thumbnail")
def make(payload: Any, _context: Context) -> Any:
    return f"{os.environ['SIZE']} {payload}"
