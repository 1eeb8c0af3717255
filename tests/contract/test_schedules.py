"""Schedules that clients make: the same in memory and in EventBridge Scheduler."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lab import dynamodb_local
from lifoq import (
    InvalidInput,
    Lifetimes,
    Queue,
    QueueMisconfigured,
    Schedules,
    StoreUnavailable,
    at,
    cron,
    every,
)
from lifoq.client.connection import Connection, parameter_name
from lifoq.schedules.eventbridge import SchedulerGroup
from lifoq.schedules.memory import MemoryGroup
from lifoq.schedules.schedule import Group
from lifoq.schedules.target import ScheduleTarget
from lifoq.testing import ManualHost, fire_schedules

HOURLY = every(3600)
DAILY = cron("0 8 * * ? *", time_zone="Europe/Berlin")
LIFETIMES = Lifetimes(deadline=7200)


class World:
    """A queue with schedules, on a machine whose clock stands still."""

    def __init__(self, group: Callable[[ManualHost], Group]) -> None:
        self.host = ManualHost()
        self.queue = Queue.in_memory(host=self.host, lifetimes=LIFETIMES)
        self.queue.schedule_group = group(self.host)

    @property
    def schedules(self) -> Schedules:
        return self.queue.schedules


@pytest.fixture
def target(moto_endpoint) -> ScheduleTarget:
    """The parts of a queue, with a group that has no schedule yet."""
    name = f"group-{uuid.uuid4().hex[:8]}"
    scheduler_of(moto_endpoint).create_schedule_group(Name=name)
    return ScheduleTarget(
        group=name,
        function="arn:aws:lambda:us-east-1:123456789012:function:puts",
        role="arn:aws:iam::123456789012:role/scheduler",
        dead_letters="arn:aws:sqs:us-east-1:123456789012:dead",
    )


def scheduler_of(endpoint: str) -> Any:
    return boto3.client("scheduler", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)


@pytest.fixture(params=["memory", "moto"])
def world(request) -> World:
    if request.param == "memory":
        return World(lambda host: MemoryGroup(host.now))
    return request.getfixturevalue("in_moto")


@pytest.fixture
def in_moto(moto_endpoint, target) -> World:
    arguments = {"endpoint_url": moto_endpoint, **dynamodb_local.CREDENTIALS}
    return World(lambda _: SchedulerGroup(target, deadline=LIFETIMES.deadline, **arguments))


@pytest.fixture
def stored(moto_endpoint, target) -> Callable[[str], dict[str, Any]]:
    """Read what EventBridge Scheduler has of a schedule."""
    return partial(scheduler_of(moto_endpoint).get_schedule, GroupName=target.group)  # type: ignore[return-value]


def test_a_schedule_is_read_back_as_it_was_put(world):
    made = world.schedules.put(
        "tenant-42", DAILY, "report.send", {"tenant": 42, "text": "é"}, key="42", deadline=30
    )
    found = world.schedules.get("tenant-42")
    assert (found.name, found.when, found.task) == (made.name, DAILY, made.task)
    assert found.enabled
    assert found.changed_at
    assert found.task.payload == {"tenant": 42, "text": "é"}
    assert (found.task.key, found.task.deadline) == ("42", 30)


def test_a_put_that_says_the_same_changes_nothing_and_another_one_replaces(world):
    payload = {"tenant": 42}
    world.schedules.put("a", HOURLY, "report.send", payload, timeout=timedelta(seconds=5))
    payload["tenant"] = 43  # the schedule keeps what was put
    first = world.schedules.get("a")
    world.host.advance(60)
    world.schedules.put("a", HOURLY, "report.send", {"tenant": 42}, timeout=5)
    assert world.schedules.get("a") == first
    world.schedules.put("a", HOURLY, "report.send", {"tenant": 43}, if_exists="replace")
    changed = world.schedules.get("a").task
    assert (changed.payload, changed.timeout, changed.task_id) == ({"tenant": 43}, None, "a")
    assert [one.name for one in world.schedules.list()] == ["a"]


def test_the_order_of_names_in_a_payload_says_nothing_and_each_value_does(world):
    world.schedules.put("a", HOURLY, "report.send", {"tenant": 42, "part": {"x": 1, "y": 2}})
    first = world.schedules.get("a")
    world.host.advance(60)
    world.schedules.put("a", HOURLY, "report.send", {"part": {"y": 2, "x": 1}, "tenant": 42})
    assert world.schedules.get("a") == first
    for terms in ({"key": "42"}, {}):  # a term more, and one less
        world.schedules.put("a", HOURLY, "report.send", {"tenant": 42}, **terms)
        assert world.schedules.get("a").task.key == terms.get("key")
    for payload in (1, True):  # to Python they are the same
        world.schedules.put("a", HOURLY, "report.send", payload)
        assert world.schedules.get("a").task.payload is payload


def test_schedules_are_listed_by_the_beginning_of_their_names_and_deleted_once(world):
    for name in ("b", "tenant-1", "tenant-2"):
        world.schedules.put(name, HOURLY, "report.send")
    assert {one.name for one in world.schedules.list("tenant-")} == {"tenant-1", "tenant-2"}
    assert len(world.schedules.list(limit=2)) == 2
    assert world.schedules.delete("tenant-1")
    assert not world.schedules.delete("tenant-1")
    assert world.schedules.get("tenant-1") is None
    assert {one.name for one in world.schedules.list()} == {"b", "tenant-2"}
    for wrong, told in (({"limit": 0}, "limit=0: must be"), ({"prefix": "a b"}, "prefix='a b'")):
        with pytest.raises(InvalidInput, match=told):
            world.schedules.list(**wrong)


PUT = partial(Schedules.put, name="a", when=HOURLY, task_type="report.send")


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        ({"name": "tenant 42"}, r"name='tenant 42': must be 1 to 64 letters"),
        ({"name": "x" * 65}, r"name=.*must be 1 to 64 letters"),
        ({"when": "rate(1 hour)"}, r"when='rate\(1 hour\)': must be cron"),
        ({"when": at(datetime(2020, 1, 1, tzinfo=UTC))}, r"when=.*has passed: put the task itself"),
        ({"task_type": ""}, r"task_type='': must be"),
        ({"payload": {1}}, r"payload="),
        ({"payload": "é" * 131_072}, r"262,\d\d\d bytes of JSON with its terms, and .* 262,144"),
        ({"deadline": 7201}, r"the queue's deadline is 7200 s"),
        ({"deadline": datetime(2099, 1, 1, tzinfo=UTC)}, r"deadline=.*is one moment"),
        ({"head_start": 7201}, r"head_start=.*is longer than the task's deadline"),
        ({"timeout": 0}, r"timeout=0: must be above 0"),
        ({"if_exists": "perhaps"}, r"if_exists='perhaps': must be 'keep' or 'replace'"),
    ],
)
def test_bad_input_is_refused_by_its_name_and_no_schedule_is_made(refused, told):
    world = World(lambda host: MemoryGroup(host.now))
    with pytest.raises(InvalidInput, match=told):
        PUT(world.schedules, **refused)
    assert world.schedules.list() == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (partial(cron, "0 8 * *"), r"expression='0 8 \* \*': .*cron has six fields"),
        (partial(cron, "61 8 * * ? *"), r"expression=.*61 is not between 0 and 59"),
        (partial(cron, "0-1-2 8 * * ? *"), r"expression=.*0-1-2 is no value, range or step"),
        (partial(cron, "0 8 * * * *"), r"one of the day of the month and the day of the week"),
        (partial(cron, 8), r"expression=8: must be text"),
        (partial(cron, f"{'1,' * 200}1 8 * * ? *"), r"is longer than the 256 characters"),
        (partial(cron, "0 8 * * ? *", time_zone="Europe/Berln"), r"did you mean Europe/Berlin"),
        (partial(cron, "0 8 * * ? *", time_zone=None), r"time_zone=None: is no time zone"),
        (partial(every, 90), r"interval=90: must be whole minutes"),
        (partial(every, 0), r"interval=0: must be whole minutes"),
        (partial(every, "1h"), r"interval='1h': must be a number of seconds or a timedelta"),
        (partial(at, datetime(2030, 1, 1)), r"moment=.*must be a datetime with a time zone"),  # noqa: DTZ001
    ],
)
def test_times_that_are_none_are_refused_with_the_remedy(made, told):
    with pytest.raises(InvalidInput, match=told):
        made()


def test_times_are_said_in_schedulers_words():
    said = [every(60), every(5400), every(timedelta(days=2)), cron("cron(0  8 ? * MON *)")]
    assert [one.expression for one in said] == [
        *("rate(1 minute)", "rate(90 minutes)", "rate(2 days)", "cron(0 8 ? * MON *)")
    ]
    berlin = datetime.fromisoformat("2030-01-31T13:30:00.9+01:00")
    assert str(at(berlin)) == "at(2030-01-31T12:30:00) UTC"


# In memory


def test_in_memory_a_schedule_fires_as_often_as_one_asks_and_each_time_once():
    world = World(lambda host: MemoryGroup(host.now))
    world.schedules.put("hourly", HOURLY, "report.send")
    world.schedules.put("daily", DAILY, "report.send", if_exists="replace")
    world.schedules.put("once", at(datetime.fromtimestamp(world.host.now() / 1e6 + 60, UTC)), "a")
    assert [fire_schedules(world.queue), fire_schedules(world.queue)] == [1, 0]
    world.host.advance(60)
    assert fire_schedules(world.queue) == 1
    assert world.schedules.get("once") is None
    world.host.advance(86_400)
    assert [fire_schedules(world.queue), fire_schedules(world.queue)] == [2, 0]
    assert world.queue.get("daily") is not None
    ids = [task.task_id for task in world.queue.peek()]
    assert [one for one in ids if one.startswith("hourly")] == ["hourly-2027-01-15T09:00:00Z"]


def test_what_scheduler_alone_understands_is_refused_in_memory():
    world = World(lambda host: MemoryGroup(host.now))
    with pytest.raises(InvalidInput, match=r"cannot fire in memory: .* L, W and #"):
        world.schedules.put("a", cron("0 8 L * ? *"), "report.send")


def test_the_runner_of_tests_fires_what_is_due_and_runs_it(lifoq_queue, lifoq_host, lifoq_run):
    lifoq_queue.schedules.put("tidy", HOURLY, "nobody.runs")
    lifoq_run()
    lifoq_host.advance(3600)
    lifoq_run()
    assert len(lifoq_queue.peek()) == 1  # the first is past its deadline
    assert str(lifoq_queue.waiting()) == "2"


# In EventBridge Scheduler


def test_scheduler_is_told_of_function_role_retries_and_the_id_with_its_time(
    in_moto, stored, target
):
    in_moto.schedules.put("a", HOURLY, "report.send", 1, deadline=30)
    in_moto.schedules.put("b", at(datetime(2099, 1, 1, tzinfo=UTC)), "report.send")
    a, b = stored(Name="a"), stored(Name="b")
    assert a["Target"] == {
        "Arn": target.function,
        "RoleArn": target.role,
        "Input": a["Target"]["Input"],
        "RetryPolicy": {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 3},
        "DeadLetterConfig": {"Arn": target.dead_letters},
    }
    assert json.loads(a["Target"]["Input"]) == {
        "taskType": "report.send",
        "payload": 1,
        "taskId": "a-<aws.scheduler.scheduled-time>",
        "deadline": 30,
    }
    assert (a["State"], a["FlexibleTimeWindow"]) == ("ENABLED", {"Mode": "OFF"})
    assert (a["ActionAfterCompletion"], b["ActionAfterCompletion"]) == ("NONE", "DELETE")
    assert b["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"] == 7200


def test_one_that_somebody_has_disabled_is_shown_so_and_enabled_by_a_put(
    in_moto, stored, moto_endpoint
):
    in_moto.schedules.put("a", HOURLY, "report.send")
    found = stored(Name="a")
    told = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    scheduler_of(moto_endpoint).update_schedule(
        State="DISABLED", **{name: found[name] for name in told}
    )
    assert not in_moto.schedules.get("a").enabled
    in_moto.schedules.put("a", HOURLY, "report.send")
    assert in_moto.schedules.get("a").enabled


class Refusing:
    """A client of Scheduler that answers some operations with errors, one after the other."""

    def __init__(self, client: Any, **codes: list[str]) -> None:
        self._client = client
        self._codes = codes

    def __getattr__(self, name: str) -> Any:
        codes = self._codes.get(name)
        if not codes:
            return getattr(self._client, name)
        code, _, message = codes.pop(0).partition(": ")
        answer = {"Error": {"Code": code, "Message": message or "said so"}}

        def refuse(**_: Any) -> Any:
            raise ClientError(answer, self._client.meta.method_to_api_mapping[name])  # type: ignore[arg-type]

        return refuse


@pytest.mark.parametrize("name", ["create_schedule", "update_schedule"])
def test_a_put_begins_anew_where_another_client_was_faster(in_moto, name):
    if name == "update_schedule":
        in_moto.schedules.put("a", HOURLY, "before")
    group: Any = in_moto.queue.schedule_group
    group._client = Refusing(group._client, **{name: ["ConflictException"]})
    in_moto.schedules.put("a", HOURLY, "report.send")
    assert in_moto.schedules.get("a").task.task_type == "report.send"
    group._client = Refusing(group._client, **{name: ["ConflictException"] * 5})
    if name == "create_schedule":
        in_moto.schedules.delete("a")
    with pytest.raises(StoreUnavailable, match="made and deleted by others all the time"):
        in_moto.schedules.put("a", HOURLY, "again")


def test_what_scheduler_refuses_is_told_in_a_sentence(in_moto):
    group: Any = in_moto.queue.schedule_group
    scheduler = group._client
    for code, error, told in (
        ("AccessDeniedException", QueueMisconfigured, r"let it by grant_schedule \(said so\)"),
        ("ResourceNotFoundException", QueueMisconfigured, "there is no schedule group"),
        ("ServiceQuotaExceededException", QueueMisconfigured, "no more schedules .*: said so"),
        (
            "ValidationException: Invalid Schedule Expression rate(1 hour).",
            InvalidInput,
            r"when='rate\(1 hour\)': Invalid Schedule Expression",
        ),
        (
            "ValidationException: The execution role you provide must allow AWS to assume it.",
            QueueMisconfigured,
            "refuses the schedule: The execution role",
        ),
        ("ThrottlingException", StoreUnavailable, "schedule 'a': CreateSchedule: Thrott"),
    ):
        group._client = Refusing(scheduler, create_schedule=[code])
        with pytest.raises(error, match=told):
            in_moto.schedules.put("a", HOURLY, "report.send")


def test_schedules_cannot_be_listed_where_their_group_is_gone(in_moto):
    group: Any = in_moto.queue.schedule_group
    group._client = Refusing(group._client, list_schedules=["ResourceNotFoundException"])
    with pytest.raises(QueueMisconfigured, match="there is no schedule group"):
        in_moto.schedules.list()


def test_schedules_are_listed_page_by_page(in_moto):
    for name in "abc":
        in_moto.schedules.put(name, HOURLY, "report.send")
    group: Any = in_moto.queue.schedule_group
    group._client.meta.events.register(
        "provide-client-params.scheduler.ListSchedules",
        lambda params, **_: {**params, "MaxResults": 1},
    )
    assert {one.name for one in in_moto.schedules.list()} == {"a", "b", "c"}


@pytest.mark.parametrize("told", ["[]", "text"])
def test_a_schedule_that_this_library_has_not_made_is_named_and_replaced_by_a_put(
    in_moto, target, moto_endpoint, told
):
    scheduler_of(moto_endpoint).create_schedule(
        Name="foreign",
        GroupName=target.group,
        ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": target.function, "RoleArn": target.role, "Input": told},
    )
    with pytest.raises(QueueMisconfigured, match="schedule 'foreign' is none that lifoq has made"):
        in_moto.schedules.list()
    in_moto.schedules.put("foreign", HOURLY, "report.send")
    assert [one.name for one in in_moto.schedules.list()] == ["foreign"]


# By the queue's name


def test_a_queue_that_is_found_by_its_name_brings_its_schedules(moto_endpoint, target):
    arguments = {"endpoint_url": moto_endpoint, **dynamodb_local.CREDENTIALS}
    name = f"queue-{uuid.uuid4().hex[:8]}"
    settings = Connection(table="t", lifetimes=LIFETIMES, schedules=target)
    boto3.client("ssm", **arguments).put_parameter(
        Name=parameter_name(name), Value=settings.encode(), Type="String"
    )
    schedules = Queue.connect(name, **arguments).schedules
    schedules.put("a", HOURLY, "report.send")
    assert [one.name for one in schedules.list()] == ["a"]


def test_a_queue_without_schedules_says_what_to_do(moto_endpoint):
    arguments = {"endpoint_url": moto_endpoint, **dynamodb_local.CREDENTIALS}
    with pytest.raises(QueueMisconfigured, match="deploy it with schedules=True"):
        _ = Queue.connect(table="t", **arguments).schedules
    assert "schedules" not in json.loads(Connection(table="t", lifetimes=LIFETIMES).encode())
