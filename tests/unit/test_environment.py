"""Environment variables: a function reads what the deployment writes; a value that makes no sense
is told by its name."""

import json
import math
from dataclasses import fields

import pytest

from lifoq import Backoff, BadEnvironment, Lifetimes, WorkerSettings, environment
from lifoq.environment import Environment, Variable

WORKER = WorkerSettings(
    window=1.5,
    task_timeout=2.5,
    lease=31.5,
    heartbeat=0.1,
    in_flight=7,
    total_in_flight=9,
    shared_limits=True,
    page=11,
    max_attempts=13,
    backoff=Backoff(
        min_seconds=1 / 3,
        max_seconds=17,
        growth="linear",
        immediate=1,
        pre_backoff=2,
        post_backoff=3,
        jitter=False,
    ),
    rate_limit=1e-5,
    adaptive_threshold=19,
    fair_share=True,
    types_elsewhere=frozenset({"é", "b"}),
    unknown_types="fail",
    linger=0.3,
    settle_time=0.7,
)
LIFETIMES = Lifetimes(
    deadline=1e6 / 3,
    success_retention=5,
    failure_retention=7,
    shed_at_deadline=True,
    task_tokens=True,
)


@pytest.mark.parametrize("settings", [WORKER, WORKER.backoff, LIFETIMES], ids=type)
def test_no_setting_is_left_at_its_default(settings):
    usual = type(settings)()
    assert [
        one.name for one in fields(usual) if getattr(usual, one.name) == getattr(settings, one.name)
    ] == []


def test_settings_are_read_as_they_were_written():
    read = Environment(environment.of_queue("tasks", LIFETIMES) | environment.of_worker(WORKER))
    assert (read.table_name, read.lifetimes(), read.worker()) == ("tasks", LIFETIMES, WORKER)


def changed(**terms):
    settings = json.loads(environment.of_worker(WorkerSettings())[Variable.WORKER]) | terms
    return {Variable.WORKER: json.dumps(settings)}


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (changed(window="soon"), "window='soon': must be a number"),
        (changed(window=math.nan), "window=nan: must be a number"),
        (changed(heartbeat=40), "heartbeat=40: must be shorter than the lease, which is"),
        (changed(backoff={"growth": "fast"}), "must be exponential"),
        ({Variable.WORKER: "{"}, "does not hold WorkerSettings"),
        ({Variable.WORKER: "[]"}, "does not hold WorkerSettings"),
        ({}, "is not set; the deployment sets it"),
    ],
)
def test_a_bad_value_is_told_with_its_variable_and_the_remedy(variables, sentence):
    with pytest.raises(BadEnvironment) as caught:
        Environment(variables).worker()
    assert caught.value.variable == Variable.WORKER
    assert "environment variable LIFOQ_WORKER" in str(caught.value)
    assert sentence in str(caught.value)
    assert "deploy the queue anew" in str(caught.value)


def test_what_a_later_release_says_beside_and_what_others_need_is_left_alone():
    assert Environment(changed(colour="red")).worker() == WorkerSettings()
    assert Environment({Variable.PROCESS_TOPIC: "arn"}).process_topic_arn == "arn"
