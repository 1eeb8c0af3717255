"""Commands that touch an account ask first, and explain what a newcomer runs into."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import boto3
import click
import pytest
from botocore.exceptions import WaiterError
from click.testing import CliRunner
from moto import mock_aws

from stacks import operate
from tests.deployed import concurrency, deploy_dev


@pytest.fixture(autouse=True)
def account() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.fixture
def dev(account) -> None:
    """The stage, as it is deployed."""
    deploy_dev()
    stack("lifoq-dev-state", "exports-of-dev", "payloads-of-dev")
    stack("lifoq-dev-queue")


class Cli:
    """Stands for the CDK CLI: remembers what it was given, and leaves an assembly behind."""

    def __init__(self) -> None:
        self.given: list[tuple[str, ...]] = []
        self.stacks = ["lifoq-dev-state", "lifoq-dev-queue"]
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(self, *arguments: str) -> None:
        self.given.append(arguments)
        (folder,) = [one.removeprefix("--output=") for one in arguments if "--output" in one]
        Path(folder).mkdir(parents=True, exist_ok=True)
        manifest = json.dumps({"artifacts": {name: {} for name in self.stacks}})
        Path(folder, "manifest.json").write_text(manifest)
        self.meanwhile()


@pytest.fixture
def cli(monkeypatch, tmp_path) -> Cli:
    cli = Cli()
    monkeypatch.setattr(operate, "_cdk", cli)
    monkeypatch.setattr(operate, "ASSEMBLIES", tmp_path)
    return cli


def run(*words: str, answer: str | None = None) -> tuple[int, str]:
    finished = CliRunner().invoke(operate.main, words, input=answer)
    assert finished.exception is None or isinstance(finished.exception, SystemExit)
    return finished.exit_code, finished.output


def stack(name: str, *buckets: str, protected: bool = False) -> None:
    """A stack with a topic and these buckets, with an object in each."""
    resources: dict[str, Any] = {"Topic": {"Type": "AWS::SNS::Topic"}}
    for number, bucket in enumerate(buckets):
        properties = {"BucketName": bucket}
        resources[f"Bucket{number}"] = {"Type": "AWS::S3::Bucket", "Properties": properties}
    boto3.client("cloudformation").create_stack(
        StackName=name,
        TemplateBody=json.dumps({"Resources": resources}),
        EnableTerminationProtection=protected,
    )
    for bucket in buckets:
        boto3.client("s3").put_object(Bucket=bucket, Key="exports/a", Body=b"")


def stacks() -> set[str]:
    found = boto3.client("cloudformation").describe_stacks()["Stacks"]
    return {one["StackName"] for one in found}


def reserve(executions: int) -> None:
    boto3.client("lambda").put_function_concurrency(
        FunctionName="processor", ReservedConcurrentExecutions=executions
    )


def test_deploying_to_a_protected_stage_asks_first(cli, tmp_path):
    stack("lifoq-prod-state", protected=True)
    cli.stacks = ["lifoq-prod-state"]
    status, output = run("deploy", "prod", answer="n\n")
    assert (status, "protected" in output, cli.given) == (1, True, [])

    assert run("deploy", "prod", answer="y\n")[0] == 0
    assert cli.given == [("deploy", "--all", "-c", "stage=prod", f"--output={tmp_path / 'prod'}")]
    assert run("deploy", "prod", "--yes")[0] == 0


@pytest.mark.usefixtures("dev")
def test_deploying_elsewhere_asks_nothing_and_passes_options_on(cli, tmp_path):
    assert run("deploy", "dev", "--profile", "team")[0] == 0
    place = f"--output={tmp_path / 'dev'}"
    assert run("deploy", "dev", "--yes")[0] == 0
    command = ("deploy", "--all", "-c", "stage=dev", place)
    assert cli.given == [(*command, "--profile", "team"), (*command, "--require-approval=never")]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.usefixtures("dev")
def test_a_pause_survives_a_deployment_that_sets_the_concurrency(cli, *, fails):
    def deploy() -> None:
        reserve(3)
        if fails:
            raise click.exceptions.Exit(1)

    cli.meanwhile = deploy
    assert "paused" not in run("deploy", "dev")[1]
    assert concurrency() == 3

    reserve(0)
    status, output = run("deploy", "dev")
    assert (status, concurrency()) == (int(fails), 0)
    assert "'dev' was paused, and still is" in output


@pytest.mark.usefixtures("dev")
def test_a_stack_that_the_stage_has_no_more_is_deleted_when_it_is_confirmed(cli):
    """But for what old data needs."""
    cli.stacks.remove("lifoq-dev-state")
    for name in ("dev-key", "dev-analytics", "dev-2-analytics", "prod-analytics"):
        stack(f"lifoq-{name}")
    before = stacks()

    assert "lifoq-dev-analytics is no longer part" in run("deploy", "dev", answer="n\n")[1]
    assert stacks() == before
    assert (
        "lifoq-dev-key is no longer part of the stage, and stays"
        in run("deploy", "dev", answer="y\n")[1]
    )
    assert stacks() == before - {"lifoq-dev-analytics"}
    stack("lifoq-dev-generator")
    assert run("deploy", "dev", "--yes")[0] == 0
    assert stacks() == before - {"lifoq-dev-analytics"}


@pytest.mark.usefixtures("dev")
def test_destroying_wants_the_stages_name_typed_and_spares_what_is_protected_or_not_there():
    stack("lifoq-prod-state", protected=True)
    before = stacks()
    for stage, answer, told in (
        ("dev", "yes\n", "nothing was destroyed"),
        ("prod", "prod\n", "'prod' is protected: take 'protected' from it in stacks/stages.py"),
        ("de", "de\n", "'de' is not deployed in this account and region"),
    ):
        status, output = run("destroy", stage, answer=answer)
        assert (status, told in output) == (1, True), output
    assert stacks() == before


@pytest.mark.usefixtures("dev")
def test_destroying_leaves_nothing_of_the_stage_and_all_of_the_others():
    """Also what the application no longer has, which may import from what it has."""
    stack("lifoq-dev-key")  # switched on later: the others import from it all the same
    stack("lifoq-dev-analytics")
    stack("lifoq-dev-2-state")
    status, output = run("destroy", "dev", answer="dev\n")

    assert status == 0
    assert stacks() == {"lifoq-dev-2-state"}
    assert boto3.client("s3").list_buckets()["Buckets"] == []
    order = [line.split()[1] for line in output.splitlines() if line.startswith("Deleting")]
    assert order == [f"lifoq-dev-{one}" for one in ("analytics", "queue", "state", "key")]


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("AWS_DEFAULT_REGION", "", "set AWS_REGION"),
        ("AWS_ACCESS_KEY_ID", "", "set AWS_PROFILE"),
        ("AWS_PROFILE", "nobody", "nobody) could not be found. Look at AWS_PROFILE"),
    ],
)
def test_what_is_missing_is_one_sentence(monkeypatch, name, value, remedy):
    for file in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(file, "/nowhere")
    monkeypatch.setenv(name, value)
    for gone in ("AWS_REGION", name if not value else "AWS_REGION"):
        monkeypatch.delenv(gone, raising=False)

    status, output = run("destroy", "dev", "--yes")

    assert status == 1
    assert remedy in output
    assert len(output.splitlines()) == 1


@pytest.mark.usefixtures("dev")
def test_a_refusal_of_aws_is_one_sentence():
    s3 = boto3.client("s3")
    s3.delete_object(Bucket="exports-of-dev", Key="exports/a")
    s3.delete_bucket(Bucket="exports-of-dev")
    status, output = run("destroy", "dev", "--yes")

    assert status == 1
    assert "AWS refused ListObjectsV2: NoSuchBucket" in output


@pytest.mark.usefixtures("dev")
def test_a_pause_that_cannot_be_asked_for_stops_the_deployment(cli):
    boto3.client("ssm").delete_parameter(Name="/lifoq/dev/queue")
    status, output = run("deploy", "dev")

    assert (status, cli.given) == (1, [])
    assert "there is no SSM parameter /lifoq/dev/queue" in output


@pytest.mark.usefixtures("dev")
def test_a_deployment_that_fails_has_the_status_of_the_cdk_and_deletes_nothing(
    monkeypatch, tmp_path
):
    """Nor does one whose assembly lies elsewhere."""
    monkeypatch.setattr(operate, "ASSEMBLIES", tmp_path)
    stack("lifoq-dev-analytics")
    before = stacks()
    monkeypatch.setattr(operate, "CDK", tmp_path / "cdk")
    for status in (3, 0):
        (tmp_path / "cdk").write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / "cdk").chmod(0o755)
        assert run("deploy", "dev", "--yes")[0] == status
    assert stacks() == before


@pytest.mark.parametrize("protected", [False, True])
def test_a_stack_that_cannot_be_deleted_says_why(monkeypatch, *, protected):
    aws = Mock()
    aws.get_waiter.return_value.wait.side_effect = WaiterError("deleted", "failed", {})
    events = [{}, {"ResourceStatusReason": "the bucket is not empty"}]
    aws.describe_stack_events.return_value = {"StackEvents": events}
    monkeypatch.setattr(operate.DeployedStage, "_cloudformation", aws)
    found = {"StackName": "lifoq-dev-state", "EnableTerminationProtection": protected}
    with pytest.raises(click.ClickException, match=r"dev-state could not .*: the bucket is not e"):
        operate.DeployedStage("dev").delete(found)
    name = {"StackName": "lifoq-dev-state"}
    freed = call.update_termination_protection(**name, EnableTerminationProtection=False)
    assert [one for one in aws.method_calls if one != call.get_waiter("stack_delete_complete")] == [
        *([freed] if protected else []),
        call.delete_stack(**name),
        call.describe_stack_events(**name),
    ]
    twenty_minutes = {"Delay": 3, "MaxAttempts": 400}
    aws.get_waiter().wait.assert_called_once_with(**name, WaiterConfig=twenty_minutes)


def test_a_missing_cli_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(operate, "CDK", tmp_path / "cdk")

    assert run("deploy", "dev") == (
        1,
        "Error: The CDK CLI is not installed: run 'make setup' first.\n",
    )
