"""Whatever item DynamoDB can hold, nobody who comes across it stops, and it is left for nobody to
come across for ever."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lifoq.errors import ItemTooLarge
from lifoq.items.change import is_number
from lifoq.items.lifetimes import LONGEST_LEASE
from lifoq.items.schema import MAX_ITEM_BYTES, TERMINAL, Attribute, Status
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.dynamo_values import plain
from lifoq.testing.hosts import START
from tests.faults.world import LEASE, DynamoTruth, MemoryTruth, Truth, World

Typed = dict[str, Any]
"""An item, or a value of one, as DynamoDB's API spells it."""

SECOND = 1_000_000
TIMES = [START + n for n in (-7_200 * SECOND, -1, 0, 1, 20 * SECOND, 7_200 * SECOND)]

numbers = st.one_of(
    st.sampled_from(TIMES).map(str),
    st.integers(-3, 5).map(str),
    st.sampled_from(["0.5", "-0.5", "1E-130", "1E+17", "1E+18", "1E+37", "1E+38", "9.9E+125"]),
    st.sampled_from(TIMES).map(lambda time: f"{time}.25"),
    st.decimals(-(10**20), 10**20, places=3).map(str),
    st.just("-9.9E+125"),
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        ["ok", "null", "{}", "[]", '{"name":"x"}', '"\\ud800"', "NaN", "1" * 5_000, "[" * 5_000]
    ),
)
others = st.sampled_from(
    [
        {"BOOL": True},
        {"NULL": True},
        {"B": b"\x00"},
        {"SS": ["a"]},
        {"NS": ["1", "1.5"]},
        {"L": [{"N": "1.5"}]},
        {"M": {"N": {"N": "1"}}},
    ]
)
values: st.SearchStrategy[Typed] = st.one_of(
    numbers.map(lambda text: {"N": text}), texts.map(lambda text: {"S": text}), others
)
KEYS = {
    Attribute.TASK_CREATED: numbers.map(lambda text: {"N": text}),
    Attribute.DUE_AT: numbers.map(lambda text: {"N": text}),
}
"""DynamoDB holds nothing else in them."""
DAMAGED = [
    name for name in Attribute if name not in (Attribute.TASK_ID, Attribute.TASK_STATUS, *KEYS)
]

BASES: dict[Status, Typed] = {
    Status.PENDING: {"taskCreated": {"N": str(START)}},
    Status.DELAYED: {"dueAt": {"N": str(START)}},
    Status.TAKEN: {
        "taskCreated": {"N": str(START)},
        "claimId": {"S": "c"},
        "leaseExpires": {"N": str(START - 1)},
        "attempts": {"N": "1"},
    },
    Status.FAILURE: {"taskCreated": {"N": str(START)}, "error": {"S": "{}"}},
}
WHOLE: Typed = {
    "enqueuedAt": {"N": str(START)},
    "taskUpdated": {"N": str(START)},
    "expiresAt": {"N": str(START + 3_600 * SECOND)},
    "ttl": {"N": str(START // SECOND + 3_600)},
    "taskType": {"S": "ok"},
    "payload": {"S": '{"name":"x"}'},
    "attempts": {"N": "0"},
}


@st.composite
def items(draw: st.DrawFn) -> Typed:
    status = draw(st.sampled_from(list(BASES)))
    item = {**WHOLE, **BASES[status], "taskStatus": {"S": status.value}}
    for name in draw(st.lists(st.sampled_from(DAMAGED), max_size=3, unique=True)):
        if draw(st.booleans()):
            item[name.value] = draw(values)
        else:
            item.pop(name.value, None)
    for name, numbers_of_it in KEYS.items():
        if name.value in item and draw(st.booleans()):
            item[name.value] = draw(numbers_of_it)
    return item


paddings = st.sampled_from([None, None, None, "payload", "blob", "taskType", "checkpoint", "error"])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(items(), paddings, st.integers(0, 30)), min_size=1, max_size=4))
def test_no_item_stops_anybody_in_memory(damaged: list[tuple[Typed, str | None, int]]):
    assert_harmless(MemoryTruth(), damaged)


@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.generate],  # to find the smallest example would take very long
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(items(), paddings, st.integers(0, 30)), min_size=1, max_size=4))
def test_no_item_stops_anybody_in_dynamodb(
    dynamodb: DynamoTruth, damaged: list[tuple[Typed, str | None, int]]
):
    assert_harmless(dynamodb, damaged)
    dynamodb.remove(dynamodb.items())


@pytest.fixture
def dynamodb(
    endpoint_of: Callable[[str], str], new_dynamo_table: Callable[[str], DynamoTable]
) -> DynamoTruth:
    return DynamoTruth(new_dynamo_table(endpoint_of("dynamodb-local")))


def assert_harmless(truth: Truth, damaged: list[tuple[Typed, str | None, int]]) -> None:
    world = World(truth)
    for n, (item, padded, spare) in enumerate(damaged):
        item["taskId"] = {"S": world.id(str(n))}
        write(truth, item, padded=padded, spare=spare)
    world.put("ok", "healthy")

    sweeper = world.new_process()
    for _ in range(4):
        worker = world.new_process()
        worker.work()
        worker.host.sleep(LEASE + 1)
        sweeper.sweep()

    healthy = truth.table.get(world.id("healthy"))
    assert healthy is not None
    assert healthy["taskStatus"] == Status.SUCCESS
    for item in truth.items():
        assert left_behind(item, world.clock.time) is None, item
    queue = world.operator.queue
    queue.stats()
    for status in (Status.PENDING, Status.DELAYED, Status.TAKEN, Status.FAILURE):
        queue.peek(10, status=status)
    queue.redrive_many()
    queue.purge(confirm=lambda _: True)


def write(truth: Truth, item: Typed, *, padded: str | None, spare: int) -> None:
    """Past the library; ``padded`` so that the item has only so many bytes to ``spare``."""
    if padded is None:
        store(truth, item)
        return
    fits, too_large = MAX_ITEM_BYTES - 16_384, MAX_ITEM_BYTES
    while too_large - fits > 1:
        size = (fits + too_large) // 2
        try:
            store(truth, {**item, padded: {"S": "x" * size}})
        except (ItemTooLarge, ClientError):
            too_large = size
        else:
            fits = size
    store(truth, {**item, padded: {"S": "x" * (fits - spare)}})


def store(truth: Truth, item: Typed) -> None:
    if isinstance(truth, DynamoTruth):
        truth.table._client.put_item(TableName=truth.table.name, Item=item)
    else:
        truth.damage(plain(item))


def left_behind(item: Any, now: int) -> str | None:
    """Why nobody would ever put the item aside, though an index shows it; None: that is well."""
    status = item["taskStatus"]
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
