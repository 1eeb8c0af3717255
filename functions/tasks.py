"""Your team's task code: one function per task type.

A handler gets the payload and a context (``attempt``, ``remaining``, ``heartbeat``,
``checkpoint``). What it returns is the task's result; ``Retry``, ``Busy`` and ``Fail`` say what to
do about an error, and any other exception is retried with backoff. A task may run more than once
(after a crash, say), so make its effect idempotent.
"""

from typing import Any

from lifoq import Context, task


@task("greet")
def greet(payload: Any, _context: Context) -> str:
    """Needs nothing beside: for the first task of a fresh deployment."""
    return f"Hello, {payload}!"
