"""Ways of a task, as its table's stream tells them: which changes are ends, and how it ended."""

import base64
import json
from collections.abc import Callable
from typing import Any

from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.items.task_error import TaskError
from lifoq.tables.dynamo_values import typed
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.testing.hosts import ManualHost

TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
BOOM = TaskError(type="ValueError", message="boom")
ID = "t"
TOKEN = "AAAAKgAAAAIAAAAA"  # noqa: S105

Record = dict[str, Any]


class Way:
    """The way of a task that somebody waits to be told of. Each step is a record, as Lambda has
    it."""

    def __init__(self) -> None:
        self.host = ManualHost()
        self.table = MemoryTable()
        lifetimes = Lifetimes(shed_at_deadline=True, task_tokens=True)
        self.store = Store(self.table, lifetimes=lifetimes, host=self.host)
        self.ends: list[tuple[Record, str]] = []
        self.others: dict[str, Record] = {}

    def goes(self, what: str, action: Callable[[], object]) -> None:
        """No end."""
        self.others[what] = self._change(action)

    def ends_as(self, ending: str, action: Callable[[], object], *, by_ttl: bool = False) -> None:
        self.ends.append((self._change(action, by_ttl=by_ttl), ending))

    def put(self, **terms: Any) -> None:
        new = NewTask(task_type="a", task_id=ID, task_token=TOKEN, key="device", **terms)
        self.store.put(new)

    def replace(self, **terms: Any) -> None:
        self.store.put(NewTask(task_type="a", task_id=ID, if_exists="replace", **terms))

    def claim(self) -> None:
        self.goes("claim", lambda: self.store.claim(ID, claim_id="c", lease=30))

    def back_off(self) -> None:
        self.goes("back off", lambda: self.store.retry(self.task, BOOM, delay=5))

    @property
    def task(self):
        return self.store.get(ID)

    def expire(self) -> None:
        self.table.expire(self.host.now() + 2_000_000)

    def _change(self, action: Callable[[], object], *, by_ttl: bool = False) -> Record:
        old = self.table.get(ID)
        action()
        new = self.table.get(ID)
        assert old != new, "nothing changed"
        number = len(self.ends) + len(self.others) + 1
        images = {"OldImage": old, "NewImage": new}
        return {
            "eventID": f"event-{number}",
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "dynamodb": {
                "ApproximateCreationDateTime": self.host.now() // 1_000_000,
                "SequenceNumber": str(number),
                **{image: _told(item) for image, item in images.items() if item is not None},
            },
            **({"userIdentity": TTL} if by_ttl else {}),
        }


def _told(item: Item) -> dict[str, Any]:
    """As an event has it, which is JSON: bytes are base64."""
    told: dict[str, Any] = json.loads(
        json.dumps(typed(item), default=lambda text: base64.b64encode(text).decode())
    )
    return told


def success() -> Way:
    way = Way()
    way.goes("delayed put", lambda: way.put(delay=5))
    way.host.advance(5)
    way.goes("a delayed put falls due", lambda: way.store.promote(ID))
    way.claim()
    way.goes("heartbeat", lambda: way.store.extend(way.task, lease=60))
    way.goes("checkpoint", lambda: way.store.checkpoint(way.task, "half", lease=60))
    way.ends_as("SUCCESS", lambda: way.store.succeed(way.task, '{"n":1}'))
    way.host.advance(8 * 86_400)
    way.goes("its retention is over", way.expire)
    way.others["its retention is over"]["userIdentity"] = TTL
    return way


def failures() -> Way:
    way = Way()
    way.goes("put", way.put)
    way.claim()
    way.back_off()
    way.host.advance(5)
    way.goes("a retry falls due", lambda: way.store.promote(ID))
    way.claim()
    way.goes("hand back", lambda: way.store.retry(way.task, BOOM, delay=0))
    way.claim()
    way.ends_as("FAILURE", lambda: way.store.fail(way.task, BOOM))
    way.goes("redrive", lambda: way.store.redrive(ID))
    way.claim()
    way.ends_as("FAILURE", lambda: way.store.fail(way.task, BOOM))
    return way


def cancelled() -> Way:
    way = Way()
    way.goes("delayed put", lambda: way.put(delay=5))
    way.goes("a delayed put is hurried", lambda: way.store.run_now(ID))
    way.ends_as("CANCELLED", lambda: way.store.cancel(ID))
    return way


def cancelled_while_it_ran() -> Way:
    way = Way()
    way.goes("put", way.put)
    way.claim()
    way.goes("cancelled, and its worker is to hear of it", lambda: way.store.cancel(ID))
    way.ends_as("CANCELLED", lambda: way.store.end_cancelled(way.task))
    return way


def shed_by_the_sweep() -> Way:
    way = Way()
    way.goes("put", lambda: way.put(deadline=10))
    way.claim()
    way.back_off()
    way.host.advance(10)
    way.goes("a retry falls due", lambda: way.store.promote(ID))
    way.ends_as("SHED", lambda: way.store.shed(ID))
    return way


def shed_by_ttl() -> Way:
    way = Way()
    way.goes("delayed put", lambda: way.put(delay=5, deadline=10))
    way.host.advance(16)
    way.ends_as("SHED", way.expire, by_ttl=True)
    return way


def begun_anew() -> Way:
    way = Way()
    way.goes("put", lambda: way.put(deadline=10))
    way.host.advance(10)
    way.ends_as("SHED", lambda: way.put(deadline=10))
    way.host.advance(11)
    way.ends_as("SHED", lambda: way.put(delay=5, deadline=10))
    way.host.advance(16)
    way.ends_as("SHED", lambda: way.put(delay=5, deadline=10))
    way.host.advance(16)
    way.ends_as("SHED", lambda: way.put(deadline=10))
    way.claim()
    way.back_off()
    way.host.advance(10)
    way.ends_as("SHED", way.put)
    return way


def lost() -> Way:
    way = Way()
    way.goes("put", way.put)
    way.claim()
    way.host.advance(31)
    way.goes("a lease is over", lambda: way.store.reclaim(way.task, max_attempts=2))
    way.claim()
    way.host.advance(31)
    way.ends_as("FAILURE", lambda: way.store.reclaim(way.task, max_attempts=2))
    return way


def damaged() -> Way:
    way = Way()
    way.goes("put", way.put)
    damage = {**(way.table.get(ID) or {}), "payload": "{"}
    way.goes("somebody writes to the item", lambda: way.table.damage(damage))
    way.ends_as(
        "FAILURE", lambda: way.store.condemn(ID, seen=Status.PENDING, reason="payload is no JSON")
    )
    return way


def replaced_while_it_waited() -> Way:
    way = Way()
    way.goes("put", way.put)
    way.host.advance(1)
    way.goes("replaced", way.replace)
    way.host.advance(1)
    way.goes("replaced again", way.replace)
    way.host.advance(3600)
    way.ends_as("SHED", way.replace)
    return way


def replaced_while_it_ran() -> Way:
    way = Way()
    way.goes("put", way.put)
    way.claim()
    way.host.advance(1)
    way.goes("a newer put is parked", lambda: way.replace(payload=["the same again"] * 500))
    way.goes("replaced", lambda: way.store.succeed(way.task, "1"))
    way.claim()
    way.ends_as("SUCCESS", lambda: way.store.succeed(way.task, "2"))
    return way


WAYS = (
    success,
    failures,
    cancelled,
    cancelled_while_it_ran,
    shed_by_the_sweep,
    shed_by_ttl,
    begun_anew,
    lost,
    damaged,
    replaced_while_it_waited,
    replaced_while_it_ran,
)
