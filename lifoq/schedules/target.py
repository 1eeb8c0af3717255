"""The way by which EventBridge Scheduler reaches a queue, and the time for which it tries."""

from dataclasses import dataclass
from typing import Final

EVENT_AGE_SECONDS: Final = (60, 86_400)
"""The shortest and the longest time for which EventBridge Scheduler may try
(https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html)."""
RETRIES: Final = 3
"""Times that EventBridge Scheduler tries again, where it could not hand an event over."""


def event_age(age: float) -> int:
    """Return the age in seconds up to which a schedule tries: the nearest that Scheduler knows."""
    shortest, longest = EVENT_AGE_SECONDS
    return min(longest, max(shortest, round(age)))


@dataclass(frozen=True, kw_only=True)
class ScheduleTarget:
    """The parts of a queue that a client must know to make schedules of it."""

    group: str
    """The name of the group."""
    function: str
    """The ARN of the function that puts their tasks."""
    role: str
    """The ARN of the role by which EventBridge Scheduler invokes it."""
    dead_letters: str
    """The ARN of the SQS queue for events that it could not hand over."""
