"""The limits of AWS, and what follows from them for a queue's settings."""

import math
from typing import Final

import aws_cdk as cdk

from lifoq.errors import InvalidInput

LONGEST_RUN_SECONDS: Final = 900
"""The longest run of a Lambda function (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
ENVIRONMENT_BYTES: Final = 4096
"""All names and values of a function's environment together (the same page)."""
PROCESSOR_MARGIN_SECONDS: Final = 15
"""Seconds that a processor run needs beside its window and its last task: start, settling, tail
call."""
GENERATOR_MARGIN_SECONDS: Final = 30
"""Seconds that a load run needs beside its load: start, and the last batch with its retries."""
RETRY_WAITS_SECONDS: Final = (60, 120)
"""Lambda's, before it tries an asynchronous event that failed again
(https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html)."""
VENDED_LOGS: Final = "/aws/vendedlogs/"
"""The beginning of names of log groups whose delivery needs no entry of its own in the region's
resource policy, which is limited to 5,120 characters, for all APIs and state machines together."""
MOST_SWEEP_MINUTES: Final = 60
EXPORT_WINDOW_MINUTES: Final = (15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440)
"""DynamoDB allows 15 minutes to 24 hours; these cut the day into windows that do not overlap."""


def processor_timeout_seconds(*, window: float, task_timeout: float) -> int:
    """The processor's Lambda timeout: a task claimed in the window's last moment can end.

    Raises ``InvalidInput`` where Lambda does not let a function run so long.
    """
    seconds = math.ceil(window + task_timeout + PROCESSOR_MARGIN_SECONDS)
    if seconds > LONGEST_RUN_SECONDS:
        raise InvalidInput(
            "window",
            window,
            f"and the task timeout of {task_timeout:g} s do not fit into the {LONGEST_RUN_SECONDS} "
            "s that Lambda gives a run: lower one until they add up to at most "
            f"{LONGEST_RUN_SECONDS - PROCESSOR_MARGIN_SECONDS}",
        )
    return seconds


def whole_minutes(sweep_interval: cdk.Duration) -> int:
    """Return the sweep's interval in minutes. Raises ``InvalidInput`` where a schedule could not
    keep it."""
    minutes = sweep_interval.to_minutes(integral=False)
    if minutes != round(minutes) or not 1 <= minutes <= MOST_SWEEP_MINUTES:
        raise InvalidInput(
            "sweep_interval", sweep_interval.to_human_string(), "must be whole minutes, 1 to 60"
        )
    return round(minutes)


def generator_timeout_seconds(load_seconds: float) -> int:
    """The generator's Lambda timeout: the longest load it is asked to make."""
    return math.ceil(load_seconds + GENERATOR_MARGIN_SECONDS)


def event_age_needed_seconds(*, retry_attempts: int, timeout_seconds: int) -> int:
    """Return the age of an event after all retries of a function that fails at its timeout each
    time."""
    return sum(wait + timeout_seconds for wait in RETRY_WAITS_SECONDS[:retry_attempts])
