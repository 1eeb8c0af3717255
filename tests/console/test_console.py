"""The console as a browser meets it: what it shows, what it changes, whom it refuses."""

import datetime as dt
import html
import json
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest
import uvicorn
from botocore.exceptions import NoCredentialsError
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import lifoq
from lifoq import (
    InvalidInput,
    NewTask,
    Queue,
    QueueMisconfigured,
    QueueStats,
    Status,
    StoreUnavailable,
    Task,
    TaskError,
    WrongStatus,
    cron,
    every,
)
from lifoq.basics.host import MICROSECONDS, SYSTEM
from lifoq.client.connection import SharedLimits
from lifoq.health import pressure, sweep_note, worker_notes
from lifoq.health.pressure import NOTE
from lifoq.items.change import Change
from lifoq.items.quota_table import NONE, Amount, Renewal, SharedLimit
from lifoq.items.schema import Attribute
from lifoq.metrics import Metric
from lifoq.operating.aws_calls import NotAllowed
from lifoq.operating.task_log import FoundLines, LogLine
from lifoq.store.quota_tables import QuotaTables
from lifoq.testing.hosts import TurnableHost
from lifoq_console.app import STATIC, Pages, Settings, application
from lifoq_console.bulk import Action
from lifoq_console.putting import LONGEST, Form
from lifoq_console.scraping import metrics_token
from lifoq_console.several import Queues, application_of_several
from lifoq_console.subject import Subject
from tests.browser import Browser, browser, dumped, in_a_browser

__all__ = ["browser"]

TOKEN = "of-these-tests"  # noqa: S105


class Switch:
    """A processor's switch."""

    is_paused = False

    def pause(self, _by: str) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


class Console:
    """A console that runs on this machine, and what a browser sends to it."""

    def __init__(
        self, shown: Subject | Queues, *, write: bool = True, metrics_token: str | None = None
    ) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        settings = Settings(port=self.port, token=TOKEN, write=write, metrics_token=metrics_token)
        app = (
            application_of_several(shown, settings)
            if isinstance(shown, Queues)
            else application(shown, settings)
        )
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],))
        self._thread.start()
        self.host = f"127.0.0.1:{self.port}"
        self.headers = {"Cookie": f"lifoq-{self.port}={TOKEN}", "Origin": f"http://{self.host}"}

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def ask(
        self, path: str, *, method: str = "GET", body: str = "", headers: dict | None = None
    ) -> tuple[int, str]:
        """Status, and the page's text or where it leads to."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, body, self.headers if headers is None else headers)
        answer = connection.getresponse()
        text = answer.headers.get("Location") or answer.read().decode()
        connection.close()
        return answer.status, text

    def page(self, path: str) -> str:
        """The text that a person reads on a page, in one line."""
        status, text = self.ask(path)
        assert status == 200, text
        _, main = text.split("<main", 1)
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", f"<{main}")).split())

    def page_after(self, word: str) -> str:
        """The progress of a bulk change, once it no longer says this."""
        until = time.monotonic() + 600
        while word in (shown := self.page("/bulk/progress")):
            assert time.monotonic() < until
            time.sleep(0.05)
        return shown


@pytest.fixture
def host() -> TurnableHost:
    return TurnableHost()


@pytest.fixture
def queue(host) -> Queue:
    return Queue.in_memory(host=host)


@pytest.fixture
def start() -> Iterator[Callable[..., Console]]:
    running: list[Console] = []

    def start(
        queue: Queue, *, write: bool = True, metrics_token: str | None = None, **subject
    ) -> Console:
        subject = Subject(name="prod", queue=queue, **subject)
        running.append(Console(subject, write=write, metrics_token=metrics_token))
        return running[-1]

    yield start
    for console in running:
        console.end()


@pytest.fixture
def console(queue, start) -> Console:
    return start(queue)


def fail(
    queue: Queue,
    task_id: str,
    *,
    task_type: str = "a",
    error: str = "ValueError",
    message: str = "<script>alert(1)</script> no answer",
) -> None:
    queue.put(task_type, {"device": "<b>d-17</b>"}, task_id=task_id)
    task = queue.store.claim(task_id, claim_id=f"claim of {task_id}", lease=30)
    queue.store.fail(task, TaskError(type=error, message=message))


class Metrics:
    """A CloudWatch that holds the same values in each of the last five parts of the span."""

    def __init__(self, **values: float) -> None:
        self._values = values

    def get_metric_data(self, MetricDataQueries, StartTime, EndTime):  # noqa: N803 - boto3's names
        part = dt.timedelta(seconds=MetricDataQueries[0]["MetricStat"]["Period"])
        assert EndTime - StartTime == 61 * part
        times = [EndTime - number * part for number in range(5, 0, -1)]
        return {
            "MetricDataResults": [
                {"Id": query["Id"], "Timestamps": times, "Values": [self._values[name]] * 5}
                for query in MetricDataQueries
                if (name := query["MetricStat"]["Metric"]["MetricName"]) in self._values
            ]
        }


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
    assert "Overloaded until a moment ago Tasks were shed until then" in shown
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
    wants = Amount(slots=4)
    renewal = Renewal(
        worker="w",
        number=1,
        keeps=NONE,
        wants=wants,
        returns=0,
        lease=30 * MICROSECONDS,
        renew=True,
        insists=False,
    )
    QuotaTables(queue.store, host=SYSTEM).take("", SharedLimit(in_flight=10), renewal)
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


class Logs:
    """The log lines of one task."""

    def __init__(self, *lines: LogLine, complete: bool = True) -> None:
        self._found = FoundLines(lines=lines, complete=complete)

    def of(self, _task: Task, *, now: int) -> FoundLines:
        assert now > 0
        return self._found


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
    for path in ("/task/redrive?id=failed", "/bulk?status=FAILURE", "/processing/pause"):
        assert console.ask(path, method="POST")[0] in (404, 405)
    assert (queue.get("failed").status, switch.is_paused) == (Status.FAILURE, False)


def worked(queue: Queue, name: str, task_id: str) -> None:
    """A worker claims a task, and tells of itself."""
    queue.put("a", task_id=task_id)
    task = queue.store.claim(task_id, claim_id=f"{name}:1", lease=30)
    table, at = queue.store.table, task.taken_at
    own = worker_notes.made_here(worker=name, since=at, slots=10, at=at, ended=False)
    told = worker_notes.encoded(own, before=worker_notes.of(table.get(NOTE)))
    table.update(NOTE, Change(when=(), creates=True, set={Attribute.CHECKPOINT: told}))


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
    renewal = Renewal(
        worker="w1",
        number=1,
        keeps=NONE,
        wants=Amount(slots=4, shards=1),
        returns=0,
        lease=30 * MICROSECONDS,
        renew=True,
        insists=False,
    )
    shared = SharedLimit(in_flight=10, rate=5)
    QuotaTables(queue.store, host=SYSTEM).take("", shared, renewal)
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


def sent(page: str, action: str) -> str:
    """Return the fields that a browser sends for the form of a page, as far as they are hidden."""
    (form,) = re.findall(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL)
    hidden = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return urlencode([(name, html.unescape(value)) for name, value in hidden])


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


def test_nothing_is_put_by_another_site_or_a_console_that_only_shows(queue, start):
    queue.put("a", task_id="t")
    body = urlencode({"task_type": "a", "payload": "1"})
    console = start(queue)
    foreign = {**console.headers, "Origin": "http://127.0.0.1:1"}
    assert console.ask("/put", method="POST", body=body, headers=foreign)[0] == 403
    shows = start(queue, write=False)
    assert "Put" not in shows.page("/task?id=t")
    for path in ("/put", "/put/preview"):
        assert shows.ask(path, method="POST", body=body)[0] == 404
    assert shows.ask("/put")[0] == 404
    assert queue.stats().live.value == 1


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
    assert console.ask("/task/cancel?id=waits", method="POST", headers=headers)[0] == 403
    assert queue.get("waits").status is Status.PENDING


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


# In a browser


@in_a_browser
@pytest.mark.parametrize(
    ("looks", "words"),
    [
        ("up, down, down", ("<dd>0</dd>", "The queue cannot be reached: no answer. What you see")),
        ("up, down, up", ('role="status" hidden', ">Idle</h1>")),
        ("down, down, up", ('role="status" hidden', ">Idle</h1>")),
    ],
)
def test_a_browser_shows_what_was_seen_last_and_goes_on_once_the_queue_answers(
    queue, start, tmp_path, monkeypatch, looks, words
):
    stats, (*first, last) = queue.stats, looks.split(", ")

    def patchy() -> QueueStats:
        if (first.pop(0) if first else last) == "down":
            raise StoreUnavailable("no answer")
        return stats()

    monkeypatch.setattr(queue, "stats", patchy)
    shown = dumped(f"http://{start(queue).host}/enter?token={TOKEN}", tmp_path)
    assert [each for each in words if each not in shown] == []


@in_a_browser
@pytest.mark.parametrize(
    ("path", "done", "later"),
    [
        ("/tasks?status=PENDING", "", "came later"),
        ("/task?id=first", "", ">CANCELLED<"),
        ("/tasks?status=PENDING", "document.querySelector('[name=type]').value = 'b'", None),
        ("/tasks?status=PENDING", "document.querySelector('main [name=id]').click()", None),
        ("/tasks?status=PENDING", "document.querySelector('td a').focus()", None),
    ],
)
def test_lists_and_tasks_refresh_themselves_while_they_are_looked_at_and_nobody_uses_them(
    queue, start, tmp_path, monkeypatch, path, done, later
):
    queue.put("a", task_id="first")

    class Leading(Pages):
        """The first page leads to another, and while that is looked at the queue changes."""

        def overview(self, _request: Request) -> Response:
            return RedirectResponse(path)

        def _page(self, template: str, **values: object) -> Response:
            page = super()._page(template, **values)
            queue.put("a", task_id="came later")
            with suppress(WrongStatus):
                queue.cancel("first")
            return page

    served = shutil.copytree(STATIC, tmp_path / "static")
    with (served / "console.js").open("a") as script:
        script.write(f"\n{done};")
    monkeypatch.setattr("lifoq_console.app.STATIC", served)
    monkeypatch.setattr("lifoq_console.app.Pages", Leading)
    shown = dumped(f"http://{start(queue).host}/enter?token={TOKEN}", tmp_path)
    assert 'role="status" hidden' in shown
    assert (later or ">first<") in shown
    assert (later is None) == ("came later" not in shown and ">CANCELLED<" not in shown)


@in_a_browser
def test_an_open_page_recovers_once_the_console_answers_again(queue, start, tmp_path, monkeypatch):
    asked: list[str] = []
    whole = application

    def patchy(subject: Subject, settings: Settings) -> ASGIApp:
        app = whole(subject, settings)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] == "/":
                asked.append("overview")
                if len(asked) > 1:
                    queue.put("a")
                if len(asked) in (2, 3):  # it ends in the middle of an answer
                    headers = [(b"content-length", b"100")]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    return
            await app(scope, receive, send)

        return answer

    monkeypatch.setattr("tests.console.test_console.application", patchy)
    shown = dumped(f"http://{start(queue).host}/enter?token={TOKEN}", tmp_path)
    assert len(asked) > 3
    assert 'role="status" hidden' in shown
    assert f">{len(asked) - 1}</a></dd>" in shown
    assert "<title>Keeping up · prod" in shown


@in_a_browser
def test_rows_are_selected_by_keys(queue, console, tmp_path):
    for task_id in ("t1", "t2", "t3"):
        fail(queue, task_id)
    _, page = console.ask("/tasks?status=FAILURE")
    _, script = console.ask("/static/console.js")
    (tmp_path / "list.html").write_text(
        f"""{re.sub("<link.*?>|<script.*?</script>", "", page)}<script>{script}
        for (const key of ["j", "j", "x", "j", "x", "k", "k", "x", "j", "x"]) {{
          const typed = new KeyboardEvent("keydown", {{ key, bubbles: true, cancelable: true }});
          document.activeElement.dispatchEvent(typed);
        }}
        const chosen = [...document.querySelectorAll("[name=id]:checked")].map((box) => box.value);
        document.body.innerText = `${{chosen}} ${{boxes.length}}: ` +
          [...selection.querySelectorAll("button")].map((button) => button.textContent);
        </script>"""
    )
    shown = dumped(f"file://{tmp_path / 'list.html'}", tmp_path)
    assert "t3,t1 3: Redrive 2,Delete 2" in shown


@in_a_browser
def test_a_person_puts_a_task_and_puts_it_again_with_another_payload(
    queue, console, browser: Browser
):
    browser.open(f"http://{console.host}/enter?token={TOKEN}")
    browser.press("Put")
    browser.fill("task_type", "price.show")
    browser.fill("payload", '{"cents": 1,}')
    browser.press("Preview")
    assert "is no JSON" in browser.text
    browser.fill("payload", '{\n "cents": 123456\n}')
    browser.fill("key", "d-17")
    browser.press("Preview")
    assert "Put this task?" in browser.text
    assert queue.stats().live.value == 0
    browser.press("Put it")
    assert "PENDING" in browser.text
    (first,) = queue.peek()
    assert (first.payload, first.key) == ({"cents": 123456}, "d-17")
    browser.press("Put again")
    browser.fill("payload", "[7]")
    browser.press("Preview")
    browser.press("Change it")
    browser.fill("max_attempts", "2")
    browser.press("Preview")
    browser.press("Put it")
    second, _ = queue.peek()
    assert (second.task_type, second.payload, second.key) == ("price.show", [7], "d-17")
    assert second.max_attempts == 2


@in_a_browser
def test_a_person_sees_who_is_at_work_and_opens_the_task(queue, console, browser: Browser):
    worked(queue, "w1", "t1")
    browser.open(f"http://{console.host}/enter?token={TOKEN}")
    browser.press("Workers")
    assert "1 of 10" in browser.text
    browser.press("t1")
    assert "TAKEN t1" in browser.text


@in_a_browser
def test_a_person_finds_a_task_by_a_part_of_its_error_and_opens_it(
    queue, console, browser: Browser
):
    fail(queue, "b1", message="no route to <host>")
    fail(queue, "b2", message="another")
    browser.open(f"http://{console.host}/enter?token={TOKEN}")
    browser.fill("q", "route to <HOST>")
    browser.press("Find")
    assert "TimeoutError" not in browser.text
    browser.press("b1")
    assert "FAILURE b1" in browser.text
    browser.fill("q", "b2")
    browser.press("Find")
    assert "FAILURE b2" in browser.text


@in_a_browser
def test_a_tasks_log_is_loaded_into_its_page_and_stays_there_when_that_refreshes(
    queue, start, browser: Browser
):
    queue.put("a", task_id="t")
    queue.store.claim("t", claim_id="c", lease=30)
    console = start(queue, logs=Logs(LogLine(at=0, level="INFO", text="it answers")))
    browser.open(f"http://{console.host}/enter?token={TOKEN}")
    browser.open(f"http://{console.host}/task?id=t")
    until = "new Promise((done) => setInterval(() => document.querySelector('{}') && done(), 50))"
    browser.run(until.format(".log"))
    browser.run("document.querySelector('main').dataset.old = ''")
    browser.run(until.format("main:not([data-old]) .log"))
    assert "INFO it answers" in browser.text


def measured(console: Console, paths: Sequence[str], width: int, script: str, home: Path) -> str:
    """Run the script on the document ``page`` of each path, in a window of this width, and return
    what it says of them."""
    style = f"<style>{console.ask('/static/console.css')[1]}</style>"
    frames = ""
    for path in paths:
        page = re.sub("<link.*?>|<script.*?</script>", "", console.ask(path)[1]) + style
        shown = f'srcdoc="{html.escape(page)}" title="{html.escape(path)}"'
        frames += f'<iframe style="border:0;width:{width}px;height:800px" {shown}></iframe>'
    (home / "frames.html").write_text(
        f"""<!doctype html><meta charset="utf-8">{frames}<script>
        const measure = (page) => {script};
        onload = () => {{
          document.body.innerText = [...document.querySelectorAll("iframe")]
            .map((frame) => `${{frame.title}} ${{measure(frame.contentDocument)}}`)
            .join("; ") + ".";
        }};</script>"""
    )
    return html.unescape(dumped(f"file://{home / 'frames.html'}", home))


@in_a_browser
@pytest.mark.parametrize("width", [390, 1_024, 1_440])
def test_nothing_is_cut_on_a_phone_nor_on_a_wider_screen(queue, start, tmp_path, width):
    fail(queue, 60 * "long", task_type=60 * "type", message=60 * "word")
    queue.put("a", 300 * "x", task_id="waits", delay=1)
    console = start(queue, cloudwatch=Metrics(TasksPending=1e6, TasksShed=20))
    paths = ("/?range=7d", "/types", "/tasks?status=FAILURE", "/tasks?status=DELAYED")
    worked(queue, "w1", 60 * "work")
    queue.schedules.put(64 * "s", every(3600), 60 * "type", 300 * "x", key=60 * "key")
    paths += ("/workers", "/schedules", "/type?name=" + 60 * "type")
    paths += ("/search?q=long&all=1", "/put", "/put?from=waits", "/put?from=" + 60 * "long")
    paths += ("/task?id=" + 60 * "long", "/task?id=waits", "/bulk?status=FAILURE")
    beyond = "page.documentElement.scrollWidth - page.documentElement.clientWidth"
    seen = measured(console, paths, width, beyond, tmp_path)
    assert html.unescape("; ".join(f"{path} 0" for path in paths) + ".") in seen


@in_a_browser
def test_a_name_is_not_broken_in_a_list_that_has_the_room(queue, start, tmp_path):
    fail(
        queue,
        "0b9e5c0e-8f0a-4b5e-9a36-6d6f0f6b2c11",
        task_type="mail.send-to-a-customer",
        message=30 * "a long message ",
    )
    lines = """[...page.querySelectorAll(".tasks td:not(.long)")].map((cell) => {
      const range = page.createRange();
      range.selectNodeContents(cell);
      const tops = [...range.getClientRects()].filter((one) => one.width).map((one) => one.top);
      return Math.max(...tops) - Math.min(...tops) < 12;
    }).every(Boolean) && [...page.querySelectorAll(".tasks .id a, .name")]
      .every((one) => one.scrollWidth <= one.clientWidth)"""
    path = "/tasks?status=FAILURE"
    assert f"{path} true." in measured(start(queue), [path], 1_440, lines, tmp_path)
