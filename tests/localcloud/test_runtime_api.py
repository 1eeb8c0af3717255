"""The port at which a function's process fetches its events: whose it is."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, RemoteDisconnected
from unittest.mock import Mock

import pytest

from lifoq_localcloud.functions.runtime_api import RuntimeApi, Task

NEXT = "2018-06-01/runtime/invocation/next"
ANSWER = "2018-06-01/runtime/invocation/1/response"
CONTEXT = "Lambda-Runtime-Client-Context"
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
    instance.next_task.return_value = None  # it is closed
    with pytest.raises(RemoteDisconnected):
        ask(api, f"/{secret}/{NEXT}")


def test_an_event_comes_with_what_lambda_tells_of_it(api, instance):
    place, _, secret = api.address.partition("/")
    task = Task(request_id="7", event=b"[1]", function_arn="arn:of:it", deadline_millis=9)
    with closing(HTTPConnection(place, timeout=PATIENCE)) as connection:
        for context, more in ((json.dumps("of it"), {CONTEXT: '"of it"'}), ("", {})):
            instance.next_task.return_value = replace(task, client_context=context)
            connection.request("GET", f"/{secret}/{NEXT}")
            answer = connection.getresponse()
            assert (answer.read(), dict(answer.getheaders())) == (
                b"[1]",
                {
                    "Lambda-Runtime-Aws-Request-Id": "7",
                    "Lambda-Runtime-Deadline-Ms": "9",
                    "Lambda-Runtime-Invoked-Function-Arn": "arn:of:it",
                    **more,
                    "Content-Type": "application/json",
                    "Content-Length": "3",
                },
            )


def test_a_closed_port_answers_nobody_and_a_request_without_a_path_is_a_strangers():
    api = RuntimeApi(Mock())
    host, _, port = api.address.partition("/")[0].partition(":")
    with closing(socket.create_connection((host, int(port)), PATIENCE)) as stranger:
        stranger.sendall(b"GET\r\n")
        with stranger.makefile("rb") as answer:
            assert answer.readline().split()[1] == b"403"
    api.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port))).close()


def test_who_does_not_say_where_its_request_ends_gets_no_event(api, instance):
    place, _, secret = api.address.partition("/")
    with closing(HTTPConnection(place, timeout=PATIENCE)) as connection:
        connection.request("GET", f"/{secret.rstrip('/')}/{NEXT}", headers={"Content-Length": "?"})
        assert connection.getresponse().status == 400
    assert instance.mock_calls == []
