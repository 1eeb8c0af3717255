"""The inventory of everything in a deployed template that is neither run nor imitated here."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lifoq.schedules.expression import (
    InvalidExpressionError,
    UnsupportedExpressionError,
    parse,
)
from lifoq_localcloud.basics.folder import private_file
from lifoq_localcloud.deployments.resources import types

Stacks = dict[str, dict[str, dict[str, Any]]]

HARMLESS = {"AWS::CDK::Metadata"}
"""Types that do nothing on AWS either."""

_NOT_ENFORCED = "is stored, and not enforced (calls.jsonl tells what was called)"
_NOT_KEPT = "are not kept"

UNDONE = {
    "AWS::ECS::Service": "runs no container; start `lifoq work` beside it (docs/long-tasks.md)",
    "AWS::Events::Rule.ScheduleExpression": "rules do not fire by themselves",
    "AWS::Lambda::Function.Layers": "layers are not unpacked",
}
"""Types and properties of which the application misses something here."""
PASSIVE = {
    "AWS::CloudWatch::Alarm": "is stored, and never evaluated",
    "AWS::CloudWatch::CompositeAlarm": "is stored, and never evaluated",
    "AWS::CloudWatch::Dashboard": "is stored, and never drawn",
    "AWS::IAM::Policy": _NOT_ENFORCED,
    "AWS::IAM::ManagedPolicy": _NOT_ENFORCED,
    "AWS::KMS::Key": "encrypts nothing",
    "AWS::Lambda::Permission": _NOT_ENFORCED,
    "AWS::Logs::QueryDefinition": "is not saved: there is no Logs Insights",
    "AWS::S3::BucketPolicy": _NOT_ENFORCED,
    "AWS::SNS::TopicPolicy": _NOT_ENFORCED,
    "AWS::SQS::QueuePolicy": _NOT_ENFORCED,
    "AWS::ApiGatewayV2::Route.AuthorizationType": "asks for an access key, and for no permission",
    "AWS::ApiGatewayV2::Stage.DefaultRouteSettings": "requests are not throttled",
    "AWS::ApiGatewayV2::Stage.AccessLogSettings": "requests are not logged",
    "AWS::ApiGatewayV2::Stage.AutoDeploy": "a change is live at once",
    "AWS::ApiGatewayV2::Stage.Tags": _NOT_KEPT,
    "AWS::CloudWatch::Dashboard.Tags": _NOT_KEPT,
    "AWS::ECS::Cluster.Tags": _NOT_KEPT,
    "AWS::ECS::TaskDefinition.Tags": _NOT_KEPT,
    "AWS::Lambda::Function.DeadLetterConfig": "only destinations are fed",
    "AWS::Lambda::Function.RecursiveLoop": "loops are not detected",
    "AWS::Lambda::Function.Runtime": "functions run on the Python of this machine",
    "AWS::Lambda::Function.Architectures": "functions run on the processor of this machine",
    "AWS::Lambda::Function.MemorySize": "memory is not limited",
    "AWS::Lambda::Function.TracingConfig": "nothing is traced",
    "AWS::Lambda::Function.VpcConfig": "there is no network but this machine's",
    "AWS::Lambda::Function.EphemeralStorage": "the disk is this machine's",
    "AWS::Lambda::Function.KmsKeyArn": "nothing is encrypted",
    "AWS::Lambda::Function.SnapStart": "no snapshots are taken",
    "AWS::Lambda::EventSourceMapping.ScalingConfig": "a queue is read by one reader",
    "AWS::Lambda::EventSourceMapping.ParallelizationFactor": "a shard is read by one reader",
    "AWS::Lambda::EventSourceMapping.TumblingWindowInSeconds": "windows do not tumble",
    "AWS::Scheduler::Schedule.FlexibleTimeWindow": "schedules fire on time",
    "AWS::DynamoDB::Table.KinesisStreamSpecification": "nothing is sent to Kinesis",
}
"""Types and properties that change nothing of what the application does."""


def does_nothing(resource_type: str, property_name: str) -> bool:
    """True if nothing here follows from a property, so that a change of it changes nothing."""
    name = f"{resource_type}.{property_name}"
    return resource_type in UNDONE or name in UNDONE or name in PASSIVE


class Inventory:
    """Remembers what it has said, so that a second deployment says only what is new."""

    def __init__(self, file: Path) -> None:
        """``file``: where all of it is listed."""
        self._file = file
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        return list(self._lines)

    def news(self, stacks: Stacks) -> list[str]:
        """Return the lines that are new and that somebody may have to act on. The first time, also
        say where the whole list is."""
        before, self._lines = self._lines, list(dict.fromkeys(_all(stacks)))
        private_file(self._file).write_text("".join(f"{line}\n" for line in self._lines))
        news = [line for line in self._lines if line not in before and not _is_passive(line)]
        if self._lines and not before:
            news.append(f"What is not as on AWS is listed in {self._file}")
        return news


def _is_passive(line: str) -> bool:
    return line.split(": ", maxsplit=1)[0] in PASSIVE


def _all(stacks: Stacks) -> Iterable[str]:
    for template in stacks.values():
        for resource in template.values():
            yield from _of(resource["Type"], resource.get("Properties", {}))


def _of(kind: str, properties: dict[str, Any]) -> Iterable[str]:
    if kind in HARMLESS:
        return
    if types.is_stand_in(kind) and kind not in PASSIVE:
        yield f"{kind}: has an id, and nothing behind it"
    set_here = (f"{kind}.{name}" for name, value in properties.items() if _is_set(value))
    for name in (kind, *set_here):
        effect = UNDONE.get(name) or PASSIVE.get(name)
        if effect:
            yield f"{name}: {effect}"
    if kind == "AWS::Scheduler::Schedule":
        yield from _of_schedule(properties)
    if kind == "AWS::Lambda::EventSourceMapping" and properties.get("Queues"):
        yield f"{kind}: there is no broker to read from"


def _is_set(value: Any) -> bool:
    return value not in (None, {"Mode": "OFF"})


def _of_schedule(properties: dict[str, Any]) -> Iterable[str]:
    expression = properties.get("ScheduleExpression")
    if isinstance(expression, str):
        try:
            parse(expression)
        except (InvalidExpressionError, UnsupportedExpressionError) as error:
            yield f"AWS::Scheduler::Schedule: {error}"
