"""The settings without which this pattern breaks in production, each with what it prevents."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.infrastructure.deployments import WAYS_IN, Deployment, synthesize

MISSING = object()


@dataclass(frozen=True)
class Setting:
    """A value at a path of one resource."""

    why: str
    stack: str
    type_name: str
    prefix: str
    path: tuple[str | int, ...]
    value: Any

    def __str__(self) -> str:
        return f"{self.prefix}.{'.'.join(str(step) for step in self.path)}"

    def actual(self, resource: dict[str, Any]) -> Any:
        value: Any = resource
        for step in self.path:
            try:
                value = value[step]
            except (KeyError, IndexError):
                return MISSING
        return value


def _of(stack: str, type_name: str, prefix: str, *settings: tuple[str, str, Any]) -> list[Setting]:
    return [
        Setting(
            why=why,
            stack=stack,
            type_name=type_name,
            prefix=prefix,
            path=tuple(int(step) if step.isdigit() else step for step in path.split("/")),
            value=value,
        )
        for path, value, why in settings
    ]


ENCRYPTION = "Properties/BucketEncryption/ServerSideEncryptionConfiguration/0"
LIFECYCLE = "Properties/LifecycleConfiguration/Rules"
FUNCTION = "AWS::Lambda::Function"
FUNCTIONS = [
    ("queue", "TriggerFunction"),
    ("queue", "ProcessTasksFunction"),
    ("queue", "SweepFunction"),
    ("generator", "CreateTasksFunction"),
]

SETTINGS: list[Setting] = [
    *_of(
        "state",
        "AWS::DynamoDB::Table",
        "QueueTable",
        ("DeletionPolicy", "Retain", "deleting the stack must not delete the tasks"),
        ("UpdateReplacePolicy", "Retain", "replacing the table must not delete the tasks"),
        ("Properties/DeletionProtectionEnabled", True, "nor must an operator's slip"),
        ("Properties/BillingMode", "PAY_PER_REQUEST", "load comes in bursts"),
        ("Properties/TimeToLiveSpecification/Enabled", True, "nothing would be shed"),
        ("Properties/TimeToLiveSpecification/AttributeName", "ttl", "nothing would be shed"),
        (
            "Properties/StreamSpecification/StreamViewType",
            "NEW_AND_OLD_IMAGES",
            "an old image tells that a deleted task was waiting",
        ),
        (
            "Properties/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled",
            True,
            "exports need it",
        ),
    ),
    *_of(
        "state",
        "AWS::S3::Bucket",
        "ExportBucket",
        ("DeletionPolicy", "Retain", "exports are history"),
        ("Properties/PublicAccessBlockConfiguration/BlockPublicAcls", True, "payloads inside"),
        ("Properties/PublicAccessBlockConfiguration/BlockPublicPolicy", True, "payloads inside"),
        ("Properties/PublicAccessBlockConfiguration/IgnorePublicAcls", True, "payloads inside"),
        (
            "Properties/PublicAccessBlockConfiguration/RestrictPublicBuckets",
            True,
            "payloads inside",
        ),
        (
            "Properties/OwnershipControls/Rules/0/ObjectOwnership",
            "BucketOwnerEnforced",
            "no access lists",
        ),
        (f"{ENCRYPTION}/ServerSideEncryptionByDefault/SSEAlgorithm", "AES256", "payloads inside"),
        (f"{LIFECYCLE}/0/Prefix", "exports", "exports end, and the markers beside them"),
        (f"{LIFECYCLE}/0/ExpirationInDays", 35, "exports end"),
        (f"{LIFECYCLE}/1/Prefix", "reports", "reports end, and the markers beside them"),
        (f"{LIFECYCLE}/1/ExpirationInDays", 400, "reports end"),
        (
            f"{LIFECYCLE}/2/AbortIncompleteMultipartUpload/DaysAfterInitiation",
            1,
            "unfinished uploads cost, unseen",
        ),
    ),
    *[
        setting
        for stack, function in FUNCTIONS
        for setting in _of(
            stack,
            FUNCTION,
            function,
            ("Properties/Architectures/0", "arm64", "a fifth cheaper"),
            ("Properties/Runtime", "python3.14", "the newest that Lambda has"),
            ("Properties/LoggingConfig/LogFormat", "JSON", "logs are queried"),
        )
    ],
    *[
        setting
        for stack, function in FUNCTIONS
        for setting in _of(
            stack,
            "AWS::Logs::LogGroup",
            function,
            ("Properties/RetentionInDays", 90, "Lambda's own group keeps logs for ever"),
        )
    ],
    *[
        setting
        for stack, function in FUNCTIONS
        for setting in _of(
            stack,
            "AWS::Lambda::EventInvokeConfig",
            function,
            ("Properties/Qualifier", "$LATEST", "applies to what is invoked"),
        )
    ],
    *[
        setting
        for function in ("TriggerFunction", "ProcessTasksFunction", "SweepFunction")
        for setting in _of(
            "queue",
            "AWS::Lambda::EventInvokeConfig",
            function,
            ("Properties/MaximumEventAgeInSeconds", 60, "an old kick is worth nothing"),
            ("Properties/MaximumRetryAttempts", 0, "the sweep kicks again anyway"),
        )
    ],
    *_of(
        "generator",
        "AWS::Lambda::EventInvokeConfig",
        "CreateTasksFunction",
        ("Properties/MaximumEventAgeInSeconds", 3600, "retries come after one and two minutes"),
        ("Properties/MaximumRetryAttempts", 2, "nobody else puts a recurring task"),
    ),
    *_of(
        "queue",
        FUNCTION,
        "TriggerFunction",
        ("Properties/RecursiveLoop", "Allow", "Lambda would cut the loop after 16 rounds"),
    ),
    *_of(
        "queue",
        FUNCTION,
        "ProcessTasksFunction",
        ("Properties/RecursiveLoop", "Allow", "Lambda would cut the loop after 16 rounds"),
        ("Properties/ReservedConcurrentExecutions", 1, "protects the downstream"),
        ("Properties/Timeout", 60 + 60 + 15, "window, one task, margin"),
    ),
    *_of(
        "queue",
        "AWS::Lambda::EventSourceMapping",
        "TriggerFunction",
        ("Properties/StartingPosition", "TRIM_HORIZON", "LATEST misses what comes meanwhile"),
        ("Properties/BatchSize", 1000, "coalesces under load"),
        ("Properties/MaximumBatchingWindowInSeconds", 0, "instant when idle"),
        ("Properties/MaximumRetryAttempts", 3, "a poison record would block for a day"),
        ("Properties/MaximumRecordAgeInSeconds", 3600, "a poison record would block for a day"),
        ("Properties/BisectBatchOnFunctionError", True, "one record must not sink a thousand"),
        (
            "Properties/FunctionResponseTypes/0",
            "ReportBatchItemFailures",
            "what is done is not done again",
        ),
    ),
    *_of(
        "queue",
        "AWS::Scheduler::Schedule",
        "SweepSchedule",
        ("Properties/State", "ENABLED", "the queue always wakes"),
        ("Properties/ScheduleExpression", "rate(1 minute)", "within a minute"),
        ("Properties/FlexibleTimeWindow/Mode", "OFF", "within a minute"),
        ("Properties/Target/RetryPolicy/MaximumEventAgeInSeconds", 60, "the next one comes"),
        ("Properties/Target/RetryPolicy/MaximumRetryAttempts", 3, "the next one comes"),
    ),
    *_of(
        "analytics",
        "AWS::Glue::Job",
        "ReportJob",
        ("Properties/GlueVersion", "6.0", "Spark 4.1.1, as tested"),
        ("Properties/ExecutionProperty/MaxConcurrentRuns", 1, "one writer per report"),
        ("Properties/Timeout", 60, "the default is two days"),
        ("Properties/DefaultArguments/--python-modules-installer-option", "-r", "locked packages"),
    ),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_template_has_the_setting(prod: Deployment, setting: Setting) -> None:
    resource = prod.resource(setting.stack, setting.type_name, setting.prefix)

    assert setting.actual(resource) == setting.value, setting.why


@pytest.mark.parametrize("stack", ["state", "queue", "generator", "analytics"])
def test_a_protected_stages_stacks_cannot_be_deleted_by_a_slip(
    prod: Deployment, demo: Deployment, stack: str
) -> None:
    def protection(deployment: Deployment, stage: str) -> bool:
        manifest = json.loads((deployment.assembly / "manifest.json").read_text())
        properties = manifest["artifacts"][f"lifoq-{stage}-{stack}"]["properties"]
        return bool(properties.get("terminationProtection"))

    assert protection(prod, "prod")
    if stack in demo.templates:
        assert not protection(demo, "demo")


STATEFUL = {
    "QueueTable4C3A1E0F": "AWS::DynamoDB::Table",
    "ExportBucket4E99310E": "AWS::S3::Bucket",
    "LargePayloadBucket813E1DA4": "AWS::S3::Bucket",
    "AlarmTopicD01E77F9": "AWS::SNS::Topic",
}
"""By logical id. Under another id, CloudFormation would make an empty new one beside the old, or in
its place: tasks, exports and confirmed subscriptions would be gone from the stage."""


@pytest.mark.parametrize("stage", ["prod", "demo"])
def test_an_update_finds_what_holds_data_under_the_id_it_always_had(
    request: pytest.FixtureRequest, stage: str
) -> None:
    deployment: Deployment = request.getfixturevalue(stage)

    for logical_id, type_name in STATEFUL.items():
        assert deployment.templates["state"]["Resources"][logical_id]["Type"] == type_name
    held = {
        logical_id
        for logical_id, resource in deployment.all_resources()
        if resource["Type"] in ("AWS::DynamoDB::Table", "AWS::S3::Bucket")
    }
    assert held <= set(STATEFUL), "pin the id of what holds data"


def test_an_unprotected_stage_leaves_nothing_behind(demo: Deployment) -> None:
    for logical_id, resource in demo.all_resources():
        assert resource.get("DeletionPolicy", "Delete") == "Delete", logical_id


FAILURE_PATHS = [
    ("queue", "AWS::Lambda::EventSourceMapping", "TriggerFunction", "DeadLetters"),
    ("queue", "AWS::Lambda::EventInvokeConfig", "TriggerFunction", "DeadLetters"),
    ("queue", "AWS::Lambda::EventInvokeConfig", "SweepFunction", "DeadLetters"),
    ("queue", "AWS::Lambda::EventInvokeConfig", "ProcessTasksFunction", "SpareKicks"),
    ("generator", "AWS::Lambda::EventInvokeConfig", "CreateTasksFunction", "DeadLetters"),
]


@pytest.mark.parametrize(("stack", "type_name", "prefix", "queue"), FAILURE_PATHS)
def test_what_fails_for_good_goes_to_a_queue(
    prod: Deployment, stack: str, type_name: str, prefix: str, queue: str
) -> None:
    resource = prod.resource(stack, type_name, prefix)

    destination = resource["Properties"]["DestinationConfig"]["OnFailure"]["Destination"]
    logical_id, attribute = destination["Fn::GetAtt"]
    assert logical_id.startswith(queue)
    assert attribute == "Arn"


def test_kicks_that_sns_cannot_hand_over_go_to_a_queue(prod: Deployment) -> None:
    subscriptions = prod.resources("queue", "AWS::SNS::Subscription")

    assert len(subscriptions) == 2
    for subscription in subscriptions.values():
        arn = subscription["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]
        assert arn["Fn::GetAtt"][0].startswith("DeadLetters")


def test_every_schedule_tells_what_it_could_not_start(everything: Deployment) -> None:
    for stack in ("queue", "generator", "analytics"):
        schedules = everything.resources(stack, "AWS::Scheduler::Schedule")
        assert schedules
        for schedule in schedules.values():
            arn = schedule["Properties"]["Target"]["DeadLetterConfig"]["Arn"]
            assert arn["Fn::GetAtt"][0].startswith("DeadLetters")


def test_topics_queues_and_buckets_refuse_what_is_not_encrypted_in_transit(
    everything: Deployment,
) -> None:
    kinds = {
        "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics"),
        "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues"),
        "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket"),
    }
    for stack in everything.templates:
        for type_name, (policy_type, target) in kinds.items():
            guarded = [
                reference["Ref"]
                for policy in everything.resources(stack, policy_type).values()
                if _denies_plain_text(policy)
                for reference in _as_list(policy["Properties"][target])
            ]
            assert sorted(everything.resources(stack, type_name)) == sorted(guarded)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _denies_plain_text(policy: dict[str, Any]) -> bool:
    return any(
        statement["Effect"] == "Deny"
        and statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport") == "false"
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    )


def test_a_key_of_ones_own_encrypts_everything_that_holds_data(everything: Deployment) -> None:
    encrypted = {
        "AWS::DynamoDB::Table": ("SSESpecification", "KMSMasterKeyId"),
        "AWS::SNS::Topic": ("KmsMasterKeyId",),
        "AWS::SQS::Queue": ("KmsMasterKeyId",),
        "AWS::Logs::LogGroup": ("KmsKeyId",),
        "AWS::S3::Bucket": (
            "BucketEncryption",
            "ServerSideEncryptionConfiguration",
            0,
            "ServerSideEncryptionByDefault",
            "KMSMasterKeyID",
        ),
    }
    for logical_id, resource in everything.all_resources():
        value: Any = resource.get("Properties")
        for step in encrypted.get(resource["Type"], ()):
            value = value[step]
        assert value, logical_id
    key = everything.resources("key", "AWS::KMS::Key")["Key961B73FD"]  # as ever: see STATEFUL
    assert key["Properties"]["EnableKeyRotation"] is True
    assert key["DeletionPolicy"] == "Retain"


def test_every_service_that_writes_into_what_is_encrypted_may_use_the_key() -> None:
    """CloudWatch Logs, which is one principal in each region, and all whom policies let in. What
    writes by a role, such as a schedule or a function, is let in as whoever calls."""
    deployment = synthesize("prod", json.dumps(WAYS_IN))
    (key,) = deployment.resources("key", "AWS::KMS::Key").values()
    writers = {
        service
        for stack in deployment.templates
        for kind in ("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy")
        for policy in deployment.resources(stack, kind).values()
        for service in services(policy["Properties"]["PolicyDocument"])
    }

    assert writers == {"cloudwatch.amazonaws.com", "events.amazonaws.com", "sns.amazonaws.com"}
    allowed = services(key["Properties"]["KeyPolicy"])
    assert {*writers, '["logs.", {"Ref": "AWS::Region"}, ".amazonaws.com"]'} == allowed


def services(policy: dict[str, Any]) -> set[str]:
    """Those that a policy lets in."""
    named = [
        service
        for statement in policy["Statement"]
        if statement["Effect"] == "Allow"
        for service in _as_list(statement["Principal"].get("Service", []))
    ]
    return {one if isinstance(one, str) else json.dumps(one["Fn::Join"][1]) for one in named}


def test_roles_ask_for_nothing_more_when_the_key_is_switched_on() -> None:
    """Else calls would be denied from the update of the table to that of the roles."""
    without, with_key = (
        synthesize("prod", json.dumps({"customer_managed_key": switched_on}))
        for switched_on in (False, True)
    )

    for stack in ("queue", "generator", "analytics"):
        assert with_key.resources(stack, "AWS::IAM::Policy") == without.resources(
            stack, "AWS::IAM::Policy"
        )


def test_whoever_may_use_the_table_may_use_its_key_through_dynamodb_alone(
    everything: Deployment,
) -> None:
    (key,) = everything.resources("key", "AWS::KMS::Key").values()
    (anybody,) = [
        statement
        for statement in key["Properties"]["KeyPolicy"]["Statement"]
        if statement["Principal"] == {"AWS": "*"}
    ]

    condition = anybody["Condition"]["StringEquals"]
    assert condition["kms:CallerAccount"] == {"Ref": "AWS::AccountId"}
    services = [join["Fn::Join"][1][0] for join in condition["kms:ViaService"]]
    assert services == ["dynamodb.", "s3.", "sns.", "sqs."]


@pytest.mark.parametrize("mode", ["Active", None])
def test_tracing_is_a_setting(mode: str | None) -> None:
    tracing = mode is not None
    deployment = synthesize("prod", json.dumps({"tracing": tracing}))

    for _, resource in deployment.all_resources():
        properties = resource.get("Properties", {})
        if resource["Type"] == FUNCTION:
            assert properties.get("TracingConfig", {}).get("Mode") == mode
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            assert properties["TracingConfiguration"]["Enabled"] is tracing
    assert ("xray:" in json.dumps(deployment.templates)) is tracing


def test_the_deadline_may_be_longer_than_a_schedule_can_try() -> None:
    schedule = {"name": "nightly", "task_type": "t", "expression": "rate(1 day)"}
    deployment = synthesize(
        "dev", json.dumps({"deadline_seconds": 7 * 86_400, "schedules": [schedule]})
    )

    nightly = deployment.resource("generator", "AWS::Scheduler::Schedule", "Schedulenightly")
    age = nightly["Properties"]["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"]
    assert age == 86_400


def test_exports_may_write_as_aws_documents_it(prod: Deployment) -> None:
    (policy,) = [
        resource
        for logical_id, resource in prod.resources("analytics", "AWS::IAM::Policy").items()
        if logical_id.startswith("ExportMachineRole")
    ]

    (writing,) = [
        statement["Action"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "s3:PutObject" in statement["Action"]
    ]
    assert set(writing) == {"s3:AbortMultipartUpload", "s3:PutObject", "s3:PutObjectAcl"}


def test_the_report_may_write_the_markers_beside_its_folders(prod: Deployment) -> None:
    text = json.dumps(prod.resources("analytics", "AWS::IAM::Policy"))

    assert "/reports_$folder$" in text
    assert "/exports_$folder$" in text


def test_the_report_may_read_its_code_from_a_bucket_that_has_a_key_of_its_own(
    prod: Deployment,
) -> None:
    """As an account's bootstrap bucket may have one, which no template knows."""
    (decrypting,) = [
        statement
        for policy in prod.resources("analytics", "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "kms:Decrypt"
    ]
    assert set(decrypting["Condition"]) == {"StringEquals", "StringLike"}
    assert "cdk-hnb659fds-assets" in json.dumps(decrypting["Condition"]["StringLike"])


def test_whatever_writes_logs_has_a_group_that_forgets_and_is_encrypted(
    everything: Deployment,
) -> None:
    groups = {
        str(group["Properties"].get("LogGroupName")): group["Properties"]
        for group in everything.resources("analytics", "AWS::Logs::LogGroup").values()
    }
    job = everything.resource("analytics", "AWS::Glue::Job", "ReportJob")["Properties"]
    prefix = job["DefaultArguments"]["--custom-logGroup-prefix"]

    # What Glue appends to the prefix; and where a state machine's log delivery needs no policy.
    machine = "/aws/vendedlogs/states/lifoq/prod/exports"
    assert set(groups) == {f"{prefix}/error", f"{prefix}/output", machine}
    for properties in groups.values():
        assert properties["RetentionInDays"] == 90
        assert "KmsKeyId" in properties


def test_a_secret_is_told_by_name_and_may_be_read_by_those_alone_who_run_tasks(
    everything: Deployment,
) -> None:
    readers = [
        logical_id
        for logical_id, policy in everything.resources("queue", "AWS::IAM::Policy").items()
        if "secretsmanager:GetSecretValue" in json.dumps(policy)
    ]

    assert {re.sub("DefaultPolicy.*", "", one) for one in readers} == {
        "ProcessTasksFunctionRole",
        "EncodersTaskTaskRole",
    }
    processor = everything.resource("queue", FUNCTION, "ProcessTasksFunction")
    assert processor["Properties"]["Environment"]["Variables"]["DOWNSTREAM_KEY"] == "downstream/key"


def test_every_way_in_passes_the_checks_of_experts_and_says_what_was_set() -> None:
    deployment = synthesize("prod", json.dumps(WAYS_IN))

    text = json.dumps(deployment.templates["queue"]["Resources"])
    assert "'order.ship'" in text
    assert text.count("AWS::Lambda::EventSourceMapping") == 3  # the table's stream among them
    (stage,) = deployment.resources("queue", "AWS::ApiGatewayV2::Stage").values()
    assert stage["Properties"]["DefaultRouteSettings"]["ThrottlingRateLimit"] == 7


def test_a_stage_without_them_has_nothing_of_them(prod: Deployment) -> None:
    text = json.dumps(prod.templates["queue"])
    for name in ("Ingest", "ApiGateway", "ApiFunction"):
        assert name not in text


def test_producers_of_another_account_are_let_in_by_the_table() -> None:
    producer = "arn:aws:iam::210987654321:role/producer"
    deployment = synthesize("dev", json.dumps({"producer_role_arns": [producer]}))

    (table,) = deployment.resources("state", "AWS::DynamoDB::Table").values()
    (statement,) = table["Properties"]["ResourcePolicy"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"AWS": producer}
    assert set(statement["Action"]) == {
        "dynamodb:BatchWriteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
    }
