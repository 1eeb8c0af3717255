"""CreateTasksFunction: the scheduled generator, of recurring tasks and of load for trials; and
ScheduledTasksFunction, which puts the tasks of schedules that clients make."""

import time
from collections.abc import Mapping
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.environment import Environment
from lifoq.errors import InvalidInput, StoreUnavailable
from lifoq.items.task import NewTask
from lifoq.metrics import Metric
from lifoq.schedules.event import LOAD, new_task
from lifoq_functions import started
from lifoq_functions.connected import store_of
from lifoq_functions.create_tasks.load import Load
from lifoq_functions.end_when_credentials_expire import end_if_expired, ends_with_credentials
from lifoq_functions.measure import emit, measured

TICK: Final = 0.1
"""Seconds between two batches of load."""
MARGIN: Final = 5.0
"""Seconds that the last batch may take."""

logger = Logger()
environment = Environment.of_this_process()
store = store_of(environment)
started()


@logger.inject_lambda_context
@measured
@ends_with_credentials
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """``event``: the terms of a recurring task, which is put once by its taskId; or those of many
    tasks, without an id, and the load that they make."""
    template = new_task(event)
    if LOAD in event:
        created = make_load(event[LOAD], template, context)
    else:
        outcome = store.put_many([template])[0]
        if outcome.error is not None:
            raise outcome.error  # the invocation is tried again, with the same id
        created = int(outcome.created)
        emit({Metric.TASKS_CREATED: created})
    return {"created": created}


def make_load(event: Mapping[str, Any], template: NewTask, context: LambdaContext) -> int:
    """Put tasks at the load's pace until its time is over; how many."""
    load = Load.parse(event)
    if template.task_id is not None:
        raise InvalidInput("taskId", template.task_id, "stands beside load; leave one of them out")
    limit = context.get_remaining_time_in_millis() / 1000 - MARGIN
    if load.seconds > limit:
        raise InvalidInput(
            "load.seconds",
            load.seconds,
            f"is more than the {limit:.0f} s that this function may run; shorten it",
        )
    begun = last = time.monotonic()
    owed, created = 0.0, 0
    while last - begun < load.seconds:
        time.sleep(TICK)
        now = min(time.monotonic(), begun + load.seconds)
        owed += (now - last) * load.rate(time.time())
        last = now
        created += put(template, int(owed))
        owed -= int(owed)
    return created


def put(template: NewTask, number: int) -> int:
    """Put so many; how many were. Those that were not confirmed are counted beside: the load goes
    on, as a producer's would. Any other error passes, with nothing behind it to be put."""
    outcomes = store.put_many([template] * number)
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    created = sum(outcome.created for outcome in outcomes)
    emit({Metric.TASKS_CREATED: created, Metric.TASKS_UNCONFIRMED: len(errors)})
    for error in errors:
        end_if_expired(error)
        if not isinstance(error, StoreUnavailable):
            raise error
    if errors:
        logger.warning("tasks perhaps not stored", number=len(errors), first=str(errors[0]))
    return created
