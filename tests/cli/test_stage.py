"""A deployed queue on the local cloud: examined, tried, filled and exported."""

import json
import secrets
import threading
from collections.abc import Iterator

import aws_cdk as cdk
import pytest

from lifoq.client.connection import Connection
from lifoq.client.deployment import SWEEP, Deployment
from lifoq.client.processing import Processing
from lifoq.items.book import book_id
from lifoq.tables.pressure import NOTE
from lifoq_cli.app import main
from lifoq_cli.smoke import STEPS
from localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized

STAGE = "demo"
pytestmark = pytest.mark.prove


class Stage:
    def __init__(self, cloud: LocalCloud) -> None:
        self.client = cloud.client
        self.settings = Connection.decode(self._parameter("queue"), source="the stage")
        self.parts = Deployment.decode(self._parameter("deployment"), source="the stage")

    def _parameter(self, name: str) -> str:
        found = self.client("ssm").get_parameter(Name=f"/lifoq/{STAGE}/{name}")
        return str(found["Parameter"]["Value"])


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
    over = threading.Event()

    def sweep() -> None:
        """Each second: else each step may wait a minute for it."""
        while not over.wait(1):
            function = stage.parts.functions[SWEEP]
            stage.client("lambda").invoke(FunctionName=function, Payload=b"{}")

    sweeper = threading.Thread(target=sweep, daemon=True)
    sweeper.start()
    status = main(["smoke", STAGE, "--yes", "--json"])
    over.set()
    sweeper.join()
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


def test_an_export_is_where_the_command_says(stage, capsys):
    assert main(["export", "--queue", STAGE, "--wait", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "COMPLETED"
    bucket, _, folder = answer["path"].removeprefix("s3://").partition("/")
    found = stage.client("s3").list_objects_v2(Bucket=bucket, Prefix=folder)
    names = {one["Key"].removeprefix(f"{folder}/") for one in found["Contents"]}
    assert {"manifest-summary.json", "manifest-files.json"} <= names
