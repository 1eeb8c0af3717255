"""A head start: the task stands where it would if it had come later, and nothing else moves."""

from datetime import timedelta

import pytest

from lifoq.client.listing import Wanted
from lifoq.client.queue import Queue
from lifoq.errors import InvalidInput
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.tables import open_tasks
from lifoq.tables.stats import measure
from lifoq.tables.store import BROWSE_PAGE, Store
from tests.conftest import on_dynamodb_too
from tests.contract.test_store import BOOM, SECOND, claim, pending, put

pytestmark = on_dynamodb_too


def place(task: Task) -> int:
    """By how many seconds it stands ahead of when it entered the queue."""
    assert task.task_created is not None
    return (task.task_created - task.enqueued_at) // SECOND


def test_a_task_goes_before_all_that_come_within_its_head_start(store, host):
    first = put(store, "worth more", head_start=timedelta(minutes=1))
    plain = put(store, "plain")
    assert (place(first), first.head_start) == (60, 60 * SECOND)
    assert first.expires_at - first.enqueued_at == plain.expires_at - plain.enqueued_at
    host.advance(59)
    put(store, "within")
    host.advance(2)
    put(store, "after")
    assert pending(store) == ["after", "worth more", "within", "plain"]
    assert store.get("worth more") == first


@pytest.mark.parametrize("none", [None, 0, 0.0, timedelta()])
def test_without_a_head_start_the_item_has_no_word_of_it(store, none):
    put(store, "t", head_start=none)
    assert "headStart" not in store.table.get("t")


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"head_start": -1}, "head_start=-1: is negative; to let a task start later, give delay"),
        ({"head_start": 3601}, "3601: is longer than the task's deadline of 3600 s; shorten it"),
        ({"head_start": 11, "deadline": 10}, "longer than the task's deadline of 10 s"),
        ({"head_start": "60"}, "must be a number of seconds or a timedelta"),
        ({"head_start": float("nan")}, "must be finite"),
    ],
)
def test_a_head_start_is_no_longer_than_the_deadline(store, terms, sentence):
    with pytest.raises(InvalidInput, match=sentence) as refused:
        put(store, "t", **terms)
    assert refused.value.field == "head_start"
    assert store.get("t") is None
    put(store, "whole", head_start=3600)
    put(store, "own", head_start=10, deadline=10)


def test_a_delayed_task_has_it_from_when_it_enters_the_queue(store, host):
    delayed = put(store, "t", delay=30, head_start=60)
    put(store, "hurried", delay=30, head_start=60)
    assert (delayed.status, delayed.task_created) == (Status.DELAYED, None)
    host.advance(30)
    row = store.promote("t")
    task = store.get("t")
    assert (row.created, row.head_start) == (task.task_created, task.head_start)
    assert place(task) == 60
    assert place(store.run_now("hurried")) == 60


def test_retry_and_lost_lease_bring_it_back_to_its_place(store, host):
    before = [put(store, name, head_start=60) for name in ("again", "later", "lost")]
    row = store.retry(claim(store, "again", "a"), BOOM, delay=0)
    store.retry(claim(store, "later", "b"), BOOM, delay=1)
    lost = claim(store, "lost", "c")
    host.advance(31)
    store.promote("later")
    store.reclaim(lost, max_attempts=3)
    after = [store.get(task.task_id) for task in before]
    assert [each.task_created for each in after] == [each.task_created for each in before]
    assert (row.created, row.head_start) == (after[0].task_created, 60 * SECOND)


def test_a_dead_letter_lies_by_its_age_and_a_redrive_gives_it_its_head_start_anew(store, host):
    for name in ("failed", "buried"):
        put(store, name, head_start=60)
    store.fail(claim(store, "failed", "a"), BOOM)
    lost = claim(store, "buried", "b")
    host.advance(4_000)
    assert store.reclaim(lost, max_attempts=1) is Status.FAILURE
    for name in ("failed", "buried"):
        assert place(store.get(name)) == 0
        redriven = store.redrive(name)
        assert place(redriven) == 4_060
        store.retry(claim(store, name, name), BOOM, delay=0)
        assert store.get(name).task_created == redriven.task_created


def test_a_replacing_put_brings_its_own(store, host):
    def replaced(task_id: str, head_start: float | None) -> Task:
        host.advance(1)
        new = NewTask(task_type="a", task_id=task_id, if_exists="replace", head_start=head_start)
        return store.put(new)

    put(store, "waits", head_start=60)
    assert place(replaced("waits", 5)) == 5
    plain = replaced("waits", None)
    assert (place(plain), plain.head_start) == (0, 0)
    put(store, "runs")
    taken = claim(store, "runs")
    replaced("runs", 7)
    row = store.succeed(taken, "1")
    parked = store.get("runs")
    assert (parked.status, place(parked)) == (Status.PENDING, 7)
    assert (row.created, row.head_start) == (parked.task_created, 7 * SECOND)


def test_it_is_alive_for_as_long_as_any_other(store, host):
    hour = Store(store.table, lifetimes=Lifetimes(deadline=3_600), host=host)
    put(hour, "t", head_start=3_600)
    host.advance(3_599)
    assert [row.damage for row in hour.candidates(limit=10).rows] == [None]
    host.advance(1)
    assert not [row for row in hour.candidates(limit=10).rows if row.expires_at > hour.now()]


def test_a_follow_up_and_one_of_many_have_their_own(store):
    put(store, "first", head_start=60)
    heir = NewTask(task_type="a", task_id="heir", head_start=5)
    store.succeed(claim(store, "first"), "1", [heir, NewTask(task_type="a", task_id="plain")])
    store.put_many([NewTask(task_type="a", head_start=9), NewTask(task_type="a")])
    assert sorted(row.head_start // SECOND for row in store.candidates(limit=9).rows) == [
        0,
        0,
        5,
        9,
    ]


# Ages


def test_ages_count_from_when_a_task_entered_the_queue(store, host):
    put(store, "old, and ahead", head_start=600)
    host.advance(100)
    put(store, "plain")
    host.advance(100)
    put(store, "young, and ahead", head_start=300)
    host.advance(10)
    put(store, "newest")
    host.advance(5)
    found = measure(store, now=store.now())
    assert (round(found.newest_waiting_seconds), round(found.oldest_waiting_seconds)) == (5, 215)
    assert round(open_tasks.measure(store, frozenset({"a"})).oldest_waiting_seconds) == 215
    assert open_tasks.measure(store, frozenset({"b"})).oldest_waiting_seconds == 0


def test_the_oldest_is_found_behind_a_page_of_others_and_the_newest_too(store, host):
    put(store, "oldest", head_start=3_600)
    store.put_many([NewTask(task_type="a", head_start=1_800) for _ in range(BROWSE_PAGE)])
    host.advance(60)
    put(store, "newest")
    found = measure(store, now=store.now())
    assert (round(found.newest_waiting_seconds), round(found.oldest_waiting_seconds)) == (0, 60)


def test_a_list_of_the_newer_ones_goes_by_when_they_entered_the_queue(store, host):
    queue = Queue(store, host=host)
    put(store, "old", head_start=600)
    store.fail(claim(store, "old"), BOOM)
    put(store, "waits", head_start=600)
    host.advance(100)
    put(store, "new")
    newer = {
        status: [task.task_id for task in queue.search(Wanted(status=status, newer_than=age)).tasks]
        for status, age in ((Status.PENDING, 50), (Status.FAILURE, 101))
    }
    assert newer == {Status.PENDING: ["new"], Status.FAILURE: ["old"]}
    assert not queue.search(Wanted(status=Status.FAILURE, newer_than=99)).tasks


def test_past_its_deadline_a_task_falls_back_and_is_counted_as_shed_all_the_same(store, host):
    put(store, "ahead", head_start=3_600)
    put(store, "claimed", head_start=3_600)
    rows = store.candidates(limit=2).rows
    claim(store, "claimed")
    assert not any(store.let_fall(row) for row in rows), "it lives, or runs"
    host.advance(3_600)
    assert [store.let_fall(row) for row in rows] == [False, True]
    task = store.get("ahead")
    assert (place(task), task.head_start, task.status) == (0, 0, Status.PENDING)
    assert not store.let_fall(rows[1])
    assert measure(store, now=store.now()).shed_lately.value == 1
    host.advance(1)
    assert pending(store) == []
