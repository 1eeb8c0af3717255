"""A change of a template reaches the resource, or the deployment fails and says what it cannot do.

Each change is made by CloudFormation, and asked of the service afterwards; then it is taken back.
"""

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.localcloud import asked
from tests.localcloud.asked import Client
from tests.localcloud.harness import CODE_BUCKET, eventually
from tests.localcloud.template import arn, of_type, ref

Properties = dict[str, Any]


def trust(service: str) -> Properties:
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": f"{service}.amazonaws.com"},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def allow(action: str) -> Properties:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


ROLE = {"AssumeRolePolicyDocument": trust("lambda")}
KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
TABLE = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": KEY,
    "BillingMode": "PAY_PER_REQUEST",
}
BY_OWNER = {
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "owner", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_owner",
            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
FUNCTION = {
    "Code": {"ZipFile": "def handler(event, context):\n    return 1\n"},
    "Handler": "index.handler",
    "Role": arn("Role"),
    "Runtime": "python3.13",
}
SCHEDULE = {
    "ScheduleExpression": "rate(1 hour)",
    "State": "DISABLED",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": arn("Queue"), "RoleArn": arn("Role")},
}
RULE = {"EventPattern": {"source": ["shop"]}, "State": "ENABLED"}
MACHINE = {
    "DefinitionString": json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
    "RoleArn": arn("Role"),
}
OTHERS = {
    "Queue": of_type("AWS::SQS::Queue"),
    "Dead": of_type("AWS::SQS::Queue"),
    "Role": of_type("AWS::IAM::Role", **ROLE),
}


@dataclass(frozen=True)
class Case:
    """A change of a resource of ``kind``, and how the service is asked of it where its state does
    not tell."""

    kind: str
    base: Properties
    change: Properties
    told: Callable[[Client, str], Any] | None = None

    def ask(self, client: Client, name: str) -> Any:
        return self.told(client, name) if self.told else asked.state(client, self.kind, name)


def invoked(client: Client, name: str) -> Any:
    return json.load(client("lambda").invoke(FunctionName=name)["Payload"])


TAGS = {"Tags": [{"Key": "team", "Value": "pictures"}]}

RULES = [
    {"Status": "Enabled", "ExpirationInDays": 3, "Id": "short", "Prefix": "a/"},
    {
        "Status": "Enabled",
        "Id": "long",
        "NoncurrentVersionExpiration": {"NoncurrentDays": 9, "NewerNoncurrentVersions": 2},
        "Prefix": "b/",
        "TagFilters": [{"Key": "kept", "Value": "long"}],
        "Transitions": [{"StorageClass": "GLACIER", "TransitionInDays": "30"}],
    },
    {
        "Status": "Disabled",
        "Id": "parts",
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
    },
]

IN_PLACE = {
    "SQS delay": Case("AWS::SQS::Queue", {}, {"DelaySeconds": 7}),
    "SQS retention": Case("AWS::SQS::Queue", {}, {"MessageRetentionPeriod": 600}),
    "SQS visibility": Case("AWS::SQS::Queue", {}, {"VisibilityTimeout": 77}),
    "SQS redrive": Case(
        "AWS::SQS::Queue",
        {},
        {"RedrivePolicy": {"deadLetterTargetArn": arn("Dead"), "maxReceiveCount": 2}},
    ),
    "SQS tags": Case("AWS::SQS::Queue", {}, TAGS),
    "table index": Case("AWS::DynamoDB::Table", TABLE, BY_OWNER),
    "table stream": Case(
        "AWS::DynamoDB::Table",
        TABLE,
        {"StreamSpecification": {"StreamViewType": "KEYS_ONLY"}},
    ),
    "table protection": Case("AWS::DynamoDB::Table", TABLE, {"DeletionProtectionEnabled": True}),
    "function code": Case(
        "AWS::Lambda::Function",
        FUNCTION,
        {"Code": {"ZipFile": "def handler(event, context):\n    return 2\n"}},
        invoked,
    ),
    "function settings": Case(
        "AWS::Lambda::Function",
        FUNCTION,
        {"Timeout": 9, "Environment": {"Variables": {"GREETING": "hello"}}, **TAGS},
    ),
    "log retention": Case("AWS::Logs::LogGroup", {}, {"RetentionInDays": 7}),
    "managed policy": Case(
        "AWS::IAM::ManagedPolicy",
        {"PolicyDocument": allow("s3:GetObject")},
        {"PolicyDocument": allow("s3:PutObject")},
    ),
    "role": Case(
        "AWS::IAM::Role",
        ROLE,
        {
            "AssumeRolePolicyDocument": trust("events"),
            "Description": "another",
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
            "Policies": [{"PolicyName": "own", "PolicyDocument": allow("sqs:SendMessage")}],
        },
    ),
    "rule": Case(
        "AWS::Events::Rule",
        RULE,
        {
            "EventPattern": {"source": ["office"]},
            "Targets": [{"Id": "queue", "Arn": arn("Queue")}],
        },
    ),
    "topic": Case("AWS::SNS::Topic", {}, {"DisplayName": "News"}),
    "parameter": Case(
        "AWS::SSM::Parameter",
        {"Type": "String", "Value": "1"},
        {"Value": "2", "Description": "two"},
    ),
    "schedule": Case("AWS::Scheduler::Schedule", SCHEDULE, {"ScheduleExpression": "rate(2 hours)"}),
    "state machine": Case(
        "AWS::StepFunctions::StateMachine",
        MACHINE,
        {"DefinitionString": MACHINE["DefinitionString"].replace("Succeed", "Fail")},
    ),
    "bucket": Case("AWS::S3::Bucket", {}, {"LifecycleConfiguration": {"Rules": RULES}}),
}


class Stack:
    """One stack with the resource that changes, and those that it refers to."""

    def __init__(self, deployed: Any, name: str) -> None:
        self.deployed = deployed
        self.name = name
        self.api = deployed.client("cloudformation")

    def template(self, resources: Properties) -> str:
        outputs = {one: {"Value": ref(one)} for one in resources}
        return json.dumps({"Resources": resources, "Outputs": outputs})

    def deploy(self, resources: Properties) -> dict[str, str]:
        """Return the physical ids."""
        known = {one["StackName"] for one in self.api.describe_stacks()["Stacks"]}
        call = self.api.update_stack if self.name in known else self.api.create_stack
        call(
            StackName=self.name,
            TemplateBody=self.template(resources),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
        )
        return self.deployed.cloud.outputs(self.name)

    @property
    def status(self) -> str:
        return self.api.describe_stacks(StackName=self.name)["Stacks"][0]["StackStatus"]

    @property
    def statuses(self) -> set[str]:
        events = self.api.describe_stack_events(StackName=self.name)["StackEvents"]
        return {one["ResourceStatus"] for one in events}

    def physical(self, kind: str) -> set[str]:
        """The physical ids of all that there is of a type, in whatever stack, as services say."""
        client = self.deployed.client
        match kind:
            case "AWS::SQS::Queue":
                urls = client("sqs").list_queues().get("QueueUrls", [])
                host = "https://sqs.us-east-1.amazonaws.com/"
                return {host + url.split("/", 3)[3] for url in urls}
            case "AWS::SNS::Topic":
                return {one["TopicArn"] for one in client("sns").list_topics()["Topics"]}
        return set(client("dynamodb").list_tables()["TableNames"])

    @property
    def reasons(self) -> str:
        events = self.api.describe_stack_events(StackName=self.name)["StackEvents"]
        return " ".join(one.get("ResourceStatusReason") or "" for one in events)


@pytest.fixture
def stack(deployed, request) -> Stack:
    return Stack(deployed, f"updates-{abs(hash(request.node.name)) % 10**8}")


def test_a_changed_property_reaches_its_resource_and_is_taken_back(stack):
    """All resources are in one template: a deployment for each takes ten times as long."""
    cases = {name.title().replace(" ", ""): case for name, case in IN_PLACE.items()}

    def deployed(*, changed: bool) -> tuple[dict[str, str], dict[str, Any]]:
        """Return what is there by each name, and what its service says of it."""
        its = {
            name: of_type(case.kind, **{**case.base, **(case.change if changed else {})})
            for name, case in cases.items()
        }
        ids = stack.deploy({**OTHERS, **its})
        client = stack.deployed.client
        return ids, {name: case.ask(client, ids[name]) for name, case in cases.items()}

    ids, before = deployed(changed=False)
    there, after = deployed(changed=True)
    assert (there, stack.status) == (ids, "UPDATE_COMPLETE")
    assert [name for name in cases if after[name] == before[name]] == []
    assert deployed(changed=False) == (ids, before)
    assert stack.status == "UPDATE_COMPLETE"


def test_a_topic_whose_policy_is_taken_away_has_its_first_one_again(stack):
    def policy(topic: str) -> Any:
        found = stack.deployed.client("sns").get_topic_attributes(TopicArn=topic)
        return json.loads(found["Attributes"]["Policy"])

    topics = {name: of_type("AWS::SNS::Topic") for name in ("One", "Two")}
    both, one = (
        of_type(
            "AWS::SNS::TopicPolicy",
            PolicyDocument=allow("sns:Publish"),
            Topics=[ref(name) for name in named],
        )
        for named in (("One", "Two"), ("One",))
    )
    ids = stack.deploy(topics)
    first = {name: policy(ids[name]) for name in topics}
    stack.deploy({**topics, "Policy": both})
    assert [policy(ids[name]) for name in topics] == [allow("sns:Publish")] * 2
    stack.deploy({**topics, "Policy": one})
    assert [policy(ids[name]) for name in topics] == [allow("sns:Publish"), first["Two"]]
    stack.deploy(topics)
    assert {name: policy(ids[name]) for name in topics} == first
    stack.deploy({**topics, "Policy": both})
    stack.api.delete_stack(StackName=stack.name)
    assert not set(ids.values()) & stack.physical("AWS::SNS::Topic")


KEYS = [*KEY, {"AttributeName": "at", "KeyType": "RANGE"}]
REPLACED = {
    "Queue": ("AWS::SQS::Queue", {}, {"QueueName": "another"}),
    "Topic": ("AWS::SNS::Topic", {}, {"TopicName": "another"}),
    "Table": (
        "AWS::DynamoDB::Table",
        TABLE,
        {
            "KeySchema": KEYS,
            "AttributeDefinitions": [
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "at", "AttributeType": "N"},
            ],
        },
    ),
}


def test_what_cannot_stay_is_replaced_and_who_refers_to_it_gets_the_other_one(stack):
    ssm = stack.deployed.client("ssm")
    all_of_them = {"Fn::Sub": " ".join(f"${{{name}}}" for name in REPLACED)}
    holder = of_type("AWS::SSM::Parameter", Type="String", Value=all_of_them)

    def deployed(*, changed: bool) -> dict[str, str]:
        """Return the physical ids; the holder has those of the others."""
        its = {
            name: of_type(kind, **{**base, **(change if changed else {})})
            for name, (kind, base, change) in REPLACED.items()
        }
        ids = stack.deploy({**its, "Holder": holder})
        held = ssm.get_parameter(Name=ids["Holder"])["Parameter"]["Value"]
        assert held.split() == [ids[name] for name in REPLACED]
        return ids

    before, after, again = (deployed(changed=changed) for changed in (False, True, False))
    assert stack.status == "UPDATE_COMPLETE"
    assert [name for name in before if after[name] == before[name]] == ["Holder"]
    assert [name for name in before if again[name] == after[name]] == ["Holder"]
    stack.api.delete_stack(StackName=stack.name)
    for name, (kind, _, _) in REPLACED.items():
        assert not {before[name], after[name], again[name]} & stack.physical(kind), name


def test_what_is_replaced_comes_back_where_the_update_fails(stack):
    queue, other = of_type("AWS::SQS::Queue"), of_type("AWS::SQS::Queue", QueueName="for-a-moment")
    wrong = of_type(
        "AWS::SSM::Parameter", Type="String", Value={"Fn::ImportValue": "nobody:exports"}
    )
    wrong["DependsOn"] = "It"
    ids = stack.deploy({"It": queue})
    assert ids["It"] in stack.physical("AWS::SQS::Queue")
    assert stack.deploy({"It": other, "Wrong": wrong}) == ids
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "UPDATE_ROLLBACK_FAILED" not in stack.statuses
    assert stack.physical("AWS::SQS::Queue") >= {ids["It"]}
    assert not any("for-a-moment" in url for url in stack.physical("AWS::SQS::Queue"))


INDEX = BY_OWNER["GlobalSecondaryIndexes"][0]
TWO = [INDEX, {**INDEX, "IndexName": "by_owner_2"}]
NARROW = [{**INDEX, "Projection": {"ProjectionType": "KEYS_ONLY"}}]
TTL = {"AttributeName": "ttl", "Enabled": True}
UNTIL = {"AttributeName": "until", "Enabled": True}
REFUSED = {
    "Unknown": (
        of_type("AWS::SNS::Topic"),
        of_type("AWS::SNS::Topic", ArchivePolicy={"MessageRetentionPeriod": 30}),
        r"cannot change ArchivePolicy of Unknown \(AWS::SNS::Topic\)",
    ),
    "Named": (
        of_type("AWS::SQS::Queue", QueueName="mine.fifo", FifoQueue=True),
        of_type("AWS::SQS::Queue", QueueName="mine.fifo"),
        "custom-named resource requires replacing. Rename mine.fifo and",
    ),
    "Type": (
        of_type("AWS::SQS::Queue"),
        of_type("AWS::SNS::Topic"),
        r"Update of resource type is not permitted.*\[Type\]",
    ),
    "Projection": (
        of_type("AWS::DynamoDB::Table", **{**TABLE, **BY_OWNER}),
        of_type("AWS::DynamoDB::Table", **{**TABLE, **BY_OWNER, "GlobalSecondaryIndexes": NARROW}),
        "Cannot update GSI's properties",
    ),
    "TwoIndexes": (
        of_type("AWS::DynamoDB::Table", **TABLE),
        of_type("AWS::DynamoDB::Table", **{**TABLE, **BY_OWNER, "GlobalSecondaryIndexes": TWO}),
        "more than one GSI creation or deletion",
    ),
    "TimeToLive": (
        of_type("AWS::DynamoDB::Table", **TABLE, TimeToLiveSpecification=TTL),
        of_type("AWS::DynamoDB::Table", **TABLE, TimeToLiveSpecification=UNTIL),
        "TimeToLive is active on a different AttributeName: current AttributeName is ttl",
    ),
}


def test_a_change_that_cannot_be_made_fails_the_update_and_is_said(stack, subtests):
    bases = {name: base for name, (base, _, _) in REFUSED.items()}
    ids = stack.deploy(bases)
    other = of_type("AWS::SQS::Queue")
    for name, (_, change, reason) in REFUSED.items():
        with subtests.test(name):
            assert stack.deploy({"Other": other, **bases, name: change}) == ids
            assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
            assert "UPDATE_ROLLBACK_FAILED" not in stack.statuses
            assert re.search(reason, stack.reasons)
    assert stack.deploy({**bases, "Other": other}).items() > ids.items()
    stack.api.delete_stack(StackName=stack.name)


def test_a_name_given_by_hand_belongs_to_one_resource(stack):
    named = of_type("AWS::SQS::Queue", QueueName="only-one")
    ids = stack.deploy({"It": named})
    assert stack.deploy({"Renamed": named}) == ids
    assert "only-one already exists in stack" in stack.reasons
    assert ids["It"] in stack.physical("AWS::SQS::Queue")
    stack.api.delete_stack(StackName=stack.name)


def test_an_update_without_a_change_is_refused_and_its_change_set_fails(stack):
    resources = {"It": of_type("AWS::SQS::Queue", DelaySeconds=7)}
    stack.deploy(resources)
    template = stack.template(resources)
    with pytest.raises(ClientError, match=r"No updates are to be performed\."):
        stack.api.update_stack(
            StackName=stack.name, TemplateBody=json.dumps(json.loads(template), indent=4)
        )
    names = {"StackName": stack.name, "ChangeSetName": "nothing"}
    stack.api.create_change_set(**names, TemplateBody=template, ChangeSetType="UPDATE")
    described = stack.api.describe_change_set(**names)
    assert described["Status"] == "FAILED"
    assert "The submitted information didn't contain changes" in described["StatusReason"]
    with pytest.raises(ClientError, match="InvalidChangeSetStatus"):
        stack.api.execute_change_set(**names)
    assert stack.status == "CREATE_COMPLETE"


def test_another_value_of_a_parameter_reaches_all_that_is_made_with_it(stack):
    template = {
        "Parameters": {
            "Delay": {"Type": "Number", "Default": 1},
            "On": {"Type": "String", "Default": "yes"},
        },
        "Conditions": {"Wanted": {"Fn::Equals": [ref("On"), "yes"]}},
        "Resources": {
            "It": of_type("AWS::SQS::Queue", DelaySeconds={"Fn::Sub": "${Delay}"}),
            "Some": {**of_type("AWS::SQS::Queue", QueueName="sometimes"), "Condition": "Wanted"},
        },
        "Outputs": {"It": {"Value": ref("It")}},
    }
    client = stack.deployed.client

    def deploy(**values: str) -> str:
        given = [{"ParameterKey": k, "ParameterValue": v} for k, v in values.items()]
        call = stack.api.update_stack if values else stack.api.create_stack
        call(StackName=stack.name, TemplateBody=json.dumps(template), Parameters=given)
        return stack.deployed.cloud.outputs(stack.name)["It"]

    def there() -> bool:
        return any(url.endswith("/sometimes") for url in stack.physical("AWS::SQS::Queue"))

    url = deploy()
    assert there()
    assert deploy(Delay="5", On="no") == url
    assert asked.state(client, "AWS::SQS::Queue", url)[0]["DelaySeconds"] == "5"
    assert not there()
    deploy(Delay="5", On="yes")
    assert there()


def test_a_bucket_that_is_not_empty_stays(stack):
    ids = stack.deploy({"It": of_type("AWS::S3::Bucket"), "Queue": of_type("AWS::SQS::Queue")})
    s3 = stack.deployed.client("s3")
    s3.put_object(Bucket=ids["It"], Key="kept", Body=b"")
    stack.api.delete_stack(StackName=stack.name)
    assert stack.status == "DELETE_FAILED"
    assert "BucketNotEmpty" in stack.reasons
    assert s3.get_object(Bucket=ids["It"], Key="kept")
    s3.delete_object(Bucket=ids["It"], Key="kept")
    stack.api.delete_stack(StackName=stack.name)
    assert ids["It"] not in {one["Name"] for one in s3.list_buckets()["Buckets"]}


def test_a_resource_that_is_to_be_retained_outlives_its_place_in_the_template(stack):
    kept = {**of_type("AWS::SQS::Queue"), "DeletionPolicy": "Retain"}
    ids = stack.deploy({"It": kept, "Other": of_type("AWS::SQS::Queue")})
    stack.deploy({"Other": of_type("AWS::SQS::Queue")})
    assert stack.physical("AWS::SQS::Queue") >= {ids["It"], ids["Other"]}


def test_resources_that_refer_to_each_other_in_a_circle_are_refused(stack):
    one, other = (of_type("AWS::SSM::Parameter", Type="String", Value=ref(x)) for x in "BA")
    with pytest.raises(ClientError, match=r"Circular dependency between resources: \[[AB], [AB]\]"):
        stack.deploy({"A": one, "B": other})


def test_an_index_that_is_added_shows_the_items_that_were_there(stack):
    client = stack.deployed.client("dynamodb")
    name = stack.deploy({"It": of_type("AWS::DynamoDB::Table", **TABLE)})["It"]
    for number in range(3):
        item = {"id": {"S": str(number)}, "owner": {"S": "ann"}, "at": {"N": str(-number)}}
        client.put_item(TableName=name, Item=item)
    index = {
        **INDEX,
        "KeySchema": [*INDEX["KeySchema"], {"AttributeName": "at", "KeyType": "RANGE"}],
    }
    attributes = [*BY_OWNER["AttributeDefinitions"], {"AttributeName": "at", "AttributeType": "N"}]
    more = {"AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index]}
    stack.deploy({"It": of_type("AWS::DynamoDB::Table", **{**TABLE, **more})})
    found = client.query(
        TableName=name,
        IndexName="by_owner",
        KeyConditionExpression="#owner = :ann",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":ann": {"S": "ann"}},
    )["Items"]
    assert [one["id"]["S"] for one in found] == ["2", "1", "0"]


def test_every_part_of_a_lifecycle_rule_reaches_the_bucket(stack):
    rules = {"LifecycleConfiguration": {"Rules": RULES}}
    name = stack.deploy({"It": of_type("AWS::S3::Bucket", **rules)})["It"]
    s3 = stack.deployed.client("s3")
    found = s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    short, long, parts = sorted(
        found, key=lambda rule: ("short", "long", "parts").index(rule["ID"])
    )
    assert short["Expiration"] == {"Days": 3}
    assert short["Filter"] == {"Prefix": "a/"}
    assert long["Filter"]["And"]["Tags"] == [{"Key": "kept", "Value": "long"}]
    assert long["NoncurrentVersionExpiration"]["NoncurrentDays"] == 9
    assert long["Transitions"] == [{"Days": 30, "StorageClass": "GLACIER"}]
    assert parts["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert parts["Status"] == "Disabled"


def test_a_route_lets_in_whom_it_asks_for_and_is_not_answered_when_it_is_gone(stack):
    def route(key: str, **more: Any) -> Properties:
        integration = {"Fn::Sub": "integrations/${Integration}"}
        return of_type(
            "AWS::ApiGatewayV2::Route", ApiId=ref("Api"), RouteKey=key, Target=integration, **more
        )

    def asked(path: str) -> int:
        """Return the status that somebody without a key is answered."""
        connection = HTTPConnection(urlsplit(stack.deployed.cloud.endpoint).netloc)
        connection.request("GET", f"/_http/{api_id}/{path}")
        with closing(connection):
            return connection.getresponse().status

    resources = {
        **OTHERS,
        "Function": of_type("AWS::Lambda::Function", **FUNCTION),
        "Api": of_type("AWS::ApiGatewayV2::Api", Name="api", ProtocolType="HTTP"),
        "Integration": of_type(
            "AWS::ApiGatewayV2::Integration",
            ApiId=ref("Api"),
            IntegrationType="AWS_PROXY",
            IntegrationUri=arn("Function"),
            PayloadFormatVersion="2.0",
        ),
        "Kept": route("GET /kept"),
    }
    signed = route("GET /signed", AuthorizationType="AWS_IAM")
    stage = of_type("AWS::ApiGatewayV2::Stage", ApiId=ref("Api"), StageName="$default")
    api_id = stack.deploy({**resources, "Signed": signed, "Stage": stage})["Api"]
    assert [asked(path) for path in ("kept", "signed", "none")] == [200, 403, 404]
    stack.deploy(resources)
    assert stack.status == "UPDATE_COMPLETE"
    assert asked("signed") == 404
    api = stack.deployed.client("apigatewayv2")
    (left,) = api.get_routes(ApiId=api_id)["Items"]
    assert left["RouteKey"] == "GET /kept"
    assert not api.get_stages(ApiId=api_id)["Items"]
    stack.api.delete_stack(StackName=stack.name)
    assert api_id not in {one["ApiId"] for one in api.get_apis()["Items"]}


def test_a_schedule_whose_state_is_no_longer_said_is_enabled(stack):
    stack.deploy({**OTHERS, "It": of_type("AWS::Scheduler::Schedule", **SCHEDULE)})
    silent = {name: value for name, value in SCHEDULE.items() if name != "State"}
    name = stack.deploy({**OTHERS, "It": of_type("AWS::Scheduler::Schedule", **silent)})["It"]
    assert stack.deployed.client("scheduler").get_schedule(Name=name)["State"] == "ENABLED"
    stack.api.delete_stack(StackName=stack.name)


MADE_IN_PART = {
    "role": (
        of_type("AWS::IAM::Role", **ROLE, RoleName="in-part"),
        {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/NoSuchPolicy"]},
    ),
    "managed policy": (
        of_type(
            "AWS::IAM::ManagedPolicy",
            PolicyDocument=allow("s3:GetObject"),
            ManagedPolicyName="in-part",
        ),
        {"Roles": ["nobody"]},
    ),
}


def test_what_fails_in_the_making_does_not_keep_its_name(stack, subtests):
    queue = {"Queue": of_type("AWS::SQS::Queue")}
    stack.deploy(queue)
    for name, (right, wrong) in MADE_IN_PART.items():
        with subtests.test(name):
            stack.deploy({**queue, "It": of_type(right["Type"], **right["Properties"], **wrong)})
            assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
            assert stack.deploy({**queue, "It": right})["It"].endswith("in-part")
            assert stack.status == "UPDATE_COMPLETE"
            stack.deploy(queue)
    stack.api.delete_stack(StackName=stack.name)


def test_an_update_goes_by_its_own_mappings_and_tags_what_is_new(stack):
    def template(seconds: int, **queues: Any) -> str:
        found = {"Fn::FindInMap": ["Seconds", "delay", "value"]}
        delayed = of_type("AWS::SQS::Queue", DelaySeconds=found)
        return json.dumps(
            {
                "Mappings": {"Seconds": {"delay": {"value": seconds}}},
                "Resources": {"It": delayed, **queues},
                "Outputs": {name: {"Value": ref(name)} for name in ("It", *queues)},
            }
        )

    sqs = stack.deployed.client("sqs")
    stack.api.create_stack(StackName=stack.name, TemplateBody=template(3))
    new = of_type("AWS::SQS::Queue", **TAGS)
    stack.api.update_stack(StackName=stack.name, TemplateBody=template(7, New=new))
    ids = stack.deployed.cloud.outputs(stack.name)
    told = sqs.get_queue_attributes(QueueUrl=ids["It"], AttributeNames=["DelaySeconds"])
    assert told["Attributes"]["DelaySeconds"] == "7"
    assert sqs.list_queue_tags(QueueUrl=ids["New"])["Tags"] == {"team": "pictures"}


def test_a_number_may_be_the_value_of_a_parameter(stack):
    alarm = of_type(
        "AWS::CloudWatch::Alarm",
        ActionsEnabled="false",
        ComparisonOperator="GreaterThanThreshold",
        EvaluationPeriods="2",
        MetricName="errors",
        Namespace="shop",
        Period=60,
        Statistic="Sum",
        Threshold=ref("Most"),
    )
    template = {
        "Parameters": {"Most": {"Type": "Number", "Default": 1.5}},
        "Resources": {"It": alarm},
        "Outputs": {"It": {"Value": ref("It")}},
    }
    stack.api.create_stack(StackName=stack.name, TemplateBody=json.dumps(template))
    name = stack.deployed.cloud.outputs(stack.name)["It"]
    cloudwatch = stack.deployed.client("cloudwatch")
    (found,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    assert (found["Threshold"], found["EvaluationPeriods"]) == (1.5, 2)
    assert found["ActionsEnabled"] is False
    stack.api.delete_stack(StackName=stack.name)


def test_a_stream_that_is_switched_on_has_no_write_from_before(stack):
    deployed = stack.deployed
    name = stack.deploy({"It": of_type("AWS::DynamoDB::Table", **TABLE)})["It"]
    dynamodb = deployed.client("dynamodb")
    dynamodb.put_item(TableName=name, Item={"id": {"S": "before"}})
    followed = {**TABLE, "StreamSpecification": {"StreamViewType": "KEYS_ONLY"}}
    mapping = of_type(
        "AWS::Lambda::EventSourceMapping",
        FunctionName=deployed.ids["Follower"],
        EventSourceArn=arn("It", "StreamArn"),
        StartingPosition="TRIM_HORIZON",
    )
    stack.deploy({"It": of_type("AWS::DynamoDB::Table", **followed), "Mapping": mapping})
    dynamodb.put_item(TableName=name, Item={"id": {"S": "after"}})
    records = eventually(deployed.records)
    assert [one["dynamodb"]["Keys"]["id"]["S"] for one in records] == ["after"]
    stack.api.delete_stack(StackName=stack.name)


def test_a_nested_stack_is_updated_where_it_is_and_tells_its_outputs(stack):
    client = stack.deployed.client

    def nested(delay: int) -> Properties:
        inner = {
            "Resources": {"Queue": of_type("AWS::SQS::Queue", DelaySeconds=delay)},
            "Outputs": {"Url": {"Value": ref("Queue")}},
        }
        key = f"{stack.name}-{delay}.json"
        client("s3").put_object(Bucket=CODE_BUCKET, Key=key, Body=json.dumps(inner))
        url = f"https://s3.us-east-1.amazonaws.com/{CODE_BUCKET}/{key}"
        return of_type("AWS::CloudFormation::Stack", TemplateURL=url)

    url = {"Fn::GetAtt": ["It", "Outputs.Url"]}
    holder = of_type("AWS::SSM::Parameter", Type="String", Value=url)
    ids = stack.deploy({"It": nested(1), "Holder": holder})
    queue = client("ssm").get_parameter(Name=ids["Holder"])["Parameter"]["Value"]
    for delay in (2, 1):
        assert stack.deploy({"It": nested(delay), "Holder": holder}) == ids
        told, _ = asked.state(client, "AWS::SQS::Queue", queue)
        assert told["DelaySeconds"] == str(delay)
    wrong = nested(1)
    wrong["Properties"]["TemplateURL"] += "-not-there"
    assert stack.deploy({"It": wrong, "Holder": holder}) == ids
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    stack.api.delete_stack(StackName=stack.name)
    assert queue not in stack.physical("AWS::SQS::Queue")


def test_the_retries_of_a_function_belong_to_one_resource(stack):
    retries = of_type(
        "AWS::Lambda::EventInvokeConfig",
        FunctionName=ref("Function"),
        Qualifier="$LATEST",
        MaximumRetryAttempts=1,
    )
    base = {**OTHERS, "Function": of_type("AWS::Lambda::Function", **FUNCTION)}
    ids = stack.deploy({**base, "It": retries})
    assert stack.deploy({**base, "Renamed": retries}) == ids
    assert f"{ids['Function']}|$LATEST already exists" in stack.reasons
    found = stack.deployed.client("lambda").get_function_event_invoke_config(
        FunctionName=ids["Function"]
    )
    assert found["MaximumRetryAttempts"] == 1
    stack.api.delete_stack(StackName=stack.name)


def test_an_update_is_undone_though_what_the_old_template_reads_is_gone(stack):
    ssm = stack.deployed.client("ssm")
    ssm.put_parameter(Name="/delay", Value="3", Type="String")
    reads = {"Delay": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/delay"}}
    queue = of_type("AWS::SQS::Queue", DelaySeconds=ref("Delay"))
    outputs = {"It": {"Value": ref("It")}}
    template = json.dumps({"Parameters": reads, "Resources": {"It": queue}, "Outputs": outputs})
    stack.api.create_stack(StackName=stack.name, TemplateBody=template)
    ssm.delete_parameter(Name="/delay")
    wrong = of_type("AWS::SSM::Parameter", Type="String", Value={"Fn::ImportValue": "nobody:has"})
    plain = of_type("AWS::SQS::Queue", DelaySeconds=5)
    url = stack.deploy({"It": plain, "Wrong": wrong})["It"]
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert asked.state(stack.deployed.client, "AWS::SQS::Queue", url)[0]["DelaySeconds"] == "3"
    assert stack.deploy({"It": plain})["It"] == url
    assert asked.state(stack.deployed.client, "AWS::SQS::Queue", url)[0]["DelaySeconds"] == "5"
    stack.api.delete_stack(StackName=stack.name)
