"""Refusals of the other services: calls that AWS refuses are refused here, with the same code.

A row of ``refused_alone.txt`` is a call that is wrong whatever there is, one of
``refused_by_state.txt`` a call that is wrong beside what there is: the code of AWS's error, a part
of its sentence, and what the call has otherwise than the whole one of ``WHOLE``. A row of
``taken.txt``, or ``taken_by_state.txt``, is a call at the bounds of what AWS takes. What the
services' models say is in ``test_model_rules.py``. The second half is about templates: what a
service or CloudFormation would refuse, a stack is refused for.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from aws_cdk import assertions
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.core.utils import get_service_model

from lifoq_localcloud.service_rules import (
    calls,
    documents,
    event_rules,
    metrics,
    schedules,
    templates,
)
from lifoq_localcloud.service_rules.refused import RefusedError
from tests.localcloud import common_application, rows
from tests.localcloud.harness import Deployed, zipped

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/r"
CODE = zipped({"code.py": "def handler(event, context):\n    return event\n"})
QUEUE = f"http://localhost/{ACCOUNT}/refusing"
FIFO = f"http://localhost/{ACCOUNT}/refusing.fifo"
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:refusing"
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


WHOLE: dict[str, Call] = {
    "lambda.CreateFunction": function(),
    "lambda.CreateEventSourceMapping": mapping(),
    "lambda.UpdateFunctionConfiguration": {"FunctionName": "refusing"},
    "lambda.Invoke": {"FunctionName": "refusing"},
    "scheduler.CreateSchedule": {
        "Name": "other",
        "ScheduleExpression": "rate(1 hour)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:refusing", "RoleArn": ROLE},
    },
    "events.PutRule": {"Name": "other", "EventPattern": json.dumps({"source": ["shop"]})},
    "stepfunctions.CreateStateMachine": {
        "name": "other",
        "definition": json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}),
        "roleArn": ROLE,
    },
    "sqs.CreateQueue": {"QueueName": "other"},
    "sqs.ReceiveMessage": {"QueueUrl": QUEUE},
    "sqs.SendMessage": {"QueueUrl": QUEUE, "MessageBody": "x"},
    "sqs.SendMessageBatch": {"QueueUrl": QUEUE},
    "sns.Publish": {"TopicArn": TOPIC, "Message": "x"},
    "sns.PublishBatch": {"TopicArn": TOPIC},
    "ssm.PutParameter": {"Value": "x", "Type": "String"},
}
"""Each operation's call, or the part of it that the rows leave out."""
WORDS: dict[str, Any] = {
    "ATTRIBUTES": {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)},
    "ELEVEN": [{"Id": str(n), "MessageBody": "x"} for n in range(11)],
    "PUBLISHED": [{"Id": str(n), "Message": "x"} for n in range(11)],
    "TEN": {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(10)},
    "FIVE": [{"Id": str(n), "Arn": TOPIC} for n in range(5)],
    "SIX": [{"Id": str(n), "Arn": TOPIC} for n in range(6)],
}
TEXTS = {
    "QUEUE": QUEUE,
    "FIFO": FIFO,
    "TOPIC": TOPIC,
    "ROLE": ROLE,
    "SQS:": mapping("")["EventSourceArn"],
    "ALIAS": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:one-with-a-name:prod",
}
"""Abbreviations in a row."""
AS_JSON = {
    *("AssumeRolePolicyDocument", "Detail", "EventPattern", "FilterPolicy", "PolicyDocument"),
    *("RedrivePolicy", "definition"),
}
AS_BYTES = {"Body", "Payload", "ZipFile"}


def wholes(name: str) -> Iterator[tuple[str, list[str], Call]]:
    """Read a table, with each call whole."""
    for operation, told, changed in rows.rows(name):
        call = {**WHOLE.get(operation, {}), **meant(changed)}
        yield operation, told, {key: value for key, value in call.items() if value is not None}


def meant(value: Any, key: str = "") -> Any:
    """Return what the words of a row stand for, in the form that the call needs."""
    if isinstance(value, dict):
        filled = {meant(name): meant(one, name) for name, one in value.items()}
        return json.dumps(filled) if key in AS_JSON else filled
    if isinstance(value, list):
        return [meant(one) for one in value]
    if not isinstance(value, str):
        return value
    if value in WORDS:
        return WORDS[value]
    for word, text in TEXTS.items():
        value = value.replace(word, text)
    return value.encode() if key in AS_BYTES else value


def check(operation: str, call: Call) -> None:
    service, _, name = operation.partition(".")
    calls.check(get_service_model(service).operation_model(name), call)


def test_a_call_that_is_wrong_whatever_there_is_is_refused(subtests):
    for operation, (code, told), call in wholes("refused_alone.txt"):
        with subtests.test(f"{operation}: {code} {told}", call=call):
            with pytest.raises(RefusedError) as refused:
                check(operation, call)
            assert refused.value.code == code
            assert told in str(refused.value)


def test_what_aws_takes_at_its_bounds_is_not_refused(subtests):
    for operation, _, call in wholes("taken.txt"):
        with subtests.test(operation, call=call):
            check(operation, call)


@pytest.mark.parametrize(
    ("source", "detail", "code"),
    [
        ("aws.ec2", "{}", "NotAuthorizedForSourceException"),
        ("shop", "[]", "MalformedDetail"),
        ("shop", "{", "MalformedDetail"),
    ],
)
def test_an_event_is_refused_in_its_place(source, detail, code):
    told = event_rules.refused_entry({"Source": source, "DetailType": "d", "Detail": detail})
    assert told is not None
    assert told["ErrorCode"] == code
    for taken in ({"Source": "awsome", "Detail": "{}"}, {"Source": "shop"}):
        assert event_rules.refused_entry(taken) is None


def test_a_pattern_may_refer_to_what_the_deployment_makes():
    event_rules.check({"EventPattern": {"source": {"Ref": "Source"}, "id": [{"Ref": "Id"}]}})
    for wrong in ({"Ref": "Source", "other": 1}, {"other": 1}):
        with pytest.raises(RefusedError, match="must be an object or an array"):
            event_rules.check({"EventPattern": {"source": wrong}})


def test_logs_are_kept_for_the_days_that_the_model_of_logs_lists():
    asked = get_service_model("logs").operation_model("PutRetentionPolicy").input_shape
    listed = asked.members["retentionInDays"].documentation.partition(" values are: ")[2]
    days = re.findall(r"\d+", listed.partition(".")[0])
    assert tuple(map(int, days)) == documents.RETENTION_DAYS


def test_a_metric_that_is_no_number_and_a_time_that_ends_before_it_begins_are_refused():
    wrong = {"Namespace": "a", "MetricData": [{"MetricName": "m", "Value": float("nan")}]}
    with pytest.raises(RefusedError, match=r"MetricData\.member\.1\.Value is invalid"):
        metrics.check_data(wrong)
    metrics.check_question({"StartTime": 1, "EndTime": 2})
    with pytest.raises(RefusedError, match="StartTime must be less"):
        metrics.check_question({"StartTime": 2, "EndTime": 2})


def test_a_schedule_that_ends_before_it_begins_is_refused_once_both_dates_are_known():
    early, late = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)
    text = early.isoformat()
    for start, end in ((early, late), (late, None), (late, text), (text, early), ({}, {})):
        schedules.check({"StartDate": start, "EndDate": end})
    with pytest.raises(RefusedError, match="must come before the EndDate"):
        schedules.check({"StartDate": late, "EndDate": early})


def arrange(client: Client) -> None:
    """Make what the calls speak of."""
    trust = {"Version": "2012-10-17", "Statement": []}
    client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps(trust))
    for name, attributes in {
        "refusing": {"VisibilityTimeout": "60"},
        "refusing.fifo": {"FifoQueue": "true", "VisibilityTimeout": "60"},
        "short": {"VisibilityTimeout": "2"},
        "equal": {"VisibilityTimeout": "3"},
        "mapped": {"VisibilityTimeout": "60"},
    }.items():
        client("sqs").create_queue(QueueName=name, Attributes=attributes)
    client("lambda").create_function(**function(FunctionName="refusing"))
    client("lambda").create_event_source_mapping(**mapping("mapped"))
    client("sns").create_topic(Name="refusing")
    client("events").put_rule(**{**WHOLE["events.PutRule"], "Name": "refusing"})
    client("s3").create_bucket(Bucket="refusing")
    client("s3").put_object(Bucket="refusing", Key="there", Body=b"x")
    client("ssm").put_parameter(Name="there", Value="x", Type="String")
    client("logs").create_log_group(logGroupName="there")


@pytest.fixture(scope="module")
def arranged(shared: Deployed) -> Iterator[Client]:
    """A client of a service that sends whatever it is told."""
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    arrange(shared.client)
    yield functools.cache(
        lambda service: boto3.client(service, config=config, **shared.cloud.arguments())
    )
    shared.client("lambda").delete_function(FunctionName="refusing")


def test_a_call_that_is_wrong_beside_what_there_is_is_refused(arranged, subtests):
    for operation, (code, told), call in wholes("refused_by_state.txt"):
        service, _, name = operation.partition(".")
        with subtests.test(f"{operation}: {code} {told}", call=call):
            with pytest.raises(ClientError) as refused:
                getattr(arranged(service), xform_name(name))(**call)
            error = refused.value.response["Error"]
            assert code in error["Code"]
            assert told in error["Message"]
            assert 400 <= refused.value.response["ResponseMetadata"]["HTTPStatusCode"] < 500


def test_what_aws_takes_at_its_bounds_is_taken_beside_what_there_is(arranged, subtests):
    for operation, _, call in wholes("taken_by_state.txt"):
        service, _, name = operation.partition(".")
        with subtests.test(operation, call=call):
            getattr(arranged(service), xform_name(name))(**call)


def test_an_account_keeps_a_hundred_executions_that_no_function_reserves(arranged):
    api = arranged("lambda")
    pages = api.get_paginator("list_functions").paginate()
    names = [one["FunctionName"] for page in pages for one in page["Functions"]]
    told = [api.get_function_concurrency(FunctionName=name) for name in names]
    left = 900 - sum(one.get("ReservedConcurrentExecutions", 0) for one in told)
    for reserved in (left, left - 1, left):  # its own does not count twice
        api.put_function_concurrency(FunctionName="refusing", ReservedConcurrentExecutions=reserved)
    with pytest.raises(ClientError, match=r"minimum value of \[100\]"):
        api.put_function_concurrency(FunctionName="refusing", ReservedConcurrentExecutions=left + 1)
    api.delete_function_concurrency(FunctionName="refusing")


def test_the_other_events_of_a_call_are_taken(arranged):
    event = {"DetailType": "d", "Detail": "{}"}
    answer = arranged("events").put_events(
        Entries=[{"Source": "aws.x", **event}, {"Source": "shop", **event}]
    )
    assert answer["FailedEntryCount"] == 1
    assert answer["Entries"][0]["ErrorCode"] == "NotAuthorizedForSourceException"
    assert answer["Entries"][1]["EventId"]


QUEUE_ALONE = {"Type": "AWS::SQS::Queue"}


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ([], "unsupported structure"),
        ({"Resources": {"It": QUEUE_ALONE}, "Colours": {}}, "properties [Colours]"),
        ({"Resources": {}}, "At least one Resources member must be defined."),
        ({"Outputs": {}}, "At least one Resources member must be defined."),
        ({"AWSTemplateFormatVersion": "2020-01-01"}, "AWSTemplateFormatVersion: 2020-01-01"),
        ({"Resources": {"no-name": QUEUE_ALONE}}, "name no-name is non alphanumeric"),
        ({"Resources": {"It": {}}}, "[/Resources/It] Every Resources object must contain a Type"),
        ({"Resources": {"It": {**QUEUE_ALONE, "Colour": 1}}}, "resource property 'Colour' of It"),
        ({"Resources": {"It": {**QUEUE_ALONE, "DependsOn": "B"}}}, "dependencies [B]"),
        (
            {"Resources": {"It": {**QUEUE_ALONE, "DependsOn": ["C", "It", "B"]}}},
            "dependencies [C, B]",
        ),
        ({"Resources": {"It": "a queue"}}, "[/Resources/It] Every Resources object must contain"),
        ({"Resources": [QUEUE_ALONE]}, "At least one Resources member must be defined."),
        ({"Resources": {"It": QUEUE_ALONE}, "Outputs": {"Out": 5}}, "Output Out is malformed"),
        ({"Resources": {"It": QUEUE_ALONE}, "Outputs": {"Out": {}}}, "Output Out is malformed"),
    ],
)
def test_a_template_is_refused_for_its_form(template, told):
    with pytest.raises(RefusedError, match=re.escape(told)):
        templates.check_form(template)


def test_the_name_of_a_stack_begins_with_a_letter_and_is_of_letters_digits_and_hyphens():
    for name in ("s", "Shop-1", "x" * 128, "arn:aws:cloudformation:us-east-1:1:stack/Shop-1/id"):
        templates.check_stack_name(name)
    for name in ("", "1shop", "-shop", "shop_1", "x" * 129):
        with pytest.raises(RefusedError, match=f"Value '{name}' at 'stackName'") as refused:
            templates.check_stack_name(name)
        assert refused.value.code == "ValidationError"


def test_a_template_of_the_right_form_is_not_refused():
    both = {"It": {**QUEUE_ALONE, "DependsOn": ["Other"]}, "Other": QUEUE_ALONE}
    outputs = {"Out": {"Value": 1}}
    version = "2010-09-09"
    templates.check_form(
        {"AWSTemplateFormatVersion": version, "Resources": both, "Outputs": outputs}
    )
    templates.check_form({"Transform": "AWS::Include"})  # which may bring the resources


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Resources": {"It": {"Type": kind, "Properties": properties}}}


def deployed_function(**changed: Any) -> dict[str, Any]:
    code = {"ZipFile": "def handler(event, context): pass"}
    fixed = {"Runtime": "python3.13", "Handler": "index.handler", "Code": code}
    role = {"Fn::GetAtt": ["Role", "Arn"]}
    return resource("AWS::Lambda::Function", Role=role, **fixed, **changed)


def test_a_template_is_refused_for_what_its_services_would_refuse(subtests):
    for kind, (told,), properties in rows.rows("refused_templates.txt"):
        is_code = kind == "AWS::Lambda::Function"
        made = deployed_function(**properties) if is_code else resource(kind, **properties)
        with subtests.test(told), pytest.raises(RefusedError, match=re.escape(told)):
            templates.check(made)


@pytest.mark.parametrize(
    "template",
    [
        resource(
            "AWS::SQS::Queue", DelaySeconds="9", FifoQueue="true", KmsMasterKeyId={"Ref": "K"}
        ),
        deployed_function(Timeout={"Ref": "Timeout"}, Layers=[{"Fn::If": ["a", "b", "c"]}]),
        resource("AWS::SQS::Queue", QueueName=5, FifoQueue="True", DelaySeconds=9),
        resource("Custom::Anything", Whatever=1),
        resource(
            "AWS::Scheduler::Schedule",
            ScheduleExpression={"Fn::Sub": "rate(${Hours} hours)"},
            FlexibleTimeWindow={"Mode": "OFF"},
            StartDate={"Ref": "Start"},
            EndDate="2030-01-01T00:00:00Z",
            Target={
                "Arn": "arn:aws:scheduler:::aws-sdk:a:b",
                "RoleArn": ROLE,
                "Input": {"Ref": "I"},
            },
        ),
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
        "Code": {"Type": "String", "MinLength": 2, "Default": "ab"},
    }
}


def test_a_parameter_at_its_bounds_is_taken():
    for given in ({"Days": "1", "Name": "abc"}, {"Days": 9, "Code": "ab"}, {"Days": None}):
        templates.check_parameters(DECLARED, {"Stage": "dev", **given})
    described = {"Parameters": {"A": {"MaxLength": 1, "ConstraintDescription": "one letter"}}}
    with pytest.raises(RefusedError, match="'A' failed to satisfy constraint: one letter"):
        templates.check_parameters(described, {"A": "ab"})


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
        ({"Stage": "dev", "Code": "a"}, "at least 2 characters"),
        ({"Stage": "dev", "Other": "x"}, "Parameters: [Other] do not exist in the template"),
    ],
)
def test_a_parameter_is_held_against_its_constraints(given, told):
    with pytest.raises(RefusedError, match=re.escape(told)):
        templates.check_parameters(DECLARED, given)


PLAIN_ROLE, NAMED_ROLE = resource("AWS::IAM::Role"), resource("AWS::IAM::Role", RoleName="mine")
IAM, NAMED_IAM = "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"


@pytest.mark.parametrize(
    ("template", "given", "wanted"),
    [
        (resource("AWS::SQS::Queue", QueueName="q"), [], None),
        (PLAIN_ROLE, [], IAM),
        (PLAIN_ROLE, [IAM], None),
        (PLAIN_ROLE, [NAMED_IAM], None),
        (NAMED_ROLE, [], NAMED_IAM),
        (NAMED_ROLE, [IAM], NAMED_IAM),
        (NAMED_ROLE, [NAMED_IAM], None),
        (resource("AWS::IAM::Policy", PolicyName="p"), [IAM], None),
        (
            {"Resources": {"A": {"Type": "AWS::IAM::Role"}, **NAMED_ROLE["Resources"]}},
            [IAM],
            NAMED_IAM,
        ),
    ],
)
def test_a_capability_is_wanted_for_iam_and_the_stronger_one_for_names(template, given, wanted):
    if wanted is None:
        templates.check_capabilities(template, given)
        return
    with pytest.raises(RefusedError, match=re.escape(f"Requires capabilities : [{wanted}]")):
        templates.check_capabilities(template, given)


def test_what_replaces_a_resource_are_its_own_properties_alone():
    replacing = {"ImportSourceSpecification", "KeySchema", "TableName"}
    assert templates.replaced_by("AWS::DynamoDB::Table") == replacing
    assert templates.replaced_by("Custom::Anything") == frozenset()


def test_iam_resources_need_a_capability(arranged):
    """The stronger one, if they have names of their own."""
    cloudformation = arranged("cloudformation")
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


@pytest.mark.prove
def test_what_the_cdk_makes_of_its_own_constructs_is_not_refused():
    """Nor is a definition of states that it writes, once the deployment has filled it in."""
    template = assertions.Template.from_stack(common_application.build()).to_json()
    templates.check_form(template)
    templates.check(template)
    (one,) = (
        found["Properties"]["DefinitionString"]
        for found in template["Resources"].values()
        if found["Type"] == "AWS::StepFunctions::StateMachine"
    )
    parts = [part if isinstance(part, str) else "arn:aws:it" for part in one["Fn::Join"][1]]
    definition = json.loads("".join(parts))
    call = {"name": "other", "definition": json.dumps(definition), "roleArn": ROLE}
    check("stepfunctions.CreateStateMachine", call)
