"""What the local cloud does not have: the doctor is given answers in the shape that AWS documents,
in place of an account."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from lifoq.client.account import Account, NotAllowed, NotThere
from lifoq.client.connection import Connection
from lifoq.client.deployment import Deployment
from lifoq.errors import QueueMisconfigured
from lifoq.items import schema
from lifoq.items.lifetimes import Lifetimes
from lifoq_cli.doctor import access, command, loop, table, watched
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

STREAM = "arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/2026-11-20T09:30:00.000"


class Answers(Account):
    """Answers as AWS would, by the name of the operation; whatever else is asked is denied."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self._answers = answers

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        answer = self._answers.get(operation)
        if answer is None:
            raise NotAllowed(f"{service}:{operation}", f"grant it {service}:{operation}")
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer(**parameters) if callable(answer) else answer
        return found


def patient(**answers: Any) -> Patient:
    found = Patient(name="dev", account=Answers(**answers))
    found.settings = Connection(table="t", lifetimes=Lifetimes())
    found.deployed = Deployment(
        release="0.1.0",
        functions={"trigger": "trigger-1", "process_tasks": "processor-1", "sweep": "sweep-1"},
        processors=1,
        stream_mapping="14e0db71-5d35-4eb5-b481-8945cf9d10c2",
        schedules=("sweep-1",),
        alarms=(),
        alarm_topic="arn:aws:sns:eu-central-1:123456789012:alarms",
        dead_letters="https://sqs.eu-central-1.amazonaws.com/123456789012/dead-letters",
        export_bucket="exports",
    )
    return found


def found(check: Callable[[Patient], Iterator[Finding]], **answers: Any) -> list[Finding]:
    return list(check(patient(**answers)))


# https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionRecursionConfig.html


def test_a_loop_that_lambda_would_end_is_found() -> None:
    def answer(**parameters: str) -> dict[str, Any]:
        is_trigger = parameters["FunctionName"] == "trigger-1"
        return {"RecursiveLoop": "Allow" if is_trigger else "Terminate"}

    (finding,) = found(loop.recursion, get_function_recursion_config=answer)
    assert finding.remedy == (
        "aws lambda put-function-recursion-config --function-name processor-1 "
        "--recursive-loop Allow"
    )


def test_a_loop_that_is_allowed_is_well() -> None:
    assert not found(loop.recursion, get_function_recursion_config={"RecursiveLoop": "Allow"})


# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html


@pytest.mark.parametrize(("late", "told"), [(59_000.0, []), (90_000.0, ["90 s late"])])
def test_a_stream_that_is_read_late_is_found_by_the_latest_minute(
    late: float, told: list[str]
) -> None:
    now = datetime.now(UTC)
    points = [
        {"Timestamp": now, "Maximum": late, "Unit": "Milliseconds"},
        {"Timestamp": now - timedelta(minutes=5), "Maximum": 600_000.0, "Unit": "Milliseconds"},
    ]
    findings = found(
        loop.lag,
        get_metric_statistics={"Label": "IteratorAge", "Datapoints": points},
        get_function_configuration={"LoggingConfig": {"LogGroup": "logs-of-the-trigger"}},
    )
    assert [text for text in told for one in findings if text in one.wrong] == told
    assert len(findings) == len(told)
    assert all(one.remedy.endswith("--since 1h logs-of-the-trigger") for one in findings)


# https://docs.aws.amazon.com/lambda/latest/api/API_GetEventSourceMapping.html


def test_a_mapping_of_an_old_stream_or_with_a_problem_is_found() -> None:
    mapping = {
        "State": "Enabled",
        "EventSourceArn": f"{STREAM}-before",
        "LastProcessingResult": "PROBLEM: Function call failed",
    }
    findings = found(
        loop.mapping,
        get_event_source_mapping=mapping,
        describe_table={"Table": {"LatestStreamArn": STREAM}},
        get_function_configuration={},
    )
    assert [one.wrong.split(":")[0] for one in findings] == [
        "The mapping reads a stream that the table no longer has.",
        "The stream's last batch was not read",
    ]


# https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html


def test_a_function_that_cannot_run_or_works_on_another_table_is_found() -> None:
    def answer(**parameters: str) -> dict[str, Any]:
        match parameters["FunctionName"]:
            case "trigger-1":
                raise NotThere("no such function")
            case "processor-1":
                return {"State": "Failed", "StateReason": "the image is gone"}
            case _:
                return {"State": "Active", "Environment": {"Variables": {"LIFOQ_TABLE": "u"}}}

    gone, broken, astray = found(loop.functions, get_function_configuration=answer)
    assert gone.wrong == "The function trigger-1 is gone."
    assert broken.wrong.endswith("is not able to run: the image is gone.")
    assert astray.wrong == "The function sweep-1 works on the table u, clients on t."


# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html


def described(**changes: Any) -> dict[str, Any]:
    needed = schema.table_definition("t")
    indexes = [{**one, "IndexStatus": "ACTIVE"} for one in needed["GlobalSecondaryIndexes"]]
    return {
        "Table": {**needed, "GlobalSecondaryIndexes": indexes, "TableStatus": "ACTIVE", **changes}
    }


def test_a_table_as_it_should_be_is_well() -> None:
    for check in (table.shape, table.indexes, table.stream):
        assert not found(check, describe_table=described())


def test_an_index_that_is_being_made_or_projects_too_little_is_found() -> None:
    first, second = described()["Table"]["GlobalSecondaryIndexes"]
    bare = {**first, "Projection": {"ProjectionType": "KEYS_ONLY"}}
    made = {**second, "IndexStatus": "CREATING"}
    findings = found(table.indexes, describe_table=described(GlobalSecondaryIndexes=[bare, made]))
    assert findings[0].wrong.startswith("The index status-created-index does not project expiresAt")
    assert findings[1].wrong == "The index due-index is CREATING."


def test_a_stream_that_is_off_or_shows_too_little_is_found() -> None:
    off = found(table.stream, describe_table=described(StreamSpecification=None))
    keys = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    little = found(table.stream, describe_table=described(StreamSpecification=keys))
    assert [one.wrong for one in (*off, *little)] == [
        "The table has no stream.",
        "The table's stream shows KEYS_ONLY only.",
    ]


# The header Date of every answer


@pytest.mark.parametrize(("seconds", "told"), [(2, []), (90, ["behind"]), (-3600, ["ahead"])])
def test_a_clock_that_is_off_is_found(seconds: float, told: list[str]) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
    answer = {"ResponseMetadata": {"HTTPHeaders": {"date": date}}}
    findings = found(access.clock, get_caller_identity=answer)
    assert [word for word in told for one in findings if word in one.wrong] == told
    assert len(findings) == len(told)


# What may not be asked


def test_without_credentials_that_alone_is_said() -> None:
    (only,) = command._examined(
        patient(get_caller_identity=QueueMisconfigured("there are no credentials"))
    )
    assert [one.wrong for one in only.findings] == ["there are no credentials"]


def test_what_the_caller_may_not_ask_is_not_taken_for_a_finding() -> None:
    results = command._examined(
        patient(get_caller_identity={"ResponseMetadata": {"HTTPHeaders": {}}})
    )
    by_subject = {result.subject: result for result in results}
    assert by_subject["TTL"].not_checked == "grant it dynamodb:describe_time_to_live"
    assert by_subject["TTL"].findings == []


# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html


@pytest.mark.parametrize(
    "answer",
    [{}, {"Item": {"payload": {"S": "[]"}}}, {"Item": {"payload": {"S": "{"}}}, {"Item": {}}],
)
def test_where_no_sweep_found_an_unknown_type_all_is_well(answer: dict[str, Any]) -> None:
    assert found(watched.unknown_types, get_item=answer) == []


def test_types_that_no_worker_has_are_named() -> None:
    noted = {"Item": {"payload": {"S": '{"unknown_types": ["new one", "newer"]}'}}}
    (finding,) = found(watched.unknown_types, get_item=noted)
    assert finding.wrong.endswith("known to have: new one, newer.")
    assert "lifoq list --queue dev --type 'new one'" in finding.remedy


# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeServices.html


@pytest.mark.parametrize(
    ("services", "told"),
    [
        ([], "The service of the long workers Encoders is gone."),
        ([{"status": "INACTIVE", "desiredCount": 0, "runningCount": 0}], "is INACTIVE."),
        (
            [
                {
                    "status": "ACTIVE",
                    "desiredCount": 3,
                    "runningCount": 0,
                    "events": [{"message": "unable to pull the image"}],
                }
            ],
            "None of 3 long workers Encoders runs: unable to pull the image",
        ),
        ([{"status": "ACTIVE", "desiredCount": 2, "runningCount": 1, "events": []}], None),
    ],
)
def test_long_workers_that_cannot_start_are_found(services: list[Any], told: str | None) -> None:
    with_workers = patient(describe_services={"services": services, "failures": []})
    with_workers.deployed = replace(with_workers.parts, long_tasks={"Encoders": "c/s"})
    findings = [one.wrong for one in loop.long_workers(with_workers)]
    assert len(findings) == (told is not None)
    assert all(told is not None and told in one for one in findings)


def test_a_mapping_that_was_asked_for_and_is_off_is_found() -> None:
    mapping = {"State": "Disabled", "EventSourceArn": "arn:aws:sqs:eu-central-1:1:orders"}
    with_ingest = patient(get_event_source_mapping=mapping)
    with_ingest.deployed = replace(with_ingest.parts, mappings={"u": "ingest"})
    (finding,) = loop.other_mappings(with_ingest)
    assert finding.wrong.endswith("orders is Disabled.")
    assert finding.remedy == "aws lambda update-event-source-mapping --enabled --uuid u"
