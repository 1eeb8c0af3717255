"""A process of a user's without network: each way in which people mock, record, redirect or trace
boto3, and then lifoq's calls. ``python -m tests.aws.outside`` tells what it found, as JSON."""

import contextlib
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import boto3
import botocore.awsrequest
import urllib3.connection
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.stub import Stubber

from lifoq import LifoqError, Queue
from lifoq.aws.boto3_clients import dynamodb_clients
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.store.store import Store

tried: list[Any] = []
"""Addresses that somebody would have connected to."""
seen: list[Any] = []
"""The calls that reached whoever stands in AWS's place."""
FAKE = "http://fake.invalid:7"


class Sealed(Exception):
    """Raised where a call would leave the process."""


def seal(function: str) -> None:
    def refuse(*arguments: Any, **_: Any) -> None:
        tried.append([str(one) for one in arguments if not isinstance(one, socket.socket)])
        raise Sealed(function)

    setattr(socket if function == "getaddrinfo" else socket.socket, function, refuse)


def empty(url: str = "https://aws.invalid") -> AWSResponse:
    raw = SimpleNamespace(stream=lambda **_: [b"{}"])
    return AWSResponse(url, 200, {"Content-Length": "2"}, raw)


def answering(request: Any, **_: Any) -> AWSResponse:
    seen.append(request.url)
    return empty(request.url)


def recorder(result: Any) -> Callable[..., Any]:
    def recorded(*_: Any, **__: Any) -> Any:
        seen.append(recorded)
        if isinstance(result, Exception):
            raise result
        return result() if callable(result) else result

    return recorded


@contextlib.contextmanager
def patched(target: str, result: Any, **more: Any) -> Iterator[None]:
    """After the queue was connected."""
    found = recorder(result)
    with mock.patch(target, **more) if more else mock.patch(target, found) as stand_in:
        if more:
            stand_in.side_effect = found
        yield


def connect(**arguments: Any) -> Queue:
    return Queue.connect(table="queue", region_name="eu-west-1", **arguments)


def use(queue: Queue) -> None:
    """A recorder's result may make no sense to lifoq: then a sentence of its own, or the recorder's
    own error, is right."""
    for call in (lambda: queue.put("a", task_id="t"), lambda: queue.get("t")):
        with contextlib.suppress(LifoqError, NotOnTape):
            call()


class NotOnTape(Exception):
    """Raised by a recorder in replay that has no such call."""


# Ways


def listening(event: str, listener: Callable[..., Any]) -> None:
    boto3.setup_default_session()
    boto3.DEFAULT_SESSION.events.register(event, listener)
    use(connect())


def redirected_before_it_is_sent() -> None:
    """Its address is that of a local fake, which the socket would meet: the seal tells."""

    def redirect(request: Any, **_: Any) -> None:
        request.url = FAKE

    listening("before-send.dynamodb", redirect)
    seen.extend(one for one in tried if "fake.invalid" in one[0])
    tried[:] = [one for one in tried if "fake.invalid" not in one[0]]


def redirected_before_it_is_built() -> None:
    def redirect(params: Any, **_: Any) -> None:
        params["url"] = FAKE

    listening("before-call.dynamodb", redirect)
    seen.extend(one for one in tried if "fake.invalid" in one[0])
    tried[:] = [one for one in tried if "fake.invalid" not in one[0]]


def answered_before_it_is_sent() -> None:
    listening("before-send.dynamodb", answering)


def without_its_signature() -> None:
    def strip(request: Any, **_: Any) -> AWSResponse:
        del request.headers["Authorization"]
        return answering(request)

    listening("before-send.dynamodb", strip)


def played_by_placebo() -> None:
    """It answers ``before-call`` with a stand-in that has a status, and nothing else."""

    def play(**_: Any) -> Any:
        seen.append(play)
        return SimpleNamespace(status_code=200), {"ResponseMetadata": {"HTTPStatusCode": 200}}

    listening("before-call.dynamodb", play)


def stubbed() -> None:
    client, once = dynamodb_clients(region_name="eu-west-1")
    with Stubber(client) as stubber:
        stubber.add_response("put_item", {})
        stubber.add_response("get_item", {})
        use(Queue(Store(DynamoTable.of_clients("queue", client=client, once=once))))
        stubber.assert_no_pending_responses()
    seen.append(stubber)


def by_moto() -> None:
    from moto import mock_aws  # noqa: PLC0415

    from lifoq.testing import create_table  # noqa: PLC0415

    with mock_aws():
        create_table(boto3.client("dynamodb", region_name="eu-west-1"), "queue")
        queue = connect()
        queue.put("a", {"n": 1}, task_id="t")
        seen.append(queue.get("t"))


def by_moto_that_begins_later() -> None:
    """moto has to be imported before; it may begin when it will."""
    from moto import mock_aws  # noqa: PLC0415

    from lifoq.testing import create_table  # noqa: PLC0415

    queue = connect()
    with mock_aws():
        create_table(boto3.client("dynamodb", region_name="eu-west-1"), "queue")
        queue.put("a", task_id="t")
        seen.append(queue.get("t"))


def with_a_configuration() -> None:
    use(connect(config=Config(proxies={"https": FAKE}, retries={"mode": "adaptive"})))
    seen.extend(one for one in tried if "fake.invalid" in one[0])
    tried[:] = [one for one in tried if "fake.invalid" not in one[0]]


def boto3s_client_replaced(**more: Any) -> None:
    with mock.patch("boto3.client", **more) as client:
        queue = connect()
        queue.put("a", task_id="t")
        assert queue.get("t") is None
        seen.append(client.return_value.put_item.call_args)


def an_instance(result: Any, *attributes: str) -> None:
    queue = connect()
    for calls in (queue.store.table._calls, queue.store.table._once):
        for attribute in attributes:
            *path, name = attribute.split(".")
            owner = calls.client
            for step in path:
                owner = getattr(owner, step)
            setattr(owner, name, recorder(result))
    use(queue)


def a_function(target: str, result: Any, *, url: str | None = None, **more: Any) -> None:
    queue = connect(endpoint_url=url)
    with patched(target, result, **more):
        use(queue)


def a_connection_class() -> None:
    """Replace the class of connections, as VCR does. Nothing is on the tape."""
    queue = connect()

    class OnTape(urllib3.connection.HTTPSConnection):
        def request(self, *_: Any, **__: Any) -> None:
            seen.append(self)
            raise NotOnTape

        def connect(self) -> None:
            seen.append(self)
            raise NotOnTape

    pool = botocore.awsrequest.AWSHTTPSConnectionPool
    with mock.patch.object(pool, "ConnectionCls", OnTape):
        use(queue)


DONE = (empty(), {"ResponseMetadata": {"HTTPStatusCode": 200}})
WAYS: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        redirected_before_it_is_sent,
        redirected_before_it_is_built,
        answered_before_it_is_sent,
        without_its_signature,
        played_by_placebo,
        stubbed,
        by_moto,
        by_moto_that_begins_later,
        with_a_configuration,
        boto3s_client_replaced,
        a_connection_class,
    )
} | {
    "boto3s_client_with_autospec": lambda: boto3s_client_replaced(autospec=True),
    "BaseClient._make_api_call": lambda: a_function(
        "botocore.client.BaseClient._make_api_call", {}
    ),
    "BaseClient._make_api_call, autospec": lambda: a_function(
        "botocore.client.BaseClient._make_api_call", {}, autospec=True
    ),
    "Endpoint.make_request": lambda: a_function("botocore.endpoint.Endpoint.make_request", DONE),
    "Endpoint.make_request, autospec": lambda: a_function(
        "botocore.endpoint.Endpoint.make_request", DONE, autospec=True
    ),
    "Endpoint._send": lambda: a_function("botocore.endpoint.Endpoint._send", empty),
    "Endpoint._send, autospec": lambda: a_function(
        "botocore.endpoint.Endpoint._send", empty, autospec=True
    ),
    "URLLib3Session.send": lambda: a_function("botocore.httpsession.URLLib3Session.send", empty),
    **{
        name: (lambda name=name: a_function(name, NotOnTape()))
        for name in (
            "urllib3.connectionpool.HTTPConnectionPool.urlopen",
            "urllib3.connectionpool.HTTPConnectionPool._make_request",
            "urllib3.connectionpool.HTTPConnectionPool._get_conn",
            "urllib3.connection.HTTPSConnection.connect",
        )
    },
    # Over TLS, urllib3 connects before it comes to these.
    **{
        name: (lambda name=name: a_function(name, NotOnTape(), url=FAKE))
        for name in (
            "botocore.awsrequest.AWSHTTPConnection.request",
            "http.client.HTTPConnection.endheaders",
        )
    },
    "an instance's _make_api_call": lambda: an_instance({}, "_make_api_call"),
    "an instance's methods": lambda: an_instance({}, "put_item", "get_item"),
    "an instance's endpoint": lambda: an_instance(DONE, "_endpoint.make_request"),
    "an instance's _send": lambda: an_instance(empty, "_endpoint._send"),
    "an instance's http_session": lambda: an_instance(empty, "_endpoint.http_session.send"),
}


def found(way: str) -> str:
    """JSON: what was ``seen`` and ``tried``, or the ``error``; from a process of its own, as ways
    leave things behind."""
    reading, writing = os.pipe()
    if not os.fork():
        try:
            WAYS[way]()
            told: dict[str, Any] = {"seen": len(seen), "tried": tried}
        except BaseException:  # noqa: BLE001 - the test shows it
            told = {"error": traceback.format_exc()}
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told_by_it:
        text = told_by_it.read()
    os.wait()
    return text


def main() -> None:
    for function in ("connect", "connect_ex", "sendto", "getaddrinfo"):
        seal(function)
    sys.stdout.write(json.dumps({way: json.loads(found(way)) for way in WAYS}))


if __name__ == "__main__":
    main()
