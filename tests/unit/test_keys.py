"""What a processor does about keys whose tasks must not all run at a time."""

from collections import Counter

import pytest

from lifoq import InvalidInput, Registry, Retry
from lifoq.basics.host import MICROSECONDS
from lifoq.tables.keyed import KeyedClaims
from lifoq.tables.store import Candidate
from lifoq.worker.keys import FIRST_PAUSE, LONGEST_PAUSE, Keys
from tests.virtual.bench import Bench


@pytest.mark.parametrize("per_key", [1, 2])
def test_of_a_key_no_more_run_at_a_time_than_its_type_says_and_the_newest_first(
    bench: Bench, per_key
):
    running, most, order = Counter(), Counter(), {}

    @bench.registry.task("a", per_key=per_key)
    def work(payload, context):
        order.setdefault(context.key, []).append(payload)
        running[context.key] += 1
        most[context.key] = max(most[context.key], running[context.key])
        bench.sleep(0.1)
        running[context.key] -= 1

    for n in range(30):
        bench.put("a", n, key=f"k{n % 3}")
    assert bench.run(in_flight=8).succeeded == 30
    assert most == dict.fromkeys(("k0", "k1", "k2"), per_key)
    if per_key == 1:
        assert order == {f"k{n}": sorted(order[f"k{n}"], reverse=True) for n in range(3)}


def test_a_flood_of_a_busy_key_is_no_barrier_and_is_read_once(bench: Bench):
    @bench.registry.task("a", per_key=1)
    def work(payload, context):
        bench.begun.append((bench.seconds, payload))
        bench.sleep(2 if context.key == "flood" else 0.01)

    for n in range(20):
        bench.put("a", "quiet", key=f"quiet-{n}")
    for _ in range(900):
        bench.put("a", "flood", key="flood")
    bench.table.rows_read = bench.table.looks = 0
    bench.run(in_flight=5, window=1)
    assert bench.order.count("quiet") == 20
    # Each row once, and first pages.
    assert bench.table.looks < 40
    assert bench.table.rows_read < 1.5 * 920
    assert bench.table.transactions == 21


def test_tasks_without_a_key_and_of_types_without_a_limit_are_claimed_as_ever(bench: Bench):
    bench.handle("limited", per_key=1)
    bench.handle("free")
    for _ in range(5):
        bench.put("limited")
        bench.put("free", key="k")
    assert bench.run().succeeded == 10
    assert bench.table.transactions == 0


def test_a_key_that_another_worker_holds_is_passed_over_asked_for_seldom_and_served_once_free(
    bench: Bench,
):
    bench.handle("a", per_key=1)
    bench.put("a", key="busy")
    (shown,) = bench.queue.store.candidates(limit=2).rows
    claims = KeyedClaims(bench.queue.store, host=bench.machine)
    task, slot = claims.claim(shown, "busy", per_key=1, lease=30)
    for n in range(3):
        bench.put("a", f"free {n}", key=f"k{n}")
    for n in range(3):
        bench.put("a", f"busy {n}", key="busy")
    bench.table.transactions = 0

    def settle():
        bench.queue.store.succeed(task, "1")
        claims.leave(slot)

    bench.beside(settle, at=1.8)
    assert bench.run(in_flight=1, linger=0.5).succeeded == 6
    assert bench.order == ["free 2", "free 1", "free 0", "busy 2", "busy 1", "busy 0"]
    # Refused at the start, after 0.5 s and after 1.5 s; each time one more, over the first.
    assert bench.table.transactions <= 6 + 4


def test_a_retry_at_once_of_a_keyed_task_finds_its_key_free(bench: Bench):
    @bench.registry.task("a", per_key=1)
    def work(_, context):
        bench.begun.append((bench.seconds, context.attempt))
        if context.attempt == 1:
            raise Retry("once more", after=0)

    bench.put("a", key="k")
    bench.run()
    assert bench.order == [1, 2]
    assert bench.seconds < FIRST_PAUSE + 2


@pytest.mark.parametrize("per_key", [0, 1.5, True, 101])
def test_a_limit_that_is_none_is_refused(per_key):
    with pytest.raises(InvalidInput, match="per_key"):
        Registry().task("a", per_key=per_key)(lambda _, __: None)


def test_the_pauses_of_a_key_that_others_hold_grow_up_to_a_bound():
    keys = Keys({"a": 1}.get)
    row = Candidate(task_id="t", task_type="a", created=1, expires_at=10**18, key="k")
    now, pauses = 0, []
    for _ in range(6):
        keys.refused(row, now)
        began = now
        while keys.full("a", "k", now):
            now += MICROSECONDS // 4
        pauses.append((now - began) / MICROSECONDS)
    assert pauses == [FIRST_PAUSE, 1, 2, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
