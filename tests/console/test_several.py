"""One console for several queues, and the address that it keeps."""

import html
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlencode, urljoin

import boto3
import pytest

from lifoq import NewTask, Queue, QueueMisconfigured, Status
from lifoq.aws.boto3_clients import new_client
from lifoq.operating import deployment
from lifoq.operating.aws_calls import Account, NotAllowed
from lifoq_cli.session import Session
from lifoq_console.command import queues_of
from lifoq_console.serve import Door
from lifoq_console.several import Queues
from lifoq_console.subject import Subject
from tests.console.conftest import Console, Switch, fail, sent

NAMES = ["mail", "prices", "torn"]


@pytest.fixture
def queues() -> dict[str, Queue]:
    return {name: Queue.in_memory() for name in NAMES[:2]}


@pytest.fixture
def console(queues) -> Iterator[Console]:
    def connect(name: str) -> Subject:
        if name not in queues:
            raise QueueMisconfigured(f"there is no table of {name}")
        return Subject(name=name, queue=queues[name], processing=Switch())

    console = Console(Queues(lambda: NAMES, connect))
    yield console
    console.end()


def test_each_queue_has_its_headline_and_what_is_ill_comes_first(queues, console):
    queues["prices"].put_many([NewTask(task_type="a")] * 1_248)
    fail(queues["prices"], "bad")
    shown = console.page("/")
    assert "3 queues" in shown
    prices = (
        "prices Failing Tasks have failed, and wait for a redrive. at least 1,000 0 none seen 1"
    )
    torn = "torn Cannot be reached There is no table of torn."
    assert f"{prices} {torn} mail Idle No task waits, and none is in work. 0 0 0 0" in shown


def test_an_unexpected_error_of_one_queue_is_logged_and_hides_no_other_queue(
    queues, console, monkeypatch, caplog
):
    def broken(**_asked):
        raise ZeroDivisionError

    monkeypatch.setattr(queues["prices"], "stats", broken)
    shown = console.page("/")
    told = "ZeroDivisionError; the console's own terminal tells where."
    assert f"prices Cannot be reached {told}" in shown
    assert "mail Idle" in shown
    (record,) = [record for record in caplog.records if record.name == "lifoq_console.several"]
    assert (record.getMessage(), record.exc_info[0]) == (
        "the queue prices could not be looked at",
        ZeroDivisionError,
    )


def test_all_links_of_a_queues_pages_stay_with_the_queue(queues, console):
    for queue in queues.values():
        fail(queue, "bad")
        for number in range(60):
            queue.put("a", 600 * "long", task_id=f"t{number}")
    root, seen = "/queue/prices/", set[str]()
    waiting = [root]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        status, text = console.ask(page)
        assert status == 200, page
        links = re.findall(r'(?:href|action|data-load|src)="([^"]*)"', text)
        found = {
            urljoin(page, html.unescape(link)) for link in links if not link.startswith("data")
        }
        assert [link for link in found if not link.startswith(root)] == []
        kinds = {re.sub(r"t\d+|start=.*", "", link) for link in seen}
        places = re.findall(r'(?:href|data-load)="([^"]*)"', text)
        for link in {urljoin(page, html.unescape(place)) for place in places} & found:
            if re.sub(r"t\d+|start=.*", "", link) not in kinds and link not in waiting:
                waiting.append(link)
    assert {f"{root}types", f"{root}static/console.css"} <= seen
    assert "href='/'>All queues</a>" in console.ask(root)[1]


def test_what_is_pressed_in_one_queue_leads_back_to_it_and_leaves_the_others_alone(queues, console):
    for queue in queues.values():
        queue.put("a", task_id="t")
    place = "/queue/prices/task?id=t"
    sent = console.ask("/queue/prices/task/cancel?id=t", method="POST")
    assert sent == (303, place)
    statuses = [queues[name].get("t").status for name in ("prices", "mail")]
    assert statuses == [Status.CANCELLED, Status.PENDING]
    assert console.ask("/queue/prices/tasks?status=GONE")[0] == 400


def test_an_id_and_a_key_that_begin_with_a_slash_stay_as_they_are(queues, console):
    prices, root = queues["prices"], "/queue/prices"
    terms = {"task_type": "/t", "payload": "1", "task_id": "/orders/9", "key": "/devices/7"}
    _, preview = console.ask(f"{root}/put/preview", method="POST", body=urlencode(terms))
    body = sent(preview, f"{root}/put")
    _, form = console.ask(f"{root}/put/change", method="POST", body=body)
    assert all(f'name="{name}" value="{terms[name]}"' in form for name in ("task_id", "key"))
    _, place = console.ask(f"{root}/put", method="POST", body=body)
    assert place == f"{root}/task?id=%2Forders%2F9"
    put = prices.get("/orders/9")
    assert (put.task_type, put.key) == ("/t", "/devices/7")
    _, listed = console.ask(f"{root}/tasks?status=PENDING&key=/devices/7")
    _, found = console.ask(f"{root}/search?q=orders&all")
    for page in (listed, found):
        assert f'href="{root}/task?id=%2Forders%2F9" title="/orders/9">/orders/9</a>' in page
    assert 'name="key" value="/devices/7"' in listed
    (box,) = re.findall(r'type="checkbox" name="id" value="([^"]*)"', listed)
    (cancel,) = re.findall(rf'formaction="({root}/selected[^"]*cancel)"', listed)
    body = urlencode({"id": box})
    assert console.ask(html.unescape(cancel), method="POST", body=body)[0] == 303
    until = time.monotonic() + 600
    while "Stop" in console.page(f"{root}/bulk/progress") and time.monotonic() < until:
        time.sleep(0.05)
    assert prices.get("/orders/9").status is Status.CANCELLED
    _, page = console.ask(place)
    (delete,) = re.findall(rf'action="({root}/task/delete[^"]*)"', page)
    assert console.ask(html.unescape(delete), method="POST")[0] == 303
    assert prices.get("/orders/9") is None


def test_a_queue_that_cannot_be_reached_leads_to_the_list_which_says_why(console):
    assert console.ask("/queue/torn/") == (303, "/")
    assert console.ask("/queue/mail/", headers={"Host": console.host})[0] == 403


def test_queues_are_connected_with_by_several_threads_and_clients_made_by_one_at_a_time(
    queues, monkeypatch
):
    two_at_a_time = threading.Barrier(2)
    met = []

    def make(service: str, **_arguments) -> str:
        with suppress(threading.BrokenBarrierError):
            two_at_a_time.wait(timeout=0.3)
            met.append(service)
        return service

    def connect(name: str) -> Subject:
        assert new_client("ssm") == "ssm"
        return Subject(name=name, queue=queues[name])

    monkeypatch.setattr(boto3, "client", make)
    several = Queues(lambda: list(queues), connect)
    with ThreadPoolExecutor(2) as pool:
        assert [subject.name for subject in pool.map(several.__getitem__, queues)] == list(queues)
    assert met == []


@pytest.mark.parametrize(
    ("given", "own", "found", "several"),
    [
        ({}, None, ["mail", "prices"], True),
        ({}, None, ["mail"], False),
        ({}, "mail", ["mail", "prices"], False),
        ({"queue": ("mail",)}, None, ["mail", "prices"], False),
        ({}, None, NotAllowed("ssm:GetParametersByPath", "no"), False),
    ],
)
def test_without_a_name_all_queues_of_the_account_and_region_are_shown(
    monkeypatch, given, own, found, several
):
    monkeypatch.delenv("LIFOQ_QUEUE", raising=False)
    if own is not None:
        monkeypatch.setenv("LIFOQ_QUEUE", own)

    def names(_account: Account) -> list[str]:
        if isinstance(found, NotAllowed):
            raise found
        return found

    monkeypatch.setattr(deployment, "names", names)
    session = Session()
    session.given = given
    shown = queues_of(session)
    assert (shown is not None, shown and shown.names()) == (several, found if several else None)


def test_port_and_token_are_kept_from_one_start_to_the_next(tmp_path):
    file = tmp_path / "console"
    first = Door.read(file)
    Door(port=4_711, token=first.token).write(file)
    assert Door.read(file) == Door(port=4_711, token=first.token)
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("torn")
    assert Door.read(file).port == 0
    assert Door.read(file).token != first.token
