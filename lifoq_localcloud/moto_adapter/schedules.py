"""Schedules of EventBridge Scheduler: an update says anew what happens after the last time, which
moto leaves as it was. One that says nothing of the state enables the schedule; moto's has none
then."""

from moto.scheduler.models import Schedule
from moto.scheduler.responses import EventBridgeSchedulerResponse

from lifoq_localcloud.moto_adapter.patch import replace


def install() -> None:
    """From now on, an update replaces all of a schedule."""
    original = EventBridgeSchedulerResponse.update_schedule

    def update_schedule(response: EventBridgeSchedulerResponse) -> str:
        answer = original(response)
        name = response.uri.split("?")[0].split("/")[-1]
        group = response._get_param("GroupName")  # noqa: SLF001 - as its own handlers do
        schedule: Schedule = response.scheduler_backend.get_schedule(group, name)
        schedule.action_after_completion = response._get_param(  # noqa: SLF001 - as above
            "ActionAfterCompletion"
        )
        schedule.state = schedule.state or "ENABLED"
        return answer

    replace(EventBridgeSchedulerResponse, "update_schedule", update_schedule)
