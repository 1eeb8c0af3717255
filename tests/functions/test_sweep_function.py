"""SweepFunction: what it brings back, measures, and wakes."""

import importlib
import json
import time
from dataclasses import replace
from unittest.mock import Mock

from lifoq import Count, NewTask, QueueStats, SweepReport
from lifoq.items.lifetimes import Lifetimes
from lifoq.metrics import Metric
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq_cdk.queries import OF_A_SWEEP, QUERIES
from tests.functions.conftest import WORKER


def earlier(queue, seconds, **lifetimes) -> Store:
    """The queue's store, some seconds ago."""
    host = ManualHost(start=time.time_ns() // 1000 - seconds * 1_000_000)
    return Store(queue.store.table, lifetimes=Lifetimes(**lifetimes), host=host)


def put(store: Store, task_id: str, **terms):
    return store.put(NewTask(task_type="greet", task_id=task_id, **terms))


def test_a_lost_kick_is_made_up_for_and_a_queue_that_stands_still_is_told(
    load, context, queue, processor_topic, metrics, monkeypatch
):
    put(earlier(queue, 30), "t")
    sweep = load("sweep")
    monkeypatch.setattr(sweep.watch, "stalled", lambda *_: True)
    info = Mock()
    monkeypatch.setattr(sweep.logger, "info", info)
    answered = sweep.handle({}, context)
    info.assert_called_once_with("swept", extra=answered)  # which a saved query asks for
    assert "filter message = 'swept'" in QUERIES["what the sweep found"]
    assert (answered["finished"], answered["Kicks"]) == (True, 1)
    assert len(processor_topic.messages()) == 1
    counted = metrics()
    assert [counted[name] for name in ("Kicks", "TasksPending", "Stalled")] == [[1.0]] * 3
    assert 30 <= counted["OldestWaitingAgeSeconds"][0] < 60


def test_a_sweep_of_an_empty_queue_sends_no_metric_unless_its_monitoring_is_detailed(
    load, context, metrics, monkeypatch, recwarn
):
    """CloudWatch bills a metric by the hours in which it is sent."""
    load("sweep").handle({}, context)
    assert metrics() == {}
    assert [str(one.message) for one in recwarn] == []
    monkeypatch.setattr("lifoq_functions.measure._zeros", True)
    load("sweep").handle({}, context)
    gauges = {metric for metric in Metric if metric.gauge} - {Metric.TASKS_OPEN}
    assert metrics() == {metric: [0] for metric in (*gauges, *OF_A_SWEEP)}


def test_each_count_and_each_gauge_of_a_sweep_is_a_metric_of_its_own(load, metrics, monkeypatch):
    """And the log says which of them stopped at their cap."""

    def count(value):
        return Count(value=value, capped=False)

    function, logged = load("sweep"), []
    monkeypatch.setattr(function.logger, "warning", lambda _, metrics: logged.append(metrics))
    function.emit(
        function.counts(SweepReport(leases_expired=1, failed=2, dead_lettered=4, promoted=8))
    )
    function.emit_gauges(
        QueueStats(
            pending=count(1),
            live=count(2),
            expired_present=count(4),
            shed_lately=count(1),
            delayed=count(8),
            taken=count(16),
            failure=Count(value=32, capped=True),
            failed_lately=count(1),
            newest_waiting_seconds=0.5,
            oldest_waiting_seconds=64.5,
            deadline_seconds=3_600,
        )
    )
    assert logged == [["TasksInFailure"]]
    importlib.import_module("lifoq_functions.measure").flush()
    assert metrics() == {
        "LeasesExpired": [1],
        "TasksFailed": [2 + 4],
        "TasksPromoted": [8],
        "Kicks": [1],
        "TasksPending": [2],
        "TasksExpiredPresent": [4],
        "TasksDelayed": [8],
        "TasksTaken": [16],
        "TasksInFailure": [32],
        "NewestWaitingAgeSeconds": [0.5],
        "OldestWaitingAgeSeconds": [64.5],
    }


def test_tasks_that_no_worker_knows_are_told_by_their_types_and_wake_nobody(
    load, context, queue, processor_topic, metrics, monkeypatch
):
    queue.put("new")
    queue.put("newer")
    sweep, logged = load("sweep"), []
    monkeypatch.setattr(sweep.logger, "warning", lambda *_, extra: logged.append(extra))
    sweep.watch._patience = 0
    for _ in range(2):
        assert not sweep.handle({}, context)["Kicks"]
    assert processor_topic.messages() == []
    assert queue.stats().unknown_types == ("new", "newer")
    assert logged == [{"waiting": {"new": 1, "newer": 1}}] * 2
    counted = metrics()
    assert (counted["TasksOfUnknownTypes"], counted.get("Stalled")) == ([2, 2], None)
    load("sweep", replace(WORKER, unknown_types="fail")).handle({}, context)
    assert len(processor_topic.messages()) == 1
    assert queue.stats().unknown_types == ()


def test_what_waits_for_long_workers_is_measured_by_their_types(load, context, queue, capsys):
    before = earlier(queue, 90)
    for number in range(3):
        before.put(NewTask(task_type="encode", task_id=f"e{number}"))
    before.claim("e0", claim_id="c", lease=600)
    before.put(NewTask(task_type="encode", task_id="later", delay=3600))
    put(earlier(queue, 300), "another's")
    load("sweep", LIFOQ_LONG_TASKS='{"Encoders": ["encode"], "Idle": ["scan"]}').handle({}, context)
    told = {
        line["workers"]: (line["TasksOpen"], round(line["OldestWaitingAgeSeconds"][0], -1))
        for line in map(json.loads, capsys.readouterr().out.splitlines())
        if "workers" in line
    }
    assert told == {"Encoders": ([3.0], 90), "Idle": ([0.0], 0)}
