"""Faults at a chosen API call: beneath the store, on any table; beneath boto3, on the wire."""

import json
import threading
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from lifoq.basics.host import microseconds
from lifoq.errors import StoreUnavailable
from lifoq.items.change import Alternatives, Change, Condition, Item
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.table import Count, Cursor, Page, Span, Table
from tests.virtual.machine import Machine

OUTAGE_SECONDS = 3.0
"""How long a cut connection stays cut."""


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

    def get(self, task_id: str) -> Item | None:
        return self._call("get", task_id)

    def get_many(self, task_ids: Sequence[str]) -> list[Item]:
        return self._call("get_many", task_ids)

    def put(self, item: Item, *, over: Alternatives = ()) -> None:
        self._call("put", item, over=over)

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        self._call("replace", item, when=when)

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        return self._call("put_batch", items)

    def update(self, task_id: str, change: Change) -> None:
        self._call("update", task_id, change)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        return self._call("update_and_get", task_id, change)

    def update_and_put(
        self,
        task_id: str,
        change: Change,
        items: Sequence[Item],
        *,
        over: Alternatives = (),
        once: bool = False,
    ) -> None:
        self._call("update_and_put", task_id, change, items, over=over, once=once)

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        self._call("delete", task_id, when=when)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        return self._call("query", span, newest_first=newest_first, limit=limit, start=start)

    def count(self, span: Span, *, cap: int) -> Count:
        return self._call("count", span, cap=cap)

    def clock_ahead(self) -> int:
        return self._table.clock_ahead()

    def check(self) -> None:
        self._call("check")


class Wire:
    """A table's connection, to strike below boto3 and its retries."""

    def __init__(self, table: DynamoTable) -> None:
        self.table = table
        self._here = threading.local()
        for client in (table._client, table._once):
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


def answer(request: Any, status: int, code: str, message: str = "as the test says") -> AWSResponse:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
    return AWSResponse(request.url, status, {}, _Body(json.dumps(body).encode()))
