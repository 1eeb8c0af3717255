"""The HTTP server under the API."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud.basics.clients import Clients
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.http_server import server
from lifoq_localcloud.http_server.listener import listen
from tests.localcloud.harness import eventually

SERVER = "the HTTP server"


@contextmanager
def served(application: Callable[..., Any]) -> Iterator[int]:
    """Serve an application, and give its port."""
    http, ended = server.create(listen(0), application), threading.Event()
    http.serve(ended)
    try:
        yield http.port
    finally:
        ended.set()
        http.close()


@pytest.mark.parametrize("own", [[], [("Date", "yesterday")]])
def test_an_answer_has_one_date_its_own_where_it_brings_one(own):
    def dated(_environ: object, start_response: Callable[..., Any]) -> list[bytes]:
        start_response("200 OK", own)
        return []

    with served(dated) as port, closing(HTTPConnection("localhost", port)) as connection:
        connection.request("GET", "/")
        dates = connection.getresponse().headers.get_all("Date")
    assert len(dates or []) == 1
    assert (dates == ["yesterday"]) == bool(own)


@pytest.mark.parametrize(
    ("method", "status", "has_length", "body"),
    [
        ("GET", "200 OK", True, b"told"),
        ("HEAD", "200 OK", True, b""),
        ("GET", "204 No Content", False, b""),
        ("HEAD", "304 Not Modified", False, b""),
    ],
)
def test_an_answer_without_a_body_ends_with_its_head(method, status, has_length, body):
    def answered(_environ: object, start_response: Callable[..., Any]) -> list[bytes]:
        start_response(status, [])
        return [b"told"]

    with served(answered) as port, closing(socket.create_connection(("127.0.0.1", port))) as one:
        one.sendall(f"{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        one.shutdown(socket.SHUT_WR)
        with one.makefile("rb") as answer:
            head, _, rest = answer.read().partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status}\r\n".encode())
    assert (b"Content-Length: 4" in head, rest) == (has_length, body)


@pytest.mark.parametrize(
    ("service", "call"), [("cloudformation", "describe_stacks"), ("dynamodb", "list_tables")]
)
def test_a_fault_of_the_cloud_is_told_as_the_services_clients_read_it(service, call):
    def broken(*_: object) -> list[bytes]:
        raise KeyError

    with served(broken) as port, pytest.raises(ClientError) as told:
        getattr(Clients(Credentials(endpoint=f"http://localhost:{port}"))(service), call)()
    # A thread that outlived its socket would look at it again and again, and take a whole core.
    eventually(lambda: not [one for one in threading.enumerate() if one.name == SERVER])
    assert told.value.response["Error"] == {
        "Code": "InternalFailure",
        "Message": "The local cloud failed (KeyError); see its log.",
    }
