"""The adaptive order: oldest first while all is well, newest first once the oldest has waited."""

import itertools

from lifoq.basics.host import microseconds
from lifoq.store.candidate import Candidate, Candidates
from lifoq.testing.hosts import ManualHost
from lifoq.worker.backlog.newest_or_oldest_first import NewestOrOldestFirst
from tests.virtual.bench import Bench

THRESHOLD = 60.0


def run(bench: Bench, threshold: float | None = THRESHOLD) -> list[object]:
    """One task at a time; how they came."""
    bench.run(window=1_000, in_flight=1, adaptive_threshold=threshold)
    return bench.order


def test_the_oldest_comes_first_until_it_is_older_than_the_threshold(bench):
    bench.handle("a", 8)
    bench.put_many("a", 20)
    # The oldest that waits is 0, 8, … 56 s old when one is chosen, and then 64.
    assert run(bench) == [*range(8), *range(19, 7, -1)]


def test_just_below_the_threshold_the_order_stays_as_it_is():
    host = ManualHost()
    order = NewestOrOldestFirst(THRESHOLD, host)

    def newest_first(age):
        host.advance(5)
        created = host.time - microseconds(age)
        row = Candidate(task_id="t", task_type="a", created=created, expires_at=host.time + 9)
        order.decide(Candidates(rows=(row,), next=None), of_newest=False, now=host.time)
        return order.newest_first

    ages = [0, 55, 60, 61, 100, 61, 59, 58, 57, 56, 58, 59, 60, 61]
    said = [newest_first(age) for age in ages]
    assert said == [False] * 3 + [True] * 5 + [False] * 5 + [True]


def test_a_head_start_comes_first_while_else_the_oldest_do(bench):
    """It stands at the newest end, and would come last of all."""
    bench.handle("a", 1)
    bench.put("a", "first of all", head_start=30)
    bench.put_many("a", 30)
    bench.beside(lambda: bench.put("a", "worth more", head_start=30), at=15.5)
    began = {payload: place for place, payload in enumerate(run(bench))}
    assert began["first of all"] <= 1
    assert began["worth more"] <= 18
    plain = [payload for payload in bench.order if isinstance(payload, int)]
    assert sum(one < other for one, other in itertools.pairwise(plain)) >= 25


def test_it_costs_one_query_in_a_second():
    def polls(threshold: float | None) -> int:
        bench = Bench()
        bench.handle("a", 0.1)
        for _ in range(200):  # which have expired, at the old end
            bench.put("a", deadline=5)
        bench.sleep(10)
        bench.put_many("a", 100)
        bench.sleep(2)
        bench.table.polls = 0
        run(bench, threshold)
        bench.scheduler.close()
        return bench.table.polls

    usual = polls(None)
    assert polls(THRESHOLD) <= usual + 20
    assert polls(1) <= usual + 20
