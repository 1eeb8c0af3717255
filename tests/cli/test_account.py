"""The command about an account: which queue is meant; processing is stopped, and goes on."""

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from lifoq.client.connection import Connection
from lifoq.items.lifetimes import Lifetimes
from lifoq_cli.app import main
from tests.deployed import PROCESSORS, concurrency, deploy_dev


@pytest.fixture(autouse=True)
def account(monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        deploy_dev()
        yield


def test_a_pause_lets_no_processor_start_and_says_how_long_one_may_run(capsys):
    assert main(["pause", "--queue", "dev"]) == 0
    assert concurrency() == 0
    told = capsys.readouterr().out
    assert "One that runs ends within 77 s" in told
    assert "lifoq resume --queue dev" in told
    assert main(["smoke", "dev", "--yes"]) == 1
    assert "dev is paused: lifoq resume --queue dev" in capsys.readouterr().err


def test_a_queue_whose_tasks_would_be_shed_is_not_tried(capsys):
    short = Connection(table="t", lifetimes=Lifetimes(deadline=60))
    boto3.client("ssm").put_parameter(Name="/lifoq/dev/queue", Value=short.encode(), Overwrite=True)
    assert main(["smoke", "dev", "--yes"]) == 1
    assert "the deadline of dev is 60 s" in capsys.readouterr().err


def test_a_resume_lets_as_many_run_as_were_deployed_and_kicks_the_first(capsys):
    main(["pause", "--queue", "dev"])
    capsys.readouterr()
    assert main(["--json", "resume", "--queue", "dev"]) == 0
    assert concurrency() == PROCESSORS
    assert json.loads(capsys.readouterr().out) == {"resumed": ["dev"]}


def test_a_queue_that_is_not_deployed_is_told(capsys):
    assert main(["pause", "--queue", "prod"]) == 1
    assert "there is no SSM parameter /lifoq/prod/queue" in capsys.readouterr().err


def test_a_folder_says_which_queue_its_commands_are_about(capsys, monkeypatch, tmp_path):
    for name in ("AWS_DEFAULT_REGION", "LIFOQ_QUEUE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "lifoq.toml").write_text('queue = "shop"\nregion = "eu-central-1"\n')
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert main(["stats"]) == 1
    assert "there is no SSM parameter /lifoq/shop/queue" in capsys.readouterr().err
    monkeypatch.setenv("LIFOQ_QUEUE", "stock")
    main(["stats"])
    assert "/lifoq/stock/queue" in capsys.readouterr().err
    main(["stats", "--queue", "till"])
    assert "/lifoq/till/queue" in capsys.readouterr().err


def test_a_table_that_is_not_there_gets_its_sentence(capsys):
    assert main(["stats", "--table", "elsewhere"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("there is no table 'elsewhere' in region 'us-east-1'")
