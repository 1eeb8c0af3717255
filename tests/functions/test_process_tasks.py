"""ProcessTasksFunction: one run, its numbers, its tail call."""

import logging
import sys
import time
from dataclasses import replace
from unittest.mock import Mock

import boto3
import pytest

import functions.tasks  # noqa: F401 - its types are there before a test's own
from lab import dynamodb_local
from lifoq import ProcessUnusable, Queue, RunReport
from lifoq.aws.bucket import in_bucket
from lifoq.items.schema import SMOKE_TYPE
from lifoq.store.large_values import INLINE
from lifoq.store.store import Store
from lifoq.targets.configured import encode
from lifoq.targets.https import HttpsTarget
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.run import tally
from lifoq_cdk.queries import QUERIES
from tests.downstream import downstream
from tests.fixtures import noise
from tests.functions.conftest import WORKER

__all__ = ["downstream"]


SNS = {"Records": [{"Sns": {"Timestamp": "1970-01-01T00:00:02.500Z"}}]}


@pytest.fixture(autouse=True)
def types(monkeypatch):
    """The task types of a test's own go with it."""
    monkeypatch.setattr(REGISTRY, "_types", {**REGISTRY._types})


def test_a_run_does_the_tasks_and_says_so(load, context, queue, metrics, trigger_topic, downstream):
    """The tasks ask a service, or are those of a fresh deployment."""
    target = HttpsTarget(url=downstream.url, timeout=5, allowed_networks=("127.0.0.0/8",))
    function = load("process_tasks", LIFOQ_TARGETS=encode({"device.check": target}))
    greeting, asked = queue.put("greet", "Ada"), queue.put("device.check", {"device": 7})
    metrics()
    summary = function.handle({"Records": []}, context)
    assert (summary["TasksClaimed"], summary["TasksSucceeded"]) == (2, 2)
    assert not summary["remaining"]
    assert queue.get(asked.task_id).result == {}
    assert queue.get(greeting.task_id).result == "Hello, Ada!"
    counted = metrics()
    assert (sum(counted["TasksClaimed"]), sum(counted["TasksSucceeded"])) == (2, 2)
    assert min(counted["WaitSeconds"]) >= 0
    assert trigger_topic.messages() == []


def test_a_run_reads_and_writes_what_lies_in_the_bucket_of_the_queue(
    load, context, table, moto_endpoint
):
    s3 = {"endpoint_url": moto_endpoint, **dynamodb_local.CREDENTIALS}
    boto3.client("s3", **s3).create_bucket(Bucket=table.name)
    queue, name = Queue(Store(table, large=in_bucket(table.name, **s3))), noise(2 * INLINE)
    queue.put("greet", name, task_id="t")
    load("process_tasks", LIFOQ_BUCKET=table.name).handle({}, context)
    assert queue.get("t").result == f"Hello, {name}!"


def test_the_tasks_that_try_a_deployed_queue_end_as_they_are_asked_to(load, context, queue):
    for name, asked in (("a", {"answer": 7}), ("b", {"retries": 1}), ("c", {"fails": True})):
        queue.put(SMOKE_TYPE, asked, task_id=name)
    load("process_tasks").handle({}, context)
    ended = queue.get_many(["a", "b", "c"]).values()
    assert [(task.status, task.attempts, task.result) for task in ended] == [
        ("SUCCESS", 1, 7),
        ("SUCCESS", 2, None),
        ("FAILURE", 1, None),
    ]


def test_what_task_code_logs_has_the_id_of_its_task(load, context, queue, caplog):
    REGISTRY.task("test.logs")(lambda _, __: logging.getLogger("team").warning("told"))
    task_id = queue.put("test.logs").task_id
    load("process_tasks").handle({}, context)
    assert [each.taskId for each in caplog.records if each.name == "team"] == [task_id]


def test_a_run_knows_when_its_kick_was_sent_and_calls_the_next_where_tasks_remain(
    load, context, monkeypatch, trigger_topic, metrics
):
    """A saved query asks for what it says at its end."""
    function, info = load("process_tasks"), Mock()
    monkeypatch.setattr(function.logger, "info", info)
    assert "filter message = 'run over'" in QUERIES["runs of the processor"]
    for event, sent, report, calls in (
        (SNS, 2_500_000, RunReport(claimed=1, remaining=True), 1),
        ("by hand", None, RunReport(remaining=True), 0),  # without progress
        ("by hand", None, RunReport(claimed=1), 0),
    ):
        run = Mock(return_value=report)
        monkeypatch.setattr(function.processor, "run", run)
        answered = function.handle(event, context)
        assert answered["remaining"] is report.remaining
        info.assert_called_with("run over", extra=answered)
        assert (run.call_args.kwargs["woken_at"], run.call_args.kwargs["time_limit"]) == (sent, 60)
        assert len(trigger_topic.messages()) == calls
        assert metrics() == ({"TailCalls": [1]} if calls else {})


def test_each_count_of_a_run_is_a_metric_of_its_own(load, metrics):
    load("process_tasks").record(
        RunReport(
            claimed=1,
            succeeded=2,
            failed=4,
            dead_lettered=8,
            retried=16,
            timed_out=32,
            leases_lost=64,
            unsettled=128,
            promoted=256,
            waits=[0.5, 1.5],
            services=[2.5, 3.5],
            limits={"check": 24.5},
        )
    )
    assert metrics() == {
        "TasksClaimed": [1],
        "TasksSucceeded": [2],
        "TasksFailed": [4 + 8],
        "TasksRetried": [16],
        "TasksTimedOut": [32],
        "LeasesLost": [64],
        "TasksUnsettled": [128],
        "TasksPromoted": [256],
        "WaitSeconds": [0.5, 1.5],
        "ServiceSeconds": [2.5, 3.5],
        "ConcurrencyFound check": [24.5],
    }


def test_a_long_run_counts_while_it_lasts(load, context, queue, monkeypatch, metrics):
    REGISTRY.task("test.slow")(lambda _, __: time.sleep(0.3))
    for n in range(4):
        queue.put("test.slow", n)
    monkeypatch.setattr(tally, "PROGRESS_EVERY", 0.2)
    function = load("process_tasks", replace(WORKER, in_flight=1))
    metrics()
    function.handle({}, context)
    told = metrics()
    assert sum(told["TasksClaimed"]) == sum(told["TasksSucceeded"]) == 4
    assert len(told["WaitSeconds"]) == len(told["ServiceSeconds"]) == 4
    assert len([count for count in told["TasksClaimed"] if count]) > 1


def test_a_process_that_can_run_nothing_more_says_so_and_ends(
    load, context, monkeypatch, caplog, metrics, trigger_topic
):
    function = load("process_tasks")
    report = RunReport(claimed=3, succeeded=2, remaining=True)

    def unusable(*, on_progress, **_):
        on_progress(report)
        raise ProcessUnusable("handlers that hang take all slots", report)

    monkeypatch.setattr(function.processor, "run", unusable)
    monkeypatch.setattr(function.os, "_exit", sys.exit)  # which cannot be survived here
    with pytest.raises(SystemExit, match="1"):
        function.handle({}, context)
    told = metrics()
    assert (told["TasksClaimed"], told["TasksSucceeded"], told["TailCalls"]) == ([3], [2], [1])
    assert "take all slots" in caplog.text
    assert len(trigger_topic.messages()) == 1
