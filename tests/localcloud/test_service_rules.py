"""Refusals of the other services: calls that AWS refuses are refused here, with the same code.

Each row is a call, the code of AWS's error, and a part of its sentence. The second half is about
templates: what a service or CloudFormation would refuse, a stack is refused for.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from aws_cdk import assertions
from botocore.config import Config
from botocore.exceptions import ClientError

from moto.core.utils import get_service_model

from lifoq_localcloud import LocalCloud
from lifoq_localcloud.service_rules import calls, templates
from lifoq_localcloud.service_rules.refused import RefusedError
from tests.localcloud import common_application
from tests.localcloud.harness import zipped

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/r"
CODE = zipped({"code.py": "def handler(event, context):\n    return event\n"})
QUEUE = f"http://localhost/{ACCOUNT}/refusing"
FIFO = f"http://localhost/{ACCOUNT}/refusing.fifo"
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:refusing"
LONG = "x" * 1_100_000
Call = dict[str, Any]
Client = Callable[[str], Any]


def function(**changed: Any) -> Call:
    return {
        "FunctionName": "other",
        "Runtime": "python3.13",
        "Role": ROLE,
        "Handler": "code.handler",
        "Code": {"ZipFile": CODE},
        **changed,
    }


def mapping(queue: str = "refusing", **changed: Any) -> Call:
    arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{queue}"
    return {"EventSourceArn": arn, "FunctionName": "refusing", **changed}


def invocation(**changed: Any) -> Call:
    return {"FunctionName": "refusing", **changed}


def variables(**values: str) -> Call:
    return {"Environment": {"Variables": values}}


def schedule(**changed: Any) -> Call:
    return {
        "Name": "other",
        "ScheduleExpression": "rate(1 hour)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:refusing", "RoleArn": ROLE},
        **changed,
    }


def rule(**changed: Any) -> Call:
    return {"Name": "other", "EventPattern": json.dumps({"source": ["shop"]}), **changed}


def pattern(**found: Any) -> Call:
    return rule(EventPattern=json.dumps(found))


def machine(definition: Any, **changed: Any) -> Call:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return {"name": "other", "definition": text, "roleArn": ROLE, **changed}


def states(start: str = "A", **named: Any) -> Any:
    return {"StartAt": start, "States": named}


PASS = {"Type": "Pass", "End": True}

REFUSED: list[tuple[str, str, Call, str, str]] = [
    # Lambda
    ("lambda", "create_function", function(Timeout=901), "ValidationException", "equal to 900"),
    ("lambda", "create_function", function(MemorySize=64), "ValidationException", "equal to 128"),
    ("lambda", "create_function", function(MemorySize=10241), "ValidationException", "10240"),
    (
        "lambda",
        "create_function",
        function(Runtime="python9.9"),
        "InvalidParameterValueException",
        "enum value set",
    ),
    (
        "lambda",
        "create_function",
        function(Runtime="python3.7"),
        "InvalidParameterValueException",
        "no longer supported",
    ),
    ("lambda", "create_function", function(FunctionName="no spaces"), "ValidationException", ""),
    ("lambda", "create_function", function(FunctionName="x" * 65), "ValidationException", "64"),
    ("lambda", "create_function", function(FunctionName="refusing"), "ResourceConflict", "exist"),
    (
        "lambda",
        "create_function",
        function(**variables(AWS_REGION="x")),
        "InvalidParameterValueException",
        "reserved keys",
    ),
    (
        "lambda",
        "create_function",
        function(**variables(BIG="x" * 4096)),
        "InvalidParameterValueException",
        "4KB limit",
    ),
    (
        "lambda",
        "create_function",
        function(**variables(**{"1": "x"})),
        "ValidationException",
        "regular expression",
    ),
    (
        "lambda",
        "update_function_configuration",
        {"FunctionName": "refusing", "Timeout": 901},
        "ValidationException",
        "900",
    ),
    (
        "lambda",
        "update_function_configuration",
        {"FunctionName": "refusing", **variables(LAMBDA_TASK_ROOT="x")},
        "InvalidParameterValueException",
        "reserved keys",
    ),
    (
        "lambda",
        "put_function_concurrency",
        {"FunctionName": "nobody", "ReservedConcurrentExecutions": 1},
        "ResourceNotFoundException",
        "Function not found",
    ),
    (
        "lambda",
        "put_function_event_invoke_config",
        {"FunctionName": "refusing", "MaximumRetryAttempts": 3},
        "ValidationException",
        "2",
    ),
    (
        "lambda",
        "put_function_event_invoke_config",
        {"FunctionName": "refusing", "MaximumEventAgeInSeconds": 21601},
        "ValidationException",
        "21600",
    ),
    (
        "lambda",
        "invoke",
        invocation(Payload=json.dumps("x" * 6300000).encode()),
        "RequestTooLargeException",
        "6291456",
    ),
    (
        "lambda",
        "invoke",
        invocation(Payload=json.dumps(LONG).encode(), InvocationType="Event"),
        "RequestTooLargeException",
        "1048576",
    ),
    (
        "lambda",
        "invoke",
        invocation(Payload=b"{not JSON"),
        "InvalidRequestContentException",
        "Could not parse request body into json",
    ),
    (
        "lambda",
        "invoke",
        invocation(Payload=b"{not JSON", InvocationType="Event"),
        "InvalidRequestContentException",
        "Could not parse request body into json",
    ),
    (
        "lambda",
        "invoke",
        invocation(Qualifier="nobody"),
        "ResourceNotFoundException",
        "Function not found",
    ),
    (
        "lambda",
        "invoke",
        invocation(Qualifier="7"),
        "ResourceNotFoundException",
        "Function not found",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping(BatchSize=100),
        "InvalidParameterValueException",
        "window",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping("refusing.fifo", MaximumBatchingWindowInSeconds=5),
        "InvalidParameterValueException",
        "FIFO",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping("refusing.fifo", BatchSize=11),
        "InvalidParameterValueException",
        "batch size",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping("short"),
        "InvalidParameterValueException",
        "less than Function timeout",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping("nobody"),
        "InvalidParameterValueException",
        "exist",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping(BatchSize=10001),
        "ValidationException",
        "10000",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping(StartingPosition="LATEST"),
        "InvalidParameterValueException",
        "StartingPosition",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        {"EventSourceArn": "STREAM", "FunctionName": "refusing"},
        "ValidationException",
        "startingPosition",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping(MaximumBatchingWindowInSeconds=301),
        "ValidationException",
        "300",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping(ScalingConfig={"MaximumConcurrency": 1}),
        "ValidationException",
        "2",
    ),
    (
        "lambda",
        "create_event_source_mapping",
        mapping("mapped"),
        "ResourceConflictException",
        "already exists",
    ),
    # Scheduler
    ("scheduler", "create_schedule", schedule(Name="no spaces"), "ValidationException", "name"),
    ("scheduler", "create_schedule", schedule(Name="x" * 65), "ValidationException", "64"),
    (
        "scheduler",
        "create_schedule",
        schedule(ScheduleExpression="every hour"),
        "ValidationException",
        "Invalid Schedule Expression",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(ScheduleExpressionTimezone="Europe/Nowhere"),
        "ValidationException",
        "imezone",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(GroupName="nobody"),
        "ResourceNotFoundException",
        "nobody",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(FlexibleTimeWindow={"Mode": "FLEXIBLE"}),
        "ValidationException",
        "MaximumWindowInMinutes",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(StartDate="2030-01-02T00:00:00Z", EndDate="2030-01-01T00:00:00Z"),
        "ValidationException",
        "StartDate",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(Target={"Arn": "no arn", "RoleArn": ROLE}),
        "ValidationException",
        "Arn",
    ),
    (
        "scheduler",
        "create_schedule",
        schedule(Target={**schedule()["Target"], "RetryPolicy": {"MaximumRetryAttempts": 186}}),
        "ValidationException",
        "185",
    ),
    ("scheduler", "delete_schedule", {"Name": "nobody"}, "ResourceNotFoundException", "nobody"),
    ("scheduler", "create_schedule_group", {"Name": "no spaces"}, "ValidationException", "name"),
    # EventBridge
    ("events", "put_rule", {"Name": "other"}, "ValidationException", "must be specified"),
    ("events", "put_rule", rule(Name="no spaces"), "ValidationException", "name"),
    ("events", "put_rule", rule(EventPattern="{"), "InvalidEventPatternException", "not valid"),
    ("events", "put_rule", pattern(source="shop"), "InvalidEventPatternException", "not valid"),
    ("events", "put_rule", pattern(source=[]), "InvalidEventPatternException", "not valid"),
    (
        "events",
        "put_rule",
        pattern(source=[{"begins": "s"}]),
        "InvalidEventPatternException",
        "match type begins",
    ),
    (
        "events",
        "put_rule",
        pattern(detail={"n": [{"numeric": ["=>", 1]}]}),
        "InvalidEventPatternException",
        "not valid",
    ),
    (
        "events",
        "put_rule",
        {"Name": "other", "ScheduleExpression": "rate(0 minutes)"},
        "ValidationException",
        "ScheduleExpression is not valid",
    ),
    (
        "events",
        "put_rule",
        rule(EventPattern=json.dumps({"source": ["x" * 5000]})),
        "ValidationException",
        "4096",
    ),
    ("events", "put_events", {"Entries": []}, "ValidationException", "1"),
    (
        "events",
        "put_events",
        {"Entries": [{"Source": "s", "DetailType": "d", "Detail": "{}"}] * 11},
        "ValidationException",
        "10",
    ),
    (
        "events",
        "put_events",
        {"Entries": [{"Source": "s", "DetailType": "d", "Detail": json.dumps({"x": LONG})}]},
        "ValidationException",
        "size",
    ),
    (
        "events",
        "put_targets",
        {"Rule": "nobody", "Targets": [{"Id": "1", "Arn": TOPIC}]},
        "ResourceNotFoundException",
        "nobody",
    ),
    (
        "events",
        "put_targets",
        {"Rule": "refusing", "Targets": [{"Id": str(n), "Arn": TOPIC} for n in range(6)]},
        "LimitExceededException",
        "5",
    ),
    # Step Functions
    ("stepfunctions", "create_state_machine", machine("{"), "InvalidDefinition", ""),
    ("stepfunctions", "create_state_machine", machine({}), "InvalidDefinition", "StartAt"),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states("B", A=PASS)),
        "InvalidDefinition",
        "MISSING_TRANSITION_TARGET",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A={"Type": "Pass", "Next": "B"})),
        "InvalidDefinition",
        "MISSING_TRANSITION_TARGET",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A={"Type": "Pass"})),
        "InvalidDefinition",
        "/States/A",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A={"Type": "Pause", "End": True})),
        "InvalidDefinition",
        "Type",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(
            states(
                A={"Type": "Choice", "Choices": [{"Variable": "$.x", "IsNull": True, "Next": "B"}]}
            )
        ),
        "InvalidDefinition",
        "MISSING_TRANSITION_TARGET",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A={"Type": "Map", "ItemProcessor": states("B", C=PASS), "End": True})),
        "InvalidDefinition",
        "MISSING_TRANSITION_TARGET",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A={"Type": "Task", "End": True})),
        "InvalidDefinition",
        "Resource",
    ),
    (
        "stepfunctions",
        "create_state_machine",
        machine(states(A=PASS), name="no spaces"),
        "InvalidName",
        "",
    ),
    (
        "stepfunctions",
        "start_execution",
        {"stateMachineArn": "MACHINE", "input": "{"},
        "InvalidExecutionInput",
        "",
    ),
    (
        "stepfunctions",
        "start_execution",
        {"stateMachineArn": "MACHINE", "input": json.dumps(LONG)},
        "ValidationException",
        "262144",
    ),
    (
        "stepfunctions",
        "send_task_success",
        {"taskToken": "nobody", "output": "{"},
        "InvalidOutput",
        "",
    ),
    # SQS
    ("sqs", "create_queue", {"QueueName": "no spaces"}, "InvalidParameterValue", "alphanumeric"),
    ("sqs", "create_queue", {"QueueName": "x" * 81}, "InvalidParameterValue", "80"),
    (
        "sqs",
        "create_queue",
        {"QueueName": "other", "Attributes": {"DelaySeconds": "901"}},
        "InvalidAttributeValue",
        "DelaySeconds",
    ),
    (
        "sqs",
        "create_queue",
        {"QueueName": "other", "Attributes": {"MessageRetentionPeriod": "59"}},
        "InvalidAttributeValue",
        "MessageRetentionPeriod",
    ),
    (
        "sqs",
        "create_queue",
        {"QueueName": "other", "Attributes": {"VisibilityTimeout": "43201"}},
        "InvalidAttributeValue",
        "VisibilityTimeout",
    ),
    (
        "sqs",
        "create_queue",
        {"QueueName": "other", "Attributes": {"RedrivePolicy": json.dumps({"maxReceiveCount": 3})}},
        "InvalidParameterValue",
        "deadLetterTargetArn",
    ),
    (
        "sqs",
        "create_queue",
        {"QueueName": "other", "Attributes": {"FifoQueue": "true"}},
        "InvalidParameterValue",
        ".fifo",
    ),
    (
        "sqs",
        "set_queue_attributes",
        {"QueueUrl": QUEUE, "Attributes": {"DelaySeconds": "x"}},
        "InvalidAttributeValue",
        "DelaySeconds",
    ),
    (
        "sqs",
        "send_message",
        {"QueueUrl": QUEUE, "MessageBody": LONG},
        "InvalidParameterValue",
        "1048576",
    ),
    (
        "sqs",
        "send_message",
        {"QueueUrl": QUEUE, "MessageBody": "\x00"},
        "InvalidMessageContents",
        "",
    ),
    (
        "sqs",
        "send_message",
        {"QueueUrl": FIFO, "MessageBody": "x"},
        "MissingParameter",
        "MessageGroupId",
    ),
    (
        "sqs",
        "send_message",
        {"QueueUrl": QUEUE, "MessageBody": "x", "DelaySeconds": 901},
        "InvalidParameterValue",
        "DelaySeconds",
    ),
    ("sqs", "send_message_batch", {"QueueUrl": QUEUE, "Entries": []}, "EmptyBatchRequest", ""),
    (
        "sqs",
        "send_message_batch",
        {"QueueUrl": QUEUE, "Entries": [{"Id": str(n), "MessageBody": "x"} for n in range(11)]},
        "TooManyEntriesInBatchRequest",
        "10",
    ),
    (
        "sqs",
        "send_message_batch",
        {"QueueUrl": QUEUE, "Entries": [{"Id": "1", "MessageBody": "x"}] * 2},
        "BatchEntryIdsNotDistinct",
        "1",
    ),
    (
        "sqs",
        "receive_message",
        {"QueueUrl": QUEUE, "MaxNumberOfMessages": 11},
        "InvalidParameterValue",
        "MaxNumberOfMessages",
    ),
    (
        "sqs",
        "receive_message",
        {"QueueUrl": QUEUE, "WaitTimeSeconds": 21},
        "InvalidParameterValue",
        "WaitTimeSeconds",
    ),
    (
        "sqs",
        "delete_message",
        {"QueueUrl": QUEUE, "ReceiptHandle": "nobody"},
        "ReceiptHandleIsInvalid",
        "",
    ),
    # SNS
    ("sns", "create_topic", {"Name": "no spaces"}, "InvalidParameter", ""),
    ("sns", "publish", {"TopicArn": TOPIC, "Message": ""}, "InvalidParameter", "Empty message"),
    ("sns", "publish", {"TopicArn": TOPIC, "Message": LONG}, "InvalidParameter", "too long"),
    (
        "sns",
        "publish",
        {"TopicArn": TOPIC, "Message": "x", "Subject": "x" * 101},
        "InvalidParameter",
        "Subject",
    ),
    (
        "sns",
        "publish",
        {"TopicArn": TOPIC, "Message": "x", "MessageStructure": "json"},
        "InvalidParameter",
        "JSON",
    ),
    ("sns", "publish", {"TopicArn": TOPIC + "x", "Message": "x"}, "NotFound", ""),
    (
        "sns",
        "subscribe",
        {"TopicArn": TOPIC, "Protocol": "carrier", "Endpoint": "pigeon"},
        "InvalidParameter",
        "protocol",
    ),
    (
        "sns",
        "subscribe",
        {
            "TopicArn": TOPIC,
            "Protocol": "sqs",
            "Endpoint": f"arn:aws:sqs:us-east-1:{ACCOUNT}:refusing",
            "Attributes": {"FilterPolicy": "{"},
        },
        "InvalidParameter",
        "FilterPolicy",
    ),
    (
        "sns",
        "publish_batch",
        {
            "TopicArn": TOPIC,
            "PublishBatchRequestEntries": [{"Id": str(n), "Message": "x"} for n in range(11)],
        },
        "TooManyEntriesInBatchRequest",
        "",
    ),
    # S3
    ("s3", "create_bucket", {"Bucket": "Not_A_Name"}, "InvalidBucketName", ""),
    ("s3", "delete_bucket", {"Bucket": "refusing"}, "BucketNotEmpty", ""),
    (
        "s3",
        "put_object",
        {"Bucket": "refusing", "Key": "x" * 1025, "Body": b""},
        "KeyTooLongError",
        "",
    ),
    (
        "s3",
        "put_object",
        {"Bucket": "nobody-has-this", "Key": "x", "Body": b""},
        "NoSuchBucket",
        "",
    ),
    ("s3", "get_object", {"Bucket": "refusing", "Key": "nobody"}, "NoSuchKey", ""),
    # The rest
    (
        "ssm",
        "put_parameter",
        {"Name": "no spaces", "Value": "x", "Type": "String"},
        "ValidationException",
        "",
    ),
    (
        "ssm",
        "put_parameter",
        {"Name": "big", "Value": "x" * 4097, "Type": "String"},
        "ValidationException",
        "4096",
    ),
    (
        "ssm",
        "put_parameter",
        {"Name": "there", "Value": "y", "Type": "String"},
        "ParameterAlreadyExists",
        "",
    ),
    ("ssm", "get_parameter", {"Name": "nobody"}, "ParameterNotFound", ""),
    (
        "logs",
        "put_retention_policy",
        {"logGroupName": "there", "retentionInDays": 2},
        "InvalidParameterException",
        "retentionInDays",
    ),
    (
        "logs",
        "create_log_group",
        {"logGroupName": "no spaces"},
        "InvalidParameterException",
        "logGroupName",
    ),
    (
        "iam",
        "create_role",
        {"RoleName": "other", "AssumeRolePolicyDocument": "{"},
        "MalformedPolicyDocument",
        "",
    ),
    (
        "iam",
        "create_role",
        {"RoleName": "no spaces", "AssumeRolePolicyDocument": "{}"},
        "ValidationError",
        "roleName",
    ),
    (
        "iam",
        "put_role_policy",
        {
            "RoleName": "r",
            "PolicyName": "p",
            "PolicyDocument": json.dumps({"Statement": [{"Effect": "Permit"}]}),
        },
        "MalformedPolicyDocument",
        "",
    ),
]


def arrange(cloud: LocalCloud) -> dict[str, str]:
    """Make what the calls speak of. Return the ARNs that AWS draws, by their word in a call."""
    sqs, client = cloud.client("sqs"), cloud.client("lambda")
    trust = {"Version": "2012-10-17", "Statement": []}
    cloud.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps(trust))
    for name, attributes in {
        "refusing": {"VisibilityTimeout": "60"},
        "refusing.fifo": {"FifoQueue": "true", "VisibilityTimeout": "60"},
        "short": {"VisibilityTimeout": "1"},
        "mapped": {"VisibilityTimeout": "60"},
    }.items():
        sqs.create_queue(QueueName=name, Attributes=attributes)
    client.create_function(**function(FunctionName="refusing"))
    client.create_event_source_mapping(**mapping("mapped"))
    cloud.client("sns").create_topic(Name="refusing")
    cloud.client("events").put_rule(**rule(Name="refusing"))
    cloud.client("s3").create_bucket(Bucket="refusing")
    cloud.client("s3").put_object(Bucket="refusing", Key="there", Body=b"x")
    cloud.client("ssm").put_parameter(Name="there", Value="x", Type="String")
    cloud.client("logs").create_log_group(logGroupName="there")
    table = cloud.client("dynamodb").create_table(
        TableName="refusing",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )["TableDescription"]
    made = cloud.client("stepfunctions").create_state_machine(
        **machine(states(A=PASS), name="refusing")
    )
    return {"STREAM": table["LatestStreamArn"], "MACHINE": made["stateMachineArn"]}


@pytest.fixture(scope="module")
def arranged(tmp_path_factory) -> Iterator[tuple[Client, dict[str, str]]]:
    """A client that sends whatever it is told, and the ARNs of what there is."""
    with LocalCloud(tmp_path_factory.mktemp("refusing")) as cloud:
        config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
        yield (
            lambda service: boto3.client(service, config=config, **cloud.arguments()),
            arrange(cloud),
        )


@pytest.mark.parametrize(
    ("service", "operation", "call", "code", "told"),
    REFUSED,
    ids=[f"{service}-{operation}-{n}" for n, (service, operation, *_) in enumerate(REFUSED)],
)
def test_what_aws_refuses_is_refused_with_its_code(arranged, service, operation, call, code, told):
    client, arns = arranged
    asked = {name: arns.get(str(value), value) for name, value in call.items()}
    with pytest.raises(ClientError) as refused:
        getattr(client(service), operation)(**asked)
    error = refused.value.response["Error"]
    assert code in error["Code"]
    assert told in error["Message"]


ALIAS = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:one-with-a-name:prod"
EVERY_OPERATOR = {
    "source": [{"prefix": "a"}, {"suffix": "z"}, {"wildcard": "*"}, {"equals-ignore-case": "Q"}],
    "detail": {
        "a": [{"anything-but": {"prefix": "x"}}, {"anything-but": ["a", 1]}],
        "b": [{"prefix": {"equals-ignore-case": "x"}}, {"cidr": "10.0.0.0/8"}],
        "c": [{"numeric": [">", 0, "<=", 5]}, {"exists": False}, None, True, 1.5],
        "$or": [{"d": [1]}, {"e": [{"numeric": ["=", 1]}]}],
    },
}
ALLOWED: list[tuple[str, str, Call]] = [
    (
        *("lambda", "UpdateFunctionConfiguration"),
        {"FunctionName": ALIAS, "Timeout": 900, "MemorySize": 10_240},
    ),
    ("lambda", "CreateFunction", function(**variables(AB="x" * 4_087))),
    (
        *("lambda", "CreateEventSourceMapping"),
        mapping(BatchSize=10_000, MaximumBatchingWindowInSeconds=300, FunctionName=ALIAS),
    ),
    (
        *("scheduler", "CreateSchedule"),
        schedule(ScheduleExpression="at(2030-01-01T00:00:00)", ActionAfterCompletion="DELETE"),
    ),
    ("events", "PutRule", pattern(**EVERY_OPERATOR)),
    ("events", "PutRule", {"Name": "r", "ScheduleExpression": "cron(0 4 ? * MON-FRI *)"}),
    ("stepfunctions", "CreateStateMachine", machine(states(A={"Type": "Fail"}), name="ä-x.y")),
    ("sqs", "SendMessage", {"QueueUrl": QUEUE, "MessageBody": "a\n\t\U0001f600"}),
    ("sns", "Publish", {"PhoneNumber": "+1", "Message": "x"}),
    ("ssm", "PutParameter", {"Name": "/a/b-c.d_e", "Value": "x" * 4_096, "Type": "String"}),
    (
        *("ssm", "PutParameter"),
        {"Name": "a", "Value": "x" * 8_192, "Type": "String", "Tier": "Intelligent-Tiering"},
    ),
    (
        *("iam", "PutRolePolicy"),
        {
            "RoleName": "a+=,.@-_b",
            "PolicyName": "p",
            "PolicyDocument": '{"Statement": {"Effect": "Deny", "NotAction": "x", "NotResource": "y"}}',
        },
    ),
    ("logs", "CreateLogGroup", {"logGroupName": "/aws/lambda/x.y_z-#1"}),
]


@pytest.mark.parametrize(("service", "operation", "call"), ALLOWED)
def test_what_aws_takes_at_its_bounds_is_not_refused(service, operation, call):
    calls.check(get_service_model(service).operation_model(operation), call)


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Resources": {"It": {"Type": kind, "Properties": properties}}}


def deployed_function(**changed: Any) -> dict[str, Any]:
    role = {"Fn::GetAtt": ["Role", "Arn"]}
    code = {"ZipFile": "def handler(event, context): pass"}
    return resource(
        "AWS::Lambda::Function",
        Runtime="python3.13",
        Role=role,
        Handler="index.handler",
        Code=code,
        **changed,
    )


WRONG_TEMPLATES = [
    (resource("AWS::SQS::Queue", Delay=5), "resource It: Encountered unsupported property Delay"),
    (resource("AWS::SQS::Queue", DelaySeconds="901"), "#/DelaySeconds"),
    (resource("AWS::SQS::Queue", DelaySeconds="soon"), "#/DelaySeconds"),
    (resource("AWS::SNS::Topic", Subscription=[{"Protocol": "sqs"}]), "'Endpoint' is a required"),
    (resource("AWS::Logs::LogGroup", RetentionInDays=2), "#/RetentionInDays"),
    (resource("AWS::Scheduler::Schedule", FlexibleTimeWindow={"Mode": "OFF"}), "is a required"),
    (
        resource("AWS::Events::Rule", EventPattern={"source": "shop"}),
        "must be an object or an array",
    ),
    (deployed_function(Timeout=901), "equal to 900"),
    (deployed_function(Environment={"Variables": {"AWS_REGION": "x"}}), "reserved keys"),
    (deployed_function(TracingConfig={"Mode": "Sometimes"}), "#/TracingConfig/Mode"),
    (
        resource(
            "AWS::Lambda::EventSourceMapping",
            FunctionName="f",
            EventSourceArn=f"arn:aws:sqs:us-east-1:{ACCOUNT}:q",
            BatchSize=100,
        ),
        "window",
    ),
]


@pytest.mark.parametrize(("template", "told"), WRONG_TEMPLATES)
def test_a_template_is_refused_for_what_its_services_would_refuse(template, told):
    with pytest.raises(RefusedError, match=re.escape(told)):
        templates.check(template)


@pytest.mark.parametrize(
    "template",
    [
        resource(
            "AWS::SQS::Queue", DelaySeconds="9", FifoQueue="true", KmsMasterKeyId={"Ref": "K"}
        ),
        deployed_function(Timeout={"Ref": "Timeout"}, Layers=[{"Fn::If": ["a", "b", "c"]}]),
        resource("Custom::Anything", Whatever=1),
        {"Transform": "AWS::Serverless-2016-10-31", **resource("AWS::SQS::Queue", Delay=5)},
    ],
)
def test_text_for_numbers_and_what_only_a_deployment_knows_are_no_reason_to_refuse(template):
    templates.check(template)


DECLARED = {
    "Parameters": {
        "Stage": {"Type": "String", "AllowedValues": ["dev", "prod"]},
        "Days": {"Type": "Number", "MinValue": 1, "MaxValue": 9, "Default": 2},
        "Name": {"Type": "String", "AllowedPattern": "[a-z]+", "MaxLength": 3, "Default": "a"},
    }
}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "Parameters: [Stage] must have values"),
        ({"Stage": "test"}, "Parameter 'Stage' must be one of AllowedValues"),
        ({"Stage": "dev", "Days": "10"}, "not greater than 9"),
        ({"Stage": "dev", "Days": "0"}, "not less than 1"),
        ({"Stage": "dev", "Days": "two"}, "must be a number"),
        ({"Stage": "dev", "Name": "A"}, "must match pattern [a-z]+"),
        ({"Stage": "dev", "Name": "abcd"}, "at most 3 characters"),
        ({"Stage": "dev", "Other": "x"}, "Parameters: [Other] do not exist in the template"),
    ],
)
def test_a_parameter_is_held_against_its_constraints(given, told):
    with pytest.raises(RefusedError, match=re.escape(told)):
        templates.check_parameters(DECLARED, given)


def test_iam_resources_need_a_capability(arranged):
    """The stronger one, if they have names of their own."""
    cloudformation = arranged[0]("cloudformation")
    trust = {"Version": "2012-10-17", "Statement": []}

    def create(name: str, given: list[str], **properties: Any) -> Any:
        body = json.dumps(resource("AWS::IAM::Role", AssumeRolePolicyDocument=trust, **properties))
        return cloudformation.create_stack(StackName=name, TemplateBody=body, Capabilities=given)

    for given, properties in (([], {}), (["CAPABILITY_IAM"], {"RoleName": "mine"})):
        with pytest.raises(ClientError) as refused:
            create("refused", given, **properties)
        assert refused.value.response["Error"]["Code"] == "InsufficientCapabilitiesException"
    with pytest.raises(ClientError, match="does not exist"):
        cloudformation.describe_stacks(StackName="refused")

    assert create("plain", ["CAPABILITY_IAM"])
    assert create("named", ["CAPABILITY_NAMED_IAM"], RoleName="mine")


def test_what_the_cdk_makes_of_its_own_constructs_is_not_refused():
    """Nor is a definition of states that it writes, once the deployment has filled it in."""
    template = assertions.Template.from_stack(common_application.build()).to_json()
    templates.check(template)
    (one,) = (
        found["Properties"]["DefinitionString"]
        for found in template["Resources"].values()
        if found["Type"] == "AWS::StepFunctions::StateMachine"
    )
    parts = [part if isinstance(part, str) else "arn:aws:it" for part in one["Fn::Join"][1]]
    model = get_service_model("stepfunctions").operation_model("CreateStateMachine")
    calls.check(model, machine("".join(parts)))
