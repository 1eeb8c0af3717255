"""Long workers: what is deployed, who is let in where, and how their number follows the work."""

import json
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from lifoq import InvalidInput
from lifoq_cdk import LifoQueue, LongTasks, WorkerScaling
from tests.constructs.application import HERE, app_in, resources, template_of
from tests.constructs.fargate import NEVER, Scaling, Service, Task

Template = dict[str, Any]
IMAGE = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")


def stack_with(folder: Path, **props: Any) -> cdk.Stack:
    stack = cdk.Stack(app_in(folder), "pictures")
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails", deadline=cdk.Duration.hours(2))
    LongTasks(
        stack, "Encoders", **{"queue": queue, "types": ["video.encode"], "image": IMAGE, **props}
    )
    return stack


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Template:
    return template_of(stack_with(tmp_path_factory.mktemp("app")))


def variables(template: Template, function: str) -> Mapping[str, str]:
    (found,) = resources(template, "AWS::Lambda::Function", function)
    return found["Environment"]["Variables"]


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


def test_spot_and_a_network_of_ones_own(tmp_path):
    stack = cdk.Stack(app_in(tmp_path), "pictures")
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails")
    vpc = cdk.aws_ec2.Vpc(stack, "Mine", restrict_default_security_group=False)
    LongTasks(stack, "A", queue=queue, types=["a"], image=IMAGE, spot=True, vpc=vpc)
    template = template_of(stack)
    (service,) = resources(template, "AWS::ECS::Service")
    assert [one["CapacityProvider"] for one in service["CapacityProviderStrategy"]] == [
        "FARGATE_SPOT"
    ]
    assert service["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "DISABLED"
    assert len(resources(template, "AWS::EC2::VPC")) == 1


@pytest.mark.parametrize(
    ("props", "sentence"),
    [
        ({"types": []}, "types=.* must be a list"),
        ({"types": "video.encode"}, "must be a list"),
        ({"grace": cdk.Duration.minutes(3)}, "grace='3 minutes': is longer than ECS allows"),
        ({"protection": cdk.Duration.days(3)}, "protection='3 days': is longer"),
        ({"environment": {"LIFOQ_WORKER": "{}"}}, "must not begin with LIFOQ_"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path, props, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        stack_with(tmp_path, **props)


@pytest.mark.parametrize(
    ("scaling", "field"),
    [
        ({"max_workers": 0}, "max_workers"),
        ({"max_workers": 2, "min_workers": 3}, "max_workers"),
        ({"in_flight": 4, "backlog_per_worker": 3}, "backlog_per_worker"),
    ],
)
def test_a_scaling_that_cannot_work_is_refused(scaling, field):
    with pytest.raises(InvalidInput) as refused:
        WorkerScaling(**scaling)
    assert refused.value.field == field


def test_two_groups_share_no_type_and_each_is_measured(tmp_path):
    stack = cdk.Stack(app_in(tmp_path), "pictures")
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails", types_elsewhere=["x"])
    LongTasks(stack, "A", queue=queue, types=["a"], image=IMAGE)
    with pytest.raises(InvalidInput, match="is done by A already"):
        LongTasks(stack, "Again", queue=queue, types=["b", "a"], image=IMAGE)
    LongTasks(stack, "B", queue=queue, types=["b"], image=IMAGE)
    told = variables(template_of(stack), "QueueSweepFunction")
    assert json.loads(told["LIFOQ_WORKER"])["types_elsewhere"] == ["a", "b", "x"]
    assert json.loads(told["LIFOQ_LONG_TASKS"]) == {"A": ["a"], "B": ["b"]}


@pytest.mark.parametrize("most", [1, 7, 20, 33, 500])
def test_there_are_never_fewer_workers_than_are_wanted(most):
    steps = list(WorkerScaling(max_workers=most).steps())
    assert len(steps) <= 20
    for wanted in range(1, most + 1):
        size = max(size for begins, size in steps if begins <= wanted)
        assert wanted <= size < wanted + max(1, most / 20) + 1


# How their number follows the work.


@pytest.fixture(scope="module")
def service_of(tmp_path_factory) -> Callable[..., Service]:
    def new(**scaling: Any) -> Service:
        given = WorkerScaling(**scaling)
        template = template_of(stack_with(tmp_path_factory.mktemp("app"), scaling=given))
        return Service(Scaling(template, "Encoders"), slots=given.in_flight, deadline=120)

    return new


def test_a_burst_has_its_workers_in_minutes_and_none_when_it_is_over(service_of):
    service = service_of(max_workers=10)
    service.run(12, put=[30] * 12)
    assert service.sizes[-1] == 10
    busy = [sum(bool(held) for _, held in service.workers)]
    assert busy[0] >= 9, "each begins a task about as soon as it is put"
    service.run(120)
    assert (service.done, service.shed, service.sizes[-1]) == (12, 0, 0)
    assert service.turns == 1, "up, and down again"
    over = max(minute for minute, told in enumerate(service.told) if told["TasksOpen"])
    assert service.sizes.index(0, over) - over <= 6


def test_rare_tasks_are_waited_for_by_nobody(service_of):
    service = service_of(max_workers=10)
    service.run(300, put=cycle([2, *[0] * 29]))  # each half hour one that takes two minutes
    assert service.done == 10
    assert max(service.sizes) == 1
    assert sum(service.sizes) / 10 <= 10, "minutes that are paid, a task"


def test_a_stuck_downstream_gets_no_more_workers_than_there_may_be(service_of):
    service = service_of(max_workers=4)
    service.run(300, put=cycle([NEVER]))
    assert max(service.sizes) == len(service.workers) == 4
    assert service.turns == 0
    assert service.shed > 0
    for _, held in service.workers:  # their attempts time out, and are retried much later
        held.clear()
    service.waiting.clear()
    service.run(10)
    assert service.sizes[-1] == len(service.workers) == 0


def test_a_worker_has_a_backlog_until_a_task_has_waited_for_too_long(service_of):
    service = service_of(
        max_workers=10, backlog_per_worker=10, longest_wait=cdk.Duration.minutes(20)
    )
    service.waiting += [Task(put=0, minutes=5) for _ in range(25)]
    service.run(20)
    assert max(service.sizes) == 3, "25 tasks, ten a worker"
    service.run(10)
    assert max(service.sizes) == 10, "some have waited for twenty minutes"
    service.run(30)
    assert (service.done, service.sizes[-1]) == (25, 0)
