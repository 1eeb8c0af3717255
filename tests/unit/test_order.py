"""The adaptive order: oldest first while all is well, newest first once the oldest has waited."""

import random

from lifoq import (
    NewTask,
    Processor,
    Registry,
    Status,
    WorkerSettings,
)
from lifoq.basics.host import microseconds
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import STATUS_CREATED_INDEX
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Candidate, Candidates, Store
from lifoq.testing.hosts import START, ManualHost
from lifoq.worker.order import Order
from tests.virtual.machine import Machine
from tests.virtual.scheduler import Scheduler

THRESHOLD = 60.0
DEADLINE = 600.0


class CountingTable(MemoryTable):
    """Counts queries for PENDING tasks, by the end of the queue at which they begin."""

    def __init__(self):
        super().__init__()
        self.newest, self.oldest = 0, 0

    def query(self, span, *, newest_first, limit, start=None):
        if (span.index, span.status) == (STATUS_CREATED_INDEX, Status.PENDING):
            self.newest += newest_first
            self.oldest += not newest_first
        return super().query(span, newest_first=newest_first, limit=limit, start=start)


class Bench:
    """A queue under a virtual clock, whose tasks take ``service`` seconds, one at a time."""

    def __init__(self, threshold=THRESHOLD, service=1.0, **settings):
        self.clock = Scheduler(random.Random(0), start=START)
        self.host = Machine("worker", self.clock)
        self.table = CountingTable()
        self.store = Store(self.table, lifetimes=Lifetimes(deadline=DEADLINE), host=self.host)
        self.order = []
        self.registry = Registry()

        @self.registry.task("a")
        def work(payload, _context):
            self.order.append(payload)
            self.host.sleep(service)

        worker = WorkerSettings(
            **{"window": 1_000, "in_flight": 1, "adaptive_threshold": threshold, **settings}
        )
        self.processor = Processor(self.store, self.registry, worker, host=self.host)

    def put(self, payload, task_type="a", **terms):
        return self.store.put(NewTask(task_type=task_type, payload=payload, **terms)).task_id

    def wait(self, seconds):
        self.clock.time += microseconds(seconds)

    def run(self):
        return self.processor.run()


def test_the_newest_comes_first_where_no_threshold_is_set():
    bench = Bench(threshold=None)
    for n in range(5):
        bench.put(n)
    bench.run()
    assert bench.order == [4, 3, 2, 1, 0]
    assert bench.table.oldest == 0


def test_the_oldest_comes_first_while_it_is_younger_than_the_threshold():
    bench = Bench()
    for n in range(5):
        bench.put(n)
    bench.wait(THRESHOLD - 10)
    bench.run()
    assert bench.order == [0, 1, 2, 3, 4]


def test_oldest_first_costs_no_query_more_than_newest_first():
    queries = []
    for threshold in (None, THRESHOLD):
        bench = Bench(threshold=threshold)
        for n in range(20):
            bench.put(n)
        bench.run()
        queries.append(bench.table.newest + bench.table.oldest)
    assert queries[0] == queries[1]


def test_the_newest_comes_first_from_the_moment_the_oldest_is_older_than_the_threshold():
    bench = Bench(service=8.0)
    for n in range(20):
        bench.put(n)
    bench.run()
    # The oldest that waits is 0, 8, … 56 s old when one is chosen, and then 64.
    assert bench.order == [*range(8), *range(19, 7, -1)]


def test_just_below_the_threshold_the_order_stays_as_it_is():
    host = ManualHost()
    order = Order(THRESHOLD, host)

    def newest_first(age):
        host.advance(5)
        created = host.time - microseconds(age)
        row = Candidate(task_id="t", task_type="a", created=created, expires_at=host.time + 9)
        order.decide(Candidates(rows=(row,), next=None), now=host.time)
        return order.newest_first

    ages = [0, 55, 60, 61, 100, 61, 59, 58, 57, 56, 58, 59, 60, 61]
    said = [newest_first(age) for age in ages]
    assert said == [False] * 3 + [True] * 5 + [False] * 5 + [True]


def test_the_order_goes_back_when_the_old_ones_are_gone():
    bench = Bench(service=1.0)
    old = bench.put("old")
    bench.wait(THRESHOLD + 1)
    for n in range(6):
        bench.put(n)

    @bench.registry.task("cancels")
    def cancels(_payload, _context):
        bench.store.cancel(old)

    bench.put(None, "cancels")
    bench.put("newest")
    bench.run()
    # One more of the newest: that the old one has gone is seen within a second.
    assert bench.order == ["newest", 5, *range(5)]


def test_an_empty_queue_is_served_oldest_first_again():
    bench = Bench()
    bench.put("old")
    bench.wait(THRESHOLD + 1)
    bench.run()
    for n in range(3):
        bench.put(n)
    bench.run()
    assert bench.order == ["old", 0, 1, 2]


def test_the_order_outlives_a_run():
    bench = Bench(service=5.0, window=7)
    for n in range(10):
        bench.put(n)
    bench.wait(THRESHOLD - 4)  # the first is chosen at 56 s of age, the second at 61 s
    while bench.run().needs_another_run:
        pass
    assert bench.order == [0, *range(9, 0, -1)]


def test_newest_first_costs_one_query_more_in_a_second():
    bench = Bench(service=0.125, window=20)
    for n in range(200):
        bench.put(n)
    bench.wait(THRESHOLD + 1)
    bench.run()
    assert bench.order == list(range(199, 39, -1))
    assert bench.table.newest >= 160
    assert bench.table.oldest == 20


def test_expired_tasks_at_the_old_end_do_not_make_each_look_go_through_them():
    bench = Bench()
    for n in range(500):
        bench.put(("expires", n), deadline=5)
    bench.wait(10)
    for n in range(5):
        bench.put(n)
    bench.run()
    assert bench.order == [4, 3, 2, 1, 0]
    assert bench.table.oldest <= 8
