"""The port at which a function's process fetches its events: whose it is."""

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from unittest.mock import Mock

import pytest

from lifoq_localcloud.functions.runtime_api import RuntimeApi, Task

NEXT = "2018-06-01/runtime/invocation/next"
ANSWER = "2018-06-01/runtime/invocation/1/response"
PATIENCE = 300.0


@pytest.fixture
def instance() -> Mock:
    task = Task(request_id="1", event=b"{}", function_arn="arn", deadline_millis=0)
    return Mock(**{"next_task.return_value": task})


@pytest.fixture
def api(instance: Mock) -> Iterator[RuntimeApi]:
    one = RuntimeApi(instance)
    yield one
    one.close()


def ask(api: RuntimeApi, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    place = api.address.partition("/")[0]
    with closing(HTTPConnection(place, timeout=PATIENCE)) as connection:
        connection.request("GET" if body is None else "POST", path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_a_stranger_gets_no_event_and_forges_no_answer(api, instance):
    _, _, secret = api.address.partition("/")
    for wrong in ("", "x/", f"{secret}x/", f"{secret[:-1]}/", "%20/"):
        assert ask(api, f"/{wrong}{NEXT}")[0] == 403
        assert ask(api, f"/{wrong}{ANSWER}", b"forged")[0] == 403
    assert instance.mock_calls == []
    assert ask(api, f"/{secret}/{NEXT}") == (200, b"{}")
    assert ask(api, f"/{secret}/{ANSWER}", b"good")[0] == 202
    instance.finished.assert_called_once_with("1", b"good", failed=False)
    assert ask(api, f"/{secret}/{ANSWER.replace('response', 'error')}", b"bad")[0] == 202
    instance.finished.assert_called_with("1", b"bad", failed=True)
    assert ask(api, f"/{secret}/2018-06-01/runtime/init/error", b"early") == (202, b"")
    instance.init_failed.assert_called_once_with(b"early")
    for body in (None, b"x"):
        assert ask(api, f"/{secret}/2018-06-01/other", body) == (404, b"")


def test_who_does_not_say_where_its_request_ends_gets_no_event(api, instance):
    place, _, secret = api.address.partition("/")
    with closing(HTTPConnection(place, timeout=PATIENCE)) as connection:
        connection.request("GET", f"/{secret.rstrip('/')}/{NEXT}", headers={"Content-Length": "?"})
        assert connection.getresponse().status == 400
    assert instance.mock_calls == []
