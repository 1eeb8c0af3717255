"""What a queue tells a producer of the load that it is under."""

from dataclasses import replace

import pytest

from lifoq import Lifetimes, NewTask, Queue, Registry, Sweeper
from lifoq.items.change import Change
from lifoq.items.schema import Attribute
from lifoq.tables import pressure
from lifoq.tables.pressure import NOTE, Pressure, Starts
from lifoq.tables.store import Store
from lifoq.testing.hosts import ManualHost
from tests.conftest import on_dynamodb_too

pytestmark = on_dynamodb_too


def started(store: Store, host: ManualHost, number: int, *, wait: float | None = 0.5):
    starts = Starts(seconds=20.0, number=number, wait=wait)
    pressure.note(store, starts, host=host)


def test_it_is_what_workers_noted_beside_what_was_shed(store, host):
    queue = Queue(store, host=host)
    assert queue.pressure() == Pressure(shed_share=0, starts_per_second=0, wait_seconds=None)
    for _ in range(30):
        store.put(NewTask(task_type="a"))
    host.advance(3_601)
    assert Queue(store, host=host).pressure().shed_share == 0, "no worker tells of a start"
    started(store, host, 10, wait=1.0)
    started(store, host, 30, wait=2.0)
    store.put(NewTask(task_type="a"))
    found = queue.pressure()
    assert found.starts_per_second == pytest.approx(2)
    assert found.wait_seconds == pytest.approx(1.75)
    assert found.shed_share == pytest.approx(0.5 / 2.5)
    host.advance(4.9)
    assert queue.pressure() is found
    host.advance(60)
    assert queue.pressure() == replace(found, shed_share=0)
    host.advance(30)
    assert queue.pressure() == Pressure(shed_share=0, starts_per_second=0, wait_seconds=None)


def test_what_the_sweep_has_deleted_counts(table, host):
    lifetimes = Lifetimes(deadline=10, shed_at_deadline=True)
    store = Store(table, lifetimes=lifetimes, host=host)
    for _ in range(30):
        store.put(NewTask(task_type="a"))
    host.advance(11)
    Sweeper(store, Registry(), max_attempts=1, host=host).run()
    store.put(NewTask(task_type="a"))
    host.advance(11)
    started(store, host, 2)
    assert Queue(store, host=host).pressure().shed_share == pytest.approx(0.5)


def test_of_many_that_were_shed_a_sample_is_read(store, host):
    for _ in range(150):
        store.put(NewTask(task_type="a"))
        host.advance(0.1)
    host.advance(3_600)
    started(store, host, 200)
    assert Queue(store, host=host).pressure().shed_share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("text", ['[{"at": "x"}]', "[", "null"])
def test_a_note_that_cannot_be_read_tells_nothing_and_is_written_over(store, host, text):
    damage = {Attribute.PAYLOAD: text, Attribute.CLAIM_ID: "theirs"}
    store.table.update(NOTE, Change(when=(), creates=True, set=damage))
    assert Queue(store, host=host).pressure().starts_per_second == 0
    started(store, host, 20)
    assert Queue(store, host=host).pressure().starts_per_second == pytest.approx(1)
