"""What a deployed template asks for that is neither run nor imitated here."""

from collections.abc import Iterable
from typing import Any

from .moto_adapter import resources
from .schedule_expression import UnsupportedExpressionError, parse

Stacks = dict[str, dict[str, dict[str, Any]]]

HARMLESS = {"AWS::CDK::Metadata"}
"""Types that do nothing on AWS either."""

_NOT_ENFORCED = "is stored, and not enforced (calls.jsonl tells what was called)"

PASSIVE_TYPES = {
    "AWS::CloudWatch::Alarm": "is stored, and never evaluated",
    "AWS::CloudWatch::Dashboard": "is stored, and never drawn",
    "AWS::ECS::Service": "runs no container; start `lifoq work` beside it (docs/long-tasks.md)",
    "AWS::IAM::Policy": _NOT_ENFORCED,
    "AWS::IAM::ManagedPolicy": _NOT_ENFORCED,
    "AWS::KMS::Key": "encrypts nothing",
    "AWS::Lambda::Permission": _NOT_ENFORCED,
    "AWS::Logs::LogGroup": "stays empty; what functions write is in the logs folder",
    "AWS::SNS::TopicPolicy": _NOT_ENFORCED,
    "AWS::SQS::QueuePolicy": _NOT_ENFORCED,
}
PASSIVE_PROPERTIES = {
    "AWS::ApiGatewayV2::Route": {
        "AuthorizationType": "whoever calls an HTTP API is let in",
    },
    "AWS::ApiGatewayV2::Stage": {
        "DefaultRouteSettings": "requests are not throttled",
        "AccessLogSettings": "requests are not logged",
    },
    "AWS::Events::Rule": {"ScheduleExpression": "rules do not fire by themselves"},
    "AWS::Lambda::Function": {
        "DeadLetterConfig": "only on-failure destinations are fed",
        "RecursiveLoop": "loops are not detected",
        "Runtime": "functions run on the Python of this machine",
        "Architectures": "functions run on the processor of this machine",
        "MemorySize": "memory is not limited",
        "TracingConfig": "nothing is traced",
        "VpcConfig": "there is no network but this machine's",
        "Layers": "layers are not unpacked",
    },
    "AWS::Lambda::EventSourceMapping": {
        "ScalingConfig": "a queue is read by one reader",
        "ParallelizationFactor": "a shard is read by one reader",
        "TumblingWindowInSeconds": "windows do not tumble",
    },
    "AWS::Scheduler::Schedule": {"FlexibleTimeWindow": "schedules fire on time"},
    "AWS::DynamoDB::Table": {"KinesisStreamSpecification": "nothing is sent to Kinesis"},
}


class Inventory:
    """Remembers what it has said, so that a second deployment says only what is new."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        return list(self._lines)

    def news(self, stacks: Stacks) -> list[str]:
        lines = list(dict.fromkeys(_all(stacks)))
        fresh = [line for line in lines if line not in self._lines]
        self._lines = lines
        return fresh


def _all(stacks: Stacks) -> Iterable[str]:
    for template in stacks.values():
        for resource in template.values():
            yield from _of(resource["Type"], resource.get("Properties", {}))


def _of(kind: str, properties: dict[str, Any]) -> Iterable[str]:
    if kind in HARMLESS:
        return
    if resources.is_stand_in(kind):
        yield f"{kind}: has an id, and nothing behind it"
    if kind in PASSIVE_TYPES:
        yield f"{kind}: {PASSIVE_TYPES[kind]}"
    for name, effect in PASSIVE_PROPERTIES.get(kind, {}).items():
        if _is_set(properties.get(name)):
            yield f"{kind}.{name}: {effect}"
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
        except UnsupportedExpressionError as error:
            yield f"AWS::Scheduler::Schedule: {error}"
