"""A team's task code, as the acceptance run packages it: tasks that take every way there is."""

import os
import signal
import time
from typing import Any

from lifoq import Context, Done, Fail, NewTask, Retry, task


@task("acceptance.succeeds")
def succeed(payload: Any, _context: Context) -> Any:
    return payload


@task("acceptance.follows")
def follow(_payload: Any, _context: Context) -> Any:
    return Done(
        result="followed",
        follow_ups=[NewTask(task_type="acceptance.succeeds", payload=1, task_id="follower")],
    )


@task("acceptance.retries")
def retry(_payload: Any, context: Context) -> Any:
    if context.attempt == 1:
        raise Retry("once more", after=0.2)
    return context.attempt


@task("acceptance.fails")
def fail(_payload: Any, _context: Context) -> Any:
    raise Fail("never")


@task("acceptance.waits")
def wait(payload: Any, _context: Context) -> Any:
    time.sleep(payload)


@task("acceptance.dies")
def die(_payload: Any, context: Context) -> Any:
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return context.attempt
