"""Calls as the services' models draw them: broken in one place they are refused, with the service's
code, before anything sees them; whole ones never end in a fault of the local cloud's own.

The operations are those that lifoq calls, its deployments, and the tests of its users.
"""

import random
from collections.abc import Iterator
from typing import Any, Final

import boto3
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError, FlexibleChecksumError, MissingDependencyException
from botocore.model import OperationModel
from botocore.parsers import create_parser
from moto.core.utils import get_service_model

from lifoq_localcloud import LocalCloud
from lifoq_localcloud.moto_adapter import checked_calls
from tests.localcloud import drawn_requests
from tests.localcloud.drawn_requests import Broken

OPERATIONS: Final = {
    "lambda": """
        AddPermission CreateEventSourceMapping CreateFunction DeleteEventSourceMapping
        DeleteFunction DeleteFunctionConcurrency DeleteFunctionEventInvokeConfig
        GetEventSourceMapping GetFunction GetFunctionConcurrency GetFunctionConfiguration
        GetFunctionEventInvokeConfig GetPolicy Invoke ListEventSourceMappings
        ListFunctionEventInvokeConfigs ListFunctions PutFunctionConcurrency
        PutFunctionEventInvokeConfig RemovePermission TagResource UntagResource
        UpdateEventSourceMapping UpdateFunctionCode UpdateFunctionConfiguration
    """,
    "sqs": """
        AddPermission ChangeMessageVisibility CreateQueue DeleteMessage DeleteMessageBatch
        DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags ListQueues ReceiveMessage
        RemovePermission SendMessage SendMessageBatch SetQueueAttributes TagQueue
    """,
    "sns": """
        AddPermission CreateTopic DeleteTopic GetSubscriptionAttributes GetTopicAttributes
        ListTagsForResource ListTopics Publish PublishBatch RemovePermission
        SetSubscriptionAttributes SetTopicAttributes Subscribe TagResource Unsubscribe
        UntagResource
    """,
    "events": """
        DeleteRule DescribeRule ListTagsForResource ListTargetsByRule PutEvents PutRule
        PutTargets RemovePermission RemoveTargets UntagResource
    """,
    "scheduler": """
        CreateSchedule CreateScheduleGroup DeleteSchedule DeleteScheduleGroup GetSchedule
        GetScheduleGroup ListSchedules ListTagsForResource UntagResource UpdateSchedule
    """,
    "stepfunctions": """
        CreateStateMachine DeleteStateMachine DescribeExecution DescribeStateMachine
        GetExecutionHistory ListTagsForResource SendTaskFailure SendTaskSuccess
        StartExecution UntagResource UpdateStateMachine
    """,
    "s3": """
        CopyObject CreateBucket DeleteBucket DeleteBucketEncryption DeleteBucketLifecycle
        DeleteBucketOwnershipControls DeleteBucketTagging DeleteObject DeleteObjects
        DeletePublicAccessBlock GetBucketLifecycleConfiguration GetObject HeadObject
        ListBuckets ListObjectsV2 PutBucketEncryption PutBucketLifecycleConfiguration
        PutBucketOwnershipControls PutBucketTagging PutBucketVersioning PutObject
        PutPublicAccessBlock UploadPart
    """,
    "ssm": """
        DeleteParameter DescribeParameters GetParameter GetParameters GetParametersByPath
        ListTagsForResource PutParameter
    """,
    "cloudformation": """
        CreateChangeSet CreateStack DeleteChangeSet DeleteStack DescribeChangeSet
        DescribeStackEvents DescribeStacks ExecuteChangeSet GetTemplate ListExports
        ListStackResources UpdateStack UpdateTerminationProtection ValidateTemplate
    """,
    "cloudwatch": """
        DeleteAlarms DeleteDashboards DescribeAlarms GetDashboard GetMetricData
        ListDashboards ListMetrics ListTagsForResource PutCompositeAlarm PutDashboard
        PutMetricAlarm PutMetricData UntagResource
    """,
    "logs": """
        CreateLogGroup CreateLogStream DeleteLogGroup DeleteResourcePolicy
        DeleteRetentionPolicy DescribeLogGroups DescribeLogStreams FilterLogEvents
        GetLogEvents ListTagsForResource PutLogEvents PutResourcePolicy PutRetentionPolicy
        UntagResource
    """,
    "iam": """
        AttachRolePolicy CreateAccessKey CreatePolicy CreatePolicyVersion CreateRole
        CreateUser DeletePolicy DeletePolicyVersion DeleteRole DeleteRolePermissionsBoundary
        DeleteRolePolicy DetachRolePolicy GetPolicy GetPolicyVersion GetRole GetRolePolicy
        ListAttachedRolePolicies ListEntitiesForPolicy ListPolicyVersions ListRolePolicies
        ListRoles PutRolePermissionsBoundary PutRolePolicy TagRole UpdateAccessKey
        UpdateAssumeRolePolicy UpdateRole
    """,
    "sts": """
        AssumeRole GetCallerIdentity
    """,
    "secretsmanager": """
        CreateSecret DeleteResourcePolicy DeleteSecret DescribeSecret GetSecretValue
        PutResourcePolicy PutSecretValue UntagResource
    """,
    "kms": """
        CreateAlias CreateKey Decrypt DescribeKey DisableKeyRotation EnableKeyRotation
        Encrypt GetKeyPolicy ListResourceTags PutKeyPolicy ScheduleKeyDeletion UntagResource
        UpdateKeyDescription
    """,
    "apigatewayv2": """
        CreateApi CreateIntegration CreateRoute CreateStage DeleteApi DeleteIntegration
        DeleteRoute DeleteStage GetApi GetApis GetRoutes GetStages UntagResource UpdateApi
        UpdateIntegration UpdateRoute
    """,
    "dynamodbstreams": """
        DescribeStream GetRecords GetShardIterator ListStreams
    """,
}
SIGNED_AS: Final = {
    "apigatewayv2": "apigateway",
    "cloudwatch": "monitoring",
    "dynamodbstreams": "dynamodb",
    "stepfunctions": "states",
}
PROTOCOLS: Final = {"cloudwatch": "json"}
"""Services with which botocore speaks another protocol than the first of the model."""

CODES: Final = {
    "apigatewayv2": {"BadRequestException"},
    "cloudformation": {"ValidationError"},
    "cloudwatch": {"ValidationError"},
    "iam": {"ValidationError"},
    "lambda": {"ValidationException", "InvalidParameterValueException"},
    "logs": {"InvalidParameterException"},
    "s3": {"InvalidArgument", "MalformedXML", "InvalidDigest"},
    "sns": {"ValidationError"},
    "sqs": {"MissingParameter", "InvalidAttributeName"},
    "sts": {"ValidationError"},
}
"""Codes of a service for a call that does not fit its model, where it is not
``ValidationException``."""

UNSENT: Final = (FlexibleChecksumError, MissingDependencyException, ValueError)
"""Errors of botocore for a checksum that it cannot count, and of a date that is none."""
SAMPLE: Final = 20
"""One in so many broken calls is enough to notice a rule that is gone."""


def operations() -> Iterator[tuple[str, str, OperationModel]]:
    """Yield service, protocol and model of each operation."""
    for service, names in OPERATIONS.items():
        model = get_service_model(service)
        protocol = PROTOCOLS.get(service, str(model.protocol))
        for name in names.split():
            yield service, protocol, model.operation_model(name)


def asked(service: str, environ: dict[str, Any], protocol: str) -> str | None:
    """Return the code of a refusal, as a client reads it; None for a call that goes on to moto."""
    answer = checked_calls.refusal(SIGNED_AS.get(service, service), environ)
    if answer is None:
        return None
    status, headers, body = answer
    assert 400 <= status < 500
    lowered = {name.lower(): value for name, value in headers.items()}
    response = {"status_code": status, "headers": lowered, "body": body}
    return str(create_parser(protocol).parse(response, None)["Error"]["Code"])


def complaint(
    service: str, protocol: str, operation: OperationModel, given: Any, one: Broken
) -> str | None:
    """Return what is wrong with the answer to a broken call."""
    code = asked(service, drawn_requests.environ(operation, given, protocol, one), protocol)
    wanted = CODES.get(service, {"ValidationException"})
    if one.kind == "type":
        wanted = {"SerializationException"}
    return None if code in wanted else f"{service} {operation.name} {one}: {code}, not {wanted}"


def complaints(seed: int, *, every: int) -> list[str]:
    """Return what is wrong, of all calls that one seed draws or of every so-many-th."""
    draw = random.Random(seed)
    found = []
    for service, protocol, operation in operations():
        given = drawn_requests.whole(operation, draw, share=1.0)
        found += [
            complaint(service, protocol, operation, given, one)
            for one in drawn_requests.broken(operation, given, protocol=protocol)
            if draw.randrange(every) == 0
        ]
    return [one for one in found if one is not None]


def test_a_call_that_is_broken_in_one_place_is_refused_before_anything_is_written():
    assert complaints(1, every=SAMPLE) == []


@pytest.mark.prove
def test_every_call_that_is_broken_in_one_place_is_refused():
    assert complaints(2, every=1) == []


@pytest.mark.prove
def test_no_call_that_its_model_allows_ends_in_a_fault_of_the_local_cloud(tmp_path):
    draw = random.Random(1)
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    faults = []
    with LocalCloud(tmp_path) as cloud:
        clients: dict[str, Any] = {
            one: boto3.client(one, config=config, **cloud.arguments())  # type: ignore[call-overload]
            for one in OPERATIONS
        }
        for share in (0.0, 0.5, 1.0, 0.5):
            for service, _, operation in sorted(operations(), key=order):
                given = drawn_requests.whole(operation, draw, share=share)
                call = getattr(clients[service], xform_name(operation.name))
                try:
                    call(**given)
                except ClientError as error:
                    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                    if status >= 500:
                        faults.append(f"{service} {operation.name} {given}: {error}")
                except UNSENT:
                    continue
    assert faults == []


def order(one: tuple[str, str, OperationModel]) -> tuple[bool, bool]:
    """Sort first the operations that make something, last those that delete it."""
    name = one[2].name
    return not name.startswith(("Create", "Put")), name.startswith("Delete")
