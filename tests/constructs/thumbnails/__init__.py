"""A team's folder of task code."""

import os
from typing import Any

from lifoq import Context, task


@task("thumbnail")
def make_thumbnail(payload: Any, _context: Context) -> Any:
    return f"{payload} for {os.environ['SIZE']}"
