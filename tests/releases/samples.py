"""Samples of all that a release writes and a later one reads: items of every kind, changes of the
table, settings, requests. Today's code writes them: a sample is never written by hand."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any, Final

import lifoq
from lifoq import Queue, every
from lifoq.aws.dynamo_values import typed
from lifoq.health import found_limits, pressure, worker_notes
from lifoq.health import sweep_note as sweep_notes
from lifoq.health.found_limits import FoundLimit
from lifoq.health.pressure import Starts
from lifoq.health.sweep_note import Note
from lifoq.items.change import Item
from lifoq.items.key_limit import KeyLimit
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.quota_table import NONE, Amount, Renewal, SharedLimit
from lifoq.items.schema import OWN_PREFIX, Attribute, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.operating import pause_note_in_table
from lifoq.schedules.event import event_of
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.quota_tables import QuotaTables
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.ends import WAYS
from tests.fixtures import noise
from tests.infrastructure.updates import Templates

LIFETIMES: Final = Lifetimes(deadline=86_400, shed_at_deadline=True, task_tokens=True)
"""The lifetimes of the samples' queue: a day, in which a reader may let time pass."""
LEASE: Final = 30.0
KEY: Final = "device-17"
KEYED: Final = "keyed"
"""A task type of which one task of a key is taken at a time."""
ONE_AT_A_TIME: Final = KeyLimit(per_key=1)
PACED: Final = "paced"
"""A task type of which the tasks of a key start at a rate."""
PACE: Final = KeyLimit(rate=0.01)
BOOM: Final = TaskError(type="ValueError", message="boom", traceback="Traceback …\nboom")
LARGE: Final = noise(24_000)
"""More than an item holds, where the queue has a bucket."""
LONG: Final = "the same again " * 100
"""More than an item holds uncompressed."""
TRACE: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TERMS: Final[dict[str, Any]] = {
    "key": KEY,
    "head_start": 60,
    "max_attempts": 3,
    "timeout": 20,
    "weight": 1_200,
    "task_token": "AAAAKgAAAAIAAAAA",
    "traceparent": TRACE,
    "deadline": 7200,
}
"""The terms of a put that says all that a task carries."""


class Writer:
    """A queue in memory in which each sample is brought about, by the library's own operations."""

    def __init__(self) -> None:
        self.host = ManualHost()
        self.table = MemoryTable()
        self.blobs = MemoryBlobs()
        large = LargeValues(self.blobs, host=self.host)
        self.store = Store(self.table, lifetimes=LIFETIMES, host=self.host, large=large)

    def put(self, task_id: str, payload: Any = None, task_type: str = "check", **terms: Any) -> str:
        self.host.advance(1)
        new = NewTask(task_type=task_type, task_id=task_id, payload=payload, **terms)
        self.store.put(new)
        return task_id

    def newer(self, task_id: str, **terms: Any) -> None:
        self.put(task_id, payload="newest", if_exists="replace", **terms)

    def taken(self, task_id: str, *, lease: float = LEASE, **terms: Any) -> Task:
        """Put it, unless it is there, and claim it."""
        if self.store.get(task_id) is None:
            self.put(task_id, payload={"sample": task_id}, **terms)
        self.host.advance(1)
        return self.store.claim(task_id, claim_id=f"w1:{task_id}", lease=lease)

    def lose(self, task: Task, *, max_attempts: int = 5) -> None:
        """Its worker is gone, and the sweep comes by."""
        self.host.advance(LEASE + 1)
        self.store.reclaim(task, max_attempts=max_attempts)


def _waiting(w: Writer) -> None:
    w.put("pending", {"device": "d-17", "umlauts": "äöü"})
    w.put("pending-null")
    w.put("pending-with-all-terms", {"n": 1}, **TERMS)
    w.put("pending-compressed", LONG)
    w.put("pending-in-the-bucket", LARGE)
    w.put("pending-of-a-type-that-nobody-has", task_type="nobody.has")
    w.put("delayed", delay=600)
    w.put("delayed-with-all-terms", delay=600, **TERMS)
    w.newer(w.put("replaced-while-it-waited", "old", key="old"), key=KEY, head_start=10)
    w.put("shed", deadline=5)
    w.host.advance(5)


def _after_an_attempt(w: Writer) -> None:
    w.store.retry(w.taken("delayed-after-a-failure", key=KEY, head_start=60), BOOM, delay=600)
    task = w.taken("delayed-with-a-checkpoint")
    w.store.checkpoint(task, {"step": 3}, lease=LEASE)
    w.store.retry(task, BOOM, delay=600, counts=False)
    w.store.retry(w.taken("pending-alone", head_start=5), BOOM, delay=0, alone=True)
    w.lose(w.taken("pending-after-a-lost-worker"))
    task = w.taken("pending-again-with-a-checkpoint-in-the-bucket")
    w.store.checkpoint(task, LARGE, lease=LEASE)
    w.lose(task)
    w.store.fail(w.taken("redriven"), BOOM)
    w.store.redrive("redriven")
    task = w.taken("replaced-while-it-ran")
    w.newer("replaced-while-it-ran")
    w.store.succeed(task, "1")


def _ended(w: Writer) -> None:
    w.store.succeed(w.taken("success"), '{"answer":42}')
    w.store.succeed(w.taken("success-compressed"), json.dumps(LONG))
    w.store.succeed(w.taken("success-in-the-bucket"), json.dumps(LARGE))
    follow_up = NewTask(task_type="check", task_id="follow-up", payload=1)
    w.store.succeed(w.taken("success-with-a-follow-up", traceparent=TRACE), "null", [follow_up])
    w.store.fail(w.taken("failure", key=KEY, head_start=60), BOOM)
    w.lose(w.taken("failure-after-a-lost-worker"), max_attempts=1)
    w.store.cancel(w.put("cancelled"))
    task = w.taken("cancelled-while-it-ran")
    w.store.cancel("cancelled-while-it-ran")
    w.store.end_cancelled(task, BOOM)
    w.store.dead_letter(w.put("dead-letter"), seen=Status.PENDING, reason="payload is no JSON")


def _of_keyed_types(w: Writer) -> None:
    """Bring about slots: one is held, and a task waits for it; one's worker is lost; two are left,
    of which one tells when its key's next task may start."""
    claims = KeyedClaims(w.store, host=w.host, worker="w1")

    def claim(task_id: str, key: str, lease: float, limit: KeyLimit = ONE_AT_A_TIME) -> Any:
        w.put(task_id, task_type=KEYED if limit is ONE_AT_A_TIME else PACED, key=key)
        (row,) = [one for one in w.store.candidates(limit=99).rows if one.task_id == task_id]
        return claims.claim(row, key_limit=limit, lease=lease)

    for task_id, limit in (("success-with-a-slot", ONE_AT_A_TIME), ("success-at-a-rate", PACE)):
        left = claim(task_id, "left", LEASE, limit)
        w.store.succeed(left.task, "1")
        left.leave()
    claim("taken-with-a-slot", KEY, 3600)
    claim("lost-with-a-slot", "lost", 1)
    w.put("pending-behind-a-slot", task_type=KEYED, key=KEY)
    w.put("pending-behind-a-rate", task_type=PACED, key="left")


def _taken(w: Writer) -> None:
    """Last: leases run out while others are written."""
    w.taken("lost", lease=1, max_attempts=1)
    task = w.taken("lost-and-cancelled", lease=1)
    w.store.cancel(task.task_id)
    w.taken("lost-with-a-parked-put", lease=1)
    w.newer("lost-with-a-parked-put", head_start=7)
    w.host.advance(2)
    w.taken("taken", lease=3600, **TERMS)
    w.taken("taken-and-cancelled", lease=3600)
    w.store.cancel("taken-and-cancelled")
    w.store.want("taken-and-cancelled", until=w.store.now() + 15_000_000)
    w.taken("taken-with-a-parked-put", lease=3600)
    w.newer("taken-with-a-parked-put")
    w.newer("taken-with-a-parked-put", delay=600)


def _own(w: Writer) -> None:
    """The queue's own items, which are no tasks."""
    tables = QuotaTables(w.store, host=w.host)
    tasks = SharedLimit(in_flight=8, rate=50.0)
    units = SharedLimit(in_flight=8, rate=50.0, unit="tokens", most_owed=500.0)
    for limit, shared in (("", tasks), ("check", tasks), ("check", units)):
        for worker in ("w1", "w2"):
            renewal = Renewal(
                worker=worker,
                number=1,
                keeps=NONE,
                wants=Amount(2, 1),
                insists=True,
                returns=0.0,
                lease=30_000_000,
                renew=True,
                needs=NONE if shared.unit is None else Amount(2, 1),
                since=w.host.now(),
            )
            tables.take(limit, shared, renewal)
    now = w.host.now()
    note = Note(
        unknown_types=("nobody.has",),
        unknown_waiting=1,
        stalled=True,
        shed=((now, 3),),
        known_types=("check", KEYED),
    )
    sweep_notes.write(w.store, note)
    found = FoundLimit(worker="w1", task_type="check", tasks=12.5, most=64, at=now)
    hold = worker_notes.Hold(gate="slots", says="the worker is at its limit", since=now)
    told = worker_notes.made_here(
        worker="w1", since=now, slots=10, at=now, ended=False, held=(hold,)
    )
    pressure.note(
        w.store,
        Starts(seconds=20.0, number=40, wait=1.5),
        host=w.host,
        also=lambda _: {
            Attribute.RESULT: found_limits.encoded([found], before=(), now=now),
            Attribute.CHECKPOINT: worker_notes.encoded(
                replace(told, place="a host, process 1"), before=()
            ),
        },
    )
    paused = pause_note_in_table.PauseNote(by="lifoq pause", who="ada@laptop, process 1", at=now)
    w.table.damage({"taskId": pause_note_in_table.ITEM, "payload": json.dumps(asdict(paused))})


STEPS: Final[tuple[Callable[[Writer], None], ...]] = (
    *(_waiting, _after_an_attempt, _ended, _of_keyed_types, _taken, _own),
)


def written(templates: Templates) -> dict[str, Any]:
    """Return samples of all kinds, as JSON. ``templates``: of a stage with everything on, in which
    the settings of functions and clients stand."""
    writer = Writer()
    for step in STEPS:
        step(writer)
    found = _deployed(templates)
    return {
        "release": lifoq.__version__,
        "now": writer.host.now(),
        "items": [_json(item) for item in writer.table._items.values()],
        "objects": {
            key: base64.b64encode(content).decode() for key, content in writer.blobs.objects.items()
        },
        "changes": [record for way in WAYS for record in _changes(way())],
        "parameters": found["parameters"],
        "environments": found["environments"],
        "schedules": found["schedules"] | {"at run time": _schedule()},
        "requests": [_request()],
    }


def _json(item: Item) -> dict[str, Any]:
    """Return an item as events have it: bytes are base64."""
    told: dict[str, Any] = json.loads(
        json.dumps(typed(item), default=lambda content: base64.b64encode(content).decode())
    )
    return told


def _changes(way: Any) -> Iterator[dict[str, Any]]:
    yield from (record for record, _ in way.ends)
    yield from way.others.values()


def _request() -> dict[str, Any]:
    """The body of a put over HTTP."""
    return {
        "type": "check",
        "payload": {"n": 1},
        "id": "over-http",
        "key": KEY,
        "deadline": 600,
        "delay": 5,
        "headStart": 60,
        "maxAttempts": 3,
        "timeout": 20,
        "weight": 1_200,
        "ifExists": "keep",
        "traceparent": TRACE,
    }


def _schedule() -> str:
    """Return the event of a schedule that a client makes: it fires long after that."""
    told = {
        name: TERMS[name] for name in ("key", "head_start", "max_attempts", "timeout", "weight")
    }
    schedules = Queue.in_memory().schedules
    made = schedules.put(
        "daily", every(3600), "check", {"n": 1}, if_exists="replace", deadline=600, **told
    )
    return json.dumps(event_of(made.task))


def _deployed(templates: Templates) -> dict[str, Any]:
    """Return what a deployment writes for its functions and clients."""
    resources = {
        f"{stack}/{logical_id}": (resource["Type"], resource["Properties"])
        for stack, template in templates.items()
        for logical_id, resource in template["Resources"].items()
    }
    found: dict[str, dict[str, Any]] = {"parameters": {}, "environments": {}, "schedules": {}}
    for name, (kind, properties) in resources.items():
        match kind:
            case "AWS::SSM::Parameter":
                found["parameters"][properties["Name"]] = _text(properties["Value"])
            case "AWS::Lambda::Function":
                variables = properties.get("Environment", {}).get("Variables", {})
                told = {name: _text(value) for name, value in variables.items()}
                if "LIFOQ_QUEUE" in told or "LIFOQ_TABLE" in told:
                    found["environments"][name] = told
            case "AWS::Scheduler::Schedule":
                found["schedules"][name] = _text(properties["Target"].get("Input", "null"))
    return found


def _text(value: Any) -> str:
    """Return a property as it is once it is deployed; a reference is its target's name."""
    match value:
        case str():
            return value
        case {"Fn::Join": ["", list(parts)]}:
            return "".join(map(_text, parts))
        case {"Ref": str(name)} | {"Fn::ImportValue": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
    raise NotImplementedError(value)


def own_kinds(samples: dict[str, Any]) -> set[str]:
    """Return the kinds of the queue's own items among the samples, such as ``limit``."""
    ids = [item["taskId"]["S"] for item in samples["items"]]
    return {
        name.removeprefix(OWN_PREFIX).split(":")[0] for name in ids if name.startswith(OWN_PREFIX)
    }
