"""Laws that hold for each resource, whatever is added; one snapshot of what decides; who wakes
whom; and what is refused."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from cdk_nag import ServerlessChecks
from constructs import Construct

import app
from lifoq.ends.changes import ENDS, WAKING
from lifoq.errors import InvalidInput
from lifoq.items import schema
from lifoq_cdk import LifoQueue, TaskEvents
from lifoq_cdk.export_machine import ExportMachine
from lifoq_cdk.reports import window_expression
from lifoq_localcloud.events.filters import passes
from stacks.stage import Stage, task_code
from stacks.stages import STAGES
from tests.ends import WAYS
from tests.infrastructure.commands import run
from tests.infrastructure.deployments import (
    Deployment,
    a_stage,
    new_app,
    synthesize,
    synthesized,
)
from tests.infrastructure.everything import plain, put_everything
from tests.infrastructure.roles import as_list
from tests.infrastructure.snapshot import FILE, named, snapshot


def test_what_decides_in_the_templates_is_as_it_was(everything):
    assert snapshot(everything) == FILE.read_text(), (
        "where this is meant: python -m tests.infrastructure.snapshot"
    )


# What holds data

STATEFUL = {
    "Key961B73FD": "AWS::KMS::Key",
    "QueueTable4C3A1E0F": "AWS::DynamoDB::Table",
    "ExportBucket4E99310E": "AWS::S3::Bucket",
    "LargePayloadBucket813E1DA4": "AWS::S3::Bucket",
    "AlarmTopicD01E77F9": "AWS::SNS::Topic",
}
"""By logical id. Under another id, CloudFormation would make an empty new one beside the old, or in
its place: tasks, exports and confirmed subscriptions would be gone from the stage."""
HOLD_DATA = {*STATEFUL.values()} - {"AWS::SNS::Topic"}


def test_what_holds_data_lies_apart_under_the_id_it_always_had_and_is_kept(everything, prod, dev):
    apart = everything.templates["key"]["Resources"] | everything.templates["state"]["Resources"]
    for logical_id, type_name in STATEFUL.items():
        assert apart[logical_id]["Type"] == type_name
    for deployment in (everything, prod):
        for logical_id, resource in deployment.all_resources():
            if resource["Type"] in HOLD_DATA:
                assert logical_id in STATEFUL, "pin the id of what holds data"
                assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"
    for logical_id, resource in dev.all_resources():
        assert resource.get("DeletionPolicy", "Delete") == "Delete", logical_id
        assert resource["Type"] not in HOLD_DATA or logical_id in STATEFUL


def test_the_stacks_of_a_protected_stage_cannot_be_deleted_by_a_slip(prod, dev):
    def protected(deployment: Deployment, stage: str) -> set[bool]:
        artifacts = json.loads((deployment.assembly / "manifest.json").read_text())["artifacts"]
        stacks = [artifacts[f"lifoq-{stage}-{stack}"] for stack in deployment.templates]
        return {bool(stack["properties"].get("terminationProtection")) for stack in stacks}

    assert (protected(prod, "prod"), protected(dev, "dev")) == ({True}, {False})


def test_the_table_is_the_one_that_the_schema_defines(prod):
    (table,) = prod.resources("state", "AWS::DynamoDB::Table").values()
    written, defined = table["Properties"], schema.table_definition("")

    assert written["KeySchema"] == defined["KeySchema"]
    assert written["GlobalSecondaryIndexes"] == defined["GlobalSecondaryIndexes"]
    for properties in (written, defined):
        properties["AttributeDefinitions"].sort(key=lambda one: one["AttributeName"])
    assert written["AttributeDefinitions"] == defined["AttributeDefinitions"]


def test_a_synthesis_warns_of_nothing(everything, prod, dev):
    for one in (everything, prod, dev):
        report = json.loads((one.assembly / "validation-report.json").read_text())
        assert not [each for plugin in report["pluginReports"] for each in plugin["violations"]]


# Names

PHYSICAL_NAMES = {
    *("AlarmName", "BucketName", "DashboardName", "FunctionName", "LogGroupName", "QueueName"),
    *("RoleName", "StateMachineName", "TableName", "TopicName"),
}


def test_no_resource_has_a_physical_name_so_that_stages_live_side_by_side(everything):
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


def test_templates_name_no_account_and_no_region(prod):
    for template in prod.templates.values():
        text = json.dumps(template["Resources"])
        assert not re.search(r"\b\d{12}\b", text)
        assert not re.search(r"\b(us|eu|ap)-[a-z]+-\d\b", text)


def test_a_stage_has_nothing_of_what_it_did_not_ask_for(prod):
    text = json.dumps(prod.templates)
    words = ("TaskEvents", "EventsLate", "LIFOQ_TARGETS", "shed_at_deadline", "LIFOQ_TASK_TOKENS")
    more = ("states:SendTask", "shedAtDeadline", "Ingest", "ApiGateway", "ApiFunction", "xray:")
    limits = ("rate_limit", "shared_limits", "LoadSchedule", '"email"', "LIFOQ_DETAILED_METRICS")
    for word in (*words, *more, *limits):
        assert word not in text


def test_windows_of_an_hour_or_another_length_are_scheduled_a_little_after_their_end(prod):
    assert window_expression(15) == "cron(10/15 * * * ? *)"
    assert window_expression(60) == "cron(10 0/1 * * ? *)"
    assert window_expression(1440) == "cron(10 0 * * ? *)"
    hourly = prod.resource("analytics", "AWS::Scheduler::Schedule", "WindowSchedule")
    assert hourly["Properties"]["ScheduleExpression"] == window_expression(60)


def test_the_export_machine_knows_the_table_bucket_key_job_and_topic_of_its_stage(everything):
    machine = everything.resource("analytics", "AWS::StepFunctions::StateMachine", "ExportMachine")
    assert (
        json.loads(named(machine["Properties"]["DefinitionString"]))
        == ExportMachine(
            queue_name="prod",
            window_minutes=30,
            partition="<Partition>",
            table_name="<QueueTable>",
            table_arn="<QueueTable>",
            bucket="<ExportBucket>",
            key_arn="<Key>",
            job_name="<ReportJob>",
            alarm_topic_arn="<AlarmTopic>",
        ).definition()
    )


def test_a_stage_exports_what_others_may_import_whether_one_imports_it_or_not(prod, dev):
    """CloudFormation refuses to drop an export in use. ``dev`` has no reports, which import."""
    assert "analytics" in prod.templates.keys() - dev.templates.keys()
    exported = [one.templates["state"]["Outputs"].keys() for one in (prod, dev)]
    assert exported[0] == exported[1]
    assert synthesized(lambda app: Stage(app, "alone").key()).templates["key"]["Outputs"]


def test_each_resource_of_a_stage_bears_its_tags(everything):
    own = {"application": "lifoq", "stage": "prod", "team": "pictures"}
    for name, one in everything.all_resources():
        tags = one.get("Properties", {}).get("Tags", {})
        if isinstance(tags, list):
            tags = {tag["Key"]: tag["Value"] for tag in tags}
        if tags or one["Type"] in HOLD_DATA:
            assert own.items() <= tags.items(), name


# Functions


def test_each_function_has_a_log_that_forgets_what_lambda_has_newest_and_a_trace(everything):
    for stack in everything.templates:
        logs = everything.resources(stack, "AWS::Logs::LogGroup")
        for group in logs.values():
            assert group["Properties"]["RetentionInDays"] == 30
        for name, function in everything.resources(stack, "AWS::Lambda::Function").items():
            properties = function["Properties"]
            if properties["Handler"].startswith("lifoq_functions."):
                assert properties["Architectures"] == ["arm64"], name
                assert properties["Runtime"] == "python3.14", name
                assert properties["LoggingConfig"]["LogFormat"] == "JSON", name
                assert properties["LoggingConfig"]["LogGroup"]["Ref"] in logs, name
                assert properties["TracingConfig"] == {"Mode": "Active"}, name


def test_the_stages_forget_their_logs_after_a_week_and_after_three_months(prod, dev):
    for deployment, days in ((dev, 7), (prod, 90)):
        groups = [one for _, one in deployment.all_resources() if one["Type"].endswith("LogGroup")]
        assert {one["Properties"]["RetentionInDays"] for one in groups} == {days}


def test_what_writes_logs_by_itself_has_groups_that_forget(everything):
    groups = everything.resources("analytics", "AWS::Logs::LogGroup").values()
    job = everything.resource("analytics", "AWS::Glue::Job", "ReportJob")["Properties"]
    prefix = job["DefaultArguments"]["--custom-logGroup-prefix"]

    # What Glue appends to the prefix; and where a state machine's log delivery needs no policy.
    machine = "/aws/vendedlogs/states/lifoq/prod/exports"
    names = {group["Properties"]["LogGroupName"] for group in groups}
    assert names == {f"{prefix}/error", f"{prefix}/output", machine}


def test_the_report_runs_after_its_role_may_do_something_and_its_logs_are_there(everything):
    """Glue would make groups that keep everything for ever."""
    analytics = everything.templates["analytics"]["Resources"]
    of_job = {name for name in analytics if re.match("Report(Role|ErrorLogs|OutputLogs)", name)}
    job = everything.resource("analytics", "AWS::Glue::Job", "ReportJob")
    assert {*job["DependsOn"]} == of_job


WITH_A_WAY_OUT = {
    "AWS::Lambda::EventInvokeConfig": ("DestinationConfig", "OnFailure", "Destination"),
    "AWS::Lambda::EventSourceMapping": ("DestinationConfig", "OnFailure", "Destination"),
    "AWS::SNS::Subscription": ("RedrivePolicy", "deadLetterTargetArn"),
    "AWS::Scheduler::Schedule": ("Target", "DeadLetterConfig", "Arn"),
    "AWS::Events::Rule": ("Targets", 0, "DeadLetterConfig", "Arn"),
}


def test_whatever_fails_for_good_goes_to_a_queue(everything):
    """Mappings of queues leave it in their queue; a mail is not tried again."""
    for logical_id, resource in everything.all_resources():
        found: Any = resource.get("Properties", {})
        is_queue = ":sqs:" in str(found.get("EventSourceArn")) or "Queues" in found
        if found.get("Protocol") != "email" and not is_queue:
            for step in WITH_A_WAY_OUT.get(resource["Type"], ()):
                found = found[step]
            if resource["Type"] in WITH_A_WAY_OUT:
                kicks = logical_id.startswith("ProcessTasksFunctionAsync")
                queue = "SpareKicks" if kicks else "DeadLetters"
                assert found["Fn::GetAtt"][0].startswith(queue), logical_id


# Wake-ups


def record(old: str, new: str) -> dict[str, Any]:
    images = (("OldImage", old), ("NewImage", new))
    return {
        "eventName": "MODIFY" if old and new else "INSERT" if new else "REMOVE",
        "dynamodb": {image: {"taskStatus": {"S": status}} for image, status in images if status},
    }


def wakes(one: dict[str, Any], deployment: Deployment, function: str = "Trigger") -> bool:
    mapping = deployment.resource("queue", "AWS::Lambda::EventSourceMapping", function)
    filters = mapping["Properties"]["FilterCriteria"]["Filters"]
    return passes([json.loads(each["Pattern"]) for each in filters], one)


WAITING = {"PENDING", "DELAYED"}
CAN_BE_CLAIMED = {("", "PENDING"), ("TAKEN", "PENDING"), ("DELAYED", "PENDING")}
CAN_BE_CLAIMED |= {("FAILURE", "PENDING"), ("PENDING", "PENDING")}
WAS_SHED = {(old, new) for old in WAITING for new in ("", "DELAYED")}
"""Deleted, or put over."""
ELSE = {("", "DELAYED"), ("PENDING", "TAKEN"), ("PENDING", "CANCELLED"), ("DELAYED", "CANCELLED")}
ELSE |= {("TAKEN", status) for status in ("TAKEN", "SUCCESS", "DELAYED", "FAILURE", "")}
ELSE |= {("SUCCESS", ""), ("FAILURE", ""), ("CANCELLED", "")}


def test_what_can_be_claimed_or_was_shed_wakes_the_trigger_and_nothing_else(prod):
    assert max(len(WAKING), len(ENDS)) <= 5, "filters that Lambda takes"
    for change in CAN_BE_CLAIMED | WAS_SHED | ELSE:
        assert wakes(record(*change), prod) == (change not in ELSE), change


# Task events


@pytest.mark.parametrize("way", [one() for one in WAYS], ids=[one.__name__ for one in WAYS])
def test_each_end_is_told_and_hardly_anything_else_invokes_what_tells(everything, way):
    assert all(wakes(one, everything, "TaskEvents") for one, _ in way.ends)
    for_nothing = {what for what, one in way.others.items() if wakes(one, everything, "TaskEvents")}
    assert for_nothing <= {
        "a delayed put falls due",
        "a delayed put is hurried",
        "replaced",  # of which a state machine is told
        "replaced again",
        "it succeeds, and is replaced",
        "somebody writes to the item",
    }


def test_where_step_functions_alone_are_answered_tasks_without_a_token_invoke_nothing():
    events = TaskEvents(topic=False, step_functions=True)
    assert (events.all_shed_at_deadline, TaskEvents().all_shed_at_deadline) == (False, True)
    deployment = synthesized(a_stage(events=events))
    for way in (one() for one in WAYS):
        for one, _ in way.ends:
            had_token = "taskToken" in one["dynamodb"]["OldImage"]
            assert wakes(one, deployment, "TaskEvents") == had_token
    topics = deployment.resources("queue", "AWS::SNS::Topic")
    assert not [name for name in topics if "Events" in name]


# Roles


def statements(deployment: Deployment) -> list[tuple[str, dict[str, Any]]]:
    return [
        (logical_id, statement)
        for logical_id, resource in deployment.all_resources()
        if resource["Type"] == "AWS::IAM::Policy"
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
    ]


RESOURCELESS = re.compile(
    r"xray:|states:SendTask|logs:.*(Deliver|Polic|LogGroups)|cloudwatch:PutMetricData|"
    r"ecr:GetAuthorizationToken|scheduler:ListSchedules$|ec2:\w+NetworkInterfaces?$|ec2:Describe"
)


def test_no_role_may_do_everything_to_something_or_something_to_everything(everything):
    for logical_id, statement in statements(everything):
        for action in as_list(statement["Action"]):
            assert action.startswith("kms:") or "*" not in action, logical_id
            if "*" in as_list(statement["Resource"]):
                assert RESOURCELESS.match(action), (logical_id, action)
    for logical_id, resource in everything.all_resources():
        assert "ManagedPolicyArns" not in resource.get("Properties", {}), logical_id


def test_no_service_borrows_a_role_for_a_resource_of_another_account(everything):
    """But for Lambda and ECS, which pass a role on to nobody."""
    for logical_id, resource in everything.all_resources():
        if resource["Type"] == "AWS::IAM::Role":
            (lets_in,) = resource["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            if lets_in["Principal"]["Service"] not in (
                "lambda.amazonaws.com",
                "ecs-tasks.amazonaws.com",
            ):
                account = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
                assert lets_in["Condition"] == {"StringEquals": account}, logical_id


def test_nobody_may_change_the_table_and_the_sweep_alone_may_delete_tasks(everything, prod):
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


def test_whatever_puts_a_task_with_an_object_may_see_if_the_task_is_there(everything):
    def may(action: str) -> set[str]:
        return {
            logical_id.split("Role")[0]
            for logical_id, statement in statements(everything)
            if "Function" in logical_id and action in as_list(statement["Action"])
        }

    put = may("s3:PutObject")
    assert put > {"CreateTasksFunction", "IngestIngestFunction"}
    assert put <= may("dynamodb:GetItem")


# Encryption


def test_topics_queues_and_buckets_refuse_what_is_not_encrypted_in_transit(everything):
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
                for reference in as_list(policy["Properties"][target])
            ]
            assert sorted(everything.resources(stack, type_name)) == sorted(guarded)


def _denies_plain_text(policy: dict[str, Any]) -> bool:
    return any(
        statement["Effect"] == "Deny"
        and statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport") == "false"
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    )


def test_a_key_of_ones_own_encrypts_everything_that_holds_data(everything):
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
        if resource["Type"] == "AWS::S3::Bucket":  # else each object has a call of KMS's
            (rule,) = value["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            assert rule["BucketKeyEnabled"]
        for step in encrypted.get(resource["Type"], ()):
            value = value[step]
        assert value, logical_id


def test_every_service_that_writes_into_what_is_encrypted_may_use_the_key(everything):
    """CloudWatch Logs, which is one principal in each region, and all whom policies let in. What
    writes by a role, such as a schedule or a function, is let in as whoever calls."""
    (key,) = everything.resources("key", "AWS::KMS::Key").values()
    writers = {
        service
        for stack in everything.templates
        for kind in ("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy")
        for policy in everything.resources(stack, kind).values()
        for service in services(policy["Properties"]["PolicyDocument"])
    }

    assert writers == {"cloudwatch.amazonaws.com", "events.amazonaws.com", "sns.amazonaws.com"}
    allowed = services(key["Properties"]["KeyPolicy"])
    assert {*writers, '["logs.", {"Ref": "AWS::Region"}, ".amazonaws.com"]'} == allowed


def services(policy: dict[str, Any]) -> set[str]:
    """Return the services that a policy lets in."""
    named = [
        service
        for statement in policy["Statement"]
        if statement["Effect"] == "Allow"
        for service in as_list(statement["Principal"].get("Service", []))
    ]
    return {one if isinstance(one, str) else json.dumps(one["Fn::Join"][1]) for one in named}


def test_roles_ask_for_nothing_more_when_the_key_is_switched_on(everything):
    """Else calls would be denied from the update of the table to that of the roles."""
    without = synthesized(plain("key"))

    for stack in ("queue", "generator", "analytics"):
        policies = (one.resources(stack, "AWS::IAM::Policy") for one in (everything, without))
        assert next(policies) == next(policies)


# Experts


@pytest.mark.prove
def test_neither_the_rules_of_the_cdk_nor_cfn_lint_find_anything():
    assembly = synthesized(plain(), validated=True).assembly
    templates = sorted(str(file) for file in assembly.glob("*.template.json"))
    lint = Path(sys.executable).with_name("cfn-lint")
    # W3005: the CDK spells out dependencies that a reference implies already.
    assert run(lint, "-i", "W3005", "--", *templates) == ""


class InOneStack(Stage):
    """A queue in one stack, in somebody's own application."""

    def stack(self, part: str, holds: str) -> Any:
        stack = self._app.node.try_find_child("pictures") or cdk.Stack(self._app, "pictures")
        return Construct(stack, part)


def test_cdk_nag_finds_nothing_in_one_stack_with_all_there_is():
    def build(app: cdk.App) -> None:
        put_everything(InOneStack(app, "pictures"), off={"key", "email", "existing_sources"})
        cdk.Validations.of(app).add_plugins(ServerlessChecks())

    assert synthesized(build).templates.keys() == {"pictures"}


def test_cdk_nag_finds_nothing_in_a_queue_whose_task_code_lies_in_a_vpc():
    """Which has its permissions before Lambda connects it."""

    def build(app: cdk.App) -> None:
        stack = cdk.Stack(app, "network")
        vpc = ec2.Vpc.from_vpc_attributes(
            stack,
            "Vpc",
            vpc_id="vpc-0123456789abcdef0",
            availability_zones=["eu-west-1a"],
            private_subnet_ids=["subnet-0123456789abcdef0"],
        )
        LifoQueue(stack, "Queue", queue_name="network", tasks=task_code(vpc=vpc))

    resources = synthesized(build).templates["network"]["Resources"]
    (processor,) = (
        each for each in resources.values() if "VpcConfig" in each.get("Properties", {})
    )
    before = {resources[name]["Type"] for name in processor["DependsOn"]}
    assert before == {"AWS::IAM::Role", "AWS::IAM::Policy"}


def test_what_cdk_nag_finds_in_what_others_add_stops_the_synthesis():
    """Also a permission on everything, where no trace needs one."""
    cats = iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::cats/*", "*"])
    found = r"(?s)IAM5\[Resource::\*\].*IAM5\[Resource::arn:aws:s3:::cats/\*\]"

    with pytest.raises(RuntimeError, match=found) as refused:
        synthesized(a_stage(tasks=task_code(initial_policy=[cats])))
    assert str(refused.value).count("Acknowledge with") == 2


# What is refused


@pytest.mark.parametrize("name", STAGES)
def test_a_schedule_is_there_after_what_its_role_may_do(name):
    deployment = synthesize(name)
    for stack in deployment.templates:
        for schedule in deployment.resources(stack, "AWS::Scheduler::Schedule").values():
            role, _ = schedule["Properties"]["Target"]["RoleArn"]["Fn::GetAtt"]
            policies = {
                policy
                for policy, its in deployment.resources(stack, "AWS::IAM::Policy").items()
                if {"Ref": role} in its["Properties"]["Roles"]
            }
            assert policies
            assert {role, *policies} <= {*schedule["DependsOn"]}


@pytest.mark.parametrize("name", STAGES)
def test_no_stage_makes_load_by_itself(name):
    schedules = synthesize(name).resources("generator", "AWS::Scheduler::Schedule")
    assert {one["Properties"]["State"] for one in schedules.values()} <= {"DISABLED"}


@pytest.mark.parametrize("name", ["Prod", "1st", "a" * 21, "a_b"])
def test_a_name_that_no_stack_can_have_is_refused(name):
    with pytest.raises(InvalidInput, match="lower-case letters"):
        Stage(new_app(), name)


def test_an_unknown_stage_is_one_sentence_with_the_known_ones(monkeypatch, capsys):
    asked = new_app(stage="prd")
    monkeypatch.setattr(cdk, "App", lambda: asked)
    assert app.main() == 1
    told = (
        "stage='prd': is unknown: choose one of dev, prod with '-c stage=NAME', or add it to "
        "stacks/stages.py\n"
    )
    assert capsys.readouterr() == ("", told)
