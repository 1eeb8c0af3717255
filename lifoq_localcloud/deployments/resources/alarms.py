"""CloudWatch's alarms and dashboards."""

from typing import ClassVar, Final

from moto.cloudwatch.models import Dashboard
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client

_OF_ALL: Final = frozenset(
    {
        *("ActionsEnabled", "AlarmActions", "AlarmDescription"),
        *("InsufficientDataActions", "OKActions"),
    }
)
_OF_METRICS: Final = frozenset(
    {
        *("ComparisonOperator", "DatapointsToAlarm", "Dimensions"),
        *("EvaluateLowSampleCountPercentile", "EvaluationPeriods", "ExtendedStatistic"),
        *("MetricName", "Metrics", "Namespace", "Period", "Statistic", "Threshold"),
        *("ThresholdMetricId", "TreatMissingData", "Unit"),
    }
)

# moto keeps an alarm's rule, and lacks the name of the operation that brings one.
CloudWatchResponse.put_composite_alarm = CloudWatchResponse.put_metric_alarm  # type: ignore[attr-defined]


class _AnyAlarm(Resource):
    NAME_PROPERTY = "AlarmName"
    KIND: ClassVar[str]
    PUT: ClassVar[str]
    """The operation that makes one."""

    def create(self) -> None:
        settings = {name: self.properties[name] for name in self.CHANGES & self.properties.keys()}
        put = getattr(client("cloudwatch"), self.PUT)
        put(AlarmName=self.name, **settings)

    def remove(self) -> None:
        client("cloudwatch").delete_alarms(AlarmNames=[self.name])

    def get_cfn_attribute(self, attribute: str) -> str:
        named = {"AlarmNames": [self.name], "AlarmTypes": [self.KIND]}
        (alarm,) = client("cloudwatch").describe_alarms(**named)[f"{self.KIND}s"]
        return str(alarm["AlarmArn" if attribute == "Arn" else attribute])


class Alarm(_AnyAlarm, CloudFormationModel):
    TYPE = "AWS::CloudWatch::Alarm"
    CHANGES = _OF_ALL | _OF_METRICS
    KIND = "MetricAlarm"
    PUT = "put_metric_alarm"


class CompositeAlarm(_AnyAlarm, CloudFormationModel):
    TYPE = "AWS::CloudWatch::CompositeAlarm"
    CHANGES = _OF_ALL | {"AlarmRule"}
    KIND = "CompositeAlarm"
    PUT = "put_composite_alarm"


class DeployedDashboard(Dashboard, CloudFormationModel):
    """moto's dashboard. For each change moto would make another one, by another name."""

    CHANGES = frozenset({"DashboardBody"})

    @classmethod
    def change(cls, resource: Dashboard, properties: Properties, before: Properties) -> None:  # noqa: ARG003 - as for all types
        client("cloudwatch").put_dashboard(
            DashboardName=resource.name, DashboardBody=properties["DashboardBody"]
        )
