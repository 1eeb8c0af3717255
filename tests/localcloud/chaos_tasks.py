"""Task code of the chaos run: each attempt works at the downstream, and says which it is."""

import json
import os
import urllib.request
from typing import Any

from lifoq import Context, task


@task("chaos.work")
def work(payload: Any, context: Context) -> Any:
    attempt = {"taskId": context.task_id, "attempt": context.attempt}
    request = urllib.request.Request(  # noqa: S310  (our own loopback address)
        os.environ["DOWNSTREAM_URL"], data=json.dumps(attempt).encode()
    )
    with urllib.request.urlopen(request, timeout=context.remaining) as answer:  # noqa: S310
        answer.read()  # which takes its time
        return attempt
