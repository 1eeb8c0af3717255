"""Tags of resources: they are written and taken away by each service's own calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lifoq_localcloud.basics.account import REGION
from lifoq_localcloud.deployments.resources.resource import Properties, client

Tags = dict[str, str]


def _list(tags: Tags) -> Any:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _lower_list(tags: Tags) -> Any:
    return [{"key": key, "value": value} for key, value in tags.items()]


def _key_list(tags: Tags) -> Any:
    return [{"TagKey": key, "TagValue": value} for key, value in tags.items()]


@dataclass(frozen=True, kw_only=True)
class _Calls:
    """The calls by which a service is told the tags of a resource."""

    service: str
    resource: str
    """The parameter that names the resource."""
    tags: str = "Tags"
    keys: str = "TagKeys"
    form: Callable[[Tags], Any] = _list
    tag: str = "tag_resource"
    untag: str = "untag_resource"
    more: Mapping[str, str] = field(default_factory=dict)


_LOWER: Final[dict[str, Any]] = {"resource": "resourceArn", "tags": "tags", "keys": "tagKeys"}

_CALLS: Final[dict[str, tuple[_Calls, Callable[[Any], str]]]] = {
    "AWS::ApiGatewayV2::Api": (
        _Calls(service="apigatewayv2", resource="ResourceArn", form=dict),
        lambda one: f"arn:aws:apigateway:{REGION}::/apis/{one.physical_resource_id}",
    ),
    "AWS::CloudWatch::Alarm": (
        _Calls(service="cloudwatch", resource="ResourceARN"),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::CloudWatch::CompositeAlarm": (
        _Calls(service="cloudwatch", resource="ResourceARN"),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::DynamoDB::Table": (
        _Calls(service="dynamodb", resource="ResourceArn"),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::Events::Rule": (
        _Calls(service="events", resource="ResourceARN"),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::IAM::Role": (
        _Calls(service="iam", resource="RoleName", tag="tag_role", untag="untag_role"),
        lambda one: one.physical_resource_id,
    ),
    "AWS::KMS::Key": (
        _Calls(service="kms", resource="KeyId", form=_key_list),
        lambda one: one.physical_resource_id,
    ),
    "AWS::Lambda::EventSourceMapping": (
        _Calls(service="lambda", resource="Resource", form=dict),
        lambda one: one.arn,
    ),
    "AWS::Lambda::Function": (
        _Calls(service="lambda", resource="Resource", form=dict),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::Logs::LogGroup": (
        _Calls(service="logs", form=dict, **_LOWER),
        lambda one: one.get_cfn_attribute("Arn").removesuffix(":*"),
    ),
    "AWS::SNS::Topic": (
        _Calls(service="sns", resource="ResourceArn"),
        lambda one: one.physical_resource_id,
    ),
    "AWS::SQS::Queue": (
        _Calls(service="sqs", resource="QueueUrl", form=dict, tag="tag_queue", untag="untag_queue"),
        lambda one: one.physical_resource_id,
    ),
    "AWS::SSM::Parameter": (
        _Calls(
            service="ssm",
            resource="ResourceId",
            tag="add_tags_to_resource",
            untag="remove_tags_from_resource",
            more={"ResourceType": "Parameter"},
        ),
        lambda one: one.physical_resource_id,
    ),
    "AWS::Scheduler::ScheduleGroup": (
        _Calls(service="scheduler", resource="ResourceArn"),
        lambda one: one.get_cfn_attribute("Arn"),
    ),
    "AWS::StepFunctions::StateMachine": (
        _Calls(service="stepfunctions", form=_lower_list, **_LOWER),
        lambda one: one.physical_resource_id,
    ),
}
"""The calls for each type, and by what they name a resource."""


def are_kept(resource_type: str) -> bool:
    """True if a resource of this type has the tags that its template says."""
    return resource_type in _CALLS


def change(resource_type: str, resource: Any, properties: Properties, before: Properties) -> None:
    """Give a resource the tags of ``properties``, in place of those of ``before``."""
    old, new = _tags(before), _tags(properties)
    if old == new or not are_kept(resource_type):
        return
    calls, name = _CALLS[resource_type]
    api, named = client(calls.service), {calls.resource: name(resource), **calls.more}
    if gone := sorted(old.keys() - new.keys()):
        getattr(api, calls.untag)(**named, **{calls.keys: gone})
    if given := {key: value for key, value in new.items() if old.get(key) != value}:
        getattr(api, calls.tag)(**named, **{calls.tags: calls.form(given)})


def _tags(properties: Properties) -> Tags:
    """CloudFormation has a list of most types' tags, and a map of some."""
    found = properties.get("Tags") or {}
    if isinstance(found, list):
        return {one["Key"]: str(one["Value"]) for one in found}
    return {key: str(value) for key, value in found.items()}
