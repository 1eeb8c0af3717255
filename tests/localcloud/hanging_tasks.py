"""Task code of which one type never returns."""

import threading
from typing import Any

from lifoq import Context, task


@task("hang")
def hang(_payload: Any, _context: Context) -> None:
    threading.Event().wait()


@task("healthy")
def healthy(payload: Any, _context: Context) -> Any:
    return payload
