"""What AWS allows, and what follows from it for a queue's settings."""

import math
from collections.abc import Collection
from typing import Final

LONGEST_RUN_SECONDS: Final = 900
"""The longest run of a Lambda function (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
ENVIRONMENT_BYTES: Final = 4096
"""All names and values of a function's environment together (the same page)."""
PROCESSOR_MARGIN_SECONDS: Final = 15
"""What a processor run needs beside its window and its last task: start, settling, tail call."""
GENERATOR_MARGIN_SECONDS: Final = 30
"""What a load run needs beside its load: start, and the last batch with its retries."""
RETRY_WAITS_SECONDS: Final = (60, 120)
"""Lambda's, before it tries an asynchronous event that failed again
(https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html)."""
SCHEDULE_EVENT_AGE_SECONDS: Final = (60, 86_400)
"""How long EventBridge Scheduler may try
(https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html)."""
VENDED_LOGS: Final = "/aws/vendedlogs/"
"""How log groups begin whose delivery needs no entry of its own in the region's resource policy,
which is limited to 5,120 characters, for all APIs and state machines together."""
MOST_SWEEP_MINUTES: Final = 60
EXPORT_WINDOW_MINUTES: Final = (15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440)
"""DynamoDB allows 15 minutes to 24 hours; these cut the day into windows that do not overlap."""


def processor_timeout_seconds(*, window: float, task_timeout: float) -> int:
    """The processor's Lambda timeout: a task claimed in the window's last moment can end."""
    return math.ceil(window + task_timeout + PROCESSOR_MARGIN_SECONDS)


def generator_timeout_seconds(load_seconds: float) -> int:
    """The generator's Lambda timeout: the longest load it is asked to make."""
    return math.ceil(load_seconds + GENERATOR_MARGIN_SECONDS)


def event_age_needed_seconds(*, retry_attempts: int, timeout_seconds: int) -> int:
    """For all retries of a function that fails at its timeout each time."""
    return sum(wait + timeout_seconds for wait in RETRY_WAITS_SECONDS[:retry_attempts])


def are_shared(asked: bool | None, *, processors: int, types_elsewhere: Collection[str]) -> bool:  # noqa: FBT001
    """Whether limits hold over all workers together: as asked; else where there are several."""
    return processors > 1 or bool(types_elsewhere) if asked is None else asked
