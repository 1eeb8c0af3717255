"""The web handlers of the pages on calls and on language models, run as they
stand there, beside stand-ins for what they take of FastAPI and Django."""

import asyncio
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lifoq import Queue, Status
from tests.docs.test_how_to import FILES


class HTTPException(Exception):
    """FastAPI's answer that is no success."""

    def __init__(self, status_code: int, detail: str, headers: Any = None) -> None:
        super().__init__(status_code, detail, headers)
        self.status_code, self.headers = status_code, headers


class App:
    """FastAPI, as far as routes go."""

    def get(self, _path: str):
        return lambda handler: handler


class JsonResponse:
    """Django's answer."""

    def __init__(self, data: Any, *, status: int = 200, headers: Any = None) -> None:
        self.data, self.status_code, self.headers = data, status, headers


@pytest.fixture
def queue(monkeypatch) -> Queue:
    queue = Queue.in_memory()
    monkeypatch.setattr(Queue, "connect", lambda _: queue)
    return queue


@pytest.fixture
def answer(queue, monkeypatch, request):
    """The handler of a page's file."""
    names = {
        "fastapi": {"FastAPI": App, "HTTPException": HTTPException, "Request": object},
        "django.http": {"HttpRequest": object, "JsonResponse": JsonResponse},
    }
    monkeypatch.setitem(sys.modules, "django", ModuleType("django"))
    for name, members in names.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    known: dict[str, Any] = {}
    page, file = request.param
    code = FILES[page][file].replace("timeout=20", "timeout=0.6")
    exec(code, known)  # noqa: S102 - the page's own
    return known["answer"]


async def served(queue: Queue) -> None:
    def serve() -> None:
        while not (waiting := queue.peek(1)):
            time.sleep(0.001)
        task = queue.store.claim(waiting[0].task_id, claim_id="c", lease=30)
        queue.store.succeed(task, '"because"')

    await asyncio.to_thread(serve)


def asked_by(*, leaves: bool = False) -> Any:
    async def is_disconnected() -> bool:
        return leaves

    return SimpleNamespace(GET={"question": "Why?"}, is_disconnected=is_disconnected)


@pytest.mark.parametrize("answer", [("calls", "fastapi_app.py")], indirect=True)
def test_fastapi_answers_the_result_the_errors_status_and_withdraws_when_its_client_leaves(
    answer, queue
):
    async def ask(request: Any, *others: Any) -> Any:
        found = await asyncio.gather(answer("Why?", request), *others, return_exceptions=True)
        return found[0]

    assert asyncio.run(ask(asked_by(), served(queue))) == "because"
    shed = asyncio.run(ask(asked_by()))
    assert (shed.status_code, shed.headers) == (503, {"Retry-After": "5"})
    assert asyncio.run(ask(asked_by(leaves=True))).status_code == 499
    statuses = [task["taskStatus"] for task in queue.store.table.items() if "taskType" in task]
    assert sorted(statuses) == [Status.CANCELLED, Status.PENDING, Status.SUCCESS]


@pytest.mark.parametrize(
    "answer", [("calls", "views.py"), ("language-model", "views.py")], indirect=True
)
def test_django_answers_the_result_and_the_errors_status(answer, queue):
    async def ask(*others: Any) -> Any:
        return (await asyncio.gather(answer(asked_by()), *others))[0]

    found = asyncio.run(ask(served(queue)))
    assert (found.status_code, found.data) == (200, {"answer": "because"})
    shed = asyncio.run(ask())
    assert (shed.status_code, shed.headers) == (503, {"Retry-After": "5"})
