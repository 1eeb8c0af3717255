"""CloudWatch's alarms and dashboards."""

from typing import Final

from moto.cloudwatch.models import Dashboard
from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client

_SETTINGS: Final = frozenset(
    {
        *("ActionsEnabled", "AlarmActions", "AlarmDescription", "ComparisonOperator"),
        *("DatapointsToAlarm", "Dimensions", "EvaluateLowSampleCountPercentile"),
        *("EvaluationPeriods", "ExtendedStatistic", "InsufficientDataActions", "MetricName"),
        *("Metrics", "Namespace", "OKActions", "Period", "Statistic", "Threshold"),
        *("ThresholdMetricId", "TreatMissingData", "Unit"),
    }
)


class Alarm(Resource, CloudFormationModel):
    TYPE = "AWS::CloudWatch::Alarm"
    NAME_PROPERTY = "AlarmName"
    CHANGES = _SETTINGS
    REPLACED = frozenset({"AlarmName"})

    def create(self) -> None:
        settings = {name: self.properties[name] for name in _SETTINGS & self.properties.keys()}
        client("cloudwatch").put_metric_alarm(AlarmName=self.name, **settings)

    def remove(self) -> None:
        client("cloudwatch").delete_alarms(AlarmNames=[self.name])

    def get_cfn_attribute(self, attribute: str) -> str:
        alarms = client("cloudwatch").describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return str(alarms[0]["AlarmArn" if attribute == "Arn" else attribute])


class DeployedDashboard(Dashboard, CloudFormationModel):
    """moto's dashboard. For each change moto would make another one, by another name."""

    CHANGES = frozenset({"DashboardBody"})
    REPLACED = frozenset({"DashboardName"})

    @classmethod
    def change(cls, resource: Dashboard, properties: Properties, before: Properties) -> None:  # noqa: ARG003 - as for all types
        client("cloudwatch").put_dashboard(
            DashboardName=resource.name, DashboardBody=properties["DashboardBody"]
        )
