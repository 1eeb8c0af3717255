"""The console as a browser meets it: what it shows, what it changes, whom it refuses."""

import html
import json
import os
import re
import socket
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
from botocore.exceptions import NoCredentialsError
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

import lifoq
from lifoq import (
    InvalidInput,
    NewTask,
    Queue,
    QueueMisconfigured,
    QueueStats,
    Status,
    StoreUnavailable,
    WrongStatus,
    cron,
    every,
)
from lifoq.client.connection import SharedLimits
from lifoq.health import pressure, sweep_note
from lifoq.items.quota_table import Amount, SharedLimit
from lifoq.items.schema import Attribute
from lifoq.metrics import Metric
from lifoq.operating.aws_calls import NotAllowed
from lifoq.operating.task_log import LogLine
from lifoq_console.app import Settings, application
from lifoq_console.bulk import Action
from lifoq_console.putting import LONGEST, Form
from lifoq_console.scraping import metrics_token
from lifoq_console.subject import Subject
from tests.console.conftest import TOKEN, Logs, Metrics, Switch, fail, lend, sent, worked

# What it shows


def test_an_empty_queue_is_said_to_be_empty(console):
    shown = console.page("/")
    assert "Idle No task waits, and none is in work." in shown
    assert "no metrics in the last hour" in shown
    assert "There is no task" in console.page("/types")
    for status in Status:
        assert "No task matches." in console.page(f"/tasks?status={status}")


def test_the_first_sentence_is_the_tables_and_charts_show_what_the_console_saw(queue, host, start):
    console = start(queue, cloudwatch=Metrics(TasksPending=1, TasksShed=20), processing=Switch())
    queue.put_many([NewTask(task_type="a", deadline=1) for _ in range(182)])
    shown = console.page("/")
    assert "Keeping up No task was shed in the last 5 min." in shown
    assert "waiting 182" in shown
    assert 'aria-label="Waiting, at most 182"' in console.ask("/")[1]
    host.advance(1.1)
    shown = console.page("/")
    assert re.search(r"Overloaded until (a moment|\d+ s) ago Tasks were shed until then", shown)
    assert "shed, last 5 min 182" in shown
    day = console.ask("/?range=1d")[1]
    assert re.search(r"<title>\w{3} \d\d:\d\d UTC: shed 20</title>", day)
    assert re.search(r"<title>\w{3} \d\d:\d\d UTC: shed 182</title>", day), "none was there before"
    assert re.search(r'class="scale soft"><span>200</span><span>100</span><span>0</span>', day)
    assert console.ask("/?range=1y")[0] == 400
    flooded = start(queue, cloudwatch=Metrics(TasksPending=10_000)).ask("/")[1]
    assert re.search(r"<title>\d\d:\d\d UTC: waiting at least 10,000</title>", flooded)


def test_without_cloudwatch_the_table_still_tells(queue, start):
    class Refusing:
        def get_metric_data(self, **_request):
            raise NoCredentialsError

    queue.put("a")
    shown = start(queue, cloudwatch=Refusing()).page("/")
    assert "waiting 1" in shown
    assert "CloudWatch did not answer. Unable to locate credentials" in shown


def test_a_queue_whose_cloud_was_started_anew_is_found_again(queue, start, monkeypatch):
    another = Queue.in_memory()
    another.store.table.name = "made anew"
    another.put("a", task_id="of today")
    console = start(queue, connect=lambda: Subject(name="prod", queue=another))

    def gone() -> QueueStats:
        raise QueueMisconfigured("there is no such table")

    monkeypatch.setattr(queue, "stats", gone)
    assert console.ask("/tasks?status=PENDING") == (
        303,
        f"http://{console.host}/tasks?status=PENDING",
    )
    assert "of today" in console.page("/tasks?status=PENDING")


def test_a_queue_that_is_still_the_same_is_told_to_be_out_of_reach(queue, start, monkeypatch):
    def gone() -> QueueStats:
        raise StoreUnavailable("no answer")

    console = start(queue, connect=lambda: Subject(name="prod", queue=queue))
    monkeypatch.setattr(queue, "stats", gone)
    status, text = console.ask("/")
    assert (status, "The queue cannot be reached" in text) == (503, True)


def test_shared_limits_are_shown_with_what_is_lent_of_them(queue, start):
    token = "of-prometheus-here"  # noqa: S105
    console = start(queue, metrics_token=token)
    bearer = {"Authorization": f"Bearer {token}"}
    assert "Shared limits" not in console.page("/")
    assert "lifoq_shared_limit" not in console.ask("/metrics", headers=bearer)[1]
    queue.shared_limits = SharedLimits(total_in_flight=10)
    lend(queue, SharedLimit(in_flight=10), worker="w", wants=Amount(slots=4))
    assert re.search(r"all types 4 of 10 – 1 worker in 4\d", console.page("/"))
    samples = console.ask("/metrics", headers=bearer)[1].splitlines()
    assert 'lifoq_shared_limit_slots_lent{queue="prod",task_type=""} 4.0' in samples


def test_a_list_is_filtered_and_paged(queue, console):
    for number in range(120):
        fail(queue, f"t{number}", error="TimeoutError" if number % 2 else "ValueError")
    _, first = console.ask("/tasks?status=FAILURE&error=TimeoutError")
    _, first = first.split("The tasks, newest first")
    ids = re.findall(r'"/task\?id=(t\d+)"', first)
    assert ids == [f"t{number}" for number in range(119, 19, -2)]
    following = html.unescape(re.search(r'href="(/tasks\?[^"]*start=[^"]*)"', first)[1])
    rest = re.findall(r'"/task\?id=(t\d+)"', console.ask(following)[1])
    assert rest == [f"t{number}" for number in range(19, 0, -2)]
    assert "No task matches." in console.page("/tasks?status=FAILURE&newer=0")


def test_a_task_shows_its_life_and_a_large_payload_only_when_asked(queue, console):
    fail(queue, "a/b ?&", error="TimeoutError")
    path = "/task?id=a%2Fb+%3F%26"
    shown = console.page(path)
    for said in ("a/b ?&", "attempt 1 , ", "failed for good; TimeoutError"):
        assert said in shown
    assert re.search(r"waits , (under 1|\d+) m?s", shown)
    assert '{ "device": "<b>d-17</b>" }' in shown
    queue.put("a", 500 * "<b>d-17</b>", task_id="large")
    assert "d-17" not in console.page("/task?id=large")
    status, text = console.ask("/task/json?part=payload&id=large")
    assert (status, "&lt;b&gt;d-17&lt;/b&gt;" in text) == (200, True)


def test_the_page_of_a_task_that_waits_tells_why(queue, start):
    queue.put("a", task_id="waits")
    queue.put("a", task_id="newer")
    console = start(queue)
    shown = console.page("/task?id=waits")
    assert "Why it waits It has waited for" in shown
    assert "1 newer task stands before it, and the newest come first" in shown
    assert "it ends with their starts, or their deadlines" in shown
    fail(queue, "failed")
    assert "Why it waits" not in console.page("/task?id=failed")


def test_a_tasks_page_leads_to_its_log_once_it_was_begun(queue, start):
    line = LogLine(at=1_800_000_000_000_000, level="WARNING", text="<b>slow</b>\x1b", traceback="T")
    console = start(queue, logs=Logs(line, complete=False))
    queue.put("a", task_id="waits")
    assert "Its log" not in console.page("/task?id=waits")
    fail(queue, "a/b")
    _, text = console.ask("/task?id=a%2Fb")
    assert 'data-load="/task/log?id=a%2Fb" open' in text  # not yet final
    shown = console.page("/task/log?id=a%2Fb")
    assert "2027-01-15 08:00:00.000 WARNING <b>slow</b>\\u001b T" in shown
    assert "more to look through" in shown
    none = start(queue, logs=Logs()).page("/task/log?id=a%2Fb")
    assert "Its code has logged nothing; what it prints carries no id. What ended its" in none
    assert "no line with its id" not in none.lower()
    some = start(queue, logs=Logs(complete=False)).page("/task/log?id=a%2Fb")
    assert "No line with its id in what was looked through" in some
    assert "not known where this queue logs" in start(queue).page("/task/log?id=a%2Fb")


def test_a_log_that_may_not_be_read_says_what_is_to_be_granted(queue, start):
    class Denied:
        def of(self, _task, *, now):
            raise NotAllowed("logs:FilterLogEvents", f"grant it logs:FilterLogEvents ({now})")

    fail(queue, "t")
    shown = start(queue, logs=Denied()).page("/task/log?id=t")
    assert "The log cannot be read: grant it logs:FilterLogEvents" in shown


def test_failures_are_understood_by_their_kinds_and_redriven_in_three_clicks(queue, console):
    for number in range(1_100):
        fail(
            queue, f"t{number}", error="OSError", message=f"no route to 'd-{number}' in {number} s"
        )
    for number in range(3):
        fail(queue, f"u{number}", error="KeyError", message="'cents'")

    def click(page: str, label: str) -> str:
        """The page that the first link with this label leads to."""
        link = re.search(rf'href="([^"]*)"[^>]*>{label}', page)
        return console.ask(html.unescape(link[1]))[1]

    failures = click(console.ask("/")[1], "Failure")
    largest = re.search(r"<tbody>.*?</tr>", failures, re.DOTALL)[0]
    assert "1,100" in largest
    assert "<b>OSError</b> no route to … in … s" in largest
    asked = click(largest, "Redrive")
    assert "Redrive more than 1,000 tasks?" in asked
    send = html.unescape(re.search(r'method="post" action="([^"]*)"', asked)[1])
    assert console.ask(send, method="POST") == (303, "/bulk/progress")
    assert "Done 1,100 of 1,100 changed" in console.page_after("Redriving")

    assert "All 3 were read." in console.page("/tasks?status=FAILURE")
    _, text = console.ask("/tasks?status=FAILURE&error=keyerror")
    delete = html.unescape(re.search(r'href="(/bulk\?[^"]*action=delete)"', text)[1])
    assert "Delete 3 tasks?" in console.page(delete)
    assert console.ask(delete, method="POST") == (303, "/bulk/progress")
    assert "Done 3 of 3 changed" in console.page_after("Deleting")
    assert (queue.get("u0"), queue.get("t0").status) == (None, Status.PENDING)


def test_what_ended_is_shown_and_each_type_with_its_numbers(queue, host, console):
    for number in range(3):
        queue.put("a", task_id=f"done{number}")
        host.advance(120)
        task = queue.store.claim(f"done{number}", claim_id="c", lease=3_600)
        host.advance(1_200)
        queue.store.succeed(task, '{"cents": 4}')
    queue.cancel(queue.put("b", task_id="withdrawn").task_id)
    queue.put("b", deadline=1)
    host.advance(2)
    queue.put("b")
    fail(queue, "bad")
    shown = console.page("/types")
    assert "a 0 0 0 – 1 3 2 min 20 min b 1 1 0 – 0 0 – –" in shown
    assert "of 7 tasks, all that the table holds" in shown
    row = {"worker": "w", "task_type": "a", "tasks": 5.6, "most": 64, "at": host.now()}
    starts = pressure.Starts(seconds=20, number=1, wait=0)
    also = {Attribute.RESULT: json.dumps([row])}
    pressure.note(queue.store, starts, host=host, also=lambda _item: also)
    assert "a 0 0 0 6 found, of 64 at most 1 3" in console.page("/types")
    shown = console.page("/tasks?status=SUCCESS&type=A")
    assert re.search(r"done2 a .* done1 a .* done0 a ", shown)
    assert "All that match, among 7 tasks that were read" in shown
    assert "withdrawn b" in console.page("/tasks?status=CANCELLED")
    assert '{ "cents": 4 }' in console.page("/task?id=done0")


def test_a_search_finds_a_part_of_an_id_a_key_or_an_error_in_every_status(queue, console):
    fail(queue, "b1", error="TimeoutError", message="No Needle here")
    queue.put("a", task_id="needle-2")
    queue.put("a", task_id="b3", key="the NEEDLE's", delay=60)
    queue.put("a", task_id="b4", key="needle")
    task = queue.store.claim("b4", claim_id="c", lease=30)
    queue.put("a", task_id="needle-5")
    queue.cancel("needle-5")
    queue.put("b", {"in": "needle"}, task_id="b6")
    _, page = console.ask("/search?q=needle&all=1")
    found = re.findall(r'href="/task\?id=([^"]*)"', page)
    assert found == ["needle-2", "b3", "b4", "b1", "needle-5"]
    assert "Pending: all 2" in console.page("/search?q=needle")
    queue.store.succeed(task, "null")
    assert 'href="/task?id=b4"' in console.ask("/search?q=needle")[1]
    assert "Nothing has “needle”" in console.page("/search?q=needle&type=b")
    assert console.ask("/search?q=needle-2") == (303, "/task?id=needle-2")
    assert "exactly this id: needle-2 , PENDING" in console.page("/search?q=needle-2&all=1")
    assert "Nothing" not in console.page("/search")


def test_a_search_says_what_it_looked_through_and_the_list_goes_on(queue, console):
    queue.put("a", task_id="needle")
    for number in range(1_500):
        queue.put("a", task_id=f"t{number}")
    shown = console.page("/search?q=eedl")
    assert "Nothing has “eedl”" in shown
    assert "Pending: the newest 1,000. Look further" in shown
    assert "Failure: all 0" in shown
    shown = console.page("/tasks?status=PENDING&text=EEDL")
    assert "1 shown of 1,501 read" in shown
    assert "Cancel 1 task?" in console.page("/bulk?status=PENDING&text=eedl")
    assert "Nothing to cancel" in console.page("/bulk?status=PENDING&text=EEDL")


def test_a_list_shows_how_payloads_begin_and_leads_to_others_of_a_type_or_a_key(start):
    queue = Queue.in_memory(large_payloads=True)
    console = start(queue)
    queue.put("a", {"sku": "4711"}, task_id="short")
    queue.put("a", {"note": "x" * 200}, task_id="cut")
    queue.put("b", "y" * 500_000, task_id="large", key="d&17")
    shown = console.page("/tasks?status=PENDING")
    assert '{"sku": "4711"}' in shown
    assert '{"note": "' + "x" * 110 + "…" in shown
    assert "500,002 bytes, in the queue's bucket" in shown
    _, page = console.ask("/tasks?status=PENDING")
    names = dict(re.findall(r'<a class="name[^"]*" href="([^"]*)"[^>]*>([^<]*)<', page))
    paths = {html.unescape(name): html.unescape(path) for path, name in names.items()}
    assert "2 shown of 3 read" in console.page(paths["a"])
    assert "1 shown of 3 read" in console.page(paths["d&17"])
    queue.cancel("large")
    queue.cancel("short")
    assert "large b d&17" in console.page("/tasks?status=CANCELLED&key=D%2617")
    assert "short" not in console.page("/tasks?status=CANCELLED&key=D%2617")


def test_the_filters_of_a_list_suggest_the_types_and_errors_that_there_are(queue, console):
    sweep_note.write(queue.store, sweep_note.Note(known_types=("a", "b")))
    fail(queue, "t", error="TimeoutError")
    for path in ("/tasks?status=FAILURE", "/tasks?status=SUCCESS", "/search?q=t&all=1", "/put"):
        _, page = console.ask(path)
        assert re.findall(r'<datalist id="types">(.*?)</datalist>', page) == [
            '<option value="a"></option><option value="b"></option>'
        ]
    _, page = console.ask("/tasks?status=FAILURE")
    assert '<datalist id="errors"><option value="TimeoutError">' in page


def test_a_type_has_its_own_charts_of_ends_waits_and_runs(queue, console):
    for task_id in ("t1", "t2"):
        queue.put("a", task_id=task_id)
        queue.store.succeed(queue.store.claim(task_id, claim_id="c", lease=30), "null")
    fail(queue, "other", task_type="<b>")
    _, page = console.ask("/type?name=a&range=7d")
    assert re.findall('aria-label="([^"]*), at most', page) == [
        "Ended, per 2 h 48 min",
        "Wait for the first attempt",
        "Run",
    ]
    assert re.search(r"UTC: done [12]<", page)
    assert re.search(r"UTC: median (under 1|\d+) ms, p95 ", page)
    shown = console.page("/type?name=a")
    assert "Drawn from 2 tasks of this type, all that the table holds" in shown
    assert "No task of this type" in console.page("/type?name=unknown")
    assert "<b>&" not in console.ask("/type?name=%3Cb%3E")[1]
    assert console.ask("/type?name=a&range=1y")[0] == 400
    assert 'href="/type?name=a"' in console.ask("/types")[1]
    shown = console.page("/type?name=<b>")
    assert "<b> waiting 0 in work 0 failed 1 past deadline, not deleted yet 0" in shown
    _, page = console.ask("/type?name=%3Cb%3E")
    (redrive,) = re.findall(r'href="([^"]*)">Redrive what failed', page)
    assert "Redrive 1 task?" in console.page(html.unescape(redrive))
    assert "Cancel what waits" not in page


def test_white_space_at_the_ends_of_names_is_part_of_them(queue, console):
    fail(queue, " t ", task_type=" a ")
    assert "failed for good" in console.page("/task?id=+t+")
    assert "No task matches." not in console.page("/tasks?status=FAILURE&type=+a+")
    assert "No task matches." in console.page("/tasks?status=FAILURE&type=a")


def test_what_task_code_wrote_is_text_and_no_page(queue, console):
    fail(queue, "<img src=x>", task_type="<i>title\x1b[2J\u202e\u200b")
    lists = (
        "/types",
        "/type?name=%3Ci%3Etitle%1B[2J%E2%80%AE%E2%80%8B",
        "/tasks?status=FAILURE",
        "/bulk?status=FAILURE",
    )
    for path in (*lists, "/search?q=img&all=1", "/task?id=%3Cimg+src%3Dx%3E"):
        _, text = console.ask(path)
        assert r"title\u001b[2J\u202e\u200b" in text
        for written in ("<script>alert", "<img", "<i>", "\x1b", "\u202e", "\u200b"):
            assert written not in text


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/task?id=nothing", 404, "nothing"),
        ("/task", 400, "at least one character"),
        ("/tasks?status=GONE", 400, "is none of PENDING"),
        ("/tasks?status=FAILURE&older=soon", 400, "write 90 s"),
        ("/tasks?status=FAILURE&start=here", 400, "is no place in this list"),
        ("/nowhere", 404, "Not found"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_by_a_sentence(console, path, status, sentence):
    answered, text = console.ask(path)
    assert (answered, sentence in text) == (status, True)


def test_a_change_that_was_not_confirmed_is_not_said_to_be_undone(queue, console, monkeypatch):
    def lost(_id: str, **_how: bool) -> None:
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(queue, "cancel", lost)
    status, text = console.ask("/task/cancel?id=t", method="POST")
    assert (status, "It may have been done all the same" in text) == (503, True)


# What it changes


def test_a_failure_is_redriven_a_waiting_task_cancelled_and_a_delayed_one_brought_in(
    queue, console
):
    fail(queue, "failed")
    queue.put("a", task_id="waits")
    queue.put("a", task_id="later", delay=600)
    assert "Run Cancel Put again" in console.page("/task?id=later")
    assert console.ask("/task/run?id=later", method="POST") == (303, "/task?id=later")
    assert queue.get("later").status is Status.PENDING
    queue.put("a", task_id="later still", delay=600)
    assert "Each enters the queue now" in console.page("/bulk?status=DELAYED")
    assert console.ask("/task/redrive?id=failed", method="POST") == (303, "/task?id=failed")
    assert console.ask("/task/cancel?id=waits", method="POST")[0] == 303
    assert queue.get("failed").status is Status.PENDING
    assert queue.get("waits").status is Status.CANCELLED
    assert console.ask("/task/explode?id=waits", method="POST")[0] == 404
    answered, text = console.ask("/task/redrive?id=waits", method="POST")
    assert (answered, "CANCELLED" in text) == (400, True)


def test_a_task_that_runs_is_told_to_stop_and_one_that_has_begun_is_no_longer_one_that_waits(
    queue, console
):
    for task_id in ("runs", "began"):
        queue.put("a", task_id=task_id)
        queue.store.claim(task_id, claim_id=task_id, lease=30)
    assert "Cancel Put again" in console.page("/task?id=runs")
    assert console.ask("/task/cancel?id=runs", method="POST")[0] == 303
    assert "cancelled while it ran; its handler is told" in console.page("/task?id=runs")
    assert "Cancel Put again" not in console.page("/task?id=runs")
    assert queue.get("runs").cancel_asked is not None
    with pytest.raises(WrongStatus):
        Action.CANCEL.apply(queue, "began", running=False)
    assert "Their handlers are told to stop" in console.page("/bulk?status=TAKEN")


def test_a_bulk_change_is_previewed_and_touches_only_what_matches_in_the_case_that_was_given(
    queue, console
):
    for number in range(130):
        queue.put("a" if number < 105 else "A", task_id=f"t{number}")
    assert "t129 A" in console.page("/tasks?status=PENDING&type=a")
    path = "/bulk?status=PENDING&type=a"
    assert "Cancel 105 tasks?" in console.page(path)
    assert queue.stats().live.value == 130
    assert console.ask(path, method="POST") == (303, "/bulk/progress")
    assert "Done 105 of 105 changed" in console.page_after("Cancelling")
    assert queue.stats().live.value == 25
    assert queue.get("t0").status is Status.CANCELLED


def test_the_rows_that_were_selected_are_changed_and_no_others(queue, console):
    odd = "t é\n&1"
    for task_id in (odd, "t2", "t3"):
        fail(queue, task_id)
    path = "/selected?status=FAILURE&action=redrive"
    _, text = console.ask("/tasks?status=FAILURE")
    boxes = re.findall(r'type="checkbox" name="id" value="([^"]*)"', text)
    assert (len(boxes), f'formaction="{html.escape(path)}"' in text) == (3, True)
    assert "select tasks first" in console.ask(path, method="POST")[1]
    assert console.ask(path.replace("redrive", "cancel"), method="POST")[0] == 400
    chosen = urlencode([("id", box) for box in boxes if box != "t2"])
    assert console.ask(path, method="POST", body=chosen) == (303, "/bulk/progress")
    assert "Done 2 of 2 changed" in console.page_after("Redriving")
    statuses = [queue.get(task_id).status for task_id in (odd, "t2", "t3")]
    assert statuses == [Status.PENDING, Status.FAILURE, Status.PENDING]


def test_a_bulk_change_keeps_to_its_rate_and_can_be_stopped(queue, console):
    for number in range(50):
        queue.put("a", task_id=f"t{number}")
    for rate in ("fast", "1e-12"):
        body = f"per_second={rate}"
        answered, text = console.ask("/bulk?status=PENDING", method="POST", body=body)
        assert (answered, "must be a number" in text) == (400, True)
    console.ask("/bulk?status=PENDING", method="POST", body="per_second=0.001")
    assert "still under way" in console.ask("/bulk?status=PENDING", method="POST")[1]
    console.ask("/bulk/stop", method="POST")
    shown = console.page_after("Cancelling")
    assert "Stopped" in shown
    assert queue.stats().live.value >= 49


def test_a_bulk_change_that_breaks_is_not_called_done(queue, console):
    queue.search = lambda *_args, **_more: 1 / 0
    console.ask("/bulk?status=PENDING", method="POST")
    shown = console.page_after("Cancelling")
    assert "Stopped by an error" in shown
    assert "ZeroDivisionError: division by zero" in shown


def test_processing_is_paused_and_resumed(queue, start):
    switch = Switch()
    console = start(queue, processing=switch)
    console.ask("/processing/pause", method="POST")
    assert switch.is_paused
    assert "Resume" in console.page("/")
    assert console.ask("/processing/anything", method="POST")[0] == 404
    assert switch.is_paused
    console.ask("/processing/resume", method="POST")
    assert not switch.is_paused


def test_a_console_that_only_shows_has_nothing_that_changes(queue, start):
    fail(queue, "failed")
    switch = Switch()
    console = start(queue, write=False, processing=switch)
    for path in ("/", "/tasks?status=FAILURE", "/task?id=failed"):
        assert 'method="post"' not in console.ask(path)[1]
    assert "Put" not in console.page("/task?id=failed")
    assert console.ask("/put")[0] == 404
    fields = "task_type=a&payload=1&status=FAILURE&id=failed"
    settings = Settings(port=0, token=TOKEN, write=True)
    that_writes = application(Subject(name="prod", queue=queue), settings)
    for route in that_writes.routes:
        if isinstance(route, Route) and "POST" in (route.methods or ()):
            answer = console.ask(f"{route.path}?{fields}", method="POST", body=fields)
            assert answer[0] in (404, 405), route.path
    assert queue.stats().live.value == 0
    assert (queue.get("failed").status, switch.is_paused) == (Status.FAILURE, False)


def test_workers_are_shown_with_what_they_do_and_hold(queue, console):
    assert "No worker is known to be at work." in console.page("/workers")
    worked(queue, "w1", "<b>t1</b>")
    worked(queue, "w2", "t2")
    queue.put("a", task_id="t3")
    queue.store.claim("t3", claim_id="of an earlier release", lease=30)
    shown = console.page("/workers")
    here = f"{socket.gethostname()}, process {os.getpid()}"
    for name, task_id in (("w1", "<b>t1</b>"), ("w2", "t2")):
        assert f"{here} {name} " in shown
        assert f"{lifoq.__version__} 1 of 10 {task_id} a," in shown
    assert "1 task at work whose claims do not tell whose they are: t3" in shown
    assert "<b>t1" not in console.ask("/workers")[1]


def test_a_worker_shows_the_quotas_that_it_holds(queue, console):
    queue.shared_limits = SharedLimits(total_in_flight=10, rate_limit=5)
    lend(queue, SharedLimit(in_flight=10, rate=5), worker="w1", wants=Amount(slots=4, shards=1))
    assert "not told yet w1 – – 0 all types: 4 at a time, 1 shard" in console.page("/workers")


# Schedules


def test_schedules_are_listed_by_their_names_and_deleted(queue, console):
    assert "There is no schedule that a client has made." in console.page("/schedules")
    berlin = cron("0 8 * * ? *", time_zone="Europe/Berlin")
    queue.schedules.put("tenant-42", berlin, "report.send", {"text": "<b>"}, deadline=1800)
    for number in range(60):
        queue.schedules.put(f"tidy-{number}", every(3600), "tidy")
    shown = console.page("/schedules?prefix=tenant")
    assert 'tenant-42 cron(0 8 * * ? *) Europe/Berlin report.send {"text": "<b>"}' in shown
    assert "deadline 30 min" in shown
    assert "tidy" not in shown
    assert "There are more: say how their names begin." in console.page("/schedules")
    deleted = console.ask("/schedules/delete?name=tenant-42", method="POST")
    assert (deleted, queue.schedules.get("tenant-42")) == ((303, "/schedules"), None)
    assert "No name of a schedule begins so." in console.page("/schedules?prefix=tenant")


def test_schedules_are_shown_where_the_queue_takes_them_and_deleted_with_write_alone(queue, start):
    queue.schedules.put("tenant-42", every(3600), "report.send")
    reading = start(queue, write=False)
    assert "Delete" not in reading.page("/schedules")
    assert reading.ask("/schedules/delete?name=tenant-42", method="POST")[0] == 404
    assert ">Schedules<" in reading.ask("/workers")[1]
    queue.schedule_group = None
    assert ">Schedules<" not in reading.ask("/workers")[1]
    status, page = reading.ask("/schedules")
    assert status == 400
    assert "takes no schedules: deploy it with schedules=True" in html.unescape(page)


# What it puts


def test_a_task_is_put_again_with_another_payload_once_it_was_previewed(queue, console):
    odd = "k\n<b>&'\"\x1b"
    queue.put("a", {"cents": 1}, task_id="first", key=odd, max_attempts=3, head_start=0.5)
    _, page = console.ask("/task?id=first")
    (again,) = re.findall(r'href="(/put\?[^"]*)">Put again', page)
    _, form = console.ask(html.unescape(again))
    assert "&#34;cents&#34;: 1" in form
    assert 'name="head_start" value="0.5"' in form
    (key,) = re.findall(r'name="key.quoted" value="([^"]*)"', form)
    filled = {"task_type": "a", "payload": '{"cents": 2}', "max_attempts": "3", "key.quoted": key}
    _, preview = console.ask("/put/preview", method="POST", body=urlencode(filled))
    assert "Put this task?" in preview
    assert "&#34;cents&#34;: 2" in preview
    assert "\\u001b" in preview
    assert "<b>&" not in preview
    assert queue.stats().live.value == 1
    body = sent(preview, "/put")
    status, place = console.ask("/put", method="POST", body=body)
    assert (status, place.startswith("/task?id=")) == (303, True)
    assert console.ask("/put", method="POST", body=body) == (303, place)
    assert queue.stats().live.value == 2
    put = queue.get(place.removeprefix("/task?id="))
    assert (put.payload, put.max_attempts, put.key) == ({"cents": 2}, 3, odd)
    _, changed = console.ask("/put/change", method="POST", body=body)
    assert 'name="max_attempts" value="3"' in changed


def test_what_no_task_can_be_is_said_at_the_form_which_keeps_what_was_written(queue, console):
    for fields, said in (
        ({"task_type": "", "payload": "1"}, "task_type='': is missing"),
        ({"task_type": "a", "payload": "{cents: 1}"}, "is no JSON"),
        ({"task_type": "a", "payload": "1", "deadline": "soon"}, "neither a duration"),
        ({"task_type": "a", "payload": "1", "deadline": "9d"}, "shorten it"),
        ({"task_type": "a", "payload": "1", "max_attempts": "many"}, "no whole number"),
        ({"task_type": "a", "payload": "1", "if_exists": "replace"}, "give a task_id"),
    ):
        status, page = console.ask("/put/preview", method="POST", body=urlencode(fields))
        assert (status, said in html.unescape(page)) == (400, True)
        assert all(html.escape(text) in page.replace("&#34;", "&quot;") for text in fields.values())
    assert queue.stats().live.value == 0


def test_a_put_of_an_id_in_use_says_what_will_come_of_it(queue, console):
    queue.put("a", 1, task_id="t")
    fields = {"task_type": "a", "payload": "2", "task_id": "t", "if_exists": "keep"}
    _, kept = console.ask("/put/preview", method="POST", body=urlencode(fields))
    assert "It stays as it is, and nothing is put" in kept
    assert ">Put it<" not in kept
    fields["if_exists"] = "replace"
    _, replaced = console.ask("/put/preview", method="POST", body=urlencode(fields))
    assert "takes its place" in replaced
    assert console.ask("/put", method="POST", body=sent(replaced, "/put"))[0] == 303
    assert queue.get("t").payload == 2


def test_the_form_of_a_type_offers_its_last_payloads(queue, console):
    for number in range(8):
        queue.put("a", {"n": number % 7}, task_id=f"t{number}")
    queue.put("b", {"n": "of another"})
    shown = console.page("/put?type=a")
    offered = [number for number in range(7) if f'"n": {number} ' in shown]
    assert offered == [0, 3, 4, 5, 6]
    assert "of another" not in shown
    assert "Last payloads" not in console.page("/put?type=unknown")


def test_a_payload_that_is_too_long_for_a_page_is_not_offered(queue, host, console):
    queue.put("a", {"n": "short"})
    host.advance(1)
    # Each number has a line of its own when it is printed, behind spaces.
    queue.put("a", {"numbers": [1] * (LONGEST // 6)})
    queue.put("b", {"numbers": [1] * (LONGEST // 6)})
    assert '"n": "short"' in console.page("/put?type=a")
    status, form = console.ask("/put?type=b")
    assert (status, 'name="task_type" value="b"' in form) == (200, True)
    assert "Last payloads" not in form


def test_numbers_of_a_task_that_is_put_again_are_exact(queue):
    terms = {"timeout": 12_345.678, "head_start": 0.000_001, "max_attempts": 1_000_000}
    form = Form.like(queue.put("a", **terms))
    texts = {name: form.texts[name] for name in terms}
    assert texts == {"timeout": "12345.678", "head_start": "0.000001", "max_attempts": "1000000"}
    again = form.new_task()
    assert {name: getattr(again, name) for name in terms} == terms


# Whom it refuses


def test_only_the_printed_address_opens_it_by_its_own_name(console):
    host = {"Host": console.host}
    assert console.ask("/", headers=host)[0] == 403
    pointed_here = {**console.headers, "Host": f"evil.test:{console.port}"}
    assert console.ask("/", headers=pointed_here)[0] == 403
    assert console.ask("/static/console.js", headers=host)[0] == 403
    assert console.ask("/enter?token=another", headers=host)[0] == 403
    assert console.ask(f"/enter?token={TOKEN}", headers=host) == (303, "/")


def test_prometheus_gets_in_with_its_own_token_to_the_metrics_alone(queue, start, tmp_path):
    file = tmp_path / "token"
    token = metrics_token(file)
    assert (metrics_token(file), file.stat().st_mode & 0o077) == (token, 0)
    console = start(queue, metrics_token=token)
    fail(queue, "bad")
    queue.put("a")
    bearer = {"Authorization": f"Bearer {token}"}
    status, text = console.ask("/metrics", headers=bearer)
    samples = {
        one.name: (one.labels, one.value)
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    assert status == 200
    assert samples["lifoq_tasks_pending"] == ({"queue": "prod"}, 1)
    assert samples["lifoq_tasks_in_failure"] == ({"queue": "prod"}, 1)
    assert samples["lifoq_oldest_waiting_age_seconds"][1] > 0
    by_sweep = {Metric.STALLED, Metric.TASKS_OPEN, Metric.TASKS_OF_UNKNOWN_TYPES}
    assert len(samples) == sum(metric.gauge for metric in {*Metric} - by_sweep)
    assert console.ask("/tasks", headers=bearer)[0] == 403
    for wrong in ({}, {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Basic {token}"}):
        assert console.ask("/metrics", headers=wrong)[0] == 403
    assert console.ask("/metrics", headers={**bearer, "Host": "evil.test"})[0] == 403
    assert start(queue).ask("/metrics")[0] == 404


def test_a_file_that_holds_no_token_is_refused(tmp_path):
    (tmp_path / "token").write_text("\n")
    with pytest.raises(InvalidInput, match="delete it to have one made"):
        metrics_token(tmp_path / "token")


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "null", None])
def test_another_site_cannot_make_it_act(queue, console, origin):
    queue.put("a", task_id="waits")
    headers = {name: value for name, value in console.headers.items() if name != "Origin"}
    headers |= {} if origin is None else {"Origin": origin}
    for path in ("/task/cancel?id=waits", "/put"):
        body = "task_type=a&payload=1"
        assert console.ask(path, method="POST", body=body, headers=headers)[0] == 403
    assert queue.get("waits").status is Status.PENDING
    assert queue.stats().live.value == 1


def test_a_browser_is_told_to_run_and_frame_nothing_foreign(console):
    connection = HTTPConnection("127.0.0.1", console.port, timeout=600)
    connection.request("GET", f"/enter?token={TOKEN}", headers={"Host": console.host})
    headers = connection.getresponse().headers
    connection.close()
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert {"httponly", "samesite=strict"} <= set(headers["Set-Cookie"].lower().split("; "))
