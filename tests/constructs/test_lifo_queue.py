"""The resources that the constructs put into the template of somebody's own stack."""

import hashlib
import json
import math
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from constructs import Construct

from lifoq import Backoff, Lifetimes, WorkerSettings
from lifoq.environment import Environment
from lifoq.errors import InvalidInput
from lifoq.items.change import MOST_VALUES
from lifoq.items.lifetimes import KEPT_DAYS
from lifoq.metrics import Metric
from lifoq.targets import configured
from lifoq_cdk import (
    AsyncInvocation,
    BrokerQueue,
    HttpsTarget,
    LambdaTarget,
    LifoQueue,
    Load,
    QueueGenerator,
    QueueReports,
    QueueState,
    RecurringTask,
    TaskCode,
    TaskEvents,
    with_lifoq,
)
from lifoq_cdk.task_code import VPC_ACCESS
from lifoq_project import asset
from tests.constructs.application import HERE, app_in, resources, template_of

TASKS = HERE / "thumbnails"
FUNCTION = "AWS::Lambda::Function"
RESIZE = "arn:aws:lambda:eu-west-1:123456789012:function:resize"


PAGER = "arn:aws:sns:eu-west-1:123456789012:pager"
LAYER = "arn:aws:lambda:eu-west-1:123456789012:layer:fonts:1"
TARGETS = {
    "resize": LambdaTarget(function_arn=RESIZE),
    "price.refresh": HttpsTarget(
        url="https://shop.example", secret_headers={"Authorization": "shop/key"}
    ),
}
_PUT = "BatchGetItem BatchWriteItem GetItem PutItem"
_READ = "BatchGetItem DescribeTable GetItem Query Scan"
GRANTS = {
    LifoQueue.grant_put: (_PUT, "GetObject PutObject"),
    LifoQueue.grant_replace: (f"{_PUT} UpdateItem", "GetObject PutObject"),
    LifoQueue.grant_read: (_READ, "GetObject"),
    LifoQueue.grant_work: ("GetItem PutItem Query UpdateItem", "GetObject PutObject"),
    LifoQueue.grant_operate: (f"{_READ} DeleteItem UpdateItem", "DeleteObject GetObject PutObject"),
}
"""Actions that each allows on the table, and on objects of the bucket."""
KEPT = {"LongKept": cdk.Duration.days(400), "ShortKept": cdk.Duration.days(45), "NotKept": None}
REPORTS_KEPT = {
    "export_retention": cdk.Duration.days(7),
    "report_retention": cdk.Duration.days(8),
}
RECURRING = partial(RecurringTask, name="a", task_type="a", schedule="rate(1 hour)")


def own_functions(template: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    """Return the functions that run lifoq's code, by their tasks."""
    return {
        function["Handler"].split(".")[1]: function
        for function in resources(template, FUNCTION, prefix)
        if function.get("Handler", "").startswith("lifoq_functions.")
    }


def plain(value: Any) -> str:
    """Text with placeholders for what is only known when it is deployed."""
    if isinstance(value, str):
        return value
    _, parts = value["Fn::Join"]
    return "".join(part if isinstance(part, str) else "token" for part in parts)


def actions(template: dict[str, Any], prefix: str) -> set[str]:
    """Return the actions that a role may do, whose policy's logical id begins with ``prefix``."""
    return {
        action
        for policy in resources(template, "AWS::IAM::Policy", prefix)
        for statement in policy["PolicyDocument"]["Statement"]
        for action in (
            statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        )
    }


def function(scope: Construct, name: str) -> lambda_.Function:
    return lambda_.Function(
        scope,
        name,
        code=lambda_.Code.from_inline("def handle(event, context): ..."),
        handler="index.handle",
        runtime=lambda_.Runtime.PYTHON_3_14,
    )


class Application:
    """Somebody's stack with six queues, and functions that are let in to two of them."""

    def __init__(self, folder: Path) -> None:
        self.app = app_in(folder)
        self.stack = cdk.Stack(self.app, "pictures")
        self.small = LifoQueue(self.stack, "Small", tasks=str(TASKS))
        topic = sns.Topic.from_topic_arn(self.stack, "Pager", PAGER)
        limited = {"rate_limit_per_second": 5}
        several = {**limited, "processor_concurrency": 2}
        self.large = LifoQueue(
            self.stack,
            "Large",
            tasks=TASKS,
            queue_name="thumbnails",
            alarm_topic=topic,
            schedules=True,
            large_payloads=True,
            **limited,
        )
        needs = {"tasks": self._task_code(), "targets": TARGETS, "types_elsewhere": ["encode"]}
        LifoQueue(self.stack, "Needing", **needs, **limited)
        (folder / "image").mkdir()
        (folder / "image" / "Dockerfile").write_text("FROM public.ecr.aws/lambda/python:3.14\n")
        code = lambda_.Code.from_asset_image(str(folder / "image"))
        image = TaskCode(code, module="thumbnails")
        LifoQueue(self.stack, "Alone", tasks=TASKS, shared_limits=False, **several)
        LifoQueue(self.stack, "Image", tasks=image, **several)
        frankfurt = cdk.Stack(self.app, "frankfurt", env=cdk.Environment(region="eu-central-1"))
        LifoQueue(
            frankfurt, "Queue", tasks=TASKS, queue_name="thumbnails", shared_limits=True, **limited
        )
        for number, grant in enumerate(GRANTS):
            grant(self.large, function(self.stack, f"Mine{number}"))
        self.small.grant_call(function(self.stack, "Caller"))
        shop = function(self.stack, "Shop")
        for _ in range(2):  # to grant again changes nothing
            self.large.grant_schedule(shop)
        self.large.grant_schedule(iam.User(self.stack, "Planner"))
        nightly = RECURRING(
            name="b",
            schedule=scheduler.ScheduleExpression.cron(minute="0", hour="3"),
            time_zone=cdk.TimeZone.EUROPE_BERLIN,
            deadline=MINUTES(5),
        )
        recurring = [RECURRING(if_exists="replace"), nightly]
        once = AsyncInvocation(max_event_age=MINUTES(9), retry_attempts=1)
        QueueGenerator(
            self.stack, "Generator", queue=self.small, recurring=recurring, asynchronous=once
        )
        for name, retention in KEPT.items():
            QueueState(self.stack, name, large_payload_retention=retention, **REPORTS_KEPT)
        self.template = template_of(self.stack)
        self.in_frankfurt = template_of(frankfurt)

    def _task_code(self) -> TaskCode:
        vpc = ec2.Vpc.from_vpc_attributes(
            self.stack,
            "Network",
            vpc_id="vpc-0123456789abcdef0",
            availability_zones=["eu-west-1a", "eu-west-1b"],
            private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
        )
        return TaskCode(
            TASKS,
            environment={"SIZE": "640"},
            secrets={"LOGIN": secretsmanager.Secret(self.stack, "Login")},
            initial_policy=[
                iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::cats/*"])
            ],
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("ReadOnlyAccess")],
            vpc=vpc,
            vpc_subnets=ec2.SubnetSelection(availability_zones=["eu-west-1b"]),
            security_groups=[ec2.SecurityGroup(self.stack, "Group", vpc=vpc)],
            layers=[lambda_.LayerVersion.from_layer_version_arn(self.stack, "Layer", LAYER)],
            architecture=lambda_.Architecture.X86_64,
            memory_size=1769,
            ephemeral_storage_size=cdk.Size.gibibytes(2),
        )


@pytest.fixture(scope="module")
def application(tmp_path_factory) -> Application:
    return Application(tmp_path_factory.mktemp("app"))


@pytest.fixture(scope="module")
def template(application) -> dict[str, Any]:
    return application.template


def test_a_queue_needs_nothing_but_a_folder_of_task_code(application, template):
    """Its package has the name of what is in it, so that it is not deployed again unchanged."""
    processor = own_functions(template, "Small")["process_tasks"]
    digest = application.small.tasks.package().digest
    assert processor["Code"]["S3Key"] == f"{hashlib.sha256(digest.encode()).hexdigest()}.zip"
    told = processor["Environment"]["Variables"]
    environment = Environment({name: str(value) for name, value in told.items()})
    assert environment.worker() == WorkerSettings()
    assert environment.lifetimes() == Lifetimes()
    assert environment.tasks == "thumbnails"
    (table,) = resources(template, "AWS::DynamoDB::Table", "Small")
    assert not table["DeletionProtectionEnabled"]
    assert processor["MemorySize"] == 512


def test_the_code_of_a_function_of_ones_own_is_packaged_with_the_library(tmp_path):
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "handler.py").write_text("")

    package = with_lifoq(tmp_path / "uploads", architecture=lambda_.Architecture.X86_64)

    names = set(zipfile.ZipFile(package.path).namelist())
    assert {"uploads/handler.py", "lifoq/client/queue.py"} <= names
    built = asset.build(TASKS)
    assert TaskCode(built, module="thumbnails").package() is built


def test_two_queues_of_one_stack_share_no_name(application, template):
    for type_name in ("AWS::SSM::Parameter", "AWS::Logs::QueryDefinition"):
        names = [str(one["Name"]) for one in resources(template, type_name)]
        assert len(names) == len(set(names)) > 1
    for name, queue in (("Small", application.small), ("Large", application.large)):
        services = {
            one["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
            for one in own_functions(template, name).values()
        }
        assert services == {f"lifoq-{queue.queue_name}"}
    assert application.small.queue_name != application.large.queue_name


# Grants


def test_a_grant_allows_what_its_name_says_and_tells_the_function_its_queue(template):
    for number, (of_table, of_objects) in enumerate(GRANTS.values()):
        expected = {f"dynamodb:{action}" for action in of_table.split()}
        expected |= {f"s3:{action}" for action in ("ListBucket", *of_objects.split())}
        assert actions(template, f"Mine{number}ServiceRole") == {*expected, "ssm:GetParameter"}
        (told,) = resources(template, FUNCTION, f"Mine{number}")
        assert told["Environment"]["Variables"]["LIFOQ_QUEUE"] == "thumbnails"


def test_a_caller_may_replace_and_wake_the_processor_that_is_subscribed(template):
    of_table, _ = GRANTS[LifoQueue.grant_replace]
    replacing = {f"dynamodb:{action}" for action in of_table.split()}
    allowed = {*replacing, "ssm:GetParameter", "sns:Publish"}
    assert actions(template, "CallerServiceRole") == allowed
    (published,) = [
        statement["Resource"]
        for policy in resources(template, "AWS::IAM::Policy", "CallerServiceRole")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "sns:Publish"
    ]
    subscriptions = resources(template, "AWS::SNS::Subscription")
    assert published in [subscription["TopicArn"] for subscription in subscriptions]
    assert "SmallProcessTasksTopic" in published["Ref"]


def test_a_function_is_not_told_of_two_queues(application, queue, aside):
    mine = function(aside, "Mine")
    queue.grant_put(mine)
    queue.grant_read(mine)

    with pytest.raises(InvalidInput, match=r"function\.role"):
        application.small.grant_put(mine)
    assert mine.role is not None
    application.small.grant_put(mine.role)


# Metrics, alarms and limits


def test_metrics_are_those_that_the_functions_emit_and_alarms_tell_a_topic_that_exists(
    application, template
):
    queue = application.large
    asked = {"period": MINUTES(5), "label": "mine"}
    for metric, name, statistic in (
        (queue.metric_backlog(**asked), Metric.TASKS_PENDING, "Maximum"),
        (queue.metric_oldest_age(**asked), Metric.OLDEST_WAITING_AGE, "Maximum"),
        (queue.metric_newest_age(**asked), Metric.NEWEST_WAITING_AGE, "Maximum"),
        (queue.metric_shed(**asked), Metric.TASKS_SHED, "Sum"),
        (queue.metric_succeeded(**asked), Metric.TASKS_SUCCEEDED, "Sum"),
        (queue.metric_failed(**asked), Metric.TASKS_FAILED, "Sum"),
        (queue.metric(Metric.WAIT, **asked), Metric.WAIT, "Maximum"),
        (queue.metric(Metric.WAIT, statistic="p95", **asked), Metric.WAIT, "p95"),
    ):
        assert (metric.metric_name, metric.statistic) == (name.value, statistic)
        assert (metric.period.to_minutes(), metric.label) == (5, "mine")
        assert metric.dimensions == {"service": "lifoq-thumbnails"}
    assert queue.metric_backlog().period.to_minutes() == 1
    share = queue.metric_begun_in_time(**asked)
    assert (share.period.to_minutes(), share.label) == (5, "mine")
    assert queue.metric_begun_in_time().period.to_minutes() == 60
    alarms = resources(template, "AWS::CloudWatch::Alarm", "Large")
    assert alarms
    assert all(alarm["AlarmActions"] == [PAGER] for alarm in alarms)


def test_limits_hold_over_all_workers_where_there_are_several_and_each_is_told(application):
    here, there = application.template, application.in_frankfurt
    for template, name, is_shared in (
        (here, "Large", False),
        (here, "Alone", False),
        (here, "Image", True),
        (here, "Needing", True),
        (there, "Queue", True),
    ):
        (processor,) = resources(template, FUNCTION, f"{name}ProcessTasksFunction")
        written = resources(template, "AWS::SSM::Parameter", name)
        values = [plain(parameter["Value"]) for parameter in written]
        (told,) = [json.loads(text) for text in values if "deadlineSeconds" in text]
        environment = Environment(processor["Environment"]["Variables"])
        assert environment.worker().shared_limits is is_shared, name
        assert told.get("sharedLimits") == ({"rateLimit": 5} if is_shared else None), name


# What task code needs


def test_the_processor_gets_what_task_code_needs_and_nobody_else_may_do_it(template):
    own = own_functions(template, "Needing")
    processor = own["process_tasks"]
    assert (processor["MemorySize"], processor["EphemeralStorage"]) == (1769, {"Size": 2048})
    assert processor["VpcConfig"]["SubnetIds"] == ["subnet-0123456789abcdef1"]
    assert {"SIZE", "LOGIN"} <= set(processor["Environment"]["Variables"])
    # All are one package; the sweep imports the code and its targets, and runs none of it.
    assert all(one["Architectures"] == ["x86_64"] for one in own.values())
    assert {name for name, one in own.items() if "Layers" in one} == {"process_tasks", "sweep"}
    assert {name for name, one in own.items() if "VpcConfig" in one} == {"process_tasks"}
    told = {name: one["Environment"]["Variables"].get("LIFOQ_TARGETS") for name, one in own.items()}
    assert {name for name, text in told.items() if text} == {"process_tasks", "sweep"}
    assert configured.decode(plain(told["process_tasks"])) == TARGETS
    needed = {"s3:GetObject", "secretsmanager:GetSecretValue", "lambda:InvokeFunction"}
    needed |= {*VPC_ACCESS}
    assert needed <= actions(template, "NeedingProcessTasksFunctionRole")
    policies = str(resources(template, "AWS::IAM::Policy", "NeedingProcessTasksFunctionRole"))
    assert f"'{RESIZE}'" in policies
    assert ":secret:shop/key-??????'" in policies
    (group,) = processor["VpcConfig"]["SecurityGroupIds"]
    assert group["Fn::GetAtt"][0].startswith("Group")
    assert not needed & actions(template, "NeedingSweepFunctionRole")
    (role,) = resources(template, "AWS::IAM::Role", "NeedingProcessTasksFunctionRole")
    assert "ReadOnlyAccess" in json.dumps(role["ManagedPolicyArns"])


def test_a_container_image_takes_the_place_of_the_package(template):
    commands = [
        one["ImageConfig"]["Command"]
        for one in resources(template, FUNCTION, "Image")
        if one.get("PackageType") == "Image"
    ]
    assert sorted(commands) == [
        ["lifoq_functions.process_tasks.handler.handle"],
        ["lifoq_functions.sweep.handler.handle"],
    ]


def test_whoever_is_granted_schedules_may_make_those_of_the_queue_and_put_nothing(template):
    verbs = {f"scheduler:{verb}Schedule" for verb in ("Create", "Delete", "Get", "Update")}
    assert actions(template, "ShopServiceRole") == {
        *verbs,
        *("scheduler:ListSchedules", "iam:PassRole", "ssm:GetParameter"),
    }
    (policy,) = resources(template, "AWS::IAM::Policy", "ShopServiceRoleDefault")
    (of_list,) = resources(template, "AWS::IAM::Policy", "ShopServiceRoleList")
    assert "*" in str(of_list)
    assert actions(template, "Planner") == actions(template, "Shop")
    for of_user in resources(template, "AWS::IAM::Policy", "Planner"):
        assert "Planner" in str(of_user["Users"])
    assert "'*'" not in str(policy)
    statements = {str(one["Action"]): one for one in policy["PolicyDocument"]["Statement"]}
    (group,) = (
        name
        for name, one in template["Resources"].items()
        if one["Type"] == "AWS::Scheduler::ScheduleGroup" and name.startswith("LargeSchedules")
    )
    (of_one,) = (one for action, one in statements.items() if "CreateSchedule" in action)
    assert plain(of_one["Resource"]).endswith("schedule/token/*")
    assert {"Ref": group} in of_one["Resource"]["Fn::Join"][1]
    assert statements["iam:PassRole"]["Condition"] == {
        "StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}
    }
    (told,) = resources(template, "AWS::SSM::Parameter", "LargeConnection")
    assert {"Ref": group} in told["Value"]["Fn::Join"][1]
    # It puts one task at a time, whatever a schedule of somebody's asks for.
    may = actions(template, "LargeScheduledTasksFunctionRole")
    assert {one for one in may if one.startswith("dynamodb:")} == {
        f"dynamodb:{verb}Item" for verb in ("Get", "Put", "Update")
    }


# What is refused

MANY = [
    f"orders.{number:03}.check-and-forward-to-the-warehouse-that-has-most" for number in range(60)
]
MINUTES, SECONDS = cdk.Duration.minutes, cdk.Duration.seconds
HALVES = cdk.Duration.millis(5500)
WINDOWS = "15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440"
NUMBER = cdk.Token.as_number({"Ref": "N"})
UNKNOWN = SECONDS(NUMBER)
LOAD = partial(Load, task_type="a", tasks_per_second=5)
BURST = partial(LOAD, profile="burst", peak_tasks_per_second=5, period=SECONDS(8))
IMAGE = lambda_.Code.from_asset_image(".")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (partial(TaskCode, TASKS, environment={"AWS_REGION": "x"}), "AWS_REGION.*rename"),
        (partial(TaskCode, TASKS, environment={"\ud800": "x"}), r"environment='\\ud800'.*digits"),
        (partial(TaskCode, TASKS, secrets={"LIFOQ_X": None}), "LIFOQ_X.*rename"),
        (
            partial(TaskCode, TASKS, secrets={"SIZE": None}, environment={"SIZE": "1"}),
            "secrets='SIZE': is in environment, too",
        ),
        (partial(TaskCode, TASKS, targets={"": TARGETS["resize"]}), "targets=''"),
        (partial(TaskCode, IMAGE), "module=None: must be given"),
        (partial(TaskCode, IMAGE, module="a", layers=[LAYER]), "layers=1: cannot be added to a c"),
        (partial(LOAD, profile="sine"), "needs peak_tasks_per_second and per"),
        (partial(LOAD, peak_tasks_per_second=9), "nothing to the profile 'con"),
        (partial(LOAD, tasks_per_second=0), "tasks_per_second=0: must be a number per second"),
        (partial(LOAD, seconds=61), "a minute at the most"),
        (partial(LOAD, seconds=0), "seconds=0: must be"),
        (partial(LOAD, payload=[math.nan]), "payload"),
        (partial(LOAD, profile="flat"), "profile='flat': must be one of constant, burst, sine"),
        (partial(LOAD, period=SECONDS(9)), "nothing to the profile 'con"),
        (partial(BURST, period=None), "needs peak_tasks_per_second and per"),
        (partial(BURST, peak_tasks_per_second=None), "needs peak_tasks_per_second and per"),
        (partial(BURST, peak_tasks_per_second=4), r"=4: is below tasks_per_second \(5\): swap"),
        (partial(BURST, peak_tasks_per_second=math.inf), "peak_tasks_per_second=inf: must be"),
        (partial(TaskEvents, topic=False), "tell nobody: set topic"),
        (partial(RECURRING, schedule="hourly"), "schedule='hourly': must be rate"),
        (partial(RECURRING, time_zone="Europe/Berln"), "no time zone: did you mean Europe/Berlin"),
        (partial(RECURRING, payload=[math.nan]), "payload"),
        (partial(RECURRING, if_exists="drop"), "if_exists='drop': must be 'keep' or 'replace'"),
        (partial(RECURRING, max_attempts=0), "max_attempts=0: must be a whole number from 1"),
        (partial(RECURRING, deadline=UNKNOWN), "^deadline='a token': is known only when"),
        (BURST(period=UNKNOWN).event, "^period='a token': is known only when"),
    ],
)
def test_a_part_that_could_not_work_is_refused(made, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        made()


def test_the_newest_run_of_a_recurring_task_that_replaces_counts_by_one_id(template):
    assert RECURRING().event()["taskId"] == "a-<aws.scheduler.scheduled-time>"
    newest = RECURRING(if_exists="replace", key="k", max_attempts=1, timeout=HALVES).event()
    assert newest["taskId"] == "a"
    assert (newest["ifExists"], newest["key"], newest["maxAttempts"]) == ("replace", "k", 1)
    assert newest["timeout"] == 5.5
    (may,) = resources(template, "AWS::IAM::Policy", "GeneratorCreateTasks")
    assert "dynamodb:UpdateItem" in str(may)
    stack = cdk.Stack(cdk.App(), "Keeps")
    QueueGenerator(
        stack,
        "Generator",
        queue=LifoQueue(stack, "Queue", tasks=TASKS),
        recurring=[RECURRING(if_exists="keep")],
    )
    (may,) = resources(template_of(stack), "AWS::IAM::Policy", "GeneratorCreateTasks")
    assert "dynamodb:UpdateItem" not in str(may)


def test_a_load_is_told_with_its_shape_where_it_has_one():
    load = {"profile": "constant", "tasksPerSecond": 5, "seconds": 60}
    assert LOAD(payload=[1]).event() == {"taskType": "a", "payload": [1], "load": load}
    shape = {"profile": "burst", "peakTasksPerSecond": 5, "periodSeconds": 5.5}
    assert BURST(period=HALVES).event()["load"] == load | shape
    assert LOAD().enabled


def test_a_recurring_task_is_tried_for_as_long_as_it_may_wait_at_the_time_of_its_zone(template):
    zones = {
        "a": ("rate(1 hour)", "Etc/UTC", 3600),
        "b": ("cron(0 3 * * ? *)", "Europe/Berlin", 300),
    }
    for name, found in zones.items():
        (one,) = resources(template, "AWS::Scheduler::Schedule", f"GeneratorSchedule{name}")
        age = one["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"]
        assert (one["ScheduleExpression"], one["ScheduleExpressionTimezone"], age) == found
        assert one["State"] == "ENABLED"
    (told,) = resources(template, "AWS::Lambda::EventInvokeConfig", "GeneratorCreateTasks")
    assert (told["MaximumEventAgeInSeconds"], told["MaximumRetryAttempts"]) == (540, 1)
    assert own_functions(template, "Generator")["create_tasks"]["Timeout"] == 30


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tasks": HERE}, "__init__"),
        ({"window": SECONDS(826)}, "window.*885"),
        ({"sweep_interval": SECONDS(90)}, "sweep_interval.*whole minutes"),
        ({"sweep_interval": MINUTES(0)}, "sweep_interval.*whole minutes, 1 to 60"),
        ({"sweep_interval": MINUTES(61)}, "sweep_interval.*whole minutes, 1 to 60"),
        ({"heartbeat": SECONDS(16)}, "heartbeat=16.*half the lease of 30 s"),
        ({"success_retention": SECONDS(29)}, "success_retention=29.*lease of 30 s"),
        ({"failure_retention": SECONDS(29)}, "failure_retention=29.*lease of 30 s"),
        (
            {"adaptive_threshold": MINUTES(5), "deadline": MINUTES(5)},
            "adaptive_threshold=300.*deadline of 300 s.*lower it",
        ),
        (
            {"backoff": Backoff(min_seconds=60), "deadline": MINUTES(1)},
            r"backoff\.min_seconds=60.*deadline of 60 s.*lower it",
        ),
        ({"queue_name": "a/b"}, "queue name.*letters"),
        (
            {"kicks": AsyncInvocation(max_event_age=SECONDS(449), retry_attempts=2)},
            "max_event_age.*too short for 2 retries.*raise it to at least 450 s",
        ),
        (
            {"targets": {"a": HttpsTarget(url="https://shop.example", timeout=61)}},
            r"targets\.a\.timeout=61: .* raise task_timeout",
        ),
        ({"types_elsewhere": MANY}, r"ProcessTasksFunction': .* 4,096 .* all LIFOQ_WORKER \("),
        (
            {"tasks": TaskCode(TASKS, environment={"NOTES": "é" * 2000})},
            r"ProcessTasksFunction': .* takes 4,096 .* all NOTES \(",
        ),
        ({"queue_name": cdk.Aws.STACK_NAME}, "^queue_name='a token': is known only when"),
        ({"in_flight": NUMBER}, "^in_flight='a token': is known only"),
        ({"deadline": UNKNOWN}, "^deadline='a token': is known"),
        (
            {"kicks": AsyncInvocation(max_event_age=UNKNOWN, retry_attempts=0)},
            "^max_event_age='a token': is known",
        ),
        (
            {"kicks": AsyncInvocation(max_event_age=MINUTES(9), retry_attempts=NUMBER)},
            "^retry_attempts='a token': is known",
        ),
    ],
)
def test_a_queue_that_could_not_work_is_refused(aside, settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        LifoQueue(aside, "Queue", **{"tasks": TASKS, **settings})


def test_what_just_fits_is_taken(aside):
    queue = LifoQueue(
        Construct(aside, "A" * 150),
        "Queue",
        tasks=TASKS,
        deadline=MINUTES(1),
        window=SECONDS(825),
        sweep_interval=MINUTES(60),
        heartbeat=SECONDS(15),
        adaptive_threshold=cdk.Duration.millis(59_500),
        success_retention=SECONDS(30),
        failure_retention=SECONDS(30),
        kicks=AsyncInvocation(max_event_age=SECONDS(1980), retry_attempts=2),
        targets={"a": HttpsTarget(url="https://shop.example", timeout=60)},
    )
    fits = [RECURRING(deadline=MINUTES(1), head_start=MINUTES(1))]
    fits.append(RECURRING(name="b", deadline=HALVES))
    QueueGenerator(aside, "Generator", queue=queue, recurring=fits, load=BURST(seconds=60))
    assert (len(queue.queue_name), queue.sweep_minutes) == (100, 60)
    assert (queue.worker.window, queue.worker.adaptive_threshold) == (825, 59.5)


def test_variables_are_taken_as_far_as_lambda_has_room_and_what_fills_it_is_named(aside):
    function = LifoQueue(aside, "Queue", tasks=TASKS).processor
    with pytest.raises(InvalidInput) as refused:
        function.add_environment("NOTES", "x" * 4096)
    beyond = int(re.search("has ([0-9,]+) bytes", str(refused.value))[1].replace(",", "")) - 4096
    assert function.add_environment("NOTES", "x" * (4096 - beyond))
    # A name that CloudFormation makes counts as 64 bytes.
    assert function.add_environment("NOTES", cdk.Aws.STACK_NAME + "x" * (4032 - beyond))
    with pytest.raises(InvalidInput, match="has 4,097 bytes"):
        function.add_environment("NOTES", cdk.Aws.STACK_NAME + "x" * (4033 - beyond))
    three = r"all NOTES \([0-9,]+\)(, \w+ \([0-9,]+\)){2}$"
    with pytest.raises(InvalidInput, match=f"has 4,097 .* {three}"):
        function.add_environment("NOTES", "x" * (4097 - beyond))


def test_a_bucket_that_forgets_payloads_before_their_tasks_is_refused(aside):
    days = math.ceil(Lifetimes().of_objects / 86_400)
    state = QueueState(aside, "State", large_payload_retention=cdk.Duration.days(days - 1))
    sentence = f"large_payload_retention='{days - 1} days': .* at least {days} days"
    with pytest.raises(InvalidInput, match=sentence):
        LifoQueue(aside, "Queue", tasks=TASKS, state=state)
    with pytest.raises(InvalidInput, match="large_payload_retention='a token': is known"):
        QueueState(aside, "Unknown", large_payload_retention=UNKNOWN)


def test_what_does_not_go_with_the_queue_is_refused(aside):
    queue = LifoQueue(aside, "Queue", tasks=TASKS, deadline=MINUTES(60))
    with pytest.raises(InvalidInput, match=f"are {MOST_VALUES + 1} task types, {MOST_VALUES} at"):
        queue.leave_to("Cutters", [str(number) for number in range(MOST_VALUES + 1)])
    with pytest.raises(InvalidInput, match=r"takes 4,096 .* LIFOQ_WORKER"):
        queue.leave_to("Encoders", MANY)
    assert QueueReports(aside, "Reports", queue=queue, window=MINUTES(60))
    for seconds, refused in (
        (2700, f"window='45 minutes': must be minutes of {WINDOWS}$"),
        (3630, "must be minutes of"),
        (7200, "window='2 hours': is longer than the deadline of 3600 s"),
    ):
        with pytest.raises(InvalidInput, match=refused):
            QueueReports(aside, f"Reports{seconds}", queue=queue, window=SECONDS(seconds))
    with pytest.raises(InvalidInput, match="window='a token': is known only when"):
        QueueReports(aside, "Unknown", queue=queue, window=UNKNOWN)
    ahead = RECURRING(head_start=MINUTES(61))
    assert ahead.event()["headStart"] == 3660
    with pytest.raises(InvalidInput, match=r"head_start=.*the queue's deadline of 3600"):
        QueueGenerator(aside, "Generator", queue=queue, recurring=[ahead])
    with pytest.raises(InvalidInput, match=r"deadline=.*the queue's deadline of 3600"):
        QueueGenerator(aside, "Late", queue=queue, recurring=[RECURRING(deadline=MINUTES(61))])
    given = {"state": queue.state, "encryption_key": kms.Key(aside, "Key")}
    with pytest.raises(InvalidInput, match="QueueState"):
        LifoQueue(aside, "Twice", tasks=TASKS, **given)


def test_who_is_only_referenced_is_let_in_and_a_key_that_is_keeps_its_policy(aside):
    key = kms.Key.from_key_arn(aside, "Key", "arn:aws:kms:eu-west-1:123456789012:key/a")
    queue = LifoQueue(aside, "Queue", tasks=TASKS, encryption_key=key)
    assert queue.grant_put(iam.ArnPrincipal("arn:aws:iam::210987654321:role/shop")).success


def test_schedules_are_granted_where_there_are_some_and_in_their_account(application, aside):
    shop = function(aside, "Shop")
    with pytest.raises(InvalidInput, match=r"schedules=False: .* give schedules=True"):
        application.small.grant_schedule(shop)
    with pytest.raises(InvalidInput, match=r"grantee=.*is of another account"):
        application.large.grant_schedule(iam.ArnPrincipal("arn:aws:iam::210987654321:role/shop"))


def test_two_queues_of_one_place_cannot_have_one_name(application):
    """In Frankfurt there is another one, and in another stage of the CDK's there may be one."""
    warehouse = cdk.Stack(application.app, "warehouse")
    with pytest.raises(InvalidInput, match=r"queue_name='thumbnails': is the name of another q"):
        LifoQueue(warehouse, "Queue", tasks=TASKS, queue_name="thumbnails")
    beta = cdk.Stack(cdk.Stage(application.app, "Beta"), "pictures")
    assert LifoQueue(beta, "Queue", tasks=TASKS, queue_name="thumbnails")


def test_pyright_lets_in_what_cdk_makes():
    """To it, a class whose parameters have other names than its interface's is none of that."""
    for owner in (LifoQueue.__init__, QueueState.__init__):
        hints = get_type_hints(owner)
        assert kms.Key in get_args(hints["encryption_key"])
        assert sns.Topic in get_args(hints["alarm_topic"])
    assert secretsmanager.Secret in get_args(get_type_hints(BrokerQueue)["login"])


def test_no_object_is_forgotten_earlier_when_large_payloads_are_off_or_kept_for_less(template):
    """A bucket's rules apply to the objects that are there already, and tasks name those."""
    found = []
    for name in KEPT:
        (bucket,) = resources(template, "AWS::S3::Bucket", f"{name}LargePayloadBucket")
        rules = bucket["LifecycleConfiguration"]["Rules"]
        found.append({one["Prefix"]: one["ExpirationInDays"] for one in rules if "Prefix" in one})
        (bucket,) = resources(template, "AWS::S3::Bucket", f"{name}ExportBucket")
        rules = bucket["LifecycleConfiguration"]["Rules"]
        kept = {one["Prefix"]: one["ExpirationInDays"] for one in rules if "Prefix" in one}
        assert kept == {"exports": 7, "reports": 8}
    own = {f"{days}-days/": days for days in KEPT_DAYS}
    assert found == [{name: max(days, 400) for name, days in own.items()}, own, own]
