"""A console that runs, and queues to which things happened."""

import datetime as dt
import html
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
import uvicorn

from lifoq import (
    Queue,
    Task,
    TaskError,
)
from lifoq.basics.host import MICROSECONDS, SYSTEM
from lifoq.health import worker_notes
from lifoq.health.pressure import NOTE
from lifoq.items.change import Change
from lifoq.items.quota_table import NONE, Amount, Renewal, SharedLimit
from lifoq.items.schema import Attribute
from lifoq.operating.task_log import FoundLines, LogLine
from lifoq.store.quota_tables import QuotaTables
from lifoq.testing.hosts import TurnableHost
from lifoq_console.app import Settings, application
from lifoq_console.several import Queues, application_of_several
from lifoq_console.subject import Subject

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


class Logs:
    """The log lines of one task."""

    def __init__(self, *lines: LogLine, complete: bool = True) -> None:
        self._found = FoundLines(lines=lines, complete=complete)

    def of(self, _task: Task, *, now: int) -> FoundLines:
        assert now > 0
        return self._found


def worked(queue: Queue, name: str, task_id: str) -> None:
    """A worker claims a task, and tells of itself."""
    queue.put("a", task_id=task_id)
    task = queue.store.claim(task_id, claim_id=f"{name}:1", lease=30)
    table, at = queue.store.table, task.taken_at
    own = worker_notes.made_here(worker=name, since=at, slots=10, at=at, ended=False)
    told = worker_notes.encoded(own, before=worker_notes.of(table.get(NOTE)))
    table.update(NOTE, Change(when=(), creates=True, set={Attribute.CHECKPOINT: told}))


def lend(queue: Queue, limit: SharedLimit, *, worker: str, wants: Amount) -> None:
    """A worker asks for a part of what all types share."""
    renewal = Renewal(
        worker=worker,
        number=1,
        keeps=NONE,
        wants=wants,
        returns=0,
        lease=30 * MICROSECONDS,
        renew=True,
        insists=False,
    )
    QuotaTables(queue.store, host=SYSTEM).take("", limit, renewal)


def sent(page: str, action: str) -> str:
    """Return the fields that a browser sends for the form of a page, as far as they are hidden."""
    (form,) = re.findall(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL)
    hidden = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return urlencode([(name, html.unescape(value)) for name, value in hidden])
