"""The real templates, deployed by the real CDK CLI to the local cloud, at work.

One run takes every way that a task can go. Its record of API calls then judges the roles: each call
is allowed, and each permission is used.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_events as events
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from lifoq import Queue
from lifoq.operating.processing import Processing
from lifoq.worker.handlers.backoff import Backoff
from lifoq_cdk import LifoQueue, QueueApi, QueueIngest, TaskEvents
from lifoq_cdk.queries import QUERIES
from lifoq_localcloud import LocalCloud
from tests.infrastructure import roles
from tests.infrastructure.deployments import Deployment, a_stage, synthesized, team_code
from tests.infrastructure.stage import (
    FORMS,
    HERE,
    LARGE,
    PAYLOAD,
    STAGE,
    Stage,
    event,
    hand_over,
    message,
    notification,
    over_http,
)
from tests.localcloud.harness import eventually

FUNCTIONS = ["trigger", "process_tasks", "sweep", "create_tasks", "ingest", "api", "task_events"]
FUNCTIONS += ["scheduled_tasks"]
DEADLINE_SECONDS = 600
WINDOW_SECONDS = 2
LAMBDAS_OWN = {
    # What the Lambda service does in the function's name: logs, traces, streams, queues.
    *("logs:CreateLogStream", "logs:PutLogEvents"),
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords"),
    *("dynamodb:DescribeStream", "dynamodb:GetRecords"),
    *("dynamodb:GetShardIterator", "dynamodb:ListStreams"),
    *("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes"),
    *("sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage"),
}
IMPLIED = {"s3:ListBucket", "iam:PassRole"}
"""Permissions without a call of their own: who has the first is told of an object that is gone; who
has the second may give a schedule its role."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory) -> Iterator[LocalCloud]:
    """TTL is late, as on AWS: the sweep deletes what was shed."""
    with LocalCloud(tmp_path_factory.mktemp("cloud"), ttl_delay_seconds=3600) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def assembly(tmp_path_factory) -> Deployment:
    """The application with a team's own task code in it."""
    seconds = cdk.Duration.seconds
    tasks = team_code(
        tmp_path_factory.mktemp("code"), Path(__file__).with_name("acceptance_tasks.py")
    )
    return synthesized(
        a_stage(
            STAGE,
            state={"large_payload_retention": cdk.Duration.days(60)},
            extend=_ways_in,
            tasks=tasks,
            deadline=seconds(DEADLINE_SECONDS),
            window=seconds(WINDOW_SECONDS),
            in_flight=2,
            lease=seconds(2),
            heartbeat=cdk.Duration.millis(500),
            task_timeout=seconds(5),
            backoff=Backoff(min_seconds=0.2, max_seconds=1),
            events=TaskEvents(step_functions=True),
            schedules=True,
            detailed_monitoring=True,
        )
    )


def _ways_in(stack: cdk.Stack, queue: LifoQueue) -> None:
    QueueIngest(
        stack,
        "Ingest",
        queue=queue,
        sources=[
            sqs.Queue.from_queue_arn(stack, "Orders", f"arn:aws:sqs:{HERE}:orders"),
            sns.Topic.from_topic_arn(stack, "News", f"arn:aws:sns:{HERE}:news"),
            events.Rule(
                stack,
                "Shop",
                event_pattern=events.EventPattern(source=["com.example.shop"]),
            ),
        ],
    )
    QueueApi(stack, "Api", queue=queue)
    queue.grant_schedule(queue.processor)


@pytest.fixture(scope="module")
def stage(cloud, assembly) -> Stage:
    cloud.client("sqs").create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "30"})
    cloud.client("sns").create_topic(Name="news")
    cloud.deploy(assembly.assembly)
    return Stage(cloud)


@pytest.fixture(scope="module")
def deployed(stage) -> Iterator[Processing]:
    """The operator's switch of the stage; from now on it is connected to by its name."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stage.cloud.environment().items():
            patch.setenv(name, value)
        yield Processing.connect(STAGE)


@pytest.fixture(scope="module")
def worked(stage, deployed) -> Stage:
    """The stage after every kind of task went its way."""
    stage.put("acceptance.succeeds", "first", {"secret": PAYLOAD})
    stage.put("acceptance.succeeds", "first", {"n": 2})
    stage.put("acceptance.follows", "leader")
    stage.put("acceptance.fails", "failure")
    stage.until("first", "SUCCESS")
    stage.until("follower", "SUCCESS")
    stage.until("failure", "FAILURE")
    # One run that lasts long enough to see its own retry fall due.
    with paused(deployed):
        stage.put("acceptance.waits", "busy", 1.5)
        stage.put("acceptance.retries", "second-try")
    stage.until("second-try", "SUCCESS")
    # One run that is over before its work is; and a task that the sweep finds due.
    with paused(deployed):
        Queue.connect(STAGE).put("acceptance.succeeds", task_id="due", delay=0.1)
        stage.until("due", "PENDING", sweeping=True)
        load = {"profile": "constant", "tasksPerSecond": 10, "seconds": 1}
        stage.put("acceptance.waits", "last", 0.1)
        stage.invoke("create_tasks", {"taskType": "acceptance.waits", "payload": 0.6, "load": load})
    stage.until("last", "SUCCESS")
    # Those that come from other services.
    stage.sent = [message(stage), notification(stage), event(stage)]
    for task_id in stage.sent:
        stage.until(task_id, "SUCCESS")
    over_http(stage)
    # What no item holds, from whoever puts.
    stage.put("acceptance.succeeds", "large", LARGE)
    large_message = message(stage, LARGE)
    for task_id in ("large", large_message):
        stage.until(task_id, "SUCCESS")
    hand_over(stage)
    # Schedules that task code makes: two fire soon.
    stage.put("acceptance.schedules", "scheduler", LARGE)
    stage.until("scheduler", "SUCCESS")
    for task_id in json.loads(stage.item("scheduler")["result"]["S"]):
        stage.until(task_id, "SUCCESS")
    # One run that is killed at work.
    stage.put("acceptance.dies", "survivor")
    stage.until("survivor", "SUCCESS", sweeping=True)
    return stage


@contextmanager
def paused(deployed: Processing) -> Iterator[None]:
    deployed.pause("the test")
    time.sleep(2 * WINDOW_SECONDS)  # A run that had begun, or was about to, ends by then.
    yield
    deployed.resume()


def test_tasks_go_every_way_to_their_end(worked):
    assert worked.item("first")["result"]["S"] == json.dumps(
        {"secret": PAYLOAD}, separators=(",", ":")
    )
    assert worked.item("leader")["result"]["S"] == '"followed"'
    assert worked.item("second-try")["attempts"]["N"] == "2"
    assert int(worked.item("survivor")["attempts"]["N"]) >= 2
    assert "never" in worked.item("failure")["error"]["S"]
    for task_id in worked.sent:
        assert json.loads(worked.item(task_id)["result"]["S"]) == {"secret": PAYLOAD}


def test_a_schedule_for_one_time_is_gone_after_it(worked, deployed):
    assert deployed
    schedules = Queue.connect(STAGE).schedules
    eventually(lambda: [one.name for one in schedules.list()] == ["hourly"])


def test_what_no_item_holds_lies_in_the_bucket_and_is_shown_whole(worked, deployed):
    assert deployed
    item = worked.item("large")
    assert set(item["payload"]) == set(item["result"]) == {"M"}
    task = Queue.connect(STAGE).get("large")
    assert (task.payload, task.result) == (LARGE, LARGE)

    put = worked.http("POST", "/tasks", {"type": "acceptance.succeeds", "payload": [LARGE]})
    got = worked.http("GET", f"/tasks/{put['id']}?wait=20")
    assert (got["payload"], got["result"]) == ([LARGE], [LARGE])


@pytest.mark.parametrize(("form", "payload"), FORMS.items())
def test_a_payload_of_each_form_goes_every_way(worked, form, payload):
    item = worked.item(form)
    assert set(item["payload"]) == {form}
    pages = worked.cloud.client("dynamodb").get_paginator("scan")
    assert item in pages.paginate(TableName=worked.table).build_full_result()["Items"]

    states = worked.cloud.client("stepfunctions")
    execution = f"arn:aws:states:{HERE}:execution:waits:{form}"

    def answered() -> dict[str, Any] | None:
        found = states.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    assert json.loads(eventually(answered)["output"]) == payload

    ends = worked.cloud.client("sqs").get_queue_url(QueueName="ends")["QueueUrl"]

    def told() -> dict[str, Any] | None:
        return next((one for one in worked.messages(ends) if one["taskId"] == form), None)

    end = eventually(told)
    assert end.get("result", end.get("resultBytes")) in (payload, len(json.dumps(payload)))


def test_a_message_that_makes_no_task_is_in_the_dead_letters_with_the_reason(worked):
    refused = message(worked, note={"DataType": "String", "StringValue": "none"})

    def letter() -> dict[str, Any] | None:
        letters = worked.messages(worked.dead_letters)
        return next((one for one in letters if refused in json.dumps(one)), None)

    assert "task_type" in eventually(letter)["reason"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_call_is_allowed_by_the_functions_role(worked, function):
    calls = worked.calls(function)

    assert calls
    assert roles.refused(calls, worked.policies(function)) == set()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_permission_is_used_and_cannot_be_taken_away_unnoticed(worked, function):
    calls = worked.calls(function)
    granted = [
        {**statement, "Action": action, "Resource": resource}
        for statement in worked.policies(function)
        for action in {*roles.as_list(statement["Action"])}
        for resource in {*roles.as_list(statement["Resource"])}
    ]
    for one in granted:
        if one["Action"] not in LAMBDAS_OWN | IMPLIED:
            assert roles.refused(calls, [other for other in granted if other is not one]), one


def test_alarms_and_dashboard_watch_metrics_that_are_emitted(worked, assembly):
    watched = own_metrics(assembly)
    assert {"TasksSucceeded", "TasksShed", "OldestWaitingAgeSeconds"} <= watched

    def emitted() -> list[dict[str, Any]]:
        return worked.cloud.client("cloudwatch").list_metrics(Namespace="lifoq")["Metrics"]

    eventually(lambda: watched <= {one["MetricName"] for one in emitted()})
    services = {dimension["Value"] for one in emitted() for dimension in one["Dimensions"]}
    assert services == {f"lifoq-{STAGE}"}


def own_metrics(deployment: Deployment) -> set[str]:
    """The names of the queue's own metrics that alarms and dashboard of a deployment read."""
    text = json.dumps(deployment.templates["queue"]).replace("\\", "")
    in_alarms = re.findall(r'"MetricName": "(\w+)", "Namespace": "lifoq"', text)
    return {*in_alarms, *re.findall(r'"lifoq","(\w+)"', text)}


def test_no_payload_is_in_the_logs(worked):
    logs = [file.read_text() for file in worked.cloud.logs.iterdir()]

    assert len(logs) == len(FUNCTIONS)
    assert not any(PAYLOAD in log for log in logs)


def test_saved_queries_ask_for_fields_that_the_logs_have(worked):
    fields = {
        key
        for file in worked.cloud.logs.iterdir()
        for line in file.read_text().splitlines()
        if line.startswith("{")
        for key in json.loads(line)
    }

    asked = {
        field
        for name in ("runs of the processor", "what the sweep found")
        for field in re.findall(r"sum\((\w+)\)", " ".join(QUERIES[name]))
    }
    assert "TasksClaimed" in asked
    assert asked <= fields
    assert {"level", "message", "function_name"} <= fields
