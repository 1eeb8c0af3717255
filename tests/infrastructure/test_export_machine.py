"""The export machine is executed, by a States Language interpreter, against scripted services."""

import dataclasses
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import jsonata
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_aws_sdk as sdk_tasks,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_glue as glue_tasks,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_sns as sns_tasks,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import (
    ResourceCondition,
)
from moto.stepfunctions.parser.asl.jsonata import jsonata as moto_jsonata

from lifoq_cdk.export_machine import ExportMachine
from lifoq_cdk.limits import EXPORT_WINDOW_MINUTES
from lifoq_cdk.spark_job import TIMEOUT_MINUTES
from tests.localcloud.harness import eventually

TABLE_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/tasks"
EXPORT_ARN = f"{TABLE_ARN}/export/01"
TOPIC_ARN = "arn:aws:sns:us-east-1:123456789012:alarms"
MACHINE = ExportMachine(
    queue_name="trial",
    window_minutes=60,
    partition="aws",
    table_name="tasks",
    table_arn=TABLE_ARN,
    bucket="exports-bucket",
    key_arn=None,
    job_name="report",
    alarm_topic_arn=TOPIC_ARN,
)


class Services:
    """Answers each call with the next scripted answer, the last one for ever, and notes it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, list[Any]] = {
            "describe_continuous_backups": [_history(latest="2026-11-20T10:05:00.000Z")],
            "export_table_to_point_in_time": [_export("IN_PROGRESS")],
            "describe_export": [_export("IN_PROGRESS"), _export("COMPLETED")],
            "start_job_run": [{"JobRunId": "jr_1"}],
            "get_job_run": [{"JobRun": {"Id": "jr_1", "JobRunState": "SUCCEEDED"}}],
            "publish": [{"MessageId": "1"}],
        }

    def __getattr__(self, action: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.calls.append((action, arguments))
            answers = self.answers[action]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, Exception):
                raise answer
            return dict(answer)

        return call

    def arguments_of(self, action: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == action]


def _history(*, latest: str, earliest: str = "2026-11-01T00:00:00Z") -> dict[str, Any]:
    return _backups(EarliestRestorableDateTime=earliest, LatestRestorableDateTime=latest)


def _backups(**recovery: str) -> dict[str, Any]:
    return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": recovery}}


def _export(status: str, **more: str) -> dict[str, Any]:
    return {"ExportDescription": {"ExportArn": EXPORT_ARN, "ExportStatus": status, **more}}


@pytest.fixture
def services(monkeypatch) -> Iterator[Services]:
    services = Services()
    for module in (sdk_tasks, glue_tasks, sns_tasks):
        monkeypatch.setattr(module, "boto_client_for", lambda **_: services)
    # The interpreter's Glue task cannot end unless it could also wait for a callback.
    monkeypatch.setattr(
        glue_tasks,
        "_SUPPORTED_INTEGRATION_PATTERNS",
        {ResourceCondition.Sync, ResourceCondition.WaitForTaskToken},
    )
    # The interpreter leaves JSONata to whoever provides it.
    monkeypatch.setattr(
        moto_jsonata,
        "_eval_jsonata",
        lambda expression: jsonata.Jsonata(expression).evaluate(None),
    )
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        yield services


def run(
    event: dict[str, Any], machine: ExportMachine = MACHINE, *, status: str = "SUCCEEDED"
) -> None:
    """``status``: as which the execution ends."""
    client = boto3.client("stepfunctions", region_name="us-east-1")
    created = client.create_state_machine(
        name=f"exports-{uuid.uuid4()}",
        definition=json.dumps(_hurried(machine.definition())),
        roleArn="arn:aws:iam::123456789012:role/exports",
    )
    execution = client.start_execution(
        stateMachineArn=created["stateMachineArn"], input=json.dumps(event)
    )["executionArn"]

    def ended() -> str | None:
        found = client.describe_execution(executionArn=execution)["status"]
        return None if found == "RUNNING" else found

    assert eventually(ended) == status


AT_TEN = {"kind": "incremental", "scheduledAt": "2026-11-20T10:10:00Z"}
_PAUSES = {"Seconds": "{% 0 %}", "IntervalSeconds": 1}


def _hurried(value: Any) -> Any:
    """This state machine, its pauses shortened."""
    if isinstance(value, list):
        return [_hurried(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _PAUSES.get(key) or _hurried(item)
        for key, item in value.items()
        if key not in {"BackoffRate", "JitterStrategy"}
    }


def test_a_window_is_exported_once_however_often_it_runs_and_its_day_reported_on(services):
    for scheduled_at in ("2026-11-20T10:10:00Z", "2026-11-20T10:40:00Z"):
        run({"kind": "incremental", "scheduledAt": scheduled_at})

    export, again = services.arguments_of("export_table_to_point_in_time")
    assert again == export
    assert export.pop("ClientToken")
    assert export == {
        "TableArn": TABLE_ARN,
        "ExportFormat": "DYNAMODB_JSON",
        "ExportType": "INCREMENTAL_EXPORT",
        "IncrementalExportSpecification": {
            "ExportFromTime": "2026-11-20T09:00:00.000Z",
            "ExportToTime": "2026-11-20T10:00:00.000Z",
            "ExportViewType": "NEW_AND_OLD_IMAGES",
        },
        "S3Bucket": "exports-bucket",
        "S3Prefix": "exports/2026-11-20",
    }
    assert services.arguments_of("describe_export") == [{"ExportArn": EXPORT_ARN}] * 3
    folders = {
        "--exports": "s3://exports-bucket/exports/2026-11-20/",
        "--out": "s3://exports-bucket/reports/2026-11-20/",
    }
    started = {"JobName": "report", "Arguments": folders}
    assert services.arguments_of("start_job_run") == [started] * 2
    assert services.arguments_of("publish") == []


@pytest.mark.parametrize(
    ("minutes", "scheduled_at", "window", "day"),
    [
        (60, "2026-11-20T10:59:59Z", ("2026-11-20T09:00", "2026-11-20T10:00"), "2026-11-20"),
        (60, "2026-11-21T00:10:00Z", ("2026-11-20T23:00", "2026-11-21T00:00"), "2026-11-20"),
        (15, "2026-11-20T10:10:00Z", ("2026-11-20T09:45", "2026-11-20T10:00"), "2026-11-20"),
        (1440, "2026-11-21T00:10:00Z", ("2026-11-20T00:00", "2026-11-21T00:00"), "2026-11-20"),
    ],
)
def test_a_window_is_cut_from_the_day_whenever_the_run_comes(
    services, minutes, scheduled_at, window, day
):
    services.answers["describe_continuous_backups"] = [_history(latest="2026-11-22T00:00:00Z")]
    services.answers["describe_export"] = [_export("COMPLETED")]

    run(
        {"kind": "incremental", "scheduledAt": scheduled_at},
        dataclasses.replace(MACHINE, window_minutes=minutes),
    )

    (export,) = services.arguments_of("export_table_to_point_in_time")
    asked = export["IncrementalExportSpecification"]
    assert asked["ExportFromTime"] == f"{window[0]}:00.000Z"
    assert asked["ExportToTime"] == f"{window[1]}:00.000Z"
    assert export["S3Prefix"] == f"exports/{day}"


def test_a_full_export_is_of_the_days_first_moment_under_the_stages_key_and_starts_no_report(
    services,
):
    key_arn = "arn:aws:kms:us-east-1:123456789012:key/1"
    full = {"kind": "full", "scheduledAt": "2026-11-20T00:10:00Z"}
    run(full, dataclasses.replace(MACHINE, key_arn=key_arn))

    (export,) = services.arguments_of("export_table_to_point_in_time")
    assert export["ExportType"] == "FULL_EXPORT"
    assert export["ExportTime"] == "2026-11-20T00:00:00.000Z"
    assert export["S3Prefix"] == "exports/2026-11-20"
    assert (export["S3SseAlgorithm"], export["S3SseKmsKeyId"]) == ("KMS", key_arn)
    assert services.arguments_of("start_job_run") == []


def test_it_waits_until_dynamodb_can_export_the_windows_end_and_tries_again_what_is_throttled(
    services,
):
    services.answers["describe_continuous_backups"] = [
        _history(latest="2026-11-20T09:59:59Z"),
        _history(latest="2026-11-20T10:00:00Z"),
    ]
    throttled = {"Error": {"Code": "LimitExceededException", "Message": "no"}}
    throttled["ResponseMetadata"] = {"HTTPStatusCode": 400, "RequestId": "1"}
    services.answers["export_table_to_point_in_time"] = [
        ClientError(throttled, "ExportTableToPointInTime"),
        _export("IN_PROGRESS"),
    ]

    run(AT_TEN)

    names = [name for name, _ in services.calls]
    assert names[:4] == [
        *["describe_continuous_backups"] * 2,
        *["export_table_to_point_in_time"] * 2,
    ]


def test_a_window_before_the_tables_history_is_left_out_without_an_alarm(services):
    services.answers["describe_continuous_backups"] = [
        _history(earliest="2026-11-20T09:30:00Z", latest="2026-11-20T10:05:00Z")
    ]

    run(AT_TEN)

    assert [name for name, _ in services.calls] == ["describe_continuous_backups"]


NO_ACCESS = _export("FAILED", FailureCode="S3AccessDenied", FailureMessage="no access to it")
NO_MEMORY = {"Id": "jr_1", "JobRunState": "FAILED", "ErrorMessage": "out of memory"}
OFF = _backups(PointInTimeRecoveryStatus="DISABLED")


@pytest.mark.parametrize(
    ("action", "answer", "told", "reports"),
    [
        ("describe_export", NO_ACCESS, "no access to it", 0),
        ("get_job_run", {"JobRun": NO_MEMORY}, "out of memory", 2),
        ("describe_continuous_backups", OFF, "recovery of the table is off", 0),
    ],
)
def test_what_fails_is_told_with_its_reason_a_report_when_it_has_failed_twice(
    services, action, answer, told, reports
):
    services.answers[action] = [answer]

    run(AT_TEN, status="FAILED")

    (message,) = services.arguments_of("publish")
    assert message["TopicArn"] == TOPIC_ARN
    assert told in message["Message"]
    assert "2026-11-20T09:00:00.000Z" in message["Message"]
    assert len(services.arguments_of("start_job_run")) == reports


def test_a_report_waits_until_the_one_before_must_be_over_and_has_its_own_time_after_that():
    """The one before began a window earlier."""
    machine = MACHINE.definition()
    busy, failed = machine["States"]["Report on the day"]["Retry"]
    longest = 60 * TIMEOUT_MINUTES
    latest = machine["TimeoutSeconds"] - longest
    assert longest - 60 * min(EXPORT_WINDOW_MINUTES) <= sum(pauses(busy)) < latest
    assert pauses(failed) == [60]


def pauses(retry: dict[str, Any]) -> list[float]:
    """Seconds before each time that a state is tried again, at the longest."""
    rate = retry.get("BackoffRate", 2)
    return [retry["IntervalSeconds"] * rate**number for number in range(retry["MaxAttempts"])]


def test_calls_outlast_a_minute_of_throttling_and_an_export_is_looked_at_often():
    """Drawn at random, pauses last half as long on average. The runbook names the three hours."""
    machine = MACHINE.definition()
    states = machine["States"].values()
    calls = [one["Retry"] for one in states if re.search("aws-sdk|sns:publish", str(one))]
    for (tried,) in calls:
        assert 120 <= sum(pauses(tried)) < 180
        assert tried["JitterStrategy"] == "FULL"
    assert len(calls) == 5
    assert all(15 <= one["Seconds"] <= 60 for one in states if one["Type"] == "Wait")
    assert machine["TimeoutSeconds"] == 3 * 3600


def test_an_unknown_kind_exports_nothing_and_is_told_in_a_mail_that_sns_takes(services):
    """However long the queue's name: a subject has less than 100 characters."""
    name = "q" * 100
    machine = dataclasses.replace(MACHINE, queue_name=name)

    run({"kind": "partial", "scheduledAt": "2026-11-20T10:10:00Z"}, machine, status="FAILED")

    assert [name for name, _ in services.calls] == ["publish"]
    (message,) = services.arguments_of("publish")
    assert len(message["Subject"]) < 100
    assert name in message["Message"]
