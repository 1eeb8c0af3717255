"""The operator's commands: what they do, and what they print for people and for programs."""

import io
import json
import os
import re
import signal
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from lifoq import NewTask, StoreUnavailable, TaskError
from lifoq.basics.host import SYSTEM
from lifoq.health import found_limits, pressure
from lifoq.health import sweep_note as notes
from lifoq.health.found_limits import FoundLimit
from lifoq.health.pressure import Starts
from lifoq.items.schema import Attribute
from lifoq_cli import watch
from lifoq_cli.session import PlainConsole


def fail(queue, task_id, *, traceback=None):
    task = queue.store.claim(task_id, claim_id="c", lease=30)
    error = TaskError(type="ValueError", message="boom", traceback=traceback)
    queue.store.fail(task, error)


def test_people_read_what_a_task_holds_in_tables(queue, lifoq):
    for task_id in ("one", "two"):
        queue.put("greet", {"n": 1}, task_id=task_id, key="d-17")
    fail(queue, "one")
    for words, row in [
        ("list", "TASK TYPE KEY ENTERED SHEDS TRIES two greet d-17"),
        ("list --status failure", "TASK TYPE KEY TRIES FAILED ERROR one greet d-17 1"),
        ("get two", "task two status PENDING type greet key d-17 attempts 0 entered"),
        ("get two", 'payload { "n": 1 }'),
        ("get one", "error ValueError: boom"),
        ("stats", "Failing. Tasks have failed, and wait for a redrive. 1 wait to be claimed"),
        ("stats", "is how long it has waited 0 wait for their time"),
        ("errors", "TASKS TYPE ERROR FIRST LAST 1 greet ValueError: boom (one)"),
    ]:
        assert row in " ".join(lifoq(*words.split())[1].split())


def test_stats_and_list_show_the_queue(queue, answer):
    queue.put_many([NewTask(task_type="a", payload=n) for n in range(3)])
    notes.write(queue.store, notes.Note(unknown_types=("a", "b")))
    stats = answer("stats")
    assert (stats["pending"], stats["unknown_types"]) == (3, ["a", "b"])
    assert [task["payload"] for task in answer("list", "--limit", "2")] == [2, 1]


def test_stats_show_what_workers_found_for_adaptive_types(queue, lifoq, answer):
    row = FoundLimit(worker="w", task_type="check", tasks=23.6, most=64, at=queue.store.now())
    rows = found_limits.encoded([row], before=[], now=row.at)
    starts = Starts(seconds=20, number=1, wait=0)
    also = {Attribute.RESULT: rows}
    pressure.note(queue.store, starts, host=SYSTEM, also=lambda _item: also)
    assert "24 check at a time: 24 found, of 64 at most" in " ".join(lifoq("stats")[1].split())
    (told,) = answer("stats")["adaptive_limits"]
    assert (told["task_type"], told["tasks"], told["most"], told["workers"]) == (
        "check",
        23.6,
        64,
        1,
    )


def test_explain_says_why_a_task_waits_to_people_and_programs(queue, lifoq, answer):
    queue.put("a", task_id="t")
    queue.put("a", task_id="newer")
    printed = lifoq("explain", "t")[1]
    assert "no worker is at work, as far as the table tells" in printed.splitlines()[0]
    assert "2. 1 newer task stands before it, and the newest come first" in printed.splitlines()
    assert "   it ends with a worker that starts" in printed.splitlines()
    told = answer("explain", "t")
    assert (told["task_id"], told["task_type"], told["status"]) == ("t", "a", "PENDING")
    assert [reason["name"] for reason in told["reasons"]] == ["no_worker", "order"]
    assert lifoq("explain", "--type", "b")[1] == "No task of type b waits.\n"
    assert lifoq("explain")[1].startswith("2 tasks wait, the oldest for ")
    status, printed, _ = lifoq("explain", "nobody")
    assert (status, printed.startswith("There is no such task")) == (1, True)


def test_get_and_cancel_take_an_id(queue, lifoq, answer):
    queue.put("a", {"x": "é"}, task_id="t")
    assert answer("get", "t")["payload"] == {"x": "é"}
    assert lifoq("delete", "t", "--yes")[0] == 1, "it waits"
    assert answer("cancel", "t")["status"] == "CANCELLED"
    queue.put("a", task_id="runs")
    queue.store.claim("runs", claim_id="c", lease=30)
    told = answer("cancel", "runs")
    assert (told["status"], told["cancel_asked"]) == ("TAKEN", told["task_updated"])
    assert lifoq("get", "nobody") == (
        1,
        "",
        "task 'nobody' is not in the queue: it was never put, was shed, or its retention is over\n",
    )


def test_get_tells_where_a_task_failed_to_who_asks_for_it(queue, lifoq, answer):
    queue.put("a", task_id="t")
    fail(queue, "t", traceback="line 7")
    brief, full = lifoq("get", "t")[1], lifoq("get", "t", "--traceback")[1]
    assert ("--traceback shows it" in brief, "line 7" in brief) == (True, False)
    assert "line 7" in full
    assert answer("get", "t")["error"]["traceback"] == "line 7"


def test_redrive_takes_one_or_those_that_match(queue, lifoq, answer):
    for task_id in ("one", "two", "three"):
        queue.put("a", task_id=task_id)
        fail(queue, task_id)
    assert answer("redrive", "one") == {"redriven": 1}
    assert answer("redrive", "--yes", "--error", "KeyError") == {"redriven": 0}
    assert answer("redrive", "--yes", "--type", "a", "--error", "ValueError") == {"redriven": 2}
    status, _, told = lifoq("redrive", "one")
    assert (status, "PENDING, but this needs it to be FAILURE" in told) == (1, True)


def test_a_put_takes_json_or_a_file_of_it_and_what_is_delayed_is_run_now(lifoq, answer, tmp_path):
    task = answer("put", "a", '{"n": 1}', "--id", "t", "--deadline", "2m")
    assert (task["payload"], task["status"]) == ({"n": 1}, "PENDING")
    entered, sheds = (datetime.fromisoformat(task[name]) for name in ("enqueued_at", "expires_at"))
    assert (sheds - entered, entered.tzinfo) == (timedelta(minutes=2), UTC)
    assert "head_start" not in task
    assert answer("put", "a", "--head-start", "1m")["head_start"] == 60
    (tmp_path / "payload.json").write_text('["é"]')
    assert answer("put", "a", f"@{tmp_path / 'payload.json'}")["payload"] == ["é"]
    late = answer("put", "a", "--due-at", "2030-01-01T00:00:00Z")
    assert late["status"] == "DELAYED"
    assert answer("run-now", late["task_id"])["status"] == "PENDING"
    status, _, told = lifoq("run-now", late["task_id"])
    assert (status, "needs it to be DELAYED" in told) == (1, True)


def test_a_list_is_of_a_type_an_error_and_an_age(queue, answer):
    for task_id, task_type in (("one", "a"), ("two", "b"), ("three", "a")):
        queue.put(task_type, task_id=task_id)
        fail(queue, task_id)

    def ids(*words):
        return [task["task_id"] for task in answer("list", *words)]

    failures = ("--status", "FAILURE")
    assert ids(*failures, "--type", "a") == ["three", "one"]
    assert ids(*failures, "--error", "ValueError", "--limit", "1") == ["three"]
    assert ids(*failures, "--older-than", "1h") == []
    assert ids(*failures, "--newer-than", "1h") == ["three", "two", "one"]
    assert ids() == []


def test_a_wait_ends_as_its_tasks_do(queue, lifoq, answer):
    for task_id in ("done", "failed", "cancelled", "waits"):
        queue.put("a", task_id=task_id)
    queue.store.succeed(queue.store.claim("done", claim_id="c", lease=30), '{"x": 1}')
    fail(queue, "failed")
    queue.cancel("cancelled")
    assert answer("wait", "done") == {"x": 1}
    assert lifoq("wait", "cancelled") == (3, "", "task 'cancelled' was cancelled\n")
    assert lifoq("wait", "done", "waits", "--timeout", "0s")[0] == 4
    assert lifoq("wait", "nobody")[0] == lifoq("wait", "done", "failed", "nobody")[0] == 1
    status, shown, told = lifoq("wait", "waits", "done", "failed", "--timeout", "0s")
    assert (status, shown) == (3, '{"task_id": "done", "result": {"x": 1}}\n')
    assert told.splitlines()[0] == "task 'failed' failed: ValueError: boom"
    assert "task 'waits' has not ended within 0 s" in told
    assert [task["task_id"] for task in answer("get", "waits", "done")] == ["waits", "done"]
    status, shown, told = lifoq("get", "done", "nobody", "waits")
    assert (status, "task 'nobody' is not in the queue" in told) == (1, True)
    assert all(task_id in shown for task_id in ("done", "waits"))


# What asks first


@pytest.mark.parametrize(
    ("words", "did"),
    [("purge", "cancelled"), ("redrive --type a", "redriven"), ("delete ended", "deleted")],
)
def test_what_cannot_be_taken_back_asks_first(queue, lifoq, answer, words, did):
    for task_id in ("waits", "failed", "ended"):
        queue.put("a", task_id=task_id)
    fail(queue, "failed")
    queue.cancel("ended")
    before = [queue.get(task_id) for task_id in ("waits", "failed", "ended")]
    assert answer(*words.split(), stdin="n\n") == {did: 0}
    status, printed, told = lifoq(*words.split())
    assert (status, printed, "? [y/N] " in told) == (1, "", True)
    assert told.endswith("no answer, so nothing was done; --yes does it without a question\n")
    assert [queue.get(task_id) for task_id in ("waits", "failed", "ended")] == before
    assert answer(*words.split(), stdin="YES\n") == {did: 1}
    assert [queue.get(task_id) for task_id in ("waits", "failed", "ended")] != before


def test_a_question_says_how_many_of_how_many_and_nothing_is_asked_about_nothing(
    queue, lifoq, answer
):
    queue.put("a", task_id="t0")
    assert lifoq("purge", stdin="n\n")[2] == "Cancel 1 waiting task of t? [y/N] "
    fail(queue, "t0")
    assert lifoq("redrive", stdin="n\n")[2] == "Redrive 1 failed task of t? [y/N] "
    assert answer("delete", "t0", "--yes") == {"deleted": 1}
    assert lifoq("purge") == (0, "0 cancelled\n", "nothing waits in t\n")
    assert lifoq("redrive", "--type", "a") == (0, "0 redriven\n", "no failed task of t matches\n")
    for number in range(5):
        queue.put("a" if number < 3 else "b", task_id=f"t{number}")
        fail(queue, f"t{number}")
    asked = "Redrive 3 of 5 failed tasks of t? [y/N] "
    assert lifoq("redrive", "--type", "a", stdin="n\n") == (0, "0 redriven\n", asked)
    asked = "Redrive 2 of 5 failed tasks of t? [y/N] "
    assert lifoq("redrive", "--limit", "2", stdin="y\n") == (0, "2 redriven\n", asked)
    assert [queue.get(f"t{number}").status for number in range(5)] == [
        *["FAILURE"] * 3,
        *["PENDING"] * 2,
    ]
    asked = "Redrive 3 failed tasks of t? [y/N] "
    assert lifoq("redrive", stdin="n\n") == (0, "0 redriven\n", asked)


@pytest.mark.parametrize(
    ("fails", "ended", "said"),
    [
        (False, 130, "interrupted: {} of 200 were cancelled\n"),
        (True, 1, "not all of it was done: {} of 200 were cancelled\nDynamoDB does not answer\n"),
    ],
)
def test_a_change_of_many_that_does_not_end_says_what_was_done(
    queue, lifoq, monkeypatch, fails, ended, said
):
    queue.put_many([NewTask(task_type="a")] * 200)
    cancel, cancelled = queue.cancel, []

    def until_the_50th(task_id, *, running):
        if fails and len(cancelled) >= 50:
            raise StoreUnavailable("DynamoDB does not answer")
        cancelled.append(cancel(task_id, running=running))
        if not fails and len(cancelled) == 50:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(queue, "cancel", until_the_50th)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status, printed, told = lifoq("purge", "--yes")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (status, printed, told) == (ended, "", said.format(len(cancelled)))
    assert 200 - queue.stats().live.value == len(cancelled)


def test_who_interrupts_a_put_of_many_is_told_what_was_put(queue, lifoq, monkeypatch):
    put_many = queue.put_many

    def interrupted_in_the_second_chunk(new, **more):
        if queue.waiting().value:
            raise KeyboardInterrupt
        return put_many(new, **more)

    monkeypatch.setattr(queue, "put_many", interrupted_in_the_second_chunk)
    status, printed, told = lifoq("put", "a", "--lines", stdin="1\n" * 1_200)
    assert (status, printed) == (130, "")
    said = "interrupted: 500 put; of the lines 501 to 1,000 some were put, perhaps\n"
    assert (told, queue.waiting().value) == (said, 500)


def test_who_interrupts_a_change_of_many_before_it_begins_is_told_that_nothing_was_done(
    queue, lifoq, monkeypatch
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for name, command in (("search", "redrive"), ("stats", "purge")):
        monkeypatch.setattr(queue, name, interrupted)
        assert lifoq(command, "--yes") == (130, "", "interrupted: nothing was changed\n")


def test_so_many_a_second_are_redriven_and_no_more(queue, lifoq):
    for number in range(4):
        queue.put("a", task_id=f"t{number}")
        fail(queue, f"t{number}")
    assert lifoq("redrive", "--yes", "--per-second", "20")[1] == "4 redriven\n"
    times = sorted(queue.get(f"t{number}").task_updated for number in range(4))
    assert times[-1] - times[0] >= 100_000, "three of them waited, 50 ms each"


def test_a_put_of_a_type_that_no_worker_has_says_so(queue, lifoq):
    assert lifoq("put", "mail.sent")[2] == "", "no sweep has come by yet"
    notes.write(queue.store, notes.Note(known_types=("lifoq.smoke", "mail.send", "report")))
    assert lifoq("put", "mail.send")[2] == ""
    status, printed, told = lifoq("--json", "put", "mail.sent")
    assert (status, json.loads(printed)["task_type"]) == (0, "mail.sent")
    assert told == (
        "No worker is known to have a handler for 'mail.sent', but for mail.send, report. The task "
        "waits for one until its deadline.\n"
    )


# Many at once


def test_lines_of_the_standard_input_are_put(queue, answer):
    lines = [
        {"task_type": "a", "payload": {"n": 1}, "task_id": "one"},
        {"task_type": "b", "delay": "2h", "head_start": "1m", "task_id": "two"},
        {"task_type": "a", "task_id": "one"},
    ]
    found = answer("put", "--lines", stdin="\n\n".join(map(json.dumps, lines)))
    assert found == {"put": 2, "there_before": 1, "not_put": 0}
    one, two = queue.get("one"), queue.get("two")
    assert (one.payload, two.task_type, two.head_start) == ({"n": 1}, "b", 60_000_000)
    assert two.due_at == pytest.approx(two.task_updated + 7200_000_000, abs=10_000_000)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2 is no JSON"),
        ("[1]", "line 2 is no object with a task_type"),
        ("[" * 30_000 + "]" * 30_000, "line 2 is no JSON: it is nested too deep"),
        ('{"task_type": "a", "retries": 3}', "line 2: retries is unknown; a task has task_type,"),
        ('{"task_type": "a", "delay": "soon"}', "line 2: 'soon' is no duration"),
        ('{"task_type": ""}', "line 2: task_type='': must be a string"),
    ],
)
def test_a_line_that_is_no_task_is_told_and_nothing_is_put(queue, lifoq, line, problem):
    status, printed, told = lifoq("put", "--lines", stdin='{"task_type": "a"}\n' + line)
    assert (status, printed) == (1, "")
    assert told.startswith(problem)
    assert told.endswith("; nothing was put\n")
    assert queue.waiting().value == 0


def test_of_many_lines_those_before_a_bad_one_are_put_and_said(queue, lifoq):
    status, _, told = lifoq("put", "a", "--lines", stdin="1\n" * 500 + "NaN?\n")
    assert status == 1
    assert told.startswith("line 501 is no JSON")
    assert told.endswith("; the 500 tasks before it were put\n")
    assert queue.waiting().value == 500


# Through a pipe


def test_a_line_for_a_pipe_is_not_cut(queue, lifoq):
    ids = [f"{n}-" + "x" * 200 for n in range(3)]
    for task_id in ids:
        queue.put("a", task_id=task_id)
    _, printed, told = lifoq("list")
    assert [line.split()[0] for line in printed.splitlines()[1:]] == ids[::-1]
    assert told == ""


def test_a_watch_without_a_terminal_is_a_line_of_json_for_each_look(queue, lifoq):
    queue.put("a", task_id="t")
    status, printed, told = lifoq("watch", "--times", "2", "--interval", "0.5s")
    looks = [json.loads(line) for line in printed.splitlines()]
    assert (status, told, len(looks)) == (0, "", 2)
    assert looks[1]["live"] == 1
    assert [task["task_id"] for task in looks[1]["newest"]["PENDING"]] == ["t"]


def test_a_watched_task_is_one_line_however_long_its_error_is_and_a_bound_that_was_met_is_said(
    queue, session
):
    for number in range(3):
        queue.put("a", task_id=f"failed-{number}")
        task = queue.store.claim(f"failed-{number}", claim_id="mine", lease=30)
        queue.store.fail(task, TaskError(type="HTTPError", message="too much " * 120))
    queue.put_many([NewTask(task_type="a")] * (watch.CAP + 1))
    screen = PlainConsole(file=io.StringIO(), width=100, height=50, force_terminal=True)

    (seen,) = islice(watch._looks(queue, session, interval=1.0, rows=5), 1)
    with screen.capture() as shown:
        screen.print(watch._drawn(seen, "dev"))
    drawn = re.sub(r"\x1b\[[\d;]*m", "", shown.get())

    assert [line.count("HTTPError") for line in drawn.splitlines() if "too much" in line] == [1] * 3
    assert "at least 1,000  wait to be claimed" in drawn
    assert not re.search(r"\d\+|at least 0", drawn)
