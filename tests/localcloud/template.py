"""A small stack with one of everything that the local cloud runs."""

import json
from typing import Any

NOT_IGNORED = [{"anything-but": ["ignored"]}]
Resource = dict[str, Any]


def ref(name: str) -> Resource:
    return {"Ref": name}


def arn(name: str, attribute: str = "Arn") -> Resource:
    return {"Fn::GetAtt": [name, attribute]}


def function(bucket: str, key: str, handler: str, **properties: Any) -> Resource:
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Code": {"S3Bucket": bucket, "S3Key": key},
            "Handler": handler,
            "Role": arn("Role"),
            "Runtime": "python3.13",
            "Timeout": 2,
            **properties,
        },
    }


def of_type(kind: str, **properties: Any) -> Resource:
    return {"Type": kind, "Properties": properties}


def queue(**properties: Any) -> Resource:
    return of_type("AWS::SQS::Queue", **properties)


def parameter(value: Any, **properties: Any) -> Resource:
    return of_type("AWS::SSM::Parameter", Type="String", Value=value, **properties)


def only(pattern: Resource) -> Resource:
    return {"Filters": [{"Pattern": json.dumps(pattern)}]}


def build(bucket: str, key: str) -> dict[str, Any]:
    queue_url = {"Environment": {"Variables": {"QUEUE_URL": ref("Received")}}}
    trust = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": ["lambda.amazonaws.com", "scheduler.amazonaws.com"]},
    }
    resources = {
        "Role": of_type(
            "AWS::IAM::Role",
            AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": [trust]},
        ),
        "Received": queue(),
        "Failures": queue(),
        "Table": of_type(
            "AWS::DynamoDB::Table",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamViewType": "NEW_AND_OLD_IMAGES"},
            TimeToLiveSpecification={"AttributeName": "ttl", "Enabled": True},
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        ),
        "Logs": of_type("AWS::Logs::LogGroup"),
        "Probe": function(
            bucket,
            key,
            "probe.handle",
            Environment={"Variables": {"GREETING": "hello"}},
            LoggingConfig={"LogGroup": ref("Logs")},
        ),
        "Single": function(
            bucket, key, "probe.handle", ReservedConcurrentExecutions=1, Timeout=600
        ),
        "Listener": function(bucket, key, "forwarding.forward", **queue_url),
        "Follower": function(bucket, key, "forwarding.forward", **queue_url),
        "Topic": of_type("AWS::SNS::Topic"),
        "Subscription": of_type(
            "AWS::SNS::Subscription",
            TopicArn=ref("Topic"),
            Protocol="lambda",
            Endpoint=arn("Listener"),
        ),
        "Mapping": of_type(
            "AWS::Lambda::EventSourceMapping",
            FunctionName=ref("Follower"),
            EventSourceArn=arn("Table", "StreamArn"),
            StartingPosition="TRIM_HORIZON",
            BatchSize=100,
            MaximumRetryAttempts=0,
            BisectBatchOnFunctionError=True,
            FunctionResponseTypes=["ReportBatchItemFailures"],
            FilterCriteria=only({"dynamodb": {"Keys": {"id": {"S": NOT_IGNORED}}}}),
            DestinationConfig={"OnFailure": {"Destination": arn("Failures")}},
        ),
        "Letters": queue(
            VisibilityTimeout=2,
            RedrivePolicy={"deadLetterTargetArn": arn("Failures"), "maxReceiveCount": 2},
        ),
        "Reader": function(bucket, key, "forwarding.forward", **queue_url),
        "LettersMapping": of_type(
            "AWS::Lambda::EventSourceMapping",
            FunctionName=ref("Reader"),
            EventSourceArn=arn("Letters"),
            BatchSize=3,
            FunctionResponseTypes=["ReportBatchItemFailures"],
            FilterCriteria=only({"body": NOT_IGNORED}),
        ),
        "BrokerMapping": of_type(
            "AWS::Lambda::EventSourceMapping",
            FunctionName=ref("Reader"),
            EventSourceArn="arn:aws:mq:us-east-1:123456789012:broker:orders:b-1",
            Queues=["orders"],
        ),
        "Schedule": of_type(
            "AWS::Scheduler::Schedule",
            ScheduleExpression="rate(1 minute)",
            State="DISABLED",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={
                "Arn": arn("Listener"),
                "RoleArn": arn("Role"),
                "Input": '{"Records": [{"scheduled": "<aws.scheduler.scheduled-time>"}]}',
            },
        ),
    }
    outputs = {name: {"Value": ref(name)} for name in resources}
    return {"Resources": resources, "Outputs": outputs}
