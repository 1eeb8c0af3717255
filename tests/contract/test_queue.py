"""The queue as producers and operators see it."""

import base64
from dataclasses import replace
from datetime import timedelta
from itertools import accumulate
from unittest import mock

import pytest

from lifoq import (
    Count,
    InvalidInput,
    Lifetimes,
    NewTask,
    Queue,
    QueueStats,
    Registry,
    Status,
    Sweeper,
    TaskError,
    TaskNotFound,
    WaitTimeout,
    Wanted,
    WrongStatus,
)
from lifoq.client import failures
from lifoq.errors import DamagedTask
from lifoq.health import pressure
from lifoq.health.pressure import NOTE, Pressure, Starts
from lifoq.items.change import Change
from lifoq.items.schema import Attribute
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.conftest import on_dynamodb_too


def fail(queue: Queue, task_id: str, error: str = "ValueError"):
    task = queue.store.claim(task_id, claim_id=f"claim of {task_id}", lease=30)
    queue.store.fail(task, TaskError(type=error, message="boom"))


# Waiting for a result


def test_wait_polls_ever_more_slowly_and_ends_in_time(queue, host):
    queue.put("a", task_id="t")
    with pytest.raises(WaitTimeout, match="within 200 s"):
        queue.wait("t", timeout=200)
    assert sum(host.slept) == pytest.approx(200)
    assert host.slept[0] == 0.1
    moments = zip(host.slept, accumulate(host.slept), strict=True)
    assert max(pause for pause, at in moments if at <= 20) == 1
    assert max(host.slept) == 5
    assert len(host.slept) < 80
    host.slept.clear()
    with pytest.raises(WaitTimeout, match="within 0 s"):
        queue.wait("t", timeout=0)
    assert host.slept == []


# Before it is due


def test_a_delayed_put_that_is_run_now_has_as_long_as_it_would_have_had(queue, host):
    queue.put("a", task_id="t", delay=600, deadline=30, head_start=9)
    host.sleep(5)
    task = queue.run_now("t")
    assert (task.status, task.due_at) == (Status.PENDING, None)
    assert task.enqueued_at == pytest.approx(host.now(), abs=10)
    assert task.task_created == task.enqueued_at + 9_000_000
    assert task.expires_at == task.enqueued_at + 30_000_000
    with pytest.raises(WrongStatus, match="PENDING, but this needs it to be DELAYED"):
        queue.run_now("t")
    with pytest.raises(TaskNotFound):
        queue.run_now("nobody")


def test_a_retry_that_is_run_now_drops_behind_newer_tasks(queue):
    first = queue.put("a", task_id="t")
    claimed = queue.store.claim("t", claim_id="c", lease=30)
    queue.store.retry(claimed, TaskError(type="ValueError", message="boom"), delay=60)
    queue.put("a", task_id="newer")
    task = queue.run_now("t")
    assert (task.task_created, task.expires_at) == (first.task_created, first.expires_at)
    assert (task.attempts, [one.task_id for one in queue.peek()]) == (1, ["newer", "t"])


# Deleting


def test_only_what_has_ended_can_be_deleted(queue):
    for task_id in ("done", "failed", "cancelled"):
        queue.put("a", task_id=task_id)
    with pytest.raises(WrongStatus, match="PENDING, but this needs it to be SUCCESS, FAILURE or"):
        queue.delete("done")
    task = queue.store.claim("done", claim_id="c", lease=30)
    with pytest.raises(WrongStatus, match="TAKEN"):
        queue.delete("done")
    queue.store.succeed(task, "1")
    fail(queue, "failed")
    queue.cancel("cancelled")
    assert queue.delete("failed").status is Status.FAILURE
    for task_id in ("done", "cancelled"):
        queue.delete(task_id)
    assert [queue.get(task_id) for task_id in ("done", "failed", "cancelled")] == [None] * 3
    with pytest.raises(TaskNotFound):
        queue.delete("done")


# Redriving


def test_redrive_many_takes_those_of_a_type_and_an_error_at_a_rate(queue, host):
    for n in range(4):
        queue.put("a" if n % 2 else "b", task_id=f"t{n}")
        fail(queue, f"t{n}", "TimeoutError" if n < 2 else "ValueError")
    assert queue.redrive_many(task_type="a", error_type="TimeoutError") == 1
    assert [task.task_id for task in queue.peek()] == ["t1"]
    assert queue.redrive_many(limit=1) == 1
    assert queue.redrive_many(per_second=2) == 2
    assert host.slept == [0.5] * 2
    assert queue.redrive_many() == 0


# Looking


def test_peek_shows_a_status_as_far_as_an_index_knows_it_and_changes_nothing(queue, host):
    queue.put("a", task_id="old", deadline=5)
    queue.put("a", task_id="later", delay=60)
    queue.put("a", task_id="bad")
    fail(queue, "bad")
    for n in range(3):
        queue.put("a", task_id=f"t{n}")
    host.advance(6)
    assert [task.task_id for task in queue.peek()] == ["t2", "t1", "t0"]
    assert [task.task_id for task in queue.peek(2)] == ["t2", "t1"]
    assert {task.attempts for task in queue.peek()} == {0}
    assert [task.task_id for task in queue.peek(status=Status.DELAYED)] == ["later"]
    assert [task.task_id for task in queue.peek(status="FAILURE")] == ["bad"]
    with pytest.raises(InvalidInput, match="in no index"):
        queue.peek(status=Status.SUCCESS)
    with pytest.raises(InvalidInput, match="status='LOST': is none of PENDING, DELAYED, TAKEN"):
        queue.peek(status="LOST")


def test_peek_reads_no_more_tasks_than_it_shows_whatever_has_expired(queue, host):
    for n in range(5):
        queue.put("a", task_id=f"t{n}")
    queue.put_many([NewTask(task_type="a", deadline=5)] * 300)
    host.advance(6)
    table = queue.store.table
    with (
        mock.patch.object(table, "get_many", side_effect=table.get_many) as read,
        mock.patch.object(table, "query", side_effect=table.query) as looked,
    ):
        assert [task.task_id for task in queue.peek(3)] == ["t4", "t3", "t2"]
    assert sum(len(call.args[0]) for call in read.mock_calls) == 3
    assert looked.call_count <= 4  # ever larger pages


@pytest.mark.parametrize("task_id", ["", 5, None, "x" * 2049, "\ud800"])
def test_an_id_that_can_be_none_is_refused(queue, task_id):
    for use in (queue.get, queue.cancel, queue.redrive, lambda i: queue.wait(i, timeout=1)):
        with pytest.raises(InvalidInput, match="task_id"):
            use(task_id)


REFUSED = [
    (lambda queue: queue.wait("t", timeout=-1), r"timeout=.*number of seconds"),
    (lambda queue: queue.redrive_many(task_type=""), "task_type"),
    (lambda queue: queue.redrive_many(error_type=ValueError), "error_type"),
    (lambda queue: queue.purge(confirm=True), "confirm=True: must be a function"),
    (lambda queue: queue.put_many(NewTask(task_type="a")), "must be an iterable of NewTask"),
    (lambda queue: queue.put_many(5), "must be an iterable of NewTask"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_makes_no_sense_is_refused_before_anything_is_done(queue, call, sentence):
    queue.put("a", task_id="t")
    with pytest.raises(InvalidInput, match=sentence):
        call(queue)
    assert queue.get("t").status is Status.PENDING


METRICS_OF_AGE = ("NewestWaitingAgeSeconds", "OldestWaitingAgeSeconds")


def test_stats_count_and_measure(queue, host):
    queue.put("a", deadline=5)
    host.advance(10)
    for n in range(3):
        queue.put("a", task_id=f"t{n}")
        host.advance(1)
    queue.put("a", delay=60)
    fail(queue, "t0")
    queue.store.claim("t1", claim_id="c", lease=30)
    two, one = (Count(value=number, capped=False) for number in (2, 1))
    counts = ("live", "expired_present", "shed_lately", "delayed", "taken", "failure")
    stats = queue.stats()
    assert stats == QueueStats(
        pending=two,
        **dict.fromkeys((*counts, "failed_lately"), one),
        **dict.fromkeys(("newest_waiting_seconds", "oldest_waiting_seconds"), 1.0),
        deadline_seconds=3_600,
        last_shed_seconds=8.0,
    )
    named = {"TasksPending": one, "TasksDelayed": one, "TasksTaken": one, "TasksInFailure": one}
    assert stats.counts() == {**named, "TasksExpiredPresent": one}
    assert stats.ages() == dict.fromkeys(METRICS_OF_AGE, 1.0)
    assert str(queue.stats(cap=1).pending) == "at least 1"
    assert [str(Count(value=0, capped=capped)) for capped in (True, False)] == ["none seen", "0"]
    host.advance(301)
    ages = dict.fromkeys(("newest_waiting_seconds", "oldest_waiting_seconds"), 302.0)
    none = Count(value=0, capped=False)
    assert queue.stats() == replace(stats, shed_lately=none, last_shed_seconds=None, **ages)


def test_a_task_that_came_just_now_has_waited_for_no_time_and_none_has_where_none_waits(
    queue, host
):
    assert queue.stats().ages() == dict.fromkeys(METRICS_OF_AGE, 0.0)
    assert queue.stats().newest_waiting_seconds is None
    queue.put("a", deadline=5)
    assert queue.stats().newest_waiting_seconds == 0.0
    host.advance(5)
    assert queue.stats().last_shed_seconds == 0.0


# Purging


def test_purge_asks_first_and_cancels_what_waits(queue):
    for n in range(3):
        queue.put("a", task_id=f"t{n}")
    queue.put("a", task_id="later", delay=60)
    queue.store.claim("t0", claim_id="c", lease=30)
    asked = []
    assert queue.purge(confirm=lambda count: asked.append(count.value)) == 0
    assert asked == [3]
    assert len(queue.peek()) == 2
    assert queue.purge(confirm=lambda _: True) == 3
    assert queue.peek() == []
    assert queue.get("t0").status is Status.TAKEN
    assert queue.get("later").status is Status.CANCELLED


# Searching


def search(queue: Queue, limit: int = 50, scan: int = 1_000, **wanted) -> list[list[str]]:
    """The ids that each page shows."""
    pages, start = [], None
    while True:
        page = queue.search(Wanted(**wanted), limit=limit, scan=scan, start=start)
        pages.append([task.task_id for task in page.tasks])
        start = page.next
        if start is None:
            return pages


def test_a_search_shows_a_status_newest_first_a_page_at_a_time_without_what_expired(queue, host):
    queue.put("a", task_id="old", deadline=5)
    for number in range(5):
        queue.put("a", task_id=f"t{number}")
    host.advance(6)
    assert search(queue, 2, status=Status.PENDING) == [["t4", "t3"], ["t2", "t1"], ["t0"]]
    for number in range(3):
        queue.put("a", task_id=f"d{number}", delay=60 + number)
    assert search(queue, 2, status=Status.DELAYED) == [["d2", "d1"], ["d0"]]
    assert [queue.search(Wanted(status=Status.DELAYED), limit=n).read for n in (2, 50)] == [3, 3]


def test_a_search_finds_by_type_key_error_and_age(queue, host):
    queue.put("b", task_id="ahead", head_start=600)  # which makes it no newer
    for number, (task_type, error) in enumerate(
        [("a", "ValueError"), ("b", "ValueError"), ("a", "TimeoutError"), ("a", "ValueError")]
    ):
        queue.put(task_type, task_id=f"t{number}", head_start=600)
        fail(queue, f"t{number}", error)
        host.advance(10)
    queue.put("a", task_id="waits")
    queue.put("a", task_id="keyed", key="d-17")
    queue.put("b", task_id="later", key="d-17", delay=60)
    assert search(queue, status=Status.PENDING, key="d-17") == [["keyed"]]
    assert search(queue, status=Status.PENDING, newer_than=30) == [["keyed", "waits"]]
    assert search(queue, status=Status.PENDING, newer_than=0) == [["keyed", "waits"]]
    assert search(queue, status=Status.DELAYED, key="d-17", task_type="b") == [["later"]]
    assert search(queue, status=Status.DELAYED, task_type="a") == [[]]
    failed = {"status": Status.FAILURE}
    assert search(queue, **failed, task_type="a") == [["t3", "t2", "t0"]]
    assert search(queue, **failed, error_type="ValueError") == [["t3", "t1", "t0"]]
    assert search(queue, **failed, error_type="valueERROR", task_type="A") == [[]]
    told = {"error_type": "valueERROR", "task_type": "A", "any_case": True}
    assert search(queue, **failed, **told) == [["t3", "t0"]]
    assert search(queue, **failed, newer_than=10) == [["t3"]]
    assert search(queue, **failed, older_than=15, newer_than=timedelta(seconds=35)) == [
        ["t2", "t1"]
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [({}, True), ({"text": "17"}, True), ({"text": "18"}, False)]
    + [({name: "a"}, False) for name in ("task_type", "key", "error_type")],
)
def test_a_damaged_task_is_found_by_its_status_and_id_alone(asked, found):
    damaged = DamagedTask("d-17", "payload is no JSON")
    assert Wanted(status=Status.FAILURE, **asked).matches(damaged) is found


NUMBER_TOO_LARGE = base64.urlsafe_b64encode(b'[1%s, "t"]' % (b"0" * 38)).decode()


@pytest.mark.parametrize("start", ["?", "W10", "eyJhIjoxfQ", "é", NUMBER_TOO_LARGE.rstrip("=")])
def test_a_place_that_no_search_gave_is_refused(queue, start):
    with pytest.raises(InvalidInput, match="is no place in this list"):
        queue.search(Wanted(status=Status.PENDING), start=start)


def test_what_cannot_be_searched_for_is_refused():
    for wanted, sentence in (
        ({"status": Status.SUCCESS}, "get by its id"),
        ({"status": Status.FAILURE, "task_type": ""}, "task_type"),
        ({"status": Status.FAILURE, "older_than": -1}, "older_than"),
        ({"status": Status.DELAYED, "newer_than": 5}, "leave it out"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            Wanted(**wanted)


def test_failures_are_grouped_by_kind_the_largest_first_and_say_if_there_are_older_ones(
    queue, host, monkeypatch
):
    monkeypatch.setattr(failures, "PAGE", 2)
    began = host.now()
    for number, error in enumerate(["Key", "Value", "Value", "Key", "Value"]):
        queue.put("a", task_id=f"t{number}")
        host.advance(1)
        fail(queue, f"t{number}", f"{error}Error")
    wanted = Wanted(status=Status.FAILURE)
    found = failures.failures(queue, wanted)
    assert [
        (group.example.task_id, [(time - began) // 1_000_000 for time in group.times])
        for group in found.groups
    ] == [("t4", [5, 3, 2]), ("t3", [4, 1])]
    assert (found.first - began, found.groups[1].last - began) == (1_000_000, 4_000_000)
    assert [
        (some.read, some.more)
        for some in (failures.failures(queue, wanted, most=most) for most in (2, 3, 4, 5))
    ] == [(2, True), (4, True), (4, True), (5, False)]


# Under load


UNTOLD = Pressure(shed_share=0, starts_per_second=None, wait_seconds=None)


def started(store: Store, host: ManualHost, number: int, *, wait: float | None = 0.5):
    starts = Starts(seconds=20.0, number=number, wait=wait)
    pressure.note(store, starts, host=host)


@on_dynamodb_too
def test_pressure_is_what_workers_noted_beside_what_was_shed(queue, store, host):
    assert queue.pressure() == UNTOLD
    for _ in range(30):
        store.put(NewTask(task_type="a"))
    host.advance(3_601)
    assert Queue(store, host=host).pressure().shed_share == 0, "no worker tells of a start"
    started(store, host, 10, wait=1.0)
    started(store, host, 30, wait=2.0)
    store.put(NewTask(task_type="a"))
    found = queue.pressure()
    assert found.starts_per_second == pytest.approx(2)
    assert found.wait_seconds == pytest.approx(1.75)
    assert found.shed_share == pytest.approx(0.5 / 2.5)
    host.advance(4.9)
    assert queue.pressure() is found
    host.advance(60)
    assert queue.pressure() == replace(found, shed_share=0)
    host.advance(30)
    assert queue.pressure() == UNTOLD


def test_what_the_sweep_has_deleted_counts_as_shed(table, host):
    lifetimes = Lifetimes(deadline=10, shed_at_deadline=True)
    store = Store(table, lifetimes=lifetimes, host=host)
    for _ in range(30):
        store.put(NewTask(task_type="a"))
    host.advance(11)
    Sweeper(store, Registry(), max_attempts=1, host=host).run()
    store.put(NewTask(task_type="a"))
    host.advance(11)
    started(store, host, 2)
    assert Queue(store, host=host).pressure().shed_share == pytest.approx(0.5)


def test_of_many_that_were_shed_a_sample_is_read(store, host):
    for _ in range(150):
        store.put(NewTask(task_type="a"))
        host.advance(0.1)
    host.advance(3_600)
    started(store, host, 200)
    assert Queue(store, host=host).pressure().shed_share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("text", ['[{"at": "x"}]', "[", "null"])
def test_a_note_of_workers_that_cannot_be_read_tells_nothing_and_is_written_over(store, host, text):
    damage = {Attribute.PAYLOAD: text, Attribute.CLAIM_ID: "theirs"}
    store.table.update(NOTE, Change(when=(), creates=True, set=damage))
    assert Queue(store, host=host).pressure() == UNTOLD
    started(store, host, 20)
    assert Queue(store, host=host).pressure().starts_per_second == pytest.approx(1)
