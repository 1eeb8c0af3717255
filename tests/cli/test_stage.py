"""A deployed queue on the local cloud: examined, tried, filled and exported."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import aws_cdk as cdk
import pytest

from lifoq import __version__
from lifoq.client import connection
from lifoq.health import sweep_note as notes
from lifoq.health.pressure import NOTE
from lifoq.items.quota_table import quota_table_id
from lifoq.operating import deployment
from lifoq.operating.processing import Processing
from lifoq_cli.app import main
from lifoq_cli.smoke import STEPS
from lifoq_localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized

STAGE = "trial"
pytestmark = [pytest.mark.prove, pytest.mark.usefixtures("client")]


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[Callable[[str], Any]]:
    with (
        LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud,
        pytest.MonkeyPatch.context() as patch,
    ):
        stage = a_stage(
            STAGE,
            state={"large_payload_retention": cdk.Duration.days(60)},
            deadline=cdk.Duration.seconds(600),
            shared_limits=True,
            total_in_flight=10,
        )
        cloud.deploy(synthesized(stage).assembly)
        for name, value in cloud.environment().items():
            patch.setenv(name, value)
        topic = deployment.read(STAGE).alarm_topic
        client = cloud.client("sns")
        client.subscribe(TopicArn=topic, Protocol="email", Endpoint="a@example.com")
        yield cloud.client


def test_a_queue_as_it_was_deployed_is_well(capsys):
    assert main(["doctor", STAGE, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["findings"] == []
    assert answer["versions"] == dict.fromkeys(["library", "functions", "table"], __version__)
    assert set(answer["not_checked"]) <= {"recursion"}, "which the local cloud does not have"


def test_a_queue_is_tried_and_left_as_it_was(client, capsys):
    over = threading.Event()

    def sweep() -> None:
        """Each second: else each step may wait a minute for it."""
        function = deployment.read(STAGE).functions[deployment.SWEEP]
        while not over.wait(1):
            client("lambda").invoke(FunctionName=function, Payload=b"{}")

    sweeper = threading.Thread(target=sweep, daemon=True)
    sweeper.start()
    status = main(["smoke", STAGE, "--yes", "--json"])
    over.set()
    sweeper.join()
    seen = json.loads(capsys.readouterr().out)
    assert [one for one in seen if not one["well"]] == []
    assert ([one["step"] for one in seen], status) == (list(STEPS), 0)
    left = client("dynamodb").scan(TableName=connection.read(STAGE).table)["Items"]
    assert {item["taskId"]["S"] for item in left} <= {quota_table_id(""), NOTE, notes.NOTE}
    assert not Processing.connect(STAGE).is_paused


def test_a_large_payload_is_put_and_read_by_table_and_bucket(capsys, tmp_path):
    file, large = tmp_path / "large.json", secrets.token_hex(500_000)
    file.write_text(json.dumps(large))
    settings = connection.read(STAGE)
    by_table = ["--table", settings.table, "--json"]
    put = ["put", "a", f"@{file}", "--id", "large", "--delay", "1h"]
    assert main([*put, *by_table]) == 2
    assert "deploy the queue with large_payloads" in capsys.readouterr().err
    by_table += ["--bucket", str(settings.bucket)]
    assert main([*put, *by_table]) == 0
    capsys.readouterr()
    assert main(["get", "large", *by_table]) == 0
    assert json.loads(capsys.readouterr().out)["payload"] == large
    assert main(["cancel", "large", *by_table]) == 0
    assert main(["delete", "large", "--yes", *by_table]) == 0
    capsys.readouterr()


def test_an_export_is_where_the_command_says(client, capsys):
    assert main(["export", "--queue", STAGE, "--wait", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "COMPLETED"
    bucket, _, folder = answer["path"].removeprefix("s3://").partition("/")
    found = client("s3").list_objects_v2(Bucket=bucket, Prefix=folder)
    names = {one["Key"].removeprefix(f"{folder}/") for one in found["Contents"]}
    assert {"manifest-summary.json", "manifest-files.json"} <= names
