"""Every fault at every API call of every path; then the queue is left alone, comes to rest, and
the invariants hold."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from lab import dynamodb_local
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.items.schema import Status
from tests.conftest import CASES
from tests.faults.faults import Fault, FaultyTable, Injection, Wire
from tests.faults.history import Image, audit
from tests.faults.paths import PATHS, End, Path
from tests.faults.streams import History
from tests.faults.world import Process, RecordingTable, World
from tests.virtual.scheduler import Crashed

BOTO_RETRY_SECONDS = 0.5


# The numbers of which one is taken share no factor with that of the kinds of faults, so that no
# kind is left out.
@pytest.mark.parametrize(
    ("path", "one_in"),
    [
        *(pytest.param(path, 7, id=f"{path.name}, a seventh") for path in PATHS),
        *(pytest.param(path, 1, marks=pytest.mark.prove, id=f"{path.name}, all") for path in PATHS),
    ],
)
def test_no_fault_at_any_call_breaks_an_invariant_in_memory(path, one_in, record_property):
    def run(fault: Fault | None, at: int | None) -> list[str]:
        table = RecordingTable()
        world = World(table)
        injection = Injection(world.new_machine(), fault, at)
        process = Process(world, injection.host, FaultyTable(table, injection))
        strike(path, world, process, injection)
        world.close()
        audit(table.writes, damaged=world.damaged)
        return injection.calls

    calls = run(None, None)
    cases = list(itertools.product(enumerate(calls), Fault))[::one_in]
    for (at, call), fault in cases:
        with described(path, fault, at, call):
            run(fault, at)
    record_property(CASES, len(cases))


@pytest.mark.parametrize(
    ("path", "one_in"),
    [
        *(pytest.param(path, 41, id=f"{path.name}, a sample") for path in PATHS[::8]),
        *(
            pytest.param(path, 5, marks=pytest.mark.prove, id=f"{path.name}, a fifth")
            for path in PATHS
        ),
    ],
)
def test_no_fault_at_any_call_breaks_an_invariant_in_dynamodb(
    path, one_in, record_property, dynamodb_local_endpoint, new_streamed_table, monkeypatch
):
    endpoint = dynamodb_local_endpoint
    table = new_streamed_table(endpoint)
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    wire = Wire(DynamoTable.connect(table.name, **arguments))
    damaged: set[str] = set()

    def run(fault: Fault | None, at: int | None, *, stubborn: bool = False) -> list[str]:
        world = World(table)
        # boto3 waits for its retries on the clock of the world.
        time = SimpleNamespace(sleep=lambda _: world.clock.sleep(BOTO_RETRY_SECONDS))
        monkeypatch.setattr("botocore.endpoint.time", time)
        injection = Injection(world.new_machine(), fault, at)
        wire.use(injection, stubborn=stubborn)
        items = strike(path, world, Process(world, injection.host, wire.table), injection)
        damaged.update(world.damaged)
        world.close()
        world.remove(items)
        return injection.calls

    kinds = [*((fault, False) for fault in Fault), (Fault.LOST, True)]
    calls = run(None, None)
    cases = list(itertools.product(enumerate(calls), kinds))[::one_in]
    for (at, call), (fault, stubborn) in cases:
        with described(path, fault, at, call):
            run(fault, at, stubborn=stubborn)
    record_property(CASES, len(cases))
    audit(History(endpoint, table.name).writes(), damaged=damaged)


@contextmanager
def described(path: Path, fault: Fault, at: int, call: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(f"{path.name}: {fault.value} at call {at}, {call}")
        raise


def strike(path: Path, world: World, process: Process, injection: Injection) -> list[Image]:
    """Run the path, with the fault; then let the queue come to rest, and look at it."""
    path.arrange(world)
    try:
        path.act(process)
    except Crashed:
        assert killed(injection)
    assert injection.struck or injection.at is None, f"there was no call {injection.at}"
    items = world.drive_to_rest()
    assert_ends(path, world, items, injection)
    return items


def assert_ends(path: Path, world: World, items: list[Image], injection: Injection) -> None:
    """Nothing lost, nothing doubled, and done again only where an attempt was really lost."""
    by_name = {world.name(item): item for item in items}
    assert len(by_name) == len(items), f"doubled: {items}"
    may_be_absent = path.by_producer if killed(injection) else world.unconfirmed
    assert set(path.ends) - set(by_name) <= may_be_absent, f"lost; there are {sorted(by_name)}"
    for name, item in by_name.items():
        assert_end(path.ends[name], item, world.effects[name], tolerance=killed(injection))


def assert_end(end: End, item: Image, effects: int, *, tolerance: bool) -> None:
    if tolerance and item["taskStatus"] == end.if_killed:
        return
    assert item["taskStatus"] == end.status, item
    assert end.attempts <= item["attempts"] <= end.attempts + tolerance, item
    fewest = max(min(1, end.effects), end.effects - tolerance)  # an attempt may die before it acts
    assert fewest <= effects <= end.effects + tolerance, f"{effects} effects: {item}"
    if end.status is not Status.CANCELLED:
        assert (item["taskStatus"] == Status.FAILURE) == ("error" in item), item


def killed(injection: Injection) -> bool:
    return injection.fault is not None and injection.fault.kills
