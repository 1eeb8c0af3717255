"""The list of lifoq's own Lambda functions, a row each. Their code is in ``lifoq_functions``.

A function's settings and permissions are read off its row; the construct that it belongs to adds
what only the queue's own settings can say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import aws_cdk as cdk

from lifoq.ends.changes import ENDS, WAKING, Pattern
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq_cdk import known, limits
from lifoq_cdk.access import WORK, Permission
from lifoq_cdk.state import GET_OBJECT, PUT_OBJECT


@dataclass(frozen=True, kw_only=True)
class AsyncInvocation:
    """The time for which, and the times that, Lambda tries an event that nobody waits for. An error
    is retried after one minute, and then after two.

    Examples:
        >>> kicks = AsyncInvocation(max_event_age=cdk.Duration.minutes(2), retry_attempts=0)
        >>> queue = LifoQueue(stack, "Prices", tasks="thumbnails", kicks=kicks)
    """

    max_event_age: cdk.Duration
    """The age beyond which an event is dropped."""
    retry_attempts: int
    """The number of tries after the first: 0, 1 or 2."""

    def check(self, timeout: cdk.Duration) -> None:
        """Raise ``InvalidInput`` where a function with this timeout is too old for its retries."""
        known.check(max_event_age=self.max_event_age, retry_attempts=self.retry_attempts)
        needed = limits.event_age_needed_seconds(
            retry_attempts=self.retry_attempts, timeout_seconds=round(timeout.to_seconds())
        )
        if self.max_event_age.to_seconds() < needed:
            raise InvalidInput(
                "max_event_age",
                self.max_event_age.to_human_string(),
                f"is too short for {self.retry_attempts} retries, which Lambda makes after one and "
                f"two minutes: raise it to at least {needed} s, or lower the retries",
            )


ONCE: Final = AsyncInvocation(max_event_age=cdk.Duration.minutes(1), retry_attempts=0)
"""An old kick is worth nothing, and the sweep replaces a lost one."""
INSISTENT: Final = AsyncInvocation(max_event_age=cdk.Duration.hours(1), retry_attempts=2)
"""The tries of a recurring task: nothing makes up for one that is not put."""
PERSISTENT: Final = AsyncInvocation(max_event_age=cdk.Duration.hours(6), retry_attempts=2)
"""The longest and most often that Lambda can try; then the event is in the queue's dead letters."""
NOTHING: Final = Permission(table=(), objects=())


@dataclass(frozen=True, kw_only=True)
class Row:
    construct: str
    folder: str
    """The folder of its handler in ``lifoq_functions``."""
    does: str
    seconds: int | None
    """The timeout; None: it follows from the queue's settings."""
    asynchronous: AsyncInvocation = ONCE
    table: bool = True
    """True if the function is told the queue's table, and how long tasks live."""
    may: Permission = NOTHING
    kicks: Variable | None = None
    """The variable that tells it the topic that it kicks by."""
    stream: Sequence[Pattern] = ()
    """The changes of the table that invoke it."""
    task_code: Literal["imports", "runs"] | None = None
    """One that imports the task code has its environment and layers; one that runs it also its
    memory, network and permissions. Others have 256 MB."""
    loops: bool = False
    """The tail call is a loop on purpose; Lambda would cut it after about 16 rounds."""


TRIGGER: Final = Row(
    construct="TriggerFunction",
    folder="trigger",
    does="Turns changes of the table into kicks, and counts what was shed",
    seconds=30,
    kicks=Variable.PROCESS_TOPIC,
    stream=WAKING,
    loops=True,
)
PROCESSOR: Final = Row(
    construct="ProcessTasksFunction",
    folder="process_tasks",
    does="Claims the newest waiting tasks and runs them",
    seconds=None,
    may=WORK,
    kicks=Variable.TRIGGER_TOPIC,
    task_code="runs",
    loops=True,
)
SWEEP: Final = Row(
    construct="SweepFunction",
    folder="sweep",
    does="Returns expired leases and due tasks, replaces lost kicks, takes stock",
    seconds=60,
    may=Permission(
        table=("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"),
        indexes=("dynamodb:Query",),
        objects=(),
    ),
    kicks=Variable.PROCESS_TOPIC,
    task_code="imports",  # for the types' own numbers of attempts
)
TASK_EVENTS: Final = Row(
    construct="TaskEventsFunction",
    folder="task_events",
    does="Tells who asked for it how tasks ended",
    seconds=60,
    table=False,
    stream=ENDS,
)
"""The second reader of the table's stream; Lambda allows no third."""
INGEST: Final = Row(
    construct="IngestFunction",
    folder="ingest",
    does="Makes tasks of the messages of other services",
    # The visibility timeout that SQS gives a queue by default: Lambda asks for no longer.
    seconds=30,
    asynchronous=PERSISTENT,
    may=Permission(table=("dynamodb:PutItem",), objects=(PUT_OBJECT,)),
)
CREATE_TASKS: Final = Row(
    construct="CreateTasksFunction",
    folder="create_tasks",
    does="Puts recurring tasks, and makes load",
    seconds=None,
    asynchronous=INSISTENT,
    may=Permission(table=("dynamodb:BatchWriteItem", "dynamodb:PutItem"), objects=(PUT_OBJECT,)),
)
SCHEDULED_TASKS: Final = Row(
    construct="ScheduledTasksFunction",
    folder="create_tasks",
    does="Puts the tasks of the schedules that clients make",
    seconds=30,
    asynchronous=INSISTENT,
    may=Permission(
        table=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
        objects=(PUT_OBJECT,),
    ),
)
API: Final = Row(
    construct="ApiFunction",
    folder="api",
    does="The queue over HTTP",
    # API Gateway waits for 30 s at the most
    # (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html).
    seconds=29,
    may=Permission(
        table=(
            "dynamodb:BatchGetItem",
            "dynamodb:BatchWriteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
        ),
        indexes=("dynamodb:Query",),
        objects=(GET_OBJECT, PUT_OBJECT),
    ),
)
