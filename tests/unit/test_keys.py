"""Keys whose tasks must not all run at a time, and what a processor does about them."""

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.worker.backlog.busy_keys import FIRST_KEY_PAUSE, LONGEST_KEY_PAUSE, BusyKeys


def test_a_flood_of_a_busy_key_is_no_barrier_and_is_read_once(bench):
    @bench.registry.task("a", per_key=1)
    def work(payload, context):
        bench.begun.append((bench.seconds, payload))
        bench.sleep(2 if context.key == "flood" else 0.01)

    bench.handle("b")
    bench.put("a", "quiet")  # has no key, and the next no limit: they are claimed as ever
    bench.put("b", "quiet", key="flood")
    for n in range(20):
        bench.put("a", "quiet", key=f"quiet-{n}")
    for _ in range(900):
        bench.put("a", "flood", key="flood")
    bench.table.rows_read = bench.table.polls = 0
    bench.run(in_flight=5, window=1)
    assert bench.order.count("quiet") == 22
    # Each row once, and first pages.
    assert bench.table.polls < 40
    assert bench.table.rows_read < 1.5 * 920
    assert bench.table.transactions == 21


def test_tasks_of_a_key_follow_each_other_without_a_pause(bench):
    bench.handle("a", 1, per_key=1)
    for n in range(4):
        bench.put("a", n, key="k")
    bench.run(in_flight=2)
    assert [round(at - bench.begun[0][0]) for at, _ in bench.begun] == [0, 1, 2, 3]


def test_a_key_that_another_worker_holds_is_passed_over_asked_for_seldom_and_served_once_free(
    bench,
):
    bench.handle("a", per_key=1)
    bench.put("a", key="busy")
    (shown,) = bench.queue.store.candidates(limit=2).rows
    claims = KeyedClaims(bench.queue.store, host=bench.machine)
    claim = claims.claim(shown, per_key=1, lease=30)
    for n in range(3):
        bench.put("a", f"free {n}", key=f"k{n}")
    for n in range(3):
        bench.put("a", f"busy {n}", key="busy")
    bench.table.transactions = 0

    def settle():
        bench.queue.store.succeed(claim.task, "1")
        claim.leave()

    bench.beside(settle, at=1.8)
    assert bench.run(in_flight=1, linger=0.5).succeeded == 6
    assert bench.order == ["free 2", "free 1", "free 0", "busy 2", "busy 1", "busy 0"]
    # Refused at the start, after 0.5 s and after 1.5 s; each time one more, over the first.
    assert bench.table.transactions <= 6 + 4


def test_the_pauses_of_a_key_that_others_hold_grow_up_to_a_bound():
    keys = BusyKeys({"a": 1}.get)
    row = Candidate(task_id="t", task_type="a", created=1, expires_at=10**18, key="k")
    now, pauses = 0, []
    for _ in range(6):
        keys.refused(row, now)
        began = now
        while keys.full("a", "k", now):
            now += MICROSECONDS // 4
        pauses.append((now - began) / MICROSECONDS)
    assert pauses == [
        FIRST_KEY_PAUSE,
        1,
        2,
        LONGEST_KEY_PAUSE,
        LONGEST_KEY_PAUSE,
        LONGEST_KEY_PAUSE,
    ]
