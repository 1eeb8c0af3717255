"""EventBridge Scheduler: fires the schedules that the API holds."""

import json
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from lifoq.schedules.event import fill, written
from lifoq.schedules.expression import (
    InvalidExpressionError,
    UnsupportedExpressionError,
    parse,
)
from lifoq_localcloud.basics import threads
from lifoq_localcloud.basics.timer import Timer
from lifoq_localcloud.events.sources import ScheduleConfig

LONGEST_SLEEP_SECONDS = 60.0
FIRST_RETRY_SECONDS = 1.0

Hand = Callable[[str, str], bool]
"""Give a target, by ARN, its input; whether it took it."""


class Scheduler:
    """One thread that sleeps until something is due or has been changed."""

    def __init__(
        self,
        *,
        schedules: Callable[[], list[ScheduleConfig]],
        delete: Callable[[ScheduleConfig], None],
        hand: Hand,
        send: Hand,
        timer: Timer,
    ) -> None:
        self._schedules = schedules
        self._delete = delete
        self._hand = hand
        self._send = send
        self._timer = timer
        self._fired: dict[str, tuple[float, datetime]] = {}
        """The version that each schedule was fired in, and the last time it was due."""
        self._changed = threading.Event()
        self._closed = threading.Event()
        threads.start("the scheduler", self._run, self._closed)

    def wake(self) -> None:
        """Look again: a schedule may have been created, changed or deleted."""
        self._changed.set()

    def close(self) -> None:
        self._closed.set()
        self._changed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._changed.clear()
            self._changed.wait(self._fire_due())

    def _fire_due(self) -> float:
        """Fire what is due; seconds until the next."""
        next_due = datetime.now(UTC) + timedelta(seconds=LONGEST_SLEEP_SECONDS)
        schedules = self._schedules()
        for gone in self._fired.keys() - {schedule.arn for schedule in schedules}:
            del self._fired[gone]
        dues: list[datetime] = [next_due]
        for schedule in schedules:
            threads.attempt(
                f"the schedule {schedule.name}", partial(self._follow, schedule, dues.append)
            )
        return max(0.0, (min(dues) - datetime.now(UTC)).total_seconds())

    def _follow(self, schedule: ScheduleConfig, tell: Callable[[datetime], None]) -> None:
        """Fire one schedule, if it is due, and tell when it is due again."""
        due = self._due(schedule)
        if due is None:
            return
        if due <= datetime.now(UTC):
            self._fire(schedule, due)
            due = self._due(schedule)
        if due is not None:
            tell(due)
        elif schedule.delete_after_completion:
            self._delete(schedule)

    def _due(self, schedule: ScheduleConfig) -> datetime | None:
        """When the schedule fires next. A changed schedule begins anew, at once if by rate."""
        if not schedule.enabled:
            return None
        try:
            expression = parse(schedule.expression, schedule.timezone)
        except (InvalidExpressionError, UnsupportedExpressionError):
            return None  # The API refuses the first; the inventory names the second.
        anchor = schedule.start or datetime.fromtimestamp(schedule.changed, UTC)
        version, last = self._fired.get(schedule.arn, (0.0, anchor))
        if version != schedule.changed:
            last = anchor - timedelta(microseconds=1)
        due = expression.following(last, anchor)
        return None if due and schedule.end and due > schedule.end else due

    def _fire(self, schedule: ScheduleConfig, due: datetime) -> None:
        """Fire a schedule that is due, once. Times that passed while nothing ran are not made up
        for."""
        self._fired[schedule.arn] = (schedule.changed, max(due, datetime.now(UTC)))
        self._attempt(schedule, due, str(uuid.uuid4()), 1, time.monotonic())

    def _attempt(
        self,
        schedule: ScheduleConfig,
        due: datetime,
        execution: str,
        attempt: int,
        began: float,
    ) -> None:
        """Hand the input over; a target that is not there is tried again, then given up."""
        target = schedule.target
        body = _input(schedule, due, execution, attempt)
        if self._hand(target["Arn"], body):
            return
        policy = target.get("RetryPolicy", {})
        delay = FIRST_RETRY_SECONDS * 2 ** (attempt - 1)
        too_old = time.monotonic() - began + delay > policy.get("MaximumEventAgeInSeconds", 86400)
        if attempt <= policy.get("MaximumRetryAttempts", 185) and not too_old:
            self._timer.after(
                delay, lambda: self._attempt(schedule, due, execution, attempt + 1, began)
            )
        elif queue := target.get("DeadLetterConfig", {}).get("Arn"):
            self._send(queue, body)


def _input(schedule: ScheduleConfig, due: datetime, execution: str, attempt: int) -> str:
    """The target's input, with Scheduler's context attributes filled in."""
    scheduled = written(due)
    text: str | None = schedule.target.get("Input")
    if text is None:
        default: dict[str, Any] = {
            "version": "0",
            "id": execution,
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "time": scheduled,
            "resources": [schedule.arn],
            "detail": "{}",
        }
        return json.dumps(default)
    return fill(
        text,
        {
            "schedule-arn": schedule.arn,
            "scheduled-time": scheduled,
            "execution-id": execution,
            "attempt-number": str(attempt),
        },
    )
