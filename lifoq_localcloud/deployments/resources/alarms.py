"""CloudWatch's alarms."""

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Resource, client


class Alarm(Resource, CloudFormationModel):
    TYPE = "AWS::CloudWatch::Alarm"
    NAME_PROPERTY = "AlarmName"

    def create(self) -> None:
        client("cloudwatch").put_metric_alarm(**{**self.properties, "AlarmName": self.name})

    def remove(self) -> None:
        client("cloudwatch").delete_alarms(AlarmNames=[self.name])

    def get_cfn_attribute(self, attribute: str) -> str:
        alarms = client("cloudwatch").describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return str(alarms[0]["AlarmArn" if attribute == "Arn" else attribute])
