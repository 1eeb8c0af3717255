"""Ways of a task, as its table's stream tells them: which changes are ends, and how it ended."""

import base64
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from lifoq.aws.dynamo_values import typed
from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.items.task_error import TaskError
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost

TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
BOOM = TaskError(type="ValueError", message="boom")
ID = "t"
TOKEN = "AAAAKgAAAAIAAAAA"  # noqa: S105
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

Record = dict[str, Any]


class Way:
    """The way of a task that somebody waits to be told of: seconds that pass, and steps. Each step
    is a record, as Lambda has it."""

    def __init__(self, *steps: str | float) -> None:
        self.host = ManualHost()
        self.table = MemoryTable()
        lifetimes = Lifetimes(shed_at_deadline=True, task_tokens=True)
        self.store = Store(self.table, lifetimes=lifetimes, host=self.host)
        self.ends: list[tuple[Record, str]] = []
        self.others: dict[str, Record] = {}
        for step in steps:
            if not isinstance(step, str):
                self.host.advance(step)
            elif step in ENDS:
                action, ending = ENDS[step]
                self.ends_as(ending, partial(action, self))
            else:
                self.goes(step, partial(OTHERS[step], self))

    def goes(self, what: str, action: Callable[[], object]) -> None:
        """No end."""
        self.others[what] = self._change(action)

    def ends_as(self, ending: str, action: Callable[[], object]) -> None:
        self.ends.append((self._change(action), ending))

    def put(self, **terms: Any) -> None:
        own = {"task_id": ID, "task_token": TOKEN, "key": "device", "traceparent": TRACE}
        self.store.put(NewTask(task_type="a", **own, **terms))

    def replace(self, **terms: Any) -> None:
        self.store.put(NewTask(task_type="a", task_id=ID, if_exists="replace", **terms))

    def claim(self) -> None:
        self.goes("claim", lambda: self.store.claim(ID, claim_id="c", lease=30))

    def reclaim(self) -> None:
        self.store.reclaim(self.task, max_attempts=2)

    @property
    def task(self):
        return self.store.get(ID)

    def expire(self) -> str:
        self.table.expire(self.host.now() + 2_000_000)
        return "TTL"

    def _change(self, action: Callable[[], object]) -> Record:
        old = self.table.get(ID)
        by_ttl = action() == "TTL"
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
    """Return an item in the form of an event, which is JSON: bytes are base64."""
    told: dict[str, Any] = json.loads(
        json.dumps(typed(item), default=lambda text: base64.b64encode(text).decode())
    )
    return told


OTHERS: dict[str, Callable[[Way], object]] = {
    "put": Way.put,
    "put for 10 s": lambda way: way.put(deadline=10),
    "delayed put": lambda way: way.put(delay=5, deadline=10),
    "a delayed put falls due": lambda way: way.store.promote(ID),
    "a delayed put is hurried": lambda way: way.store.run_now(ID),
    "claim": lambda way: way.store.claim(ID, claim_id="c", lease=30),
    "heartbeat": lambda way: way.store.extend(way.task, lease=60),
    "checkpoint": lambda way: way.store.checkpoint(way.task, "half", lease=60),
    "back off": lambda way: way.store.retry(way.task, BOOM, delay=5),
    "a retry falls due": lambda way: way.store.promote(ID),
    "hand back": lambda way: way.store.retry(way.task, BOOM, delay=0),
    "redrive": lambda way: way.store.redrive(ID),
    "cancelled, and its worker is to hear of it": lambda way: way.store.cancel(ID),
    "a lease is over": Way.reclaim,
    "somebody writes to the item": lambda way: way.table.damage(
        {**(way.table.get(ID) or {}), "payload": "{"}
    ),
    "replaced": Way.replace,
    "replaced again": Way.replace,
    "a newer put is parked": lambda way: way.replace(payload=["the same again"] * 500),
    "it succeeds, and is replaced": lambda way: way.store.succeed(way.task, "1"),
    "its retention is over": Way.expire,
}
ENDS: dict[str, tuple[Callable[[Way], object], str]] = {
    "succeed": (lambda way: way.store.succeed(way.task, '{"n":1}'), "SUCCESS"),
    "fail": (lambda way: way.store.fail(way.task, BOOM), "FAILURE"),
    "the last lease is over": (Way.reclaim, "FAILURE"),
    "dead_letter": (
        lambda way: way.store.dead_letter(ID, seen=Status.PENDING, reason="payload is no JSON"),
        "FAILURE",
    ),
    "cancel": (lambda way: way.store.cancel(ID), "CANCELLED"),
    "end cancelled": (lambda way: way.store.end_cancelled(way.task), "CANCELLED"),
    "shed": (lambda way: way.store.shed(ID), "SHED"),
    "TTL deletes": (Way.expire, "SHED"),
    "put over": (lambda way: way.put(deadline=10), "SHED"),
    "delayed put over": (lambda way: way.put(delay=5, deadline=10), "SHED"),
    "replace": (Way.replace, "SHED"),
}
DAY = 86_400


def success() -> Way:
    return Way(
        *("delayed put", 5, "a delayed put falls due", "claim", "heartbeat", "checkpoint"),
        *("succeed", 8 * DAY, "its retention is over"),
    )


def failures() -> Way:
    return Way(
        *("put", "claim", "back off", 5, "a retry falls due", "claim", "hand back", "claim"),
        *("fail", "redrive", "claim", "fail"),
    )


def cancelled() -> Way:
    return Way("delayed put", "a delayed put is hurried", "cancel")


def cancelled_while_it_ran() -> Way:
    return Way("put", "claim", "cancelled, and its worker is to hear of it", "end cancelled")


def shed_at_its_deadline() -> Way:
    return Way("put for 10 s", "claim", "back off", 10, "a retry falls due", "shed")


def shed_by_ttl() -> Way:
    return Way("delayed put", 16, "TTL deletes")


def begun_anew() -> Way:
    return Way(
        *("put for 10 s", 10, "put over", 11, "delayed put over", 16, "delayed put over", 16),
        *("put over", "claim", "back off", 10, "put over"),
    )


def lost() -> Way:
    return Way("put", "claim", 31, "a lease is over", "claim", 31, "the last lease is over")


def damaged() -> Way:
    return Way("put", "somebody writes to the item", "dead_letter")


def replaced_while_it_waited() -> Way:
    return Way("put", 1, "replaced", 1, "replaced again", 3600, "replace")


def replaced_while_it_ran() -> Way:
    return Way(
        "put",
        "claim",
        1,
        "a newer put is parked",
        "it succeeds, and is replaced",
        "claim",
        "succeed",
    )


WAYS = (
    *(success, failures, cancelled, cancelled_while_it_ran, shed_at_its_deadline, shed_by_ttl),
    *(begun_anew, lost, damaged, replaced_while_it_waited, replaced_while_it_ran),
)
