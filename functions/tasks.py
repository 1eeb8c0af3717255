"""Your team's task code: one function per task type.

A handler gets the payload and a context (``attempt``, ``remaining``, ``heartbeat``,
``checkpoint``). What it returns is the task's result; ``Retry``, ``Busy`` and ``Fail`` say what to
do about an error, and any other exception is retried with backoff. A task may run more than once
(after a crash, say), so make its effect idempotent.
"""

import json
import os
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any

from lifoq import Busy, Context, Fail, task

ANSWER_BYTES = 10_000


@task("greet")
def greet(payload: Any, _context: Context) -> str:
    """Needs nothing beside: for the first task of a fresh deployment."""
    return f"Hello, {payload}!"


@task("device.check")
def check_device(payload: Any, context: Context) -> Any:
    """Ask the device service, the slow downstream, how a device is."""
    url = os.environ.get("DOWNSTREAM_URL")
    if url is None:
        raise Fail("DOWNSTREAM_URL is not set; add it to task_environment of the stage")
    request = urllib.request.Request(  # noqa: S310  (the stage's configuration chose the URL)
        url,
        data=json.dumps(payload).encode(),
        headers={"Content-Type": "application/json", "Idempotency-Key": context.task_id},
    )
    try:
        with urllib.request.urlopen(request, timeout=context.remaining) as response:  # noqa: S310
            return json.loads(response.read(ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.TOO_MANY_REQUESTS:
            raise Busy("the device service is full", after=1) from error
        raise
