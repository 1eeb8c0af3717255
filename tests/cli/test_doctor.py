"""The doctor's findings, each with the command that mends it. Answers in the shape that AWS
documents stand in for an account; ``test_stage.py`` has the doctor examine a queue that is
deployed."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from typing import Any

import pytest
from moto import mock_aws

import lifoq
from lifoq.basics.host import SYSTEM
from lifoq.client.connection import Connection
from lifoq.errors import QueueMisconfigured
from lifoq.health import worker_notes
from lifoq.items import schema
from lifoq.items.lifetimes import Lifetimes
from lifoq.operating.aws_calls import Account, NotAllowed, NotThere
from lifoq.operating.deployment import Deployment
from lifoq.operating.pause_note_in_table import ITEM, PauseNote
from lifoq.schedules.target import ScheduleTarget
from lifoq_cli.doctor import bucket, command, watched
from lifoq_cli.doctor.patient import Patient

HERE = lifoq.__version__
ARN = "arn:aws:{}:eu-central-1:123456789012:{}"
STREAM = ARN.format("dynamodb", "table/t/stream/2026-11-20T09:30:00.000")
TOPIC, ALARMS = ARN.format("sns", "process"), ARN.format("sns", "alarms")
UUID = "14e0db71-5d35-4eb5-b481-8945cf9d10c2"
GONE = NotThere("no such thing")
SETTINGS = Connection(
    table="t",
    lifetimes=Lifetimes(),
    topics={"process": TOPIC},
    bucket="b",
    schedules=ScheduleTarget(group="mine", function="f", role="r", dead_letters="d"),
)
DEPLOYED = Deployment(
    release=HERE,
    functions={
        name: f"{name}-1" for name in ("trigger", "process_tasks", "sweep", "ingest", "task_events")
    },
    processors=1,
    stream_mapping=UUID,
    mappings={"u": "ingest"},
    long_tasks={"Encoders": "c/s"},
    schedules=("sweep-1",),
    alarms=("Failures",),
    alarm_topic=ALARMS,
    dead_letters="https://sqs.eu-central-1.amazonaws.com/123456789012/dead-letters",
    export_bucket="exports",
)
Answer = dict[str, Any] | Exception | Callable[..., Any]


def only(name: str, answer: Answer) -> Answer:
    """Answer so about one of several things; the others are well."""
    return lambda **asked: answer if name in asked.values() else None


def parameter(value: Connection | Deployment) -> dict[str, Any]:
    return {"Parameter": {"Value": value.encode()}}


def forget_after(days: int, **more: Any) -> dict[str, Any]:
    rule = {"Status": "Enabled", "Prefix": "", "Expiration": {"Days": days}, **more}
    return {"Rules": [rule]}


def date(seconds: float) -> Answer:
    def told() -> dict[str, Any]:
        at = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        return {"ResponseMetadata": {"HTTPHeaders": {"date": at}}}

    return told


def age(latest: float) -> dict[str, Any]:
    now = datetime.now(UTC)
    values = ((now, latest), (now - timedelta(minutes=5), 600_000.0))
    return {"Datapoints": [{"Timestamp": at, "Maximum": value} for at, value in values]}


def subscribed(endpoint: str, arn: str = "arn") -> dict[str, Any]:
    return {"Subscriptions": [{"Endpoint": endpoint, "SubscriptionArn": arn}]}


NEEDED = schema.table_definition("t")
TABLE = {
    **NEEDED,
    "TableArn": ARN.format("dynamodb", "table/t"),
    "TableStatus": "ACTIVE",
    "LatestStreamArn": STREAM,
}
FIRST, SECOND = NEEDED["GlobalSecondaryIndexes"]
SILENT = "INSUFFICIENT_DATA"
MAPPING = {"State": "Enabled", "EventSourceArn": STREAM}
WORKERS = {"status": "ACTIVE", "desiredCount": 2, "runningCount": 1}
ALARM = {
    "AlarmName": "Failures",
    "ActionsEnabled": True,
    "StateValue": "OK",
    "AlarmActions": [ALARMS],
}
WELL: dict[str, Any] = {
    "get_caller_identity": date(2),
    "get_parameter": lambda Name: parameter(  # noqa: N803 - boto3's
        SETTINGS if Name.endswith("queue") else DEPLOYED
    ),
    "describe_table": {"Table": TABLE},
    "list_tags_of_resource": {"Tags": [{"Key": "lifoq:release", "Value": HERE}]},
    "describe_time_to_live": {
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    },
    "describe_continuous_backups": {
        "ContinuousBackupsDescription": {
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}
        }
    },
    "list_objects_v2": {"Contents": [{"Key": "k"}]},
    "get_object": {"Body": BytesIO()},
    "get_bucket_lifecycle_configuration": forget_after(400),
    "get_public_access_block": {
        "PublicAccessBlockConfiguration": dict.fromkeys(bucket.CLOSED, True)
    },
    "get_function_configuration": {"LoggingConfig": {"LogGroup": "logs-of-the-trigger"}},
    "get_event_source_mapping": MAPPING,
    "describe_services": {"services": [WORKERS]},
    "get_metric_statistics": age(59_000.0),
    "get_function_recursion_config": {"RecursiveLoop": "Allow"},
    "get_function_concurrency": {"ReservedConcurrentExecutions": 1},
    "list_subscriptions_by_topic": subscribed("arn:function:process_tasks-1"),
    "get_schedule": {"State": "ENABLED"},
    "get_schedule_group": {"State": "ACTIVE"},
    "describe_alarms": {"MetricAlarms": [{**ALARM, "StateValue": SILENT}]},
    "get_queue_attributes": {"Attributes": {"ApproximateNumberOfMessages": "0"}},
    "query": {"Count": 0},
    "batch_get_item": {
        "Responses": {
            "t": [
                {"taskType": {"S": "ask"}, "error": {"S": '{"type": "TooHeavy"}'}},
                {"taskType": {"S": "ask"}, "error": {"S": "{"}},
            ]
        }
    },
    "get_item": {"Item": {"payload": {"S": "{"}}},  # a note that somebody has damaged
}
"""AWS's answers about a queue that is well, by the name of the operation."""
PARTS, NEWER = "/lifoq/dev/deployment", replace(DEPLOYED, release="99.1.0")
KEYS = {"ProjectionType": "KEYS_ONLY"}
STREAMED_KEYS = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
NO_BACKUPS: dict[str, Any] = {"ContinuousBackupsDescription": {}}
FAILED = {"State": "Failed", "StateReason": "no image"}
ELSEWHERE = {"Environment": {"Variables": {"LIFOQ_TABLE": "u"}}}
NONE_RUNS = {"services": [{**WORKERS, "runningCount": 0, "events": [{"message": "no image"}]}]}
NOTED = {"Item": {"payload": {"S": '{"unknown_types": ["new one", "newer"]}'}}}
FOUND = '[{"worker": "w", "task_type": "check", "tasks": %s, "most": 64}]'
OF_AN_OLD_TABLE = {"Tags": [{"Key": "lifoq:release", "Value": "0.0.9"}]}
AN_OLD_WORKER = worker_notes.WorkerNote(
    worker="w", since=0, place="a host", release="0.0.9", slots=1, at=SYSTEM.now() + 10**11
)
"""It tells of itself while the tests run."""
WORKS = {"Item": {"checkpoint": {"S": worker_notes.encoded(AN_OLD_WORKER, before=())}}}
HELD = {"Item": {"result": {"S": FOUND % 63}}}
LOW = {"Item": {"result": {"S": FOUND % 3}}}
KEPT = '{"Filter": {"Prefix": "other/"}, "Status": "Enabled", "Expiration": {"Days": 3}}, '
MENDED = '{"Status": "Enabled", "Filter": {"Prefix": "45-days/"}, "Expiration": {"Days": 45}}]}'
DEPLOY = "make deploy STAGE=dev"
SEE_LOGS = "aws logs tail --since 1h logs-of-the-trigger"
RESUME = "lifoq resume --queue dev"


class Answers(Account):
    """Answers as AWS would, of a queue that is well but for what a test says."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self._answers = answers

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        for answer in (self._answers.get(operation), WELL[operation]):
            found = answer(**parameters) if callable(answer) else answer
            if isinstance(found, Exception):
                raise found
            if found is not None:
                return found
        raise NotImplementedError


def examined(**answers: Answer) -> list[command.Result]:
    return command._examined(Patient(name="dev", account=Answers(**answers)), lambda _over: None)


def table(**changes: Any) -> Answer:
    return {"Table": TABLE | changes}


def index(**changes: Any) -> Answer:
    return table(GlobalSecondaryIndexes=[FIRST | changes, SECOND])


def mapping(uuid: str, **changes: str) -> Answer:
    return only(uuid, MAPPING | changes)


def alarm(**changes: Any) -> Answer:
    return {"MetricAlarms": [ALARM | changes]}


BREAKAGES: dict[str, list[tuple[Answer, str, str]]] = {
    "get_caller_identity": [
        (QueueMisconfigured("there are no credentials"), "no credentials", "AWS_PROFILE is set"),
        (date(90), "s behind", "timedatectl"),
        (date(-3600), "s ahead", "timedatectl"),
    ],
    "get_parameter": [
        (only("/lifoq/dev/queue", GONE), "no SSM parameter /lifoq/dev/queue", DEPLOY),
        (only(PARTS, GONE), f"no SSM parameter {PARTS}", DEPLOY),
    ],
    "describe_table": [
        (GONE, "There is no table t", "restore it"),
        (table(TableStatus="UPDATING"), "t is UPDATING", "aws dynamodb wait table-exists"),
        (table(KeySchema=[]), "other keys", DEPLOY),
        (index(KeySchema=[]), "status-created-index has other keys", "queue of another name"),
        (index(IndexName="another"), "status-created-index is missing", DEPLOY),
        (index(Projection=KEYS), "-index does not project expiresAt", "of another name"),
        (index(IndexStatus="CREATING"), "status-created-index is CREATING", DEPLOY),
        (table(StreamSpecification=None), "The table has no stream", DEPLOY),
        (table(StreamSpecification=STREAMED_KEYS), "shows KEYS_ONLY only", DEPLOY),
    ],
    "list_tags_of_resource": [
        (OF_AN_OLD_TABLE, f"deployed by lifoq 0.0.9, the functions by {HERE}", DEPLOY),
    ],
    "describe_time_to_live": [
        ({"TimeToLiveDescription": {}}, "TTL is off", "aws dynamodb update-time-to-live --tab"),
    ],
    "describe_continuous_backups": [
        (NO_BACKUPS, "recovery is off", "aws dynamodb update-continuous-backups --table-name t"),
    ],
    "list_objects_v2": [(GONE, "There is no bucket b", DEPLOY)],
    "get_bucket_lifecycle_configuration": [
        (forget_after(3), "after 3 days", f'{{"Rules": [{MENDED}'),
        (forget_after(3, Prefix="other/"), "Nothing deletes", KEPT + MENDED),
        (forget_after(90, Status="Disabled"), "Nothing deletes", ""),
    ],
    "get_public_access_block": [(GONE, "to the public", "put-public-access-block")],
    "get_function_configuration": [
        (only("trigger-1", GONE), "The function trigger-1 is gone", DEPLOY),
        (only("sweep-1", FAILED), "sweep-1 is not able to run: no image", DEPLOY),
        (only("sweep-1", ELSEWHERE), "sweep-1 works on the table u, clients on t", DEPLOY),
    ],
    "get_event_source_mapping": [
        (only(UUID, GONE), "Nothing reads the table's stream", DEPLOY),
        (mapping(UUID, State="Disabled"), "is Disabled", f"--enabled --uuid {UUID}"),
        (mapping(UUID, EventSourceArn="before"), "the table no longer has", DEPLOY),
        (mapping(UUID, LastProcessingResult="PROBLEM: it"), "PROBLEM: it", SEE_LOGS),
        (only("u", GONE), "A mapping of ingest-1 is gone", DEPLOY),
        (mapping("u", State="Disabled"), f"mapping of {STREAM} is Disabled", "--enabled --uuid u"),
    ],
    "describe_services": [
        ({"services": []}, "long workers Encoders is gone", DEPLOY),
        (NONE_RUNS, "None of 2 long workers Encoders runs: no image", "--cluster c --services s"),
    ],
    "get_metric_statistics": [(age(90_000.0), "90 s late", SEE_LOGS)],
    "get_function_recursion_config": [
        (only("trigger-1", {"RecursiveLoop": "Terminate"}), "the loop", "--recursive-loop Allow"),
    ],
    "get_function_concurrency": [
        ({"ReservedConcurrentExecutions": 0}, "paused", RESUME),
        ({"ReservedConcurrentExecutions": None}, "any number of processors", RESUME),
    ],
    "list_subscriptions_by_topic": [
        (only(TOPIC, subscribed("arn:another")), "process_tasks-1 is not subscribed", DEPLOY),
        (only(TOPIC, GONE), f"The topic {TOPIC} is gone", DEPLOY),
        (only(ALARMS, GONE), f"The topic {ALARMS}, which the alarms lead to, is gone", DEPLOY),
        (only(ALARMS, {"Subscriptions": []}), "Nobody is subscribed", f"--topic-arn {ALARMS}"),
        (only(ALARMS, subscribed("a@b", watched.PENDING)), "a@b has not confirmed", "in the mail"),
    ],
    "get_schedule": [
        ({"State": "DISABLED"}, "sweep-1 is DISABLED", DEPLOY),
        (GONE, "sweep-1 is gone", DEPLOY),
    ],
    "get_schedule_group": [(GONE, "The schedule group mine is gone, and its schedules", DEPLOY)],
    "describe_alarms": [
        ({"MetricAlarms": []}, "1 of 1 alarms are gone: Failures", DEPLOY),
        (alarm(ActionsEnabled=False), "is muted", "enable-alarm-actions --alarm-names Failures"),
        (alarm(AlarmActions=[]), "does not lead to", DEPLOY),
        (alarm(StateValue="ALARM"), "rings", "describe-alarm-history --alarm-name Failures"),
        (alarm(StateValue=SILENT, InsufficientDataActions=[ALARMS]), "rings", "describe-alarm"),
        ({"CompositeAlarms": [{**ALARM, "StateValue": "ALARM"}]}, "rings", "describe-alarm"),
    ],
    "get_queue_attributes": [
        (GONE, "dead-letters, is gone", DEPLOY),
        (
            {"Attributes": {"ApproximateNumberOfMessages": "1"}},
            "1 event lies",
            "aws sqs receive-mess",
        ),
    ],
    "query": [
        ({"Count": 1}, "1 task has failed", "lifoq errors --queue dev"),
        (
            lambda **asked: {"Items": 2 * [{"taskId": {"S": "t"}}]} if "Limit" in asked else None,
            "1 of type ask weighs more than its limits let start",
            "lifoq redrive --queue dev --type ask --error TooHeavy",
        ),
    ],
    "get_item": [
        (NOTED, "known for the types new one and newer.", "--queue dev --type 'new one'"),
        (WORKS, f"The worker a host runs lifoq 0.0.9, the functions {HERE}", "image anew"),
        (HELD, "in_flight holds check back: 63 found, of 64 at most.", "raise in_flight"),
        (LOW, "in_flight is far from what was found for check: 3 found", "lower in_flight"),
    ],
}


def test_a_queue_that_is_well_has_no_finding_and_is_checked_whole():
    for result in examined():
        assert (result.findings, result.not_checked) == ([], None), result.subject


def test_a_breakage_is_the_one_finding_with_what_mends_it(subtests):
    cases = [(operation, *one) for operation, found in BREAKAGES.items() for one in found]
    for operation, answer, wrong, remedy in cases:
        with subtests.test(operation=operation, wrong=wrong):
            results = examined(**{operation: answer})
            (finding,) = [one for result in results for one in result.findings]
            assert wrong in finding.wrong
            assert remedy in finding.remedy
            assert finding.meaning


def test_a_library_that_is_older_than_the_queue_is_told_so():
    newer = {"Tags": [{"Key": "lifoq:release", "Value": NEWER.release}]}
    parts = only(PARTS, parameter(NEWER))
    results = examined(get_parameter=parts, list_tags_of_resource=newer)
    (finding,) = [one for result in results for one in result.findings]
    assert finding.wrong == f"The functions were deployed by lifoq 99.1.0, this is {HERE}."
    assert finding.remedy == "pip install 'lifoq==99.1.0'"


def test_who_may_not_read_tags_is_told_of_other_versions_all_the_same():
    denied = NotAllowed("dynamodb:ListTagsOfResource", "grant it")
    results = examined(
        get_parameter=only(PARTS, parameter(NEWER)), list_tags_of_resource=denied, get_item=WORKS
    )
    (result,) = [one for one in results if one.findings]
    assert [one.wrong.split(",")[0] for one in result.findings] == [
        "The functions were deployed by lifoq 99.1.0",
        "The worker a host runs lifoq 0.0.9",
    ]
    assert result.not_checked == "grant it"


def test_a_pause_is_told_with_who_made_it():
    made = PauseNote(by="lifoq smoke", who="ada@laptop, process 7", at=0, passing=True)
    note = {"Item": {"payload": {"S": json.dumps(asdict(made))}}}

    def item(**asked: Any) -> dict[str, Any] | None:
        return note if asked["Key"]["taskId"]["S"] == ITEM else None

    paused = {"ReservedConcurrentExecutions": 0}
    results = examined(get_function_concurrency=paused, get_item=item)
    (finding,) = [one for result in results for one in result.findings]
    assert "by lifoq smoke (ada@laptop, process 7)" in finding.wrong


@pytest.mark.parametrize(("now", "ago"), [(180_000_000, "2 min"), (59_000_000, "0 ms")])
def test_a_pause_that_is_meant_is_told_apart_from_one_that_ends_by_itself(now, ago):
    """Also where the other machine's clock is ahead."""
    meant = PauseNote(by="lifoq pause", who="ada@laptop", at=60_000_000)
    said = f"tasks was paused {ago} ago by lifoq pause (ada@laptop)"
    remedy = "lifoq resume --queue tasks"
    assert meant.told("tasks", now=now) == f"{said}; to go on: {remedy}"
    ends = f"{said}, which resumes it when it ends; if it runs no more: {remedy}"
    assert replace(meant, passing=True).told("tasks", now=now) == ends


def test_a_person_reads_what_is_wrong_what_it_means_what_mends_it_and_what_was_not_checked(
    lifoq, monkeypatch
):
    denied = NotAllowed("a:B", "grant it a:B")
    sick = Answers(describe_continuous_backups=NO_BACKUPS, describe_time_to_live=denied)
    monkeypatch.setattr(command, "Account", lambda **_: sick)
    status, printed, _ = lifoq("doctor", "dev")
    lines = [line.strip() for line in printed.splitlines()]
    at = lines.index("✗ backups")
    assert lines[at + 1] == "Point-in-time recovery is off."
    assert lines[at + 3].startswith("→ aws dynamodb update-continuous-backups --table-name ")
    assert lines[lines.index("? TTL") + 1] == "not checked: grant it a:B"
    assert (status, "✓ table" in lines, lines[-1]) == (3, True, "1 finding")
    assert lines[0] == f"dev (library {HERE}, functions {HERE}, table {HERE})"


@mock_aws
def test_each_service_says_in_its_own_way_that_there_is_no_such_thing():
    account = Account(region_name="us-east-1")
    account.client("s3").create_bucket(Bucket="there")
    for service, operation, parameters in (
        ("dynamodb", "describe_table", {"TableName": "gone"}),
        ("ssm", "get_parameter", {"Name": "/gone"}),
        ("lambda", "get_function_configuration", {"FunctionName": "gone"}),
        ("sns", "list_subscriptions_by_topic", {"TopicArn": ARN.format("sns", "gone")}),
        ("scheduler", "get_schedule", {"Name": "gone"}),
        ("scheduler", "get_schedule_group", {"Name": "gone"}),
        ("sqs", "get_queue_attributes", {"QueueUrl": DEPLOYED.dead_letters}),
        ("s3", "list_objects_v2", {"Bucket": "gone"}),
        ("s3", "get_object", {"Bucket": "there", "Key": "gone"}),
        ("s3", "get_public_access_block", {"Bucket": "there"}),
        ("s3", "get_bucket_lifecycle_configuration", {"Bucket": "there"}),
    ):
        with pytest.raises(NotThere):
            account.call(service, operation, **parameters)
