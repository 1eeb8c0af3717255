"""Every fault at every API call of every path; then the queue is left alone, comes to rest, and
the invariants hold."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path as Folder
from types import SimpleNamespace
from typing import Any

import pytest

from lab import dynamodb_local
from lifoq.items.schema import Status
from lifoq.tables.dynamo import DynamoTable
from tests.conftest import CASES
from tests.faults import streams
from tests.faults.faults import Fault, FaultyTable, Injection, Wire
from tests.faults.history import Image, audit
from tests.faults.paths import PATHS, End, Path
from tests.faults.world import DynamoTruth, MemoryTruth, Process, World
from tests.virtual.scheduler import Crashed, Scheduler

BOTO_RETRY_SECONDS = 0.5
CASES_A_SERVER = 300

Record = Callable[[str, int], None]

every_path = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


@pytest.fixture
def boto_sleeps_in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scheduler], None]:
    """boto3 waits for its retries on the clock of the world."""

    def use(clock: Scheduler) -> None:
        time = SimpleNamespace(sleep=lambda _: clock.sleep(BOTO_RETRY_SECONDS))
        monkeypatch.setattr("botocore.endpoint.time", time)

    return use


class Servers:
    """DynamoDB Local, begun anew after some hundred cases: the more streamed writes it has had, the
    more slowly it writes. So the one that other tests share is left alone, too."""

    def __init__(self, new_folder: Callable[[str], Folder]) -> None:
        self._new_folder = new_folder
        self._running = ExitStack()
        self._endpoint = ""
        self._cases = CASES_A_SERVER

    def endpoint(self) -> str:
        if self._cases >= CASES_A_SERVER:
            self.end()
            log = self._new_folder("dynamodb-local") / "log"
            server = dynamodb_local.running(log, java_options=dynamodb_local.BRIEF)
            self._endpoint, self._cases = self._running.enter_context(server), 0
        return self._endpoint

    def ran(self, cases: int) -> None:
        self._cases += cases

    def end(self) -> None:
        self._running.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp)
    yield servers
    servers.end()


@every_path
def test_no_fault_at_any_call_breaks_an_invariant_in_memory(path, record_property):
    def run(fault: Fault | None, at: int | None) -> list[str]:
        truth = MemoryTruth()
        world = World(truth)
        injection = Injection(world.new_machine(), fault, at)
        process = Process(world, injection.host, FaultyTable(truth.table, injection))
        strike(path, world, process, injection)
        world.close()
        audit(truth.table.writes, damaged=world.damaged)
        return injection.calls

    calls = run(None, None)
    for at, call in enumerate(calls):
        for fault in Fault:
            with described(path, fault, at, call):
                run(fault, at)
    record_property(CASES, len(calls) * len(Fault))


@pytest.mark.parametrize(
    "one_in", [pytest.param(1, marks=pytest.mark.prove, id="all"), pytest.param(23, id="a sample")]
)
@every_path
def test_no_fault_at_any_call_breaks_an_invariant_in_dynamodb(
    path, one_in, record_property, servers, new_streamed_table, boto_sleeps_in_virtual_time
):
    endpoint = servers.endpoint()
    truth = DynamoTruth(new_streamed_table(endpoint))
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    wire = Wire(DynamoTable.connect(truth.table.name, **arguments))
    damaged: set[str] = set()

    def run(fault: Fault | None, at: int | None, *, stubborn: bool = False) -> list[str]:
        world = World(truth)
        boto_sleeps_in_virtual_time(world.clock)
        injection = Injection(world.new_machine(), fault, at)
        wire.use(injection, stubborn=stubborn)
        items = strike(path, world, Process(world, injection.host, wire.table), injection)
        damaged.update(world.damaged)
        world.close()
        truth.remove(items)
        return injection.calls

    kinds = [*((fault, False) for fault in Fault), (Fault.LOST, True)]
    calls = run(None, None)
    cases = list(itertools.product(enumerate(calls), kinds))[::one_in]
    for (at, call), (fault, stubborn) in cases:
        with described(path, fault, at, call):
            run(fault, at, stubborn=stubborn)
    record_property(CASES, len(cases))
    servers.ran(len(cases))
    audit(streams.writes(endpoint, truth.table.name), damaged=damaged)


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
