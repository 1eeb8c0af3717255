"""A team's task code, as the acceptance run packages it: tasks that take every way there is."""

import os
import signal
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from lifoq import Context, Done, Fail, NewTask, Queue, Retry, at, cron, every, task


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


@task("acceptance.schedules")
def schedule(payload: Any, _context: Context) -> Any:
    """Do all that a client does with schedules: two fire soon, and one never does. The ids of the
    tasks that the two put."""
    schedules = Queue.connect().schedules
    for value in ("?", payload):
        schedules.put("hourly", every(3600), "acceptance.succeeds", value, if_exists="replace")
    soon = datetime.now(UTC) + timedelta(seconds=3)
    schedules.put("once", at(soon), "acceptance.succeeds", 1)
    schedules.put("never", cron("0 0 1 1 ? 2199"), "acceptance.succeeds")
    schedules.delete("never")
    assert "hourly" in [one.name for one in schedules.list()]
    return ["hourly", f"once-{soon:%Y-%m-%dT%H:%M:%SZ}"]


@task("acceptance.waits")
def wait(payload: Any, _context: Context) -> Any:
    time.sleep(payload)


@task("acceptance.dies")
def die(_payload: Any, context: Context) -> Any:
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return context.attempt
