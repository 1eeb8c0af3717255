"""A deployed queue on the local cloud: tried; exported; and broken on purpose, one part after
another, each found with the command that mends it."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from lifoq.client import deployment
from lifoq.client.connection import Connection
from lifoq.client.deployment import Deployment
from lifoq.client.processing import Processing
from lifoq.items.book import book_id
from lifoq.items.transitions import Lifetimes
from lifoq_cli.app import main
from lifoq_cli.smoke import STEPS
from localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized

STAGE = "demo"
SETTINGS = f"/lifoq/{STAGE}/queue"
PARTS = f"/lifoq/{STAGE}/deployment"
NOT_ON_THE_LOCAL_CLOUD = {"recursion"}
"""See test_doctor_answers.py."""

pytestmark = pytest.mark.prove


class Stage:
    def __init__(self, cloud: LocalCloud) -> None:
        self.client = cloud.client
        self.settings = Connection.decode(self.parameter(SETTINGS), source="the stage")
        self.parts = Deployment.decode(self.parameter(PARTS), source="the stage")

    def parameter(self, name: str) -> str:
        return str(self.client("ssm").get_parameter(Name=name)["Parameter"]["Value"])

    def write(self, name: str, value: str) -> None:
        self.client("ssm").put_parameter(Name=name, Value=value, Type="String", Overwrite=True)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with (
        LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud,
        pytest.MonkeyPatch.context() as patch,
    ):
        deployed = a_stage(
            STAGE,
            state={"large_payload_retention": cdk.Duration.days(60)},
            deadline=cdk.Duration.seconds(600),
            shared_limits=True,
            total_in_flight=10,
        )
        cloud.deploy(synthesized(deployed).assembly)
        for name, value in cloud.environment().items():
            patch.setenv(name, value)
        stage = Stage(cloud)
        stage.client("sns").subscribe(
            TopicArn=stage.parts.alarm_topic, Protocol="email", Endpoint="a@example.com"
        )
        yield stage


@pytest.fixture
def examined(stage: Stage, capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, Any]]:
    def examine() -> dict[str, Any]:
        status = main(["doctor", STAGE, "--json"])
        (answer,) = json.loads(capsys.readouterr().out)
        assert status == (3 if answer["findings"] else 0)
        found: dict[str, Any] = answer
        return found

    return examine


def test_a_queue_as_it_was_deployed_is_well(examined: Callable[[], dict[str, Any]]) -> None:
    answer = examined()
    assert answer["findings"] == []
    assert set(answer["not_checked"]) <= NOT_ON_THE_LOCAL_CLOUD


def test_a_queue_is_tried_and_left_as_it_was(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["smoke", STAGE, "--yes", "--json"])
    seen = json.loads(capsys.readouterr().out)
    assert [one for one in seen if not one["well"]] == []
    assert ([one["step"] for one in seen], status) == (list(STEPS), 0)
    left = stage.client("dynamodb").scan(TableName=stage.settings.table)["Items"]
    assert {item["taskId"]["S"] for item in left} <= {book_id("")}
    assert not Processing.connect(STAGE).is_paused


def test_a_large_payload_is_put_and_read_by_table_and_bucket(
    stage: Stage, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, large = tmp_path / "large.json", secrets.token_hex(500_000)
    file.write_text(json.dumps(large))
    by_table = ["--table", stage.settings.table, "--json"]
    put = ["put", "a", f"@{file}", "--id", "large", "--delay", "1h"]
    assert main([*put, *by_table]) == 1
    assert "deploy the queue with large_payloads" in capsys.readouterr().err
    by_table += ["--bucket", str(stage.settings.bucket)]
    assert main([*put, *by_table]) == 0
    capsys.readouterr()
    assert main(["get", "large", *by_table]) == 0
    assert json.loads(capsys.readouterr().out)["payload"] == large
    assert main(["cancel", "large", *by_table]) == 0
    assert main(["delete", "large", "--yes", *by_table]) == 0
    capsys.readouterr()


def test_a_queue_whose_tasks_would_be_shed_is_not_tried(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.write(SETTINGS, replace(stage.settings, lifetimes=Lifetimes(deadline=60)).encode())
    assert main(["smoke", STAGE, "--yes"]) == 1
    stage.write(SETTINGS, stage.settings.encode())
    assert "the deadline of demo is 60 s" in capsys.readouterr().err


def test_a_paused_queue_is_not_tried(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    with paused(stage):
        assert main(["smoke", STAGE, "--yes"]) == 1
    assert "demo is paused: lifoq resume --queue demo" in capsys.readouterr().err


@contextmanager
def no_settings(stage: Stage) -> Iterator[None]:
    text = stage.parameter(SETTINGS)
    stage.client("ssm").delete_parameter(Name=SETTINGS)
    yield
    stage.write(SETTINGS, text)


@contextmanager
def settings_of_a_table_that_is_gone(stage: Stage) -> Iterator[None]:
    stage.write(SETTINGS, replace(stage.settings, table="gone").encode())
    yield
    stage.write(SETTINGS, stage.settings.encode())


@contextmanager
def settings_of_another_table(stage: Stage) -> Iterator[None]:
    dynamodb = stage.client("dynamodb")
    there = dynamodb.describe_table(TableName=stage.settings.table)["Table"]
    dynamodb.create_table(
        TableName="other",
        KeySchema=there["KeySchema"],
        AttributeDefinitions=[{"AttributeName": "taskId", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    stage.write(SETTINGS, replace(stage.settings, table="other").encode())
    yield
    stage.write(SETTINGS, stage.settings.encode())
    dynamodb.delete_table(TableName="other")


@contextmanager
def another_release(stage: Stage) -> Iterator[None]:
    stage.write(PARTS, replace(stage.parts, release="9.1.0").encode())
    yield
    stage.write(PARTS, stage.parts.encode())


@contextmanager
def no_ttl(stage: Stage) -> Iterator[None]:
    def switch(*, on: bool) -> None:
        stage.client("dynamodb").update_time_to_live(
            TableName=stage.settings.table,
            TimeToLiveSpecification={"Enabled": on, "AttributeName": "ttl"},
        )

    switch(on=False)
    yield
    switch(on=True)


@contextmanager
def no_backups(stage: Stage) -> Iterator[None]:
    def switch(*, on: bool) -> None:
        stage.client("dynamodb").update_continuous_backups(
            TableName=stage.settings.table,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": on},
        )

    switch(on=False)
    yield
    switch(on=True)


@contextmanager
def mapping_disabled(stage: Stage) -> Iterator[None]:
    def switch(*, on: bool) -> None:
        stage.client("lambda").update_event_source_mapping(
            UUID=stage.parts.stream_mapping, Enabled=on
        )

    switch(on=False)
    yield
    switch(on=True)


@contextmanager
def paused(stage: Stage) -> Iterator[None]:
    assert main(["pause", "--queue", STAGE, "--json"]) == 0
    yield
    assert main(["resume", "--queue", STAGE, "--json"]) == 0


@contextmanager
def unlimited(stage: Stage) -> Iterator[None]:
    function = {"FunctionName": stage.parts.functions[deployment.PROCESSOR]}
    stage.client("lambda").delete_function_concurrency(**function)
    yield
    assert main(["resume", "--queue", STAGE, "--json"]) == 0


@contextmanager
def unsubscribed(stage: Stage, topic: str) -> Iterator[None]:
    sns = stage.client("sns")
    (one,) = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    sns.unsubscribe(SubscriptionArn=one["SubscriptionArn"])
    yield
    sns.subscribe(TopicArn=topic, Protocol=one["Protocol"], Endpoint=one["Endpoint"])


def processor_unsubscribed(stage: Stage) -> Any:
    return unsubscribed(stage, stage.settings.topics["process"])


def nobody_listens(stage: Stage) -> Any:
    return unsubscribed(stage, stage.parts.alarm_topic)


@contextmanager
def sweep_disabled(stage: Stage) -> Iterator[None]:
    scheduler = stage.client("scheduler")
    names = (
        *("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target"),
        "ScheduleExpressionTimezone",
    )
    found = scheduler.get_schedule(Name=stage.parts.schedules[0])
    same = {name: found[name] for name in names if name in found}
    scheduler.update_schedule(**same, State="DISABLED")
    yield
    scheduler.update_schedule(**same, State="ENABLED")


@contextmanager
def alarm_muted(stage: Stage) -> Iterator[None]:
    names = {"AlarmNames": [stage.parts.alarms[0]]}
    stage.client("cloudwatch").disable_alarm_actions(**names)
    yield
    stage.client("cloudwatch").enable_alarm_actions(**names)


@contextmanager
def alarm_unknown(stage: Stage) -> Iterator[None]:
    more = (*stage.parts.alarms, "of-a-release-to-come")
    stage.write(PARTS, replace(stage.parts, alarms=more).encode())
    yield
    stage.write(PARTS, stage.parts.encode())


@contextmanager
def alarm_rings(stage: Stage) -> Iterator[None]:
    def state(value: str) -> None:
        stage.client("cloudwatch").set_alarm_state(
            AlarmName=stage.parts.alarms[0], StateValue=value, StateReason="a test"
        )

    state("ALARM")
    yield
    state("OK")


@contextmanager
def dead_letter(stage: Stage) -> Iterator[None]:
    url = {"QueueUrl": stage.parts.dead_letters}
    stage.client("sqs").send_message(**url, MessageBody="{}")
    yield
    stage.client("sqs").purge_queue(**url)


@contextmanager
def failed_task(stage: Stage) -> Iterator[None]:
    item = {"taskId": {"S": "f"}, "taskStatus": {"S": "FAILURE"}, "taskCreated": {"N": "1"}}
    table = {"TableName": stage.settings.table}
    stage.client("dynamodb").put_item(**table, Item=item)
    yield
    stage.client("dynamodb").delete_item(**table, Key={"taskId": item["taskId"]})


@contextmanager
def bucket_gone(stage: Stage) -> Iterator[None]:
    stage.write(SETTINGS, replace(stage.settings, bucket="gone").encode())
    yield
    stage.write(SETTINGS, stage.settings.encode())


@contextmanager
def payloads_forgotten_at(stage: Stage, days: int, **rule: Any) -> Iterator[None]:
    """With an object in the bucket, which is read as well."""
    s3, bucket = stage.client("s3"), {"Bucket": stage.settings.bucket}
    s3.put_object(**bucket, Key="k", Body=b"{}")
    there = s3.get_bucket_lifecycle_configuration(**bucket)["Rules"]
    other = {"ID": "r", "Status": "Enabled", "Expiration": {"Days": days}, **rule}
    s3.put_bucket_lifecycle_configuration(**bucket, LifecycleConfiguration={"Rules": [other]})
    yield
    s3.put_bucket_lifecycle_configuration(**bucket, LifecycleConfiguration={"Rules": there})
    s3.delete_object(**bucket, Key="k")


def payloads_forgotten_too_soon(stage: Stage) -> Any:
    return payloads_forgotten_at(stage, 3, Filter={"Prefix": ""})


def payloads_never_forgotten(stage: Stage) -> Any:
    return payloads_forgotten_at(stage, 400, Filter={"Prefix": "other/"})


@contextmanager
def bucket_open(stage: Stage) -> Iterator[None]:
    s3, bucket = stage.client("s3"), {"Bucket": stage.settings.bucket}
    there = s3.get_public_access_block(**bucket)["PublicAccessBlockConfiguration"]
    s3.delete_public_access_block(**bucket)
    yield
    s3.put_public_access_block(**bucket, PublicAccessBlockConfiguration=there)


BREAKAGES: dict[Callable[[Stage], Any], tuple[str, str, str]] = {
    no_settings: ("settings", "there is no SSM parameter", f"make deploy STAGE={STAGE}"),
    settings_of_a_table_that_is_gone: ("table", "There is no table gone", "restore"),
    settings_of_another_table: ("indexes", "status-created-index is missing", "make deploy"),
    another_release: ("versions", "deployed by lifoq 9.1.0", "pip install 'lifoq==9.1.0'"),
    no_ttl: ("TTL", "TTL is off", "aws dynamodb update-time-to-live --table-name"),
    no_backups: ("backups", "recovery is off", "aws dynamodb update-continuous-backups"),
    bucket_gone: ("large payloads", "There is no bucket gone", "make deploy"),
    payloads_forgotten_too_soon: (
        "large payloads",
        "after 3 days",
        '\'{"Rules": [{"Status": "Enabled", "Filter": {}, "Expiration": {"Days": 45}}]}\'',
    ),
    payloads_never_forgotten: ("large payloads", "Nothing deletes", '"Prefix": "other/"'),
    bucket_open: ("large payloads", "to the public", "aws s3api put-public-access-block"),
    mapping_disabled: ("stream mapping", "Disabled", "update-event-source-mapping --enabled"),
    paused: ("processors", "paused", f"lifoq resume --queue {STAGE}"),
    unlimited: ("processors", "any number of processors", f"lifoq resume --queue {STAGE}"),
    processor_unsubscribed: ("subscriptions", "is not subscribed", "make deploy"),
    nobody_listens: ("alarm topic", "Nobody is subscribed", "aws sns subscribe --topic-arn"),
    sweep_disabled: ("schedules", "is DISABLED", "make deploy"),
    alarm_muted: ("alarms", "is muted", "aws cloudwatch enable-alarm-actions"),
    alarm_unknown: ("alarms", "1 of ", "make deploy"),
    alarm_rings: ("alarms", "rings", "aws cloudwatch describe-alarm-history"),
    dead_letter: ("dead letters", "1 events", "aws sqs receive-message"),
    failed_task: ("failed tasks", "1 tasks have failed", "lifoq list --queue demo"),
}


@pytest.mark.parametrize(
    ("breakage", "subject", "wrong", "remedy"),
    [(breakage, *found) for breakage, found in BREAKAGES.items()],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_breakage_is_found_with_what_mends_it(
    stage: Stage,
    examined: Callable[[], dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    breakage: Callable[[Stage], Any],
    subject: str,
    wrong: str,
    remedy: str,
) -> None:
    with breakage(stage):
        capsys.readouterr()
        answer = examined()
    found = [one for one in answer["findings"] if one["subject"] == subject]
    assert any(wrong in one["wrong"] and remedy in one["remedy"] for one in found), answer
    assert all(one["meaning"] for one in found)
    capsys.readouterr()


def test_all_breakages_were_mended(examined: Callable[[], dict[str, Any]]) -> None:
    assert examined()["findings"] == []


def test_an_export_is_where_the_command_says(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--queue", STAGE, "--wait", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "COMPLETED"
    bucket, _, folder = answer["path"].removeprefix("s3://").partition("/")
    found = stage.client("s3").list_objects_v2(Bucket=bucket, Prefix=folder)
    names = {one["Key"].removeprefix(f"{folder}/") for one in found["Contents"]}
    assert {"manifest-summary.json", "manifest-files.json"} <= names


def test_a_person_reads_what_is_wrong_what_it_means_and_what_mends_it(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    with no_backups(stage):
        assert main(["doctor", STAGE]) == 3
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = lines.index("✗ backups")
    assert lines[at + 1] == "Point-in-time recovery is off."
    assert lines[at + 3].startswith("→ aws dynamodb update-continuous-backups --table-name ")
    assert "✓ table" in lines
    assert lines[-1] == "1 findings"
