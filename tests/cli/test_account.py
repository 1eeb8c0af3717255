"""The command about an account: which queue is meant; processing is stopped, and goes on."""

import getpass
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock, PropertyMock

import boto3
import pytest
from botocore.stub import Stubber
from click.shell_completion import ShellComplete
from moto import mock_aws

from lab import dynamodb_local
from lifoq import Queue
from lifoq.client.connection import Connection
from lifoq.health import sweep_note as notes
from lifoq.items.lifetimes import Lifetimes
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account, NotAllowed, NotThere
from lifoq.operating.processing import Processing, known_paused
from lifoq.testing import create_table
from lifoq_cli import smoke
from lifoq_cli.app import main, root
from tests.deployed import PROCESSORS, concurrency, deploy_dev


@pytest.fixture(autouse=True)
def account(monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        deploy_dev()
        create_table(boto3.client("dynamodb"), "t")
        yield


def test_a_pause_lets_no_processor_start_and_says_how_long_one_may_run(capsys):
    assert main(["pause", "--queue", "dev"]) == 0
    assert concurrency() == 0
    told = capsys.readouterr().out
    assert "One that runs ends within 77 s" in told
    assert "lifoq resume --queue dev" in told
    assert main(["smoke", "dev", "--yes"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("dev was paused ")
    assert "by lifoq pause (" in told
    assert told.endswith("to go on: lifoq resume --queue dev\n")


def test_who_may_not_ask_is_not_told_that_the_queue_is_paused():
    denied = Mock()
    type(denied).is_paused = PropertyMock(
        side_effect=NotAllowed("lambda:GetFunctionConcurrency", "")
    )
    assert known_paused(denied) is known_paused(None) is False


def test_who_may_not_write_to_the_table_pauses_and_resumes_all_the_same(capsys, caplog):
    boto3.client("dynamodb").delete_table(TableName="t")
    assert main(["pause", "--queue", "dev"]) == 0
    assert concurrency() == 0
    assert "who paused the queue could not be noted" in caplog.text
    capsys.readouterr()
    assert main(["--json", "resume", "--queue", "dev"]) == 0
    assert concurrency() == PROCESSORS
    assert json.loads(capsys.readouterr().out) == {"resumed": ["dev"]}


@contextmanager
def heeded(number: signal.Signals) -> Iterator[None]:
    """Tests that run in the background may ignore it, and what is ignored stays so."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
        assert signal.getsignal(number) is signal.SIG_DFL, "the command leaves it as it was"
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_trial_that_a_signal_ends_leaves_the_queue_as_it_was(name, capsys, monkeypatch):
    number = signal.Signals[name]

    def pauses_until_a_signal_comes(trial: smoke.Trial) -> str:
        trial.queue.put("smoke", None, task_id=trial._new_id())
        trial.processing.pause("lifoq smoke", passing=True)
        assert concurrency() == 0
        os.kill(os.getpid(), number)
        return "it was not ended"

    resume = Processing.resume

    def resumes_though_another_signal_comes(processing: Processing) -> None:
        os.kill(os.getpid(), number)
        resume(processing)

    monkeypatch.setattr(smoke, "STEPS", {"pause": pauses_until_a_signal_comes})
    monkeypatch.setattr(Processing, "resume", resumes_though_another_signal_comes)
    with heeded(number):
        assert main(["smoke", "dev", "--yes"]) == 128 + number
    assert concurrency() == PROCESSORS
    assert boto3.client("dynamodb").scan(TableName="t")["Items"] == []
    assert f"ended by {name}: dev is as it was before" in capsys.readouterr().err


def test_a_trial_that_was_killed_is_found_by_its_pause(capsys):
    # given what a process leaves behind that could not undo anything
    Processing.connect("dev").pause("lifoq smoke", passing=True)

    for words in (["smoke", "--yes"], ["stats"]):
        main([*words, "--queue", "dev"])
        captured = capsys.readouterr()
        told = captured.out + captured.err
        assert f"by lifoq smoke ({getpass.getuser()}@{socket.gethostname()}, process " in told
        assert "if it runs no more: lifoq resume --queue dev" in told
    main(["stats", "--queue", "dev", "--json"])
    assert json.loads(capsys.readouterr().out)["pause"]["by"] == "lifoq smoke"

    main(["resume", "--queue", "dev"])
    capsys.readouterr()
    main(["stats", "--queue", "dev", "--json"])
    assert "pause" not in json.loads(capsys.readouterr().out)
    assert boto3.client("dynamodb").scan(TableName="t")["Items"] == []


def test_a_queue_whose_tasks_would_be_shed_is_not_tried(capsys):
    short = Connection(table="t", lifetimes=Lifetimes(deadline=60))
    boto3.client("ssm").put_parameter(Name="/lifoq/dev/queue", Value=short.encode(), Overwrite=True)
    assert main(["smoke", "dev", "--yes"]) == 1
    assert "the deadline of dev is 60 s" in capsys.readouterr().err


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


def completed(line: str) -> list[str]:
    """Return the words that a shell offers for the last word of the line."""
    *words, incomplete = line.split(" ")
    offered = ShellComplete(root, {}, "lifoq", "_LIFOQ_COMPLETE").get_completions(words, incomplete)
    return [one.value for one in offered]


def test_a_shell_completes_queues_statuses_and_the_types_of_the_queue_that_is_named(monkeypatch):
    monkeypatch.setenv("LIFOQ_QUEUE", "gone")
    notes.write(
        Queue.connect("dev").store,
        notes.Note(known_types=("mail.send", "report"), unknown_types=("mail.sent",)),
    )
    assert completed("stats --queue d") == ["dev"]
    assert completed("doctor ") == ["dev"]
    assert completed("--queue dev put mail") == ["mail.send", "mail.sent"]
    assert completed("list --queue dev --type r") == ["report"]
    assert completed("list --status f") == ["failure"]
    assert completed("list --type r") == [], "there is no such queue"


def test_the_queues_of_an_account_are_those_of_all_pages():
    pages = {
        None: {"Parameters": [{"Name": "/lifoq/shop/queue"}], "NextToken": "2"},
        "2": {"Parameters": [{"Name": f"/lifoq/dev/{kind}"} for kind in ("queue", "deployment")]},
    }
    account = SimpleNamespace(call=lambda *_, **asked: pages[asked.get("NextToken")])
    assert deployment.names(account) == ["dev", "shop"]


def test_a_shell_that_cannot_ask_offers_nothing_and_says_nothing(monkeypatch, capsys):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    assert completed("stats --queue d") == completed("--queue dev put m") == []
    assert capsys.readouterr() == ("", "")


def test_what_a_service_refuses_is_told_with_the_permission_that_it_takes():
    account = Account(**dynamodb_local.CREDENTIALS)
    for code, error, told in (
        ("ResourceNotFoundException", NotThere, "lambda:GetFunctionConcurrency: there is no such"),
        ("AccessDeniedException", NotAllowed, "grant it lambda:GetFunctionConcurrency"),
    ):
        with Stubber(account.client("lambda")) as service:
            service.add_client_error("get_function_concurrency", code)
            with pytest.raises(error, match=told):
                account.call("lambda", "get_function_concurrency", FunctionName="worker")
