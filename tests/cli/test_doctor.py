"""What the doctor finds, and the command that mends it. It is given answers in the shape that AWS
documents, in place of an account; ``test_stage.py`` has it examine a queue that is deployed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from typing import Any

import pytest
from moto import mock_aws

from lifoq.client.account import Account, NotAllowed, NotThere
from lifoq.client.connection import Connection
from lifoq.client.deployment import Deployment
from lifoq.errors import QueueMisconfigured
from lifoq.items import schema
from lifoq.items.lifetimes import Lifetimes
from lifoq_cli.doctor import access, bucket, command, loop, table, watched
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

ARN = "arn:aws:{}:eu-central-1:123456789012:{}"
STREAM = ARN.format("dynamodb", "table/t/stream/2026-11-20T09:30:00.000")
TOPIC, ALARMS = ARN.format("sns", "process"), ARN.format("sns", "alarms")
GONE = NotThere("no such thing")
SETTINGS = Connection(table="t", lifetimes=Lifetimes(), topics={"process": TOPIC}, bucket="b")
DEPLOYED = Deployment(
    release="0.1.0",
    functions={
        name: f"{name}-1" for name in ("trigger", "process_tasks", "sweep", "ingest", "task_events")
    },
    processors=1,
    stream_mapping="14e0db71-5d35-4eb5-b481-8945cf9d10c2",
    mappings={"u": "ingest"},
    long_tasks={"Encoders": "c/s"},
    schedules=("sweep-1",),
    alarms=("Failures",),
    alarm_topic=ALARMS,
    dead_letters="https://sqs.eu-central-1.amazonaws.com/123456789012/dead-letters",
    export_bucket="exports",
)
Check = Callable[[Patient], Iterator[Finding]]


class Answers(Account):
    """Answers as AWS would, by the name of the operation; whatever else is asked is denied."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self._answers = answers

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        answer = self._answers.get(operation)
        if answer is None:
            raise NotAllowed(f"{service}:{operation}", f"grant it {service}:{operation}")
        if callable(answer):
            answer = answer(**parameters)
        if isinstance(answer, Exception):
            raise answer
        return answer


def patient(**answers: Any) -> Patient:
    found = Patient(name="dev", account=Answers(**answers))
    found.settings, found.deployed = SETTINGS, DEPLOYED
    return found


def described(**changes: Any) -> dict[str, Any]:
    needed = schema.table_definition("t")
    there = {"GlobalSecondaryIndexes": [FIRST, SECOND], "TableStatus": "ACTIVE"}
    return {"describe_table": {"Table": {**needed, **there, "LatestStreamArn": STREAM, **changes}}}


def bucket_with(**answers: Any) -> dict[str, Any]:
    """Its objects are kept for long enough, and for nobody else."""
    closed = {"PublicAccessBlockConfiguration": dict.fromkeys(bucket.CLOSED, True)}
    there = {"list_objects_v2": {"Contents": [{"Key": "k"}]}, "get_object": {"Body": BytesIO()}}
    return {**there, **rules(forget_after(400)), "get_public_access_block": closed, **answers}


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    return {"get_bucket_lifecycle_configuration": {"Rules": given}}


def forget_after(days: int, prefix: str = "") -> dict[str, Any]:
    return {"Status": "Enabled", "Prefix": prefix, "Expiration": {"Days": days}}


def date(seconds: float) -> dict[str, Any]:
    def told() -> dict[str, Any]:
        at = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        return {"ResponseMetadata": {"HTTPHeaders": {"date": at}}}

    return {"get_caller_identity": told}


def age(latest: float) -> dict[str, Any]:
    now = datetime.now(UTC)
    values = ((now, latest), (now - timedelta(minutes=5), 600_000.0))
    points = [{"Timestamp": at, "Maximum": value} for at, value in values]
    return {"get_metric_statistics": {"Datapoints": points}, **LOGS}


def function(broken: str, answer: Any) -> dict[str, Any]:
    def told(FunctionName: str) -> Any:  # noqa: N803 - boto3's
        return answer if FunctionName == broken else {"RecursiveLoop": "Allow"}

    return {"get_function_configuration": told, "get_function_recursion_config": told}


def mapping(**changes: Any) -> dict[str, Any]:
    there = {"State": "Enabled", "EventSourceArn": STREAM, **changes}
    return {"get_event_source_mapping": there, **described(), **LOGS}


def workers(**changes: Any) -> dict[str, Any]:
    well = {"status": "ACTIVE", "desiredCount": 2, "runningCount": 1, "events": []}
    return {"describe_services": {"services": [{**well, **changes}], "failures": []}}


def alarm(**changes: Any) -> dict[str, Any]:
    well = {"AlarmName": "Failures", "ActionsEnabled": True, "StateValue": "OK"}
    return {"describe_alarms": {"MetricAlarms": [{**well, "AlarmActions": [ALARMS], **changes}]}}


def subscribed(*endpoints: str) -> dict[str, Any]:
    each = [{"Endpoint": one, "SubscriptionArn": watched.PENDING} for one in endpoints]
    return {"list_subscriptions_by_topic": {"Subscriptions": each}}


FIRST, SECOND = (
    {**one, "IndexStatus": "ACTIVE"}
    for one in schema.table_definition("t")["GlobalSecondaryIndexes"]
)
KEYS = {"ProjectionType": "KEYS_ONLY"}
SHOWS_KEYS = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
NOTED = {"Item": {"payload": {"S": '{"unknown_types": ["new one", "newer"]}'}}}
LOGS = {"get_function_configuration": {"LoggingConfig": {"LogGroup": "logs-of-the-trigger"}}}
KEPT = '{"Filter": {"Prefix": "other/"}, "Status": "Enabled", "Expiration": {"Days": 3}}, '
MENDED = '{"Status": "Enabled", "Filter": {}, "Expiration": {"Days": 45}}]}'
OFF = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED", "AttributeName": "ttl"}}
DEPLOY = "make deploy STAGE=dev"
SEE_LOGS = "aws logs tail --since 1h logs-of-the-trigger"
RESUME = "lifoq resume --queue dev"
BREAKAGES: dict[Check, list[tuple[dict[str, Any], str, str]]] = {
    access.clock: [
        (date(90), "s behind", "timedatectl"),
        (date(-3600), "s ahead", "timedatectl"),
    ],
    access.settings: [({"get_parameter": GONE}, "no SSM parameter /lifoq/dev/queue", DEPLOY)],
    access.parts: [({"get_parameter": GONE}, "no SSM parameter /lifoq/dev/deployment", DEPLOY)],
    table.shape: [
        ({"describe_table": GONE}, "There is no table t", "restore it"),
        (described(TableStatus="UPDATING"), "t is UPDATING", "aws dynamodb wait table-exists"),
        (described(KeySchema=[]), "other keys", DEPLOY),
    ],
    table.indexes: [
        (described(GlobalSecondaryIndexes=[SECOND]), "status-created-index is missing", DEPLOY),
        (
            described(GlobalSecondaryIndexes=[{**FIRST, "Projection": KEYS}, SECOND]),
            "status-created-index does not project expiresAt",
            DEPLOY,
        ),
        (
            described(GlobalSecondaryIndexes=[FIRST, {**SECOND, "IndexStatus": "CREATING"}]),
            "due-index is CREATING",
            DEPLOY,
        ),
    ],
    table.time_to_live: [
        ({"describe_time_to_live": OFF}, "TTL is off", "aws dynamodb update-time-to-live --tab"),
    ],
    table.backups: [
        (
            {"describe_continuous_backups": {"ContinuousBackupsDescription": {}}},
            "recovery is off",
            "aws dynamodb update-continuous-backups --table-name t",
        ),
    ],
    table.stream: [
        (described(StreamSpecification=None), "The table has no stream", DEPLOY),
        (described(StreamSpecification=SHOWS_KEYS), "shows KEYS_ONLY only", DEPLOY),
    ],
    bucket.large_payloads: [
        ({"list_objects_v2": GONE}, "There is no bucket b", DEPLOY),
        (bucket_with(**rules(forget_after(3))), "after 3 days", f'{{"Rules": [{MENDED}'),
        (bucket_with(**rules(forget_after(3, "other/"))), "Nothing deletes", KEPT + MENDED),
        (bucket_with(**rules(forget_after(90) | {"Status": "Disabled"})), "Nothing deletes", ""),
        (bucket_with(get_public_access_block=GONE), "to the public", "put-public-access-block"),
    ],
    loop.functions: [
        (function("trigger-1", GONE), "The function trigger-1 is gone", DEPLOY),
        (
            function("sweep-1", {"State": "Failed", "StateReason": "the image is gone"}),
            "sweep-1 is not able to run: the image is gone",
            DEPLOY,
        ),
        (
            function("sweep-1", {"Environment": {"Variables": {"LIFOQ_TABLE": "u"}}}),
            "The function sweep-1 works on the table u, clients on t",
            DEPLOY,
        ),
    ],
    loop.mapping: [
        ({"get_event_source_mapping": GONE}, "Nothing reads the table's stream", DEPLOY),
        (mapping(State="Disabled"), "is Disabled", "--enabled --uuid 14e0db71"),
        (mapping(EventSourceArn=f"{STREAM}-before"), "the table no longer has", DEPLOY),
        (mapping(LastProcessingResult="PROBLEM: it failed"), "PROBLEM: it failed", SEE_LOGS),
    ],
    loop.other_mappings: [
        ({"get_event_source_mapping": GONE}, "A mapping of ingest-1 is gone", DEPLOY),
        (mapping(State="Disabled"), f"The mapping of {STREAM} is Disabled", "--enabled --uuid u"),
    ],
    loop.long_workers: [
        ({"describe_services": {"services": []}}, "long workers Encoders is gone", DEPLOY),
        (workers(status="INACTIVE"), "is INACTIVE", DEPLOY),
        (
            workers(runningCount=0, events=[{"message": "unable to pull the image"}]),
            "None of 2 long workers Encoders runs: unable to pull the image",
            "aws ecs describe-services --cluster c --services s",
        ),
    ],
    loop.lag: [(age(90_000.0), "90 s late", SEE_LOGS)],
    loop.recursion: [
        (
            function("process_tasks-1", {"RecursiveLoop": "Terminate"}),
            "the loop that process_tasks-1 is part of",
            "--function-name process_tasks-1 --recursive-loop Allow",
        ),
    ],
    loop.concurrency: [
        ({"get_function_concurrency": {"ReservedConcurrentExecutions": 0}}, "paused", RESUME),
        ({"get_function_concurrency": {}}, "any number of processors", RESUME),
    ],
    loop.subscriptions: [
        (subscribed("arn:another"), "process_tasks-1 is not subscribed", DEPLOY),
        ({"list_subscriptions_by_topic": GONE}, f"The topic {TOPIC} is gone", DEPLOY),
    ],
    loop.schedules: [
        ({"get_schedule": {"State": "DISABLED"}}, "sweep-1 is DISABLED", DEPLOY),
        ({"get_schedule": GONE}, "sweep-1 is gone", DEPLOY),
    ],
    watched.alarms: [
        ({"describe_alarms": {"MetricAlarms": []}}, "1 of 1 alarms are gone: Failures", DEPLOY),
        (alarm(ActionsEnabled=False), "is muted", "enable-alarm-actions --alarm-names Failures"),
        (alarm(AlarmActions=[]), "does not lead to", DEPLOY),
        (alarm(StateValue="ALARM"), "rings", "describe-alarm-history --alarm-name Failures"),
    ],
    watched.people: [
        (subscribed(), "Nobody is subscribed", f"aws sns subscribe --topic-arn {ALARMS}"),
        (subscribed("a@b"), "a@b has not confirmed", "the link in the mail"),
    ],
    watched.dead_letters: [
        (
            {"get_queue_attributes": {"Attributes": {"ApproximateNumberOfMessages": "1"}}},
            "1 events",
            "aws sqs receive-message --queue-url",
        ),
    ],
    watched.failures: [({"query": {"Count": 1}}, "1 tasks have failed", "lifoq list --queue dev")],
    watched.unknown_types: [
        ({"get_item": NOTED}, "known to have: new one, newer.", "--queue dev --type 'new one'"),
    ],
}


@pytest.mark.parametrize(
    ("check", "answers", "wrong", "remedy"),
    [(check, *one) for check, found in BREAKAGES.items() for one in found],
)
def test_a_breakage_is_found_with_what_mends_it(check, answers, wrong, remedy):
    (finding,) = check(patient(**answers))
    assert wrong in finding.wrong
    assert remedy in finding.remedy
    assert finding.meaning


WELL: list[tuple[Check, dict[str, Any]]] = [
    (access.clock, date(2)),
    *((check, described()) for check in (table.shape, table.indexes, table.stream)),
    (bucket.large_payloads, bucket_with()),
    (loop.lag, age(59_000.0)),
    (loop.recursion, function("", {})),
    (loop.long_workers, workers()),
    (watched.unknown_types, {"get_item": {}}),
    (watched.unknown_types, {"get_item": {"Item": {"payload": {"S": "{"}}}}),
]


@pytest.mark.parametrize(("check", "answers"), WELL)
def test_what_is_as_it_should_be_is_well(check, answers):
    assert not list(check(patient(**answers)))


def test_another_release_than_ones_own_is_found():
    newer = patient()
    newer.deployed = replace(DEPLOYED, release="9.1.0")
    (finding,) = access.versions(newer)
    assert "deployed by lifoq 9.1.0" in finding.wrong
    assert finding.remedy == "pip install 'lifoq==9.1.0'"


def test_without_credentials_that_alone_is_said():
    (only,) = command._examined(
        patient(get_caller_identity=QueueMisconfigured("there are no credentials"))
    )
    assert [one.wrong for one in only.findings] == ["there are no credentials"]


def test_what_the_caller_may_not_ask_is_not_taken_for_a_finding():
    results = command._examined(patient(**date(0)))
    (result,) = [one for one in results if one.subject == "TTL"]
    assert result.not_checked == "grant it dynamodb:describe_time_to_live"
    assert result.findings == []


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        ("dynamodb", "describe_table", {"TableName": "gone"}),
        ("ssm", "get_parameter", {"Name": "/gone"}),
        ("lambda", "get_function_configuration", {"FunctionName": "gone"}),
        ("sns", "list_subscriptions_by_topic", {"TopicArn": ARN.format("sns", "gone")}),
        ("scheduler", "get_schedule", {"Name": "gone"}),
        ("sqs", "get_queue_attributes", {"QueueUrl": DEPLOYED.dead_letters}),
        ("s3", "list_objects_v2", {"Bucket": "gone"}),
        ("s3", "get_object", {"Bucket": "there", "Key": "gone"}),
        ("s3", "get_public_access_block", {"Bucket": "there"}),
        ("s3", "get_bucket_lifecycle_configuration", {"Bucket": "there"}),
    ],
)
@mock_aws
def test_each_service_says_in_its_own_way_that_there_is_no_such_thing(
    service, operation, parameters
):
    account = Account(region_name="us-east-1")
    account.client("s3").create_bucket(Bucket="there")
    with pytest.raises(NotThere):
        account.call(service, operation, **parameters)
