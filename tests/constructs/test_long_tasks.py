"""Long workers: what is deployed, who is let in where, and how their number follows the work."""

import json
import math
from typing import Any, Final

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

import lifoq
from lifoq import InvalidInput, WorkerSettings
from lifoq.environment import Environment
from lifoq_cdk import LifoQueue, LongTasks, WorkerScaling, worker_scaling
from tests.constructs.application import HERE, app_in, resources, template_of

Template = dict[str, Any]
UNKNOWN = cdk.Duration.seconds(cdk.Token.as_number({"Ref": "N"}))
IMAGE = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")
SCALING = WorkerScaling(
    max_workers=10,
    in_flight=2,
    backlog_per_worker=10,
    longest_wait=cdk.Duration.minutes(20),
)


OWN: Final[dict[str, Any]] = {
    "module": "team.videos",
    "protection": cdk.Duration.hours(1),
    "architecture": lambda_.Architecture.X86_64,
    "assign_public_ip": True,
    "ephemeral_storage_gib": 30,
    "environment": {"SIZE": "640"},
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory) -> tuple[Template, Template]:
    """One group in a network that is made for it, and of two in a network of one's own."""
    app = app_in(tmp_path_factory.mktemp("app"))
    stack, other = (cdk.Stack(app, name) for name in ("pictures", "sounds"))
    often = cdk.Duration.minutes(2)
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails", sweep_interval=often)
    types = ["video.encode"]
    LongTasks(stack, "Encoders", queue=queue, types=types, image=IMAGE, scaling=SCALING)
    queue = LifoQueue(other, "Queue", tasks=HERE / "thumbnails", types_elsewhere=["x"])
    vpc = ec2.Vpc(other, "Mine", restrict_default_security_group=False)
    login = ecs.Secret.from_secrets_manager(secretsmanager.Secret(other, "Login"))
    place = ec2.SubnetSelection(subnets=vpc.public_subnets[:1])
    told = {**OWN, "secrets": {"LOGIN": login}, "vpc_subnets": place}
    for name, own in (("A", {}), ("B", told)):
        LongTasks(other, name, queue=queue, types=[name, name], image=IMAGE, vpc=vpc, **own)
    return template_of(stack), template_of(other)


@pytest.fixture(scope="module")
def template(templates) -> Template:
    return templates[0]


def test_nobody_gets_in(template):
    assert not resources(template, "AWS::EC2::SecurityGroupIngress")
    for group in resources(template, "AWS::EC2::SecurityGroup"):
        assert "SecurityGroupIngress" not in group


def test_what_stands_idle_costs_nothing(template):
    """No gateway, no endpoint that is paid by the hour, no address, no worker."""
    types = {one["Type"] for one in template["Resources"].values()}
    assert not types & {"AWS::EC2::NatGateway", "AWS::EC2::EIP"}
    assert {one["VpcEndpointType"] for one in resources(template, "AWS::EC2::VPCEndpoint")} == {
        "Gateway"
    }
    (target,) = resources(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert target["MinCapacity"] == 0


def test_the_service_goes_before_its_capacity_providers_do(template):
    """Which cannot be taken from a cluster while a service uses them."""
    ids = {one["Type"]: name for name, one in template["Resources"].items()}
    service = template["Resources"][ids["AWS::ECS::Service"]]
    assert ids["AWS::ECS::ClusterCapacityProviderAssociations"] in service["DependsOn"]


def test_two_groups_share_no_type_and_no_name(aside, queue):
    """Who calls AWS may be said in their environment."""
    told = {"LIFOQ_AWS_CLIENT": "boto3"}
    LongTasks(aside, "A", queue=queue, types=["shared"], image=IMAGE, environment=told)
    with pytest.raises(InvalidInput, match="types='shared': is done by A already"):
        LongTasks(aside, "Again", queue=queue, types=["b", "shared"], image=IMAGE)
    with pytest.raises(InvalidInput, match="construct_id='A': names a group already"):
        LongTasks(Construct(aside, "Beside"), "A", queue=queue, types=["c"], image=IMAGE)


def test_each_of_two_groups_is_measured_in_a_network_of_ones_own(templates):
    _, template = templates
    (sweep,) = resources(template, "AWS::Lambda::Function", "QueueSweepFunction")
    told = sweep["Environment"]["Variables"]
    assert json.loads(told["LIFOQ_WORKER"])["types_elsewhere"] == ["A", "B", "x"]
    assert json.loads(told["LIFOQ_LONG_TASKS"]) == {"A": ["A"], "B": ["B"]}
    assert len(resources(template, "AWS::EC2::VPC")) == 1
    for one in resources(template, "AWS::ECS::TaskDefinition"):
        (container,) = one["ContainerDefinitions"]
        assert f"--release={lifoq.__version__}" in container["Command"]
        own = {variable["Name"]: variable["Value"] for variable in container["Environment"]}
        assert Environment(own).worker() == WorkerSettings(shared_limits=True)


def test_what_a_group_is_told_takes_the_place_of_what_it_has_by_itself(templates):
    found = []
    for name in "AB":
        (task,) = resources(templates[1], "AWS::ECS::TaskDefinition", name)
        (service,) = resources(templates[1], "AWS::ECS::Service", name)
        (target,) = resources(
            templates[1], "AWS::ApplicationAutoScaling::ScalableTarget", f"{name}Service"
        )
        assert target["MaxCapacity"] == 10
        (container,) = task["ContainerDefinitions"]
        network = service["NetworkConfiguration"]["AwsvpcConfiguration"]
        _, module, _, _, _, protection, *_ = container["Command"]
        found.append(
            (
                *(module, protection, task["RuntimePlatform"]["CpuArchitecture"]),
                *(network["AssignPublicIp"], len(network["Subnets"])),
                task.get("EphemeralStorage", {}).get("SizeInGiB"),
                {"Name": "SIZE", "Value": "640"} in container["Environment"],
                [one["Name"] for one in container.get("Secrets", [])],
                *(one["CapacityProvider"] for one in service["CapacityProviderStrategy"]),
            )
        )
    arm, x86 = ("ARM64", "DISABLED", 2), ("X86_64", "ENABLED", 1)
    assert found == [
        ("--tasks=thumbnails", "--protect=7200s", *arm, None, False, [], "FARGATE"),
        ("--tasks=team.videos", "--protect=3600s", *x86, 30, True, ["LOGIN"], "FARGATE"),
    ]


@pytest.mark.parametrize(
    ("props", "sentence"),
    [
        ({"types": "video.encode"}, "types=.* must be a list"),
        ({"grace": cdk.Duration.minutes(3)}, "grace='3 minutes': is longer than ECS allows"),
        ({"types": []}, "types=.* must be a list"),
        ({"grace": UNKNOWN}, "^grace='a token': is known only"),
        ({"protection": UNKNOWN}, "^protection='a token': is known only"),
        ({"scaling": WorkerScaling(longest_wait=UNKNOWN)}, "^longest_wait='a token': is known"),
        ({"types": ["a", ""]}, "types=''"),
        ({"protection": cdk.Duration.hours(49)}, "protection=.* longer than ECS allows, 2 days"),
        ({"environment": {"LIFOQ_WORKER": "{}"}}, "must not begin with LIFOQ_"),
        ({"secrets": {"AWS_KEY": None}}, "must not begin with .*AWS_"),
    ],
)
def test_what_cannot_work_is_refused(aside, queue, props, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        LongTasks(aside, "A", **{"queue": queue, "types": ["a"], "image": IMAGE, **props})


@pytest.mark.parametrize(
    ("scaling", "sentence"),
    [
        ({"max_workers": 2, "min_workers": 3}, "max_workers=2: is less than min_workers"),
        ({"in_flight": 4, "backlog_per_worker": 3}, "backlog_per_worker=3: is less than"),
        ({"min_workers": -1}, "min_workers=-1: must be"),
        ({"max_workers": 0}, "max_workers=0: must be"),
        ({"in_flight": 0}, "in_flight=0: must be"),
    ],
)
def test_a_scaling_that_cannot_work_is_refused(scaling, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        WorkerScaling(**scaling)
    assert WorkerScaling(min_workers=2, max_workers=2, in_flight=3, backlog_per_worker=3)


@pytest.mark.parametrize("most", [1, 7, 20, 33, 500])
def test_there_are_never_fewer_workers_than_are_wanted(most):
    steps = list(WorkerScaling(max_workers=most).steps())
    assert len(steps) <= 20
    for wanted in range(1, most + 1):
        size = max(size for begins, size in steps if begins <= wanted)
        assert wanted <= size < wanted + max(1, most / 20) + 1


def test_the_rule_looks_back_over_three_sweeps_and_five_minutes_at_least(template):
    (wanted,) = resources(template, "AWS::CloudWatch::Alarm", "EncodersWanted")
    (idle,) = resources(template, "AWS::CloudWatch::Alarm", "EncodersIdle")
    periods = [one["MetricStat"]["Period"] for one in wanted["Metrics"] if "MetricStat" in one]
    assert [*periods, idle["Period"]] == [360, 360, 360]
    found = [worker_scaling.look_back_minutes(sweep_minutes) for sweep_minutes in (1, 2, 5)]
    assert found == [5, 6, 15]


CALLS: Final = {"CEIL": math.ceil, "IF": lambda holds, one, other: one if holds else other}


def sizes(template: Template, **told: float) -> set[int]:
    """Return the numbers of workers that alarms set when they ring, by the policies that they lead
    to."""
    policies = {
        name: one["Properties"]["StepScalingPolicyConfiguration"]["StepAdjustments"]
        for name, one in template["Resources"].items()
        if one["Type"] == "AWS::ApplicationAutoScaling::ScalingPolicy"
    }
    found: set[int] = set()
    for alarm in resources(template, "AWS::CloudWatch::Alarm"):
        steps = policies.get(alarm.get("AlarmActions", [{}])[0].get("Ref"), [])
        formulas = [one["Expression"] for one in alarm.get("Metrics", ()) if "Expression" in one]
        value = eval("".join(formulas) or "open", {}, {**CALLS, **told}) if steps else 0  # noqa: S307
        beyond = value - alarm["Threshold"]
        if (beyond < 0) is alarm["ComparisonOperator"].startswith("Less"):
            for step in steps:
                least = step.get("MetricIntervalLowerBound", -math.inf)
                if least <= beyond < step.get("MetricIntervalUpperBound", math.inf):
                    found.add(step["ScalingAdjustment"])
    return found


@pytest.mark.parametrize(
    ("tasks", "waited", "number"),
    [(0, 0, 0), (1, 0, 1), (10, 0, 1), (11, 0, 2), (13, 1200, 2), (13, 1201, 7), (999, 0, 10)],
)
def test_a_worker_has_its_backlog_until_a_task_has_waited_for_too_long(
    template, tasks, waited, number
):
    """And none is there where nothing is open."""
    assert sizes(template, open=tasks, oldest=waited) == {number}
