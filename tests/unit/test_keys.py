"""What a processor does about keys whose tasks must not all run at a time."""

import threading
import time
from collections import Counter

import pytest

from lifoq import InvalidInput, Processor, Registry, Retry, Status, WorkerSettings
from lifoq.basics.host import MICROSECONDS, SYSTEM
from lifoq.items.task import TaskError
from lifoq.tables.keyed import KeyedClaims
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Candidate
from lifoq.worker.keys import FIRST_PAUSE, LONGEST_PAUSE, Keys
from tests.unit.test_processor import Bench


class Counts(MemoryTable):
    """Counts what is asked of it."""

    def __init__(self):
        super().__init__()
        self.rows = self.pages = self.transactions = 0

    def query(self, *arguments, **named):
        page = super().query(*arguments, **named)
        self.pages += 1
        self.rows += len(page.rows)
        return page

    def update_and_put(self, *arguments, **named):
        self.transactions += 1
        super().update_and_put(*arguments, **named)


@pytest.fixture
def bench():
    return Bench(Counts())


def row(key="k", task_type="a"):
    return Candidate(task_id="t", task_type=task_type, created=1, expires_at=10**18, key=key)


def held_elsewhere(bench, key):
    """Another worker has a task of this key."""
    task_id = bench.put("elsewhere", key=key)
    (shown,) = (r for r in bench.queue.store.candidates(limit=100).rows if r.task_id == task_id)
    claims = KeyedClaims(bench.queue.store, host=SYSTEM)
    return claims.claim(shown, key, per_key=1, lease=30)


@pytest.mark.parametrize("per_key", [1, 2])
def test_of_a_key_no_more_run_at_a_time_than_its_type_says_and_the_newest_first(bench, per_key):
    running, most, order = Counter(), Counter(), {}
    lock = threading.Lock()

    @bench.handle(per_key=per_key)
    def work(payload, context):
        with lock:
            order.setdefault(context.key, []).append(payload)
            running[context.key] += 1
            most[context.key] = max(most[context.key], running[context.key])
        time.sleep(0.005)
        with lock:
            running[context.key] -= 1

    for n in range(30):
        bench.put(n, key=f"k{n % 3}")
    report = bench.run(in_flight=8)
    assert report.succeeded == 30
    assert most == dict.fromkeys(("k0", "k1", "k2"), per_key)
    if per_key == 1:
        assert order == {f"k{n}": sorted(order[f"k{n}"], reverse=True) for n in range(3)}


def test_a_flood_of_a_busy_key_is_no_barrier_and_is_read_once(bench):
    release = threading.Event()
    done, read = [], []

    @bench.handle(per_key=1)
    def work(payload, context):
        if context.key == "flood":
            release.wait(5)
            return
        done.append(payload)
        if len(done) == 20:
            time.sleep(0.5)  # all the while, looks find the flood at the newest end
            read.append((bench.table.pages, bench.table.rows, bench.table.transactions))
            release.set()

    for n in range(20):
        bench.put(n, key=f"quiet-{n}")
    for n in range(900):
        bench.put(n, key="flood")
    bench.run(in_flight=5, window=1)
    assert sorted(done) == list(range(20))
    # Behind the first page each row once, and first pages of ten.
    ((pages, rows, transactions),) = read
    assert pages < 40
    assert rows <= 920 + 10 * pages
    assert transactions == 21


def test_tasks_without_a_key_and_of_types_without_a_limit_are_claimed_as_ever(bench):
    bench.handle("limited", per_key=1)(lambda _, __: None)
    bench.handle("free")(lambda _, __: None)
    for n in range(5):
        bench.put(n, "limited")
        bench.put(n, "free", key="k")
    assert bench.run().succeeded == 10
    assert bench.table.transactions == 0


def test_a_key_that_another_worker_holds_is_passed_over_asked_for_seldom_and_served_once_free(
    bench,
):
    order = []
    bench.handle(per_key=1)(lambda payload, _: order.append(payload))
    task, slot = held_elsewhere(bench, "busy")
    for n in range(3):
        bench.put(f"free {n}", key=f"k{n}")
    for n in range(3):
        bench.put(f"busy {n}", key="busy")
    transactions = bench.table.transactions

    def settle():
        bench.queue.store.succeed(task, "1")
        KeyedClaims(bench.queue.store, host=SYSTEM).leave(slot)

    later = threading.Timer(1.8, settle)
    later.start()
    report = bench.run(in_flight=1, linger=0.5)
    later.join()
    assert report.succeeded == 6
    assert order == ["free 2", "free 1", "free 0", "busy 2", "busy 1", "busy 0"]
    # Refused at the start, after 0.5 s and after 1.5 s; each time one more, over the first.
    assert bench.table.transactions - transactions <= 6 + 4


def test_a_key_whose_worker_was_lost_is_free_again_with_its_lease(bench):
    bench.handle(per_key=1)(lambda _, __: None)
    task, _ = held_elsewhere(bench, "k")
    bench.put(key="k")
    ended = Bench(bench.table)  # as if its lease were over: what a sweep does
    ended.queue.store.fail(task, TaskError(type="LeaseExpired", message="lost"))
    assert bench.run().succeeded == 1


def test_a_retry_at_once_of_a_keyed_task_finds_its_key_free(bench):
    attempts = []

    @bench.handle(per_key=1)
    def work(_, context):
        attempts.append(context.attempt)
        if context.attempt == 1:
            raise Retry("once more", after=0)

    bench.put(key="k")
    assert bench.run().succeeded == 1
    assert attempts == [1, 2]


def test_a_processor_of_types_without_a_limit_knows_no_slots(bench):
    bench.handle()(lambda _, __: None)
    processor = Processor(bench.queue.store, bench.registry, WorkerSettings())
    assert processor._keyed is None


@pytest.mark.parametrize("per_key", [0, -1, 1.5, True, "1", 101])
def test_a_limit_that_is_none_is_refused(per_key):
    with pytest.raises(InvalidInput, match="per_key"):
        Registry().task("a", per_key=per_key)(lambda _, __: None)


# What a run knows


def test_a_key_is_full_while_as_many_are_asked_for_or_held():
    keys = Keys({"a": 2}.get)
    for full in (False, False, True):
        assert keys.full("a", "k", now=0) is full
        keys.asks(row(), 0)
    keys.turned_back(row(), 0)
    assert keys.full("a", "k", now=0)
    assert not keys.full("a", "other", now=0)
    assert not keys.full("b", "k", now=0)
    assert not keys.full("a", None, now=0)


def test_the_pauses_of_a_key_that_others_hold_grow_up_to_a_bound():
    keys = Keys({"a": 1}.get)
    now, pauses = 0, []
    for _ in range(6):
        keys.refused(row(), now)
        began = now
        while keys.full("a", "k", now):
            now += MICROSECONDS // 4
        pauses.append((now - began) / MICROSECONDS)
    assert pauses == [FIRST_PAUSE, 1, 2, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


def test_a_task_that_ends_here_ends_the_pause_of_its_key(bench):
    keys = Keys({"a": 1}.get)
    task = bench.queue.put("a", key="k")
    assert task.status is Status.PENDING
    keys.refused(row(), 0)
    keys.asks(row(), 0)
    keys.ended(task, 0, seconds=1)
    assert not keys.full("a", "k", now=0)
