"""ApiFunction: the queue over HTTP."""

import base64
import json
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from werkzeug.test import Client

from lifoq import Processor, Queue, Registry, WaitTimeout, WorkerSettings
from lifoq.api import openapi
from lifoq.api.operations import OPERATIONS
from lifoq.health import sweep_note as notes
from lifoq.items.task import NewTask
from lifoq_localcloud.events import http_api
from lifoq_localcloud.functions.function import Outcome
from tests.fixtures import PastDynamo
from tests.functions.conftest import strike

ARN = "arn:aws:lambda:us-east-1:123456789012:function:api"
ROUTES = [http_api.Route(key=f"{one.method} {one.path}", function_arn=ARN) for one in OPERATIONS]
PUBLISHED = Path(__file__).parents[2] / "docs" / "openapi.json"


class Api:
    """The function behind what API Gateway does: also as a WSGI application."""

    def __init__(self, function: ModuleType, context: Any) -> None:
        self.function = function
        self._context = context

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path = environ.get("RAW_URI", environ["PATH_INFO"]).partition("?")[0]

        def run(_arn: str, asked: dict[str, Any]) -> Outcome:
            return Outcome(payload=json.dumps(self.function.handle(asked, self._context)).encode())

        given = http_api.ask(environ, api_id="api", sent=path, known=True, routes=ROUTES, run=run)
        start_response(f"{given.status} {HTTPStatus(given.status).phrase}", given.headers)
        return [given.body]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """Status, body and headers of the answer."""
        raw = body if isinstance(body, bytes) else json.dumps(body) if body else None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = Client(self).open(path, method=method, data=raw, headers=named)
        return answer.status_code, answer.json, answer.headers


@pytest.fixture
def api(load, context):
    return Api(load("api"), context)


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


def test_a_task_is_put_with_its_terms_and_found_where_the_answer_says(api):
    terms = {"type": "greet", "payload": [1], "key": "k", "headStart": 1.5, "traceparent": TRACE}
    status, task, headers = api.ask("POST", "/tasks", {**terms, "deadline": 60, "delay": 5})
    assert (status, task["status"], task | terms) == (201, "DELAYED", task)
    assert api.ask("GET", headers["location"])[1] == task
    task = api.ask("POST", "/tasks", {"type": "greet", "headStart": None})[1]
    assert not {"headStart", "key"} & {*task}


def test_an_id_may_have_any_character(api):
    for task_id in ("a/b c%41?ü", "a%2Fb", "..", "a,b&id=c"):
        status, _, headers = api.ask("POST", "/tasks", {"type": "greet", "id": task_id})
        assert status == 201
        place, question, query = headers["location"].partition("?")
        assert api.ask("GET", headers["location"])[1]["id"] == task_id
        cancelled = api.ask("POST", f"{place}/cancel{question}{query}")[1]
        assert (cancelled["id"], cancelled["status"]) == (task_id, "CANCELLED")


def test_of_several_puts_of_an_id_the_first_counts_or_where_it_says_so_the_newest(api, queue):
    task = {"type": "greet", "payload": {"n": 1}}
    first = api.ask("POST", "/tasks", task, idempotency_key='"k-1"')
    again = api.ask("POST", "/tasks", task, idempotency_key="k-1")
    assert (first[0], again[0]) == (201, 200)
    assert first[1] == again[1]
    status, body, _ = api.ask("POST", "/tasks", {"type": "greet"}, idempotency_key="k-1")
    assert (status, body["error"]["type"]) == (422, "KeyReused")
    assert "'k-1' has come with another type or payload" in body["error"]["message"]
    assert [(one.task_id, one.payload) for one in queue.peek()] == [("k-1", {"n": 1})]
    newest = {"type": "greet", "id": "k-1", "payload": 2, "ifExists": "replace"}
    status, body, _ = api.ask("POST", "/tasks", newest)
    assert (status, body["payload"]) == (200, 2)


def test_many_are_put_with_an_outcome_each_unless_one_is_refused(api, queue):
    tasks = [{"type": "greet"}, {"type": "greet", "id": "mine"}, {"type": "greet", "id": "mine"}]
    status, body, _ = api.ask("POST", "/tasks/batch", {"tasks": tasks})
    assert status == 200
    assert [one["created"] for one in body["outcomes"]] == [True, True, False]
    bad = {"tasks": [{"type": "greet"}, {"type": "greet", "deadline": -1}]}
    status, body, _ = api.ask("POST", "/tasks/batch", bad)
    assert (status, body["error"]["field"]) == (400, "tasks[1].deadline")
    for number in (0, 101):
        status, body, _ = api.ask("POST", "/tasks/batch", {"tasks": [{"type": "greet"}] * number})
        assert (status, body["error"]["field"]) == (400, "tasks")
    assert len(queue.peek()) == 2


def test_tasks_are_in_the_trace_of_their_request_unless_they_name_their_own(api, queue):
    tasks = [{"type": "greet", "id": "a"}, {"type": "greet", "id": "b", "traceparent": OTHER_TRACE}]
    api.ask("POST", "/tasks/batch", {"tasks": tasks}, traceparent=TRACE)
    api.ask("POST", "/tasks", {"type": "greet", "id": "c"}, traceparent=TRACE)
    assert [queue.get(one).traceparent for one in "abc"] == [TRACE, OTHER_TRACE, TRACE]


def start(text: str) -> str:
    return f"/tasks?status=FAILURE&start={base64.urlsafe_b64encode(text.encode()).decode()}"


REFUSED = [
    ({"payload": 1}, "type", "is missing"),
    ({"type": "a", "payloud": 1}, "payloud", "is unknown; known are type, payload"),
    ({"type": "a", "deadline": -1}, "deadline", "not after"),
    ({"type": "a", "headStart": -1}, "headStart", "is negative"),
    ({"type": "a", "id": "a", "ifExists": "newest"}, "ifExists", "must be"),
    ([1], "body", "must be an object"),
    (b"[" * 100_000, "body", "is not JSON"),
    (b'{"type": "\xff"}', "body", "is not JSON"),
    (b'{"type": "a", "payload": {"n": "\\ud800"}}', "payload.n", "half a surrogate"),
    (b'{"type": "a", "deadline": %s}' % (b"9" * 4_300), "deadline", "must be finite"),
    (b'{"type": "a", "payload": %s}' % (b"9" * 4_301), "body", "is not JSON"),
    ("/tasks", "status", "must be one of"),
    ("/tasks?status=SUCCESS", "status", "must be one of"),
    ("/tasks?status=FAILURE&limit=101", "limit", "from 1 to 100"),
    ("/tasks?status=FAILURE&tpye=x", "tpye", "is unknown here"),
    ("/tasks/a?wait=21", "wait", "from 0 to 20"),
    ("/tasks/a?wiat=2", "wiat", "is unknown here"),
    (start('[true, "a"]'), "start", "next"),
    (start(r'[1, "\ud800"]'), "start", "next"),
    (start("[" * 5_000), "start", "next"),
]


def test_what_makes_no_sense_is_refused_by_the_name_that_was_sent(api, queue):
    for sent, field, problem in REFUSED:
        asked = ("GET", sent) if isinstance(sent, str) else ("POST", "/tasks", sent)
        status, answered, _ = api.ask(*asked)
        error = answered["error"]
        assert (status, error["field"], problem in error["message"]) == (400, field, True), error
    assert queue.peek() == []


def worked(queue):
    """The tasks that there are, done or failed."""
    registry = Registry()
    registry.task("greet")(lambda payload, _context: f"hello {payload}")

    def fail(_payload, _context):
        raise ValueError("no")

    registry.task("fails", max_attempts=1)(fail)
    Processor(queue.store, registry, WorkerSettings(window=2, linger=0.1)).run()


def test_a_wait_ends_with_the_task(api, queue):
    queue.put("greet", "you", task_id="a")
    worked(queue)
    status, task, _ = api.ask("GET", "/tasks/a?wait=20")
    assert (status, task["status"], task["result"]) == (200, "SUCCESS", "hello you")
    queue.put("greet", task_id="shed", deadline=0.001)
    assert api.ask("GET", "/tasks/shed?wait=1")[1]["status"] == "SHED"


def test_a_wait_that_is_over_leaves_time_to_show_the_task_as_it_is(api, queue, context):
    queue.put("greet", task_id="a")
    for left, waits in ((2_000, 0), (8_000, 5), (60_000, 20)):
        context.get_remaining_time_in_millis = mock.Mock(return_value=left)
        over = mock.patch.object(Queue, "wait", side_effect=WaitTimeout("a", waits))
        with over as wait:
            task = api.ask("GET", "/tasks/a?wait=20")[1]
        assert (task["status"], "result" in task) == ("PENDING", False)
        wait.assert_called_once_with("a", timeout=waits)


def test_a_payload_that_fits_the_answer_is_in_it_and_a_larger_one_is_told_by_its_size(
    api, monkeypatch
):
    queue = Queue.in_memory(large_payloads=True)
    monkeypatch.setattr(api.function, "queue", queue)
    most = 2 * 1024 * 1024
    for size in (most, most + 1):
        payload = "x" * (size - 2)  # within quotation marks
        queue.put("greet", payload, task_id="a", if_exists="replace")
        task = api.ask("GET", "/tasks/a")[1]
        shown = (task["payload"], task.get("payloadBytes"))
        assert shown == ((payload, None) if size == most else (None, size))


def test_a_failed_task_is_listed_and_redriven_and_cancelled(api, queue):
    queue.put("fails", task_id="a")
    worked(queue)
    _, listed, _ = api.ask("GET", "/tasks?status=FAILURE&errorType=ValueError")
    assert [(one["id"], one["error"]["message"]) for one in listed["tasks"]] == [("a", "no")]
    assert "payload" not in listed["tasks"][0]
    assert api.ask("POST", "/tasks/a/redrive")[1]["status"] == "PENDING"
    status, body, _ = api.ask("POST", "/tasks/a/redrive")
    assert (status, body["error"]["type"]) == (409, "WrongStatus")
    assert api.ask("POST", "/tasks/a/cancel")[1]["status"] == "CANCELLED"


def test_nothing_is_done_with_what_is_damaged_nor_with_what_is_not_there(api, queue):
    queue.put("greet", task_id="a")
    PastDynamo(queue.store.table).write({**queue.store.table.get("a"), "attempts": "many"})
    for task_id, status, error in (("a", 409, "DamagedTask"), ("b", 404, "TaskNotFound")):
        for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/redrive")):
            found, body, _ = api.ask(method, f"/tasks/{task_id}{path}")
            assert (found, body["error"]["type"]) == (status, error), path
    _, listed, _ = api.ask("GET", "/tasks?status=PENDING")
    assert listed["tasks"] == []
    assert [(one["id"], one["error"]["type"]) for one in listed["damaged"]] == [
        ("a", "DamagedTask")
    ]


def test_pages_follow_each_other(api, queue):
    for number in range(3):
        queue.put("greet", task_id=f"t-{number}")
    _, first, _ = api.ask("GET", "/tasks?status=PENDING&limit=2")
    _, second, _ = api.ask("GET", f"/tasks?status=PENDING&limit=2&start={first['next']}")
    ids = [one["id"] for page in (first, second) for one in page["tasks"]]
    assert ids == ["t-2", "t-1", "t-0"]
    assert [set(page) for page in (first, second)] == [{"tasks", "next"}, {"tasks"}]
    queue.put_many([NewTask(task_type="greet") for _ in range(18)])
    _, page, _ = api.ask("GET", "/tasks?status=PENDING")
    assert (len(page["tasks"]), "next" in page) == (20, True)


def test_stats_tell_counts_and_ages(api, queue):
    queue.put("greet")
    queue.put("greet", delay=60)
    notes.write(queue.store, notes.Note(unknown_types=("new",)))
    _, stats, _ = api.ask("GET", "/stats")
    assert (stats["pending"], stats["delayed"], stats["atLeast"]) == (1, 1, [])
    assert stats["unknownTypes"] == ["new"]
    assert stats["oldestWaitingSeconds"] >= 0


@pytest.mark.parametrize(
    ("refusal", "status", "error", "again"),
    [
        ("InternalServerError", 503, "StoreUnavailable", "1"),
        ("AccessDeniedException", 500, "QueueMisconfigured", None),
    ],
)
def test_what_dynamodb_refuses_says_whether_to_ask_again(
    api, monkeypatch, refusal, status, error, again
):
    """The log has what only an operator can mend."""
    logged = mock.Mock()
    monkeypatch.setattr(api.function.logger, "error", logged)
    strike(api.function.queue.store.table, refusal)
    found, answered, headers = api.ask("POST", "/tasks", {"type": "a"})
    assert (found, answered["error"]["type"]) == (status, error)
    assert headers.get("retry-after") == again
    assert logged.called is (again is None)


# The document


def test_the_published_document_is_what_the_code_says():
    assert json.loads(PUBLISHED.read_text()) == openapi.document(), (
        "write it anew: python -m lifoq.api.openapi > docs/openapi.json"
    )


DOCUMENT = schemathesis.openapi.from_dict(openapi.document())
CHECKS = [
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.mark.parametrize("operation", [one.name for one in OPERATIONS])
def test_answers_are_what_the_document_says_whatever_is_asked(api, queue, operation):
    queue.put("greet", task_id="0")
    queue.put("fails", task_id="1")
    statuses = set()

    @given(case=DOCUMENT.find_operation_by_id(operation).as_strategy())
    @settings(
        max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    def ask(case: Any) -> None:
        given = case.call(app=api)
        statuses.add(given.status_code)
        case.validate_response(given, checks=CHECKS)

    ask()
    assert statuses & {200, 201, 404}
