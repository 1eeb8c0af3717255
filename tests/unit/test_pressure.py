"""What a producer is told, of a queue and its worker in virtual time."""

import random

import pytest

from benchmarks.world import Table, World, poisson
from lifoq import Lifetimes, Queue, WorkerSettings
from lifoq.tables.table import Page, Span


class CountedTable(Table):
    reads = 0
    rows = 0

    def get(self, task_id: str):
        self.reads += 1
        return super().get(task_id)

    def query(self, span: Span, **terms) -> Page:
        page = super().query(span, **terms)
        self.rows += len(page.rows)
        return page


def pressed(rate: float, *, refusing: bool = False):
    """After four minutes in which ``rate`` tasks a second came, of which ten can be done."""
    table, draw = CountedTable(), random.Random(1)
    world = World(
        table,
        lambda _: table.host.sleep(1.0),
        lifetimes=Lifetimes(deadline=10),
        settings=WorkerSettings(in_flight=10),
    )
    queue = Queue(world.store, host=table.host)
    refused = []

    def come(_) -> None:
        refuses = refusing and draw.random() < queue.pressure().shed_share
        refused.append(refuses)
        if not refuses:
            world.put(None)

    world.feed(((moment, None) for moment in poisson(rate, 240, draw)), come)
    world.run(240)
    return queue, table, refused


def test_at_twice_the_load_half_is_shed_and_the_capacity_is_known():
    queue, table, _ = pressed(20)
    table.reads = table.rows = 0
    pressure = queue.pressure()
    assert pressure.shed_share == pytest.approx(0.5, abs=0.06)
    assert pressure.starts_per_second == pytest.approx(10, rel=0.05)
    assert 0 < pressure.wait_seconds < 2
    assert (table.reads, table.rows) == (2, 100)


def test_below_the_load_nothing_is_shed():
    queue, _, _ = pressed(5)
    pressure = queue.pressure()
    assert pressure.shed_share == 0
    assert pressure.starts_per_second == pytest.approx(5, rel=0.25)


def test_a_door_that_refuses_the_share_that_is_shed_leaves_the_workers_busy():
    queue, _, refused = pressed(20, refusing=True)
    late = refused[len(refused) // 2 :]
    assert 0.15 < sum(late) / len(late) < 0.45
    assert queue.pressure().starts_per_second == pytest.approx(10, rel=0.1)
    assert queue.pressure().shed_share < 0.45
