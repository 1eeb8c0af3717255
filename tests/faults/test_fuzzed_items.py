"""Whatever item DynamoDB can hold, nobody who comes across it stops, and it is left for nobody to
come across for ever."""

import contextlib
import itertools
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifoq.aws.dynamo_values import plain, typed
from lifoq.client.listing import Wanted
from lifoq.client.queue import Queue
from lifoq.errors import DamagedTask, LifoqError, StoreUnavailable
from lifoq.items import size
from lifoq.items.change import is_number
from lifoq.items.key_limit import KeyLimit
from lifoq.items.lifetimes import LONGEST_LEASE
from lifoq.items.schema import MAX_ITEM_BYTES, MAX_TYPE_BYTES, TERMINAL, Attribute, Preview, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import START, ManualHost
from tests.faults.world import LEASE, SHARED, World

Typed = dict[str, Any]
"""An item, or a value of one, as DynamoDB's API spells it."""

SECOND = 1_000_000
KEYS = ("taskCreated", "dueAt")
"""DynamoDB holds nothing but numbers in them."""
DAMAGED = [name for name in Attribute if name not in ("taskId", "taskStatus", *KEYS)]
LARGE: Typed = {"M": {"key": {"S": "k"}, "size": {"N": "9"}, "sha256": {"S": "0"}}}
BOOM = TaskError(type="E", message="m")


def taken(store: Store) -> Task:
    return store.claim("t", claim_id="x", lease=30)


BECOMES: dict[str, Callable[[Store], object]] = {
    "PENDING": lambda _: None,
    "DELAYED": lambda store: store.retry(taken(store), BOOM, delay=40),
    "TAKEN": taken,
    "TAKEN, replaced": lambda store: (taken(store), put(store)),
    "FAILURE": lambda store: store.fail(taken(store), BOOM),
    "CANCELLED": lambda store: store.cancel("t"),
}


def put(store: Store) -> None:
    keyed = NewTask(task_type="keyed", payload={"name": "x"}, key="k", head_start=1, task_id="t")
    store.put(replace(keyed, if_exists="replace"))


def written(becomes: Callable[[Store], object]) -> Typed:
    """Return the item that the library wrote of a task that was tried before; large values lie
    elsewhere. It is due now, and its lease is over."""
    store = Store(MemoryTable(), host=ManualHost(START - 40 * SECOND))
    put(store)
    store.retry(taken(store), BOOM, delay=0)
    becomes(store)
    item = typed(store.table.get("t") or {}) | {"checkpoint": LARGE}
    if "parked" in item:
        item["parked"]["M"]["payload"] = LARGE
    return item


EACH = {kind: written(becomes) for kind, becomes in BECOMES.items()}
ANY_TYPE: Final[tuple[Typed | None, ...]] = (
    {"S": "x"},
    {"N": "7"},
    {"B": b"\x00"},
    {"BOOL": True},
    {"NULL": True},
    {"L": [{"NULL": True}]},
    {"M": {"key": {"NULL": True}}},
    {"SS": ["x"]},
    {"NS": ["7"]},
    {"BS": [b"x"]},
    {"S": ""},
    {"S": "x" * 3_000},
    {"N": "0"},
    {"B": b""},
    {"L": []},
    {"M": {}},
    None,
)
"""None: without it. No set is empty in DynamoDB."""
ODD: Final = (
    *ANY_TYPE,
    *({"S": text} for text in ("{}", '"\\ud800"', "NaN", "[" * 5_000)),
    *({"N": number} for number in ("-1", "0.5", "1E+18", "9.9E+125")),
)
PLACES = [
    *((str(name),) for name in DAMAGED),
    *(("taskCreated",), ("dueAt",)),
    *(("parked", "M", str(name)) for name in Attribute if name != Attribute.TASK_ID),
    *(("parked", "M", "payload", "M", name) for name in ("key", "size", "sha256")),
    *(("preview", "M", name) for name in (*Preview, "unheard-of")),
    *(("checkpoint", "M", name) for name in ("key", "size", "sha256")),
    *(("history", "L", 0, "M", name) for name in EACH["TAKEN"]["history"]["L"][0]["M"]),
    *(("parked", "M", "unheard-of"), ("unheard-of",)),
]
MOST_CALLS = 20
"""Calls of the table that one operation makes."""


def damaged(item: Typed, place: tuple[Any, ...], value: Typed | None) -> Typed | None:
    """The item with this in that place; None, where it has no such place."""
    item = deepcopy(item)
    here: Any = item
    for step in place[:-1]:
        here = here.get(step) if isinstance(here, dict) else here[step]
        if here is None:
            return None
    if place[0] in KEYS and value is not None and "N" not in value:
        return None
    if value is None:
        here.pop(place[-1], None)
    else:
        here[place[-1]] = value
    return item


def damaged_items(place: tuple[Any, ...]) -> Iterator[tuple[str, Typed]]:
    """By what was done to it."""
    for kind, whole in EACH.items():
        for value in ANY_TYPE:
            item = damaged(whole, place, value)
            if item is not None:
                yield f"{kind}, {value}", item


@st.composite
def items(draw: st.DrawFn) -> Typed:
    """One with up to three damages."""
    item = draw(st.sampled_from(list(EACH.values())))
    for place in draw(st.lists(st.sampled_from(PLACES), max_size=3)):
        item = damaged(item, place, draw(st.sampled_from(ODD))) or item
    return deepcopy(item)


paddings = st.sampled_from([None, None, None, "payload", "blob", "taskType", "checkpoint", "error"])
crowds = st.lists(st.tuples(items(), paddings, st.integers(0, 30)), min_size=1, max_size=4)


@pytest.mark.parametrize("examples", [30, pytest.param(150, marks=pytest.mark.prove)])
def test_no_item_stops_anybody(examples):
    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(crowds)
    def stops_nobody(crowd):
        assert_harmless(World(MemoryTable(), SHARED), crowd)

    stops_nobody()


def assert_harmless(world: World, crowd: list[tuple[Typed, str | None, int]]) -> None:
    told = Told()
    for name in ("background_calls", "sweep"):
        logging.getLogger(f"lifoq.{name}").addFilter(told)
    try:
        watch(world, crowd)
    finally:
        for name in ("background_calls", "sweep"):
            logging.getLogger(f"lifoq.{name}").removeFilter(told)
    again = {text: number for text, number in told.texts.items() if number > 1}
    assert not again, "told more than once"


class Told(logging.Filter):
    """Counts what is said of each damaged task, and lets nothing through."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if "is damaged" in record.msg:
            self.texts[str(record.args and record.args[0])] += 1
        return False


def watch(world: World, crowd: list[tuple[Typed, str | None, int]]) -> None:
    for n, (item, padded, spare) in enumerate(crowd):  # so many bytes to spare
        item["taskId"] = {"S": world.id(str(n))}
        if padded is not None:
            rest = size.of(plain({**item, padded: {"S": ""}}))
            item[padded] = {"S": "x" * (MAX_ITEM_BYTES - rest - spare)}
        world.past.write(plain(item))
    world.put("ok", "healthy")

    sweeper = world.new_process()
    for _ in range(4):
        worker = world.new_process()
        worker.store.large = LargeValues(MemoryBlobs())
        worker.work()
        worker.host.sleep(LEASE + 1)
        sweeper.sweep()

    healthy = world.table.get(world.id("healthy"))
    assert healthy is not None
    assert healthy["taskStatus"] == Status.SUCCESS
    for item in world.items():
        assert left_behind(item, world.clock.time) is None, item
    queue = world.operator.queue
    queue.stats()
    for status in (Status.PENDING, Status.DELAYED, Status.TAKEN, Status.FAILURE):
        queue.peek(10, status=status)
    queue.redrive_many()
    queue.purge(confirm=lambda _: True)


def left_behind(item: Any, now: int) -> str | None:
    """Why nobody would ever put the item aside, though an index shows it; None: that is well."""
    status = item["taskStatus"]
    if ("dueAt" if status == Status.DELAYED else "taskCreated") not in item:
        return None  # no index shows it
    named = item.get("taskType")
    is_name = isinstance(named, str) and 0 < len(named) <= MAX_TYPE_BYTES
    if status == Status.PENDING and is_name and named not in {"ok", "keyed"}:
        whole = type(item.get("expiresAt")) is int
        return None if whole else "it never expires"  # until then it waits for who knows its type
    if status in TERMINAL or (at_most(item.get("expiresAt"), now) and status != Status.TAKEN):
        return None
    if status == Status.TAKEN:
        bound = now + round((LONGEST_LEASE + 10) * SECOND)
        return None if at_most(item.get("leaseExpires"), bound) else "its lease never ends"
    if status == Status.DELAYED:
        return None if item["dueAt"] > now else "it is due"
    return "it waits, though a processor ran"


def at_most(value: object, bound: int | Decimal) -> bool:
    return is_number(value) and value <= bound


# One damage at a time, through every operation

one_in = pytest.mark.parametrize(
    "one_in", [pytest.param(1, marks=pytest.mark.prove, id="all"), pytest.param(23, id="a sample")]
)
"""A sample has each damage in some operations, and each operation over some damages of each place:
their number is no multiple of 23."""


@one_in
def test_no_operation_fails_or_repeats_itself_over_a_damaged_item(one_in, subtests):
    assert math.gcd(len(OPERATIONS), 23) == 1
    for place in PLACES:
        pairs = itertools.product(damaged_items(place), OPERATIONS.items())
        with subtests.test(place=".".join(map(str, place))):
            for (what, item), (name, operation) in itertools.islice(pairs, 0, None, one_in):
                _ends(operation, plain(item), f"{what}: {name}")


def _ends(operation: Callable[[Store], object], item: Any, told: str) -> None:
    table = BoundedTable()
    table.damage(item)
    store = Store(table, host=ManualHost(START + 1))
    try:
        operation(store)
    except StoreUnavailable as error:
        raise AssertionError(f"{told}: {error}") from error
    except LifoqError:
        pass
    except Exception as error:
        raise AssertionError(told) from error


@one_in
def test_workers_and_sweep_dead_letter_each_damage(one_in, subtests):
    for place in PLACES[:: math.ceil(one_in / 3)]:
        crowd = [(item, None, 0) for _, item in damaged_items(place)]
        with subtests.test(place=".".join(map(str, place))):
            assert_harmless(World(MemoryTable(), SHARED), crowd)


@one_in
def test_what_null_does_to_conditions_is_the_same_in_dynamodb(
    one_in, dynamodb_local_endpoint, new_dynamo_table
):
    world = World(new_dynamo_table(dynamodb_local_endpoint))
    whole = EACH["TAKEN, replaced"]
    found = [damaged(whole, place, {"NULL": True}) for place in PLACES[::one_in]]
    crowd = [item for item in found if item is not None]
    store = world.operator.store
    for n, item in enumerate(crowd):
        world.past.write(plain({**item, "taskId": {"S": f"replaced-{n}"}}))
        with contextlib.suppress(DamagedTask):
            store.put(NewTask(task_type="ok", task_id=f"replaced-{n}", if_exists="replace"))
    assert_harmless(world, [(item, None, 0) for item in crowd])


class BoundedTable(MemoryTable):
    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in {"get", "put", "replace", "update", "update_and_get", "update_and_put"}:
            self._calls += 1
            assert self._calls <= MOST_CALLS, "it goes on and on"
        return found


def settling(settle: Callable[[Store, Task], object]) -> Callable[[Store], object]:
    """By a worker that had the task before it was damaged."""
    task = Task.from_item(plain(EACH["TAKEN"]))
    return lambda store: settle(store, task)


def look(queue: Queue) -> None:
    for status in (Status.PENDING, Status.DELAYED, Status.TAKEN, Status.FAILURE):
        queue.search(Wanted(status=status))
        queue.peek(status=status)
    queue.store.candidates(limit=10)
    queue.stats()


ROW = Candidate(
    task_id="t", task_type="keyed", created=START, expires_at=START + 3_600 * SECOND, key="x"
)
OPERATIONS: dict[str, Callable[[Store], object]] = {
    "get": lambda store: store.get("t"),
    "put": lambda store: Queue(store).put("ok", task_id="t"),
    "replace": lambda store: Queue(store).put("ok", task_id="t", if_exists="replace"),
    "replace in a transaction": lambda store: store.new_write(
        NewTask(task_type="ok", task_id="t", if_exists="replace")
    ),
    "look": lambda store: look(Queue(store)),
    "cancel": lambda store: store.cancel("t"),
    "cancel what waits": lambda store: store.cancel("t", running=False),
    "run now": lambda store: store.run_now("t"),
    "redrive": lambda store: store.redrive("t"),
    "redrive many": lambda store: Queue(store).redrive_many(),
    "delete": lambda store: store.delete("t"),
    "shed": lambda store: store.shed("t"),
    "promote": lambda store: store.promote("t"),
    "claim": lambda store: store.claim("t", claim_id="y", lease=30),
    "claim with a slot": lambda store: KeyedClaims(store, host=store._host).claim(
        ROW, key_limit=KeyLimit(per_key=1), lease=30
    ),
    "succeed": settling(lambda store, task: store.succeed(task, "1")),
    "follow up": settling(
        lambda store, task: store.succeed(task, "1", [NewTask(task_type="ok", task_id="u")])
    ),
    "fail": settling(lambda store, task: store.fail(task, BOOM)),
    "retry": settling(lambda store, task: store.retry(task, BOOM, delay=5)),
    "give back": settling(lambda store, task: store.retry(task, BOOM, delay=0)),
    "end cancelled": settling(lambda store, task: store.end_cancelled(task)),
    "heartbeat": settling(lambda store, task: store.extend(task, lease=30)),
    "checkpoint": settling(lambda store, task: store.checkpoint(task, 1, lease=30)),
    "reclaim": settling(lambda store, task: store.reclaim(task, max_attempts=3)),
}
