"""EventBridge Scheduler's schedules and their groups."""

from datetime import datetime
from typing import Final

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client

_SETTINGS: Final = frozenset(
    {
        *("Description", "EndDate", "FlexibleTimeWindow", "KmsKeyArn", "ScheduleExpression"),
        *("ScheduleExpressionTimezone", "StartDate", "State", "Target"),
    }
)


class Schedule(Resource, CloudFormationModel):
    TYPE = "AWS::Scheduler::Schedule"
    NAME_PROPERTY = "Name"
    CHANGES = _SETTINGS

    def create(self) -> None:
        client("scheduler").create_schedule(**{**self.properties, "Name": self.name})

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        client("scheduler").update_schedule(**{**self.properties, "Name": self.name})

    def remove(self) -> None:
        client("scheduler").delete_schedule(Name=self.name, **self._group())

    def get_cfn_attribute(self, attribute: str) -> str:
        schedule = client("scheduler").get_schedule(Name=self.name, **self._group())
        return str(schedule[attribute])

    def _group(self) -> dict[str, str]:
        group = self.properties.get("GroupName")
        return {"GroupName": group} if group else {}


class ScheduleGroup(Resource, CloudFormationModel):
    TYPE = "AWS::Scheduler::ScheduleGroup"
    NAME_PROPERTY = "Name"

    def create(self) -> None:
        client("scheduler").create_schedule_group(Name=self.name)

    def remove(self) -> None:
        client("scheduler").delete_schedule_group(Name=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        value = client("scheduler").get_schedule_group(Name=self.name)[attribute]
        return value.isoformat() if isinstance(value, datetime) else str(value)
