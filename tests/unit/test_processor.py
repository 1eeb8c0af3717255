"""The processor, with real threads, over the memory table."""

import threading
import time
from collections import Counter

import pytest

from lifoq import (
    Backoff,
    Busy,
    Cancelled,
    Done,
    Fail,
    LeaseLost,
    NewTask,
    Processor,
    ProcessUnusable,
    Queue,
    QueueMisconfigured,
    Registry,
    Retry,
    Status,
    StoreUnavailable,
    WorkerSettings,
)
from lifoq.basics.host import MICROSECONDS, SYSTEM, microseconds
from lifoq.items import transitions
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute
from lifoq.items.task import TaskError
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.tables.table import Page
from lifoq.testing.hosts import ManualHost

QUICK = {
    "window": 10.0,
    "task_timeout": 5.0,
    "linger": 0.1,
    "settle_time": 1.0,
    "backoff": Backoff.fixed(60),
}


class Bench:
    """A queue, a registry, and a way to run what is in them."""

    def __init__(self, table=None):
        self.table = table or MemoryTable()
        self.queue = Queue(Store(self.table))
        self.registry = Registry()

    def handle(self, name="a", **terms):
        return self.registry.task(name, **terms)

    def run(self, time_limit=None, woken_at=None, **settings):
        worker = WorkerSettings(**{**QUICK, **settings})
        return Processor(self.queue.store, self.registry, worker).run(
            time_limit=time_limit, woken_at=woken_at
        )

    def put(self, payload=None, task_type="a", **terms):
        return self.queue.put(task_type, payload, **terms).task_id


@pytest.fixture
def bench():
    return Bench()


def test_tasks_run_newest_first(bench):
    order = []
    bench.handle()(lambda payload, _: order.append(payload))
    for n in range(25):
        bench.put(n)
    report = bench.run(in_flight=1)
    assert order == list(range(24, -1, -1))
    assert (report.claimed, report.succeeded, report.remaining) == (25, 25, False)


def test_a_task_that_comes_in_overtakes_all_that_wait(bench):
    order = []

    @bench.handle()
    def run(payload, _):
        order.append(payload)
        if payload == 2:
            bench.put("new")

    for n in range(3):
        bench.put(n)
    bench.run(in_flight=1)
    assert order == [2, "new", 1, 0]


def test_no_more_run_at_a_time_than_allowed(bench):
    running, most = Counter(), Counter()
    lock = threading.Lock()

    def work(name):
        def handler(_payload, _context):
            with lock:
                for key in (name, "all"):
                    running[key] += 1
                    most[key] = max(most[key], running[key])
            time.sleep(0.01)
            with lock:
                for key in (name, "all"):
                    running[key] -= 1

        return handler

    bench.handle("a", in_flight=2)(work("a"))
    bench.handle("b")(work("b"))
    for n in range(40):
        bench.put(n, "a" if n % 2 else "b")
    report = bench.run(in_flight=5)
    assert report.succeeded == 40
    assert most["a"] <= 2
    assert most["all"] <= 5
    assert most["all"] > 2


def test_a_mountain_of_tasks_that_expired_early_is_gone_through_in_few_pages():
    pages = []

    class Counts(MemoryTable):
        def query(self, *arguments, **named):
            pages.append(named["limit"])
            return super().query(*arguments, **named)

    bench = Bench(Counts())
    bench.handle()(lambda _, __: None)
    a_while_ago = Store(bench.table, host=ManualHost(SYSTEM.now() - 60 * MICROSECONDS))
    a_while_ago.put(NewTask(task_type="a"))
    a_while_ago.put_many([NewTask(task_type="a", deadline=1)] * 5_000)
    assert bench.run(linger=0).succeeded == 1
    assert max(pages) == 1_000
    assert len(pages) < 25  # some for what is due, and a second look, which finds nothing


def test_a_slot_is_free_while_the_outcome_before_is_written():
    table, order = SlowToSettle(), []
    bench = Bench(table)

    @bench.handle()
    def run(payload, _context):
        order.append(payload)
        if payload == 0:
            table.go_on.set()

    for n in range(2):
        bench.put(n)
    report = bench.run(in_flight=1)
    assert (order, report.succeeded) == ([1, 0], 2)


def test_outcomes_that_are_not_written_keep_a_run_from_claiming_ever_more():
    table, begun = SlowToSettle(), []
    bench = Bench(table)
    bench.handle()(lambda payload, _: begun.append(payload))
    for n in range(20):
        bench.put(n)
    threading.Timer(0.3, lambda: (begun.append("settled"), table.go_on.set())).start()
    report = bench.run(in_flight=4)
    assert begun.index("settled") == 6
    assert report.succeeded == 20


class SlowToSettle(MemoryTable):
    """Writes no outcome before it may go on."""

    def __init__(self):
        super().__init__()
        self.go_on = threading.Event()

    def update_and_get(self, task_id, change):
        if change.set.get(Attribute.TASK_STATUS) == Status.SUCCESS:
            assert self.go_on.wait(5)
        return super().update_and_get(task_id, change)


def test_a_look_claims_as_many_at_a_time_as_there_are_slots():
    claims = threading.Barrier(5)

    class ClaimsTogether(MemoryTable):
        def update_and_get(self, task_id, change):
            if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
                claims.wait(5)  # each waits for all the others
            return super().update_and_get(task_id, change)

    bench = Bench(ClaimsTogether())
    bench.handle()(lambda _, __: None)
    for n in range(5):
        bench.put(n)
    assert bench.run(in_flight=5).succeeded == 5


def test_what_cannot_start_is_not_claimed(bench):
    release = threading.Event()
    bench.handle("a", in_flight=1)(lambda _, __: release.wait(5))
    ids = [bench.put(n) for n in range(5)]
    threading.Timer(0.3, release.set).start()
    seen = []
    bench.handle("look")(
        lambda _, __: seen.extend(bench.queue.get(task_id).attempts for task_id in ids)
    )
    bench.put(task_type="look")
    bench.run(in_flight=10)
    assert sum(seen) <= 1


def test_the_rate_is_kept_over_all_types_and_per_type(bench):
    starts = []
    for name, rate in (("slow", 5), ("free", None)):
        bench.handle(name, rate_limit=rate)(
            lambda _, context: starts.append((context.task_type, time.monotonic()))
        )
    for n in range(100):
        bench.put(n, "slow" if n % 2 else "free")
    begun = time.monotonic()
    report = bench.run(window=1.0, rate_limit=20)
    passed = time.monotonic() - begun
    assert len(starts) <= 20 + 20 * passed
    assert sum(name == "slow" for name, _ in starts) <= 5 + 5 * passed
    assert len(starts) >= 25  # the limit lets work through
    assert report.remaining


def test_an_error_is_kept_and_the_task_waits_outside_pending(bench):
    @bench.handle()
    def fails(_payload, _context):
        raise ConnectionError("no route")

    task_id = bench.put()
    report = bench.run()
    task = bench.queue.get(task_id)
    assert (report.retried, report.failed) == (1, 0)
    assert task.status is Status.DELAYED
    assert (task.error.type, task.error.message) == ("ConnectionError", "no route")
    assert "raise ConnectionError" in task.error.traceback


def test_a_due_retry_comes_back_within_the_run_and_fails_after_its_last_attempt(bench):
    attempts = []

    @bench.handle(max_attempts=3, backoff=Backoff.fixed(0.01))
    def fails(_payload, context):
        attempts.append((context.attempt, context.max_attempts))
        raise ValueError("never")

    task_id = bench.put()
    bench.run()
    assert attempts == [(1, 3), (2, 3), (3, 3)]
    assert bench.queue.get(task_id).status is Status.FAILURE


def seconds_ago(seconds):
    return microseconds(time.time() - seconds)


def test_a_run_that_a_late_kick_started_looks_once_at_an_empty_queue(bench):
    bench.handle()(lambda *_: None)
    begun = time.monotonic()
    bench.run(linger=5, woken_at=seconds_ago(6))
    assert time.monotonic() - begun < 1


def test_a_run_watches_an_empty_queue_for_what_is_left_of_the_time_since_its_kick(bench):
    bench.handle()(lambda *_: None)
    begun = time.monotonic()
    bench.run(linger=1, woken_at=seconds_ago(0.5))
    assert 0.4 < time.monotonic() - begun < 0.9


def test_a_run_that_a_late_kick_started_works_off_what_it_finds_and_then_watches(bench):
    @bench.handle()
    def run(payload, _):
        if payload == "first":
            threading.Timer(0.2, bench.put, ["second"]).start()

    bench.put("first")
    assert bench.run(linger=0.5, woken_at=seconds_ago(60)).succeeded == 2


class LaggingTable(MemoryTable):
    """Its index shows nothing to the first look."""

    looks = 0

    def query(self, span, **terms):
        if span.index == STATUS_CREATED_INDEX:
            self.looks += 1
            if self.looks == 1:
                return Page(rows=(), next=None)
        return super().query(span, **terms)


def test_a_run_that_a_late_kick_started_waits_for_the_index_to_show_what_it_brought_in():
    bench = Bench(table=LaggingTable())
    task_id = bench.put(delay=0.01)
    bench.handle()(lambda *_: "done")
    time.sleep(0.02)
    bench.run(linger=0.5, woken_at=seconds_ago(60))
    assert bench.queue.get(task_id).status is Status.SUCCESS


class TellsTheTime(LaggingTable):
    """Its server's clock is a minute behind this machine's, as one knows after the first look."""

    def clock_ahead(self):
        return 60 * MICROSECONDS if self.looks else 0


def test_how_late_a_kick_came_is_told_by_the_clock_of_the_server():
    bench = Bench(table=TellsTheTime())
    task_id = bench.put()
    bench.handle()(lambda *_: "done")
    bench.run(linger=0.5, woken_at=seconds_ago(60))  # just now
    assert bench.queue.get(task_id).status is Status.SUCCESS


def test_a_downstream_with_fewer_slots_is_asked_for_little_more_than_it_takes(bench):
    slots, refused = threading.BoundedSemaphore(3), []

    @bench.handle(max_attempts=50)
    def work(_payload, _context):
        if not slots.acquire(blocking=False):
            refused.append(1)
            raise Busy(after=0.05)
        time.sleep(0.01)
        slots.release()

    for _ in range(100):
        bench.put()
    report = bench.run(in_flight=10, linger=1.5)
    assert report.succeeded == 100
    assert len(refused) < 30


def test_a_downstream_that_takes_nothing_does_not_burn_the_attempts_of_all_that_wait(bench):
    @bench.handle()
    def work(_payload, _context):
        raise Busy(after=60)

    for _ in range(50):
        bench.put()
    report = bench.run(in_flight=5, window=2.5)
    assert 5 <= report.claimed <= 5 + 3
    assert report.remaining


def test_a_busy_type_does_not_keep_the_others_waiting(bench):
    @bench.handle("busy")
    def refuse(_payload, _context):
        raise Busy(after=60)

    done = []
    bench.handle("free")(lambda payload, _: done.append(payload))
    for n in range(30):
        bench.put(n, "free")
        bench.put(n, "busy")
    bench.run(in_flight=4, window=3)
    assert sorted(done) == list(range(30))


def test_the_task_chooses_when_to_come_back_or_to_give_up(bench):
    @bench.handle("later")
    def later(_payload, _context):
        raise Retry("busy", after=1000)

    @bench.handle("never")
    def never(_payload, _context):
        raise Fail("bad address")

    now = time.time()
    one, two = bench.put(task_type="later"), bench.put(task_type="never")
    bench.run()
    assert bench.queue.get(one).due_at / 1e6 == pytest.approx(now + 1000, abs=5)
    failed = bench.queue.get(two)
    assert (failed.status, failed.attempts) == (Status.FAILURE, 1)
    assert (failed.error.type, failed.error.message) == ("Fail", "bad address")


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_not_even_an_exit_in_task_code_loses_the_task(bench, error):
    @bench.handle()
    def leaves(_payload, _context):
        raise error

    task_id = bench.put()
    assert bench.run().retried == 1
    assert bench.queue.get(task_id).error.type == type(error).__name__


def test_an_attempt_that_takes_too_long_counts_as_failed_and_others_are_settled(bench):
    release = threading.Event()
    bench.handle("stuck", timeout=0.2)(lambda _, __: release.wait(20))
    bench.handle("fine")(lambda _, __: "ok")
    stuck, fine = bench.put(task_type="stuck"), bench.put(task_type="fine")
    report = bench.run()
    release.set()
    assert (report.timed_out, report.retried, report.succeeded) == (1, 1, 1)
    assert bench.queue.get(stuck).error.type == "TimeoutError"
    assert bench.queue.get(fine).status is Status.SUCCESS


def test_a_handler_that_hangs_keeps_its_slot(bench):
    release, running = threading.Event(), []

    @bench.handle("stuck", timeout=0.1)
    def stuck(_payload, _context):
        running.append(1)
        release.wait(20)

    for _ in range(4):
        bench.put(task_type="stuck")
    with pytest.raises(ProcessUnusable, match="handlers that hang") as unusable:
        bench.run(in_flight=2, window=0.6)
    assert len(running) == 2
    assert (unusable.value.report.timed_out, unusable.value.report.remaining) == (2, True)
    release.set()


def test_a_slot_is_free_again_once_a_handler_that_hung_has_returned(bench):
    @bench.handle("slow", timeout=0.1, max_attempts=1)
    def slow(_payload, _context):
        time.sleep(0.3)

    bench.handle()(lambda *_: None)
    worker = WorkerSettings(**{**QUICK, "in_flight": 1, "window": 0.8})
    processor = Processor(bench.queue.store, bench.registry, worker)
    bench.put(task_type="slow")
    with pytest.raises(ProcessUnusable):
        processor.run()
    time.sleep(0.4)
    bench.put()
    assert processor.run().succeeded == 1


class MistakenTable(MemoryTable):
    """Its index shows the first look another type than the item has: the id was put anew."""

    looks = 0

    def query(self, span, **terms):
        page = super().query(span, **terms)
        if span.index == STATUS_CREATED_INDEX and page.rows:
            self.looks += 1
            if self.looks == 1:
                rows = tuple({**row, Attribute.TASK_TYPE: "other"} for row in page.rows)
                return Page(rows=rows, next=page.next)
        return page


def test_a_claim_that_is_handed_back_leaves_its_slot_and_is_no_attempt():
    bench, seen = Bench(table=MistakenTable()), []
    bench.handle("other", in_flight=1)(lambda *_: seen.append("other"))
    bench.handle()(lambda _, context: seen.append(context.attempt))
    task_id = bench.put()
    bench.run(in_flight=1, linger=1)
    assert seen == [1]
    assert bench.queue.get(task_id).status is Status.SUCCESS


def test_a_run_that_its_window_ends_asks_whether_tasks_are_left(bench):
    bench.handle()(lambda *_: time.sleep(0.3))
    bench.put()
    begun = time.monotonic()
    assert not bench.run(window=0.1).remaining
    assert time.monotonic() - begun < 1


class LateTable(MemoryTable):
    """Takes its time to write an outcome."""

    def update(self, task_id, change):
        if change.set.get(Attribute.TASK_STATUS) == Status.SUCCESS:
            time.sleep(0.3)
        super().update(task_id, change)


def test_a_handler_that_was_in_time_is_not_timed_out_though_its_outcome_is_written_late():
    bench = Bench(table=LateTable())
    bench.handle(timeout=0.1)(lambda *_: "done")
    task_id = bench.put()
    report = bench.run()
    assert (report.succeeded, report.timed_out) == (1, 0)
    assert bench.queue.get(task_id).attempts == 1


def test_a_result_that_comes_after_the_timeout_changes_nothing(bench):
    release, back = threading.Event(), threading.Event()

    @bench.handle("late", timeout=0.1)
    def late(_payload, _context):
        release.wait(20)
        back.set()
        return "late"

    task_id = bench.put(task_type="late")
    bench.run()
    before = bench.queue.get(task_id)
    release.set()
    assert back.wait(5)
    time.sleep(0.05)
    assert bench.queue.get(task_id) == before


def test_heartbeats_keep_a_long_task_from_being_taken_away(bench):
    leases = []

    @bench.handle()
    def long(_payload, context):
        for _ in range(8):
            time.sleep(0.1)
            leases.append(bench.queue.get(context.task_id).lease_expires / 1e6 - time.time())

    bench.put()
    assert bench.run(lease=0.6, heartbeat=0.1).succeeded == 1
    assert min(leases) > 0


def test_a_lost_lease_is_told_to_the_handler_and_its_result_is_refused(bench):
    told = []

    @bench.handle()
    def robbed(_payload, context):
        task = bench.queue.get(context.task_id)
        bench.table.update(  # as the sweep of a machine whose clock is far ahead would
            context.task_id,
            _reclaimed(bench, task),
        )
        with pytest.raises(LeaseLost):
            context.heartbeat()
        with pytest.raises(LeaseLost):
            context.checkpoint(1)
        told.append(context.lease_lost)
        return "refused"

    bench.registry.task("other")(lambda _, __: None)
    task_id = bench.put()
    report = bench.run(window=0.3, max_attempts=1)
    assert told[0] is True
    assert report.leases_lost >= 1
    assert bench.queue.get(task_id).result is None


def test_a_task_that_is_cancelled_while_it_runs_is_told_stops_and_never_runs_again(bench):
    told = []

    @bench.handle()
    def stops(_payload, context):
        bench.queue.cancel(context.task_id)
        told.append(context.cancelled)  # asking costs nothing, so it knows nothing new
        try:
            context.heartbeat()
        finally:
            told.append(context.cancelled)

    task_id = bench.put()
    report = bench.run(backoff=Backoff.fixed(0.01))
    assert told == [False, True]
    assert (report.claimed, report.cancelled, report.retried, report.failed) == (1, 1, 0, 0)
    ended = bench.queue.get(task_id)
    assert (ended.status, ended.attempts, ended.error) == (Status.CANCELLED, 1, None)


@pytest.mark.parametrize("error", [RuntimeError("x"), Retry(after=0), Busy(after=0), Fail("x")])
def test_whatever_a_task_raises_that_was_cancelled_it_ends_as_cancelled(bench, error):
    @bench.handle()
    def deaf(_payload, context):
        bench.queue.cancel(context.task_id)
        raise error

    task_id = bench.put()
    assert bench.run(max_attempts=2).cancelled == 1
    ended = bench.queue.get(task_id)
    assert (ended.status, ended.error.type) == (Status.CANCELLED, type(error).__name__)


def test_a_background_heartbeat_hears_that_the_task_is_cancelled_and_keeps_its_lease(bench):
    leases = []

    @bench.handle()
    def waits(_payload, context):
        bench.queue.cancel(context.task_id)
        until = time.monotonic() + 5
        while not context.cancelled and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(Cancelled):
            context.checkpoint("half")
        with pytest.raises(Cancelled):  # though it is no news any more
            context.heartbeat()
        time.sleep(0.5)  # to clean up takes longer than its lease
        leases.append(bench.queue.get(context.task_id).lease_expires / 1e6 - time.time())
        raise Cancelled(context.task_id)

    task_id = bench.put()
    assert bench.run(lease=0.4, heartbeat=0.05).cancelled == 1
    assert leases[0] > 0
    assert bench.queue.get(task_id).checkpoint is None


class CancelledInBetween(MemoryTable):
    """A claim is applied, its answer is lost, and the task cancelled before the claim is sent
    again."""

    def update_and_get(self, task_id, change):
        item = super().update_and_get(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            super().update_and_get(task_id, transitions.ask_to_cancel(now=SYSTEM.now()))
            raise StoreUnavailable("the answer is lost")
        return item


def test_a_task_that_was_cancelled_before_its_claim_was_recognised_does_not_begin():
    bench, begun = Bench(CancelledInBetween()), []
    bench.handle()(lambda payload, _: begun.append(payload))
    task_id = bench.put()
    bench.run()
    assert bench.queue.get(task_id).status is Status.CANCELLED
    assert begun == []


def _reclaimed(bench, task):
    return transitions.bury(
        task=task,
        now=task.lease_expires + 1,
        error=TaskError(type="LeaseExpired", message="by the test"),
        lifetimes=Lifetimes(),
    )


def test_a_background_heartbeat_notices_the_loss(bench):
    told = threading.Event()

    @bench.handle()
    def robbed(_payload, context):
        task = bench.queue.get(context.task_id)
        bench.table.update(context.task_id, _reclaimed(bench, task))
        until = time.monotonic() + 5
        while not context.lease_lost and time.monotonic() < until:
            time.sleep(0.01)
        if context.lease_lost:
            told.set()

    bench.put()
    bench.run(lease=2, heartbeat=0.05)
    assert told.is_set()


def test_a_checkpoint_survives_a_failed_attempt(bench):
    starts = []

    @bench.handle(max_attempts=2, backoff=Backoff(immediate=1))
    def steps(_payload, context):
        starts.append(context.last_checkpoint)
        if context.attempt == 1:
            context.checkpoint({"step": 2})
            raise RuntimeError("half way")

    bench.put()
    bench.run()
    assert starts == [None, {"step": 2}]


def test_follow_ups_run_after_their_parent(bench):
    seen = []

    @bench.handle("parent")
    def parent(payload, _context):
        return Done(
            result="split",
            follow_ups=[NewTask(task_type="child", payload=n) for n in range(payload)],
        )

    bench.handle("child")(lambda payload, _: seen.append(payload))
    task_id = bench.put(3, "parent")
    bench.run()
    assert sorted(seen) == [0, 1, 2]
    assert bench.queue.wait(task_id, timeout=1) == "split"


def test_follow_ups_of_the_last_task_run_though_the_queue_was_empty_for_long(bench):
    seen = []

    @bench.handle("parent")
    def parent(_payload, _context):
        time.sleep(0.4)
        return Done(follow_ups=[NewTask(task_type="child")])

    bench.handle("child")(lambda *_: seen.append(1))
    bench.put(None, "parent")
    bench.run(linger=0.2)
    assert seen == [1]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (object(), "InvalidInput"),
        ({"x": float("nan")}, "InvalidInput"),
        ("x" * 500_000, "ItemTooLarge"),
        (Done(follow_ups=[NewTask(task_type="")]), "InvalidInput"),
        (Done(follow_ups=[NewTask(task_type="a")] * 100), "InvalidInput"),
    ],
)
def test_an_outcome_that_cannot_be_kept_is_a_failure_at_once(bench, value, error):
    bench.handle()(lambda _, __: value)
    task_id = bench.put()
    assert bench.run().failed == 1
    task = bench.queue.get(task_id)
    assert (task.status, task.error.type) == (Status.FAILURE, error)


def test_a_type_without_a_handler_fails_with_advice(bench):
    task_id = bench.put(task_type="unheard.of")
    assert bench.run().failed == 1
    assert "deploy one and redrive" in bench.queue.get(task_id).error.message


def test_at_the_end_of_the_window_the_rest_is_left_for_the_next_run(bench):
    bench.handle()(lambda _, __: time.sleep(0.05))
    for n in range(100):
        bench.put(n)
    report = bench.run(window=0.3, in_flight=2)
    assert 0 < report.claimed < 100
    assert report.claimed == report.succeeded
    assert report.remaining
    assert report.needs_another_run


def test_a_run_that_is_short_of_time_claims_nothing_it_could_not_finish(bench):
    bench.handle()(lambda _, __: None)
    bench.put()
    report = bench.run(time_limit=3, task_timeout=5, window=0.2)
    assert (report.claimed, report.remaining, report.needs_another_run) == (0, True, False)


class Broken(MemoryTable):
    """Answers no query."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def query(self, *args, **kwargs):
        raise self.error


@pytest.mark.parametrize("error", [StoreUnavailable("down"), QueueMisconfigured("no index")])
def test_an_index_that_does_not_answer_is_not_taken_for_an_empty_queue(error):
    bench = Bench(Broken(error))
    with pytest.raises(type(error), match=str(error)):
        bench.run(window=0.3)


@pytest.mark.parametrize("error", [LookupError("what is this"), QueueMisconfigured("not granted")])
def test_an_error_that_does_not_pass_is_raised_after_the_tasks_in_flight_are_settled(error):
    table = MemoryTable()
    bench = Bench(table)

    @bench.handle()
    def run(_payload, _context):
        table.query = strange
        time.sleep(0.2)

    def strange(*_args, **_kwargs):
        raise error

    task_id = bench.put()
    with pytest.raises(type(error)):
        bench.run(in_flight=2)
    assert bench.queue.get(task_id).status is Status.SUCCESS


def test_waits_and_services_are_measured_in_seconds(bench):
    bench.handle()(lambda _, __: time.sleep(0.1))
    bench.put()
    time.sleep(0.2)
    report = bench.run()
    assert report.waits[0] >= 0.2
    assert report.services[0] >= 0.1
