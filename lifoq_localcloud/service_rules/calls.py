"""A call of a service's API, held against the service's model and its rules."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.model import OperationModel, StructureShape

from lifoq_localcloud.basics.constraints import Constraints
from lifoq_localcloud.service_rules import (
    documents,
    event_rules,
    functions,
    keys,
    metrics,
    objects,
    queues,
    schedules,
    state_machines,
    streams,
    topics,
)
from lifoq_localcloud.service_rules.refused import LAMBDA_VALUE, VALIDATION, RefusedError

Check = Callable[[dict[str, Any]], None]

CHECKS: Final[Mapping[str, Mapping[str, Check]]] = {
    "lambda": {
        "CreateFunction": functions.check_new,
        "UpdateFunctionConfiguration": functions.check,
        "UpdateFunctionCode": functions.check_code,
        "Invoke": functions.check_invocation,
        "CreateEventSourceMapping": functions.check_mapping,
    },
    "scheduler": {"CreateSchedule": schedules.check, "UpdateSchedule": schedules.check},
    "events": {
        "PutRule": event_rules.check,
        "PutEvents": event_rules.check_entries,
        "PutTargets": event_rules.check_targets,
    },
    "stepfunctions": {
        "CreateStateMachine": state_machines.check_new,
        "UpdateStateMachine": state_machines.check,
        "StartExecution": state_machines.check_execution,
        "StartSyncExecution": state_machines.check_execution,
        "SendTaskSuccess": state_machines.check_output,
    },
    "sqs": {
        "CreateQueue": queues.check_new,
        "SetQueueAttributes": queues.check_attributes,
        "SendMessage": queues.check_message,
        "SendMessageBatch": queues.check_messages,
        "DeleteMessageBatch": queues.check_batch,
        "ChangeMessageVisibility": queues.check_received,
        "ChangeMessageVisibilityBatch": queues.check_batch,
        "ReceiveMessage": queues.check_received,
    },
    "sns": {
        "Publish": topics.check_publication,
        "PublishBatch": topics.check_messages,
        "Subscribe": topics.check_subscription,
        "SetSubscriptionAttributes": topics.check_subscription_attribute,
    },
    "iam": {
        "CreateRole": documents.check_trust,
        "UpdateAssumeRolePolicy": documents.check_new_trust,
        "PutRolePolicy": documents.check_policy,
        "CreatePolicy": documents.check_policy,
        "CreatePolicyVersion": documents.check_policy,
    },
    "ssm": {
        "PutParameter": documents.check_parameter,
        "GetParametersByPath": documents.check_paths,
    },
    "logs": {
        "PutRetentionPolicy": documents.check_retention,
        "PutLogEvents": documents.check_log_events,
    },
    "cloudwatch": {
        "PutMetricData": metrics.check_data,
        "PutMetricAlarm": metrics.check_alarm,
        "PutDashboard": metrics.check_dashboard,
        "GetMetricData": metrics.check_question,
    },
    "s3": {
        "PutObject": objects.check_object,
        "UploadPart": objects.check_object,
        "ListObjectsV2": objects.check_page,
        "PutBucketTagging": objects.check_tags,
        "PutBucketLifecycleConfiguration": objects.check_lifecycle,
    },
    "dynamodbstreams": {
        "DescribeStream": streams.check_arn,
        "ListStreams": streams.check_arn,
        "GetShardIterator": streams.check_iterator,
    },
    "kms": {"ScheduleKeyDeletion": keys.check_deletion},
}
"""The rules that no model says, by service and operation."""
ALL: Final[Mapping[str, Check]] = {"sns": topics.check_arns}
"""The rules that each operation of a service has."""

_VALIDATION_ERROR: Final = "ValidationError"
CODES: Final[Mapping[str, str]] = {
    "apigatewayv2": "BadRequestException",
    "cloudformation": _VALIDATION_ERROR,
    "cloudwatch": _VALIDATION_ERROR,
    "ecr": "InvalidParameterException",
    "ecs": "InvalidParameterException",
    "iam": _VALIDATION_ERROR,
    "logs": "InvalidParameterException",
    "s3": "InvalidArgument",
    "sns": _VALIDATION_ERROR,
    "sqs": "MissingParameter",
    "sts": _VALIDATION_ERROR,
}
"""The code by which a service says that a call does not fit its model, where it is not
``ValidationException``."""
_MALFORMED: Final = {"query": "MalformedInput", "rest-xml": "MalformedXML"}

_PARAMETER: Final = re.compile(r"at '([^.']+)")

_WORDS: Final = Constraints(in_any_case=frozenset({"ChecksumMode"}))
"""Apache Arrow's S3 client, by which Spark reads exports, asks for checksums in small letters."""


def check(operation: OperationModel, asked: dict[str, Any]) -> None:
    """Raise RefusedError for a call that AWS refuses whatever there is.

    ``asked`` are the parameters by the names of the model.
    """
    service = operation.service_model.service_name
    if isinstance(operation.input_shape, StructureShape):
        told = _WORDS.told(operation.input_shape, asked)
        if told is not None:
            raise RefusedError(_code(service, operation.input_shape, told), told)
    if (common := ALL.get(service)) is not None:
        common(asked)
    if (own := CHECKS.get(service, {}).get(operation.name)) is not None:
        own(asked)


def malformed_code(protocol: str) -> str:
    """Return the code for a request that cannot be read."""
    return _MALFORMED.get(protocol, "SerializationException")


def _code(service: str, shape: StructureShape, told: str) -> str:
    if service == "s3" and _is_of_body(shape, told):
        return "MalformedXML"
    if service == "sqs" and "Value null" not in told:
        return "InvalidAttributeName"
    if service == "lambda" and "at 'runtime'" in told:
        return LAMBDA_VALUE
    return CODES.get(service, VALIDATION)


def _is_of_body(shape: StructureShape, told: str) -> bool:
    """True if the first sentence speaks of a parameter that stands in the body."""
    found = _PARAMETER.search(told)
    names = (name for name in shape.members if found and name.lower() == found[1].lower())
    return any("location" not in shape.members[name].serialization for name in names)
