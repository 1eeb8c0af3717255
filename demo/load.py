"""The load, in phases, by way of the deployed generator: its schedule is switched as an operator
would switch it, through EventBridge Scheduler."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

TASK_TYPE = "device.check"
PAYLOAD = {"question": "is the device well?"}


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A stretch of constant load; ``tasks_per_second`` 0 is none."""

    name: str
    tasks_per_second: float
    seconds: int


class Generator:
    """The deployed generator's schedule."""

    def __init__(self, scheduler: "EventBridgeSchedulerClient", schedule_name: str) -> None:
        self._scheduler = scheduler
        self._name = schedule_name

    def start(self, phase: Phase) -> None:
        """Generate the phase's load from now on. A rate schedule fires when it is switched on, so
        it is switched off in between."""
        self.stop()
        if phase.tasks_per_second:
            self._update(
                State="ENABLED",
                event={
                    "taskType": TASK_TYPE,
                    "payload": PAYLOAD,
                    "load": {
                        "profile": "constant",
                        "tasksPerSecond": phase.tasks_per_second,
                        "seconds": phase.seconds,
                    },
                },
            )

    def stop(self) -> None:
        """Start no further load; what runs, runs to its end."""
        self._update(State="DISABLED")

    def _update(self, *, event: dict[str, Any] | None = None, **changes: Any) -> None:
        """UpdateSchedule replaces all of a schedule: what shall stay is sent along."""
        schedule = self._scheduler.get_schedule(Name=self._name)
        target = dict(schedule["Target"])
        if event is not None:
            target["Input"] = json.dumps(event)
        kept: dict[str, Any] = {
            key: schedule[key]
            for key in (
                *("GroupName", "ScheduleExpression", "ScheduleExpressionTimezone"),
                *("FlexibleTimeWindow", "StartDate", "EndDate", "Description", "KmsKeyArn"),
            )
            if schedule.get(key) is not None
        }
        self._scheduler.update_schedule(Name=self._name, **kept | {"Target": target} | changes)
