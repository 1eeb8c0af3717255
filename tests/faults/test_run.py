"""Slow calls, limits of several types, task code that misbehaves: what a run makes of them, in
virtual time."""

import math
from typing import Any

import pytest

from lifoq import (
    Backoff,
    Busy,
    Cancelled,
    Context,
    Done,
    LeaseLost,
    NewTask,
    ProcessUnusable,
    QueueMisconfigured,
    Retry,
    RunReport,
    Status,
    StoreUnavailable,
)
from lifoq.basics.host import MICROSECONDS
from lifoq.errors import ItemTooLarge
from lifoq.items import transitions
from lifoq.items.attempt_history import Ended
from lifoq.items.change import Change, Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Attribute
from lifoq.items.task_error import TaskError
from lifoq.testing.hosts import START
from lifoq.worker.backlog.background_calls import BackgroundCalls
from lifoq.worker.backlog.poller import Poller
from lifoq.worker.gates.gates import Gates
from lifoq.worker.run.attempt_and_messages import Attempt
from tests.virtual.bench import SLOW, Bench
from tests.virtual.machine import Machine, Threadless

# Slow calls


def test_a_heartbeat_that_is_answered_late_costs_no_other_task_its_lease(bench):
    bench.table.slow["heartbeat"] = 1
    bench.handle("long", 50)
    ids = bench.put_many("long", 10)
    leases: list[float] = []

    def watch() -> None:
        while True:
            bench.sleep(1)
            for item in bench.table.items():
                if item.get(Attribute.TASK_STATUS) == Status.TAKEN:
                    left = (item[Attribute.LEASE_EXPIRES] - bench.scheduler.time) / MICROSECONDS
                    leases.append(left)

    bench.beside(watch)
    report = bench.run(task_timeout=100)
    assert bench.table.slow["heartbeat"] == 0
    assert min(leases) > 0  # the struck task's, too: its next heartbeat is sent in time
    assert bench.statuses(ids) == {"SUCCESS": 10}
    assert (report.succeeded, report.leases_lost) == (10, 0)


def test_an_error_of_a_heartbeat_that_nobody_understands_ends_the_run_after_its_tasks(bench):
    bench.table.fails["heartbeat"] = LookupError("what is this")
    bench.handle("long", 15)
    ids = bench.put_many("long", 2)
    with pytest.raises(LookupError, match="what is this"):
        bench.run()
    assert bench.statuses(ids) == {"SUCCESS": 2}


def test_a_heartbeat_that_fails_is_repeated_at_once(bench):
    bench.table.fails["heartbeat"] = StoreUnavailable("throttled")
    bench.handle("long", 15)
    task_id = bench.put("long")
    left: list[float] = []

    def look() -> None:
        left.append((bench.task(task_id).lease_expires - bench.scheduler.time) / MICROSECONDS)

    bench.beside(bench.table.fails.clear, at=10.5)
    bench.beside(look, at=12)
    bench.run(lease=30, heartbeat=10)
    assert left[0] > 28


def test_a_slot_is_free_while_the_outcome_before_is_written_but_not_for_ever_more(bench):
    bench.table.slow["SUCCESS"] = math.inf
    bench.handle("a")
    bench.put_many("a", 20)
    report = bench.run(in_flight=4, window=300)
    assert len([at for at, _ in bench.begun if at < SLOW]) == 6
    assert report.succeeded == 20


def test_a_handler_that_was_in_time_is_not_timed_out_though_its_outcome_is_written_late(bench):
    bench.table.slow["SUCCESS"] = math.inf
    bench.handle("a", timeout=1)
    bench.put("a")
    report = bench.run()
    assert (report.claimed, report.succeeded, report.timed_out) == (1, 1, 0)


def test_waits_and_services_are_measured_in_seconds(bench):
    bench.handle("a", 3)
    bench.put("a")
    bench.sleep(2)
    report = bench.run()
    assert report.waits == [pytest.approx(2, abs=0.1)]
    assert report.services == [pytest.approx(3, abs=0.1)]


@pytest.mark.parametrize("error", [StoreUnavailable("down"), QueueMisconfigured("no index")])
def test_an_index_that_does_not_answer_is_not_taken_for_an_empty_queue(bench, error):
    bench.table.fails["poll"] = error
    with pytest.raises(type(error), match=str(error)):
        bench.run(window=1)


# Order and limits


def test_a_free_slot_takes_the_newest_task_that_waits(bench):
    def work(payload: Any, _context: Context) -> None:
        bench.begun.append((bench.seconds, payload))
        if payload == "newest":
            bench.put("a", "came meanwhile")

    bench.registry.task("a")(work)
    for payload in ("oldest", "middle", "newest"):
        bench.put("a", payload)
    bench.run(in_flight=1)
    assert bench.order == ["newest", "came meanwhile", "middle", "oldest"]


def test_the_rate_is_kept_over_all_types_and_per_type(bench):
    bench.handle("slow", rate_limit=5)
    bench.registry.task("free")(lambda *_: bench.begun.append((bench.seconds, "free")))
    bench.put_many("free", 50)
    bench.put_many("slow", 50)
    report = bench.run(window=1, rate_limit=20)
    slow = [payload for payload in bench.order if payload != "free"]
    assert (8 <= len(slow) <= 10, 35 <= len(bench.begun) <= 40) == (True, True)
    assert report.remaining


def arrive(bench: Bench, task_type: str, *, every: float) -> None:
    """Tasks come that tell when they did."""

    def come() -> None:
        while True:
            bench.sleep(every)
            bench.put(task_type, bench.seconds)

    bench.beside(come)


def waits(bench: Bench) -> list[float]:
    """Return the seconds from each put to its first claim."""
    return [began - put for began, put in bench.begun if isinstance(put, float)]


@pytest.mark.parametrize("seconds", [30, pytest.param(60, marks=pytest.mark.prove)])
@pytest.mark.parametrize("shared", [False, True])
def test_with_one_type_at_its_limit_the_newest_is_taken_and_little_is_read(bench, seconds, shared):
    bench.handle("limited", 0.2, in_flight=2)
    bench.handle("idle")
    bench.put_many("limited", 1_000)
    arrive(bench, "limited", every=0.15)
    bench.table.rows_read = 0
    report = bench.run(window=seconds, shared_limits=shared)
    assert report.claimed > 500 / 60 * seconds
    assert len(waits(bench)) > 350 / 60 * seconds
    assert max(waits(bench)) < 0.5
    assert bench.table.rows_read / report.claimed < 30


@pytest.mark.parametrize(
    ("number", "most_read"),
    [(3_000, 30_000), pytest.param(20_000, 60_000, marks=pytest.mark.prove)],
)
def test_a_flood_of_a_type_that_nobody_knows_delays_no_other_and_costs_bounded_reads(
    bench, number, most_read
):
    bench.handle("known", 0.5)
    bench.put_many("known", 3)
    bench.put_many("unknown", number)
    arrive(bench, "known", every=0.1)
    arrive(bench, "unknown", every=0.01)
    bench.table.rows_read = 0
    bench.run(window=15)
    assert len(waits(bench)) > 100
    assert max(waits(bench)) < 1
    assert bench.begun[2][0] < 0.2, "page after page is read at once, to those that are the oldest"
    assert bench.table.rows_read < most_read  # see view.ROWS_PER_SECOND


@pytest.mark.parametrize("number", [3_000, pytest.param(20_000, marks=pytest.mark.prove)])
def test_what_expired_ahead_of_the_living_is_passed_over_and_falls_behind_them(bench, number):
    """With a head start as long as its deadline, it stands before all that came meanwhile."""
    hour = bench.queue.store.lifetimes.deadline
    bench.handle("a", 0.05)
    bench.queue.put_many([NewTask(task_type="a", head_start=hour)] * number)
    bench.sleep(hour / 2)
    bench.put_many("a", 20)
    bench.sleep(hour / 2 + 1)

    bench.table.rows_read, began = 0, bench.seconds
    assert bench.run(window=60, linger=58).succeeded == 20
    assert max(moment for moment, _ in bench.begun) < began + 1
    assert bench.table.rows_read < 4 * number + 60_000  # of some 600 polls
    left = sum(Attribute.PREVIEW in item for item in bench.table.items())
    assert left <= number - min(5_000, 0.8 * number)


@pytest.mark.parametrize("threshold", [None, 1_000])
@pytest.mark.parametrize("flood", ["flood", None], ids=["of a key", "of none"])
def test_with_fair_shares_a_flood_delays_itself_alone(bench, threshold, flood):
    quiet = {"quiet", "flood", None} - {flood}
    order: list[tuple[str | None, int]] = []

    @bench.registry.task("a")
    def work(payload: int, context: Context) -> None:
        order.append((context.key, payload))
        bench.sleep(0.01)

    few = [(n, key) for n in range(5) for key in quiet]
    many = [(n, flood) for n in range(70)]
    newest_first = threshold is None
    for n, key in few + many if newest_first else many + few:  # the few stand behind the flood
        bench.put("a", n, key=key)
    report = bench.run(in_flight=1, fair_share=True, adaptive_threshold=threshold)
    assert report.succeeded == 80
    served = [key for key, _ in order[:20]]
    assert all(served.count(key) == 5 for key in quiet)
    for key in (*quiet, flood):
        numbers = [payload for of, payload in order if of == key]
        assert numbers == sorted(numbers, reverse=newest_first)


# Task code


class CannotBeDescribed(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class LacksItsAfter(Retry):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("error", [CannotBeDescribed, LacksItsAfter, SystemExit, KeyboardInterrupt])
def test_whatever_task_code_raises_is_an_outcome(bench, error):
    @bench.registry.task("bad", max_attempts=1)
    def bad(_payload: Any, _context: Context) -> None:
        raise error

    bench.handle("healthy", 0.01)
    healthy, broken = bench.put_many("healthy", 100), bench.put_many("bad", 20)
    report = bench.run()
    assert bench.statuses(healthy) == {"SUCCESS": 100}
    assert bench.statuses(broken) == {"FAILURE": 20}
    assert {bench.task(i).error.type for i in broken} == {error.__name__}
    first, *_ = bench.task(broken[0]).error.traceback.splitlines()[1:]
    assert first.endswith("in bad")  # where task code begins
    assert report.failed == 20


def test_healthy_tasks_get_past_newer_ones_that_fail_again_and_again(bench):
    @bench.registry.task("poison")
    def poison(_payload: Any, _context: Context) -> None:
        bench.sleep(0.4)
        raise ValueError("poison")

    bench.handle("healthy", 0.4)
    healthy = bench.put_many("healthy", 20)
    bench.put_many("poison", 10)
    bench.run(in_flight=4)
    done = [bench.task(task_id) for task_id in healthy]
    assert max((t.finished_at or 0) - START for t in done) <= 4 * MICROSECONDS


@pytest.mark.parametrize(
    ("after", "settings", "attempts", "longest"),
    [
        (4.0, {}, 2, 5.5),
        (6.0, {}, 1, 0.5),  # the sweep's matter
        (4.0, {"window": 3.5}, 1, 0.5),
    ],
)
def test_a_run_with_nothing_else_to_do_waits_for_its_own_retry_where_that_is_due_soon(
    bench, after, settings, attempts, longest
):
    @bench.registry.task("a", backoff=Backoff.fixed(after))
    def fails_once(_payload: Any, context: Context) -> None:
        if context.attempt == 1:
            raise ConnectionError

    task_id = bench.put("a")
    report = bench.run(**settings)
    task = bench.task(task_id)
    assert (task.attempts, report.retried, report.succeeded) == (attempts, 1, attempts - 1)
    assert bench.seconds <= longest


# Processes


def test_handlers_that_hang_keep_their_slots_over_all_runs_of_a_process(bench):
    bench.handle("hangs", 10_000, timeout=2)
    bench.put_many("hangs", 40)
    processor = bench.processor(in_flight=5, window=10, task_timeout=5, max_attempts=1)
    for _ in range(8):
        with pytest.raises(ProcessUnusable) as unusable:
            processor.run()
        told = "all slots are taken by handlers that hang: end this process and start another"
        assert str(unusable.value) == told
    assert len(bench.begun) == 5


def test_a_type_whose_slots_all_hang_makes_the_process_unusable_and_the_others_go_on(bench):
    bench.handle("hangs", 10_000, in_flight=1, timeout=2)
    bench.handle("healthy", 0.1)
    healthy = bench.put_many("healthy", 50)
    bench.put("hangs")
    with pytest.raises(ProcessUnusable, match="task type hangs") as unusable:
        bench.run(task_timeout=5)
    assert bench.statuses(healthy) == {"SUCCESS": 50}
    assert unusable.value.report.succeeded == 50


@pytest.mark.parametrize("threads", [0, 1, 5])
def test_a_process_without_threads_says_so_and_loses_no_task(bench, threads):
    bench.handle("a", 1)
    ids = bench.put_many("a", 20)
    machine = Threadless("poor", bench.scheduler, threads=threads)
    with pytest.raises(ProcessUnusable, match="no thread can be started") as unusable:
        bench.processor(machine).run()
    report: RunReport = unusable.value.report
    assert report.remaining
    assert bench.statuses(ids)["SUCCESS"] == report.succeeded
    for _ in range(3):
        bench.sleep(60)
        bench.sweep()
        bench.run()
    assert bench.statuses(ids) == {"SUCCESS": 20}


def test_a_task_that_kills_its_process_is_dead_lettered_and_its_neighbours_survive(bench):
    alive: list[Machine] = []

    @bench.registry.task("killer")
    def killer(_payload: Any, _context: Context) -> None:
        bench.sleep(0.5)
        alive[-1].kill()

    bench.handle("neighbour", 2)
    neighbours = bench.put_many("neighbour", 5)
    killing = bench.put("killer")
    neighbours += bench.put_many("neighbour", 4)
    for _ in range(40):
        alive.append(bench.new_machine())
        processor = bench.processor(alive[-1])
        alive[-1].spawn(processor.run, "run")
        bench.sleep(61)
        bench.sweep()
    assert bench.statuses(neighbours) == {"SUCCESS": 9}
    killed = bench.task(killing)
    assert (killed.status, killed.attempts) == (Status.FAILURE, 5)


# The beginning and the end of a run


def test_an_empty_queue_is_watched_for_what_is_left_of_the_time_since_the_kick(bench):
    bench.run(linger=5, woken_at=START - 6 * MICROSECONDS)
    assert bench.seconds < 1
    bench.sleep(1 - bench.seconds)
    bench.run(linger=1, woken_at=START + MICROSECONDS // 2)
    assert 1.4 < bench.seconds < 1.9


def test_follow_ups_of_the_last_task_run_though_the_queue_was_empty_for_long(bench):
    @bench.registry.task("parent")
    def parent(_payload: Any, _context: Context) -> Done:
        bench.sleep(4)
        return Done(follow_ups=[NewTask(task_type="child")])

    bench.handle("child")
    bench.put("parent")
    assert bench.run(linger=0.2).succeeded == 2


@pytest.mark.parametrize("others", [0, 1])
def test_a_run_that_claims_no_more_asks_at_its_end_whether_tasks_wait(bench, others):
    bench.handle("a", 3)
    bench.put_many("a", 1 + others)
    report = bench.run(window=1, in_flight=1)
    assert (report.succeeded, report.remaining) == (1, bool(others))


def test_a_handler_that_is_told_to_stop_has_half_of_the_settle_time_to_clean_up(bench, monkeypatch):
    """It stands for an async one, whose loop knows no virtual time."""
    monkeypatch.setattr(Attempt, "stops", lambda _self, _why: True)
    bench.handle("a", 1_000)
    task_id = bench.put("a")
    report = bench.run(window=1, task_timeout=10, settle_time=4)
    assert (report.timed_out, report.retried) == (1, 1)
    (past,) = bench.task(task_id).history
    assert (past.ended_at - START) / MICROSECONDS == pytest.approx(10 + 2, abs=0.2)
    assert bench.task(task_id).error.message == "attempt 1 took longer than its timeout, 10 s"


def test_a_run_polls_and_ends_as_the_example_of_when_to_poll_or_end_says(bench, monkeypatch):
    polled, began, poll = [], bench.seconds, Poller.poll
    monkeypatch.setattr(
        Poller, "poll", lambda *terms: polled.append(bench.seconds - began) or poll(*terms)
    )
    bench.handle("a", 0.4)
    bench.put_many("a", 2)
    bench.run(in_flight=1, linger=0.2)
    assert polled == pytest.approx([0, 0.41, 0.82, 0.825, 0.93], abs=1e-4)
    assert bench.seconds - began == pytest.approx(1.03, abs=0.006)


# Claims that are late, lost or cancelled


def test_a_claim_that_is_answered_too_late_for_its_attempt_is_handed_back_uncounted(bench):
    bench.table.slow["claim"] = 1
    bench.handle("a")
    task_id = bench.put("a")
    report = bench.run(lease=60, window=60, task_timeout=30, time_limit=SLOW + 20)
    assert (report.claimed, bench.order, report.remaining) == (0, [], True)
    task = bench.task(task_id)
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert [(past.ended, past.error_type) for past in task.history] == [
        (Ended.NOT_COUNTED, "HandedBack")
    ]
    assert bench.run().succeeded == 1


def test_a_task_that_was_cancelled_before_its_claim_was_recognised_does_not_begin(
    bench, monkeypatch
):
    """The claim is applied, its answer is lost, and it is sent again after the cancellation."""
    write = bench.table.update_and_get

    def loses(task_id: str, change: Change) -> Item:
        item = write(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            write(task_id, transitions.ask_to_cancel(now=bench.scheduler.time))
            raise StoreUnavailable("the answer is lost")
        return item

    monkeypatch.setattr(bench.table, "update_and_get", loses)
    bench.handle("a")
    task_id = bench.put("a")
    bench.run()
    assert (bench.statuses([task_id]), bench.order) == ({"CANCELLED": 1}, [])


def test_a_lost_lease_is_told_to_the_handler_and_its_result_is_refused(bench):
    told: list[bool] = []

    @bench.registry.task("a")
    def robbed(_payload: Any, context: Context) -> str:
        task = bench.task(context.task_id)
        error = TaskError(type="LeaseExpired", message="by a machine whose clock is far ahead")
        late = (task.lease_expires or 0) + 1
        buried = transitions.bury(task=task, now=late, error=error, lifetimes=Lifetimes())
        bench.table.update(context.task_id, buried)
        for call in (context.heartbeat, lambda: context.checkpoint(1)):
            with pytest.raises(LeaseLost):
                call()
        told.append(context.lease_lost)
        return "refused"

    task_id = bench.put("a")
    assert bench.run(max_attempts=1).leases_lost == 1
    task = bench.task(task_id)
    assert (told, task.status, task.result) == ([True], Status.FAILURE, None)


def test_who_has_heard_that_its_task_is_cancelled_keeps_its_lease_while_it_cleans_up(bench):
    @bench.registry.task("a")
    def waits(_payload: Any, context: Context) -> None:
        bench.queue.cancel(context.task_id)
        assert not context.cancelled  # to ask costs nothing, so it knows nothing new
        while not context.cancelled:
            bench.sleep(1)
        for call in (lambda: context.checkpoint("half"), context.heartbeat):
            with pytest.raises(Cancelled):
                call()
        bench.sleep(50)
        bench.sweep()
        raise Cancelled(context.task_id)

    task_id = bench.put("a")
    assert bench.run(lease=30, heartbeat=5, task_timeout=90).cancelled == 1
    task = bench.task(task_id)
    assert (task.status, task.checkpoint, task.error) == (Status.CANCELLED, None, None)


def test_a_damaged_item_that_the_index_goes_on_showing_is_dead_lettered_once_in_a_run(
    bench, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        BackgroundCalls, "dead_letter", lambda _, task_id, **_terms: asked.append(task_id)
    )
    bench.handle("a")
    damaged = bench.put("a")
    bench.table.damage({**bench.table.get(damaged), "preview": "no map"})
    assert bench.run(window=5).claimed == 0
    assert asked == [damaged]


# A caller that fails


def test_a_report_of_progress_that_fails_ends_the_run_once_its_tasks_are_settled(bench):
    def report(_counts: RunReport) -> None:
        raise OSError("the pipe is closed")

    bench.handle("ask", 20, in_flight=2)
    ids = bench.put_many("ask", 3)
    with pytest.raises(OSError, match="pipe"):
        bench.processor(lease=6, heartbeat=2, task_timeout=60, shared_limits=True).run(
            on_progress=report
        )
    # Heartbeats went on: nobody took the two that were at work. No other was begun.
    assert bench.statuses(ids) == {"SUCCESS": 2, "PENDING": 1}
    # The quota was given back: another worker has all of it at once.
    bench.processor(bench.new_machine(), shared_limits=True, window=1).run()
    assert bench.statuses(ids) == {"SUCCESS": 3}


# Outcomes that cannot be written


@pytest.mark.parametrize("error", [StoreUnavailable("for long"), ItemTooLarge("even the error is")])
def test_an_outcome_that_finds_no_way_into_the_table_is_counted(bench, error):
    bench.table.fails = {"SUCCESS": error, "FAILURE": error}
    bench.handle("a")
    ids = bench.put_many("a", 3)
    report = bench.run(window=3)
    assert (report.claimed, report.unsettled) == (3, 3)
    assert (report.succeeded, report.failed, report.leases_lost) == (0, 0, 0)
    assert bench.statuses(ids) == {"TAKEN": 3}  # their leases run out, and they run again


def test_an_attempt_that_is_not_settled_by_the_end_of_the_run_is_counted_as_such(bench):
    bench.handle("a", timeout=5)
    bench.put("a")
    bench.table.slow["SUCCESS"] = 1
    report = bench.run(time_limit=15)
    assert (report.claimed, report.succeeded, report.unsettled) == (1, 0, 1)


def test_a_permission_lost_during_a_run_leaves_the_tasks_in_flight_to_their_lease(bench):
    bench.table.fails["SUCCESS"] = QueueMisconfigured("not permitted")
    bench.handle("a", 1)
    ids = bench.put_many("a", 3)
    with pytest.raises(QueueMisconfigured, match="not permitted"):
        bench.run()
    assert bench.statuses(ids) == {"TAKEN": 3}
    assert len(bench.begun) == 3


# What may not start yet


def test_a_task_for_which_too_little_time_is_left_is_passed_over_until_a_run_has_it(
    bench, monkeypatch
):
    bench.handle("a", timeout=5)
    bench.put("a", timeout=50)
    tries, enter = [], Gates.enter
    monkeypatch.setattr(Gates, "enter", lambda *terms: tries.append(1) or enter(*terms))
    report = bench.run(time_limit=30)
    assert (report.claimed, report.remaining, len(tries)) == (0, True, 1)
    assert bench.run().succeeded == 1


@pytest.mark.parametrize("others", [1, 300])
def test_refused_tasks_on_a_page_before_the_last_do_not_make_the_queue_seem_empty(bench, others):
    bench.handle("a", timeout=5)
    bench.put_many("of nobody here", others)
    for _ in range(10):
        bench.put("a", timeout=50)  # fills the first page; the run has too little time for it
    report = bench.run(time_limit=30, window=10, linger=0)
    assert (report.claimed, report.remaining) == (0, True)
    assert bench.table.polls < 100
    assert bench.run().succeeded == 10


def test_a_cooldown_begins_with_a_failure_but_not_where_somebody_cancels(bench):
    errors = iter([Cancelled("t"), Busy(after=0.01), ValueError("no")])

    @bench.registry.task("a", cooldown=5, max_attempts=1)
    def work(payload, context):
        begun.append((bench.seconds, error := next(errors, None)))
        if error is not None:
            raise error

    begun = []
    for n in range(4):
        bench.put("a", n)
    bench.run(in_flight=1, linger=1)
    failed = next(place for place, (_, error) in enumerate(begun) if isinstance(error, ValueError))
    assert begun[failed][0] - begun[0][0] < 5
    assert begun[failed + 1][0] - begun[failed][0] >= 5
