"""A change of a template reaches the resource, or the deployment fails and says what it cannot do.

Each change is made by CloudFormation, and asked of the service afterwards; then it is taken back.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from lifoq_localcloud.deployments.resources import buckets, changes
from tests.localcloud import asked
from tests.localcloud.asked import Client
from tests.localcloud.harness import CODE_BUCKET, eventually
from tests.localcloud.template import arn, of_type, parameter, queue, ref

Properties = dict[str, Any]
QUEUE, DYNAMO, LAMBDA = "AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::Lambda::Function"
TOPIC, SCHEDULES = "AWS::SNS::Topic", "AWS::Scheduler::Schedule"


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
ID = {"AttributeName": "id", "AttributeType": "S"}
KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
TABLE = {"AttributeDefinitions": [ID], "KeySchema": KEY, "BillingMode": "PAY_PER_REQUEST"}
INDEX: Properties = {
    "IndexName": "by_owner",
    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
BY_OWNER = {
    "AttributeDefinitions": [ID, {"AttributeName": "owner", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [INDEX],
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
RULE = {
    "EventPattern": {"source": ["shop"]},
    "State": "ENABLED",
    "Targets": [{"Id": "dead", "Arn": arn("Dead")}],
}
MACHINE = {
    "DefinitionString": json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
    "RoleArn": arn("Role"),
}
OTHERS = {
    "Queue": queue(),
    "Dead": queue(),
    "Role": of_type("AWS::IAM::Role", **ROLE),
    "Holder": of_type("AWS::IAM::Role", **ROLE),
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
OTHER_TAGS = {"Tags": [{"Key": "team", "Value": "prices"}]}
MAP = {"Tags": {"team": "pictures"}}

RULES = [
    {"Status": "Enabled", "ExpirationInDays": 3, "Id": "short", "Prefix": "a/"},
    {
        "Status": "Enabled",
        "Id": "long",
        "NoncurrentVersionExpiration": {"NoncurrentDays": 9, "NewerNoncurrentVersions": 9},
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
OF_QUEUE = {"MaximumMessageSize": 2048, "ReceiveMessageWaitTimeSeconds": 3}
IN_ORDER = {"QueueName": "in-order.fifo", "FifoQueue": True}
REDRIVE = {"RedrivePolicy": {"deadLetterTargetArn": arn("Dead"), "maxReceiveCount": 2}}
TTL = {"TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}}
STREAM = {"StreamSpecification": {"StreamViewType": "KEYS_ONLY"}}
NEW_IMAGES = {"StreamSpecification": {"StreamViewType": "NEW_IMAGE"}, **TAGS}
ALARM = {
    "ComparisonOperator": "GreaterThanThreshold",
    "EvaluationPeriods": 2,
    "MetricName": "errors",
    "Namespace": "shop",
    "Period": 60,
    "Statistic": "Sum",
    "Threshold": 1.5,
}
OF_ALARM = {"AlarmRule": 'ALARM("another")'}
READS = {"FunctionName": ref("Functioncode"), "EventSourceArn": arn("Queue")}
SLOWLY = {
    "BatchSize": 3,
    "Enabled": False,
    "FilterCriteria": {"Filters": [{"Pattern": '{"body": ["news"]}'}]},
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
    "MaximumBatchingWindowInSeconds": 7,
}
BY_KEY = {"KmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/ours"}
ALIAS = {"AliasName": "alias/of-updates", "TargetKeyId": ref("Keydescription")}
SETTINGS = {
    "Architectures": ["arm64"],
    "Description": "counts",
    "Environment": {"Variables": {"GREETING": "hello"}},
    "MemorySize": 256,
    "ReservedConcurrentExecutions": 2,
    "Timeout": 9,
    "TracingConfig": {"Mode": "Active"},
    **TAGS,
}
LEVEL = "import os\ndef handler(event, context):\n    return os.getenv('AWS_LAMBDA_LOG_LEVEL')\n"
SAYS_LEVEL = {**FUNCTION, "Code": {"ZipFile": LEVEL}}
DEBUG = {"LoggingConfig": {"LogFormat": "JSON", "ApplicationLogLevel": "DEBUG"}}
OTHER_CODE = {"Code": {"ZipFile": "def handler(event, context):\n    return 2\n"}}
OTHER_ROLE = {
    "AssumeRolePolicyDocument": trust("events"),
    "Description": "another",
    "MaxSessionDuration": 7200,
    "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
    "Policies": [{"PolicyName": "own", "PolicyDocument": allow("sqs:SendMessage")}],
}
OTHER_RULE = {
    "EventPattern": {"source": ["office"]},
    "Description": "of the office",
    "State": "DISABLED",
    "Targets": [{"Id": "dead", "Arn": arn("Dead")}, {"Id": "queue", "Arn": arn("Queue")}],
    **TAGS,
}
RECORDED = {
    "LoggingConfiguration": {"Level": "ALL", "IncludeExecutionData": True},
    "TracingConfiguration": {"Enabled": True},
}
FAILS = {"DefinitionString": MACHINE["DefinitionString"].replace("Succeed", "Fail")}
GET, PUT = ({"PolicyDocument": allow(action)} for action in ("s3:GetObject", "s3:PutObject"))
ONE = {"Type": "String", "Value": "1"}

BOUNDARY = {"PermissionsBoundary": "arn:aws:iam::aws:policy/AmazonSQSFullAccess"}
TO_QUEUE = {"TopicArn": ref("Topic"), "Protocol": "sqs", "Endpoint": arn("Queue")}
TO_DEAD = {**TO_QUEUE, "Endpoint": arn("Dead")}
FILTERED = {"FilterPolicyScope": "MessageBody", "FilterPolicy": {"its": {"kind": ["new"]}}}
ORDERED = {"TopicName": "in-order.fifo", "FifoTopic": True}
API = {"Name": "api", "ProtocolType": "HTTP", "Description": "an API"}
HELD = {**GET, "Roles": [ref("Holder")]}
RECOVERY = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
ENCRYPTED = {"SSESpecification": {"SSEEnabled": True}}
OTHER_KEY = {"SSESpecification": {"SSEEnabled": True, "KMSMasterKeyId": "alias/ours"}}
POLICY = {"ResourcePolicy": {"PolicyDocument": allow("dynamodb:GetItem")}}
ENCRYPTION = {
    "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"},
    "BucketKeyEnabled": True,
}
BUCKET_SETTINGS = {
    "BucketEncryption": {"ServerSideEncryptionConfiguration": [ENCRYPTION]},
    "LifecycleConfiguration": {"Rules": RULES},
    "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
    "PublicAccessBlockConfiguration": {"BlockPublicAcls": True},
    **TAGS,
}
KEY_SETTINGS = {
    "Description": "ours",
    "EnableKeyRotation": True,
    "KeyPolicy": allow("kms:Decrypt"),
}


def table_policy(client: Client, name: str) -> Any:
    dynamodb = client("dynamodb")
    table_arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
    try:
        return json.loads(dynamodb.get_resource_policy(ResourceArn=table_arn)["Policy"])
    except ClientError as error:
        return error.response["Error"]["Code"]


def ttl_status(client: Client, name: str) -> Any:
    told = client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return told["TimeToLiveStatus"]


def holders(client: Client, policy: str) -> Any:
    found = client("iam").list_entities_for_policy(PolicyArn=policy)["PolicyRoles"]
    return [one["RoleName"] for one in found]


def capacity(units: str) -> Properties:
    units_of_both = {"ReadCapacityUnits": units, "WriteCapacityUnits": 3}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units_of_both}


def capacities(client: Client, name: str) -> Any:
    told = client("dynamodb").describe_table(TableName=name)["Table"]["ProvisionedThroughput"]
    return told["ReadCapacityUnits"], told["WriteCapacityUnits"]


def index_capacity(units: int) -> Properties:
    throughput = {"ReadCapacityUnits": str(units), "WriteCapacityUnits": 4}
    index = {**INDEX, "ProvisionedThroughput": throughput}
    return {**TABLE, **BY_OWNER, **capacity("2"), "GlobalSecondaryIndexes": [index]}


def index_capacities(client: Client, name: str) -> Any:
    (found,) = client("dynamodb").describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"]
    told = found["ProvisionedThroughput"]
    return told["ReadCapacityUnits"], told["WriteCapacityUnits"]


def target_key(client: Client, name: str) -> Any:
    aliases = client("kms").list_aliases()["Aliases"]
    return [one["TargetKeyId"] for one in aliases if one["AliasName"] == name]


IN_PLACE = {
    "SqsDelay": Case(QUEUE, {}, {"DelaySeconds": 7}),
    "SqsRetention": Case(QUEUE, {}, {"MessageRetentionPeriod": 600}),
    "SqsVisibility": Case(QUEUE, {}, {"VisibilityTimeout": 77}),
    "SqsRedrive": Case(QUEUE, {}, REDRIVE),
    "SqsTags": Case(QUEUE, {}, TAGS),
    "SqsOthers": Case(QUEUE, {}, OF_QUEUE),
    "SqsOrdered": Case(QUEUE, IN_ORDER, {"ContentBasedDeduplication": True}),
    "TableIndex": Case(DYNAMO, TABLE, BY_OWNER),
    "TableStream": Case(DYNAMO, TABLE, STREAM),
    "TableTtl": Case(DYNAMO, TABLE, TTL, ttl_status),
    "TableProtection": Case(DYNAMO, TABLE, {"DeletionProtectionEnabled": True}),
    "TableEncryption": Case(DYNAMO, TABLE, ENCRYPTED),
    "TableKey": Case(DYNAMO, {**TABLE, **ENCRYPTED}, OTHER_KEY),
    "TableRecovery": Case(DYNAMO, TABLE, RECOVERY),
    "FunctionCode": Case(LAMBDA, FUNCTION, OTHER_CODE, invoked),
    "FunctionLog": Case(LAMBDA, SAYS_LEVEL, DEBUG, invoked),
    "FunctionSettings": Case(LAMBDA, FUNCTION, SETTINGS),
    "LogRetention": Case("AWS::Logs::LogGroup", {}, {"RetentionInDays": 7, **TAGS}),
    "LogKey": Case("AWS::Logs::LogGroup", {}, BY_KEY),
    "ManagedPolicy": Case("AWS::IAM::ManagedPolicy", GET, PUT),
    "Role1": Case("AWS::IAM::Role", ROLE, OTHER_ROLE),
    "Rule": Case("AWS::Events::Rule", RULE, OTHER_RULE),
    "Topic": Case(TOPIC, {}, {"DisplayName": "News", **TAGS}),
    "TopicKey": Case(TOPIC, {}, {"KmsMasterKeyId": "alias/ours"}),
    "TopicOrdered": Case(TOPIC, ORDERED, {"ContentBasedDeduplication": True}),
    "Parameter": Case("AWS::SSM::Parameter", ONE, {"Value": "2", "Description": "two", **MAP}),
    "Schedule": Case(SCHEDULES, SCHEDULE, {"ScheduleExpression": "rate(2 hours)"}),
    "StateMachine": Case("AWS::StepFunctions::StateMachine", MACHINE, {**FAILS, **TAGS}),
    "Recorded": Case("AWS::StepFunctions::StateMachine", MACHINE, RECORDED),
    "Alarm": Case("AWS::CloudWatch::Alarm", {**ALARM, **TAGS}, {"Threshold": 9.5, **OTHER_TAGS}),
    "Composite": Case("AWS::CloudWatch::CompositeAlarm", OF_ALARM, {"AlarmDescription": "both"}),
    "Mapping": Case("AWS::Lambda::EventSourceMapping", READS, SLOWLY),
    "Alias": Case("AWS::KMS::Alias", ALIAS, {"TargetKeyId": ref("Keykeypolicy")}, target_key),
    "TableView": Case(DYNAMO, {**TABLE, **STREAM}, NEW_IMAGES),
    "IndexCapacity": Case(DYNAMO, index_capacity(2), index_capacity(7), index_capacities),
    "TableCapacity": Case(DYNAMO, {**TABLE, **capacity("2")}, capacity("7"), capacities),
    "TablePolicy": Case(DYNAMO, TABLE, POLICY, table_policy),
    "Holders": Case("AWS::IAM::ManagedPolicy", HELD, {"Roles": [ref("Role")]}, holders),
    "Boundary": Case("AWS::IAM::Role", ROLE, BOUNDARY),
    "Subscription": Case("AWS::SNS::Subscription", TO_QUEUE, FILTERED),
    "Raw": Case("AWS::SNS::Subscription", TO_DEAD, {"RawMessageDelivery": True}),
    "Api": Case("AWS::ApiGatewayV2::Api", API, {"Name": "ours", "Description": "ours", **MAP}),
    "Dashboard": Case(
        "AWS::CloudWatch::Dashboard",
        {"DashboardBody": '{"widgets": []}'},
        {"DashboardBody": '{"widgets": [{"type": "text"}]}'},
    ),
    **{
        f"Bucket{name}": Case("AWS::S3::Bucket", {}, {name: value})
        for name, value in BUCKET_SETTINGS.items()
    },
    **{
        f"Key{name}": Case("AWS::KMS::Key", {"KeyPolicy": allow("kms:*")}, {name: value})
        for name, value in KEY_SETTINGS.items()
    },
}


class Stack:
    """One stack with the resource that changes, and those that it refers to."""

    def __init__(self, deployed: Any, name: str) -> None:
        self.deployed = deployed
        self.name = name
        self.api = deployed.client("cloudformation")

    def template(self, resources: Properties, **parts: Any) -> str:
        outputs = {one: {"Value": ref(one)} for one in resources}
        return json.dumps({"Resources": resources, "Outputs": outputs, **parts})

    def deploy(
        self, resources: Properties, parts: Properties | None = None, **options: Any
    ) -> dict[str, str]:
        """Deploy them, with other parts of a template, and return the physical ids."""
        known = {one["StackName"] for one in self.api.describe_stacks()["Stacks"]}
        call = self.api.update_stack if self.name in known else self.api.create_stack
        call(
            StackName=self.name,
            TemplateBody=self.template(resources, **(parts or {})),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            **options,
        )
        return self.deployed.cloud.outputs(self.name)

    def delete(self) -> None:
        self.api.delete_stack(StackName=self.name)

    @contextmanager
    def beside(self) -> Iterator["Stack"]:
        """Yield another stack, which is deleted afterwards."""
        another = Stack(self.deployed, f"{self.name}-beside")
        yield another
        another.delete()

    def delay(self, url: str) -> str:
        asked_of = self.deployed.client("sqs").get_queue_attributes
        told = asked_of(QueueUrl=url, AttributeNames=["DelaySeconds"])
        return str(told["Attributes"]["DelaySeconds"])

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
    def not_deleted(self) -> list[str]:
        """The reasons for which its parts are there after its end."""
        events = self.api.describe_stack_events(StackName=self.name)["StackEvents"]
        failed = (one for one in events if one["ResourceStatus"] == "DELETE_FAILED")
        return [one["ResourceStatusReason"] for one in failed]

    @property
    def reasons(self) -> str:
        events = self.api.describe_stack_events(StackName=self.name)["StackEvents"]
        return " ".join(one.get("ResourceStatusReason") or "" for one in events)


def ends(document: Any, name: str = "") -> Iterator[str]:
    """Yield the values of a document, a reference as what it refers to, a truth with its name."""
    if isinstance(document, str) and document.startswith(("{", "[")):
        document = json.loads(document)
    match document:
        case {"Fn::GetAtt": [str(referred), _]}:
            yield referred
        case dict():
            for inner, value in document.items():
                yield from ends(value, inner)
        case list():
            for value in document:
                yield from ends(value, name)
        case bool():
            yield f"{name}: {document}".lower()
        case _:
            yield str(document)


def keys(document: Any) -> Iterator[str]:
    """Yield the names within a document."""
    if isinstance(document, dict):
        yield from document
    if isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from keys(value)


NOT_TOLD = {
    *("2012-10-17", FUNCTION["Code"]["ZipFile"], "enabled: false"),
    "enablekeyrotation: true",
    *("contentbaseddeduplication: true", "rawmessagedelivery: true"),
    *("fifoqueue: true", "fifotopic: true", "in-order.fifo"),
    *("pointintimerecoveryenabled: true", "sseenabled: true"),
}
"""Values that a service tells by other words, or that ``asked`` leaves out."""


def missing(case: Case, told: Any) -> set[str]:
    """Return the values that a changed template says, and its service does not tell."""
    found = {*ends(told), *keys(told)}
    parts = {part for one in found for part in re.split("[:/]", one)}
    return {*ends({**case.base, **case.change})} - found - parts - NOT_TOLD


OF_ONE_DEPLOYMENT = re.compile(
    "-".join(f"[0-9a-f]{{{length}}}" for length in (8, 4, 4, 4, 12))
    + """|(?<="CodeSha256": ")[^"]*"""  # an archive has the time of its making
)


def without_ids(ids: dict[str, str], told: Any) -> Any:
    """Return what services say, with the names of a template in place of the physical ids, and
    without what no other deployment has."""
    text = json.dumps(told, default=str)
    for name, found in ids.items():
        text = text.replace(re.split("[:/]", found)[-1], name)
    return json.loads(OF_ONE_DEPLOYMENT.sub("", text))


@pytest.fixture
def stack(deployed, request) -> Iterator[Stack]:
    one = Stack(deployed, f"updates-{abs(hash(request.node.name)) % 10**8}")
    yield one
    one.delete()


def test_a_changed_property_reaches_its_resource_and_is_taken_back(stack):
    """A change in place leads to what a first deployment would have made. All resources are in one
    template: a deployment for each takes ten times as long."""
    cases = {name.title().replace(" ", ""): case for name, case in IN_PLACE.items()}

    def deployed(stack: Stack, *, changed: bool) -> tuple[dict[str, str], dict[str, Any]]:
        """Return what is there by each name, and what its service says of it."""
        its = {
            name: of_type(case.kind, **{**case.base, **(case.change if changed else {})})
            for name, case in cases.items()
        }
        ids = stack.deploy({**OTHERS, **its})
        assert ids, stack.reasons
        client = stack.deployed.client
        return ids, {name: case.ask(client, ids[name]) for name, case in cases.items()}

    with stack.beside() as fresh:
        made = without_ids(*deployed(fresh, changed=True))
    (protected,) = fresh.not_deleted
    assert "can't be deleted while DeletionProtectionEnabled" in protected
    ids, before = deployed(stack, changed=False)
    there, after = deployed(stack, changed=True)
    assert (there, stack.status) == (ids, "UPDATE_COMPLETE")
    assert [name for name in cases if after[name] == before[name]] == []
    told = without_ids(ids, after)
    assert [name for name in cases if told[name] != made[name]] == []
    lacking = {name: missing(case, told[name]) for name, case in cases.items() if not case.told}
    assert {name: values for name, values in lacking.items() if values} == {}
    there, again = deployed(stack, changed=False)
    assert (there, stack.status) == (ids, "UPDATE_COMPLETE")
    assert [name for name in cases if again[name] != before[name]] == []
    stack.delete()

    def is_there(name: str) -> bool:
        try:
            return cases[name].ask(stack.deployed.client, ids[name]) == before[name]
        except (ClientError, ParamValidationError):  # the second: there is no ARN to ask with
            return False

    assert [name for name in cases if is_there(name)] == []


def test_a_topic_whose_policy_is_taken_away_has_its_first_one_again(stack):
    topics = {name: of_type(TOPIC) for name in ("One", "Two")}

    def policies() -> list[Any]:
        asked_of = stack.deployed.client("sns").get_topic_attributes
        told = [asked_of(TopicArn=ids[name])["Attributes"]["Policy"] for name in topics]
        return [json.loads(one) for one in told]

    def policy(*names: str) -> Properties:
        named = {"Topics": [ref(name) for name in names]}
        return of_type("AWS::SNS::TopicPolicy", PolicyDocument=allow("sns:Publish"), **named)

    ids = stack.deploy(topics)
    first = policies()
    stack.deploy({**topics, "Policy": policy("One", "Two")})
    assert policies() == [allow("sns:Publish")] * 2
    stack.deploy({**topics, "Policy": policy("One")})
    assert policies() == [allow("sns:Publish"), first[1]]
    stack.deploy(topics)
    assert policies() == first
    stack.deploy({**topics, "Policy": policy("One", "Two")})
    stack.delete()
    assert not set(ids.values()) & stack.physical(TOPIC)


OTHER_KEY = {
    "KeySchema": [*KEY, {"AttributeName": "at", "KeyType": "RANGE"}],
    "AttributeDefinitions": [ID, {"AttributeName": "at", "AttributeType": "N"}],
}
REPLACED = {
    "Queue": (QUEUE, {}, {"QueueName": "another"}),
    "Topic": (TOPIC, {}, {"TopicName": "another"}),
    "Table": (DYNAMO, TABLE, OTHER_KEY),
}


def test_what_cannot_stay_is_replaced_and_who_refers_to_it_gets_the_other_one(stack):
    ssm = stack.deployed.client("ssm")
    holder = parameter({"Fn::Sub": " ".join(f"${{{name}}}" for name in REPLACED)})

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
    stack.delete()
    for name, (kind, _, _) in REPLACED.items():
        assert not {before[name], after[name], again[name]} & stack.physical(kind), name


def test_what_is_replaced_comes_back_where_the_update_fails(stack):
    wrong = parameter({"Fn::ImportValue": "nobody:exports"}) | {"DependsOn": "It"}
    ids = stack.deploy({"It": queue()})
    assert stack.deploy({"It": queue(QueueName="for-a-moment"), "Wrong": wrong}) == ids
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "UPDATE_ROLLBACK_FAILED" not in stack.statuses
    assert stack.physical(QUEUE) >= {ids["It"]}
    assert not any("for-a-moment" in url for url in stack.physical(QUEUE))


TWO = [INDEX, {**INDEX, "IndexName": "by_owner_2"}]
NARROW = [{**INDEX, "Projection": {"ProjectionType": "KEYS_ONLY"}}]


def table(**more: Any) -> Properties:
    return of_type(DYNAMO, **{**TABLE, **more})


def indexed(*indexes: Properties) -> Properties:
    return table(**{**BY_OWNER, "GlobalSecondaryIndexes": indexes})


def ttl(attribute: str) -> Properties:
    return table(TimeToLiveSpecification={"AttributeName": attribute, "Enabled": True})


REFUSED = {
    r"cannot change ArchivePolicy of It0 \(AWS::SNS::Topic\)": (
        of_type(TOPIC),
        of_type(TOPIC, ArchivePolicy={"MessageRetentionPeriod": 30}),
    ),
    "custom-named resource requires replacing. Rename mine.fifo and": (
        queue(QueueName="mine.fifo", FifoQueue=True),
        queue(QueueName="mine.fifo"),
    ),
    r"Update of resource type is not permitted.*\[It2\]": (queue(), of_type(TOPIC)),
    "Cannot update GSI's properties": (table(**BY_OWNER), indexed(*NARROW)),
    "more than one GSI creation or deletion": (table(), indexed(*TWO)),
    "different AttributeName: current AttributeName is ttl": (ttl("ttl"), ttl("until")),
}
"""Resources, and the changes that they cannot take, by the reason that is told."""


def test_a_change_that_cannot_be_made_fails_the_update_and_is_said(stack, subtests):
    bases = {f"It{place}": base for place, (base, _) in enumerate(REFUSED.values())}
    ids = stack.deploy(bases)
    for name, (reason, (_, change)) in zip(bases, REFUSED.items(), strict=True):
        with subtests.test(reason):
            assert stack.deploy({"Other": queue(), **bases, name: change}) == ids
            assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
            assert "UPDATE_ROLLBACK_FAILED" not in stack.statuses
            assert re.search(reason, stack.reasons)
    assert stack.deploy({**bases, "Other": queue()}).items() > ids.items()


def test_a_name_and_the_retries_of_a_function_belong_to_one_resource(stack):
    retries = of_type(
        "AWS::Lambda::EventInvokeConfig",
        FunctionName=ref("Function"),
        Qualifier="$LATEST",
        MaximumRetryAttempts=1,
    )
    named = queue(QueueName="only-one")
    base = {**OTHERS, "Function": of_type(LAMBDA, **FUNCTION)}
    ids = stack.deploy({**base, "Retries": retries, "Named": named})
    assert stack.deploy({**base, "Retries": retries, "Renamed": named}) == ids
    assert "only-one already exists in stack" in stack.reasons
    assert stack.deploy({**base, "Renamed": retries, "Named": named}) == ids
    assert f"{ids['Function']}|$LATEST already exists" in stack.reasons
    assert ids["Named"] in stack.physical(QUEUE)
    asked_of = stack.deployed.client("lambda").get_function_event_invoke_config
    assert asked_of(FunctionName=ids["Function"])["MaximumRetryAttempts"] == 1
    retries["Properties"]["MaximumRetryAttempts"] = 0
    stack.deploy({**base, "Retries": retries, "Named": named})
    assert asked_of(FunctionName=ids["Function"])["MaximumRetryAttempts"] == 0
    stack.deploy(base)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        asked_of(FunctionName=ids["Function"])


def test_what_another_resource_asks_of_one_is_what_it_is(stack):
    kinds = {
        "Api": ("AWS::ApiGatewayV2::Api", {"Name": "api", "ProtocolType": "HTTP"}, "ApiId"),
        "Group": ("AWS::Scheduler::ScheduleGroup", {"Name": "ours"}, "State"),
        "Key": ("AWS::KMS::Key", {"KeyPolicy": allow("kms:*")}, "KeyId"),
        "Machine": ("AWS::StepFunctions::StateMachine", MACHINE, "Arn"),
        "Named": (
            "AWS::StepFunctions::StateMachine",
            {**MACHINE, "StateMachineName": "named"},
            "Name",
        ),
        "Parameter": ("AWS::SSM::Parameter", {"Type": "String", "Value": "7"}, "Value"),
        "Schedule": ("AWS::Scheduler::Schedule", {**SCHEDULE, "Name": "hourly"}, "Arn"),
        "Grouped": (
            "AWS::Scheduler::Schedule",
            {**SCHEDULE, "Name": "grouped", "GroupName": ref("Group")},
            "Arn",
        ),
        "Thing": ("AWS::Nowhere::Thing", {}, "ItsArn"),
        "Other": ("AWS::Nowhere::Thing", {}, "Size"),
    }
    its = {name: of_type(kind, **given) for name, (kind, given, _) in kinds.items()}
    told = " ".join(f"${{{name}.{attribute}}}" for name, (_, _, attribute) in kinds.items())
    holder = of_type("AWS::SSM::Parameter", Type="String", Value={"Fn::Sub": told})
    ids = stack.deploy({**OTHERS, **its, "Told": holder})
    client = stack.deployed.client
    api, group, *rest = client("ssm").get_parameter(Name=ids["Told"])["Parameter"]["Value"].split()
    assert (api, group) == (ids["Api"], "ACTIVE")
    assert rest == [
        ids["Key"],
        ids["Machine"],
        "named",
        "7",
        "arn:aws:scheduler:us-east-1:123456789012:schedule/default/hourly",
        "arn:aws:scheduler:us-east-1:123456789012:schedule/ours/grouped",
        f"arn:aws:local:us-east-1:123456789012:{ids['Thing']}",
        f"{ids['Other']}.Size",
    ]
    stack.delete()
    assert "ours" not in str(client("scheduler").list_schedule_groups()["ScheduleGroups"])


def test_an_update_without_a_change_is_refused_and_its_change_set_fails(stack):
    resources = {"It": queue(DelaySeconds=7)}
    stack.deploy(resources)
    template = stack.template(resources)
    same = json.dumps(json.loads(template), indent=4)
    with pytest.raises(ClientError, match=r"No updates are to be performed\."):
        stack.api.update_stack(StackName=stack.name, TemplateBody=same)
    names = {"StackName": stack.name, "ChangeSetName": "nothing"}
    stack.api.create_change_set(**names, TemplateBody=template, ChangeSetType="UPDATE")
    described = stack.api.describe_change_set(**names)
    assert described["Status"] == "FAILED"
    assert "The submitted information didn't contain changes" in described["StatusReason"]
    with pytest.raises(ClientError, match="InvalidChangeSetStatus"):
        stack.api.execute_change_set(**names)
    assert stack.status == "CREATE_COMPLETE"


def test_another_value_of_a_parameter_reaches_all_that_is_made_with_it(stack):
    resources = {
        "It": queue(DelaySeconds={"Fn::Sub": "${Delay}"}),
        "Some": {**queue(QueueName="sometimes"), "Condition": "Wanted"},
    }
    on = {"Type": "String", "Default": "yes"}
    parts = {
        "Parameters": {"Delay": {"Type": "Number", "Default": 1}, "On": on},
        "Conditions": {"Wanted": {"Fn::Equals": [ref("On"), "yes"]}},
    }

    shown = {"Outputs": {"It": {"Value": ref("It")}}}

    def deploy(**values: str) -> str:
        given = [{"ParameterKey": k, "ParameterValue": v} for k, v in values.items()]
        return stack.deploy(resources, parts | shown, Parameters=given)["It"]

    def there() -> bool:
        return any(url.endswith("/sometimes") for url in stack.physical(QUEUE))

    url = deploy()
    assert there()
    assert deploy(Delay="5", On="no") == url
    assert stack.delay(url) == "5"
    assert not there()
    deploy(Delay="5", On="yes")
    assert there()


def test_a_bucket_that_is_not_empty_stays_unless_it_is_to_be_emptied(stack):
    emptied = of_type(
        "AWS::S3::Bucket",
        Tags=[{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}],
        VersioningConfiguration={"Status": "Enabled"},
    )
    ids = stack.deploy({"It": of_type("AWS::S3::Bucket"), "Emptied": emptied})
    s3 = stack.deployed.client("s3")
    for _ in range(2):
        for name in ids.values():
            s3.put_object(Bucket=name, Key="kept", Body=b"")
    stack.delete()
    assert stack.status == "DELETE_FAILED"
    assert "BucketNotEmpty" in stack.reasons
    assert s3.get_object(Bucket=ids["It"], Key="kept")
    assert ids["Emptied"] not in {one["Name"] for one in s3.list_buckets()["Buckets"]}
    s3.delete_object(Bucket=ids["It"], Key="kept")
    stack.delete()
    assert ids["It"] not in {one["Name"] for one in s3.list_buckets()["Buckets"]}


@pytest.mark.parametrize("policy", ["Retain", "RetainExceptOnCreate"])
def test_a_resource_that_is_to_be_retained_outlives_its_place_in_the_template(stack, policy):
    kept, kept_if_replaced = {"DeletionPolicy": policy}, {"UpdateReplacePolicy": policy}
    last = {"Last": queue() | kept, "Other": queue() | kept_if_replaced}
    once = {"It": queue() | kept, "Gone": queue() | kept_if_replaced}
    base = {"Replaced": queue() | kept_if_replaced, "Changed": queue() | kept}
    ids = stack.deploy({**last, **once, **base})
    stack.deploy({**last, **{name: queue(QueueName=f"{name}-{policy}") for name in base}})
    left = {name for name in ids if ids[name] in stack.physical(QUEUE)}
    assert left == {"It", "Last", "Other", "Replaced"}
    stack.delete()
    left = {name for name in ids if ids[name] in stack.physical(QUEUE)}
    assert left == {"It", "Last", "Replaced"}


def test_a_stack_that_fails_at_first_leaves_only_what_is_to_be_retained_in_any_case(stack):
    policies = ("Delete", "Retain", "RetainExceptOnCreate")
    its = {name: queue() | {"DeletionPolicy": name} for name in policies}
    wrong = parameter({"Fn::ImportValue": "nobody:exports"}) | {"DependsOn": policies}
    stack.deploy({**its, "Wrong": wrong})
    assert stack.status == "ROLLBACK_COMPLETE"
    (left,) = [url for url in stack.physical(QUEUE) if f"/{stack.name}-" in url]
    assert f"/{stack.name}-Retain-" in left


def test_what_cannot_be_deleted_is_told_and_left_behind(stack):
    client = stack.deployed.client("dynamodb")
    kept = table(DeletionProtectionEnabled=True)
    wrong = parameter({"Fn::ImportValue": "nobody:exports"}) | {"DependsOn": "It"}
    stack.deploy({"Queue": queue(), "It": kept, "Wrong": wrong})
    assert {"ROLLBACK_FAILED", "ROLLBACK_COMPLETE"} <= stack.statuses
    stack.delete()
    stack.deploy({"Queue": queue(), "It": kept})
    stack.deploy({"Queue": queue()})
    assert stack.status == "UPDATE_COMPLETE"
    assert "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS" in stack.statuses
    assert "can't be deleted while DeletionProtectionEnabled" in stack.reasons
    left = {one for one in stack.physical(DYNAMO) if one.startswith(stack.name)}
    assert len(left) == 2
    for name in left:
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.delete_table(TableName=name)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"A": 7, "B": True, "C": 1.5}, {"A": "7", "B": "true", "C": "1.5"}, set()),
        ({"A": None, "B": {"x": None, "y": [1]}}, {"B": {"y": ["1"]}}, set()),
        ({"A": 7, "B": [1, 2], "C": {"x": 1}}, {"A": 8, "B": [2, 1], "D": ""}, {*"ABCD"}),
    ],
)
def test_a_number_or_a_truth_is_as_good_as_its_text(before, after, changed):
    assert changes.between(before, after) == changed


def test_resources_that_refer_to_each_other_in_a_circle_are_refused(stack):
    with pytest.raises(ClientError, match=r"Circular dependency between resources: \[[AB], [AB]\]"):
        stack.deploy({"A": parameter(ref("B")), "B": parameter(ref("A"))})


def test_an_index_that_is_added_shows_the_items_that_were_there(stack):
    client = stack.deployed.client("dynamodb")
    name = stack.deploy({"It": table()})["It"]
    for number in range(3):
        item = {"id": {"S": str(number)}, "owner": {"S": "ann"}, "at": {"N": str(-number)}}
        client.put_item(TableName=name, Item=item)
    keys = [*INDEX["KeySchema"], {"AttributeName": "at", "KeyType": "RANGE"}]
    at = {"AttributeName": "at", "AttributeType": "N"}
    more = {"AttributeDefinitions": [*BY_OWNER["AttributeDefinitions"], at]}
    stack.deploy({"It": table(**more, GlobalSecondaryIndexes=[{**INDEX, "KeySchema": keys}])})
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
    long, parts, short = sorted(found, key=lambda rule: rule["ID"])
    assert short["Expiration"] == {"Days": 3}
    assert short["Filter"] == {"Prefix": "a/"}
    assert long["Filter"]["And"]["Tags"] == [{"Key": "kept", "Value": "long"}]
    assert long["NoncurrentVersionExpiration"]["NoncurrentDays"] == 9
    assert long["Transitions"] == [{"Days": 30, "StorageClass": "GLACIER"}]
    assert parts["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert parts["Status"] == "Disabled"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"Id": "short"}, {"ID": "short"}),
        ({"ExpirationInDays": "3"}, {"Expiration": {"Days": 3}}),
        ({"ExpirationDate": "2030-01-01"}, {"Expiration": {"Date": "2030-01-01"}}),
        (
            {"ExpiredObjectDeleteMarker": "true"},
            {"Expiration": {"ExpiredObjectDeleteMarker": True}},
        ),
        (
            {"NoncurrentVersionExpirationInDays": 5},
            {"NoncurrentVersionExpiration": {"NoncurrentDays": 5}},
        ),
        (
            {
                "Transition": {"StorageClass": "GLACIER", "TransitionInDays": "30"},
                "Transitions": [{"StorageClass": "GLACIER", "TransitionDate": "2030-01-01"}],
            },
            {
                "Transitions": [
                    {"StorageClass": "GLACIER", "Date": "2030-01-01"},
                    {"StorageClass": "GLACIER", "Days": 30},
                ]
            },
        ),
        (
            {"NoncurrentVersionTransition": {"StorageClass": "GLACIER", "TransitionInDays": 9}},
            {"NoncurrentVersionTransitions": [{"StorageClass": "GLACIER", "NoncurrentDays": 9}]},
        ),
        ({"Prefix": "a/"}, {"Filter": {"Prefix": "a/"}}),
        ({"ObjectSizeLessThan": "9"}, {"Filter": {"ObjectSizeLessThan": 9}}),
        ({"TagFilters": TAGS["Tags"]}, {"Filter": {"Tag": TAGS["Tags"][0]}}),
        (
            {"ObjectSizeGreaterThan": 1, "Prefix": "a/"},
            {"Filter": {"And": {"ObjectSizeGreaterThan": 1, "Prefix": "a/"}}},
        ),
        (
            {"TagFilters": [*TAGS["Tags"], *OTHER_TAGS["Tags"]]},
            {"Filter": {"And": {"Tags": [*TAGS["Tags"], *OTHER_TAGS["Tags"]]}}},
        ),
    ],
)
def test_a_lifecycle_rule_gets_the_form_that_it_has_in_the_api(rule, told):
    always = {"Status": "Enabled", "Filter": {"Prefix": ""}}
    assert buckets._lifecycle({"Status": "Enabled", **rule}) == {**always, **told}


def test_a_filter_is_read_by_the_scope_that_it_has_now(stack):
    def deployed(**more: Any) -> dict[str, str]:
        given = {**TO_QUEUE, "FilterPolicy": {"kind": ["new"]}, **more}
        subscription = of_type("AWS::SNS::Subscription", **given)
        return stack.deploy({"Topic": of_type(TOPIC), "Queue": queue(), "It": subscription})

    ids, client = deployed(), stack.deployed.client
    messages = [json.dumps({"kind": "new", "number": number}) for number in (1, 2)]
    client("sns").publish(TopicArn=ids["Topic"], Message=messages[0])  # it has no such attribute
    assert deployed(FilterPolicyScope="MessageBody") == ids
    client("sns").publish(TopicArn=ids["Topic"], Message=messages[1])
    found = client("sqs").receive_message(QueueUrl=ids["Queue"], MaxNumberOfMessages=10)
    assert [json.loads(one["Body"])["Message"] for one in found["Messages"]] == messages[1:]


def test_a_route_lets_in_whom_it_asks_for_and_is_not_answered_when_it_is_gone(stack):
    def of_api(kind: str, **properties: Any) -> Properties:
        return of_type(f"AWS::ApiGatewayV2::{kind}", ApiId=ref("Api"), **properties)

    def asked_for(path: str) -> int:
        """Return the status that somebody without a key is answered."""
        connection = HTTPConnection(urlsplit(stack.deployed.cloud.endpoint).netloc)
        connection.request("GET", f"/_http/{api_id}/{path}")
        with closing(connection):
            return connection.getresponse().status

    integration = {"IntegrationType": "AWS_PROXY", "IntegrationUri": arn("Function")}
    target = {"Target": {"Fn::Sub": "integrations/${Integration}"}}
    resources = {
        **OTHERS,
        "Function": of_type(LAMBDA, **FUNCTION),
        "Api": of_type("AWS::ApiGatewayV2::Api", Name="api", ProtocolType="HTTP"),
        "Integration": of_api("Integration", **integration, PayloadFormatVersion="2.0"),
        "Kept": of_api("Route", RouteKey="GET /kept", **target),
    }
    signed = of_api("Route", RouteKey="GET /signed", **target, AuthorizationType="AWS_IAM")
    stage = of_api("Stage", StageName="$default")
    api_id = stack.deploy({**resources, "Signed": signed, "Stage": stage})["Api"]
    assert [asked_for(path) for path in ("kept", "signed", "none")] == [200, 403, 404]
    integration["IntegrationUri"] = arn("Other")
    changed = {
        "Other": of_type(LAMBDA, **FUNCTION),
        "Integration": of_api("Integration", **integration, PayloadFormatVersion="2.0"),
        "Kept": of_api("Route", RouteKey="GET /moved", **target),
    }
    ids = stack.deploy({**resources, **changed})
    assert stack.status == "UPDATE_COMPLETE"
    assert asked_for("signed") == 404
    api = stack.deployed.client("apigatewayv2")
    (left,) = api.get_routes(ApiId=api_id)["Items"]
    assert left["RouteKey"] == "GET /moved"
    (left,) = api.get_integrations(ApiId=api_id)["Items"]
    assert ids["Other"] in left["IntegrationUri"]
    assert not api.get_stages(ApiId=api_id)["Items"]
    assert stack.deploy({"Api": resources["Api"]}) == {"Api": api_id}
    assert api.get_routes(ApiId=api_id)["Items"] == []
    assert api.get_integrations(ApiId=api_id)["Items"] == []
    stack.delete()
    assert api_id not in {one["ApiId"] for one in api.get_apis()["Items"]}


def test_a_schedule_whose_state_is_no_longer_said_is_enabled(stack):
    stack.deploy({**OTHERS, "It": of_type(SCHEDULES, **SCHEDULE)})
    silent = {name: value for name, value in SCHEDULE.items() if name != "State"}
    name = stack.deploy({**OTHERS, "It": of_type(SCHEDULES, **silent)})["It"]
    assert stack.deployed.client("scheduler").get_schedule(Name=name)["State"] == "ENABLED"


MADE_IN_PART = {
    "AWS::IAM::Role": (
        {**ROLE, "RoleName": "in-part"},
        {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/NoSuchPolicy"]},
    ),
    "AWS::IAM::ManagedPolicy": ({**GET, "ManagedPolicyName": "in-part"}, {"Roles": ["nobody"]}),
}


def test_what_fails_in_the_making_does_not_keep_its_name(stack, subtests):
    first = {"Queue": queue()}
    stack.deploy(first)
    for kind, (right, wrong) in MADE_IN_PART.items():
        with subtests.test(kind):
            stack.deploy({**first, "It": of_type(kind, **right, **wrong)})
            assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
            assert stack.deploy({**first, "It": of_type(kind, **right)})["It"].endswith("in-part")
            assert stack.status == "UPDATE_COMPLETE"
            stack.deploy(first)


def test_an_update_goes_by_its_own_mappings_and_tags_what_is_new(stack):
    delayed = queue(DelaySeconds={"Fn::FindInMap": ["Seconds", "delay", "value"]})

    def mapped(seconds: int) -> Properties:
        return {"Mappings": {"Seconds": {"delay": {"value": seconds}}}}

    stack.deploy({"It": delayed}, mapped(3))
    ids = stack.deploy({"It": delayed, "New": queue(**TAGS)}, mapped(7))
    assert stack.delay(ids["It"]) == "7"
    tags = stack.deployed.client("sqs").list_queue_tags(QueueUrl=ids["New"])["Tags"]
    assert tags == {"team": "pictures"}


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
    parts = {"Parameters": {"Most": {"Type": "Number", "Default": 1.5}}}
    name = stack.deploy({"It": alarm}, parts)["It"]
    cloudwatch = stack.deployed.client("cloudwatch")
    (found,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    assert (found["Threshold"], found["EvaluationPeriods"]) == (1.5, 2)
    assert found["ActionsEnabled"] is False


def test_a_stream_that_is_switched_on_has_no_write_from_before(stack):
    deployed = stack.deployed
    name = stack.deploy({"It": table()})["It"]
    dynamodb = deployed.client("dynamodb")
    dynamodb.put_item(TableName=name, Item={"id": {"S": "before"}})
    mapping = of_type(
        "AWS::Lambda::EventSourceMapping",
        FunctionName=deployed.ids["Follower"],
        EventSourceArn=arn("It", "StreamArn"),
        StartingPosition="TRIM_HORIZON",
    )
    stack.deploy({"It": table(**STREAM), "Mapping": mapping})
    dynamodb.put_item(TableName=name, Item={"id": {"S": "after"}})
    records = eventually(deployed.records)
    assert [one["dynamodb"]["Keys"]["id"]["S"] for one in records] == ["after"]


def test_a_nested_stack_is_updated_where_it_is_and_tells_its_outputs(stack):
    client = stack.deployed.client

    def nested(delay: int) -> Properties:
        outputs = {"Url": {"Value": ref("Queue")}}
        inner = {
            "Parameters": {"Delay": {"Type": "Number"}, "Wait": {"Type": "Number", "Default": 7}},
            "Resources": {"Queue": queue(DelaySeconds=ref("Delay"), VisibilityTimeout=ref("Wait"))},
            "Outputs": outputs,
        }
        key = f"{stack.name}-{delay}.json"
        client("s3").put_object(Bucket=CODE_BUCKET, Key=key, Body=json.dumps(inner))
        url = f"https://s3.us-east-1.amazonaws.com/{CODE_BUCKET}/{key}"
        given = {"Delay": str(delay)}
        return of_type("AWS::CloudFormation::Stack", TemplateURL=url, Parameters=given)

    holder = parameter({"Fn::GetAtt": ["It", "Outputs.Url"]})
    ids = stack.deploy({"It": nested(1), "Holder": holder})
    url = client("ssm").get_parameter(Name=ids["Holder"])["Parameter"]["Value"]
    for delay in (2, 1):
        assert stack.deploy({"It": nested(delay), "Holder": holder}) == ids
        assert (stack.delay(url), stack.status) == (str(delay), "UPDATE_COMPLETE")
    same = nested(1)
    same["Properties"]["TemplateURL"] = nested(2)["Properties"]["TemplateURL"]
    assert stack.deploy({"It": same, "Holder": holder}) == ids
    assert stack.status == "UPDATE_COMPLETE"
    wrong = nested(1)
    wrong["Properties"]["TemplateURL"] += "-not-there"
    assert stack.deploy({"It": wrong, "Holder": holder}) == ids
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    stack.delete()
    assert url not in stack.physical(QUEUE)


def test_a_stack_outlives_what_a_stack_within_it_cannot_delete(stack):
    s3 = stack.deployed.client("s3")
    inner = {"Resources": {"It": of_type("AWS::S3::Bucket")}}
    inner["Outputs"] = {"Name": {"Value": ref("It")}}
    s3.put_object(Bucket=CODE_BUCKET, Key="inner.json", Body=json.dumps(inner))
    url = f"https://s3.us-east-1.amazonaws.com/{CODE_BUCKET}/inner.json"
    nested = of_type("AWS::CloudFormation::Stack", TemplateURL=url)
    holder = parameter({"Fn::GetAtt": ["It", "Outputs.Name"]})
    held = stack.deploy({"It": nested, "Holder": holder})["Holder"]
    bucket = stack.deployed.client("ssm").get_parameter(Name=held)["Parameter"]["Value"]
    s3.put_object(Bucket=bucket, Key="kept", Body=b"")
    stack.delete()
    assert stack.status == "DELETE_FAILED"
    assert re.search("Embedded stack .* failed: .*BucketNotEmpty", stack.reasons)
    s3.delete_object(Bucket=bucket, Key="kept")
    stack.delete()
    assert bucket not in {one["Name"] for one in s3.list_buckets()["Buckets"]}


def test_an_update_is_undone_though_what_the_old_template_reads_is_gone(stack):
    ssm = stack.deployed.client("ssm")
    ssm.put_parameter(Name="/delay", Value="3", Type="String")
    reads = {"Delay": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/delay"}}
    first = {"It": queue(DelaySeconds=ref("Delay"))}, {"Parameters": reads}
    url = stack.deploy(*first)["It"]
    with pytest.raises(ClientError, match=r"No updates are to be performed\."):
        stack.deploy(*first)
    ssm.put_parameter(Name="/delay", Value="4", Overwrite=True)
    assert (stack.deploy(*first)["It"], stack.delay(url)) == (url, "4")
    ssm.delete_parameter(Name="/delay")
    wrong = parameter({"Fn::ImportValue": "nobody:has"})
    assert stack.deploy({"It": queue(DelaySeconds=5), "Wrong": wrong})["It"] == url
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.delay(url) == "4"
    assert stack.deploy({"It": queue(DelaySeconds=5)})["It"] == url
    assert stack.delay(url) == "5"


def test_a_nested_stack_that_cannot_be_made_leaves_nothing_behind(stack):
    wrong = parameter({"Fn::ImportValue": "nobody:exports"}) | {"DependsOn": "Queue"}
    inner = json.dumps({"Resources": {"Queue": queue(), "Wrong": wrong}})
    stack.deployed.client("s3").put_object(Bucket=CODE_BUCKET, Key="wrong.json", Body=inner)
    url = f"https://s3.us-east-1.amazonaws.com/{CODE_BUCKET}/wrong.json"
    before = {one["StackName"] for one in stack.api.describe_stacks()["Stacks"]}
    stack.deploy({"It": of_type("AWS::CloudFormation::Stack", TemplateURL=url)})
    assert stack.status == "ROLLBACK_COMPLETE"
    assert re.search("Embedded stack .* failed: .*nobody:exports", stack.reasons)
    after = {one["StackName"] for one in stack.api.describe_stacks()["Stacks"]}
    assert after - before == {stack.name}


def test_a_managed_policy_can_change_more_often_than_iam_keeps_versions(stack):
    def versions(**changes: Any) -> list[Any]:
        """Deploy the policy, and return its versions, each with True for the one in use."""
        policy = of_type("AWS::IAM::ManagedPolicy", **{**GET, **changes})
        name = stack.deploy({**OTHERS, "It": policy})["It"]
        assert stack.status.endswith("E_COMPLETE")
        told = stack.deployed.client("iam").list_policy_versions(PolicyArn=name)["Versions"]
        return [(one["VersionId"], one["IsDefaultVersion"]) for one in told]

    assert versions() == versions(Roles=[ref("Role")]) == [("v1", True)]
    found = [versions(**document) for document in (PUT, GET) * 3]
    assert found == [[(f"v{n}", False), (f"v{n + 1}", True)] for n in range(1, 7)]


def test_what_a_bucket_is_not_told_is_off_and_its_versions_are_no_longer_made(stack):
    algorithm = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    encrypted = {"BucketEncryption": {"ServerSideEncryptionConfiguration": [algorithm]}}
    s3 = stack.deployed.client("s3")

    def status(**properties: Any) -> Any:
        bucket = of_type("AWS::S3::Bucket", **encrypted, **properties)
        name = stack.deploy({"It": bucket})["It"]
        rules = s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"]
        assert [one["BucketKeyEnabled"] for one in rules] == [False]
        return s3.get_bucket_versioning(Bucket=name).get("Status")

    on = {"VersioningConfiguration": {"Status": "Enabled"}}
    assert [status(), status(**on), status()] == [None, "Enabled", "Suspended"]


def test_a_policy_that_a_queue_no_longer_has_is_taken_away(stack):
    sqs, names = stack.deployed.client("sqs"), ("One", "Two")

    def policies(*of: str, delay: int = 0) -> list[Any]:
        """Deploy two queues and the policy of some, and return what each has."""
        its = {name: queue(DelaySeconds=delay) for name in names}
        held = {"Queues": [ref(name) for name in of], "PolicyDocument": allow("sqs:SendMessage")}
        policy = {"Policy": of_type("AWS::SQS::QueuePolicy", **held)} if of else {}
        ids = stack.deploy({**its, **policy})
        assert [stack.delay(ids[name]) for name in names] == [str(delay)] * 2
        told = [
            sqs.get_queue_attributes(QueueUrl=ids[name], AttributeNames=["All"])["Attributes"]
            for name in names
        ]
        return [json.loads(one.get("Policy") or "null") for one in told]

    wanted = allow("sqs:SendMessage")
    assert policies("One", "Two") == policies("One", "Two", delay=3) == [wanted, wanted]
    assert policies("One") == [wanted, None]
    assert policies() == [None, None]


def test_a_function_may_be_called_as_its_template_says_and_no_longer(stack):
    aws = stack.deployed.client("lambda")
    long = "Permission" * 12
    permission = of_type(
        "AWS::Lambda::Permission",
        Action="lambda:InvokeFunction",
        FunctionName=ref("Function"),
        Principal="events.amazonaws.com",
    )
    base = {**OTHERS, "Function": of_type(LAMBDA, **FUNCTION)}
    ids = stack.deploy({**base, long: permission})
    told = json.loads(aws.get_policy(FunctionName=ids["Function"])["Policy"])
    (statement,) = told["Statement"]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert (statement["Sid"], len(ids[long])) == (ids[long], 100)
    stack.deploy(base)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        aws.get_policy(FunctionName=ids["Function"])
