"""What other parts, and operators, rely on in the templates; and what experts check them for."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from lifoq import Lifetimes, WorkerSettings, environment
from lifoq.environment import Variable
from lifoq.items import schema
from lifoq_cdk import task_events, wake_ups
from lifoq_cdk.reports import window_expression
from localcloud.event_pattern import matches
from stacks import application
from tests.ends import WAYS, Way
from tests.infrastructure.deployments import Deployment, new_app, packages, synthesize


def test_nothing_with_state_is_in_the_stacks_that_change_often(everything: Deployment) -> None:
    stateful = {"AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::S3::Bucket"}
    for name in ("queue", "generator", "analytics"):
        types = {one["Type"] for one in everything.templates[name]["Resources"].values()}
        assert not types & stateful


def test_the_table_is_the_one_that_the_schema_defines(prod: Deployment) -> None:
    (table,) = prod.resources("state", "AWS::DynamoDB::Table").values()
    properties = table["Properties"]
    definition = schema.table_definition("")

    assert properties["KeySchema"] == definition["KeySchema"]
    assert properties["GlobalSecondaryIndexes"] == definition["GlobalSecondaryIndexes"]

    def by_name(attributes: list[dict[str, str]]) -> list[dict[str, str]]:
        return sorted(attributes, key=lambda attribute: attribute["AttributeName"])

    assert by_name(properties["AttributeDefinitions"]) == by_name(
        definition["AttributeDefinitions"]
    )


PHYSICAL_NAMES = {
    "BucketName",
    "FunctionName",
    "LogGroupName",
    "QueueName",
    "RoleName",
    "StateMachineName",
    "TableName",
    "TopicName",
    "AlarmName",
    "DashboardName",
}


def test_no_resource_has_a_physical_name_so_that_stages_live_side_by_side(
    everything: Deployment,
) -> None:
    named = {
        "AWS::Lambda::EventInvokeConfig",  # These name the function that they configure.
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Permission",
    }
    for logical_id, resource in everything.all_resources():
        properties = resource.get("Properties", {})
        if resource["Type"] not in named:
            found = [str(properties[name]) for name in PHYSICAL_NAMES & set(properties)]
            # Some log groups get their names from the service that writes to them.
            assert not [name for name in found if "/lifoq/prod/" not in name], logical_id


def test_templates_name_no_account_and_no_region(everything: Deployment) -> None:
    for template in everything.templates.values():
        text = json.dumps(template["Resources"])
        assert not re.search(r"\b\d{12}\b", text)
        assert not re.search(r"\b(us|eu|ap)-[a-z]+-\d\b", text)


OUTPUTS = {
    "state": {"TableName", "TableArn", "ExportBucketName", "AlarmTopicArn"},
    "queue": {
        "TriggerTopicArn",
        "ProcessTasksTopicArn",
        "TriggerFunctionName",
        "ProcessTasksFunctionName",
        "SweepFunctionName",
    },
    "generator": {"CreateTasksFunctionName", "LoadScheduleName"},
}


@pytest.mark.parametrize("stack", sorted(OUTPUTS))
def test_stacks_tell_what_tools_need_to_find(demo: Deployment, stack: str) -> None:
    outputs = demo.templates[stack]["Outputs"]

    assert {name for name in outputs if not name.startswith("Exports")} == OUTPUTS[stack]


ALL = {"POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_LOG_LEVEL"}
TOLD = Lifetimes(shed_at_deadline=True, task_tokens=True)
COMMON = {*ALL, *environment.of_queue("", TOLD)}
WORK = set(
    environment.of_worker(
        WorkerSettings(
            rate_limit=1,
            adaptive_threshold=1,
            fair_share=True,
            shared_limits=True,
            total_in_flight=1,
            types_elsewhere=frozenset({"a"}),
        )
    )
)
TASK_CODE = {Variable.TASKS, Variable.TARGETS, "DOWNSTREAM_URL", "DOWNSTREAM_KEY"}
TELLING = {Variable.QUEUE, Variable.EVENTS_TOPIC, Variable.TASK_TOKENS}
VARIABLES = [
    ("queue", "TriggerFunction", COMMON | {Variable.PROCESS_TOPIC, Variable.DEPLOYED}),
    (
        "queue",
        "SweepFunction",
        COMMON | WORK | TASK_CODE | {Variable.PROCESS_TOPIC, Variable.LONG_TASKS},
    ),
    (
        "queue",
        "ProcessTasksFunction",
        COMMON | WORK | TASK_CODE | {Variable.TRIGGER_TOPIC, Variable.BUCKET},
    ),
    ("queue", "TaskEventsFunction", ALL | TELLING),
    ("generator", "CreateTasksFunction", COMMON | {Variable.BUCKET}),
]


def variables_of(deployment: Deployment, stack: str, function: str) -> dict[str, Any]:
    resource = deployment.resource(stack, "AWS::Lambda::Function", function)
    variables: dict[str, Any] = resource["Properties"]["Environment"]["Variables"]
    return variables


@pytest.mark.parametrize(("stack", "function", "names"), VARIABLES)
def test_functions_are_told_what_they_need_and_no_more(
    everything: Deployment, stack: str, function: str, names: set[str]
) -> None:
    assert set(variables_of(everything, stack, function)) == names


def test_settings_arrive_as_decimal_numbers(demo: Deployment, everything: Deployment) -> None:
    variables = variables_of(demo, "queue", "ProcessTasksFunction")

    assert variables["LIFOQ_DEADLINE_SECONDS"] == "10"
    assert variables["LIFOQ_BACKOFF_MIN_SECONDS"] == "0.5"
    assert variables["LIFOQ_RETENTION_SUCCESS_SECONDS"] == "604800"
    assert variables["POWERTOOLS_SERVICE_NAME"] == "lifoq-demo"
    assert "LIFOQ_RATE_LIMIT" not in variables
    with_limit = variables_of(everything, "queue", "ProcessTasksFunction")
    assert with_limit["LIFOQ_RATE_LIMIT"] == "12.5"


def test_a_recurring_task_has_an_id_of_its_time(everything: Deployment) -> None:
    schedule = everything.resource("generator", "AWS::Scheduler::Schedule", "Schedulenightly")
    properties = schedule["Properties"]

    assert properties["ScheduleExpression"] == "cron(0 3 * * ? *)"
    assert properties["ScheduleExpressionTimezone"] == "Europe/Berlin"
    assert json.loads(properties["Target"]["Input"]) == {
        "taskType": "device.check",
        "payload": {"device": "all"},
        "taskId": "nightly-<aws.scheduler.scheduled-time>",
    }


def test_load_is_deployed_switched_off(everything: Deployment) -> None:
    schedule = everything.resource("generator", "AWS::Scheduler::Schedule", "LoadSchedule")

    assert schedule["Properties"]["State"] == "DISABLED"
    assert json.loads(schedule["Properties"]["Target"]["Input"])["load"] == {
        "profile": "sine",
        "tasksPerSecond": 1,
        "peakTasksPerSecond": 30,
        "periodSeconds": 600,
        "seconds": 60,
    }


def test_production_deploys_no_load_schedule(prod: Deployment) -> None:
    assert prod.resources("generator", "AWS::Scheduler::Schedule") == {}


@pytest.mark.parametrize(
    ("minutes", "expression"),
    [
        (15, "cron(10/15 * * * ? *)"),
        (30, "cron(10/30 * * * ? *)"),
        (60, "cron(10 0/1 * * ? *)"),
        (360, "cron(10 0/6 * * ? *)"),
        (1440, "cron(10 0 * * ? *)"),
    ],
)
def test_windows_are_scheduled_a_little_after_their_end(minutes: int, expression: str) -> None:
    assert window_expression(minutes) == expression


def test_exports_are_scheduled(prod: Deployment) -> None:
    def schedule(prefix: str) -> dict[str, Any]:
        found = prod.resource("analytics", "AWS::Scheduler::Schedule", prefix)
        properties: dict[str, Any] = found["Properties"]
        return properties

    window, full = schedule("WindowSchedule"), schedule("FullSchedule")
    assert window["ScheduleExpression"] == "cron(10 0/1 * * ? *)"
    assert full["ScheduleExpression"] == "cron(10 0 * * ? *)"
    for properties, kind in ((window, "incremental"), (full, "full")):
        assert json.loads(properties["Target"]["Input"]) == {
            "kind": kind,
            "scheduledAt": "<aws.scheduler.scheduled-time>",
        }


# Wake-ups


def record(
    name: str, *, old: str | None = None, new: str | None = None, by_ttl: bool = False
) -> dict[str, Any]:
    images = {
        image: {"taskId": {"S": "t"}, "taskStatus": {"S": status}}
        for image, status in (("OldImage", old), ("NewImage", new))
        if status
    }
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return {
        "eventName": name,
        "dynamodb": images,
        **({"userIdentity": identity} if by_ttl else {}),
    }


def wakes(one: dict[str, Any], deployment: Deployment, function: str = "Trigger") -> bool:
    mapping = deployment.resource("queue", "AWS::Lambda::EventSourceMapping", function)
    filters = mapping["Properties"]["FilterCriteria"]["Filters"]
    return any(matches(json.loads(each["Pattern"]), one) for each in filters)


@pytest.mark.parametrize(
    "one",
    [
        record("INSERT", new="PENDING"),
        record("MODIFY", old="TAKEN", new="PENDING"),
        record("MODIFY", old="DELAYED", new="PENDING"),
        record("MODIFY", old="FAILURE", new="PENDING"),
        record("MODIFY", old="PENDING", new="PENDING"),  # a put over a task that was shed
        record("MODIFY", old="PENDING", new="DELAYED"),
        record("MODIFY", old="DELAYED", new="DELAYED"),
        record("REMOVE", old="PENDING", by_ttl=True),
        record("REMOVE", old="DELAYED", by_ttl=True),
        record("REMOVE", old="PENDING"),  # by the sweep, at its deadline
    ],
)
def test_what_can_be_claimed_or_was_shed_wakes_the_trigger(
    prod: Deployment, one: dict[str, Any]
) -> None:
    assert wakes(one, prod)


@pytest.mark.parametrize(
    "one",
    [
        record("INSERT", new="DELAYED"),
        record("MODIFY", old="PENDING", new="TAKEN"),
        record("MODIFY", old="TAKEN", new="TAKEN"),
        record("MODIFY", old="TAKEN", new="SUCCESS"),
        record("MODIFY", old="TAKEN", new="DELAYED"),
        record("MODIFY", old="PENDING", new="CANCELLED"),
        record("REMOVE", old="SUCCESS", by_ttl=True),
        record("REMOVE", old="FAILURE", by_ttl=True),
        record("REMOVE", old="TAKEN", by_ttl=True),
    ],
)
def test_nothing_else_wakes_it(prod: Deployment, one: dict[str, Any]) -> None:
    assert not wakes(one, prod)


def test_there_are_no_more_filters_than_lambda_takes() -> None:
    assert len(wake_ups.PATTERNS) <= 5


# Task events


@pytest.mark.parametrize("way", [one() for one in WAYS], ids=[one.__name__ for one in WAYS])
def test_each_end_is_told_and_hardly_anything_else_invokes_what_tells(
    everything: Deployment, way: Way
) -> None:
    assert all(wakes(one, everything, "TaskEvents") for one, _ in way.ends)
    for_nothing = {what for what, one in way.others.items() if wakes(one, everything, "TaskEvents")}
    assert for_nothing <= {
        "a delayed put falls due",
        "a delayed put is hurried",
        "replaced",  # of which a state machine is told
        "replaced again",
        "somebody writes to the item",
    }


def test_where_step_functions_alone_are_answered_tasks_without_a_token_invoke_nothing() -> None:
    overrides = json.dumps({"events": {"topic": False, "step_functions": True}})
    deployment = synthesize("dev", overrides)
    for way in (one() for one in WAYS):
        for one, _ in way.ends:
            had_token = "taskToken" in one["dynamodb"]["OldImage"]
            assert wakes(one, deployment, "TaskEvents") == had_token
    topics = deployment.resources("queue", "AWS::SNS::Topic")
    assert not [name for name in topics if "Events" in name]


def test_there_are_no_more_filters_of_ends_than_lambda_takes() -> None:
    assert len(task_events.ends(with_token_only=False)) <= 5


def test_nothing_of_task_events_and_targets_is_seen_where_nobody_asked_for_them(
    prod: Deployment,
) -> None:
    template = json.dumps(prod.templates["queue"])
    for word in (
        "TaskEvents",
        "EventsLate",
        "LIFOQ_TARGETS",
        "states:",
        "LIFOQ_SHED",
        "LIFOQ_TASK_TOKENS",
    ):
        assert word not in template
    assert "shedAtDeadline" not in template


def test_the_ends_are_read_from_the_stream_as_the_trigger_reads_it(everything: Deployment) -> None:
    def reading(function: str) -> dict[str, Any]:
        found = everything.resource("queue", "AWS::Lambda::EventSourceMapping", function)
        different = {"FilterCriteria", "FunctionName"}
        return {k: v for k, v in found["Properties"].items() if k not in different}

    assert reading("TaskEvents") == reading("Trigger")


# Roles


def statements(deployment: Deployment) -> list[tuple[str, dict[str, Any]]]:
    return [
        (logical_id, statement)
        for logical_id, resource in deployment.all_resources()
        if resource["Type"] == "AWS::IAM::Policy"
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
    ]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


RESOURCELESS = re.compile(
    r"xray:|states:SendTask|logs:.*(Deliver|Polic|LogGroups)|cloudwatch:PutMetricData|"
    r"ecr:GetAuthorizationToken"
)


def test_no_role_may_do_everything_to_something_or_something_to_everything(
    everything: Deployment,
) -> None:
    for logical_id, statement in statements(everything):
        for action in as_list(statement["Action"]):
            assert action.startswith("kms:") or "*" not in action, logical_id
            if "*" in as_list(statement["Resource"]):
                assert RESOURCELESS.match(action), (logical_id, action)


def test_no_role_has_a_managed_policy(everything: Deployment) -> None:
    for logical_id, resource in everything.all_resources():
        if resource["Type"] == "AWS::IAM::Role":
            assert "ManagedPolicyArns" not in resource["Properties"], logical_id


def test_nobody_may_change_the_table_and_the_sweep_alone_may_delete_tasks(
    everything: Deployment, prod: Deployment
) -> None:
    """And that only where somebody waits to be told of those that were shed."""

    def may(deployment: Deployment, pattern: str) -> set[tuple[str, str]]:
        return {
            (logical_id.split("Role")[0], action)
            for logical_id, statement in statements(deployment)
            for action in as_list(statement["Action"])
            if re.match(pattern, action)
        }

    pattern = r"dynamodb:(Delete|Update(T|C)|Create)"
    assert may(prod, pattern) == set()
    assert may(everything, pattern) == {("SweepFunction", "dynamodb:DeleteItem")}


# Experts


def test_cfn_lint_finds_nothing(everything: Deployment) -> None:
    templates = sorted(str(file) for file in everything.assembly.glob("*.template.json"))
    finished = subprocess.run(
        # W3005: the CDK spells out dependencies that a reference implies already.
        [str(Path(sys.executable).with_name("cfn-lint")), "-i", "W3005", "--", *templates],
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.stdout == ""
    assert finished.returncode == 0


def test_a_finding_of_cdk_nag_stops_synthesis() -> None:
    app = new_app("dev")
    functions, report = packages()
    stage = application.stage_of(app)
    application.build(app, stage=stage, asset=functions, report=report)
    s3.Bucket(cdk.Stack(app, "careless"), "Bucket")

    with pytest.raises(RuntimeError):
        app.synth()
