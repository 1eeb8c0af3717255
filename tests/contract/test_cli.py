"""The operator's commands, against a real endpoint."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from lab import dynamodb_local
from lifoq import NewTask, Queue, Status, TaskError
from lifoq_cli.app import main


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
    queue.put("a", task_id="runs")
    queue.store.claim("runs", claim_id="c", lease=30)
    told = lifoq("cancel", "runs")[1]
    assert (told["status"], told["cancel_asked"]) == ("TAKEN", told["task_updated"])
    assert lifoq("get", "nobody") == (
        1,
        "task 'nobody' is not in the queue: it was never put, was shed, or its retention is over\n",
    )


def test_get_tells_where_a_task_failed_to_who_asks_for_it(
    queue, lifoq, capsys, dynamodb_local_endpoint
):
    queue.put("a", task_id="t")
    task = queue.store.claim("t", claim_id="c", lease=30)
    queue.store.fail(task, TaskError(type="ValueError", message="boom", traceback="line 7"))
    named = ("--table", queue.store.table.name, "--endpoint-url", dynamodb_local_endpoint)
    main([*named, "get", "t"])
    brief = capsys.readouterr().out
    main([*named, "get", "t", "--traceback"])
    assert "ValueError: boom" in brief
    assert "--traceback shows it" in brief
    assert "line 7" not in brief
    assert "line 7" in capsys.readouterr().out
    assert lifoq("get", "t")[1]["error"]["traceback"] == "line 7"


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


def test_a_put_takes_json_or_a_file_of_it(queue, lifoq, tmp_path):
    status, task = lifoq("put", "a", '{"n": 1}', "--id", "t", "--deadline", "2m")
    assert (status, task["payload"], task["status"]) == (0, {"n": 1}, "PENDING")
    entered, sheds = (datetime.fromisoformat(task[name]) for name in ("enqueued_at", "expires_at"))
    assert (sheds - entered, entered.tzinfo) == (timedelta(minutes=2), UTC)
    (tmp_path / "payload.json").write_text('["é"]')
    assert lifoq("put", "a", f"@{tmp_path / 'payload.json'}")[1]["payload"] == ["é"]
    assert lifoq("put", "a", "--due-at", "2030-01-01T00:00:00Z")[1]["status"] == "DELAYED"


def test_a_list_is_of_a_type_an_error_and_an_age(queue, lifoq):
    for task_id, task_type in (("one", "a"), ("two", "b"), ("three", "a")):
        queue.put(task_type, task_id=task_id)
        fail(queue, task_id)

    def ids(*words):
        return [task["task_id"] for task in lifoq("list", *words)[1]]

    failures = ("--status", "FAILURE")
    assert ids(*failures, "--type", "a") == ["three", "one"]
    assert ids(*failures, "--error", "ValueError", "--limit", "1") == ["three"]
    assert ids(*failures, "--older-than", "1h") == []
    assert ids(*failures, "--newer-than", "1h") == ["three", "two", "one"]
    assert lifoq("list")[1] == []


def test_a_delayed_task_is_run_now(queue, lifoq):
    queue.put("a", task_id="t", delay=3600)
    assert lifoq("run-now", "t")[1]["status"] == "PENDING"
    status, message = lifoq("run-now", "t")
    assert (status, "needs it to be DELAYED" in message) == (1, True)


def test_a_wait_ends_as_its_task_does(queue, lifoq):
    for task_id in ("done", "failed", "cancelled", "waits"):
        queue.put("a", task_id=task_id)
    queue.store.succeed(queue.store.claim("done", claim_id="c", lease=30), '{"x": 1}')
    fail(queue, "failed")
    queue.cancel("cancelled")
    assert lifoq("wait", "done") == (0, {"x": 1})
    assert lifoq("wait", "failed") == (3, "task 'failed' failed: ValueError: boom\n")
    assert lifoq("wait", "cancelled") == (3, "task 'cancelled' was cancelled\n")
    assert lifoq("wait", "waits", "--timeout", "0s")[0] == 4
    assert lifoq("wait", "nobody")[0] == 1


def test_a_redrive_of_many_asks_first(queue, lifoq, monkeypatch):
    queue.put("a", task_id="t")
    fail(queue, "t")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert lifoq("redrive", "--type", "a") == (0, {"redriven": 0})
    assert queue.get("t").status is Status.FAILURE


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
