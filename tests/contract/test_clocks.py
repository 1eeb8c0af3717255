"""Machines whose clocks are off, at a table whose answers tell the time."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lab import dynamodb_local
from lifoq import NewTask, Registry, Status, Sweeper
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.clock import CLOCK_TOLERANCE, ServerClock
from lifoq.basics.host import MICROSECONDS, SYSTEM, microseconds
from lifoq.errors import NotClaimed
from lifoq.items.task_error import TaskError
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import START, ManualHost, TurnableHost

SECOND = MICROSECONDS
ERROR = TaskError(type="E", message="m")
NEAR = SECOND
"""The distance from the server's time that counts as near."""


class Machine(ManualHost):
    def __init__(self, server: ManualHost, off: float = 0) -> None:
        """``off``: seconds by which its clock is ahead."""
        self._server = server
        self._off = microseconds(off)
        super().__init__()

    def now(self) -> int:
        return self._server.now() + self._off


class DatedTable:
    """A machine's way to a table in memory: each answer is dated, as DynamoDB's are."""

    def __init__(self, table: MemoryTable, server: ManualHost, machine: Machine) -> None:
        self._table = table
        self._server = server
        self._machine = machine
        self._clock = ServerClock(machine)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return getattr(self._table, name)(*arguments, **named)
            finally:
                now = self._machine.now()
                dated = self._server.now() // SECOND * SECOND
                self._clock.learn(dated=dated, sent=now, received=now)

        return call

    def clock_ahead(self) -> int:
        return self._clock.ahead()


@pytest.fixture
def server() -> ManualHost:
    """Has the right time."""
    return ManualHost(START + 300_000)


@pytest.fixture
def machine(server: ManualHost, table: MemoryTable) -> Callable[..., Store]:
    """Makes machines that reach the table."""

    def create(off: float = 0) -> Store:
        host = Machine(server, off)
        return Store(DatedTable(table, server, host), host=host)

    return create


def test_the_answers_of_a_database_tell_the_time(dynamodb_local_endpoint, new_dynamo_table):
    endpoint, host = dynamodb_local_endpoint, TurnableHost()
    host.advance(600)
    name = new_dynamo_table(endpoint).name
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    store = Store(DynamoTable.connect(name, host=host, **arguments), host=host)
    first = store.put(NewTask(task_type="a"))
    assert abs(first.enqueued_at - SYSTEM.now()) < 300 * SECOND
    assert first == store.get(first.task_id)


@pytest.mark.parametrize("off", [-600, -60, 60, 600])
def test_what_a_producer_puts_is_timed_by_the_servers_clock_from_the_first_on(server, machine, off):
    producer, worker = machine(off), machine()
    producer.put(NewTask(task_type="a", task_id="first", deadline=300))
    producer.put_many([NewTask(task_type="a", task_id="second"), NewTask(task_type="a")])
    for task in [worker.get("first"), worker.get("second")]:
        assert abs(task.enqueued_at - server.now()) < NEAR
        assert task.task_created == task.enqueued_at == task.task_updated
    first = worker.claim("first", claim_id="c", lease=30)
    assert first.expires_at == first.enqueued_at + 300 * SECOND


@pytest.mark.parametrize("off", [-600, 600])
def test_what_was_put_at_once_is_timed_anew_in_its_order(server, machine, off):
    new = [NewTask(task_type="a", payload=n, deadline=300) for n in range(60)]
    new[7] = NewTask(task_type="a", payload=7, task_id="own", delay=5)
    outcomes = machine(off).put_many(new)
    stamps = [o.task.task_updated for o in outcomes if o.task]
    assert stamps == sorted(set(stamps))
    assert abs(stamps[0] - server.now()) < NEAR
    assert abs(stamps[-1] - server.now()) < NEAR
    assert [o.created for o in outcomes] == [True] * 60
    worker = machine()
    assert worker.count_live(cap=100).value == 59
    due = worker.get("own").due_at
    assert abs(due - server.now() - 5 * SECOND) < NEAR


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("off", [-600, 600])
def test_which_put_is_the_newest_is_told_by_the_servers_clock_from_a_process_first_put_on(
    server, machine, off, many
):
    def put(store: Store, payload: str) -> None:
        new = NewTask(task_type="a", task_id="t", if_exists="replace", payload=payload)
        if many:
            store.put_many([new])
        else:
            store.put(new)

    right = machine()
    right.get("t")  # and so it knows the time
    for store, payload in ((right, "first"), (machine(off), "second"), (right, "third")):
        server.advance(10)
        put(store, payload)
        assert right.get("t").payload == payload


def test_a_task_that_was_claimed_meanwhile_is_left_as_it_is(machine, monkeypatch):
    producer, worker = machine(-60), machine()
    learn = ServerClock.learn

    def learn_late(clock, **times):
        learn(clock, **times)
        monkeypatch.undo()
        worker.claim("t", claim_id="quick", lease=30)

    monkeypatch.setattr(ServerClock, "learn", learn_late)
    assert producer.put(NewTask(task_type="a", task_id="t")).status is Status.TAKEN
    assert worker.get("t").claim_id == "quick"


def test_a_deadline_that_was_over_at_the_put_is_told(server, machine, caplog):
    past = datetime.fromtimestamp(server.now() / 1e6 - 60, UTC)
    with caplog.at_level(logging.WARNING):
        machine(-600).put(NewTask(task_type="a", task_id="t", deadline=past))
    told = [record.getMessage() for record in caplog.records]
    assert any("clock is 600 s behind" in text for text in told)
    assert any("task t was put by a clock that was off" in text for text in told)


@pytest.mark.parametrize("off", [-60, -CLOCK_TOLERANCE, CLOCK_TOLERANCE, 60, 600])
def test_a_sweep_ends_no_lease_that_holds_whatever_its_clock_says(server, machine, off):
    worker, sweeping = machine(), machine(off)
    worker.put(NewTask(task_type="a", task_id="t"))
    worker.claim("t", claim_id="c", lease=30)
    report = Sweeper(sweeping, Registry(), max_attempts=3, host=Machine(server, off)).run()
    assert (report.leases_expired, report.dead_lettered) == (0, 0)
    assert worker.get("t").status is Status.TAKEN
    assert report.stats.live.value == 0


@pytest.mark.parametrize("off", [-600, -60, 60, 600])
def test_a_worker_claims_and_settles_by_the_servers_clock(server, machine, off):
    producer, worker = machine(), machine(off)
    producer.put(NewTask(task_type="a", task_id="shed", deadline=10))
    producer.put(NewTask(task_type="a", task_id="t", deadline=60))
    server.advance(10 + NEAR / SECOND)
    (live,) = [r for r in worker.candidates(limit=9).rows if r.expires_at > worker.now()]
    assert live.task_id == "t"
    with pytest.raises(NotClaimed):
        worker.claim("shed", claim_id="c", lease=30)
    task = worker.claim("t", claim_id="c", lease=30)
    assert abs(task.lease_expires - server.now() - 30 * SECOND) < NEAR
    worker.retry(task, ERROR, delay=5)
    assert abs(producer.get("t").due_at - server.now() - 5 * SECOND) < NEAR
