"""A deployed queue on the local cloud: examined, tried, filled and exported."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import aws_cdk as cdk
import pytest

from lifoq.client.connection import Connection
from lifoq.client.deployment import SWEEP, Deployment
from lifoq.client.processing import Processing
from lifoq.items.book import book_id
from lifoq.items.transitions import Lifetimes
from lifoq.tables.pressure import NOTE
from lifoq_cli.app import main
from lifoq_cli.smoke import STEPS
from localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized

STAGE = "demo"
SETTINGS = f"/lifoq/{STAGE}/queue"
PARTS = f"/lifoq/{STAGE}/deployment"
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

    @contextmanager
    def swept_each_second(self) -> Iterator[None]:
        """For who would wait a minute for the sweep, again and again."""
        over = threading.Event()

        def sweep() -> None:
            while not over.wait(1):
                function = self.parts.functions[SWEEP]
                self.client("lambda").invoke(FunctionName=function, Payload=b"{}")

        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        try:
            yield
        finally:
            over.set()
            sweeper.join()


@pytest.fixture(scope="module")
def stage(tmp_path_factory) -> Iterator[Stage]:
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


def test_a_queue_as_it_was_deployed_is_well(stage, capsys):
    assert main(["doctor", STAGE, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["findings"] == []
    assert set(answer["not_checked"]) <= {"recursion"}, "which the local cloud does not have"


def test_a_queue_is_tried_and_left_as_it_was(stage, capsys):
    with stage.swept_each_second():
        status = main(["smoke", STAGE, "--yes", "--json"])
    seen = json.loads(capsys.readouterr().out)
    assert [one for one in seen if not one["well"]] == []
    assert ([one["step"] for one in seen], status) == (list(STEPS), 0)
    left = stage.client("dynamodb").scan(TableName=stage.settings.table)["Items"]
    assert {item["taskId"]["S"] for item in left} <= {book_id(""), NOTE}
    assert not Processing.connect(STAGE).is_paused


def test_a_large_payload_is_put_and_read_by_table_and_bucket(stage, capsys, tmp_path):
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


def test_a_queue_whose_tasks_would_be_shed_is_not_tried(stage, capsys):
    stage.write(SETTINGS, replace(stage.settings, lifetimes=Lifetimes(deadline=60)).encode())
    assert main(["smoke", STAGE, "--yes"]) == 1
    stage.write(SETTINGS, stage.settings.encode())
    assert "the deadline of demo is 60 s" in capsys.readouterr().err


def test_a_paused_queue_is_not_tried(stage, capsys):
    main(["pause", "--queue", STAGE, "--json"])
    assert main(["smoke", STAGE, "--yes"]) == 1
    main(["resume", "--queue", STAGE, "--json"])
    assert "demo is paused: lifoq resume --queue demo" in capsys.readouterr().err


def test_an_export_is_where_the_command_says(stage, capsys):
    assert main(["export", "--queue", STAGE, "--wait", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "COMPLETED"
    bucket, _, folder = answer["path"].removeprefix("s3://").partition("/")
    found = stage.client("s3").list_objects_v2(Bucket=bucket, Prefix=folder)
    names = {one["Key"].removeprefix(f"{folder}/") for one in found["Contents"]}
    assert {"manifest-summary.json", "manifest-files.json"} <= names


def test_a_person_reads_what_is_wrong_what_it_means_and_what_mends_it(stage, capsys):
    def keep_backups(*, on: bool) -> None:
        stage.client("dynamodb").update_continuous_backups(
            TableName=stage.settings.table,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": on},
        )

    keep_backups(on=False)
    assert main(["doctor", STAGE]) == 3
    keep_backups(on=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = lines.index("✗ backups")
    assert lines[at + 1] == "Point-in-time recovery is off."
    assert lines[at + 3].startswith("→ aws dynamodb update-continuous-backups --table-name ")
    assert "✓ table" in lines
    assert lines[-1] == "1 findings"
