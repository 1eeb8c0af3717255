"""The pressure that a producer is told, of a queue and its worker in virtual time."""

import random

import pytest

from benchmarks.world import Table, World, poisson
from lifoq import Lifetimes, NewTask, Queue, WorkerSettings
from lifoq.health import pressure, sweep_note
from lifoq.items.change import Item
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost


def test_notes_are_kept_for_a_week_and_beside_a_sweep_only_its_note_tells_what_was_shed():
    host = ManualHost()
    store = Store(MemoryTable(), lifetimes=Lifetimes(deadline=10, shed_at_deadline=True), host=host)
    nothing = pressure.Pressure(shed_share=0.0, starts_per_second=None, wait_seconds=None)
    assert pressure.measure(store, now=host.now()) == nothing
    pressure.note(store, pressure.Starts(seconds=20.0, number=10, wait=None), host=host)
    noted = host.now()
    assert store.table.get(pressure.NOTE)["ttl"] == host.now() // 1_000_000 + 7 * 86_400
    store.put(NewTask(task_type="a"))
    host.advance(11)  # the task lies there until the next sweep
    sweep_note.write(store, sweep_note.Note(shed=((host.now(), 30),)))
    assert store.table.get(sweep_note.NOTE)["ttl"] == host.now() // 1_000_000 + 7 * 86_400
    told = pressure.measure(store, now=host.now())
    assert (told.starts_per_second, told.wait_seconds) == (0.5, None)
    assert told.shed_share == pytest.approx(0.1 / 0.6)
    assert pressure.measure(store, now=noted + 90 * 10**6 - 1).starts_per_second == 0.5
    assert pressure.measure(store, now=noted + 90 * 10**6) == nothing


def test_a_note_is_added_to_what_another_worker_wrote_meanwhile():
    host = ManualHost()
    store = Store(MemoryTable(), host=host)
    for number, wait in ((10, 4.0), (30, 8.0)):
        starts = pressure.Starts(seconds=20.0, number=number, wait=wait)
        pressure.note(store, starts, host=host, item={})  # no item, as it was read before
    told = pressure.measure(store, now=host.now())
    assert (told.starts_per_second, told.wait_seconds) == (2.0, 7.0)


@pytest.mark.parametrize(("seconds", "shed"), [(69.9, 1 / 60), (70.5, 0)])
def test_what_ttl_has_not_deleted_counts_for_a_minute_beside_what_a_sweep_has(seconds, shed):
    host, table = ManualHost(), MemoryTable()
    before, store = (
        Store(table, lifetimes=Lifetimes(deadline=deadline), host=host) for deadline in (1_000, 10)
    )
    store.put(NewTask(task_type="a"))
    before.put(NewTask(task_type="a"))  # it waits on: its deadline is not that of today
    host.advance(seconds)
    sweep_note.write(store, sweep_note.Note(shed=((host.now(), 30),)))
    pressure.note(store, pressure.Starts(seconds=20.0, number=10, wait=None), host=host)
    shed += 0.1
    told = pressure.measure(store, now=host.now())
    assert told.shed_share == pytest.approx(shed / (shed + 0.5))


def test_of_a_flood_the_newest_that_were_shed_tell_how_many_are_shed_a_second(monkeypatch):
    monkeypatch.setattr(pressure, "SAMPLE", 2)
    host = ManualHost()
    store = Store(MemoryTable(), lifetimes=Lifetimes(deadline=10), host=host)
    pressure.note(store, pressure.Starts(seconds=20.0, number=10, wait=None), host=host)
    for _ in range(4):
        store.put(NewTask(task_type="a"))
        host.advance(0.1)
    host.advance(9.9)
    told = pressure.measure(store, now=host.now())
    assert told.shed_share == pytest.approx(20 / 20.5)


def test_notes_tell_what_was_shed_after_a_moment():
    note = sweep_note.Note(shed=((5, 1), (6, 2)))
    assert note.shed_since(5) == ((6, 2),)


def test_two_queues_have_the_share_of_all_that_was_started_or_shed_in_them():
    floods = pressure.Pressure(shed_share=0.5, starts_per_second=10.0, wait_seconds=3.0)
    quiet = pressure.Pressure(shed_share=0.0, starts_per_second=30.0, wait_seconds=1.0)
    both = pressure.Pressure(shed_share=0.2, starts_per_second=40.0, wait_seconds=1.5)
    assert pressure.together(floods, quiet) == both


class LateTtl(Table):
    """DynamoDB deletes what has expired hours later."""

    def expire(self, _now: int) -> list[Item]:
        return []


HALF = pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("rate", "window", "starts", "shed", "seconds"),
    [
        (5, 60, 5, 0, 90),
        (20, 9, 10, HALF, 90),
        *(
            pytest.param(*case, 240, marks=pytest.mark.prove)
            for case in ((5, 60, 5, 0), (20, 9, 10, HALF), (20, 60, 10, HALF), (20, 2, 10, HALF))
        ),
    ],
)
def test_what_is_started_is_known_and_beyond_the_capacity_the_share_that_is_shed(
    rate, window, starts, shed, seconds
):
    """After minutes in which so many came in a second, of which ten can be done."""
    table = LateTtl()
    world = World(
        table,
        lambda _: table.host.sleep(1.0),
        lifetimes=Lifetimes(deadline=10),
        settings=WorkerSettings(in_flight=10, window=window),
    )
    moments = poisson(rate, seconds, random.Random(1))
    world.feed(((moment, None) for moment in moments), world.put)
    world.run(seconds)
    told = Queue(world.store, host=table.host).pressure()
    assert told.shed_share == shed
    assert told.starts_per_second == pytest.approx(starts, rel=0.25)
    assert 0 <= told.wait_seconds < 2
