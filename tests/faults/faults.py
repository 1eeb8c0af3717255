"""Faults at a chosen API call: beneath the store, on any table; beneath boto3, on the wire."""

import json
import threading
from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import microseconds
from lifoq.errors import StoreUnavailable
from lifoq.store.table_protocol import Table
from tests.virtual.machine import Machine

OUTAGE_SECONDS = 3.0
"""The seconds for which a cut connection stays cut."""


class Fault(Enum):
    THROTTLED = "throttled"
    REFUSED = "refused before it was applied"
    LOST = "applied, but the response lost"
    CUT = "connection cut"
    KILLED_BEFORE = "process killed before"
    KILLED_AFTER = "process killed after"

    @property
    def kills(self) -> bool:
        return self in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)


class Injection:
    """Counts a process's API calls, and says what goes wrong at which.

    ``at``: the number of the call, from 0; None: no call, which only records them.
    """

    def __init__(self, host: Machine, fault: Fault | None = None, at: int | None = None):
        self.host = host
        self.fault = fault
        self.at = at
        self.calls: list[str] = []
        self.struck = False
        self._cut_until = 0

    def arrives(self, call: str) -> Fault | None:
        """A call arrives; what happens to it."""
        self.host.assert_alive()
        number = len(self.calls)
        self.calls.append(call)
        if number == self.at:
            self.struck = True
            if self.fault is Fault.CUT:
                self._cut_until = self.host.now() + microseconds(OUTAGE_SECONDS)
            return self.fault
        return Fault.CUT if self.cut else None

    @property
    def cut(self) -> bool:
        return self.host.now() < self._cut_until


class FaultyTable:
    """A table as a process sees it through bad weather."""

    def __init__(self, table: Table, injection: Injection) -> None:
        self.name = table.name
        self._table = table
        self._injection = injection

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        fault = self._injection.arrives(method)
        if fault is Fault.KILLED_BEFORE:
            self._injection.host.kill()
        if fault in (Fault.THROTTLED, Fault.REFUSED, Fault.CUT):
            raise StoreUnavailable(f"{method}: {fault.value}")
        answer = getattr(self._table, method)(*arguments, **named)
        if fault is Fault.KILLED_AFTER:
            self._injection.host.kill()
        if fault is Fault.LOST:
            raise StoreUnavailable(f"{method}: {fault.value}")
        return answer

    def __getattr__(self, method: str) -> Any:
        return partial(self._call, method)

    def clock_ahead(self) -> int:
        return self._table.clock_ahead()


class Wire:
    """A table's connection, to strike below boto3 and its retries."""

    def __init__(self, table: DynamoTable) -> None:
        self.table = table
        self._here = threading.local()
        for client in (table._calls.client, table._once.client):
            events = client.meta.events
            events.register("before-call.dynamodb", self._call_begins)
            events.register("before-send.dynamodb", partial(self._send, client=client))

    def use(self, injection: Injection, *, stubborn: bool) -> None:
        """``stubborn``: each attempt of the call fails, so that boto3 gives up and lifoq has to
        cope."""
        self._injection = injection
        self._stubborn = stubborn

    def _call_begins(self, model: Any, **_: Any) -> None:
        self._here.fault = self._injection.arrives(model.name)
        self._here.attempt = 0

    def _send(self, request: Any, client: Any, **_: Any) -> AWSResponse | None:
        self._injection.host.assert_alive()
        self._here.attempt += 1
        fault = self._here.fault
        if self._injection.cut:
            fault = Fault.CUT
        elif fault is Fault.CUT or (self._here.attempt > 1 and not self._stubborn):
            fault = None
        match fault:
            case None:
                return None
            case Fault.THROTTLED:
                return answer(request, 400, "ProvisionedThroughputExceededException")
            case Fault.REFUSED:
                return answer(request, 500, "InternalServerError")
            case Fault.CUT:
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.KILLED_BEFORE:
                self._injection.host.kill()
        client._endpoint.http_session.send(request)
        if fault is Fault.KILLED_AFTER:
            self._injection.host.kill()
        raise ReadTimeoutError(endpoint_url=request.url)


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._content


def answer(
    request: Any, status: int, code: str, message: str = "as the test says", **more: Any
) -> AWSResponse:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}
    return AWSResponse(request.url, status, {}, _Body(json.dumps(body).encode()))
