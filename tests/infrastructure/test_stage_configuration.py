"""A stage's configuration: what it defaults to, and what it refuses in which words."""

import json
import math
import os
import subprocess
import sys
from typing import Any

import pytest

from lifoq_cdk import HttpsTarget, LambdaTarget
from stacks.config import ConfigurationError, StageConfig, load_stage
from tests.infrastructure.deployments import CONTEXT, ROOT


def configured(**settings: Any) -> StageConfig:
    return load_stage("trial", {"trial": settings})


def schedule(**settings: Any) -> dict[str, Any]:
    return {"schedules": [{"name": "a", "task_type": "t", "expression": "rate(1 day)", **settings}]}


def deep(levels: int) -> list[Any]:
    return json.loads("[" * levels + "]" * levels)


def refusal(**settings: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        configured(**settings)
    return str(refused.value)


def test_defaults_are_those_of_the_design() -> None:
    stage = configured()

    assert stage.deadline_seconds == 3600
    assert stage.window_seconds == 60
    assert stage.processor_concurrency == 1
    assert (stage.in_flight, stage.page) == (10, 10)
    assert (stage.lease_seconds, stage.heartbeat_seconds) == (30, 10)
    assert stage.max_attempts == 5
    assert stage.backoff.growth == "exponential"
    assert (stage.backoff.min_seconds, stage.backoff.max_seconds) == (1, 900)
    assert (stage.retention_success_days, stage.retention_failure_days) == (7, 14)
    assert (stage.stream.batch_size, stage.stream.batching_window_seconds) == (1000, 0)
    assert stage.async_invocation.max_event_age_seconds == 60
    assert stage.async_invocation.retry_attempts == 0
    assert stage.schedule_invocation.max_event_age_seconds == 3600
    assert stage.schedule_invocation.retry_attempts == 2
    assert stage.sweep_minutes == 1


@pytest.mark.parametrize("name", sorted(CONTEXT["stages"]))
def test_the_stages_in_cdk_json_are_valid(name: str) -> None:
    load_stage(name, CONTEXT["stages"])


def test_events_that_tell_nobody_are_refused() -> None:
    sentence = refusal(events={"topic": False})
    assert "events.topic and events.step_functions are both false" in sentence
    assert "set one of them" in sentence


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ({}, "targets.a ({}) must be either https or function: give one of them"),
        ({"https": {}}, "targets.a.https.url is missing: set it"),
        ({"https": {"url": "http://shop.example"}}, "is sent in the clear: use https"),
        ({"https": {"url": "https://a.example", "metod": "GET"}}, "did you mean method"),
        ({"https": {"url": "https://a.example", "timeout_seconds": 61}}, "raise task_timeout"),
        ({"https": {"url": "https://a.example/" + 2000 * "x"}}, "2,000 fit: write code for some"),
        ({"function": {"function_arn": "resize"}}, "must be the ARN of a Lambda function"),
        ({"http": {}}, "unknown setting targets.a.http ({}): did you mean https"),
    ],
)
def test_a_target_that_cannot_work_is_refused(target: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(targets={"a": target})


def test_a_target_is_as_the_library_knows_it() -> None:
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:resize"
    targets = configured(
        targets={
            "a": {"https": {"url": "https://a.example", "timeout_seconds": 5}},
            "b": {"function": {"function_arn": arn, "max_attempts": 2}},
        }
    ).targets
    assert targets["a"].as_library() == HttpsTarget(url="https://a.example", timeout=5)
    assert targets["b"].as_library() == LambdaTarget(function_arn=arn, max_attempts=2)


def test_no_stage_makes_load_by_itself() -> None:
    for name, settings in CONTEXT["stages"].items():
        assert not settings.get("load", {}).get("enabled", False), name


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"deadine_seconds": 600}, ["deadine_seconds (600)", "did you mean deadline_seconds"]),
        ({"backoff": {"min_secs": 1}}, ["backoff.min_secs (1)", "did you mean min_seconds"]),
        ({"long_tasks": {"a": {"tpyes": []}}}, ["long_tasks.a.tpyes ([])", "did you mean types"]),
        ({"colour": "red"}, ["colour ('red')", "remove it", "deadline_seconds"]),
        ({"name": "other"}, ["name ('other') is no setting", "remove it"]),
        ({"deadline_seconds": "600"}, ["deadline_seconds ('600')", "valid number"]),
        ({"deadline_seconds": 0}, ["deadline_seconds (0)", "greater than 0"]),
        ({"adaptive_threshold_seconds": 0}, ["adaptive_threshold_seconds (0)", "greater than 0"]),
        ({"page": 2.5}, ["page (2.5)", "integer"]),
        ({"in_flight": True}, ["in_flight (True)", "integer"]),
        ({"max_attempts": 0}, ["max_attempts (0)", "greater than or equal to 1"]),
        ({"log_retention_days": 8}, ["log_retention_days (8)", "7, 14"]),
        ({"backoff": {"growth": "cubic"}}, ["backoff.growth ('cubic')", "'linear'"]),
        ({"alarms": {"email": "nobody"}}, ["alarms.email ('nobody')", "pattern"]),
        ({"analytics": {"window_minutes": 45}}, ["analytics.window_minutes (45)", "30, 60"]),
        (
            {"schedules": [{"name": "a", "task_type": "t", "expression": "hourly"}]},
            ["schedules.0.expression ('hourly')", "rate"],
        ),
        ({"schedules": [{"nam": "a"}]}, ["schedules.0.nam ('a')", "did you mean name"]),
        (
            {"load": {"task_type": "t", "tasks_per_second": 1, "seconds": 90}},
            ["load.seconds (90)", "less than or equal to 60"],
        ),
        ({"load": {"task_type": "t"}}, ["load.tasks_per_second is missing", "set it"]),
        ({"deadline_seconds": 1e300}, ["deadline_seconds (1e+300)", "less than or equal to"]),
        ({"deadline_seconds": math.nan}, ["deadline_seconds (nan)", "finite"]),
        ({"alarms": {"shed_per_minute": math.inf}}, ["alarms.shed_per_minute (inf)", "finite"]),
        (schedule(time_zone="Mars/X"), ["schedules.0.time_zone ('Mars/X') is no time zone"]),
        (schedule(time_zone="Europe/Berln"), ["did you mean Europe/Berlin"]),
        (schedule(payload=[math.nan]), ["schedules.0.payload ([nan]) cannot be sent"]),
        (schedule(payload=deep(300)), ["schedules.0.payload ([[", "nested", "flatten it"]),
        ({"task_secrets": {"KEY": "a b"}}, ["task_secrets.KEY ('a b')", "pattern"]),
        ({"producer_role_arns": ["me"]}, ["producer_role_arns.0 ('me')", "pattern"]),
        ({"ingest": {"queue_arns": ["orders"]}}, ["ingest.queue_arns.0 ('orders')", "pattern"]),
        (
            {"ingest": {"mapping": {"task_type": "body.["}}},
            ["ingest.mapping.task_type ('body.[')", "no JMESPath expression"],
        ),
        ({"ingest": {"mapping": {"task_typ": "x"}}}, ["did you mean task_type"]),
        ({"ingest": {"events": [{}]}}, ["would match every event"]),
        ({"api": {"requests_per_second": 0}}, ["api.requests_per_second (0)", "greater than 0"]),
    ],
)
def test_a_single_wrong_setting_is_refused_by_key_value_and_remedy(
    settings: dict[str, Any], words: list[str]
) -> None:
    sentence = refusal(**settings)

    assert sentence.startswith("Stage 'trial': ")
    for word in words:
        assert word in sentence


def load(**settings: Any) -> dict[str, Any]:
    return {"load": {"task_type": "t", "tasks_per_second": 5, **settings}}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"window_seconds": 840, "task_timeout_seconds": 60},
            ["window_seconds (840)", "task_timeout_seconds (60)", "at most 885"],
        ),
        (
            {"async_invocation": {"retry_attempts": 1}},
            [
                "async_invocation.max_event_age_seconds (60)",
                "async_invocation.retry_attempts (1)",
                "at least 195",  # the wait of a minute, and a processor that ran into its timeout
            ],
        ),
        (
            {"schedule_invocation": {"max_event_age_seconds": 239}},
            ["schedule_invocation.max_event_age_seconds (239)", "at least 240"],
        ),
        ({"heartbeat_seconds": 16}, ["heartbeat_seconds (16)", "lease_seconds (30)", "half"]),
        (
            {"lease_seconds": 90_000, "retention_success_days": 1},
            ["lease_seconds (90000)", "retention_success_days (1)", "shorten"],
        ),
        (
            {"backoff": {"min_seconds": 20, "max_seconds": 10}},
            ["backoff.min_seconds (20)", "backoff.max_seconds (10)", "swap"],
        ),
        (
            {"adaptive_threshold_seconds": 3600},
            ["adaptive_threshold_seconds (3600)", "deadline_seconds (3600)", "lower it"],
        ),
        (
            {"deadline_seconds": 1},
            ["backoff.min_seconds (1)", "deadline_seconds (1)", "lower it"],
        ),
        (
            {"deadline_seconds": 600, "analytics": {"window_minutes": 15}},
            ["analytics.window_minutes (15)", "deadline_seconds (600)", "shorten the window"],
        ),
        (
            {"total_in_flight": 30},
            ["total_in_flight (30) holds over all workers together", "add shared_limits: true"],
        ),
        (load(profile="burst", period_seconds=60), ["'burst' needs load.peak_tasks_per_second"]),
        (
            load(profile="sine", peak_tasks_per_second=9),
            ["'sine' needs load.period_seconds"],
        ),
        (load(period_seconds=60), ["load.period_seconds (60)", "'constant'", "remove it"]),
        (
            load(profile="sine", peak_tasks_per_second=1, period_seconds=60),
            ["load.peak_tasks_per_second (1)", "load.tasks_per_second (5)", "swap"],
        ),
        (
            {"schedules": [{"name": "a", "task_type": "t", "expression": "rate(1 hour)"}] * 2},
            ["schedules has the name 'a' twice", "rename one"],
        ),
        ({"task_environment": {"LIFOQ_TABLE": "x"}}, ["task_environment.LIFOQ_TABLE", "choose"]),
        ({"task_environment": {"AWS_REGION": "x"}}, ["task_environment.AWS_REGION", "choose"]),
        ({"task_environment": {"A-B": "x"}}, ["task_environment.A-B", "choose"]),
        ({"task_secrets": {"AWS_KEY": "x"}}, ["task_secrets.AWS_KEY", "choose"]),
        (
            {"task_environment": {"KEY": "x"}, "task_secrets": {"KEY": "y"}},
            ["task_secrets.KEY", "rename"],
        ),
    ],
)
def test_settings_that_cannot_work_together_are_refused(
    settings: dict[str, Any], words: list[str]
) -> None:
    sentence = refusal(**settings)

    for word in words:
        assert word in sentence
    assert "\n" not in sentence


def test_every_wrong_setting_gets_its_own_line() -> None:
    lines = refusal(page=0, in_flight=0).splitlines()

    assert len(lines) == 2


def test_overrides_win_and_merge_into_groups() -> None:
    stages = {"trial": {"deadline_seconds": 60, "backoff": {"min_seconds": 2, "max_seconds": 9}}}

    stage = load_stage("trial", stages, '{"backoff": {"max_seconds": 5}, "page": 3}')

    assert stage.deadline_seconds == 60
    assert (stage.backoff.min_seconds, stage.backoff.max_seconds) == (2, 5)
    assert stage.page == 3


@pytest.mark.parametrize("overrides", ["{", "[1]", "null", "deadline_seconds=600", '{"page": NaN}'])
def test_overrides_that_are_no_json_object_are_refused(overrides: str) -> None:
    with pytest.raises(ConfigurationError, match="deadline_seconds"):
        load_stage("trial", {"trial": {}}, overrides)


def test_overrides_that_are_nested_beyond_reason_are_refused_in_few_words() -> None:
    with pytest.raises(ConfigurationError, match="nested too deeply") as refused:
        load_stage("trial", {"trial": {}}, '{"backoff":' * 100_000)

    assert len(str(refused.value)) < 200


def test_an_unknown_stage_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"'prd' is unknown.*demo, dev, prod"):
        load_stage("prd", CONTEXT["stages"])


@pytest.mark.parametrize("name", ["Prod", "1st", "a" * 21, "a_b"])
def test_a_stage_name_that_cannot_be_in_a_stack_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="stack names"):
        load_stage(name, {name: {}})


def test_the_application_refuses_with_one_sentence_and_no_traceback() -> None:
    context = {**CONTEXT, "stage": "dev", "overrides": '{"pages": 3}'}
    finished = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "CDK_CONTEXT_JSON": json.dumps(context)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 1
    assert finished.stderr == "Stage 'dev': unknown setting pages (3): did you mean page.\n"


def test_long_workers_that_could_not_be_scaled_are_refused() -> None:
    group = {"types": ["a"], "repository": "videos", "tag": "v1"}
    assert configured(long_tasks={"A": group}).long_tasks["A"].max_workers == 10
    told = refusal(long_tasks={"A": {**group, "min_workers": 3, "max_workers": 2}})
    assert "max_workers" in told
    assert "min_workers, 3: raise it" in told
