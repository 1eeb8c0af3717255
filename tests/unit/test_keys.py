"""Keys whose tasks must not all run at a time, and what a processor does about them."""

import itertools

from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import MICROSECONDS
from lifoq.items.key_limit import KeyLimit
from lifoq.store import key_starts_seen
from lifoq.store.key_starts_seen import START_WITHIN, KeyStarts
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.testing.hosts import ManualHost
from lifoq.worker.gates.key_slots import FIRST_KEY_PAUSE, LONGEST_KEY_PAUSE, KeyPauses


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
    claim = claims.claim(shown, key_limit=KeyLimit(per_key=1), lease=30)
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
    keys, now, pauses = KeyPauses(), 0, []
    for _ in range(6):
        keys.begin("k", now)
        pauses.append(keys.wait("k", now))
        now += round(pauses[-1] * MICROSECONDS)
        assert keys.wait("k", now) == 0
    assert pauses == [
        FIRST_KEY_PAUSE,
        1,
        2,
        LONGEST_KEY_PAUSE,
        LONGEST_KEY_PAUSE,
        LONGEST_KEY_PAUSE,
    ]
    keys.begin("k", now + round(LONGEST_KEY_PAUSE * MICROSECONDS))
    assert keys.wait("k", now + round(LONGEST_KEY_PAUSE * MICROSECONDS)) == FIRST_KEY_PAUSE


# A rate per key


def test_tasks_of_a_key_start_at_its_rate_while_others_pass_and_no_claim_is_wasted(bench):
    bench.handle("a", rate_per_key=1.0)
    for n in range(3):
        bench.put("a", f"other {n}", key=f"k{n}")
    for n in range(4):
        bench.put("a", n, key="k")
    bench.table.polls = bench.table.transactions = 0
    bench.run(in_flight=3, linger=0.5)
    first = bench.begun[0][0]
    of_key = {payload: at - first for at, payload in bench.begun if isinstance(payload, int)}
    assert list(of_key) == [3, 2, 1, 0]
    for n, at in enumerate(of_key.values()):
        assert n <= at < n + 0.1, "each starts as soon as it may"
    assert all(at - first < 0.1 for at, payload in bench.begun if isinstance(payload, str))
    assert bench.table.transactions == 7
    assert bench.table.polls < 30


def test_two_workers_together_start_a_key_at_its_rate_and_ask_seldom(bench):
    bench.handle("a", rate_per_key=2.0)
    for n in range(12):
        bench.put("a", n, key="k")
    bench.beside(lambda: bench.processor(bench.new_machine(), in_flight=4, window=9).run())
    bench.table.transactions = 0
    bench.run(in_flight=4, window=9)
    times = [at for at, _ in bench.begun]
    assert len(times) == 12
    assert all(b - a >= 0.5 for a, b in itertools.pairwise(times))
    assert times[-1] - times[0] < 6, "none of the rate is lost, but calls take their time"
    assert bench.table.transactions <= 12 + 7


def test_a_claim_that_took_too_long_is_handed_back_and_begins_later(bench, monkeypatch):
    bench.handle("a", rate_per_key=1.0)
    task_id = bench.put("a", "late", key="k")
    send, slow = bench.table.update_and_put, [START_WITHIN + 0.1]

    def takes_long(*arguments, **terms):
        if slow:
            bench.sleep(slow.pop())  # its stamp tells a time that is long ago
        send(*arguments, **terms)

    monkeypatch.setattr(bench.table, "update_and_put", takes_long)
    bench.run(in_flight=1, linger=3)
    assert [at > START_WITHIN + 1 for at, _ in bench.begun] == [True]
    assert bench.task(task_id).attempts == 1


def test_a_new_run_of_the_process_remembers_the_starts_of_keys(bench):
    bench.handle("a", rate_per_key=0.5)
    processor = bench.processor(in_flight=1, window=1, linger=0.1)
    bench.put("a", 1, key="k")
    processor.run()
    bench.put("a", 2, key="k")
    bench.table.transactions = 0
    processor.run()
    assert bench.table.transactions == 0
    processor.run()
    (first, _), (second, _) = bench.begun
    assert 2 <= second - first < 2.1


def test_the_starts_of_keys_that_are_remembered_have_a_bound(monkeypatch):
    monkeypatch.setattr(key_starts_seen, "MOST_REMEMBERED", 2)
    host = ManualHost()
    starts = KeyStarts(host)
    for key in ("k1", "k2", "k3"):
        starts.saw(("a", key), host.now(), interval=MICROSECONDS, now=host.now())
    known = [starts.free_at(("a", key)) - host.monotonic() for key in ("k2", "k3")]
    assert (starts.free_at(("a", "k1")), known) == (0, [MICROSECONDS, MICROSECONDS])


def test_the_stamp_of_a_start_tells_when_the_next_one_may_be_asked_for():
    host = ManualHost()
    starts, now = KeyStarts(host), host.now()
    for key, stamp, left in (
        ("just", now, 60),
        ("before", now - 30 * MICROSECONDS, 30 + CLOCKS_APART + START_WITHIN),
        ("long ago", now - 600 * MICROSECONDS, 0),
        ("damaged", "x", 60),
    ):
        starts.saw(("a", key), stamp, interval=60 * MICROSECONDS, now=now)
        assert starts.free_at(("a", key)) - host.monotonic() == left * MICROSECONDS, key
