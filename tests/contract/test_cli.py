"""The operator's commands, against a real endpoint."""

import io
import json

import pytest

from lifoq import NewTask, Queue, Status, TaskError
from lifoq_cli.app import main
from tests import dynamodb_local


@pytest.fixture
def queue(dynamodb_local_endpoint, new_dynamo_table):
    table = new_dynamo_table(dynamodb_local_endpoint)
    return Queue.connect(
        table=table.name, endpoint_url=dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS
    )


@pytest.fixture
def lifoq(queue, dynamodb_local_endpoint, capsys):
    """Runs a command; its exit status and what it printed, as JSON where it is."""

    def run(*words, table=queue.store.table.name):
        named = ("--table", table, "--endpoint-url", dynamodb_local_endpoint)
        status = main(["--json", *named, *words])
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if printed.out else printed.err

    return run


def fail(queue, task_id):
    task = queue.store.claim(task_id, claim_id="c", lease=30)
    queue.store.fail(task, TaskError(type="ValueError", message="boom"))


def test_stats_and_list_show_the_queue(queue, lifoq):
    queue.put_many([NewTask(task_type="a", payload=n) for n in range(3)])
    assert lifoq("stats")[1]["pending"] == 3
    status, tasks = lifoq("list", "--limit", "2")
    assert (status, [task["payload"] for task in tasks]) == (0, [2, 1])


def test_get_and_cancel_take_an_id(queue, lifoq):
    queue.put("a", {"x": "é"}, task_id="t")
    assert lifoq("get", "t")[1]["payload"] == {"x": "é"}
    assert lifoq("cancel", "t")[1]["status"] == "CANCELLED"
    assert lifoq("get", "nobody") == (
        1,
        "task 'nobody' is not in the queue: it was never put, was shed, or its retention is over\n",
    )


def test_redrive_takes_one_or_those_that_match(queue, lifoq):
    for task_id in ("one", "two", "three"):
        queue.put("a", task_id=task_id)
        fail(queue, task_id)
    assert lifoq("redrive", "one") == (0, {"redriven": 1})
    assert lifoq("redrive", "--yes", "--error", "KeyError") == (0, {"redriven": 0})
    assert lifoq("redrive", "--yes", "--type", "a", "--error", "ValueError") == (0, {"redriven": 2})
    status, message = lifoq("redrive", "one")
    assert status == 1
    assert "PENDING, but this needs it to be FAILURE" in message


@pytest.mark.parametrize(("answer", "cancelled"), [("n", 0), ("", 0), ("y", 1), ("YES", 1)])
def test_purge_asks_first(queue, lifoq, monkeypatch, answer, cancelled):
    queue.put("a", task_id="t")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    assert lifoq("purge") == (0, {"cancelled": cancelled})
    assert (queue.get("t").status is Status.CANCELLED) == bool(cancelled)


def test_a_table_that_is_not_there_gets_its_sentence(lifoq):
    status, message = lifoq("stats", table="elsewhere")
    assert status == 1
    assert message.startswith("there is no table 'elsewhere' in region 'us-east-1'")
